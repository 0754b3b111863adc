"""Claims about acceptance: what they state, that their planted faults are caught, and what they refuse.

Null of every claim that runs: the decoder accepts what its laws say; false-alarm rate 1e-6 each, Holm over rows. Sizes
are small: a planted fault need not reach that level at them, but has to be clear of chance (1e-3).
"""

from __future__ import annotations

import dataclasses
import json
from itertools import islice

import numpy as np
import pytest
from scipy import stats

from specsim.acceptance import Acceptance
from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.topology import Topology
from specsim.verifiers import VERIFIERS, Block
from validation import claims
from validation.claims import CLAIMS, Settings, kl_or_tv, quantised, tree_or_chain
from validation.claims.acceptance_by_depth import AcceptanceByDepth, by_request, fitted, misread, nats
from validation.claims.argmax_or_sampled import ArgmaxOrSampled
from validation.claims.block_or_token import BlockOrToken
from validation.claims.confidence_scheduler import ConfidenceScheduler
from validation.claims.drafting import (
    HELD_OUT,
    Chains,
    Drafting,
    Texts,
    Watched,
    chains,
    coins,
    open_drafting,
)
from validation.claims.first_failure import FirstFailureEnds
from validation.claims.kl_or_tv import KlOrTv
from validation.claims.places import foreseen, judged_places, reading
from validation.claims.quantised import Quantised
from validation.claims.statement import Statement, Sums, judged, misses, state
from validation.claims.temperature import Temperature
from validation.claims.tree_or_chain import TreeOrChain
from validation.decoder.text import Request, Text
from validation.train.text import Writing, seed_prompts

SMALL = (
    AcceptanceByDepth(texts=40, tokens=32, gamma=4),
    Temperature(texts=24, tokens=16),
    ArgmaxOrSampled(texts=10, tokens=14),
    BlockOrToken(texts=20, tokens=24, gamma=4),
    TreeOrChain(texts=12, tokens=12, nodes=4),
    Quantised(texts=10, tokens=12, gamma=3),
    KlOrTv(text_tokens=1800, steps=25, drafts=120),
    ConfidenceScheduler(texts=10, tokens=14, gamma=3, table_texts=300),
)


# every claim


