"""Heads: one forward code for training and drafting, files that come back the same, and refusals."""

import copy
import json
from functools import cache

import pytest
import torch
from safetensors.torch import load_file, save_file

from specsim.errors import InputError
from validation.decoder.cache import RaggedCache
from validation.decoder.load import load
from validation.decoder.masks import layout
from validation.decoder.tiny import tiny_model
from validation.heads import HEADS, Setup
from validation.heads.distilled import as_model
from validation.heads.files import about_head, fingerprint, load_head, save_head, write_model
from validation.heads.parts import Sizes, Where
from validation.train.batches import Batch
from validation.train.rollout import play

DRAFTS, DEPTH = 60, 3
NAMES = sorted(HEADS)


@cache
def target():
    return tiny_model()[0]


def make_head(name, *, seed=1, **options):
    """A seeded head of a tiny target, every weight away from its initial zero."""
    setup = Setup(sizes=Sizes.of(target().config), drafts=DRAFTS, depth=DEPTH, options=options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = HEADS[name](setup)
        for parameter in head.parameters():
            torch.nn.init.normal_(parameter, std=0.15)
    head.vocabulary.copy_(torch.arange(DRAFTS) * 4)
    return head.attach(target()).eval()


def texts(*lengths, head, seed=0):
    """A batch of random tokens with random features, filled up behind."""
    generator = torch.Generator().manual_seed(seed)
    span, size = max(lengths), len(head.feature_layers(4)) * 64
    tokens = torch.randint(257, (len(lengths), span), generator=generator)
    answered = torch.arange(span) < torch.tensor(lengths)[:, None] - 1
    return Batch(
        tokens=tokens,
        features=torch.randn(*tokens.shape, size, generator=generator),
        final=torch.randn(*tokens.shape, 64, generator=generator),
        log_total=torch.full(tokens.shape, 8.0),
        best=tokens,
        answered=answered,
        sampled=torch.ones(len(lengths), dtype=torch.bool),
    )


class Drafting:
    """Drafts by hand with a ragged cache, as a proposer does; feeds the text's own tokens as if they were drawn."""

    def __init__(self, head, batch, rows):
        self.head, self.batch = head, batch
        self.cache = RaggedCache(layers=head.cache_layers, rows=rows) if head.cache_layers else None
        self.lengths = [0] * rows

    def where(self, counts, *, whole=False):
        starts, span = self.lengths, max(counts)
        found = layout(starts, span=span)
        visible = found.visible[:, None]
        if whole:
            visible = visible[:, :, -1:].expand_as(visible)
        if self.cache is not None:
            self.cache.extend(counts)
        return Where(found.positions, visible, self.cache)

    def read(self, counts):
        """Take `counts` new pairs of each row; what the head makes of the last of each."""
        span, rows = max(counts), torch.arange(len(counts))[:, None]
        where = self.where(counts)
        pairs = where.positions.clamp_max(self.batch.span - 2)
        hidden = self.head.read(self.batch.tokens[rows, pairs + 1], self.batch.features[rows, pairs], where)
        assert hidden.shape[:2] == (len(counts), span)
        self.lengths = [length + count for length, count in zip(self.lengths, counts, strict=True)]
        last = torch.tensor(counts)[:, None] - 1
        return hidden[rows, last]

    def laws(self, hidden, depth):
        """(B, depth, D) logits behind the last pairs; the cache is cut back afterwards."""
        known, rows = list(self.lengths), torch.arange(len(self.lengths))
        at = lambda step: self.batch.tokens[rows, torch.tensor(known) + step][:, None]  # noqa: E731
        block = None
        if self.head.block:
            block = self.where([self.head.block] * len(rows), whole=not self.head.causal_block)
        state = self.head.open(at(0), hidden, block)
        found = [self.head.logits(state)]
        for step in range(1, depth):
            where = self.where([1] * len(rows)) if self.head.recurrent else None
            state = self.head.advance(at(step), state, where)
            self.lengths = [length + 1 for length in self.lengths]
            found.append(self.head.logits(state))
        self.lengths = known
        if self.cache is not None:
            self.cache.cut(known)
        return torch.cat(found, dim=1)


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_one_training_pass_gives_the_laws_that_drafting_gives_step_by_step(name):
    head = make_head(name)
    batch = texts(12, 12, head=head)
    steps = [head.logits(step.state) for step in play(head, batch, depth=DEPTH)]
    played = torch.stack(steps, dim=2)  # (B, starts, K, D)
    drafting = Drafting(head, batch, rows=2)
    for counts in ([3, 1], [1, 2], [2, 4]):  # rows at different places
        found = drafting.laws(drafting.read(counts), DEPTH)
        expected = torch.stack([played[row, length - 1] for row, length in enumerate(drafting.lengths)])
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_a_law_depends_on_what_is_known_and_on_nothing_later(name):
    head = make_head(name)
    batch = texts(12, head=head)
    step = list(play(head, batch, depth=DEPTH))[-1]
    before = head.logits(step.state)
    start = 4  # sees pairs 0..4, that is tokens up to 5, and drafted tokens 6 and 7
    batch.tokens[:, start + DEPTH + 1 :] = 7
    batch.features[:, start + 1 :] = 3.0
    later = list(play(head, batch, depth=DEPTH))[-1]
    after = head.logits(later.state)
    torch.testing.assert_close(after[:, : start + 1], before[:, : start + 1])
    assert not torch.allclose(after[:, start + 1 :], before[:, start + 1 :])


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "knows"),
    [(name, name not in ("dflash", "medusa", "pard")) for name in NAMES],
)
def test_which_heads_know_the_tokens_drafted_before(name, knows):
    head = make_head(name)
    batch = texts(10, head=head)
    before = head.logits(list(play(head, batch, depth=2))[1].state)[:, 3]
    batch.tokens[:, 5] = (batch.tokens[:, 5] + 4) % 240 // 4 * 4  # drafted behind pair 3, whose token is x_4
    after = head.logits(list(play(head, batch, depth=2))[1].state)[:, 3]
    assert torch.equal(before, after) is not knows


