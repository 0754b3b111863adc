"""Seconds of verifying from an exit that shares the target's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from specsim.checks import FloatArray
from specsim.cost import remaining_seconds
from specsim.errors import InputError
from specsim.roofline import Count, Seconds
from validation.claims.draft_step import contexts, depths
from validation.claims.fitting import Fit, fit, timed, timed_rows
from validation.claims.pass_seconds import prefilled, reader
from validation.claims.prediction import Row, control, predicted
from validation.claims.protocol import ClaimResult, LeftOutError, Settings

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.model import CachedModel

REPEATS = 9
GAMMAS = (1, 3, 6)
TOKENS = (1, *(gamma + 1 for gamma in GAMMAS))


class Pass(NamedTuple):
    """`tokens` new ones through the first `layers` of the target's, `context` cached."""

    layers: int
    tokens: int
    context: int


class Verifying(NamedTuple):
    """Of `gamma` drafts of an exit after `layers`, behind `context` cached tokens."""

    layers: int
    gamma: int
    context: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedExit:
    """Verifying from a shared exit takes the layers behind it over all drafts, and those before it over the last.

    Notes
    -----
    LayerSkip. Fitted to passes over one token and over several, of the whole target and of some of its first layers,
    each number of tokens with its own time of a layer and of the rest (embedding, norm, head); it has to hold for
    verifying, from exits and at contexts that were not fitted to. The fault is the cost that is often stated: the share
    of the layers behind the exit, and nothing for the last draft.
    """

    name: ClassVar[str] = "shared_exit"

    def run(self, settings: Settings) -> ClaimResult:
        """Time passes and verifying in turn, fit to the passes, and compare what that says of verifying."""
        from validation.claims.speculation import open_target, planted

        loaded = open_target(settings, is_timed=True)
        _must_share(loaded.model)
        config = loaded.model.config.get_text_config(decoder=True)
        total = int(config.num_hidden_layers)
        fitted_layers, exits = depths(total)
        limit = int(config.max_position_embeddings) - TOKENS[-1] + 1  # `contexts` leaves room for one token
        known, others = contexts(loaded.model.device.type, limit=limit)
        passes = [Pass(layers, tokens, c) for layers in fitted_layers for tokens in TOKENS for c in known]
        held_out = [Verifying(layers, gamma, c) for layers in exits for gamma in GAMMAS for c in others]
        seconds, drift = _timed(loaded.model, passes, held_out, settings)
        found = fit(_features(passes), np.array([seconds[each] for each in passes]))
        law = Law.of(found, total=total)
        foretold, measured = (
            {each: law.verify_seconds(each) for each in held_out},
            {each: seconds[each] for each in held_out},
        )
        rows = timed_rows("verify_seconds", foretold, measured, found=found, drift=drift, repeats=_repeats(settings))
        over_a_pass = float(np.median([taken / law.whole_seconds(each) for each, taken in measured.items()]))

        def without_the_last(row: Row) -> float:
            first = row.setting["layers"] * law.layer_seconds(1, context=row.setting["context"])
            return float(row.predicted - first)

        return predicted(
            self.name,
            rows,
            model=loaded.name,
            settings=settings,
            controls=[control("nothing reads the last draft", planted(rows, without_the_last), level=settings.level)],
            figures={"spread": found.spread, "over_a_pass": over_a_pass},
            also=[each._asdict() | {"quantity": "pass_seconds", "fitted_to": seconds[each]} for each in passes],
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Law:
    """Seconds of passes over one of TOKENS.

    Parameters
    ----------
    rest, layer : array (len(TOKENS),)
        Of what is no layer, and of each layer [s].
    cached : float
        Of a cached token in each layer [s].
    total : int
        Layers of the target [1].
    """

    rest: FloatArray
    layer: FloatArray
    cached: float
    total: int

    @classmethod
    def of(cls, found: Fit, *, total: int) -> Law:
        """From coefficients in the order of `_features`."""
        count = len(TOKENS)
        numbers = found.coefficients
        return cls(
            rest=numbers[:count], layer=numbers[count : 2 * count], cached=float(numbers[2 * count]), total=total
        )

    def layer_seconds(self, tokens: Count, *, context: Count) -> Seconds:
        """Of one layer [s]."""
        places = np.searchsorted(TOKENS, tokens)
        return np.asarray(self.layer[places] + self.cached * np.asarray(context))

    def pass_seconds(self, *, tokens: Count, batch: Count = 1, context: Count = 0) -> Seconds:
        """Of all layers; see `specsim.roofline.PassCost` [s]."""
        return self.total * self.layer_seconds(tokens, context=context)

    def verify_seconds(self, asked: Verifying) -> float:
        """Of verifying; what is no layer is done once, with all tokens [s]."""
        return self._verifying(asked, share=1 - asked.layers / self.total)

    def whole_seconds(self, asked: Verifying) -> float:
        """Of the same without an exit: all tokens go through all layers [s]."""
        return self._verifying(asked, share=1.0)

    def _verifying(self, asked: Verifying, *, share: float) -> float:
        tokens = asked.gamma + 1
        layers = remaining_seconds(self, tokens, share=share, context=asked.context)
        return float(self.rest[TOKENS.index(tokens)] + layers)


def _must_share(hf_model: Any) -> None:
    from validation.decoder.model import CachedModel

    try:
        CachedModel(hf_model).exit_after(1)
    except InputError as error:
        raise LeftOutError(str(error)) from error


def _features(passes: Sequence[Pass]) -> FloatArray:
    """Columns as of `Law`: what is no layer by tokens, layers by tokens, and tokens cached in all layers."""
    which = np.array([[each.tokens == tokens for tokens in TOKENS] for each in passes], dtype=np.float64)
    layers, context = (
        np.array(column)[:, None] for column in zip(*((p.layers, p.context) for p in passes), strict=True)
    )
    return np.hstack([which, layers * which, layers * context])


def _timed(
    hf_model: Any, passes: Sequence[Pass], verifying: Sequence[Verifying], settings: Settings
) -> tuple[dict[Pass | Verifying, float], float]:
    """Median seconds of each, and how far the machine wandered."""
    from validation.decoder.layers import early_exit

    actions: dict[Pass | Verifying, Callable[[], object]] = {}
    prepared: dict[Pass | Verifying, Callable[[], object]] = {}
    filled = partial(prefilled, batch=1, seed=settings.seed)
    shallow = {key: filled(early_exit(hf_model, layers=key[0]), context=key[1]) for key in _places(passes)}
    whole = {key: filled(hf_model, context=key[1]) for key in _places(verifying)}  # an exit each
    for each in passes:
        model, text = shallow[each.layers, each.context]
        actions[each] = reader(model, text[: each.tokens], batch=1, context=each.context)
    for asked in verifying:
        model, text = whole[asked.layers, asked.context]
        prepared[asked] = _drafting(model, text[: asked.gamma], asked)
        actions[asked] = partial(model.read, [text[: asked.gamma + 1]])
    return timed(
        actions,
        known=passes,
        repeats=_repeats(settings),
        seed=settings.seed,
        progress=settings.progress,
        prepared=prepared,
    )


def _places(asked: Sequence[Pass | Verifying]) -> list[tuple[int, int]]:
    """Layers and contexts that occur."""
    return sorted({(each.layers, each.context) for each in asked})


def _drafting(model: CachedModel, tokens: Sequence[int], asked: Verifying) -> Callable[[], object]:
    """What stands before verifying: the exit has read the text's last token and all drafts but the last."""
    exit_ = model.exit_after(asked.layers)

    def act() -> None:
        model.cut([asked.context])
        exit_.read([tokens])

    return act


def _repeats(settings: Settings) -> int:
    return settings.scaled(REPEATS, least=3)