@pytest.mark.parametrize("claim", SMALL, ids=lambda claim: str(claim.name))
def test_claims_stand_and_can_be_written_down(claim: claims.Claim, settings: Settings) -> None:
    seen: list[float] = []
    result = claim.run(dataclasses.replace(settings, progress=seen.append))
    assert result.verdict != "failed", result
    assert result.test == claim.name
    assert result.controls
    assert all(control.pvalue < 1e-3 for control in result.controls), result.controls
    row = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    stated = [one for one in row["rows"] if "low" in one]
    assert len(stated) == result.n > 0
    assert all(one["low"] <= one["predicted"] <= one["high"] for one in stated)
    assert row["median_abs_error"] >= 0
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_claims_of_this_page_are_registered() -> None:
    assert {claim.name for claim in SMALL} <= set(CLAIMS)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AcceptanceByDepth(texts=1), "texts must be at least 2"),
        (lambda: AcceptanceByDepth(gamma=1), "gamma must be at least 2"),
        (lambda: AcceptanceByDepth(tokens=4), "tokens must be at least 7"),
        (lambda: Temperature(texts=0), "texts must be at least 2"),
        (lambda: ArgmaxOrSampled(tokens=1), "tokens must be at least 2"),
        (lambda: BlockOrToken(gamma=1), "gamma must be at least 2"),
        (lambda: TreeOrChain(nodes=1), "nodes must be at least 2"),
        (lambda: TreeOrChain(tokens=4), "tokens must be at least 5"),
        (lambda: Quantised(gamma=0), "gamma must be at least 1"),
        (lambda: KlOrTv(steps=0), "steps must be at least 1"),
        (lambda: ConfidenceScheduler(table_texts=1), "table_texts must be at least 50"),
        (lambda: Texts(count=4, tokens=4, temperature=0.0), "temperature must be above 0"),
    ],
)
def test_bad_sizes_are_refused(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        make()


def test_a_missing_drafter_is_one_clear_line(settings: Settings, tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="found nothing at"):
        SMALL[0].run(dataclasses.replace(settings, drafter=str(tmp_path / "missing")))


# statements


def test_no_trained_head_saw_the_prompts_of_either_part(settings: Settings) -> None:
    """Of 32 texts a part, with the default rows and seed of training text, whose shards 0, 12, ... are held out."""
    assert settings.loaded is not None
    tokenize, writing = settings.loaded.prompt_tokens, Writing()
    written = enumerate(islice(seed_prompts(writing.seed), 1883))
    held_out = {tuple(tokenize(text)) for place, text in written if place // writing.rows % writing.held_out == 0}
    parts = [
        {tuple(one.prompt) for one in Texts(count=32, tokens=2, part=part).requests(settings.loaded)} for part in (0, 1)
    ]
    assert len(parts[0] | parts[1]) == 64
    assert parts[0] | parts[1] <= held_out


def test_a_small_device_gets_small_batches(settings: Settings) -> None:
    assert open_drafting(dataclasses.replace(settings, batch=3)).batch == 3


def test_a_head_has_no_laws_to_read_off_texts(settings: Settings) -> None:
    pair = open_drafting(dataclasses.replace(settings, drafter="heads/eagle.safetensors"))
    assert pair.name.endswith("drafter int4 copy")


def ratio_sums(rng: np.random.Generator, texts: int) -> Sums:
    bottom = rng.integers(5, 15, size=texts).astype(float)
    return Sums(top=rng.binomial(bottom.astype(int), rng.beta(8, 4, size=texts)).astype(float), bottom=bottom)


def test_stated_intervals_hold_as_often_as_they_say() -> None:
    """Null: the interval of a ratio over other texts holds with probability 0.95; n = 2000, two-sided 1e-6 (normal)."""
    rng, held, n = np.random.default_rng(0), 0, 2000
    for _ in range(n):
        statement = state(ratio_sums(rng, 24), setting={}, quantity="alpha", texts=24)
        held += statement.row(ratio_sums(rng, 24).value, n=24).is_inside
    low, high = stats.binom.interval(1 - 1e-6, n, 0.95)
    assert low <= held <= high


def test_coins_widen_a_statement_by_their_variance() -> None:
    rng = np.random.default_rng(1)
    sums = ratio_sums(rng, 12)
    plain, tossed = (
        state(one, setting={}, quantity="a", texts=6) for one in (sums, dataclasses.replace(sums, coins=0.2))
    )
    assert tossed.error**2 - plain.error**2 == pytest.approx(0.2 / (6 * sums.bottom.mean()))
    assert plain.error**2 == pytest.approx(sums.variance * (1 / 12 + 1 / 6))


def test_drafts_that_all_stood_may_yet_fall() -> None:
    found = played(1.0, texts=10, rounds=20, gamma=2, seed=0)
    statement = state(found.survival(1), setting={}, quantity="survival", texts=10)
    assert 0.95 < statement.row(1.0, n=10).low < statement.predicted == 1.0
    assert statement.pvalue(1.0) == 1.0


def test_one_text_tells_no_interval() -> None:
    with pytest.raises(InputError, match="number of texts must be at least 2"):
        state(Sums(top=np.ones(1), bottom=np.ones(1)), setting={}, quantity="alpha", texts=4)


def test_a_miss_fails_and_a_fault_that_hits_is_inconclusive() -> None:
    statement = Statement(setting={}, quantity="tau", predicted=2.0, error=0.05, freedom=40)
    options = {"model": "m", "settings": Settings()}
    wrong = {"fault": [(statement.instead(3.0), 2.01)]}
    assert judged("a", [(statement, 2.01)], faults=wrong, **options).verdict == "passed"
    assert judged("a", [(statement, 3.0)], faults=wrong, **options).verdict == "failed"
    unseen = judged("a", [(statement, 2.01)], faults={"fault": [(statement.instead(2.05), 2.01)]}, **options)
    assert unseen.verdict == "inconclusive"
    assert misses([(statement, 2.0)], name="a").pvalue == 1.0


# places and rounds


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_judged_places_are_those_of_played_rounds(gamma: int) -> None:
    """All outcomes of the coins over a text of six tokens, enumerated."""
    stands = np.array([0.3, 1.0, 0.6, 0.0, 0.8, 0.5])
    expected = np.zeros((6, gamma))

    def play(place: int, weight: float) -> None:
        if place + gamma >= 6:
            return
        for depth in range(gamma):
            expected[place + depth, depth] += weight
            play(place + depth + 1, weight * (1 - stands[place + depth]))
            weight *= stands[place + depth]
        play(place + gamma + 1, weight)

    play(0, 1.0)
    np.testing.assert_allclose(judged_places(stands, gamma=gamma), expected, atol=1e-12)


@pytest.mark.parametrize("argmax", [False, True], ids=["sampled", "argmax"])
def test_rounds_foreseen_over_read_texts_are_those_that_decoding_plays(argmax: bool, pair: Drafting) -> None:
    """Null: expectations are equal; t test over 16 texts of either part at 1e-6, Holm over depths."""
    texts = Texts(count=16, tokens=16, seed=5)
    known = foreseen(reading(pair, texts)[1.0, 1.0], gamma=2, argmax=argmax)
    found = chains(pair, dataclasses.replace(texts, part=HELD_OUT), gamma=2, argmax=argmax)
    statement = state(known.without_coins(), setting={}, quantity="E_accepted", texts=16)
    rounds = state(Sums(top=known.rounds, bottom=np.ones(16)), setting={}, quantity="rounds", texts=16)
    measured = [(statement, found.accepted().value), (rounds, float(found.rounds.mean()))]
    assert misses(measured, name="foreseen").passed(1e-6)


def test_plain_averages_over_a_text_are_too_high() -> None:
    """Rounds begin where drafts fell: of a run of easy places every other one is judged, of hard ones each."""
    stands = np.tile([1.0] * 4 + [0.0] * 4, 12)
    judged_at = judged_places(stands, gamma=1)[:, 0]
    assert stands.mean() == 0.5
    assert judged_at @ stands / judged_at.sum() == pytest.approx(1 / 3, abs=0.02)


def test_runs_are_made_once(pair: Drafting, settings: Settings) -> None:
    texts = Texts(count=8, tokens=6)
    assert open_drafting(settings) is pair
    assert chains(pair, texts, gamma=2) is chains(pair, texts, gamma=2)
    assert reading(pair, texts) is reading(pair, texts)


def test_parts_have_other_prompts_and_other_seeds(pair: Drafting) -> None:
    known, others = (Texts(count=8, tokens=6, part=part).requests(pair.loaded) for part in (0, HELD_OUT))
    assert not {tuple(one.prompt) for one in known} & {tuple(one.prompt) for one in others}
    assert not {one.seed for one in known} & {one.seed for one in others}


def test_watched_rules_judge_as_before() -> None:
    p, q = np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.9, 0.1]])
    watched = Watched(VERIFIERS["rejection"], lambda asked: sorted(asked))
    outcomes = [
        rule.verify(p, np.array([0]), q=q, rng=np.random.default_rng(3)) for rule in (watched, VERIFIERS["rejection"])
    ]
    assert outcomes[0] == outcomes[1]
    assert (watched.name, watched.is_lossless) == ("rejection", True)
    assert watched.seen == [["p", "q", "rng", "tokens"]]


