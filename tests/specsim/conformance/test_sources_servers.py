"""Servers: a local one that speaks vLLM's and llama.cpp's languages over table models, well and badly."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import pytest

from specsim.conformance import Output, Parameters, Request, TableDecoder, TableModels, TableOracle, check, plan
from specsim.conformance.faults import FAULTS
from specsim.conformance.sources import fitting, two_samples
from specsim.conformance.sources.http import Client
from specsim.conformance.sources.llama_cpp import LlamaCppDecoder, LlamaCppOracle, sorted_list
from specsim.conformance.sources.llama_cpp import completion_body as llama_body
from specsim.conformance.sources.openai import OpenAIDecoder, completion_body, token_ids
from specsim.conformance.sources.openai_oracle import PromptOracle, reported_log_probabilities
from specsim.errors import AdapterError, InputError

MODELS = TableModels.random(seed=0)
EOS, LETTER = 7, 3
Body = dict[str, Any]


class Engine:
    """What stands behind the fake server: a decoder over table models, in both dialects."""

    def __init__(self, decoder: TableDecoder | None = None) -> None:
        self.decoder = decoder or TableDecoder(MODELS)
        self.with_ids = self.is_after = True
        self.bodies: list[Body] = []
        self.parts_of_characters: set[int] = set()

    def answer(self, path: str, body: Body) -> Body:
        self.bodies.append(body)
        return {"/v1/completions": self.openai, "/completion": self.llama, "/tokenize": self.tokenize}[path](body)

    def tokenize(self, body: Body) -> Body:
        return {"tokens": [LETTER]}

    def law(self, text: list[int]) -> Any:
        logits = MODELS.logits("target", MODELS.states([text])[0, -1])
        return logits - np.logaddexp.reduce(logits)

    def openai(self, body: Body) -> Body:
        if body.get("prompt_logprobs") is not None:
            return {"choices": [{"prompt_logprobs": self.listed(body["prompt"], body["prompt_logprobs"])}]}
        ends = tuple(body.get("stop_token_ids", ()))
        parameters = Parameters(
            temperature=body["temperature"],
            top_k=body["top_k"] or None,
            top_p=body["top_p"],
            min_p=body["min_p"],
            repetition_penalty=body["repetition_penalty"],
            presence_penalty=body["presence_penalty"],
            frequency_penalty=body["frequency_penalty"],
            logit_bias={int(k): v for k, v in body.get("logit_bias", {}).items()},
            max_tokens=body["max_tokens"],
            min_tokens=body.get("min_tokens", 0),
            eos_ids=ends,
        )
        output = self.decode(body, parameters)
        names = [f"token_id:{token}" for token in output.tokens]
        law = self.law(body["prompt"]) / ((self.is_after and parameters.temperature) or 1)
        law -= np.logaddexp.reduce(law)
        choice: Body = {
            "text": "words",
            "finish_reason": output.finish_reason,
            "logprobs": {
                "tokens": names if self.with_ids else ["word"] * len(names),
                "token_logprobs": list(output.log_probabilities or ()),
                "top_logprobs": [{f"token_id:{token}": float(law[token]) for token in range(8)}],
            },
        }
        if self.with_ids:
            choice["token_ids"] = list(output.tokens)
        return {"choices": [choice]}

    def listed(self, text: list[int], top: int) -> list[Body | None]:
        places: list[Body | None] = [None]
        for end in range(1, len(text)):
            law = self.law(text[:end])
            best = {*np.argsort(-law)[:top].tolist(), text[end]}  # the token that stands there is always listed
            places.append({str(token): {"logprob": float(law[token]), "rank": 0} for token in best})
        return places

    def llama(self, body: Body) -> Body:
        assert body["samplers"] == ["penalties", "temperature", "top_k", "top_p", "min_p"]
        bias = {token: (-math.inf if value is False else value) for token, value in body["logit_bias"]}
        parameters = Parameters(
            temperature=body["temperature"],
            top_k=body["top_k"] or None,
            top_p=body["top_p"],
            min_p=body["min_p"],
            repetition_penalty=body["repeat_penalty"],
            logit_bias=bias,
            max_tokens=body["n_predict"],
            eos_ids=(EOS,),
        )
        output = self.decode(body, parameters)
        law = self.law(body["prompt"])
        best = np.argsort(-law)[: body.get("n_probs", 0)]
        if output.tokens[-1] in self.parts_of_characters:
            return {"tokens": list(output.tokens), "stop_type": "limit", "completion_probabilities": []}
        return {
            "tokens": list(output.tokens),
            "stop_type": {"stop": "eos", "length": "limit"}[output.finish_reason],
            "completion_probabilities": [{"top_logprobs": [{"id": int(t), "logprob": float(law[t])} for t in best]}],
        }

    def decode(self, body: Body, parameters: Parameters) -> Output:
        asked = Request(id="", prompt=tuple(body["prompt"]), parameters=parameters, seed=body.get("seed", 0))
        return self.decoder.generate([asked])[0]


Spoil = Callable[[BaseHTTPRequestHandler, int], bool]


class Server:
    """The engine behind a socket of this machine; `spoil` may answer in its place."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.count, self.hosts = engine, 0, []  # type: ignore[var-annotated]
        self.spoil: Spoil = lambda handler, count: False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.count += 1
                outer.hosts.append(self.headers["Host"])
                if not outer.spoil(self, outer.count):
                    send(self, 200, outer.engine.answer(self.path, body))

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: Any, **headers: str) -> bool:
    data = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)
    return True


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(Engine())
    yield made
    made.close()


