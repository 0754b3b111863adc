"""Out of memory: a line that names what to lower, whoever needed the memory."""

import pytest
import torch

from specsim.errors import InputError
from validation.decoder.load import Loaded
from validation.decoder.model import CachedModel
from validation.decoder.tiny import tiny_model
from validation.memory import enough_memory
from validation.train.corpus import make_corpus
from validation.train.recipe import recipe
from validation.train.text import Writing
from validation.train.trainer import train


def full(*arguments, **named):
    """A GPU that has no memory left."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="shapes differ"), enough_memory("a pass", lower="batch"):
        raise RuntimeError("shapes differ")


def test_a_processor_without_memory_is_told_alike():
    with (
        pytest.raises(InputError, match="must hold a pass, it does not; lower batch"),
        enough_memory("a pass", lower="batch"),
    ):
        torch.empty(2**60, dtype=torch.uint8)


def test_a_pass_that_does_not_fit_names_its_sizes():
    model = CachedModel(tiny_model()[0])
    model.begin(2)
    model.read([[1, 2, 3], [4]])
    model._model.forward = full
    expected = r"a pass of 2 tokens in each of 2 texts, the longest with 3 cached, it does not; lower .*batch.*gamma"
    with pytest.raises(InputError, match=expected):
        model.read([[5, 6], [7]])


@pytest.fixture
def corpus(tmp_path):
    model, tokenizer = tiny_model()
    loaded = Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)
    writing = Writing(tokens=60, new_tokens=3, rows=2, held_out=2)
    return model, make_corpus(loaded, writing=writing, layers=(4,), cache=tmp_path)


def test_a_training_step_that_does_not_fit_names_the_recipe(corpus, tmp_path, monkeypatch):
    model, texts = corpus
    monkeypatch.setattr("validation.train.trainer.lower", full)
    with pytest.raises(InputError, match=r"a training step of medusa over .* tokens, it does not; lower batch_tokens"):
        train(model, texts, recipe("medusa"), out=tmp_path, steps=1)


def test_features_that_do_not_fit_name_the_rows(tmp_path, monkeypatch):
    model, tokenizer = tiny_model()
    loaded = Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)
    monkeypatch.setattr("validation.train.features._hidden", full)
    with pytest.raises(InputError, match="the hidden states of 2 texts, it does not; lower rows"):
        make_corpus(loaded, writing=Writing(tokens=60, new_tokens=3, rows=2), layers=(4,), cache=tmp_path)


def test_weights_that_do_not_fit_name_the_ways_out(tmp_path, monkeypatch):
    from validation.decoder.load import load

    model, tokenizer = tiny_model()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr("transformers.PreTrainedModel.to", full)
    with pytest.raises(InputError, match=r"must hold the weights of .*, it does not; lower dtype to bfloat16"):
        load(tmp_path)
