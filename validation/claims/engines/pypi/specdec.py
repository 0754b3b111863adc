"""specdec: Leviathan's rule over two models of transformers, at temperature 1 only, without a cache."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.conformance import Output, Parameters, TableModels
from validation.claims.engines.protocol import Case, Environment
from validation.claims.engines.pypi.adapters import Digits, output, seeded
from validation.claims.engines.pypi.grid import Generate, Mode, grid

ENVIRONMENT = Environment(
    requirements=("specdec==0.2.0", "torch==2.13.0"), packages=("specdec", "torch", "transformers")
)


def cases() -> tuple[Case, ...]:
    """See `protocol.Engine`."""
    settings = (("good", 1.0, 4), ("bad", 1.0, 4), ("good", 1.0, 1), ("bad", 1.0, 7))
    note = "has no temperature, no greedy rule and no end of text; returns up to gamma tokens too many, cut by index"
    return grid([Mode(name="spec_gen", rule="rejection", make=_generate, settings=settings, tokens=16_000, note=note)])


def _generate(models: TableModels, gamma: int) -> Generate:
    from specdec import SpecDecoder

    from validation.conformance.table_model import table_model

    decoder = SpecDecoder.__new__(SpecDecoder)  # its constructor loads models by name
    decoder.small_model, decoder.big_model = table_model(models, "draft"), table_model(models, "target")
    decoder.tokenizer, decoder.device = Digits(), "cpu"

    def generate(prompt: Sequence[int], parameters: Parameters, seed: int) -> Output:
        seeded(seed)
        text = decoder.spec_gen(Digits().decode(prompt), parameters.max_tokens, gamma)
        return output([int(word) for word in text.split()][len(prompt) :], parameters)

    return generate
