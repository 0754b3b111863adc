"""Speculation on against speculation off, where nobody knows the law: two samples of texts of the same prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specsim import checks
from specsim.checks import IntArray
from specsim.conformance.asking import ask
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Decoder, Request
from specsim.errors import InputError
from specsim.stats import TestResult, holm_named, homogeneity, mmd

LONGEST = 3
PADDING = -1
PERMUTATIONS = 9_999
_LEAST = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoSamples:
    """What two samples say.

    Parameters
    ----------
    results : mapping
        Tests by name, with p-values adjusted over all of them.
    level : float
        False-alarm rate of the whole [1].
    """

    results: Mapping[str, TestResult]
    level: float

    @property
    def conforms(self) -> bool:
        """Whether no test tells them apart; a weak word, as `smallest_tv` of the results says."""
        return min(result.pvalue for result in self.results.values()) > self.level


def two_samples(
    decoder: Decoder,
    reference: Decoder,
    *,
    prompts: Sequence[Sequence[int]],
    texts: int,
    parameters: Parameters | None = None,
    level: float = 1e-6,
    seed: int = 0,
    timeout_seconds: float | None = None,
) -> TwoSamples:
    """Texts of the decoder under test against those of a reference without speculation.

    Parameters
    ----------
    decoder, reference : Decoder
        Asked the same prompts with different seeds.
    prompts : sequence of prompts
        Token ids.
    texts : int
        For each prompt from each of them, at least 20 [1].
    parameters : Parameters or None
        None draws from the model's own law.
    level, seed, timeout_seconds
        As of `Plan`.

    Notes
    -----
    Chi-square of homogeneity of the first token and of the first two and three jointly, and maximum mean discrepancy
    of whole texts by permutation, whose p-value is at least 1e-4: below that level it shows, but does not decide. A
    test that knows the law needs several times fewer tokens for the same fault.

    Examples
    --------
    >>> from specsim.conformance.decoder import TableDecoder
    >>> from specsim.conformance.tables import TableModels
    >>> decoder = TableDecoder(TableModels.random(seed=0))
    >>> two_samples(decoder, decoder, prompts=[(1,), (2,)], texts=40).conforms
    True
    """
    checks.integer("texts", texts, low=_LEAST)
    if not prompts:
        raise InputError("prompts must hold at least one, got none")
    asked = _requests(prompts, parameters or Parameters(), texts=texts, seed=seed)
    other = [replace(request, seed=request.seed + len(asked)) for request in asked]
    samples = [
        _texts([one.tokens for one in ask(side, some, timeout_seconds=timeout_seconds)], prompts=len(prompts))
        for side, some in ((decoder, asked), (reference, other))
    ]
    width = max(one.shape[-1] for one in samples)
    first, second = (
        np.pad(one, ((0, 0), (0, 0), (0, width - one.shape[-1])), constant_values=PADDING) for one in samples
    )
    results: dict[str, TestResult] = {}
    for length in range(1, min(LONGEST, width) + 1):
        try:
            results[f"first {length} tokens"] = homogeneity(*_joint(first[..., :length], second[..., :length]))
        except InputError:
            if length == 1:
                raise
            break  # too few texts for longer beginnings
    pvalues = holm_named(results)
    rng = np.random.default_rng(seed)
    results["whole texts"] = mmd(list(first - PADDING), list(second - PADDING), rng=rng, permutations=PERMUTATIONS)
    pvalues["whole texts"] = results["whole texts"].pvalue
    adjusted = {  # each kind of test gets half of the level
        name: replace(result, pvalue=min(1.0, 2 * pvalues[name])) for name, result in results.items()
    }
    return TwoSamples(results=adjusted, level=level)


def _requests(prompts: Sequence[Sequence[int]], parameters: Parameters, *, texts: int, seed: int) -> list[Request]:
    return [
        Request(
            id=f"{place}-{number}",
            prompt=tuple(prompt),
            parameters=parameters,
            seed=seed + place * texts + number,
        )
        for place, prompt in enumerate(prompts)
        for number in range(texts)
    ]


def _texts(tokens: Sequence[Sequence[int]], *, prompts: int) -> IntArray:
    """Texts by prompt, shape (P, N, L), padded."""
    width = max(len(one) for one in tokens)
    padded = np.array([[*one, *[PADDING] * (width - len(one))] for one in tokens])
    return padded.reshape(prompts, -1, width)


def _joint(first: IntArray, second: IntArray) -> tuple[list[IntArray], list[IntArray]]:
    """Beginnings of texts as one number each, the same in both samples, by prompt."""
    both = np.concatenate((first, second), axis=1)
    numbered = [np.unique(texts, axis=0, return_inverse=True)[1].reshape(-1) for texts in both]
    count = first.shape[1]
    return [one[:count] for one in numbered], [one[count:] for one in numbered]