def test_coins_are_the_variance_of_the_accepted_length() -> None:
    pmf = np.array([0.2, 0.3, 0.1, 0.4])
    lengths = np.arange(4)
    expected = pmf @ lengths**2 - (pmf @ lengths) ** 2
    assert coins(1 - np.cumsum(pmf)[:-1]) == pytest.approx(expected)


# acceptance by depth


def played(alpha, *, texts: int, rounds: int, gamma: int, seed: int) -> Chains:  # type: ignore[no-untyped-def]
    """Rounds whose drafts stand with a probability of their text."""
    rng = np.random.default_rng(seed)
    each = np.broadcast_to(alpha, texts)
    stood = rng.random((texts, rounds, gamma)) < each[:, None, None]
    return Chains(rounds=np.full(texts, float(rounds)), survived=np.cumprod(stood, axis=2).sum(axis=1).astype(float))


def test_lengths_and_counts_say_the_same() -> None:
    found = played(0.7, texts=5, rounds=20, gamma=3, seed=0)
    assert found.lengths.sum() == 100
    assert found.lengths @ np.arange(4) == found.survived.sum()
    assert found.counted.accepted == tuple(found.survived.sum(axis=0).astype(int))
    assert found.survival(2).value == found.survived[:, 1].sum() / 100


def test_a_beta_by_request_sees_requests_that_differ() -> None:
    """Two kinds of request, 0.4 and 0.9: the correlation of their drafts is 0.3; none where all are alike."""
    mixed = by_request(played(np.tile([0.4, 0.9], 60), texts=120, rounds=30, gamma=4, seed=1))
    alike = by_request(played(0.65, texts=120, rounds=30, gamma=4, seed=2))
    assert mixed.a / (mixed.a + mixed.b) == pytest.approx(0.65, abs=0.1)
    assert 1 / (mixed.a + mixed.b + 1) > 0.1 > 0.02 > 1 / (alike.a + alike.b + 1)


