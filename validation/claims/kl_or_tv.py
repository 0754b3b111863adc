"""Two small heads, one trained by KL divergence and one by total variation: which gets more drafts accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from specsim import checks
from specsim.errors import InputError
from validation.claims.drafting import open_drafting
from validation.claims.protocol import INCONCLUSIVE, ClaimResult, Settings
from validation.claims.statement import Sums, judged, state

if TYPE_CHECKING:  # so that claims can be listed without torch
    from validation.decoder.load import Loaded
    from validation.heads import Head
    from validation.train.corpus import Corpus

LOSSES = ("kl", "tv")
HEAD = "medusa"
"""The smallest head: a layer on the target's last hidden state."""
UNTRAINED = "untrained"
RESAMPLED = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class KlOrTv:
    """Heads trained alike but for the loss, KL or TV, differ on unseen texts by what other unseen texts say.

    Parameters
    ----------
    text_tokens : int
        Tokens of text to learn from and to hold out, times the budget [1].
    steps : int
        Of either training, times the budget [1].
    drafts : int
        Tokens of the draft vocabulary [1].

    Notes
    -----
    Alpha is 1 - TV, so TV is what one wants lowered; its gradient fades where laws hardly overlap
    (`specsim.objectives`), so that a short training may do better by KL. The claim does not say which: it states the
    acceptance of either head, what it learned and their ratio from one half of the held-out texts, measures them on the
    other, and reports the difference over all with an interval by resampling texts. The fault takes each head for the
    other: where the loss made no difference it cannot be caught. Then, and where nothing can be trained, the verdict is
    "inconclusive".
    """

    text_tokens: int = 8000
    steps: int = 150
    drafts: int = 2048
    name: ClassVar[str] = "kl_or_tv"

    def __post_init__(self) -> None:
        checks.integer("text_tokens", self.text_tokens, low=1)
        checks.integer("steps", self.steps, low=1)
        checks.integer("drafts", self.drafts, low=2)

    def run(self, settings: Settings) -> ClaimResult:
        """Write, train twice, compare."""
        loaded = open_drafting(settings).loaded
        try:
            with TemporaryDirectory() as folder:
                alphas = self._trained(loaded, Path(folder), settings)
        except InputError as error:
            return _untold(self.name, str(error), model=loaded.name, settings=settings)
        settings.progress(1.0)
        return self._judged(alphas, model=loaded.name, settings=settings)

    def _trained(self, loaded: Loaded, folder: Path, settings: Settings) -> Mapping[str, Sums]:
        """Alpha on the held-out texts of both heads, and of one that was not trained."""
        from validation.heads import HEADS
        from validation.heads.files import load_head
        from validation.train.corpus import make_corpus
        from validation.train.recipe import recipe
        from validation.train.text import Writing
        from validation.train.trainer import new_head, train

        last = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
        corpus = make_corpus(
            loaded,
            writing=Writing(
                tokens=settings.scaled(self.text_tokens, least=800),
                new_tokens=24,
                sampled=1.0,
                rows=16,
                held_out=2,
                seed=settings.seed,
            ),
            layers=HEADS[HEAD].feature_layers(last),
            cache=folder,
            report=lambda title, fraction: settings.progress(0.5 * fraction) if title == "corpus" else None,
        )
        plan = recipe(HEAD, device=loaded.model.device.type)
        # By AdamW, whose first steps go further than Muon's where there are so few of them.
        plan = replace(plan, optimizer="adamw", depth=1, drafts=self.drafts, batch_tokens=256, warm_up=4)
        plan = replace(plan, objective=replace(plan.objective, depth=1))
        found = {UNTRAINED: alpha(new_head(loaded.model, corpus, plan, seed=settings.seed), corpus, loaded)}
        for place, loss in enumerate(LOSSES, start=1):
            steps = settings.scaled(self.steps, least=5)
            done = train(loaded.model, corpus, plan.with_loss(loss), out=folder / loss, steps=steps, seed=settings.seed)
            found[loss] = alpha(load_head(done.path, loaded.model), corpus, loaded)
            settings.progress(0.5 + 0.25 * place)
        return found

    def _judged(self, alphas: Mapping[str, Sums], *, model: str, settings: Settings) -> ClaimResult:
        known, others = ({name: _half(sums, part) for name, sums in alphas.items()} for part in (0, 1))
        count = len(others[UNTRAINED].top)
        statements = {
            loss: state(known[loss], setting={"loss": loss}, quantity="alpha", texts=count) for loss in LOSSES
        }
        ratio = state(_ratio(known, "tv", "kl"), setting={}, quantity="alpha_tv_over_kl", texts=count)
        learned = {
            loss: state(
                _ratio(known, loss, UNTRAINED), setting={"loss": loss}, quantity="alpha_over_untrained", texts=count
            )
            for loss in LOSSES
        }
        measured = {loss: others[loss].value for loss in LOSSES}
        compared = _ratio(others, "tv", "kl").value
        gained = {loss: _ratio(others, loss, UNTRAINED).value for loss in LOSSES}
        difference, low, high = tv_minus_kl(alphas, seed=settings.seed)
        return judged(
            self.name,
            [
                *((statements[loss], measured[loss]) for loss in LOSSES),
                *((learned[loss], gained[loss]) for loss in LOSSES),
                (ratio, compared),
            ],
            model=model,
            settings=settings,
            faults={
                "each head taken for the other": [
                    *(
                        (statements[loss].instead(known[other].value), measured[loss])
                        for loss, other in zip(LOSSES, reversed(LOSSES), strict=True)
                    ),
                    (ratio.instead(1 / ratio.predicted), compared),
                ]
            },
            figures={"alpha_tv_minus_kl": difference, "alpha_tv_minus_kl_low": low, "alpha_tv_minus_kl_high": high},
            note=f"alpha of TV minus that of KL {difference:+.3f} ({low:+.3f} to {high:+.3f})",
        )


