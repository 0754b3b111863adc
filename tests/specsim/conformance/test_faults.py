"""The catalogue: every fault is one, most show within 4,000 tokens, and look-alikes pass."""

from __future__ import annotations

import pytest

from specsim.conformance import TableDecoder
from specsim.conformance.faults import FAULTS
from specsim.conformance.lookalikes import LOOKALIKES, NeverBonus
from specsim.conformance.self_test import FaultRow, SelfTest, self_test, table_check
from specsim.errors import InputError

SLOW = {
    "accept.lenience_0.95": 64_000,
    "draft.never_eos": 64_000,
    "numeric.zero_accepts_impossible": 64_000,
    "parameters.draft_truncated_ratio_raw": 16_000,
    "parameters.penalties_frozen_in_round": 16_000,
    "parameters.top_p_not_renormalised": 16_000,
    "random.accept_reuses_drawing": 16_000,
    "random.residual_reuses_rejecting": 64_000,
    "random.gumbel_reused_in_residual": 256_000,
    "stop.min_tokens_of_round": 256_000,
    "tree.q_not_renormalised": 256_000,
}
"""Faults that may take more than 4,000 tokens, and within how many they are caught."""
UNSEEN = {"random.grid_of_8_bits"}
"""Not caught with 256,000."""
SEEN_IN_TEXT = (
    ("accept.always", "output looks like q"),
    ("accept.without_q", "too many rejections"),
    ("rows.shifted_back", "row off by one"),
    ("rows.shifted_ahead", "row off by one"),
    ("residual.not_normalised", "high token ids come too often"),
    ("random.restarted_every_round", "penalty state"),
    ("random.shared_by_two_requests", "share a random stream"),
    ("draft.greedy_with_soft_q", "draft's argmax"),
    ("stop.eos_inside_block", "a stop is missed"),
    ("numeric.log_probability_of_wrong_row", "reported log-probabilities"),
    ("residual.from_p", "a wrong residual"),
    ("parameters.bans_ignored_on_verify", "tokens that the target forbids"),
)


@pytest.mark.parametrize("id_", sorted(FAULTS))
def test_every_fault_says_what_it_is(id_: str) -> None:
    fault = FAULTS[id_]
    assert fault.__doc__
    assert fault.__doc__ != TableDecoder.__doc__
    assert len(id_.split(".", 1)) == 2
    assert issubclass(fault, TableDecoder)


def test_the_catalogue_is_as_large_as_promised() -> None:
    assert len(FAULTS) >= 55
    assert len({id_.split(".")[0] for id_ in FAULTS}) >= 12
    assert set(SLOW) | UNSEEN <= set(FAULTS)


@pytest.mark.parametrize("id_", sorted(set(FAULTS) - set(SLOW) - UNSEEN))
def test_most_faults_show_within_4000_tokens(id_: str) -> None:
    verdict = table_check(FAULTS[id_], tokens=4000, negative_controls=False)
    assert verdict.outcome == "does not conform"
    assert verdict.tokens <= 4000
    assert verdict.hypothesis
    assert verdict.replays


@pytest.mark.parametrize("id_", sorted(id_ for id_, tokens in SLOW.items() if tokens <= 64_000))
def test_others_take_longer(id_: str) -> None:
    verdict = table_check(FAULTS[id_], tokens=SLOW[id_], negative_controls=False)
    assert verdict.outcome == "does not conform"


@pytest.mark.parametrize(("id_", "words"), SEEN_IN_TEXT)
def test_the_verdict_names_the_cause(id_: str, words: str) -> None:
    assert words in table_check(FAULTS[id_], tokens=2000, negative_controls=False).hypothesis


@pytest.mark.parametrize("id_", ["top_k", "top_p", "min_p", "bans"])
def test_the_verdict_names_the_parameter(id_: str) -> None:
    verdict = table_check(FAULTS[f"parameters.{id_}_ignored_on_verify"], tokens=4000, negative_controls=False)
    assert verdict.where in (f"requests with {id_.replace('_', '-')}", "")
    assert verdict.test == "impossible tokens"
    replay = verdict.replays[0]
    assert replay.why == "this token has probability 0"
    assert replay.output.tokens[replay.place] is not None


@pytest.mark.parametrize("id_", sorted(LOOKALIKES))
@pytest.mark.parametrize("text_only", [False, True])
def test_lookalikes_pass(id_: str, text_only: bool) -> None:
    """Null: lossless decoders; false-alarm rate 1e-6 each by construction."""
    verdict = table_check(LOOKALIKES[id_], tokens=4000, text_only=text_only)
    assert (verdict.outcome, verdict.tokens) == ("conforms", 4000)


def test_a_lossless_decoder_that_claims_the_wrong_rule_fails() -> None:
    """It never emits a bonus, so its rounds are not those of the rule that it claims."""

    class Claiming(NeverBonus):
        claims = "rejection"

    verdict = table_check(Claiming, tokens=4000)
    assert verdict.outcome == "does not conform"
    assert verdict.test.startswith("drafts")


def test_a_fault_of_ones_own() -> None:
    class Impatient(TableDecoder):
        """Accepts what is likely enough."""

        def chance(self, turn):  # type: ignore[no-untyped-def]
            return self.chances(turn)[0] > 0.3

    table = self_test(tokens=2000, faults={"mine.impatient": Impatient}, controls={"plain": TableDecoder})
    assert table.is_sound
    (row,) = table.faults
    assert (row.id, row.group, row.detected) == ("mine.impatient", "mine", True)
    assert table.caught(2000) == 1
    assert table.caught(row.tokens - 1) == 0


def test_a_control_that_fails_is_told() -> None:
    table = self_test(tokens=1000, faults={}, controls={"bad": FAULTS["accept.always"]})
    assert not table.is_sound
    assert not table.controls[0].passed
    assert table.controls[0].outcome.startswith("does not conform: ")


def test_budgets_are_whole_numbers() -> None:
    with pytest.raises(InputError, match="tokens must be at least 1"):
        self_test(tokens=0)


def test_what_is_caught_counts_detected_faults_only() -> None:
    row = FaultRow(id="a.b", group="a", detected=False, tokens=10, hypothesis="", where="", test="")
    assert SelfTest(faults=(row,), controls=()).caught(10) == 0
