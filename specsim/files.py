"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from specsim.errors import InputError


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write `content` to `path` so that a reader sees the old file or the whole new one, never a part.

    Parameters
    ----------
    path
        Where to write; missing parent folders are made.
    content
        Text (written as UTF-8) or bytes.

    Returns
    -------
    Path
        The path written.

    Raises
    ------
    InputError
        The place cannot be written or the disk is full; what stood there before is untouched.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> write_whole(folder / "a.txt", "one").read_text()
    'one'
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def ready_folder(path: str | Path) -> Path:
    """Make the folder `path`, and see that files can be written there before long work begins.

    Raises
    ------
    InputError
        It cannot be made or written to.

    Examples
    --------
    >>> ready_folder(getfixture("tmp_path") / "new").is_dir()
    True
    """
    folder = Path(path)
    write_whole(folder / ".writable", "").unlink()
    return folder


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
