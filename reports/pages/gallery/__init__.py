"""The page of the gallery: every chart of the library, with the script that draws it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import metadata

from reports.gallery.show import Script, script
from reports.template import Figure, Section, figure, render
from specsim.charts import CHARTS
from specsim.charts.explain import EXPLANATIONS


def page() -> str:
    """All charts and their scripts as one page, HTML that opens from disk without a network."""
    return render_sections(sections())


def render_sections(parts: Sequence[Section]) -> str:
    """The page around sections that are made already."""
    return render(
        parts,
        title="Gallery: specsim",
        kicker="specsim: charts for notebooks and scripts",
        answer="Every chart takes a frame from the library and returns an Altair chart; these are all of them, with "
        "the scripts that draw them.",
        footer=f"specsim {metadata.version('specsim')}",
    )


def sections(
    charts: Iterable[str] = tuple(sorted(CHARTS)), explanations: Iterable[str] = tuple(sorted(EXPLANATIONS))
) -> list[Section]:
    """The pictures, and below them the scripts, of the charts that are named."""
    shown, explained = [script(name) for name in charts], [script(name) for name in explanations]
    return [
        Section(
            key="pictures",
            title="Charts",
            lead="from specsim.charts import …; each says in its docstring which columns its frame needs.",
            figures=[_figure(one) for one in shown],
            pairs=True,
        ),
        Section(
            key="explanations",
            title="Explanations",
            lead="from specsim.charts.explain import …; pictures that a newcomer asks for.",
            figures=[_figure(one) for one in explained],
            pairs=True,
        ),
        Section(
            key="scripts",
            title="Scripts",
            lead="python -m reports.gallery.NAME FOLDER writes NAME.html and NAME.png.",
            texts=[
                {"tag": f"reports/gallery/{one.name}.py", "prompt": one.name, "text": one.text}
                for one in [*shown, *explained]
            ],
        ),
    ]


def _figure(one: Script) -> Figure:
    return figure(one.draw(), see=f"{one.name}: {one.line}")
