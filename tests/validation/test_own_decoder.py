"""The decoder under the project's own harness: every lossless rule conforms, planted faults do not."""

import dataclasses

import pytest

from specsim.conformance import Parameters, Request, TableModels, check, plan
from specsim.conformance.sources.fitting import fitting
from specsim.verifiers import TREE_VERIFIERS, VERIFIERS
from validation.claims import LosslessRules, Settings
from validation.claims.lossless_rules import CASES, Case
from validation.conformance.hf import TeacherForcing
from validation.conformance.own import OwnDecoder
from validation.decoder.layers import early_exit
from validation.decoder.model import CachedModel
from validation.decoder.proposers import ModelProposer, NgramProposer
from validation.decoder.table_model import ConformanceModel
from validation.decoder.tiny import tiny_model


def test_every_lossless_rule_is_among_the_cases():
    lossless = {rule.name for rule in (*VERIFIERS.values(), *TREE_VERIFIERS.values()) if rule.is_lossless}
    assert lossless - {case.rule for case in CASES} == {"greedy"}  # plans ask for temperature 0 of every case


def test_a_few_rules_conform_and_faults_are_caught():
    """Null: lossless; 1,200 tokens a case; false-alarm rate 1e-6 over all."""
    some = tuple(case for case in CASES if case.name in ("block, sampled drafts", "Gumbel coupling"))
    found = LosslessRules(tokens=1200, cases=some).run(Settings(seed=3))
    assert found.passed
    assert [row["verdict"] for row in found.rows] == ["conforms"] * 2
    assert all(control.caught for control in found.controls)


def test_a_lossy_rule_falls():
    """Power of the test above."""
    found = LosslessRules(tokens=1200, cases=(Case(name="typical", rule="typical", drafts="sampled"),)).run(Settings())
    assert found.verdict == "failed"
    assert found.detail == "did not conform: typical"


@pytest.mark.parametrize("drafts", ["early exit", "ngram"])
def test_a_model_with_a_real_cache_conforms(drafts):
    """Null: lossless up to float32; a Llama of 257 tokens, 1,000 tokens, batches of 8, chains judged by rejection."""
    model = tiny_model(layers=2)[0]
    proposer = ModelProposer(CachedModel(early_exit(model, layers=1))) if drafts == "early exit" else NgramProposer()
    decoder = OwnDecoder(CachedModel(model), proposer, gamma=3)
    asked = fitting(plan(tokens=1000, vocabulary=257, eos_id=256, seed=2), decoder)[0]
    assert check(decoder, TeacherForcing(model), asked).outcome == "conforms"


def test_a_cache_that_keeps_a_rejected_draft_is_caught():
    """Power of the test above: keys and values of the rejected draft stay, in place of those of the token before."""

    class Keeps(CachedModel):
        def compact(self, kept):
            given = [length - begun for length, begun in zip(self.cache.lengths, self.cache.begun, strict=True)]
            wrong = [
                [*places[:-1], places[-1] + 1] if len(places) < count else places
                for places, count in zip(kept, given, strict=True)
            ]
            super().compact(wrong)

    model = tiny_model(layers=2)[0]
    decoder = OwnDecoder(Keeps(model), ModelProposer(CachedModel(tiny_model(layers=1, seed=5)[0])), gamma=3)
    asked = fitting(plan(tokens=1000, vocabulary=257, eos_id=256, seed=2), decoder)[0]
    assert check(decoder, TeacherForcing(model), asked).outcome == "does not conform"


def test_grammars_are_refused_and_the_plan_is_cut():
    models = TableModels.random(vocabulary=8, seed=0)
    decoder = OwnDecoder(ConformanceModel(models, side="target"), None)
    assert decoder.refuses(Parameters(allowed_after={0: (1,)})) == "the decoder knows no grammars"
    left, gone = fitting(plan(tokens=1000, vocabulary=8), decoder)
    assert set(gone) == {"grammar"}
    assert left.is_seeded


def test_stop_sequences_go_through_stop_strings():
    models = TableModels.random(vocabulary=8, seed=0)
    decoder = OwnDecoder(ConformanceModel(models, side="target"), ModelProposer(ConformanceModel(models, side="draft")))
    asked = [
        Request(id=str(seed), prompt=(1, 2), seed=seed, parameters=Parameters(stop_sequences=((3, 4), (5, 5, 5))))
        for seed in range(40)
    ]
    for request, output in zip(asked, decoder.generate(asked), strict=True):
        end = request.parameters.end(output.tokens)
        assert end == (len(output.tokens), output.finish_reason)
    free = [dataclasses.replace(request, parameters=Parameters()) for request in asked]
    assert len(decoder.generate(free)[0].tokens) == 32
