"""Training: losses against their formulas, a corpus that resumes, steps that help, and what is refused."""

import json
import math
import signal
from dataclasses import replace
from functools import cache
from itertools import cycle, islice

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from specsim.errors import InputError
from specsim.stats import goodness_of_fit
from validation.cli.train import train as train_command
from validation.decoder.load import Loaded
from validation.decoder.tiny import tiny_model
from validation.heads import HEADS
from validation.heads.files import about_head, load_head
from validation.train import losses
from validation.train.batches import every, plan
from validation.train.checkpoint import read_about
from validation.train.corpus import make_corpus
from validation.train.held_out import measure
from validation.train.objective import Objective, lower
from validation.train.optimizers import OPTIMIZERS, make_optimizers
from validation.train.recipe import Recipe, recipe
from validation.train.rollout import play
from validation.train.text import Writing, prompt_kinds, seed_prompts, write_texts
from validation.train.trainer import new_head, train
from validation.train.vocabulary import coverage, draft_vocabulary

LAYERS = (0, 1, 2, 3)
WRITING = Writing(tokens=2200, new_tokens=20, rows=12, held_out=3)
NAMES = sorted(HEADS)
LOGITS = torch.tensor([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]])
TARGET = torch.tensor([[0.2, 0.5, 0.1], [0.6, 0.3, 0.1]])  # the first row wants undraftable tokens for 0.2


@cache
def loaded():
    model, tokenizer = tiny_model()
    return Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(scope="module")
def corpus(kept):
    return make_corpus(loaded(), writing=WRITING, layers=LAYERS, cache=kept)


def small(head="medusa", **changes):
    """A recipe of few tokens a step."""
    objective = changes.pop("objective", Objective(terms={"ce": 1.0}, depth=2))
    settings = {"depth": 3, "drafts": 120, "batch_tokens": 300, "learning_rate": 4e-3, "warm_up": 2}
    # Muon overtakes AdamW on heads without layers too, but not in the few dozen steps of these tests.
    settings["optimizer"] = "muon" if HEADS[head].layers_per_head else "adamw"
    return Recipe(head=head, objective=objective, **settings | changes)


def fit(corpus, tmp_path, the_recipe, **options):
    return train(loaded().model, corpus, the_recipe, out=tmp_path, **options)


def held_out(head, corpus, depth=3):
    layers = {"layers": head.feature_layers(4), "last": 4, "device": "cpu"}
    return measure(head, every(corpus.held_out, tokens=600, **layers), depth=depth)


def laws_of(batch, head):
    """(B, S, D), the target's law of the draft vocabulary at every place."""
    return torch.exp(batch.final.float() @ head.output.weight.T - batch.log_total[..., None])


# losses


def q_of(logits):
    return np.exp(logits.double().numpy()) / np.exp(logits.double().numpy()).sum(-1, keepdims=True)


def expected_losses():
    q, p = q_of(LOGITS), TARGET.double().numpy()
    alpha, divergence = np.minimum(p, q).sum(-1), (p * np.log(p / q)).sum(-1)
    share = np.exp(-3 * alpha)
    return {
        "ce": -(p * np.log(q)).sum(-1),
        "kl": divergence,
        "reverse_kl": (q * np.log(q / p)).sum(-1),
        "tv": 1 - alpha,
        "lk_nla": -np.log(alpha),
        "lk_hybrid": share * divergence + (1 - share) * (1 - alpha),
    }


@pytest.mark.parametrize("name", sorted(losses.LOSSES))
def test_losses_are_their_formulas(name):
    found = losses.LOSSES[name](LOGITS, TARGET)
    np.testing.assert_allclose(found.numpy(), expected_losses()[name], rtol=1e-5)


@pytest.mark.parametrize("name", sorted(set(losses.LOSSES) - {"ce", "lk_nla"}))
def test_losses_vanish_where_the_laws_agree(name):
    law = torch.softmax(LOGITS, dim=-1)
    torch.testing.assert_close(losses.LOSSES[name](LOGITS, law), torch.zeros(2), rtol=0, atol=1e-6)


def gradient(name, logits=LOGITS, target=TARGET):
    logits = logits.clone().requires_grad_()
    losses.LOSSES[name](logits, target).sum().backward()
    return logits.grad


def test_gradient_of_cross_entropy_is_the_difference_of_laws():
    expected = TARGET.sum(-1, keepdim=True) * torch.softmax(LOGITS, dim=-1) - TARGET
    torch.testing.assert_close(gradient("ce"), expected)
    torch.testing.assert_close(gradient("kl"), expected)