def client(server: Server, **options: Any) -> Client:
    return Client(server.url, **{"pause_seconds": 0.001, "timeout_seconds": 5.0, **options})


def requests(count: int, parameters: Parameters | None = None) -> list[Request]:
    chosen = parameters or Parameters(max_tokens=4)
    return [Request(id=f"r{i}", prompt=(1, i % 8), parameters=chosen, seed=i) for i in range(count)]


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["openai", "llama"])
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(None, "conforms"), ("accept.always", "does not conform"), ("bonus.from_q", "does not conform")],
)
def test_a_server_is_judged_as_the_decoder_behind_it(
    server: Server, dialect: str, fault: str | None, outcome: str
) -> None:
    """Null: a lossless server, false alarms at most 1e-6 by construction; faults at 4,000 tokens."""
    server.engine.decoder = TableDecoder(MODELS) if fault is None else FAULTS[fault](MODELS)
    decoder, oracle = pair(server, dialect)
    asked, _ = fitting(plan(tokens=1000 if fault is None else 4000, vocabulary=8, eos_id=EOS), decoder, oracle)
    assert check(decoder, oracle, asked).outcome == outcome


def pair(server: Server, dialect: str) -> tuple[Any, Any]:
    if dialect == "openai":
        return OpenAIDecoder(client(server), eos_id=EOS), PromptOracle(client(server), vocabulary=8, top=8)
    return LlamaCppDecoder(client(server), eog_ids=[EOS], workers=4), LlamaCppOracle(client(server), vocabulary=8)


@pytest.mark.parametrize("dialect", ["openai", "llama"])
def test_the_laws_of_a_server_are_those_of_the_tables(server: Server, dialect: str) -> None:
    decoder, oracle = pair(server, dialect)
    asked, gone = fitting(plan(tokens=1000, vocabulary=8, eos_id=EOS), decoder, oracle)
    some = asked.requests(0, 60)
    outputs = decoder.generate(some)
    found = np.exp(np.asarray(oracle.score(some, outputs).log_p))
    np.testing.assert_allclose(found, np.exp(np.asarray(TableOracle(MODELS).score(some, outputs).log_p)), atol=1e-9)
    assert any("acts on logits" in reason for reason in gone.values())
    assert ("seeds" in gone) == (dialect == "llama")  # its texts may end at once, and two of them be alike


def test_a_short_list_leaves_the_rest_in_one_cell_and_out_what_was_drawn(server: Server) -> None:
    oracle = PromptOracle(client(server), vocabulary=8, top=3)
    (request,) = requests(1)
    tokens = tuple(int(np.argmin(server.engine.law([1, 0]))) for _ in range(2))  # the least likely: never among three
    rows = oracle.score([request], [Output(tokens=tokens, finish_reason="length")])
    ids, log_p = np.asarray(rows.ids), np.asarray(rows.log_p)
    law = server.engine.law([1, 0])
    assert ids[0].tolist() == np.argsort(-law)[:3].tolist()
    np.testing.assert_allclose(log_p[0], np.sort(law)[::-1][:3])
    assert tokens[0] not in ids[0]
    warm = requests(1, Parameters(temperature=0.5, max_tokens=4))
    with pytest.raises(AdapterError, match=r"temperature 0.5 needs whole rows"):
        oracle.score(warm, [Output(tokens=tokens, finish_reason="length")])


