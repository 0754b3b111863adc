"""Sweeps: every combination of inputs, or a list of scenarios, as one tidy frame.

Scenarios that share a target, a machine and a method are one group and are computed with NumPy at once; groups can be
handed to any `concurrent.futures.Executor`, and kept in a folder so that a sweep that was stopped goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from specsim import catalog, checks
from specsim.acceptance import Acceptance
from specsim.checks import FloatArray, IntArray
from specsim.drafters import METHODS, DraftMethod
from specsim.errors import InputError
from specsim.files import write_whole
from specsim.placement import Placement
from specsim.roofline import Efficiency

GROUP = {"model": "Llama-3.1-8B", "hardware": "H100-SXM", "tensor_parallel": 1, "method": "eagle3"}
"""What scenarios of one group share, with the values taken where a sweep does not say."""
NUMBERS = {"gamma": 4, "batch": 1, "context": 1024}
"""What differs within a group, besides the acceptance."""
PIECE = 500_000
"""Rows of a list that are computed at once, so that one long group is work for several workers."""
AXES = (*GROUP, "alpha", *NUMBERS)
FLOATS = (
    "alpha",
    "E_tokens",
    "draft_seconds",
    "verify_seconds",
    "round_seconds",
    "plain_seconds",
    "speedup",
    "user_tokens_per_second",
    "device_tokens_per_second",
)
"""Columns of a sweep that hold no words and no whole numbers."""
EFFICIENCIES: dict[str, Callable[[catalog.Hardware], Efficiency]] = {
    "default": Efficiency.default,
    "assumed": Efficiency.assumed,
    "ideal": lambda hardware: Efficiency.ideal(),
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Group:
    """Scenarios that share target, machine and method; arrays broadcast to one shape.

    `alpha` is None for the method's published acceptance.
    """

    model: str
    hardware: str
    tensor_parallel: int
    method: str
    efficiency: str
    alpha: FloatArray | None
    gamma: IntArray
    batch: IntArray
    context: IntArray

    @property
    def key(self) -> str:
        """Names its inputs, with what names and files stand for; equal for equal groups in whatever order."""
        law = self._acceptance() if self.alpha is None else None
        named = (metadata.version("specsim"), self.model, self.hardware, *self._placed(), law)
        digest = hashlib.sha256(repr(named).encode())
        for values in (self.alpha, self.gamma, self.batch, self.context):
            digest.update(_bytes(values))
        return digest.hexdigest()[:16]

    def frame(self) -> pd.DataFrame:
        """One row a scenario."""
        return pd.DataFrame(self.columns(), copy=False)

    def columns(self) -> dict[str, Any]:
        """The columns of `frame`, flat arrays; what all rows share is one value."""
        place, method = self._placed()
        found = place.rates(
            method, acceptance=self._acceptance(), gamma=self.gamma, batch=self.batch, context=self.context
        )
        shape = np.broadcast_shapes(found.E_tokens.shape, found.round_seconds.shape)
        alpha = np.nan if self.alpha is None else self.alpha
        user = found.user_tokens_per_second
        varying: dict[str, Any] = {
            "alpha": alpha,
            "gamma": self.gamma,
            "batch": self.batch,
            "context": self.context,
            "E_tokens": found.E_tokens,
            "draft_seconds": found.draft_seconds,
            "verify_seconds": found.verify_seconds,
            "round_seconds": found.round_seconds,
            "plain_seconds": found.plain_seconds,
            "speedup": found.speedup,
            "user_tokens_per_second": user,
            "device_tokens_per_second": user * self.batch / self.tensor_parallel,
            "fits": place.fits(method, gamma=self.gamma, batch=self.batch, context=self.context),
        }
        shared = {name: getattr(self, name) for name in GROUP}
        return shared | {name: np.broadcast_to(values, shape).ravel() for name, values in varying.items()}

    def _placed(self) -> tuple[Placement, DraftMethod]:
        hardware = catalog.hardware_from(self.hardware)
        place = Placement(
            target=catalog.model_from(self.model),
            hardware=hardware,
            efficiency=EFFICIENCIES[checks.one_of("efficiency", self.efficiency, EFFICIENCIES)](hardware),
            tensor_parallel=self.tensor_parallel,
        )
        return place, METHODS[checks.one_of("method", self.method, METHODS)].default(place.target)

    def _acceptance(self) -> FloatArray | Acceptance:
        return catalog.published_acceptance(self.method).acceptance if self.alpha is None else self.alpha


def sweep(
    axes: Mapping[str, Sequence[Any]],
    *,
    efficiency: str = "default",
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: str | Path | None = None,
) -> pd.DataFrame:
    """Every combination of the axes' values.

    Parameters
    ----------
    axes : mapping of str to sequence
        Any of `model`, `hardware`, `tensor_parallel`, `method`, `alpha`, `gamma`, `batch`, `context`. One left out
        takes one value; `alpha` left out takes each method's published acceptance.
    efficiency : str
        "default" (fitted where there is a fit), "assumed" or "ideal".
    executor : concurrent.futures.Executor, optional
        Computes the groups; by default this thread does.
    progress : callable, optional
        Called with groups done and all groups.
    folder : path, optional
        Keeps each group as it is done; groups that lie there already are read, so a sweep that was stopped goes on.

    Returns
    -------
    DataFrame
        A row a scenario: the axes, `E_tokens` [1], `draft_seconds`, `verify_seconds`, `round_seconds`,
        `plain_seconds` [s], `speedup` [1], `user_tokens_per_second`, `device_tokens_per_second` [tokens/s], and
        whether it `fits` the memory.

    Raises
    ------
    InputError
        An unknown axis or name, an empty axis, a value outside its range.

    Examples
    --------
    >>> frame = sweep({"alpha": [0.6, 0.8], "gamma": [2, 4], "batch": [1, 64]}, efficiency="ideal")
    >>> len(frame), frame.loc[frame.speedup.idxmax(), ["alpha", "gamma", "batch"]].tolist()
    (8, [0.8, 4.0, 1.0])
    """
    return _collected(list(grid_groups(axes, efficiency=efficiency)), executor, progress, folder)


def sweep_list(
    scenarios: pd.DataFrame,
    *,
    efficiency: str = "default",
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: str | Path | None = None,
) -> pd.DataFrame:
    """A list of scenarios, one a row with the columns of `sweep`'s axes, in any order; results in the same order.

    Examples
    --------
    >>> listed = pd.DataFrame({"alpha": [0.6, 0.8], "gamma": [2, 4], "method": ["ngram", "eagle3"]})
    >>> sweep_list(listed, efficiency="ideal").speedup.round(2).tolist()
    [1.92, 2.74]
    """
    _check_axes(scenarios.columns)
    if scenarios.empty:
        raise InputError("scenarios must not be empty")
    given = scenarios.reset_index(drop=True)
    for name, empty in given.isna().items():
        if empty.any():
            raise InputError(f"scenarios must have no empty cell, got one in row {int(empty.argmax())} of {name}")
    columns = {name: given[name].to_numpy() for name in ("alpha", *NUMBERS) if name in given}
    places, groups = [], []
    for shared, rows in _shared(given):
        places.append(rows)
        mine = {name: values[rows] for name, values in columns.items()}
        defaults = {name: np.asarray(value) for name, value in NUMBERS.items()}
        groups.append(_group(GROUP | shared, defaults | mine, efficiency))
    return _collected(groups, executor, progress, folder, order=np.concatenate(places))


def grid_groups(axes: Mapping[str, Sequence[Any]], *, efficiency: str) -> Iterator[Group]:
    """The groups of a full factorial; their arrays are open meshes."""
    _check_axes(axes)
    for name, values in axes.items():
        if not len(values):
            raise InputError(f"axis {name} must not be empty")
    shared = [np.asarray(axes.get(name, [default]), dtype=object) for name, default in GROUP.items()]
    numbers = {name: np.asarray(axes.get(name, [default])) for name, default in NUMBERS.items()}
    alpha = {"alpha": checks.array("alpha", axes["alpha"], ndim=1)} if "alpha" in axes else {}
    meshes = dict(zip([*alpha, *numbers], np.ix_(*alpha.values(), *numbers.values()), strict=True))
    for values in np.stack([mesh.ravel() for mesh in np.meshgrid(*shared, indexing="ij")], axis=1):
        yield _group(dict(zip(GROUP, values, strict=True)), meshes, efficiency)


def _shared(scenarios: pd.DataFrame) -> Iterator[tuple[dict[str, Any], IntArray]]:
    """What scenarios of a group share, and which they are."""
    names = [name for name in GROUP if name in scenarios]
    if not names:
        yield from (({}, rows) for rows in np.split(np.arange(len(scenarios)), range(PIECE, len(scenarios), PIECE)))
        return
    for values, rows in scenarios.groupby(names, sort=False).indices.items():
        shared = dict(zip(names, values if isinstance(values, tuple) else (values,), strict=True))
        for piece in np.split(np.asarray(rows), range(PIECE, len(rows), PIECE)):
            yield shared, piece


def _group(shared: Mapping[str, Any], columns: Mapping[str, np.ndarray], efficiency: str) -> Group:
    return Group(
        model=str(shared["model"]),
        hardware=str(shared["hardware"]),
        tensor_parallel=checks.integer("tensor_parallel", shared["tensor_parallel"], low=1),
        method=str(shared["method"]),
        efficiency=efficiency,
        alpha=checks.probabilities("alpha", columns["alpha"]) if "alpha" in columns else None,
        **{name: _whole(name, columns[name]) for name in NUMBERS},
    )


def _whole(name: str, values: np.ndarray) -> IntArray:
    """Whole numbers; of what is none the first is named, for a column can be long."""
    if np.issubdtype(values.dtype, np.integer):
        return checks.integers(name, values)
    listed = values.ravel().tolist()
    odd = next((value for value in listed if not (isinstance(value, float) and value.is_integer())), listed[0])
    raise InputError(f"{name} must be whole numbers, got {odd!r}")


def _check_axes(names: Any) -> None:
    for name in names:
        checks.one_of("axis", str(name), AXES)


def _collected(
    groups: list[Group],
    executor: Executor | None,
    progress: Progress | None,
    folder: str | Path | None,
    *,
    order: IntArray | None = None,
) -> pd.DataFrame:
    """Frames of all groups in their order, or with row i at place `order[i]`."""
    frames: dict[int, pd.DataFrame] = {}
    for place, frame in _computed(groups, executor, None if folder is None else Path(folder)):
        frames[place] = frame
        if progress is not None:
            progress(len(frames), len(groups))
    if len(groups) == 1:
        return frames[0]
    together = pd.concat([frames[place] for place in range(len(groups))], ignore_index=True)
    return together if order is None else together.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _computed(
    groups: list[Group], executor: Executor | None, folder: Path | None
) -> Iterator[tuple[int, pd.DataFrame]]:
    if executor is None:
        for place, group in enumerate(groups):
            yield place, _kept(group, folder)
        return
    futures = {executor.submit(_kept, group, folder): place for place, group in enumerate(groups)}
    for future in as_completed(futures):
        yield futures[future], future.result()


def _kept(group: Group, folder: Path | None) -> pd.DataFrame:
    """The group's frame: read where it was kept, else computed and kept."""
    if folder is None:
        return group.frame()
    path = folder / f"{group.key}.csv"
    if not path.exists():
        write_whole(path, group.frame().to_csv(index=False, na_rep="nan"))
    # Python reads floats to the last digit; pandas' own parsers need not, and its JSON cuts after 15 decimals.
    return pd.read_csv(path, converters=dict.fromkeys(FLOATS, float))


def _bytes(values: Any) -> bytes:
    array = np.asarray(values)
    return repr((array.shape, array.dtype.str)).encode() + array.tobytes()