def test_the_right_law_tells_held_out_lengths_best() -> None:
    known = played(0.8, texts=40, rounds=50, gamma=4, seed=3)
    others = played(0.8, texts=40, rounds=50, gamma=4, seed=4)
    laws = fitted(known)
    assert set(laws) == {"constant", "beta", "by_depth", "by_request"}
    assert nats(Acceptance.constant(0.8), others) > nats(Acceptance.constant(0.5), others)
    pmf = np.array([0.2, 0.16, 0.128, 0.1024, 0.4096])
    assert nats(Acceptance.constant(0.8), others) == pytest.approx(others.lengths @ np.log(pmf) / others.lengths.sum())
    assert laws["constant"].survival(1)[0] == pytest.approx(0.8, abs=0.03)


def test_misreadings_of_survival() -> None:
    known = Chains(rounds=np.array([50.0, 50.0]), survived=np.array([[40.0, 32.0], [40.0, 32.0]]))
    wrong = misread(known)
    np.testing.assert_allclose(wrong["accepted over drafted taken for alpha"], [0.72, 0.72**2])
    np.testing.assert_allclose(wrong["survival taken for conditional acceptance"], [0.8, 0.8 * 0.64])


# block verification


def test_the_faulty_block_rule_is_no_longer_lossless_and_accepts_less() -> None:
    """20,000 rounds: survival by formula is what is played, t-free binomial bounds at 1e-6."""
    p, q = np.array([[1 / 3, 2 / 3]] * 3), np.array([[2 / 3, 1 / 3]] * 2)
    rng, runs = np.random.default_rng(0), 20_000
    draft = np.stack([rng.random(runs) > 2 / 3, rng.random(runs) > 2 / 3], axis=1).astype(int)
    found = FirstFailureEnds().verify(p, draft, q=q, rng=rng).accepted
    expected = FirstFailureEnds().survival(p, draft, q=q).mean(axis=0)
    for depth in (1, 2):
        low, high = stats.binom.interval(1 - 1e-6, runs, expected[depth - 1])
        assert low <= (found >= depth).sum() <= high
    assert expected.sum() < Block().survival(p, draft, q=q).mean(axis=0).sum() - 0.05
    assert not FirstFailureEnds.is_lossless


