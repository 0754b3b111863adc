"""A drafter whose weights are stored in fewer bits."""

from __future__ import annotations

from dataclasses import dataclass

from specsim import checks
from specsim.catalog import ModelShape
from specsim.checks import FloatArray, IntArray
from specsim.drafters.independent import Independent
from specsim.drafters.method import DraftMethod, Traits
from specsim.errors import InputError
from specsim.roofline import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantised(DraftMethod):
    """Another method with its linear layers quantised; all else is as of that method.

    Parameters
    ----------
    method : DraftMethod
        One whose weights are its own.
    bits : float
        Of a weight, without scales [bit].
    group_size : int
        Weights that share a scale [1].

    Raises
    ------
    InputError
        A method that has no weights, or uses the target's.

    Notes
    -----
    What acceptance it costs has to be measured; the output's law does not depend on it.

    Examples
    --------
    >>> from specsim.catalog import model
    >>> from specsim.drafters.eagle1 import Eagle1
    >>> target = model("Llama-3.1-8B")
    >>> round(Quantised(method=Eagle1(), bits=4).extra_bytes(target) / Eagle1().extra_bytes(target), 2)
    0.26
    """

    method: DraftMethod
    bits: float = 4.0
    group_size: int = 128

    def __post_init__(self) -> None:
        checks.number("bits", self.bits, low=0, high=16, open_low=True)

    @classmethod
    def default(cls, target: ModelShape) -> Quantised:
        """The usual small model, in 4 bits."""
        return cls(method=Independent.default(target))

    @property
    def name(self) -> str:  # type: ignore[override]
        """Of the method, and the bits."""
        return f"{self.method.name} {self.bits:g} bit"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """As of the method."""
        return self.method.traits

    @property
    def max_gamma(self) -> int | None:
        """As of the method [1]."""
        return self.method.max_gamma

    def model(self, target: ModelShape) -> ModelShape:
        """The method's, quantised."""
        own = self.method.model(target)
        if own is None or "layers" in own.shared:
            raise InputError(f"{self.method.name} must have weights of its own to be quantised")
        return own.quantised(self.bits, group_size=self.group_size)

    def serial_model(self, target: ModelShape) -> ModelShape | None:
        """As of the method: vocabulary's matrices are not quantised."""
        return self.method.serial_model(target)

    def passes(self, gamma: Count) -> IntArray:
        """As of the method [1]."""
        return self.method.passes(gamma)

    def pass_tokens(self, gamma: Count) -> IntArray:
        """As of the method [1]."""
        return self.method.pass_tokens(gamma)

    def first_pass_tokens(self, gamma: Count) -> IntArray:
        """As of the method [1]."""
        return self.method.first_pass_tokens(gamma)

    def target_tokens(self, gamma: Count) -> IntArray:
        """As of the method [1]."""
        return self.method.target_tokens(gamma)

    def host_seconds(self, gamma: Count, *, batch: Count = 1) -> FloatArray:
        """As of the method [s]."""
        return self.method.host_seconds(gamma, batch=batch)

    @property
    def copies(self) -> int:
        """As of the method [1]."""
        return self.method.copies

    def side_bytes(self, target: ModelShape) -> float:
        """As of the method [byte]."""
        return self.method.side_bytes(target)

    def proposed_survival(self, gamma: int) -> FloatArray:
        """As of the method [1]."""
        return self.method.proposed_survival(gamma)
