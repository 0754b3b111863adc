"""What runs on a GPU, on a pretended one: drafters, heads, training and claims, with every tensor where it belongs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from specsim.distributions import Sampling
from tests.validation.pretended_gpu import CAN_PRETEND, NAME, pretended_gpu
from validation.claims import CLAIMS, Settings, speculation
from validation.decoder import load as loading
from validation.decoder.datastore import Datastore
from validation.decoder.load import Loaded, load
from validation.decoder.loop import decode_all
from validation.decoder.model import CachedModel
from validation.decoder.proposers import PROPOSERS
from validation.decoder.text import Request
from validation.decoder.tiny import tiny_model
from validation.heads import HEADS
from validation.timing import fingerprint
from validation.train.corpus import make_corpus
from validation.train.recipe import recipe
from validation.train.text import Writing
from validation.train.trainer import train

pytestmark = pytest.mark.skipif(not CAN_PRETEND, reason="no device to be written in Python, or a real one")

PROMPTS = [b"a rose is a rose is a rose", b"to be or not to be, that is"]
OPTIONS = {
    "rest": {"datastore": Datastore.build([list(prompt) for prompt in PROMPTS], vocabulary_size=257)},
    "layer_skip": {"layers": 2},
    "draft_verify": {"skip": [2]},
    "early_exit": {"layers": 3},
    "lookahead": {"window": 3, "ngram": 3},
    "quantised": {"bits": 4},
    "dynamic_tree": {"nodes": 6, "top_k": 2},
    "sampled_tree": {"branching": (2, 1)},
    "head_tree": {"nodes": 6, "top_k": 2},
    "head_sampled_tree": {"branching": (2, 1)},
}


@pytest.fixture
def gpu():
    with pretended_gpu():
        yield


@pytest.fixture
def default(monkeypatch):
    """The tiny model in place of the one that has to be fetched, and its shape in place of 7B."""

    def made(cache, *, dtype, device):
        model, tokenizer = tiny_model()
        return Loaded(model=model.to(device=device, dtype=dtype), tokenizer=tokenizer, name="tiny", is_real=True)

    config = tiny_model()[0].config
    small = {name: getattr(config, name) for name in speculation.LARGE if name != "rope_parameters"}
    monkeypatch.setattr(loading, "_default", made)
    monkeypatch.setattr(speculation, "LARGE", small)


def on(device):
    model, tokenizer = tiny_model()
    return Loaded(model=model.to(device), tokenizer=tokenizer, name="tiny", is_real=False)


def asked(temperature, tokens, count=2):
    return [
        Request(prompt=list(prompt), max_tokens=tokens, seed=place, sampling=Sampling(temperature=temperature))
        for place, prompt in enumerate(PROMPTS[:count])
    ]


def texts(loaded, proposer, *, temperature=0.0, tokens=10, count=2):
    target, requests = CachedModel(loaded.model), asked(temperature, tokens, count)
    return [found.tokens for found in decode_all(target, proposer, requests, gamma=3)]


def test_the_pretence_is_as_strict_as_a_gpu(gpu):
    here, there = torch.arange(4.0), torch.arange(4.0, device="cuda")
    assert there.device == torch.device("cuda:0")
    with pytest.raises(RuntimeError, match="same device"):
        here + there
    with pytest.raises(RuntimeError, match="same device"):
        torch.nn.functional.embedding(torch.tensor([1]), there[:, None])
    with pytest.raises(RuntimeError, match="indices"):
        here[there.long()]
    with pytest.raises(RuntimeError, match="same device"):
        there[there.long()] = here
    with pytest.raises(RuntimeError, match="indices"):
        here[there.long()] = 0.0
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()
    assert (there + 1).cpu().tolist() == [1, 2, 3, 4]
    assert there[here.long()].tolist() == [0, 1, 2, 3]


def test_gradients_are_taken_there_after_some_on_the_cpu():
    """As when a worker has trained on the CPU before."""
    torch.ones(2, requires_grad=True).sum().backward()
    with pretended_gpu():
        weight = torch.ones(2, device="cuda", requires_grad=True)
        (weight * weight).sum().backward()
        assert weight.grad.cpu().tolist() == [2, 2]


def test_nothing_else_takes_it_for_an_accelerator():
    assert not torch.accelerator.is_available()
    with torch.random.fork_rng():  # would save the state of every device that is counted
        torch.manual_seed(3)


def test_a_model_is_loaded_onto_it(gpu, default):
    loaded = load(device="auto", dtype="auto")
    assert (loaded.model.device.type, loaded.model.dtype) == ("cuda", torch.bfloat16)
    assert fingerprint()["device"] == NAME


WITHOUT_TRAINING = [name for name in PROPOSERS if not name.startswith("head")]
SAME_LAWS = [name for name in WITHOUT_TRAINING if name != "quantised"]  # whose products on a CPU round in another way


@pytest.mark.parametrize(
    ("name", "temperature"), [*((name, 0.0) for name in WITHOUT_TRAINING), *((name, 1.0) for name in SAME_LAWS)]
)
def test_drafters_decode_there_what_they_decode_here(name, temperature):
    def proposer(loaded):
        options = dict(OPTIONS.get(name, {}))
        if name in ("independent", "dynamic_tree", "sampled_tree"):
            options["drafter"] = on(loaded.model.device)
        return PROPOSERS[name](loaded, **options)

    loaded = on("cpu")
    here = texts(loaded, proposer(loaded), temperature=temperature)
    with pretended_gpu():
        loaded = on("cuda")
        there = texts(loaded, proposer(loaded), temperature=temperature)
    assert there == here


def test_passes_of_recurring_shapes_decode_there_what_they_decode_here(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda forward, **options: forward)
    here = decode_all(CachedModel(on("cpu").model, compiled=True), None, asked(0.0, 10))
    with pretended_gpu():
        target = CachedModel(on("cuda").model, compiled=True)
        there = decode_all(target, None, asked(0.0, 10))
        assert target.cache.slots.device.type == "cuda"  # indices on the CPU would be copied in every layer
    assert [text.tokens for text in there] == [text.tokens for text in here]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Texts with what any head wants to know of them, written on the pretended GPU."""
    with pretended_gpu():
        layers = sorted({layer for head in HEADS.values() for layer in head.feature_layers(4)})
        writing = Writing(tokens=800, new_tokens=16, rows=8, held_out=2)
        return make_corpus(on("cuda"), writing=writing, layers=layers, cache=tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize("name", HEADS)
def test_heads_train_there_and_draft_there(gpu, corpus, name, tmp_path):
    loaded = on("cuda")
    found = train(loaded.model, corpus, recipe(name, device="cuda"), out=tmp_path, steps=2)
    assert np.isfinite(found.held_out.tau)
    plain = texts(loaded, None, tokens=4)
    for kind in ("head", "head_tree", "head_sampled_tree"):
        proposer = PROPOSERS[kind](loaded, path=found.path, **OPTIONS.get(kind, {}))
        assert texts(loaded, proposer, tokens=4) == plain
        assert all(texts(loaded, proposer, temperature=1.0, tokens=4, count=1))


@pytest.mark.parametrize("name", ["lossless_model", "greedy_equality", "pass_seconds", "draft_step", "shared_exit"])
def test_claims_run_there(gpu, default, name):
    found = CLAIMS[name].run(Settings(seed=0, device="cuda", budget=0.02))
    assert found.n > 0
    assert found.passed or name in (
        "pass_seconds",
        "draft_step",
        "shared_exit",
    )  # seconds of a pretended GPU follow no law