# trees


def test_a_tree_is_looked_at_along_its_paths() -> None:
    topology = Topology(parents=(-1, -1, 0))
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
    seen = tree_or_chain._look({"topology": topology, "p": p, "tokens": np.array([0, 1, 2])})
    assert seen.length == pytest.approx(0.5 + 0.3 + 0.5 * 0.8)
    assert seen.chances == pytest.approx(0.5 + 0.3 + 0.8)
    np.testing.assert_allclose(seen.survival, [0.8, 0.4, 0.0])


def test_shapes_draft_as_many_nodes(pair: Drafting) -> None:
    shapes = {"chain": None, "sequoia": Topology.branching(2, 1), "dynamic": None}
    for shape, topology in shapes.items():
        proposer = tree_or_chain._proposer(pair, shape, nodes=4, topology=topology)
        text = Text(Request(prompt=pair.loaded.prompt_tokens("a text"), sampling=Sampling()))
        proposer.begin([text], None)
        draft = proposer.propose([text], gammas=[4])[0]
        assert len(draft.tokens) == 4, shape


# quantised copies


def test_a_copy_is_of_the_target_whatever_drafter_was_asked_for(settings: Settings, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    asked = []

    def note(own: Settings, **options):  # type: ignore[no-untyped-def]
        asked.append(own.drafter)
        raise InputError("enough")

    monkeypatch.setattr(quantised, "open_drafting", note)
    with pytest.raises(InputError, match="enough"):
        Quantised().run(dataclasses.replace(settings, drafter="another"))
    assert asked == [None]


# training


def test_what_cannot_be_trained_is_inconclusive_and_says_why(settings: Settings, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def refuse(*arguments, **options):  # type: ignore[no-untyped-def]
        raise InputError("loss must be finite, got nan")

    monkeypatch.setattr("validation.train.trainer.train", refuse)
    result = KlOrTv(text_tokens=900, steps=5, drafts=50).run(settings)
    assert result.verdict == "inconclusive"
    assert not result.passed
    assert result.detail == "nothing could be trained: loss must be finite, got nan"
    json.dumps(result.as_dict(), allow_nan=False)


def test_the_difference_of_losses_is_resampled_over_texts() -> None:
    """Every text gains a tenth: so does every resample; and without any difference the interval is about 0."""
    places = np.array([10.0, 20.0, 30.0])
    sums = {"kl": Sums(top=0.3 * places, bottom=places), "tv": Sums(top=0.4 * places, bottom=places)}
    assert kl_or_tv.tv_minus_kl(sums, seed=0) == pytest.approx((0.1, 0.1, 0.1))
    sums["tv"] = Sums(top=sums["kl"].top + np.array([1.0, 0.0, -1.0]), bottom=places)
    middle, low, high = kl_or_tv.tv_minus_kl(sums, seed=0)
    assert low < middle == 0.0 < high


@pytest.mark.parametrize(("tv", "passed"), [(0.2, True), (0.3, False)])
def test_heads_taken_for_each_other_are_told_apart_where_the_loss_matters(
    settings: Settings, tv: float, passed: bool
) -> None:
    """Sixty texts whose acceptance varies by 0.02; at equal acceptance the fault is no fault, and nothing is shown."""
    rng, places = np.random.default_rng(0), np.full(60, 20.0)
    alphas = {
        name: Sums(top=places * rng.normal(alpha, 0.02, size=60), bottom=places)
        for name, alpha in {"untrained": 0.1, "kl": 0.3, "tv": tv}.items()
    }
    result = KlOrTv()._judged(alphas, model="none", settings=settings)
    assert result.passed is passed
    assert result.controls[0].caught is passed
