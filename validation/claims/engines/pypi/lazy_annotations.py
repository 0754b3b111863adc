"""Importing a package that was written for Python 3.14, where annotations are not evaluated, into an older Python."""

from __future__ import annotations
import __future__

import sys
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

import typing_extensions


@contextmanager
def annotations_of(package: str) -> Iterator[None]:
    """Within it, modules of a package are imported as they are, with their annotations left unevaluated."""
    if sys.version_info >= (3, 14):
        yield
        return
    finder = _Finder(package)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    if not hasattr(typing, "override"):
        typing.override = typing_extensions.override  # type: ignore[attr-defined]
    try:
        yield
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]


class _Finder:
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.split(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        flags = __future__.annotations.compiler_flag
        return compile(self.get_data(self.path), self.path, "exec", flags=flags, dont_inherit=True)
