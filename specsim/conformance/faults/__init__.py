"""Faults to plant: every one is a decoder over table models that differs from the right one in a method or two.

To add one: a class in one of the modules, and a line in its `FAULTS`; the id is its group and its name. Faults of one's
own need no place here: `specsim.conformance.self_test` takes any subclass of `TableDecoder`.
"""

from specsim.conformance.decoder import TableDecoder
from specsim.conformance.faults import (
    accept,
    batching,
    bonus,
    parameters,
    randomness,
    residual,
    rows,
    rules,
    state,
)

FAULTS: dict[str, type[TableDecoder]] = {
    **accept.FAULTS,
    **randomness.FAULTS,
    **residual.FAULTS,
    **bonus.FAULTS,
    **rows.FAULTS,
    **parameters.FAULTS,
    **state.FAULTS,
    **batching.FAULTS,
    **rules.FAULTS,
}
"""Faulty decoders by id; what stands before the dot is the fault's class."""

__all__ = ["FAULTS"]
