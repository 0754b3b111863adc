"""The TOML file behind a drafter report: what is served, on what, and what is known of its drafters."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from specsim import catalog, checks
from specsim.acceptance import Acceptance, CountedAcceptance
from specsim.capacity import Workload
from specsim.catalog import Hardware
from specsim.drafters import METHODS
from specsim.errors import InputError
from specsim.placement import Placement
from specsim.roofline import Efficiency
from specsim.sweep import EFFICIENCIES

COUNTS = ("reached", "accepted", "source")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportScenario:
    """What a drafter report is about; `reports/scenarios/llama8b_h100.toml` explains each key.

    Parameters
    ----------
    model, hardware : str
        Catalogue names, or files as `specsim.catalog` reads them.
    batch, context, tensor_parallel : int
        Sequences at once, tokens cached in each, accelerators that share every layer [1].
    methods : sequence of str
        Drafters to look at; empty: all.
    beside : sequence of str
        Models to set beside, for how their shape changes the answer.
    task, objective, efficiency : str
        As of `specsim.capacity.plan` and `specsim.sweep`.
    user_tokens_per_second, price_per_hour : float, optional
        What each user has to get at least; of an accelerator.
    acceptance : mapping of str to float or sequence
        Your own acceptance by drafter, constant or by depth [1].
    counts : mapping of str to mapping
        What you counted, by drafter: `reached` and `accepted` by depth [1], and their `source`.

    Raises
    ------
    InputError
        An unknown key or name, or a value outside its range.

    Examples
    --------
    >>> scenario = ReportScenario(model="Llama-3.1-8B", hardware="H100-SXM", acceptance={"ngram": 0.4})
    >>> scenario.place.target.name, scenario.workload.batch, scenario.acceptances["ngram"].conditional(1)
    ('Llama-3.1-8B', 1, array([0.4]))
    """

    model: str
    hardware: str
    batch: int = 1
    context: int = 1024
    tensor_parallel: int = 1
    methods: Sequence[str] = ()
    beside: Sequence[str] = ()
    task: str | None = None
    objective: str = "device"
    efficiency: str = "default"
    user_tokens_per_second: float | None = None
    price_per_hour: float | None = None
    acceptance: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.one_of("efficiency", self.efficiency, EFFICIENCIES)
        for key, names in (("methods", self.methods), ("acceptance", self.acceptance), ("counts", self.counts)):
            for name in names:
                checks.one_of(f"drafter in {key}", name, METHODS)
        if both := sorted(set(self.acceptance) & set(self.counts)):
            raise InputError(f"{both[0]} must have acceptance or counts, got both")
        if self.price_per_hour is not None:
            checks.positive("price_per_hour", self.price_per_hour)

    @property
    def accelerator(self) -> Hardware:
        """Each accelerator, with its price."""
        return replace(catalog.hardware_from(self.hardware), price_per_hour=self.price_per_hour)

    @property
    def reached(self) -> Efficiency:
        """What is reached of it."""
        return EFFICIENCIES[self.efficiency](self.accelerator)

    @property
    def place(self) -> Placement:
        """The model on its accelerators."""
        return self.place_of(self.model)

    @property
    def workload(self) -> Workload:
        """What is served."""
        return Workload(
            batch=self.batch,
            context=self.context,
            user_tokens_per_second=self.user_tokens_per_second,
            task=self.task,
        )

    @property
    def counted(self) -> dict[str, CountedAcceptance]:
        """What was counted, by drafter."""
        return {name: _counted(name, table) for name, table in self.counts.items()}

    @property
    def acceptances(self) -> dict[str, Acceptance]:
        """Your own laws, by drafter; counts hold beyond their last depth."""
        given: dict[str, Acceptance] = {name: _law(name, value) for name, value in self.acceptance.items()}
        return {**given, **self.counted}

    def place_of(self, model: str) -> Placement:
        """Another model on the same accelerators."""
        return Placement(
            target=catalog.model_from(model),
            hardware=self.accelerator,
            efficiency=self.reached,
            tensor_parallel=self.tensor_parallel,
        )


def read_scenario(path: str | Path) -> ReportScenario:
    r"""The scenario in a TOML file.

    Raises
    ------
    InputError
        No such file, no TOML, an unknown or missing key, or a value outside its range; the message names the file.

    Examples
    --------
    >>> file = getfixture("tmp_path") / "mine.toml"
    >>> _ = file.write_text('model = "Llama-3.1-8B"\nhardware = "H100-SXM"\nbatch = 8')
    >>> read_scenario(file).batch
    8
    """
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name} is no TOML: {error}") from None
    try:
        return _scenario(table)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None


def _scenario(table: Mapping[str, Any]) -> ReportScenario:
    kinds = {part.name: str(part.type) for part in fields(ReportScenario)}
    for key, value in table.items():
        _check_kind(key, value, kinds[checks.one_of("key", key, kinds)])
    for key in ("model", "hardware"):
        if key not in table:
            raise InputError(f"{key} must be given")
    return ReportScenario(**table)


def _check_kind(key: str, value: object, kind: str) -> None:
    """Words, lists and tables where they are asked for; numbers are checked where they are used."""
    for prefix, wanted, words in (("str", str, "text"), ("Sequence", list, "a list"), ("Mapping", dict, "a table")):
        if kind.startswith(prefix) and not isinstance(value, wanted):
            raise InputError(f"{key} must be {words}, got {value!r}")


def _law(name: str, value: float | Sequence[float]) -> Acceptance:
    if isinstance(value, list):
        return Acceptance.by_depth(
            checks.probabilities(f"acceptance of {name}", value, ndim=1).tolist(), beyond="hold", source="given"
        )
    return Acceptance.constant(checks.probability(f"acceptance of {name}", value), source="given")


def _counted(name: str, table: Mapping[str, Any]) -> CountedAcceptance:
    for key in table:
        checks.one_of(f"key of counts.{name}", key, COUNTS)
    for key in ("reached", "accepted"):
        if key not in table:
            raise InputError(f"counts.{name} must have {key}")
    try:
        return Acceptance.from_counts(
            table["reached"], table["accepted"], source=str(table.get("source", "counted, as given"))
        )
    except InputError as error:
        raise InputError(f"counts.{name}: {error}") from None
