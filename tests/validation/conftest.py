"""What the claims about acceptance are tested on; modules with settings of their own override these."""

from __future__ import annotations

import pytest

from validation.claims import Settings
from validation.claims.drafting import Drafting, open_drafting
from validation.decoder.load import Loaded
from validation.decoder.tiny import tiny_model


@pytest.fixture(scope="module")
def settings() -> Settings:
    model, tokenizer = tiny_model()
    return Settings(seed=1, loaded=Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False))


@pytest.fixture(scope="module")
def pair(settings: Settings) -> Drafting:
    return open_drafting(settings)
