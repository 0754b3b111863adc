"""Drafter heads: small networks that foresee tokens from the target's hidden states."""

from validation.heads.dflash import DFlash
from validation.heads.distilled import Distilled
from validation.heads.dspark import DSpark
from validation.heads.eagle import Eagle
from validation.heads.eagle3 import Eagle3
from validation.heads.head import Head, Setup, State
from validation.heads.hydra import Hydra
from validation.heads.medusa import Medusa
from validation.heads.mtp import Mtp
from validation.heads.pard import Pard

HEADS: dict[str, type[Head]] = {
    head.name: head for head in (DFlash, Distilled, DSpark, Eagle, Eagle3, Hydra, Medusa, Mtp, Pard)
}

__all__ = ["HEADS", "Head", "Setup", "State"]
