"""Where tokens come from in a simulation: the laws of target and drafter, by the last tokens or by depth."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from specsim import checks
from specsim.checks import FloatArray, IntArray
from specsim.errors import InputError


class TokenSource(Protocol):
    """Laws that a round of N sequences draws from."""

    @property
    def vocabulary(self) -> int:
        """V [1]."""
        ...

    @property
    def start(self) -> tuple[int, ...]:
        """The tokens that every text begins with; as many as the laws look back."""
        ...

    @property
    def most_drafts(self) -> int | None:
        """The largest gamma that the laws reach; None means any."""
        ...

    def tables(self, gamma: int) -> tuple[list[FloatArray], list[FloatArray]]:
        """Prefix tables of a text's first round; see `Verifier.accepted_pmf`."""
        ...

    def target_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The target's laws after the last tokens `history` (N, n) and `depth` drafts among them, shape (N, V) [1]."""
        ...

    def draft_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The drafter's laws there, shape (N, V) [1]."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MarkovSource:
    """Target and drafter whose laws depend on the last tokens of the text.

    Parameters
    ----------
    p, q : array, shape (V,) * n + (V,)
        p[a, b] is the target's law after the tokens a, b; the drafter may look back another number of tokens, none
        among them [1].
    start : tuple of int
        Tokens that every text begins with, as many as the longer look back; zeros if left out.

    Raises
    ------
    InputError
        Rows that are no laws, axes of different lengths, a start of another length or outside the vocabulary.

    Examples
    --------
    >>> source = MarkovSource(p=[[0.9, 0.1], [0.5, 0.5]], q=[0.5, 0.5])
    >>> source.start, source.target_rows(np.array([[0], [1]]), depth=3)
    ((0,), array([[0.9, 0.1],
           [0.5, 0.5]]))
    """

    p: FloatArray
    q: FloatArray
    start: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, checks.distribution(name, getattr(self, name)))
        sizes = {*self.p.shape, *self.q.shape}
        if len(sizes) != 1:
            raise InputError(f"p and q must have one vocabulary on every axis, got {self.p.shape} and {self.q.shape}")
        order = max(self.p.ndim, self.q.ndim) - 1
        start = self.start or (0,) * order
        if len(start) != order:
            raise InputError(f"start must hold the {order} tokens that the laws look back at, got {len(start)}")
        for place, token in enumerate(start):
            checks.integer(f"start[{place}]", token, high=self.vocabulary - 1)
        object.__setattr__(self, "start", start)

    @property
    def vocabulary(self) -> int:
        """V [1]."""
        return int(self.p.shape[-1])

    @property
    def most_drafts(self) -> None:
        """Any number of drafts."""
        return

    def target_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The target's laws after each history, shape (N, V) [1]."""
        return _after(self.p, history)

    def draft_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The drafter's laws after each history, shape (N, V) [1]."""
        return _after(self.q, history)

    def tables(self, gamma: int) -> tuple[list[FloatArray], list[FloatArray]]:
        """Prefix tables of a text's first round, for `Acceptance.from_tables`.

        Examples
        --------
        >>> from specsim.acceptance import Acceptance
        >>> source = MarkovSource(p=[[0.9, 0.1], [0.5, 0.5]], q=[0.5, 0.5])
        >>> Acceptance.from_tables(*source.tables(2)).survival(2)
        array([0.6, 0.4])
        """
        return [self._given(self.p, k) for k in range(gamma + 1)], [self._given(self.q, k) for k in range(gamma)]

    def _given(self, table: FloatArray, drafts: int) -> FloatArray:
        """The table after the start and `drafts` drafts: what it still reads of the start is fixed."""
        back = table.ndim - 1
        return table[self.start[len(self.start) - back + drafts :]] if drafts < back else table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DepthSource:
    """Target and drafter whose laws depend on the place in the round alone.

    Parameters
    ----------
    p : array, shape (G + 1, V)
        The target's laws [1].
    q : array, shape (G, V)
        The drafter's [1].

    Raises
    ------
    InputError
        Rows that are no laws, or shapes that disagree.

    Examples
    --------
    >>> DepthSource(p=[[0.5, 0.5], [1.0, 0.0]], q=[[0.5, 0.5]]).most_drafts
    1
    """

    p: FloatArray
    q: FloatArray

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, checks.distribution(name, getattr(self, name)))
        if self.p.ndim != 2 or self.q.shape != (self.p.shape[0] - 1, self.p.shape[1]):
            raise InputError(f"p and q must have shapes (G + 1, V) and (G, V), got {self.p.shape} and {self.q.shape}")

    @property
    def vocabulary(self) -> int:
        """V [1]."""
        return int(self.p.shape[-1])

    @property
    def start(self) -> tuple[int, ...]:
        """Nothing is looked back at."""
        return ()

    @property
    def most_drafts(self) -> int:
        """G [1]."""
        return len(self.q)

    def tables(self, gamma: int) -> tuple[list[FloatArray], list[FloatArray]]:
        """The rows as prefix tables, those of any round."""
        return list(self.p[: gamma + 1]), list(self.q[:gamma])

    def target_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The target's law at a depth, shape (N, V) [1]."""
        return np.broadcast_to(self.p[depth], (len(history), self.vocabulary))

    def draft_rows(self, history: IntArray, *, depth: int) -> FloatArray:
        """The drafter's law at a depth, shape (N, V) [1]."""
        return np.broadcast_to(self.q[depth], (len(history), self.vocabulary))


def read_source(path: str | Path) -> MarkovSource | DepthSource:
    """Read the arrays p and q of a .npz file.

    Shapes (G + 1, V) and (G, V) are laws by depth, (V,) * n + (V,) laws after n tokens.

    Raises
    ------
    InputError
        A file that cannot be read or lacks an array, rows that are no laws, or shapes that disagree.
    """
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            p, q = (np.asarray(arrays[name]) for name in ("p", "q"))
    except KeyError as error:
        raise InputError(f"{path} must hold the arrays p and q: {error.args[0]}") from None
    except (OSError, ValueError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no .npz of numbers'}"
        ) from error
    is_square = p.ndim == 2 and p.shape[0] == p.shape[1]
    by_depth = p.ndim == q.ndim == 2 and (len(p) == len(q) + 1 or not is_square)
    try:
        return DepthSource(p=p, q=q) if by_depth else MarkovSource(p=p, q=q)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _after(table: FloatArray, history: IntArray) -> FloatArray:
    back = table.ndim - 1
    last = history[:, history.shape[1] - back :]
    return np.asarray(np.broadcast_to(table[tuple(last.T)], (len(history), table.shape[-1])))