def test_gradient_of_total_variation_is_that_of_theory():
    q = torch.softmax(LOGITS, dim=-1)
    below = (q < TARGET).float()
    expected = -q * (below - (below * q).sum(-1, keepdim=True))  # d alpha / d z_j = q_j (1[q_j < p_j] - sum q_i)
    torch.testing.assert_close(gradient("tv"), expected)
    alpha = losses.overlap(LOGITS, TARGET)[:, None]
    torch.testing.assert_close(gradient("lk_nla"), expected / alpha)


def test_a_target_probability_of_zero_costs_no_more_than_its_floor():
    found = losses.LOSSES["reverse_kl"](torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
    torch.testing.assert_close(found, torch.tensor([math.log(0.5) - 0.5 * math.log(1e-8)]))
    assert losses.LOSSES["kl"](torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item() == pytest.approx(math.log(2))


def test_depth_weights():
    alphas = torch.tensor([0.8, 0.5, 0.25])
    assert losses.depth_weights("equal", alphas, decay=4).tolist() == [1, 1, 1]
    torch.testing.assert_close(losses.depth_weights("decay", alphas, decay=2), torch.exp(torch.tensor([0, -0.5, -1])))
    # E = 1 + a + ab + abc: dE/da = 1 + b + bc, dE/db = a + ac, dE/dc = ab
    gains = torch.tensor([1 + 0.5 + 0.125, 0.8 + 0.2, 0.4])
    torch.testing.assert_close(losses.depth_weights("gain", alphas, decay=4), gains / gains[0])


# text, features, vocabulary


def test_seed_prompts_differ_by_seed_and_repeat_only_after_all():
    one, two = (list(islice(seed_prompts(seed), 1200)) for seed in (0, 1))
    assert len(set(one)) == 1200  # a quarter of a million tokens of text
    assert one != two


def test_greedy_texts_take_the_most_probable_token_and_end_with_the_text():
    writing = Writing(new_tokens=6, sampled=0.0)
    texts = write_texts(loaded(), [[1, 2, 3], [4]], writing=writing, seed=0)
    for text in texts:
        logits = loaded().model(torch.tensor([text.tokens])).logits[0]
        assert list(text.tokens[text.prompt :]) == logits.argmax(-1)[text.prompt - 1 : -1].tolist()
        assert not text.sampled
    ends = replace(loaded(), tokenizer=type("Ends", (), {"eos_token_id": texts[0].tokens[4]})())
    short, full = write_texts(ends, [[1, 2, 3], [4]], writing=writing, seed=0)
    assert short.tokens == texts[0].tokens[: texts[0].tokens.index(texts[0].tokens[4], 3) + 1]
    assert len(full.tokens) <= 7


def test_sampled_texts_follow_the_law():
    """Null: the first new token has the target's law at temperature 1; n = 1000; false-alarm rate 1e-6."""
    model = loaded().model
    writing = Writing(new_tokens=2, sampled=1.0)
    texts = write_texts(loaded(), [[7, 7]] * 1000, writing=writing, seed=3)
    law = torch.softmax(model(torch.tensor([[7, 7]])).logits[0, -1].double(), dim=-1).detach().numpy()
    counts = np.bincount([text.tokens[2] for text in texts], minlength=len(law))
    assert goodness_of_fit(counts, law / law.sum()).pvalue > 1e-6


def test_features_are_the_targets_and_give_its_laws(corpus):
    shard = corpus.training[0]
    text, start = shard.texts[1], len(shard.texts[0].tokens)
    here = slice(start, start + len(text.tokens))
    with torch.no_grad():
        output = loaded().model(torch.tensor([text.tokens]), output_hidden_states=True)
    for layer in (*LAYERS, 4):
        expected = output.hidden_states[layer][0].bfloat16().float()
        torch.testing.assert_close(shard.columns[f"layer.{layer}"][here].float(), expected, rtol=0.01, atol=0.01)
    final = shard.columns["layer.4"][here].float()
    law = torch.exp(final @ loaded().model.lm_head.weight.T - shard.columns["log_total"][here][:, None])
    torch.testing.assert_close(law.sum(-1), torch.ones(len(law)), rtol=0, atol=1e-5)
    torch.testing.assert_close(law, torch.softmax(output.logits[0], dim=-1), rtol=0, atol=0.02)
    assert torch.equal(law.argmax(-1), shard.columns["best"][here].long())


def test_mass_is_the_law_summed_behind_the_prompts(corpus):
    shard = corpus.training[0]
    places = sum(len(text.tokens) - text.prompt + 1 for text in shard.texts)
    assert float(shard.columns["mass"].sum()) == pytest.approx(places, rel=1e-4)


def test_a_corpus_is_made_once_and_grows(tmp_path):
    writing = Writing(tokens=300, new_tokens=4, rows=4, held_out=2)
    first = make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    again = make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert again.training[0].texts == first.training[0].texts
    more = make_corpus(loaded(), writing=replace(writing, tokens=1500), layers=(1,), cache=tmp_path)
    assert [shard.texts for shard in more.training][: len(first.training)] == [s.texts for s in first.training]
    assert more.tokens > first.tokens
    other = make_corpus(loaded(), writing=writing, layers=(1, 2), cache=tmp_path)  # one more layer, same texts
    assert other.training[0].texts == first.training[0].texts
    assert "layer.2" in other.training[0].columns


@pytest.mark.parametrize("kind", ["text-0000.json", "features-0001.safetensors"])
def test_a_damaged_shard_is_named(tmp_path, kind):
    writing = Writing(tokens=100, new_tokens=3, rows=2, held_out=2)
    make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)
    path = next(tmp_path.rglob(kind))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=rf"cannot read .*{kind}: .*; remove it and it is made anew"):
        make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)


