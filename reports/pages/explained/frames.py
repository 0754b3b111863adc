"""Frames of the explanatory pictures, all of them played or computed by the library."""

from __future__ import annotations

from itertools import count

import numpy as np
import pandas as pd

from reports.pages.explained import language
from specsim import catalog
from specsim.charts.explain.round import FATES
from specsim.checks import FloatArray, IntArray
from specsim.drafters import Independent
from specsim.placement import Placement
from specsim.roofline import Efficiency
from specsim.verifiers import VERIFIERS, CoupledNoise
from specsim.verifiers.coupling import gumbel_match, independent_match

GAMMA = 4
ROUNDS = 20_000
DRAWS = 10_000
AFTER = "cat"
"""The word after which laws are shown."""
RULES = {"token by token": "rejection", "as a block": "block"}


def machine() -> Placement:
    """Where the round of the first picture runs."""
    gpu = catalog.hardware("H100-SXM")
    return Placement(
        target=catalog.model("Llama-3.1-70B"), hardware=gpu, efficiency=Efficiency.default(gpu), tensor_parallel=4
    )


def round_frame() -> pd.DataFrame:
    """A round in which all drafts but the last stand, and plain decoding of as many words; see `draft_and_verify`."""
    draft, accepted, token = _played(GAMMA - 1)
    place = machine()
    drafter = place.drafter(Independent(draft=catalog.model("Llama-3.1-8B")))
    step = float(drafter.draft_seconds(GAMMA)) / GAMMA
    plain, scoring = (float(place.cost(place.target).pass_seconds(tokens=n)) for n in (1, GAMMA + 1))
    text = language.words([*draft[:accepted], token])
    rows = [("plain decoding", word, FATES[0], k * plain, (k + 1) * plain) for k, word in enumerate(text)]
    rows += [
        ("drafter", word, FATES[1] if k < accepted else FATES[2], k * step, (k + 1) * step)
        for k, word in enumerate(language.words(draft))
    ]
    rows.append(("target", " ".join(text), FATES[0], GAMMA * step, GAMMA * step + scoring))
    return pd.DataFrame(rows, columns=["lane", "text", "fate", "start_seconds", "end_seconds"])


def race_frame(*, shared: bool) -> pd.DataFrame:
    """The first race that the likeliest word wins, twice with shared noise and once without; see `race`."""
    p, q = laws()
    likeliest = int(p.argmax())
    wanted = ((0, False, True), (1, False, True), (1, True, False))
    place = next(
        k
        for k in count()
        if all(((_times(k, own=own) / (p, q)[law]).argmin() == likeliest) == wins for law, own, wins in wanted)
    )
    rows = []
    for law, chances, times in (("target", p, _times(place)), ("drafter", q, _times(place, own=not shared))):
        finish = times / chances
        rows += [
            {"token": word, "law": law, "time": float(at), "wins": bool(at == finish.min())}
            for word, at in zip(language.WORDS, finish, strict=True)
        ]
    return pd.DataFrame(rows)


def match_frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """How often both draw one word, and how often they do exactly; see `match_rate`."""
    p, q = laws()
    places = np.arange(DRAWS)
    shown = np.unique(np.geomspace(1, DRAWS, 120).round().astype(int))
    frames, limits = [], []
    for way, own, exact in (("shared noise", False, gumbel_match), ("noise of their own", True, independent_match)):
        same = (_times(places) / p).argmin(axis=-1) == (_times(places, own=own) / q).argmin(axis=-1)
        rates = np.cumsum(same)[shown - 1] / shown
        frames.append(pd.DataFrame({"way": way, "draws": shown, "rate": rates}))
        limits.append({"way": way, "rate": float(exact(p, q))})
    return pd.concat(frames, ignore_index=True), pd.DataFrame(limits)


def areas_frame() -> pd.DataFrame:
    """The laws of the word after `AFTER`, the likeliest first; see `acceptance_areas`."""
    p, _ = laws()
    logits = language.draft_logits()[language.WORDS.index(AFTER)]
    frame = pd.DataFrame({"token": language.WORDS, "p": p, "draft_logit": logits})
    return frame.sort_values("p", ascending=False, ignore_index=True)


