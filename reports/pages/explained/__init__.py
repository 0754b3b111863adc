"""Speculative decoding in pictures, for readers who meet it for the first time."""

from __future__ import annotations

from importlib import metadata

import pandas as pd

from reports.pages.explained import frames
from reports.pages.explained.tree import tree_frame
from reports.template import Section, figure, render
from specsim.charts import explain


def page() -> str:
    """All explanations as one page, HTML that opens from disk without a network."""
    return render(
        sections(),
        title="Speculative decoding explained: specsim",
        kicker="specsim: speculative decoding, explained",
        answer="A small model guesses a few tokens ahead, the large one checks them in one pass, and the text stays "
        "exactly what the large model alone would have written.",
        footer=f"specsim {metadata.version('specsim')}",
    )


def sections() -> list[Section]:
    """What a newcomer asks, in that order; every picture is drawn from numbers that the library computed."""
    return [_round(), _areas(), _race(), _tree(), _verification()]


def _round() -> Section:
    frame = frames.round_frame()
    place = frames.machine()
    return Section(
        key="round",
        title="What happens in a round?",
        lead="A large model that writes one token at a time spends a pass over all its weights on each. A pass over "
        "five places takes hardly longer than one over a single place, for the weights are read once. So a drafter "
        "guesses four tokens, and the target judges them together.",
        figures=[
            figure(
                explain.draft_and_verify(frame),
                see="Drafts stand up to the first that the target refuses; that one is replaced by a token of the "
                f"target's own, so that a round always gives one token at least. Times are of {place.target.name} on "
                f"{place.tensor_parallel} {place.hardware.name}, drafted for by Llama-3.1-8B; the words are a toy's.",
            )
        ],
    )


def _areas() -> Section:
    return Section(
        key="areas",
        title="Why does the text stay the target's own?",
        lead="A draft x that the drafter drew with probability q(x) stands with probability min(1, p(x) / q(x)). What "
        "stands is then the overlap of the two laws; after a rejection the next token is drawn from what the target "
        "has left. Both together are p, whatever q is.",
        figures=[
            figure(
                explain.acceptance_areas(frames.areas_frame()),
                see="Heat the drafter up or cool it down: the text stays right at every temperature, but fewer drafts "
                "stand the further q is from p. The rejected mass equals the one drawn again.",
            )
        ],
    )


def _race() -> Section:
    rates, exact = frames.match_frames()
    return Section(
        key="race",
        title="Can both draw the same token without talking?",
        lead="Drawing from a law is a race: every token gets a random time, divided by its probability, and the first "
        "at the goal is drawn. If drafter and target use the same random times, the same token mostly wins both races, "
        "and the target need not know the drafter's law at all.",
        figures=[
            figure(
                explain.race(frames.race_frame(shared=True), title="One race with shared noise"),
                see="Rings mark the first of each law. Shared noise makes the same token win twice: the draft stands.",
            ),
            figure(
                explain.race(frames.race_frame(shared=False), title="The same race with noise of their own"),
                see="The target's times are as before, the drafter's are its own: another token wins, the draft falls.",
            ),
            figure(
                explain.match_rate(rates, exact=exact),
                see="With more draws each share comes to its exact value, the dashed line.",
            ),
        ],
    )


def _tree() -> Section:
    frame = tree_frame()
    return Section(
        key="tree",
        title="Why draft a tree?",
        lead="Where the drafter is torn it can propose several tokens for one place. The target judges all nodes in "
        "one pass, each seeing only the path to itself; of siblings one stands at most.",
        figures=[
            figure(
                explain.token_tree(frame),
                see=f"Below each node stands the chance that it stands. They add up to {_accepted(frame):.2f} tokens a "
                "round, with one more from the target: that is what a node is worth, and how a tree is chosen.",
            )
        ],
    )


def _verification() -> Section:
    lengths = frames.lengths_frame()
    token, block = frames.tokens_by_rule(lengths).values()
    return Section(
        key="verification",
        title="Token by token, or as a block?",
        lead="Judging token by token, a draft that the target finds unlikely may end the round, however good those "
        "after it are. Block verification looks at the whole chain: later drafts that the target likes better than the "
        "drafter does make up for an earlier one. The text is the target's own either way.",
        figures=[
            figure(
                explain.standing_by_rule(frames.standing_frame()),
                see="One chain, judged twice. Where p / q of a draft is below 1 the chance falls; where it is above 1 "
                "only the block rule lets it rise again.",
            ),
            figure(
                explain.lengths_by_rule(lengths),
                see=f"The same {frames.ROUNDS:,} drafted chains by both rules; ticks are exact. Token by token a round "
                f"gives {token:.3f} tokens, as a block {block:.3f}.",
            ),
        ],
    )


def _accepted(frame: pd.DataFrame) -> float:
    """Drafts that stand in a round, of a `tree_frame` [1]."""
    return float(frame.loc[frame["depth"] > 0, "value"].sum())
