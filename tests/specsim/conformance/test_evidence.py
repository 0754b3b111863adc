"""Evidence: against definitions written out token by token."""

from __future__ import annotations

import numpy as np
import pytest

from specsim.conformance import Output, Request, Rows, TableDecoder, TableModels, TableOracle, plan
from specsim.conformance.collecting import collect
from specsim.conformance.evidence import CUT, UNKNOWN, Evidence, joined

MODELS = TableModels.random(seed=2)
PLAN = plan(tokens=1000, vocabulary=8, eos_id=7, seed=2)
REQUESTS = PLAN.requests(0, 80)
OUTPUTS = TableDecoder(MODELS).generate(REQUESTS)
ROWS = TableOracle(MODELS).score(REQUESTS, OUTPUTS)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return collect(REQUESTS, OUTPUTS, ROWS, tags=PLAN.tags)


def test_every_field_is_its_definition(evidence: Evidence) -> None:
    p, q, row = np.exp(ROWS.log_p), np.exp(ROWS.log_q), 0
    for number, (request, output) in enumerate(zip(REQUESTS, OUTPUTS, strict=True)):
        assert output.blocks is not None
        assert output.drafted is not None
        place = 0
        for added, drafted in zip(output.blocks, output.drafted, strict=True):
            reach = 1.0
            for depth in range(added):
                token, before = output.tokens[place], output.tokens[:place]
                is_last = place == len(output.tokens) - 1
                fate = UNKNOWN if depth >= drafted else CUT if is_last else int(depth < added - 1)
                assert evidence.request[row] == number
                assert (evidence.place[row], evidence.depth[row]) == (place, depth)
                assert evidence.accepted[row] == fate
                assert evidence.reach[row] == pytest.approx(reach)
                assert evidence.draft_mass[row] == pytest.approx(q[row, token])
                assert evidence.observed.mass[row] == pytest.approx(p[row, token])
                ending = [x for x in range(8) if (request.parameters.end((*before, x)) or (0, ""))[1] == "stop"]
                stay = [x for x in range(8) if x not in ending]
                assert evidence.end_mass[row] == pytest.approx(p[row, ending].sum())
                assert evidence.ended[row] == (token in ending)
                assert evidence.overlap[row, 0] == pytest.approx(np.minimum(p[row, stay], q[row, stay]).sum())
                if reach > 0:
                    shared = np.minimum(reach * p[row, stay], q[row, stay]).sum() / reach
                    assert evidence.overlap[row, 1] == pytest.approx(shared)
                assert evidence.observed.seen is not None
                assert evidence.observed.seen[row].nonzero()[0].tolist() == sorted({*request.prompt, *before})
                for tag in PLAN.tags:
                    assert evidence.tags[tag][row] == (tag in request.tags)
                reach = min(1.0, reach * p[row, token] / q[row, token]) if q[row, token] > 0 else 1.0
                place, row = place + 1, row + 1
    assert row == len(evidence)
    assert evidence.room.tolist() == [request.parameters.max_tokens for request in REQUESTS]
    assert evidence.least.tolist() == [request.parameters.min_tokens for request in REQUESTS]


def test_batches_join_to_what_one_batch_gives(evidence: Evidence) -> None:
    halves = []
    for part in (slice(0, 30), slice(30, 80)):
        requests, outputs = REQUESTS[part], OUTPUTS[part]
        halves.append(collect(requests, outputs, TableOracle(MODELS).score(requests, outputs), tags=PLAN.tags))
    whole = joined(halves)
    for name in ("request", "place", "depth", "accepted", "reach", "draft_mass", "ended", "room", "least"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(evidence, name))
    np.testing.assert_array_equal(whole.observed.p, evidence.observed.p)
    assert joined([evidence]) is evidence
    few = evidence.take(np.arange(7))
    assert len(few) == 7
    assert few.request.tolist() == evidence.request[:7].tolist()


def test_groups_are_known_before_the_token(evidence: Evidence) -> None:
    """Changing a token changes no group that it is in itself: they look at places, rounds so far and earlier tokens."""
    groups = evidence.strata()
    assert {f"requests with {tag}" for tag in PLAN.tags} < set(groups)
    row = int(np.flatnonzero((evidence.place == 4) & (evidence.accepted == 0))[0])
    start = int(np.flatnonzero(evidence.request == evidence.request[row])[0])
    number = int(evidence.request[row])
    output = OUTPUTS[number]
    other = (output.tokens[4] + 1) % 8
    changed = Output(
        tokens=(*output.tokens[:4], other, *output.tokens[5:]),
        finish_reason=output.finish_reason,
        blocks=output.blocks,
        drafted=output.drafted,
    )
    rows = TableOracle(MODELS).score([REQUESTS[number]], [changed])
    after = collect([REQUESTS[number]], [changed], rows, tags=PLAN.tags).strata()
    for name, mask in groups.items():
        assert after[name][:5].tolist() == mask[start : start + 5].tolist()


def test_without_rounds_or_draft_little_is_known() -> None:
    bare = [Output(tokens=one.tokens, finish_reason=one.finish_reason) for one in OUTPUTS]
    evidence = collect(REQUESTS, bare, TableOracle(MODELS, with_draft=False).score(REQUESTS, bare), tags=())
    assert (evidence.depth == UNKNOWN).all()
    assert (evidence.accepted == UNKNOWN).all()
    assert (evidence.reach == 1).all()
    assert np.isnan(evidence.draft_mass).all()
    assert np.isnan(evidence.overlap).all()


def test_a_list_of_the_likeliest_tokens_is_enough() -> None:
    full = np.exp(ROWS.log_p)
    ids = np.argsort(-full, axis=1)[:, :3]
    some = np.take_along_axis(full, ids, axis=1)
    with np.errstate(divide="ignore"):
        evidence = collect(REQUESTS, OUTPUTS, Rows(log_p=np.log(some), ids=ids), tags=())
    assert evidence.observed.p.shape == (len(full), 4)
    np.testing.assert_allclose(evidence.observed.p.sum(axis=1), 1.0)
    assert np.isnan(evidence.end_mass).all()


def test_a_row_that_is_the_row_before_bets_on_nothing() -> None:
    request, output = Request(id="a", prompt=(1, 1)), Output(tokens=(1, 1, 1), finish_reason="length")
    evidence = collect([request], [output], TableOracle(MODELS).score([request], [output]), tags=())
    assert evidence.observed.previous is not None
    assert (evidence.observed.previous == 0).all()