def test_speculation_on_and_off_are_told_apart_without_any_law(server: Server) -> None:
    """Null: two lossless decoders with other seeds; false alarms at most 1e-6. The fault is gross."""
    right, other = OpenAIDecoder(client(server)), TableDecoder(MODELS)
    options = {"prompts": [(1, 2), (5,)], "texts": 150, "parameters": Parameters(max_tokens=3)}
    same = two_samples(right, other, **options)  # type: ignore[arg-type]
    assert same.conforms
    assert 0 < same.results["first 1 tokens"].smallest_tv < 1  # type: ignore[operator]
    faulty = two_samples(FAULTS["accept.always"](MODELS), other, **options)  # type: ignore[arg-type]
    assert not faulty.conforms
    assert faulty.results["whole texts"].pvalue < 1e-3
    with pytest.raises(InputError, match=r"texts must be at least 20, got 3"):
        two_samples(right, other, prompts=[(1,)], texts=3)
    with pytest.raises(InputError, match=r"prompts must hold at least one, got none"):
        two_samples(right, other, prompts=[], texts=30)


def test_two_samples_of_one_law_are_rarely_told_apart_at_a_loose_level() -> None:
    """Null, n = 200 runs at level 0.2: 70 or more rejections have probability below 1e-6 at 40 expected at most."""
    decoder = TableDecoder(MODELS)
    told = [
        not two_samples(
            decoder,
            decoder,
            prompts=[(1,), (4,)],
            texts=25,
            parameters=Parameters(max_tokens=2),
            level=0.2,
            seed=97 * run,
        ).conforms
        for run in range(200)
    ]
    assert sum(told) < 70


# --- what is said ----------------------------------------------------------------------------------------------------


def test_everything_is_said_so_that_no_default_of_a_model_counts(server: Server) -> None:
    OpenAIDecoder(client(server), model="m").generate(requests(1, Parameters(banned_ids=(3,), eos_ids=(6,))))
    body = server.engine.bodies[0]
    silent = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
    assert [body[name] for name in silent] == [1.0, 1.0, 0, 0.0, 1.0, 0.0, 0.0]
    assert (body["model"], body["ignore_eos"], body["stop_token_ids"]) == ("m", True, [6])
    assert body["logit_bias"] == {"3": -100.0}
    neutral = llama_body(requests(1)[0], reuse_cache=False)
    assert [neutral[name] for name in ("top_k", "top_p", "min_p", "typical_p", "repeat_penalty")] == [
        0,
        1.0,
        0.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (Parameters(allowed_after={1: (2,)}), "no grammar over token ids"),
        (Parameters(stop_sequences=((1, 2),)), "stops at text"),
        (Parameters(min_tokens=2, eos_ids=(3,)), "min_tokens also bans"),
        (Parameters(min_tokens=2, eos_ids=(EOS,), stop_sequences=((1,),)), "min_tokens also bans"),
    ],
)
def test_what_an_openai_server_cannot_be_asked_is_refused(server: Server, parameters: Parameters, reason: str) -> None:
    decoder = OpenAIDecoder(client(server), eos_id=EOS)
    assert reason in str(decoder.refuses(parameters))
    with pytest.raises(AdapterError, match=reason):
        decoder.generate(requests(1, parameters))
    assert server.count == 0
    assert decoder.refuses(Parameters(min_tokens=2, eos_ids=(EOS, 3))) is None


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (Parameters(), "texts end at the model's own tokens"),
        (Parameters(eos_ids=(EOS,), min_tokens=1), "has no min_tokens"),
        (Parameters(eos_ids=(EOS,), presence_penalty=0.5), "count the prompt"),
    ],
)
def test_what_llama_cpp_cannot_be_asked_is_refused(server: Server, parameters: Parameters, reason: str) -> None:
    decoder = LlamaCppDecoder(client(server), eog_ids=[EOS])
    with pytest.raises(AdapterError, match=reason):
        decoder.generate(requests(1, parameters))
    assert decoder.refuses(decoder.adapted(Parameters())) is None


