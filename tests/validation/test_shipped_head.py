"""The head that comes with the package: it fits its target, keeps its text, and gets drafts accepted."""

import pytest

from specsim.distributions import Sampling
from validation.decoder.load import load
from validation.decoder.loop import decode_all
from validation.decoder.model import CachedModel
from validation.decoder.proposers.head import HeadProposer
from validation.decoder.text import Request
from validation.decoder.tiny import tiny_model
from validation.heads.files import about_head, load_head
from validation.heads.shipped import shipped_head
from validation.train.text import seed_prompts


def test_other_targets_get_none():
    assert shipped_head(tiny_model()[0]) is None


@pytest.mark.weights
def test_the_head_fits_the_default_target_and_pays_in_tokens():
    """Four held-out prompts, 40 greedy tokens each: the text of plain decoding, in fewer rounds."""
    loaded = load(dtype="float32")
    path = shipped_head(loaded.model)
    assert path is not None
    assert about_head(path)["training"]["held_out"]["alphas"][0] > 0.4
    prompts = [loaded.prompt_tokens(message) for message, _ in zip(seed_prompts(), range(4), strict=False)]
    greedy = Sampling(temperature=0.0)
    asked = [Request(prompt=prompt, name=str(n), max_tokens=40, sampling=greedy) for n, prompt in enumerate(prompts)]
    target = CachedModel(loaded.model, pack=True)
    plain = decode_all(target, None, asked)
    found = decode_all(target, HeadProposer(load_head(path, loaded.model)), asked, gamma=3)
    rounds = sum(len(text.records) for text in found)
    assert sum(one.tokens == other.tokens for one, other in zip(found, plain, strict=True)) >= 3  # up to a near-tie
    assert rounds < 0.75 * 4 * 40
