"""A Python function as a decoder: what it may return, and what happens when it breaks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from specsim.conformance import Output, Parameters, Request, TableDecoder, TableModels, TableOracle, check, plan
from specsim.conformance.sources import fitting, from_callable
from specsim.conformance.sources.answers import one_by_one
from specsim.errors import AdapterError, InputError

MODELS = TableModels.random(seed=0)
FREE = Parameters(max_tokens=3)


def requests(count: int) -> list[Request]:
    return [Request(id=f"r{i}", prompt=(1, i % 8), parameters=FREE, seed=i) for i in range(count)]


def one(prompt: Sequence[int], parameters: Parameters, seed: int) -> Any:
    (output,) = TableDecoder(MODELS).generate([Request(id="", prompt=tuple(prompt), parameters=parameters, seed=seed)])
    return output.tokens


def many(prompts: Sequence[Sequence[int]], parameters: Sequence[Parameters], seeds: Sequence[int]) -> Any:
    asked = [
        Request(id=str(i), prompt=tuple(prompt), parameters=parameters[i], seed=seeds[i])
        for i, prompt in enumerate(prompts)
    ]
    return [np.array(output.tokens) for output in TableDecoder(MODELS).generate(asked)]


@pytest.mark.parametrize("decoder", [from_callable(one), from_callable(many, is_batch=True)])
def test_a_function_gives_what_the_decoder_behind_it_gives(decoder: Any) -> None:
    asked = plan(tokens=1000, vocabulary=8, eos_id=7).requests(0, 30)
    expected = TableDecoder(MODELS).generate(asked)
    made = decoder.generate(asked)
    assert [one.tokens for one in made] == [one.tokens for one in expected]
    assert [one.finish_reason for one in made] == [one.finish_reason for one in expected]


def test_a_lossless_function_conforms_and_a_greedy_one_does_not() -> None:
    """Null: the table's own decoder; false alarms at most 1e-6 by construction. The fault shows at once."""
    asked = plan(tokens=1000, vocabulary=8, eos_id=7)
    assert check(from_callable(many, is_batch=True), TableOracle(MODELS), asked).outcome == "conforms"

    def hasty(prompt: Sequence[int], parameters: Parameters, seed: int) -> list[int]:
        text = list(prompt)
        for _ in range(parameters.max_tokens):
            text.append(int(MODELS.logits("target", MODELS.states([text])[0, -1]).argmax()))
        tokens = text[len(prompt) :]
        end = parameters.end(tokens)
        assert end is not None
        return tokens[: end[0]]

    assert check(from_callable(hasty), TableOracle(MODELS), asked).outcome == "does not conform"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("some text", r"must return token ids, got text 'some text'"),
        ([1.0, 2.0, 3.0], r"must return token ids in one axis"),
        ([[1, 2, 3]], r"must return token ids in one axis"),
        ([[1], [2, 3]], r"must return token ids in one axis"),
        (None, r"must return token ids in one axis, got None"),
        ([1, 2], r"must return max_tokens 3 tokens or end with one that ends a text, got 2 tokens"),
    ],
)
def test_anything_but_token_ids_is_refused(made: Any, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        from_callable(lambda *_: made).generate(requests(1))


def test_outputs_with_rounds_pass_through() -> None:
    output = Output(tokens=(1, 2, 3), finish_reason="length", blocks=(2, 1))
    assert from_callable(lambda *_: output).generate(requests(1)) == [output]


def test_a_crash_on_the_seventh_request_keeps_the_six_before_it() -> None:
    def fragile(prompt: Sequence[int], parameters: Parameters, seed: int) -> list[int]:
        if seed == 6:
            raise MemoryError("no room")
        return [seed % 8] * 3

    kept: dict[int, Output] = {}
    with pytest.raises(AdapterError, match=r"failed on request 'r6' \(7 of 9 in its batch\).*MemoryError: no room"):
        kept.update(from_callable(fragile).answers(requests(9)))
    assert {place: output.tokens for place, output in kept.items()} == {place: (place,) * 3 for place in range(6)}


def test_a_function_that_hangs_is_left_behind() -> None:
    release = threading.Event()
    hanging = from_callable(lambda *_: release.wait(), timeout_seconds=0.05)
    with pytest.raises(AdapterError, match=r"no answer within 0.05 s"):
        hanging.generate(requests(1))
    release.set()
    with pytest.raises(InputError, match=r"timeout_seconds must be above 0"):
        from_callable(one, timeout_seconds=0)


def test_a_batch_must_be_answered_whole() -> None:
    with pytest.raises(AdapterError, match=r"must answer each of 3 requests, got 2 answers"):
        from_callable(lambda *_: [[1, 2, 3]] * 2, is_batch=True).generate(requests(3))
    with pytest.raises(AdapterError, match=r"the function on a batch of 3 failed: ZeroDivisionError"):
        from_callable(lambda *_: 1 // 0, is_batch=True).generate(requests(3))


def test_requests_run_side_by_side_when_asked_to() -> None:
    together = threading.Barrier(4, timeout=10)

    def answer(request: Request) -> Output:
        together.wait()  # passes only when four are under way at once
        return Output(tokens=(request.seed,), finish_reason="length")

    found = dict(one_by_one(answer, requests(8), workers=4))
    assert {place: output.tokens for place, output in found.items()} == {place: (place,) for place in range(8)}


def test_no_request_is_begun_after_a_failure() -> None:
    begun = []

    def answer(request: Request) -> Output:
        begun.append(request.id)
        raise RuntimeError("broken")

    with pytest.raises(AdapterError, match=r"'r0' \(1 of 50"):
        list(one_by_one(answer, requests(50)))
    assert begun == ["r0"]


def test_a_plan_is_cut_to_what_a_source_takes() -> None:
    class Plain:
        def adapted(self, parameters: Parameters) -> Parameters:
            return Parameters(temperature=parameters.temperature, max_tokens=parameters.max_tokens)

        def refuses(self, parameters: Parameters) -> str | None:
            return "no temperature" if parameters.temperature != 1 else None

    whole = plan(tokens=1000, vocabulary=8, eos_id=7)
    left, gone = fitting(whole, Plain())
    warm = {cell.name for cell in whole.cells if cell.parameters.temperature == 1}
    assert gone == dict.fromkeys({cell.name for cell in whole.cells} - warm, "no temperature")
    assert set(left.tags) | set(gone) == set(whole.tags)
    assert fitting(whole, object()) == (whole, {})
    refusing = type("Refusing", (), {"refuses": lambda self, parameters: "no"})
    with pytest.raises(InputError, match=r"a kind of request that the decoder can be asked, got none"):
        fitting(whole, refusing())