def alpha(head: Head, corpus: Corpus, loaded: Loaded) -> Sums:
    """Acceptance of the first draft on each held-out text, over all its places."""
    from validation.train.batches import every
    from validation.train.held_out import measure

    last = head.setup.sizes.layers
    options = {"layers": head.feature_layers(last), "last": last, "device": loaded.model.device.type}
    # no two texts fit into one token, so that each is a batch of its own
    found = [measure(head, [batch], depth=1) for batch in every(corpus.held_out, tokens=1, **options)]
    places = np.array([each.places for each in found], dtype=np.float64)
    return Sums(top=np.array([each.alphas[0] for each in found]) * places, bottom=places)


def tv_minus_kl(alphas: Mapping[str, Sums], *, seed: int) -> tuple[float, float, float]:
    """Difference of acceptance over all held-out texts, with the ends of its 95 % interval by resampling texts [1]."""
    gap, places = alphas["tv"].top - alphas["kl"].top, alphas["kl"].bottom
    count = len(gap)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLED)
    low, high = np.quantile((drawn @ gap) / (drawn @ places), [0.025, 0.975])
    return float(gap.sum() / places.sum()), float(low), float(high)


def _ratio(sums: Mapping[str, Sums], above: str, below: str) -> Sums:
    """Of two heads on the same texts, whose differences mostly cancel."""
    return Sums(top=sums[above].top, bottom=sums[below].top)


def _half(sums: Sums, part: int) -> Sums:
    return Sums(top=sums.top[part::2], bottom=sums.bottom[part::2])


def _untold(name: str, reason: str, *, model: str, settings: Settings) -> ClaimResult:
    """What a run says that could train nothing."""
    return ClaimResult(
        test=name,
        model=model,
        n=0,
        unit="held-out settings",
        pvalue=1.0,
        level=settings.level,
        verdict=INCONCLUSIVE,
        statistic=0.0,
        detail=f"nothing could be trained: {reason}",
    )