def test_log_probabilities_before_and_after_temperature_are_told_apart(server: Server) -> None:
    assert reported_log_probabilities(client(server), prompt=[1, 2]) == "after"
    server.engine.is_after = False
    assert reported_log_probabilities(client(server), prompt=[1, 2]) == "before"
    decoder = OpenAIDecoder(client(server), reports="after")
    (output,) = decoder.generate(requests(1))
    assert output.log_probabilities is not None
    server.engine.law = lambda text: np.array([0.0, *[-0.9 * len(server.engine.bodies)] * 7])  # type: ignore[method-assign]
    with pytest.raises(AdapterError, match=r"fit neither the law before temperature nor the one after"):
        reported_log_probabilities(client(server), prompt=[1, 2])
    server.engine.law = lambda text: np.full(8, -np.log(8))  # type: ignore[method-assign]
    with pytest.raises(AdapterError, match=r"must have two tokens of different probability"):
        reported_log_probabilities(client(server), prompt=[1, 2])


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_text_only_is_refused(server: Server) -> None:
    server.engine.with_ids = False
    with pytest.raises(AdapterError, match=r"'r0' .*must return token ids \(return_token_ids\), got text only"):
        OpenAIDecoder(client(server)).generate(requests(1))
    with pytest.raises(AdapterError, match=r"must return token ids, got"):
        token_ids({"token_ids": ["x"]})


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_answers_are_asked_again_after_longer_and_longer_pauses(server: Server, status: int) -> None:
    server.spoil = lambda handler, count: count <= 3 and send(handler, status, {})
    pauses: list[float] = []
    asking = client(server, pause_seconds=0.5, sleep=pauses.append)
    assert len(OpenAIDecoder(asking).generate(requests(1))) == 1
    assert pauses == [0.5, 1.0, 2.0]


def test_retry_after_counts_up_to_half_a_minute(server: Server) -> None:
    answers = {1: {"Retry_After": "7"}, 2: {"Retry_After": "4000"}, 3: {"Retry_After": "Sun, 06 Nov 1994 08:49:37 GMT"}}
    server.spoil = lambda handler, count: count in answers and send(handler, 429, {}, **answers[count])
    pauses: list[float] = []
    client(server, pause_seconds=0.5, sleep=pauses.append).post("/v1/completions", completion_body(requests(1)[0]))
    assert pauses == [7.0, 30.0, 30.0]


def test_a_server_that_stays_broken_is_given_up_with_what_was_answered_kept(server: Server) -> None:
    server.spoil = lambda handler, count: count > 6 and send(handler, 500, {})
    kept: dict[int, Output] = {}
    with pytest.raises(
        AdapterError, match=r"'r6' \(7 of 9 in its batch\): .* no answer in 3 attempts, the last: HTTP 500"
    ):
        kept.update(OpenAIDecoder(client(server, retries=2), workers=1).answers(requests(9)))
    assert sorted(kept) == list(range(6))
    assert server.count == 6 + 3


def test_a_cut_answer_is_asked_again(server: Server) -> None:
    def cut(handler: BaseHTTPRequestHandler, count: int) -> bool:
        if count > 2:
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices": [')
        handler.close_connection = True
        return True

    server.spoil = cut
    assert len(OpenAIDecoder(client(server)).generate(requests(1))) == 1
    assert server.count == 3


def test_a_server_that_hangs_or_is_not_there_is_given_up(server: Server) -> None:
    release = threading.Event()
    server.spoil = lambda handler, count: release.wait(5)
    begun = time.monotonic()
    with pytest.raises(AdapterError, match=r"no answer in 2 attempts, the last: ReadTimeout"):
        client(server, retries=1, timeout_seconds=0.05).post("/completion", {})
    assert time.monotonic() - begun < 4
    release.set()
    with pytest.raises(AdapterError, match=r"no answer in 1 attempts, the last: ConnectError"):
        Client("http://127.0.0.1:9", retries=0).post("/completion", {})


def test_nothing_but_the_named_host_is_contacted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Server(Engine())
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, other.url)
    server.spoil = lambda handler, count: send(handler, 307, {}, Location=other.url + "/v1/completions")
    with pytest.raises(AdapterError, match=r"redirects to 'http://127.0.0.1:\d+/v1/completions'; no other place"):
        OpenAIDecoder(client(server)).generate(requests(1))
    assert (server.count, other.count) == (1, 0)
    other.close()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h", "http://", "file:///etc/passwd"])