@pytest.mark.parametrize("name", NAMES)
def test_shapes(name):
    head = make_head(name)
    batch = texts(9, 6, head=head)
    steps = list(play(head, batch, depth=DEPTH))
    assert [step.state.depth for step in steps] == [0, 1, 2]
    for depth, step in enumerate(steps):
        assert head.logits(step.state).shape == (2, 6, DRAFTS)
        assert step.places[0].tolist() == [start + 1 + depth for start in range(6)]
    assert head.passes(0) == 0
    assert head.passes(DEPTH) == (DEPTH if name in ("distilled", "eagle", "eagle3", "mtp", "hydra") else 1)


def test_nodes_of_a_tree_start_from_their_parents():
    head = make_head("hydra")
    batch = texts(6, head=head)
    state = next(play(head, batch, depth=1)).state
    picked = state.at(torch.tensor([[0]]), torch.tensor([[2, 0, 2]]))
    assert torch.equal(picked.hidden[0, 0], state.hidden[0, 2])
    assert torch.equal(picked.tokens, state.tokens[:, [2, 0, 2]])


@torch.no_grad()
def test_confidence_of_dspark_does_not_look_at_the_next_token():
    head = make_head("dspark")
    batch = texts(8, head=head)
    before = head.confidence(list(play(head, batch, depth=2))[1].state)[:, 2]
    batch.tokens[:, 5] += 1  # the token that the second draft behind pair 2 is compared with
    after = head.confidence(list(play(head, batch, depth=2))[1].state)[:, 2]
    assert torch.equal(before, after)
    assert before.shape == (1,)


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_head_comes_back_the_same(name, tmp_path):
    head = make_head(name)
    path = save_head(
        head,
        tmp_path / "h.safetensors",
        target=fingerprint(target(), "tiny"),
        training={"seed": 1},
        dtype=torch.float32,
    )
    back = load_head(path, target())
    assert back.setup == head.setup
    batch = texts(8, head=head)
    for one, other in zip(play(head, batch, depth=DEPTH), play(back, batch, depth=DEPTH), strict=True):
        assert torch.equal(head.logits(one.state), back.logits(other.state))
    assert about_head(path)["training"] == {"seed": 1}


def test_positions_keep_their_precision_in_bfloat16():
    stack, positions = make_head("eagle").stack, torch.tensor([[5003]])
    exact, _ = stack.rotary(torch.zeros(1), positions)
    rounded, _ = stack.bfloat16().rotary(torch.zeros(1, dtype=torch.bfloat16), positions)
    assert torch.equal(rounded, exact.bfloat16())


def test_stored_weights_are_half_as_long_by_default(tmp_path):
    path = save_head(make_head("eagle"), tmp_path / "h.safetensors", target=fingerprint(target(), "t"), training={})
    stored = load_file(path)
    assert {tensor.dtype for name, tensor in stored.items() if name != "vocabulary"} == {torch.bfloat16}
    assert "embedding" not in stored
    assert "output" not in stored


@pytest.fixture
def stored(tmp_path):
    return save_head(make_head("medusa"), tmp_path / "h.safetensors", target=fingerprint(target(), "tiny"), training={})


def test_a_truncated_file_is_refused(stored):
    stored.write_bytes(stored.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"cannot read .*h\.safetensors: "):
        load_head(stored, target())


def test_a_file_that_is_no_head_is_refused(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="must be a head that this project trained"):
        about_head(tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="head must be a file, found none at"):
        about_head(tmp_path / "b.safetensors")