def standing_frame(*, gamma: int = 6) -> pd.DataFrame:
    """The chain in which the block rule forgives most, judged by both rules; see `standing_by_rule`."""
    chains = language.drafted(400, gamma=gamma, seed=1)
    p, q = _rows(chains)
    chances = {name: VERIFIERS[rule].survival(p, chains, q=q) for name, rule in RULES.items()}
    token, block = chances.values()
    chosen = int((block - token).sum(axis=1).argmax())
    chain = chains[chosen]
    ratios = [float(p[chosen, k, word] / q[chosen, k, word]) for k, word in enumerate(chain)]
    return pd.DataFrame(
        [
            {"rule": name, "depth": depth, "token": word, "ratio": ratio, "chance": float(chance)}
            for name, each in chances.items()
            for depth, (word, ratio, chance) in enumerate(
                zip(["", *language.words(chain)], [1.0, *ratios], [1.0, *each[chosen]], strict=True)
            )
        ]
    )


def lengths_frame(*, gamma: int = GAMMA) -> pd.DataFrame:
    """Accepted lengths of both rules over the same drafts and coins, and their exact law; see `lengths_by_rule`."""
    chains = language.drafted(ROUNDS, gamma=gamma, seed=2)
    p, q = _rows(chains)
    tables = (
        [language.target()[0], *[language.target()] * gamma],
        [language.drafter()[0], *[language.drafter()] * (gamma - 1)],
    )
    frames = []
    for name, rule in RULES.items():
        found = VERIFIERS[rule].verify(p, chains, q=q, rng=np.random.default_rng(3)).accepted
        share = np.bincount(found, minlength=gamma + 1) / ROUNDS
        exact = VERIFIERS[rule].accepted_pmf(*tables)
        frames.append(pd.DataFrame({"rule": name, "accepted": np.arange(gamma + 1), "share": share, "exact": exact}))
    return pd.concat(frames, ignore_index=True)


def tokens_by_rule(frame: pd.DataFrame) -> dict[str, float]:
    """Exact tokens per round of each rule, from a `lengths_frame` [1].

    Examples
    --------
    >>> tokens_by_rule(pd.DataFrame({"rule": "block", "accepted": [0, 1], "exact": [0.4, 0.6]}))
    {'block': 1.6}
    """
    by_rule = frame.groupby("rule", sort=False)
    return {str(rule): 1 + float((rows["accepted"] * rows["exact"]).sum()) for rule, rows in by_rule}


def laws() -> tuple[FloatArray, FloatArray]:
    row = language.WORDS.index(AFTER)
    return language.target()[row], language.drafter()[row]


def _times(places: int | IntArray, *, own: bool = False) -> FloatArray:
    """Noise of words at places of a text: that which both share, or that of the drafter alone."""
    return CoupledNoise(seed=int(own)).times(places, vocabulary=len(language.WORDS))


def _rows(chains: IntArray) -> tuple[FloatArray, FloatArray]:
    """Laws of both along chains after the first word, shapes (N, G + 1, V) and (N, G, V)."""
    before = np.concatenate([np.zeros((len(chains), 1), dtype=np.intp), chains], axis=1)
    return language.target()[before], language.drafter()[before[:, :-1]]


def _played(wanted: int) -> tuple[IntArray, int, int]:
    """Of some rounds in which so many drafts stand, that of the likeliest text: drafts, how many, the token after."""
    chains = language.drafted(400, gamma=GAMMA, seed=0)
    p, q = _rows(chains)
    found = VERIFIERS["rejection"].verify(p, chains, q=q, rng=np.random.default_rng(0))
    text = np.concatenate([chains[:, :wanted], found.token[:, None]], axis=1)
    likely = np.take_along_axis(p[:, : wanted + 1], text[..., None], axis=-1).prod(axis=(1, 2))
    chosen = int(np.where(found.accepted == wanted, likely, 0.0).argmax())
    return chains[chosen], int(found.accepted[chosen]), int(found.token[chosen])