def test_urls_must_name_a_host(url: str) -> None:
    with pytest.raises(InputError, match=r"url must be http://HOST or https://HOST"):
        Client(url)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((400, {"error": "no such model"}), r"answered HTTP 400: .*no such model"),
        ((200, [1]), r"must answer a JSON object, got \[1\]"),
        ((200, {"choices": []}), r"must answer with one choice"),
        ((200, {"choices": [1]}), r"must answer with one choice"),
        ((200, {}), r"must answer with one choice, got None"),
    ],
)
def test_foreign_answers_are_refused(server: Server, answer: tuple[int, Any], message: str) -> None:
    server.spoil = lambda handler, count: send(handler, *answer)
    with pytest.raises(AdapterError, match=message):
        OpenAIDecoder(client(server)).generate(requests(1))


def test_no_json_is_refused() -> None:
    quiet = Client("http://h", transport=httpx.MockTransport(lambda _: httpx.Response(200, text="<html>")))
    with pytest.raises(AdapterError, match=r"must answer JSON, got '<html>'"):
        quiet.post("/completion", {})


OUTPUT = [Output(tokens=(1, 2), finish_reason="length")]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (None, r"must give prompt_logprobs for each of 4 tokens of a prompt, got None"),
        ([None], r"prompt_logprobs for each of 4 tokens of a prompt, got 1"),
        ([None] * 4, r"must list tokens at every place, got None"),
        ([None, None, {"1": -0.1}, {"1": -0.1}], r"must list 3 tokens at every place, got 1"),
        ([None, None, *[{"1": -0.1, "2": 0.5, "3": -1}] * 2], r"must be numbers of at most 0, got 0.5"),
        ([None, None, *[{"1": -0.1, "2": None, "3": -1}] * 2], r"must be numbers of at most 0, got None"),
    ],
)
def test_oracles_that_list_nonsense_are_refused(server: Server, listed: Any, message: str) -> None:
    server.spoil = lambda handler, count: send(handler, 200, {"choices": [{"prompt_logprobs": listed}]})
    with pytest.raises(AdapterError, match=message):
        PromptOracle(client(server), vocabulary=8, top=3).score(requests(1), OUTPUT)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, r"must tell the tokens of a letter, got None"),
        ({"completion_probabilities": [{"top_logprobs": [{"id": 1, "logprob": 0}]}]}, r"must list 8 tokens .*, got 1"),
        ({"completion_probabilities": [{"top_logprobs": [{"tok": 1}] * 8}]}, r"must hold id and logprob"),
    ],
)
def test_llama_oracles_that_list_nonsense_are_refused(server: Server, body: Body, message: str) -> None:
    server.spoil = lambda handler, count: send(handler, 200, body)
    with pytest.raises(AdapterError, match=message):
        LlamaCppOracle(client(server), vocabulary=8).score(requests(1), OUTPUT)
    with pytest.raises(AdapterError, match=r"must return token ids \(return_tokens\), got None"):
        LlamaCppDecoder(client(server), eog_ids=[EOS]).generate(requests(1, Parameters(eos_ids=(EOS,))))


def test_rows_after_which_part_of_a_character_was_drawn_are_asked_again_with_a_letter(server: Server) -> None:
    (request,), output = requests(1, Parameters(eos_ids=(EOS,))), Output(tokens=(1, 2, 4), finish_reason="stop")
    expected = LlamaCppOracle(client(server), vocabulary=8).score([request], [output])
    server.engine.parts_of_characters = set(range(8)) - {LETTER}
    found = LlamaCppOracle(client(server), vocabulary=8).score([request], [output])
    np.testing.assert_array_equal(np.asarray(found.log_p), np.asarray(expected.log_p))
    server.engine.tokenize = lambda body: {}  # type: ignore[method-assign]
    with pytest.raises(AdapterError, match=r"must tell the tokens of a letter, got None"):
        LlamaCppOracle(client(server), vocabulary=8).score([request], [output])


def test_the_lowest_float_stands_for_zero() -> None:
    assert sorted_list([{"id": 1, "logprob": -3.4028234663852886e38}])[1].tolist() == [-math.inf]
