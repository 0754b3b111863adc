"""What packages are given and give back: texts of digits instead of words, seeds, rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch

from specsim.conformance import Output, Parameters

SEEDS = 2**63 - 1
NONE = -1

Step = Callable[[torch.Tensor, float], Sequence[int]]
DecodeAlike = Callable[[Sequence[list[int]], Parameters, int], Sequence[list[int]]]


def seeded(seed: int) -> None:
    """Set the generator that packages draw from when they are given none."""
    torch.manual_seed(seed % SEEDS)


def output(tokens: Sequence[int], parameters: Parameters, *, blocks: Sequence[int] = (), gamma: int = 0) -> Output:
    """The text up to its end, with the rounds that made it where they are known.

    Examples
    --------
    >>> output([3, 1, 2, 0, 5], Parameters(max_tokens=4), blocks=(2, 3), gamma=4)
    Output(tokens=(3, 1, 2, 0), finish_reason='length', blocks=(2, 2), drafted=(4, 4), log_probabilities=None)
    """
    count, reason = parameters.end(tokens) or (len(tokens), "length")
    sizes: list[int] = []
    for block in blocks:
        if sum(sizes) < count:
            sizes.append(min(block, count - sum(sizes)))
    known = (tuple(sizes), (gamma,) * len(sizes)) if sizes else (None, None)
    return Output(tokens=tuple(tokens[:count]), finish_reason=reason, blocks=known[0], drafted=known[1])


def in_rounds(step: Step, *, gamma: int) -> Callable[[Sequence[int], Parameters, int], Output]:
    """Texts of a function that does one round: `step(ids of shape (1, L), temperature)` returns its new tokens."""

    def generate(prompt: Sequence[int], parameters: Parameters, seed: int) -> Output:
        seeded(seed)
        text, blocks = list(prompt), []
        while sum(blocks) < parameters.max_tokens and parameters.end(text[len(prompt) :]) is None:
            made = [int(token) for token in step(torch.tensor([text]), parameters.temperature)]
            text += made
            blocks.append(len(made))
        return output(text[len(prompt) :], parameters, blocks=blocks, gamma=gamma)

    return generate


def alike(decode: DecodeAlike) -> Callable[..., list[list[int]]]:
    """Whole batches for a function that takes prompts of one length with the same parameters, and one seed.

    Examples
    --------
    >>> last = alike(lambda prompts, parameters, seed: [[prompt[-1]] * parameters.max_tokens for prompt in prompts])
    >>> last([[1, 2], [3], [4, 5]], [Parameters(max_tokens=2)] * 3, [0, 1, 2])
    [[2, 2], [3, 3], [5, 5]]
    """

    def generate(
        prompts: Sequence[list[int]], parameters: Sequence[Parameters], seeds: Sequence[int]
    ) -> list[list[int]]:
        groups = defaultdict(list)
        for place, (prompt, asked) in enumerate(zip(prompts, parameters, strict=True)):
            groups[len(prompt), asked].append(place)
        texts: list[list[int]] = [[]] * len(prompts)
        for (_, asked), places in groups.items():
            made = decode([prompts[place] for place in places], asked, seeds[places[0]])
            for place, text in zip(places, made, strict=True):
                texts[place] = text
        return texts

    return generate


class Digits:
    """A tokenizer whose texts are the ids themselves, written out: for packages that take and return text.

    Examples
    --------
    >>> Digits().decode(Digits()(["4 0 7"], return_tensors="pt").input_ids[0])
    '4 0 7'
    """

    unk_token_id = NONE

    def __init__(self, eos_id: int | None = None) -> None:
        self.eos_token_id = self.pad_token_id = NONE if eos_id is None else eos_id
        self.input_ids: Any = None

    def encode(self, text: str, *, return_tensors: str = "pt") -> torch.Tensor:
        """Ids of a text, shape (1, L)."""
        return torch.tensor([[int(word) for word in text.split()]])

    def decode(self, ids: Any, *, skip_special_tokens: bool = True) -> str:
        """The text of ids."""
        return " ".join(str(int(token)) for token in ids)

    def apply_chat_template(self, messages: Sequence[dict[str, str]], **_: Any) -> str:
        """The last message as it is."""
        return messages[-1]["content"]

    def convert_tokens_to_ids(self, token: str) -> int:
        """No word is known."""
        return self.unk_token_id

    def __call__(self, texts: Sequence[str], *, return_tensors: str = "pt") -> Any:
        made = Digits(self.eos_token_id)
        made.input_ids = self.encode(texts[0])
        return made
