"""Who drafts: nobody, the text itself (n-gram lookup), or a smaller model."""

from validation.decoder.proposers.model import ModelProposer
from validation.decoder.proposers.ngram import NgramProposer
from validation.decoder.proposers.protocol import Draft, NoProposer, Proposer

__all__ = ["Draft", "ModelProposer", "NgramProposer", "NoProposer", "Proposer"]
