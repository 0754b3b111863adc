"""DSpark: DFlash's block with a Markov head for the token before, and a confidence for each depth."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from validation.heads.dflash import DFlash
from validation.heads.head import Setup, State


class DSpark(DFlash):
    """The law of depth k is softmax(U_k + W1[x_{k-1}] W2): parallel logits and a low-rank term for the token before.

    Notes
    -----
    The anchor's own place is the first to foresee, so a block has as many tokens as it drafts. Confidence looks at the
    token before, never at the drafted one, so that a scheduler which follows it keeps the target's law. W1 has a row
    for each token that can be drafted and one for all others, which only an anchor can be.

    References
    ----------
    .. [1] DSpark. 2607.05147.
    """

    name = "dspark"
    anchored = False
    known_options = ("layers", "rank")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        rank, width = setup.options.get("rank", 256), setup.sizes.hidden
        self.before = nn.Embedding(setup.drafts + 1, rank)
        self.after = nn.Linear(rank, setup.drafts, bias=False)
        self.confidence_of = nn.Linear(width + rank, 1)
        nn.init.zeros_(self.after.weight)

    def logits(self, state: State) -> Tensor:
        """See `Head.logits`; the only head whose law knows the last token at every depth without a pass."""
        return super().logits(state) + self.after(self._markov(state))

    def confidence(self, state: State) -> Tensor:
        """Logit (B, m) of the probability that the next draft is accepted, before it is drawn."""
        known = torch.cat([self.foreseen(state), self._markov(state)], dim=-1)
        return self.confidence_of(known)[..., 0]

    def _markov(self, state: State) -> Tensor:
        return self.before(self.draft_index[state.tokens])
