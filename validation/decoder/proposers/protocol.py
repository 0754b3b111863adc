"""What a proposer is and what it hands over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specsim.checks import FloatArray
from specsim.topology import Topology

if TYPE_CHECKING:
    from torch import Tensor

    from validation.decoder.language_model import LanguageModel, Logits
    from validation.decoder.text import Text


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """Tokens proposed for one text and the law they were drawn from.

    Parameters
    ----------
    tokens
        G drafted tokens; G may be 0. Of a chain oldest first, of a tree in the order of its nodes.
    q
        Laws that the tokens were sampled from: of a chain shape (G, V); of a tree shape (G + 1, V), row 0 for the
        children of the root, row v + 1 for those of node v. None when each token was certain given the text (argmax,
        lookup), which verifiers treat as one-hot rows.
    passes
        Forward passes that the draft took [1].
    topology
        The tree; None for a chain.
    riders
        How many of the last tokens ride along: the target reads them in the same pass and says what would follow
        (`Proposer.ride`), but they are not drafts and nobody judges them. Only in trees without `q` [1].
    """

    tokens: tuple[int, ...] = ()
    q: FloatArray | None = None
    passes: int = 0
    topology: Topology | None = None
    riders: int = 0

    @property
    def judged(self) -> Draft:
        """The same without riders."""
        if not self.riders:
            return self
        tokens = self.tokens[: -self.riders]
        topology = Topology(parents=self.topology.parents[: len(tokens)]) if self.topology and tokens else None
        return replace(self, tokens=tokens, topology=topology, riders=0)

    @property
    def depth(self) -> int:
        """The most drafts that can stand [1]."""
        judged = self.judged
        return len(judged.tokens) if judged.topology is None else judged.topology.depth


class Proposer(ABC):
    """Drafts tokens that continue texts; what a proposer does not need it leaves as it is here.

    All methods get the texts of the batch in the same order. A drafter's decision whether to keep a token may rest on
    the tokens before it, never on itself: it may stop after a token that it keeps, but must not throw away one that
    it has sampled; trees that are chosen by their tokens must be certain given the text.

    Attributes
    ----------
    name
        Goes into the records.
    vocabulary_size
        V, which has to be the target's; None for a proposer that can only repeat tokens of the text.
    remembers
        Whether drafts depend on earlier texts: texts keep their law, but a seed gives the same text again only with
        Gumbel coupling or at temperature 0.
    feature_layers
        Hidden states of the target that it reads: 0 the embedding, k what layer k puts out, -1 the last, normed.
    """

    name = "none"
    vocabulary_size: int | None = None
    remembers = False
    feature_layers: tuple[int, ...] = ()

    def meet(self, target: LanguageModel) -> None:  # noqa: B027 - may stay empty
        """Before a batch: who is going to judge its drafts."""

    def begin(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:  # noqa: B027 - may stay empty
        """Read the prompts, outside of any round.

        `features` of each text are (n - 1, F) for n tokens of prompt: those of all but the last, which the target
        has not read yet.
        """

    @abstractmethod
    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Draft at most gammas[b] tokens deep after text b (0 drafts nothing), and nothing after an end of text."""

    def ride(self, texts: Sequence[Text], logits: Sequence[Logits]) -> None:  # noqa: B027 - may stay empty
        """In a round, before anything is committed: the target's rows (riders, V) behind the riders of each draft.

        A draft whose riders did not fit into the context has none.
        """

    def absorb(self, texts: Sequence[Text], features: Sequence[Tensor] | None) -> None:  # noqa: B027 - may stay empty
        """After a round: features of the tokens that the target has kept in it, oldest first.

        They are those of what was the last token before the round and of the accepted drafts, so that features are
        known of every token but the last, always.
        """

    def keep(self, rows: Sequence[int]) -> None:  # noqa: B027 - may stay empty
        """Only these texts go on, in this order."""


class NoProposer(Proposer):
    """Plain decoding: drafts nothing."""

    def propose(self, texts: Sequence[Text], *, gammas: Sequence[int]) -> list[Draft]:
        """Nothing to judge."""
        return [Draft() for _ in texts]


def up_to_eos(tokens: Sequence[int], eos_ids: Collection[int]) -> tuple[int, ...]:
    """The tokens up to and with the first end-of-text token.

    Examples
    --------
    >>> up_to_eos([5, 2, 7], {2}), up_to_eos([5, 7], {2})
    ((5, 2), (5, 7))
    """
    end = next((place for place, token in enumerate(tokens, start=1) if token in eos_ids), len(tokens))
    return tuple(tokens[:end])
