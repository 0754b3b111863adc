"""Why a draft stands or falls: what two laws share, what is rejected, and what the replacement is drawn from."""

from __future__ import annotations

import altair as alt
import pandas as pd

from specsim.charts.frame import data, legend, names, once, tip
from specsim.charts.live import slider, with_parameters
from specsim.charts.theme import finish

AREAS = {"both": "accepted: min(p, q)", "only_q": "rejected: q above p", "only_p": "drawn after a rejection: p above q"}
ALPHA = "alpha"
"""Parameter that holds the acceptance probability as text."""


def acceptance_areas(frame: pd.DataFrame, *, theme: str = "light") -> alt.LayerChart:
    """Probabilities of target and drafter over each other, with a slider for the drafter's temperature.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per token. Columns: `token` (name), `p` (of the target) [1], `draft_logit` (natural logarithm of the
        drafter's probability at temperature 1, up to a constant).
    theme : str
        "light" or "dark".

    Returns
    -------
    altair.LayerChart
        Stacked bars. The parameter `temperature` is bound to a slider, and `q` follows it in the chart: exp(logit / T),
        normalised; a line of text states the acceptance probability.

    Raises
    ------
    InputError
        Unknown theme, a missing column, no rows, two rows for one token, or a value that is not finite.

    Examples
    --------
    >>> frame = pd.DataFrame({"token": ["cat", "dog"], "p": [0.7, 0.3], "draft_logit": [0.0, 0.4]})
    >>> acceptance_areas(frame).params[0].name
    'temperature'
    """
    source = data(frame, chart="acceptance_areas", text=["token"], numbers=["p", "draft_logit"])
    once(frame, ["token"], chart="acceptance_areas")
    laws = (
        alt.Chart(source)
        .transform_calculate(weight="exp(datum.draft_logit / temperature)")
        .transform_joinaggregate(total="sum(weight)")
        .transform_calculate(q="datum.weight / datum.total")
        .transform_calculate(
            both="min(datum.p, datum.q)", only_q="max(datum.q - datum.p, 0)", only_p="max(datum.p - datum.q, 0)"
        )
    )
    x = alt.X("token:N", title=None, sort=names(frame, "token"), axis=alt.Axis(labelAngle=0))
    kinds = list(AREAS.values())
    bars = (
        laws.transform_fold([*AREAS], as_=["area", "mass"])
        .transform_calculate(kind=f"{{{', '.join(f'{key}: {text!r}' for key, text in AREAS.items())}}}[datum.area]")
        .transform_calculate(layer=f"indexof({kinds}, datum.kind)")
        .mark_bar(cornerRadius=0)
        .encode(
            x,
            alt.Y("mass:Q", title="probability", stack="zero"),
            alt.Color("kind:N", scale=alt.Scale(domain=kinds), legend=legend(kinds)),
            alt.Order("layer:Q"),
            tooltip=[
                tip("token", "token"),
                tip("p", "target p", ".3f"),
                tip("q", "drafter q", ".3f"),
                tip("kind", "area"),
                tip("mass", "mass", ".3f"),
            ],
        )
    )
    alpha = laws.transform_aggregate(alpha="sum(both)").transform_calculate(
        text="'α = ' + format(datum.alpha, '.3f') + ' of drafts stand'"
    )
    return with_parameters(
        finish(
            bars,
            alpha.mark_text(align="right", fontSize=15, fontWeight=600).encode(
                alt.X(value=alt.ExprRef("width")), alt.Y(value=10), text="text:N"
            ),
            title="Accepted, rejected, drawn again",
            description="Stacked bars over tokens: the probability that target and drafter share, which is accepted, "
            "what the drafter has too much of, which is rejected, and what the target has left, from which the "
            "replacement is drawn. A slider sets the drafter's temperature.",
            theme=theme,
        ),
        slider("temperature", "temperature of the drafter", low=0.2, high=3.0, step=0.05, value=1.0),
    )