def test_a_target_that_changes_its_logits_is_refused(tmp_path):
    model, tokenizer = tiny_model()
    forward = model.forward
    model.forward = lambda *tokens, **options: _halved(forward(*tokens, **options))
    bad = Loaded(model=model, tokenizer=tokenizer, name="tiny", is_real=False)
    with pytest.raises(InputError, match="target logits must be its output matrix times its last hidden state"):
        make_corpus(bad, writing=Writing(tokens=50, new_tokens=2, rows=1, held_out=2), layers=(1,), cache=tmp_path)


def _halved(output):
    output.logits = output.logits / 2
    return output


def test_no_prompt_is_both_held_out_and_learnt_from(tmp_path, monkeypatch):
    messages = [f"Say {letter}." for letter in "abcdefghi"]
    monkeypatch.setattr("validation.train.corpus.seed_prompts", lambda seed: cycle(messages))
    writing = Writing(tokens=150, new_tokens=2, rows=4, held_out=3)
    corpus = make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)
    held = {text.tokens[: text.prompt] for shard in corpus.held_out for text in shard.texts}
    picked = [item for batch in plan(corpus.training, tokens=50, rng=np.random.default_rng(0)) for item in batch]
    learnt = {corpus.training[s].texts[t].tokens[: corpus.training[s].texts[t].prompt] for s, t in picked}
    assert len(corpus.held_out) == 2  # shards 0 and 3, which ask for a to g
    assert {bytes(prompt).decode() for prompt in learnt} == {"Say h.", "Say i."}
    assert not learnt & held


def test_vocabulary_takes_the_heaviest_tokens():
    masses = [torch.tensor([1.0, 5.0, 0.0, 2.0]), torch.tensor([4.0, 0.0, 0.0, 0.0])]
    assert draft_vocabulary(masses, size=2).tolist() == [0, 1]
    assert draft_vocabulary(masses, size=9).tolist() == [0, 1, 2, 3]
    assert coverage(masses, torch.tensor([0, 1])) == pytest.approx(10 / 12)


def test_batches_hold_every_text_once(corpus):
    batches = plan(corpus.training, tokens=300, rng=np.random.default_rng(1))
    picked = sorted(text for batch in batches for text in batch)
    assert picked == [(s, t) for s, shard in enumerate(corpus.training) for t in shard.usable]
    for batch in batches:
        lengths = [len(corpus.training[shard].texts[text].tokens) for shard, text in batch]
        assert len(batch) == 1 or len(lengths) * max(lengths) <= 300


# what a step lowers


