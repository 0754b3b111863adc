"""The decoder of this project as a decoder under test."""

from __future__ import annotations

from collections.abc import Sequence

from specsim import checks
from specsim.conformance.parameters import Parameters
from specsim.conformance.protocol import Output, Request
from validation.decoder import text as decoding
from validation.decoder.judge import Rule
from validation.decoder.language_model import LanguageModel
from validation.decoder.loop import Decoding, decode_all
from validation.decoder.proposers import Proposer


class OwnDecoder:
    """Texts of `validation.decoder`, several side by side; meets `specsim.conformance.Decoder`.

    Parameters
    ----------
    target
        The model whose law the texts follow.
    proposer
        Who drafts; None decodes plainly.
    gamma
        How deep to draft at most [1].
    verifier
        The rule; None for the usual one. A lossy rule runs too: the harness is there to say what it does.
    batch
        Texts side by side [1].

    Notes
    -----
    Stop sequences of token ids go through the decoder's stop strings, one character a token.
    """

    def __init__(
        self,
        target: LanguageModel,
        proposer: Proposer | None,
        *,
        gamma: int = 4,
        verifier: Rule | None = None,
        batch: int = 8,
    ) -> None:
        self.target, self.proposer, self.verifier = target, proposer, verifier
        self.is_seeded = proposer is None or not proposer.remembers
        self.gamma = checks.integer("gamma", gamma)
        self.batch = checks.integer("batch", batch, low=1)

    def refuses(self, parameters: Parameters) -> str | None:
        """Why the decoder cannot be asked for these parameters; None if it can."""
        return "the decoder knows no grammars" if parameters.allowed_after else None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """See `Decoder.generate`."""
        found = decode_all(
            self.target,
            self.proposer,
            [_request(request) for request in requests],
            gamma=self.gamma,
            batch=self.batch,
            verifier=self.verifier,
            allow_lossy=True,
            detokenize=_characters,
        )
        return [_output(text) for text in found]


def _request(request: Request) -> decoding.Request:
    asked = request.parameters
    return decoding.Request(
        prompt=request.prompt,
        name=request.id,
        max_tokens=asked.max_tokens,
        min_tokens=asked.min_tokens,
        sampling=asked.sampling,
        eos_ids=frozenset(asked.eos_ids),
        stop=tuple(_characters(sequence) for sequence in asked.stop_sequences),
        seed=request.seed,
    )


def _output(text: Decoding) -> Output:
    return Output(
        tokens=text.tokens,
        finish_reason="length" if text.finish == "length" else "stop",
        blocks=tuple(record.committed for record in text.records),
        drafted=tuple(record.drafted for record in text.records),
    )


def _characters(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))