def test_a_head_of_another_target_is_refused(stored):
    with pytest.raises(InputError, match=r"target must be the one that .* was trained for, tiny \(LlamaForCausalLM"):
        load_head(stored, tiny_model(seed=5)[0])


def test_an_unknown_kind_of_head_is_refused(tmp_path):
    path = tmp_path / "h.safetensors"
    save_file({"a": torch.ones(2)}, path, metadata={"specsim.head": json.dumps({"head": "eagel"})})
    with pytest.raises(InputError, match="head 'eagel' is unknown; did you mean eagle"):
        load_head(path, target())


def test_weights_of_other_shapes_are_refused(stored):
    about = about_head(stored)
    weights = load_file(stored) | {"blocks.0.weight": torch.ones(3, 3)}
    save_file(weights, stored, metadata={"specsim.head": json.dumps(about)})
    with pytest.raises(InputError, match="must hold the weights of a head medusa"):
        load_head(stored, target())


def test_a_target_of_other_sizes_is_refused():
    setup = Setup(sizes=Sizes.of(target().config)._replace(vocabulary=300), drafts=10, depth=2)
    with pytest.raises(InputError, match=r"target must have 300 tokens of width 64 .* got \(257, 64\)"):
        HEADS["eagle"](setup).attach(target())


def test_a_target_without_the_usual_sizes_is_refused():
    class Strange:
        def get_text_config(self, decoder):
            return object()

    with pytest.raises(InputError, match="target must state its sizes"):
        Sizes.of(Strange())


@pytest.mark.parametrize(
    ("options", "what"),
    [({"ranks": 3}, "option of eagle 'ranks' is unknown; known: layers"), ({"layers": 0}, "layers must be at least 1")],
)
def test_wrong_options_are_refused(options, what):
    with pytest.raises(InputError, match=what):
        make_head("eagle", **options)


@pytest.mark.parametrize(("drafts", "depth", "what"), [(1, 2, "drafts"), (258, 2, "drafts"), (10, 0, "depth")])
def test_wrong_setups_are_refused(drafts, depth, what):
    with pytest.raises(InputError, match=what):
        Setup(sizes=Sizes.of(target().config), drafts=drafts, depth=depth)


# a model of its own


def distilled(seed=1):
    head = make_head("distilled", seed=seed, layers=2)
    head.vocabulary.copy_(torch.arange(DRAFTS) * 4)
    return head.attach(target())


def test_a_distilled_head_starts_as_layers_of_its_target():
    head = HEADS["distilled"](Setup(sizes=Sizes.of(target().config), drafts=DRAFTS, depth=DEPTH, options={"layers": 2}))
    head.start_from(target())
    for mine, theirs in ((0, 0), (1, 3)):
        for name, weight in target().model.layers[theirs].state_dict().items():
            assert torch.equal(head.stack.layers[mine].state_dict()[name], weight)
    assert torch.equal(head.norm.weight, target().model.norm.weight)


def test_layers_of_another_shape_are_not_taken():
    sizes = Sizes.of(target().config)._replace(intermediate=96)
    head = HEADS["distilled"](Setup(sizes=sizes, drafts=DRAFTS, depth=DEPTH, options={"layers": 2}))
    before = {name: weight.clone() for name, weight in head.state_dict().items()}
    head.start_from(target())
    assert all(torch.equal(weight, before[name]) for name, weight in head.state_dict().items())


def test_a_distilled_head_is_an_ordinary_model(tmp_path):
    """The folder loads like any model, and says of its whole vocabulary what the head says of the reduced one."""
    head, (model, tokenizer) = distilled(), tiny_model()
    path = save_head(head, tmp_path / "distilled.safetensors", target=fingerprint(model, "tiny"), training={})
    loaded = load(write_model(path, model, tokenizer))
    tokens = torch.tensor([[5, 9, 200, 31, 7]])
    kept = load_head(path, model)
    where = Where(torch.arange(5)[None])
    said = kept.logits(kept.open(tokens, kept.read(tokens, torch.zeros(1, 5, 64), where)))
    with torch.no_grad():
        whole = loaded.model(tokens).logits[..., kept.vocabulary]
    torch.testing.assert_close(whole, said, rtol=1e-4, atol=1e-4)
    assert loaded.model.config.num_hidden_layers == 2


def test_other_heads_and_targets_are_no_models(tmp_path):
    model, tokenizer = tiny_model()
    path = save_head(make_head("eagle"), tmp_path / "eagle.safetensors", target=fingerprint(model, "t"), training={})
    with pytest.raises(InputError, match="must hold a distilled head to make a model of, got eagle"):
        write_model(path, model, tokenizer)
    other = copy.deepcopy(model)
    other.config.model_type = "gpt2"
    with pytest.raises(InputError, match="target must be a Llama to make a model of distilled layers, got gpt2"):
        as_model(distilled(), other)
