"""decode, decode_all, stream: prompts in, tokens and one record per round and text out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from numpy.random import Generator

from specsim import checks
from specsim.distributions import Sampling
from specsim.errors import InputError
from specsim.records import RoundRecord
from specsim.verifiers import Gumbel
from validation.decoder import round as rounds
from validation.decoder.judge import Rule
from validation.decoder.language_model import LanguageModel
from validation.decoder.proposers import NoProposer, Proposer
from validation.decoder.text import Detokenize, Request, Text


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one round gave one text.

    Parameters
    ----------
    place
        Of the request among those asked for.
    tokens
        Committed in this round.
    record
        Of this round and text.
    finish
        Why the text has ended ("eos", "stop", "length"); None while it goes on.
    prefill_seconds
        Reading the prompts of its batch, target and proposer together; in no record [s].
    """

    place: int
    tokens: tuple[int, ...]
    record: RoundRecord
    finish: str | None
    prefill_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """A decoded text.

    Parameters
    ----------
    tokens
        New tokens, without the prompt, with the end-of-text token when there was one.
    records
        One per round.
    finish
        "eos"; "stop" at a stop string; or "length" when `max_tokens` or the context was used up.
    prefill_seconds
        Reading the prompts of its batch, target and proposer together; in no record [s].
    is_lossless
        Whether the rule keeps the target's law; a lossy one has to be allowed.
    """

    tokens: tuple[int, ...]
    records: tuple[RoundRecord, ...]
    finish: str
    prefill_seconds: float
    is_lossless: bool = True


def stream(
    target: LanguageModel,
    proposer: Proposer | None,
    requests: Sequence[Request],
    *,
    gamma: int = 4,
    batch: int | None = None,
    verifier: Rule | None = None,
    allow_lossy: bool = False,
    detokenize: Detokenize | None = None,
) -> Iterator[Step]:
    """Decode texts side by side and hand over what each round gives.

    Parameters
    ----------
    target
        The model whose law the texts follow; its cache is emptied first.
    proposer
        Who drafts; None decodes plainly with the same loop.
    requests
        What is asked; each text is the one that it would be alone, up to the rounding of passes of another shape.
    gamma
        How deep to draft at most; less near `max_tokens` and near the context limit, so that no token is made that
        could not be kept [1].
    batch
        Texts side by side; all by default. A text that ends leaves its batch, the next batch begins when all have
        ended [1].
    verifier
        By default the usual rule for what is drafted; see `judge`.
    allow_lossy
        Let a rule run that does not keep the target's law.
    detokenize
        Token ids to text, for requests with stop strings.

    Raises
    ------
    InputError
        Nothing asked, a prompt beyond the context, ids outside of the vocabulary, a proposer of another vocabulary, a
        lossy rule that is not allowed, or logits that are not finite.
    """
    proposer = proposer or NoProposer()
    checks.integer("gamma", gamma)
    checks.integer("number of requests", len(requests), low=1)
    width = len(requests) if batch is None else checks.integer("batch", batch, low=1)
    if verifier is not None and not verifier.is_lossless and not allow_lossy:
        raise InputError(f"rule {verifier.name} does not keep the target's law; pass allow_lossy=True to use it anyway")
    for request in requests:
        _check(request, target=target, proposer=proposer)
    coupled = (verifier.noise or True) if isinstance(verifier, Gumbel) else False
    for start in range(0, len(requests), width):
        some = requests[start : start + width]
        texts = [Text(request, detokenize=detokenize, coupled=coupled) for request in some]
        yield from _decode(texts, target=target, proposer=proposer, rule=verifier, gamma=gamma, start=start)


def decode_all(
    target: LanguageModel,
    proposer: Proposer | None,
    requests: Sequence[Request],
    *,
    gamma: int = 4,
    batch: int | None = None,
    verifier: Rule | None = None,
    allow_lossy: bool = False,
    detokenize: Detokenize | None = None,
) -> list[Decoding]:
    """Decode texts side by side; parameters as of `stream`.

    Examples
    --------
    >>> from validation.decoder.proposers import ModelProposer
    >>> from validation.decoder.table_model import TableModel
    >>> target = TableModel([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # 0 -> 1 -> 2 -> 0
    >>> asked = [Request(prompt=[0], max_tokens=5), Request(prompt=[1], max_tokens=2)]
    >>> found = decode_all(target, ModelProposer(TableModel(target.laws)), asked, gamma=2)
    >>> [text.tokens for text in found], [record.batch for record in found[0].records]
    ([(1, 2, 0, 1, 2), (2, 0)], [2, 1])
    """
    steps: list[list[Step]] = [[] for _ in requests]
    for step in stream(
        target,
        proposer,
        requests,
        gamma=gamma,
        batch=batch,
        verifier=verifier,
        allow_lossy=allow_lossy,
        detokenize=detokenize,
    ):
        steps[step.place].append(step)
    return [
        Decoding(
            tokens=tuple(token for step in made for token in step.tokens),
            records=tuple(step.record for step in made),
            finish=made[-1].finish or "length",
            prefill_seconds=made[0].prefill_seconds,
            is_lossless=verifier is None or verifier.is_lossless,
        )
        for made in steps
    ]


