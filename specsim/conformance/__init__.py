"""Is this decoder lossless? For any decoder, with a stated power.

`check` asks a `Decoder` what a `Plan` says and holds every token against an `Oracle`. Table models and the catalogue
of faults show what it sees: `self_test`.
"""

from specsim.conformance.check import check
from specsim.conformance.decoder import TableDecoder
from specsim.conformance.parameters import Parameters
from specsim.conformance.plan import Cell, Plan, parameter_matrix, plan, recorded_plan
from specsim.conformance.protocol import Decoder, Oracle, Output, Request, Rows
from specsim.conformance.recorded import Recorded
from specsim.conformance.self_test import self_test
from specsim.conformance.table_laws import TableOracle
from specsim.conformance.tables import TableModels
from specsim.conformance.verdict import Replay, Verdict

__all__ = [
    "Cell",
    "Decoder",
    "Oracle",
    "Output",
    "Parameters",
    "Plan",
    "Recorded",
    "Replay",
    "Request",
    "Rows",
    "TableDecoder",
    "TableModels",
    "TableOracle",
    "Verdict",
    "check",
    "parameter_matrix",
    "plan",
    "recorded_plan",
    "self_test",
]