@pytest.mark.parametrize("name", NAMES)
def test_gradients_in_chunks_are_those_of_the_whole(name, corpus, monkeypatch):
    terms = {"kl": 1.0, "feature": 0.3} | ({"confidence": 1.0} if name == "dspark" else {})
    objective = Objective(terms=terms, depth=3, weights="decay", decay=2.0)
    head = new_head(loaded().model, corpus, small(name), seed=0)
    batch = next(every(corpus.training, tokens=200, layers=head.feature_layers(4), last=4, device="cpu"))
    found = []
    for chunk in (10_000, 7):
        monkeypatch.setattr("validation.train.objective.CHUNK", {"cpu": chunk})
        head.zero_grad()
        scored = lower(head, batch, objective, alphas=torch.full((3,), 0.5), generator=torch.Generator())
        found.append((scored.loss, [parameter.grad.clone() for parameter in head.parameters()]))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4)
    for whole, parts in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-3, atol=1e-6)
        assert whole.abs().max() > 0 or name == "dspark"  # its W1 has no gradient while W2 is zero


def test_loss_is_the_mean_over_answered_places(corpus):
    head = new_head(loaded().model, corpus, small("medusa"), seed=0)
    batch = next(every(corpus.training, tokens=200, layers=(4,), last=4, device="cpu"))
    objective = Objective(terms={"tv": 2.0}, depth=2)
    scored = lower(head, batch, objective, alphas=torch.full((2,), 0.5), generator=torch.Generator())
    laws, expected = laws_of(batch, head), []
    for step in play(head, batch, depth=2):
        logits = head.logits(step.state).detach()
        each = [
            2 * losses.tv(logits[row, node], laws[row, place])
            for row in range(len(batch.tokens))
            for node, place in enumerate(step.places[row].tolist())
            if batch.answered[row, place]
        ]
        expected.append(torch.stack(each).mean())
    assert scored.loss == pytest.approx(float(torch.stack(expected).mean()), rel=1e-5)


# acceptance


def test_acceptance_is_that_of_an_enumerated_chain(corpus):
    """The weighed mean over texts equals a direct count of what rejection sampling would keep."""
    head = new_head(loaded().model, corpus, small("medusa"), seed=0)
    batch = next(every(corpus.held_out[:1], tokens=10_000, layers=(4,), last=4, device="cpu"))
    found = measure(head, [batch], depth=2)
    laws = laws_of(batch, head)
    tops, bottoms = [0.0, 0.0], [0.0, 0.0]
    with torch.no_grad():
        first, second = (torch.softmax(head.logits(step.state), dim=-1) for step in play(head, batch, depth=2))
    for row in range(len(batch.tokens)):
        if not batch.sampled[row]:
            continue
        for start in range(first.shape[1]):
            place = start + 1
            if not batch.answered[row, place]:
                continue
            tops[0] += float(torch.minimum(first[row, start], laws[row, place]).sum())
            bottoms[0] += 1
            token = int(head.draft_index[batch.tokens[row, place + 1]])
            if token < len(head.vocabulary) and batch.answered[row, place + 1]:
                weight = min(1.0, float(first[row, start, token] / laws[row, place, token]))
                tops[1] += weight * float(torch.minimum(second[row, start], laws[row, place + 1]).sum())
                bottoms[1] += weight
    assert found.alphas == pytest.approx([top / bottom for top, bottom in zip(tops, bottoms, strict=True)], rel=1e-4)
    assert found.places == bottoms[0]
    assert found.tau == pytest.approx(1 + found.alphas[0] + found.alphas[0] * found.alphas[1])


@pytest.mark.parametrize("name", NAMES)
def test_training_lowers_the_loss_and_raises_acceptance(name, corpus, tmp_path):
    goes_on = HEADS[name].recurrent
    objective = Objective(terms={"ce": 1.0}, depth=2 if goes_on else 3, starts=0 if goes_on else 10)
    the_recipe = small(name, objective=objective, options={"layers": 1} if HEADS[name].layers_per_head else {})
    before = held_out(new_head(loaded().model, corpus, the_recipe, seed=0), corpus)
    seen = []
    trained = fit(corpus, tmp_path, the_recipe, steps=30, report=seen.append)
    assert np.mean([at.loss for at in seen[-5:]]) < seen[0].loss - 0.2
    assert trained.held_out.alphas[0] > before.alphas[0] + 0.015
    assert trained.held_out.tau > before.tau
    assert trained.steps == 30
    back = load_head(trained.path, loaded().model, dtype=torch.float32)
    assert held_out(back, corpus).alphas == pytest.approx(trained.held_out.alphas, abs=0.02)  # stored as bfloat16
    assert about_head(trained.path)["target"]["name"] == "tiny"
    assert not list(tmp_path.glob("*checkpoint*"))