def decode(
    target: LanguageModel,
    proposer: Proposer | None,
    prompt_tokens: Sequence[int],
    *,
    gamma: int = 4,
    max_tokens: int = 128,
    sampling: Sampling | None = None,
    verifier: Rule | None = None,
    eos_ids: Collection[int] = (),
    seed: int | Generator = 0,
    request: str = "0",
    allow_lossy: bool = False,
) -> Decoding:
    """Decode one text: `decode_all` of one request.

    Notes
    -----
    The text follows the target's law under `sampling` when the verifier is lossless, with the numerics of the
    verifying pass: a pass over several tokens may round differently from a pass over one.

    Examples
    --------
    >>> from validation.decoder.proposers import ModelProposer
    >>> from validation.decoder.table_model import TableModel
    >>> target = TableModel([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # 0 -> 1 -> 2 -> 0
    >>> decoding = decode(target, ModelProposer(TableModel(target.laws)), [0], gamma=2, max_tokens=5)
    >>> decoding.tokens, [record.committed for record in decoding.records], decoding.finish
    ((1, 2, 0, 1, 2), [3, 2], 'length')
    """
    asked = Request(
        prompt=prompt_tokens,
        name=request,
        max_tokens=max_tokens,
        sampling=sampling or Sampling(),
        eos_ids=frozenset(eos_ids),
        seed=seed,
    )
    return decode_all(target, proposer, [asked], gamma=gamma, verifier=verifier, allow_lossy=allow_lossy)[0]


def _decode(
    texts: list[Text], *, target: LanguageModel, proposer: Proposer, rule: Rule | None, gamma: int, start: int
) -> Iterator[Step]:
    """One batch, until every text has ended."""
    proposer.meet(target)
    begun = perf_counter()
    _prefill(texts, target=target, proposer=proposer)
    seconds = perf_counter() - begun
    going, index = list(range(len(texts))), 0
    while going:
        some = [texts[place] for place in going]
        gammas = [max(0, min(gamma, text.left - 1, target.context_limit - len(text.tokens))) for text in some]
        played = rounds.play(some, target=target, proposer=proposer, rule=rule, gammas=gammas, index=index)
        for place, (tokens, record) in zip(going, played, strict=True):
            text = texts[place]
            if text.finish is None and len(text.tokens) > target.context_limit:
                text.finish = "length"
            yield Step(
                place=start + place,
                tokens=tuple(tokens),
                record=record,
                finish=text.finish,
                prefill_seconds=seconds,
            )
        rows = [row for row, place in enumerate(going) if texts[place].finish is None]
        if rows and len(rows) < len(going):
            target.select(rows)
            proposer.keep(rows)
        going, index = [going[row] for row in rows], index + 1


def _check(request: Request, *, target: LanguageModel, proposer: Proposer) -> None:
    """Refuse a prompt that target or proposer cannot read."""
    if proposer.vocabulary_size not in (None, target.vocabulary_size):
        raise InputError(
            f"proposer {proposer.name} must have the target's vocabulary of {target.vocabulary_size} tokens, "
            f"got {proposer.vocabulary_size}"
        )
    prompt = request.prompt
    checks.integer("prompt tokens", len(prompt), low=1, high=target.context_limit)
    checks.integer("smallest prompt token", min(prompt))
    checks.integer("largest prompt token", max(prompt), high=target.vocabulary_size - 1)


def _prefill(texts: Sequence[Text], *, target: LanguageModel, proposer: Proposer) -> None:
    """Bring the prompts but for their last tokens into the target's cache, and show them to the proposer."""
    target.begin(len(texts))
    before = [text.tokens[:-1] for text in texts]
    if any(before):
        reading = target.read(before, keep=1, layers=proposer.feature_layers)
        proposer.begin(texts, reading.features)
    else:
        proposer.begin(texts, None)
