"""Bounds from divergence to acceptance, losses with their gradients, and weights by depth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from specsim.acceptance import Acceptance
from specsim.distributions import kl_divergence, overlap, softmax
from specsim.errors import InputError
from specsim.objectives import (
    LOSSES,
    Loss,
    alpha_bound,
    bretagnolle_huber_bound,
    decay_weights,
    depth_sensitivity,
    exponential_bound,
    forward_kl,
    hybrid,
    mean_alpha_bound,
    mixed,
    nla,
    pinsker_bound,
    reverse_kl,
    tv,
    weighted,
)
from specsim.tau import expected_accepted
from tests.reference import exact_objectives as twin
from tests.reference import golden_objectives

BOUNDS = (pinsker_bound, bretagnolle_huber_bound, exponential_bound, alpha_bound)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two laws over one vocabulary, zeros included."""
    size = draw(st.integers(1, 6))
    rows = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    p, q = np.array(draw(rows), float), np.array(draw(rows), float)
    return p / p.sum(), q / q.sum()


def contexts(seed: int, *, count: int = 5, size: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Target laws and draft logits."""
    rng = np.random.default_rng(seed)
    return softmax(rng.normal(size=(count, size)) * 2), rng.normal(size=(count, size)) * 2


# --- bounds --------------------------------------------------------------------------------------------------------


@given(pairs())
def test_alpha_is_at_least_every_bound_in_both_directions(laws: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = laws
    alpha = float(overlap(p, q))
    for divergence in (kl_divergence(p, q), kl_divergence(q, p)):
        for bound in BOUNDS:
            assert float(bound(divergence)) <= alpha + 1e-12


@given(st.lists(pairs(), min_size=1, max_size=6))
def test_the_mean_alpha_is_at_least_the_bound_at_the_mean_divergence(laws: list) -> None:
    alphas = [float(overlap(p, q)) for p, q in laws]
    divergences = [float(kl_divergence(p, q)) for p, q in laws]
    weights = np.arange(1, len(laws) + 1)
    assert mean_alpha_bound(divergences) <= np.mean(alphas) + 1e-12
    assert mean_alpha_bound(divergences, weights=weights) <= np.average(alphas, weights=weights) + 1e-12


@pytest.mark.parametrize("row", golden_objectives.rows("single_step"), ids=lambda row: row["id"])
def test_golden_divergences_and_bounds(row: dict) -> None:
    p, q = ([float(Fraction(x)) for x in row["case"][side]] for side in "pq")
    kl = kl_divergence(p, q)
    found = {
        "KL_p_q": kl,
        "KL_q_p": kl_divergence(q, p),
        "pinsker": pinsker_bound(kl),
        "bretagnolle_huber": bretagnolle_huber_bound(kl),
        "exponential": exponential_bound(kl),
    }
    assert found.keys() == row["expected"].keys()
    for name, value in row["expected"].items():
        infinite = np.inf if name.startswith("KL") else 0.0
        expected = infinite if value is None else value
        assert float(found[name]) == pytest.approx(expected, rel=row["rtol"], abs=1e-15), name


@given(st.floats(0, 700))
def test_the_bounds_are_in_order(kl: float) -> None:
    assert (
        0 < exponential_bound(kl) <= bretagnolle_huber_bound(kl) * (1 + 1e-12) <= alpha_bound(kl) * (1 + 1e-11) <= 1.1
    )


def test_where_one_bound_overtakes_the_other() -> None:
    assert pinsker_bound(1.5) > bretagnolle_huber_bound(1.5)
    assert pinsker_bound(1.7) < bretagnolle_huber_bound(1.7)
    assert pinsker_bound(2.0) == 0 < bretagnolle_huber_bound(2.0)


def test_pinsker_is_sharp_for_near_laws() -> None:
    """At (1 + e, 1 - e) / 2 against the uniform law TV is e / 2 and KL e^2 / 2 to the second order."""
    p, q = np.array([0.5 + 1e-4, 0.5 - 1e-4]), np.array([0.5, 0.5])
    assert 1 - float(pinsker_bound(kl_divergence(p, q))) == pytest.approx(1 - float(overlap(p, q)), rel=1e-6)


def test_a_small_divergence_is_not_needed() -> None:
    """One token that the draft bans: the divergence is infinite, and alpha 0.999."""
    p, q = np.array([0.999, 0.001]), np.array([1.0, 0.0])
    assert kl_divergence(p, q) == np.inf
    assert float(overlap(p, q)) == pytest.approx(0.999)
    assert [float(bound(np.inf)) for bound in BOUNDS] == [0, 0, 0, 0]


def test_bounds_at_no_divergence() -> None:
    assert [float(bound(0.0)) for bound in BOUNDS] == [1, 1, 0.5, 1]


@pytest.mark.parametrize("kl", [-1e-9, float("nan"), [0.0, -1.0]])
def test_a_divergence_is_never_negative(kl: object) -> None:
    for bound in BOUNDS:
        with pytest.raises(InputError, match="kl must be at least 0"):
            bound(kl)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_weights_of_contexts_that_do_not_fit(weights: list[float]) -> None:
    with pytest.raises(InputError, match="weights must be"):
        mean_alpha_bound([0.0, 1.0], weights=weights)


def test_a_context_that_never_occurs_weighs_nothing() -> None:
    assert mean_alpha_bound([0.5, np.inf], weights=[1.0, 0.0]) == 0.5


# --- losses and gradients ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "hybrid"])
def test_values_and_gradients_are_those_of_the_twin(name: str) -> None:
    p, logits = contexts(1)
    loss = LOSSES[name](p, logits)
    assert loss.gradient.shape == p.shape
    for context in range(len(p)):
        q = twin.softmax(list(logits[context]))
        assert loss.value[context] == pytest.approx(float(twin.LOSSES[name](list(p[context]), q)), rel=1e-10)
        expected = twin.gradient(twin.LOSSES[name], list(p[context]), list(logits[context]))
        np.testing.assert_allclose(loss.gradient[context], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("eta", [0.0, 3.0, 10.0])
def test_the_hybrid_is_the_twin_with_its_share_held(eta: float) -> None:
    p, logits = contexts(2)
    loss = hybrid(p, logits, eta=eta)
    for context in range(len(p)):
        target, q = list(p[context]), twin.softmax(list(logits[context]))
        held = twin.mixed(twin.mp.exp(-eta * twin.alpha([twin.mpf(x) for x in target], q)))
        assert loss.value[context] == pytest.approx(float(held(target, q)), rel=1e-10)
        np.testing.assert_allclose(
            loss.gradient[context], twin.gradient(held, target, list(logits[context])), rtol=1e-9, atol=1e-12
        )


def test_the_hybrids_gradient_is_not_that_of_its_value() -> None:
    """Differentiating the share too, which the stop gradient forbids, gives something else."""
    p, logits = contexts(3, count=1)
    error = check_grad(lambda z: float(hybrid(p[0], z).value), lambda z: hybrid(p[0], z).gradient, logits[0])
    assert error > 0.01


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "hybrid"])
@pytest.mark.parametrize("seed", range(3))
def test_scipy_finds_the_same_gradient(name: str, seed: int) -> None:
    p, logits = contexts(seed, count=1, size=12)
    loss = LOSSES[name]
    assert check_grad(lambda z: float(loss(p[0], z).value), lambda z: loss(p[0], z).gradient, logits[0]) < 1e-6
    wrong = check_grad(lambda z: float(loss(p[0], z).value), lambda z: loss(p[0], z).gradient * 1.001, logits[0])
    assert wrong > 1e-5  # power: a gradient off by a thousandth


def test_a_mixture_is_a_fixed_function() -> None:
    p, logits = contexts(5, count=1)
    for share in (0.0, 0.3, 1.0):
        assert (
            check_grad(
                lambda z, share=share: float(mixed(p[0], z, kl_share=share).value),
                lambda z, share=share: mixed(p[0], z, kl_share=share).gradient,
                logits[0],
            )
            < 1e-6
        )


@given(pairs())
def test_no_loss_depends_on_a_shift_of_the_logits(laws: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = (law + 0.01 for law in laws)
    p, logits = p / p.sum(), np.log(q)
    for loss in LOSSES.values():
        one, shifted = loss(p, logits), loss(p, logits + 7.0)
        assert float(one.value) == pytest.approx(float(shifted.value), abs=1e-12)
        assert one.gradient.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_is_lost_and_nothing_pulls_where_the_laws_agree(name: str) -> None:
    p, _ = contexts(6)
    loss = LOSSES[name](p, np.log(p))
    np.testing.assert_allclose(loss.value, 0, atol=1e-12)
    np.testing.assert_allclose(loss.gradient, 0, atol=2 * p.max() if name in ("tv", "nla", "hybrid") else 1e-12)
    one = LOSSES[name]([1.0], [3.0])
    assert float(one.value) == pytest.approx(0, abs=1e-12)
    assert one.gradient.tolist() == [0]


def test_total_variation_stalls_where_overlap_is_small_and_nla_does_not() -> None:
    p, logits = np.array([0.0, 1.0]), np.array([20.0, 0.0])
    sizes = [float(np.abs(loss(p, logits).gradient).max()) for loss in (tv, nla, forward_kl)]
    assert sizes[0] < 1e-8
    assert sizes[1:] == pytest.approx([1, 1], rel=1e-6)


def test_the_hybrid_begins_as_kl_and_ends_as_tv() -> None:
    p = np.array([0.0, 1.0])
    far, near = np.array([20.0, 0.0]), np.array([0.0, 3.0])
    assert hybrid(p, far).value == pytest.approx(float(forward_kl(p, far).value), rel=1e-6)
    assert hybrid(p, near, eta=50.0).value == pytest.approx(float(tv(p, near).value), rel=1e-6)


def test_a_target_that_bans_tokens_has_no_reverse_divergence() -> None:
    p = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(InputError, match=r"logits\[0\] must give a finite divergence, but the target bans token 2"):
        reverse_kl(p, np.zeros(3))
    assert np.isfinite(reverse_kl(p[0], np.array([1.0, 0.0, -np.inf])).gradient).all()


def test_a_draft_that_bans_tokens_has_no_forward_divergence() -> None:
    with pytest.raises(InputError, match="the draft bans token 1, which the target allows"):
        forward_kl([0.5, 0.5], [0.0, -np.inf])


def test_laws_that_share_nothing_have_no_log_alpha() -> None:
    with pytest.raises(InputError, match="share some mass"):
        nla([0.0, 1.0], [0.0, -np.inf])
    assert float(tv([0.0, 1.0], [0.0, -np.inf]).value) == 1


@pytest.mark.parametrize(
    ("p", "logits", "message"),
    [
        ([0.5, 0.6], [0.0, 0.0], "p must sum to 1"),
        ([1.5, -0.5], [0.0, 0.0], "p.* must be at least 0"),
        ([0.5, np.nan], [0.0, 0.0], "p.* must be finite"),
        ([0.5, 0.5], [0.0, np.nan], "logits must be numbers"),
        ([0.5, 0.5], [0.0, 0.0, 0.0], "one vocabulary, got 2 and 3"),
        ([], [], "vocabulary axis"),
    ],
    ids=str,
)
def test_bad_laws_are_named(p: list[float], logits: list[float], message: str) -> None:
    for loss in LOSSES.values():
        with pytest.raises(InputError, match=message):
            loss(p, logits)


def test_settings_outside_their_range() -> None:
    with pytest.raises(InputError, match="eta must be at least 0"):
        hybrid([0.5, 0.5], [0.0, 0.0], eta=-1.0)
    with pytest.raises(InputError, match=r"kl_share must be in \[0, 1\]"):
        mixed([0.5, 0.5], [0.0, 0.0], kl_share=1.5)


# --- minimising KL is not maximising alpha -------------------------------------------------------------------------


@pytest.mark.parametrize("row", golden_objectives.rows("kl_vs_alpha"), ids=lambda row: row["id"])
def test_golden_the_best_draft_differs_by_objective(row: dict) -> None:
    case, expected = row["case"], row["expected"]
    thetas = np.linspace(case["low"], case["high"], case["steps"] + 1)
    logits = -thetas[:, None] * np.arange(len(case["p"]))
    for name, loss in (("forward_KL", forward_kl), ("reverse_KL", reverse_kl), ("TV", tv)):
        best = int(np.argmin(loss(case["p"], logits).value))
        assert thetas[best] == pytest.approx(expected[name]["theta"], abs=1e-9)
        alpha, divergence = 1 - tv(case["p"], logits[best]).value, forward_kl(case["p"], logits[best]).value
        assert float(alpha) == pytest.approx(expected[name]["alpha"], rel=row["rtol"])
        assert float(divergence) == pytest.approx(expected[name]["KL"], rel=row["rtol"])
    assert expected["TV"]["alpha"] > max(expected[name]["alpha"] for name in ("forward_KL", "reverse_KL"))
    assert expected["TV"]["KL"] > expected["forward_KL"]["KL"]


@pytest.mark.parametrize("row", golden_objectives.rows(), ids=lambda row: row["id"])
def test_the_golden_row_is_what_the_twin_gives(row: dict) -> None:
    assert row["source"]
    assert golden_objectives.expected(row["kind"], row["case"]) == row["expected"]


def test_every_golden_kind_has_rows() -> None:
    assert {row["kind"] for row in golden_objectives.rows()} == golden_objectives.EXPECTED.keys()


@pytest.mark.parametrize(("name", "better"), [("forward_kl", False), ("tv", True), ("nla", True), ("hybrid", True)])
def test_descending_a_gradient_finds_that_objectives_draft(name: str, better: bool) -> None:
    """One parameter, q(i) ~ exp(-theta i), trained on the bimodal target; which loss ends with alpha above 0.67?

    From theta = 1, since the uniform law, theta = 0, is stationary for total variation: alpha is not concave.
    """
    (row,) = (row for row in golden_objectives.rows("kl_vs_alpha") if row["id"].endswith("bimodal"))
    p, depths, theta = row["case"]["p"], -np.arange(5.0), 1.0
    for step in range(4000):
        theta -= 0.5 / (1 + step) ** 0.6 * float(LOSSES[name](p, theta * depths).gradient @ depths)
    alpha = float(1 - tv(p, theta * depths).value)
    if name == "forward_kl":
        assert alpha == pytest.approx(row["expected"]["forward_KL"]["alpha"], abs=1e-3)
    assert (alpha > 0.67) == better


# --- weights by depth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alphas", [[0.9, 0.7, 0.5], [0.5, 0.0, 0.8, 0.3], [1.0], [0.0, 0.0]])
def test_the_sensitivity_is_a_derivative(alphas: list[float]) -> None:
    """E_accepted is linear in each alpha_k, so that a difference over the whole range is exact."""
    found = depth_sensitivity(Acceptance.by_depth(alphas), gamma=len(alphas))
    for depth in range(len(alphas)):
        high, low = (
            expected_accepted(Acceptance.by_depth([*alphas[:depth], value, *alphas[depth + 1 :]]), gamma=len(alphas))
            for value in (1.0, 0.0)
        )
        assert found[depth] == pytest.approx(high - low, abs=1e-12)


def test_the_sensitivity_is_the_sum_of_survivals_beyond_over_alpha() -> None:
    acceptance = Acceptance.by_depth([0.9, 0.7, 0.5])
    survival = acceptance.survival(3)
    expected = np.cumsum(survival[::-1])[::-1] / acceptance.conditional(3)
    np.testing.assert_allclose(depth_sensitivity(acceptance, gamma=3), expected, rtol=1e-12)


def test_weights_by_decay() -> None:
    np.testing.assert_allclose(decay_weights(gamma=7, scale=4.0), np.exp(-np.arange(7) / 4), rtol=1e-15)
    np.testing.assert_allclose(decay_weights(gamma=3), np.exp(-np.arange(3) / 3), rtol=1e-15)


def test_weighted_by_sensitivity_total_variation_is_expected_accepted() -> None:
    """The chain rule: descending the weighted loss is ascending E_accepted, where contexts do not depend on drafts."""
    p, logits = contexts(7, count=4)

    def accepted(flat: np.ndarray) -> float:
        alphas = 1 - tv(p, flat.reshape(p.shape)).value
        return float(np.cumprod(alphas).sum())

    alphas = Acceptance.by_depth(1 - tv(p, logits).value)
    weights = depth_sensitivity(alphas, gamma=4)
    loss = weighted(tv(p, logits), weights=weights)
    assert loss.value.shape == ()
    assert check_grad(accepted, lambda _: -loss.gradient.reshape(-1), logits.reshape(-1)) < 1e-6
    flat = weighted(tv(p, logits), weights=np.ones(4))
    assert check_grad(accepted, lambda _: -flat.gradient.reshape(-1), logits.reshape(-1)) > 1e-3  # power


def test_weights_that_do_not_fit() -> None:
    loss = Loss(np.zeros((2, 3)), np.zeros((2, 3, 4)))
    assert weighted(loss, weights=[1.0, 0.5, 0.2]).gradient.shape == (2, 3, 4)
    for weights, message in (
        ([1.0], "must match the depths"),
        ([1.0, -1.0, 0.0], "at least 0"),
        ([np.nan] * 3, "finite"),
    ):
        with pytest.raises(InputError, match=message):
            weighted(loss, weights=weights)
    with pytest.raises(InputError, match="must match the depths"):
        weighted(tv([0.5, 0.5], [0.0, 0.0]), weights=[1.0])
    for call, message in (
        (lambda: decay_weights(gamma=0), "gamma must be at least 1"),
        (lambda: decay_weights(gamma=2, scale=0.0), "scale must be above 0"),
        (lambda: depth_sensitivity(Acceptance.constant(0.5), gamma=0), "gamma must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            call()