@pytest.mark.parametrize("name", ["eagle", "dspark"])
def test_muon_moves_linear_layers_and_adamw_the_rest(name, corpus, tmp_path):
    the_recipe = small(name, objective=Objective(terms={"ce": 1.0}, depth=2), optimizer="muon")
    head = new_head(loaded().model, corpus, the_recipe, seed=0)
    adamw, muon = make_optimizers(head, name="muon", learning_rate=1e-3, weight_decay=0.0)
    shared_out = [id(weight) for each in (adamw, muon) for group in each.param_groups for weight in group["params"]]
    assert sorted(shared_out) == sorted(map(id, head.parameters()))
    linear = {id(layer.weight) for layer in head.modules() if isinstance(layer, torch.nn.Linear)}
    assert {id(weight) for group in muon.param_groups for weight in group["params"]} == linear
    seen = []
    fit(corpus, tmp_path, the_recipe, steps=30, report=seen.append)
    assert np.mean([at.loss for at in seen[-5:]]) < seen[0].loss - 0.1


def test_a_prompt_more_is_another_corpus(tmp_path, monkeypatch):
    writing = Writing(tokens=60, new_tokens=2, rows=2)
    for kinds in (prompt_kinds(), [{"templates": ["Say {}."], "subjects": ["hello", "good night"]}]):
        monkeypatch.setattr("validation.train.text.prompt_kinds", lambda kinds=kinds: kinds)
        monkeypatch.setattr("validation.train.corpus.prompt_kinds", lambda kinds=kinds: kinds)
        make_corpus(loaded(), writing=writing, layers=(1,), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_confidence_of_dspark_learns_the_acceptance(corpus, tmp_path):
    objective = Objective(terms={"ce": 0.1, "tv": 1.8, "confidence": 1.0}, depth=3, starts=10)
    trained = fit(corpus, tmp_path, small("dspark", objective=objective, options={"layers": 1, "rank": 8}), steps=40)
    head = load_head(trained.path, loaded().model)
    batch = next(every(corpus.held_out, tokens=2000, layers=head.feature_layers(4), last=4, device="cpu"))
    step = next(play(head, batch, depth=1))
    laws = laws_of(batch, head)[torch.arange(len(batch.tokens))[:, None], step.places]
    counts = batch.answered.gather(1, step.places)
    with torch.no_grad():
        alphas = losses.overlap(head.logits(step.state), laws)[counts]
        stated = torch.sigmoid(head.confidence(step.state))[counts]
    assert float(stated.mean()) == pytest.approx(float(alphas.mean()), abs=0.1)


# breaking off and going on


def weights_of(path):
    return {name: tensor.view(torch.uint8).tolist() for name, tensor in load_file(path).items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_resumed_training_ends_with_the_same_bits(optimizer, corpus, tmp_path):
    objective = Objective(terms={"ce": 1.0}, depth=2, weights="gain", starts=5)
    the_recipe = small("eagle", objective=objective, optimizer=optimizer)
    whole = fit(corpus, tmp_path / "whole", the_recipe, steps=12)

    def interrupt(at):
        if at.step == 7:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(corpus, tmp_path / "broken", the_recipe, steps=12, report=interrupt)
    assert signal.getsignal(signal.SIGINT) is before
    assert read_about(tmp_path / "broken" / "eagle.checkpoint.safetensors")["step"] == 7
    resumed = fit(corpus, tmp_path / "broken", the_recipe, resume=True)
    assert resumed.steps == 12
    assert weights_of(resumed.path) == weights_of(whole.path)
    seen = []
    again = fit(corpus, tmp_path / "broken", the_recipe, resume=True, report=seen.append)  # it is done
    assert (seen, again.held_out) == ([], resumed.held_out)


@pytest.fixture
def checkpoint(corpus, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(corpus, tmp_path, small(), steps=3, report=lambda at: signal.raise_signal(signal.SIGINT))
    return tmp_path / "medusa.checkpoint.safetensors"


def test_checkpoints_of_other_settings_are_refused(corpus, tmp_path, checkpoint):
    with pytest.raises(InputError, match=r"seed must be that of the checkpoint .*, 0, got 1; remove the file"):
        fit(corpus, tmp_path, small(), seed=1, resume=True)
    with pytest.raises(InputError, match="recipe must be that of the checkpoint"):
        fit(corpus, tmp_path, small(learning_rate=0.1), resume=True)


def test_damaged_checkpoints_are_refused(corpus, tmp_path, checkpoint):
    checkpoint.write_bytes(checkpoint.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"cannot read .*checkpoint\.safetensors: .*; remove it to start anew"):
        fit(corpus, tmp_path, small(), resume=True)


def test_the_number_of_steps_follows_from_the_budget(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("validation.train.trainer.perf_counter", iter(np.arange(0, 10_000, 0.5)).__next__)
    trained = fit(corpus, tmp_path, small(minutes=0.1))
    assert trained.steps == 12  # half a second each


def test_a_loss_that_is_not_finite_is_refused(corpus, tmp_path):
    shard = corpus.training[0]
    spoiled = replace(shard, columns=shard.columns | {"log_total": shard.columns["log_total"] * math.nan})
    with pytest.raises(InputError, match=r"loss must be finite, got nan in step 0 of medusa; lower learning_rate"):
        fit(replace(corpus, training=[spoiled]), tmp_path, small(), steps=3)


# recipes and the command


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_head_has_a_recipe(name, device):
    found = recipe(name, device=device)
    assert found.head == name
    assert found.minutes <= 20
    assert found.drafts == (8192 if device == "cpu" else 32768)


def test_recipes_from_files(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('head = "eagle"\ndepth = 2\n[objective]\nterms = { feature = 0.5, ce = 1.0 }\n')
    assert dict(recipe(path).with_loss("tv").objective.terms) == {"tv": 1.0, "feature": 0.5}
    path.write_text('head = "eagle"\ndepht = 2\n')
    with pytest.raises(InputError, match="'depht' is unknown; did you mean depth"):
        recipe(path)
    path.write_text("head = ")
    with pytest.raises(InputError, match="cannot read the recipe"):
        recipe(path)
    with pytest.raises(InputError, match=r"cannot read the recipe .*none\.toml: No such file"):
        recipe(tmp_path / "none.toml")
    with pytest.raises(InputError, match="recipe 'eagel' is unknown; did you mean eagle"):
        recipe("eagel")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"terms": {"l2": 1.0}}, "loss 'l2' is unknown"),
        ({"terms": {"ce": 0.0}}, "loss ce must be above 0"),
        ({"weights": "half"}, "weights 'half' is unknown"),
        ({"retain": 0.0}, r"retain must be in \(0, 1\]"),
    ],
)
def test_wrong_objectives_are_refused(changes, what):
    with pytest.raises(InputError, match=what):
        Objective(**{"terms": {"ce": 1.0}} | changes)


def test_confidence_needs_a_head_that_states_one():
    with pytest.raises(InputError, match="loss confidence needs a head that states one, got eagle"):
        small("eagle", objective=Objective(terms={"confidence": 1.0}))


@pytest.mark.parametrize(("changes", "what"), [({"sampled": 2.0}, "sampled"), ({"held_out": 1}, "held_out")])
def test_wrong_writings_are_refused(changes, what):
    with pytest.raises(InputError, match=what):
        Writing(**changes)


@pytest.fixture
def command(tmp_path, monkeypatch, corpus, kept):
    monkeypatch.setattr("validation.timing.pin_threads", lambda: None)
    monkeypatch.setattr("validation.decoder.load.load", lambda *source, **options: loaded())
    monkeypatch.setattr("validation.train.text.Writing", lambda **options: replace(WRITING, seed=options["seed"]))

    def run(*arguments):
        shared = ["--out", str(tmp_path / "out"), "--cache", str(kept), "--steps", "3"]
        return CliRunner().invoke(train_command, [*arguments, *shared], standalone_mode=False)

    return run


def test_one_head_from_the_command_line(command):
    found = command("medusa", "--json", "--loss", "tv")
    result = json.loads(found.stdout)["result"]
    assert [row["head"] for row in result["heads"]] == ["medusa"]
    assert len(result["heads"][0]["held_out"]["alphas"]) == 4
    assert found.return_value == 0


def test_all_heads_go_on_when_one_fails(command, monkeypatch):
    monkeypatch.setattr("validation.heads.HEADS", {name: HEADS[name] for name in ("medusa", "hydra")})
    monkeypatch.setattr(HEADS["hydra"], "foreseen", lambda self, state: state.hidden[..., :64] * math.nan)
    found = command("all")
    assert found.return_value == 1
    assert "medusa" in found.stdout
    assert "hydra failed: loss must be finite" in found.stdout


def test_unknown_heads_are_refused(command):
    with pytest.raises(InputError, match="head 'eagel' is unknown; did you mean eagle"):
        raise command("eagel").exception
