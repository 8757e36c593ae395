"""What every function class must do. Each `check_*` runs on every case of every class (`test_contracts.py`).

A new class is added to `holdfast.functions.CLASSES` and gets two or more cases here; a test fails until it has them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from holdfast.arrays import Array
from holdfast.functions import (
    Finite,
    Fourier,
    FunctionClass,
    Kernel,
    KernelRidge,
    Linear,
    Logistic,
    Quadratic,
    Tabular,
)
from holdfast.functions.protocol import Weigh
from holdfast.learners import Bandit, BanditState, Info, codec
from holdfast.learners.weighting import weigh_with

ROUNDS = 120


@dataclass(frozen=True)
class Case:
    """One class at one setting. `linear` in its parameters: widths are monotone and the fit is linear in y."""

    name: str
    function: FunctionClass[Any]
    linear: bool = True
    order_free: bool = True  # the fit does not depend on the order of the observations

    @property
    def kind(self) -> str:
        return self.name.split(":")[0]


def _weights(seed: int, count: int, dimension: int) -> tuple[tuple[float, ...], ...]:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, dimension))
    return tuple(map(tuple, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * 0.9).tolist()))


CASES = [
    Case("linear:d3", Linear(3, ridge=0.07)),
    Case("linear:d7", Linear(7, ridge=2.5, norm=3.0)),
    Case("quadratic:d2", Quadratic(2, ridge=0.3)),
    Case("quadratic:pure", Quadratic(4, ridge=0.05, affine=False)),
    Case("fourier:rbf", Fourier(2, ridge=0.2, kernel=Kernel("rbf", 0.7), frequencies=15, seed=3)),
    Case("fourier:matern", Fourier(3, ridge=0.9, kernel=Kernel("matern", 0.4, 1.5), frequencies=22, seed=4)),
    Case("kernel:rbf", KernelRidge(2, ridge=0.3, kernel=Kernel("rbf", 0.6), core_size=90, threshold=0.01), True, False),
    Case("kernel:matern", KernelRidge(3, ridge=0.1, kernel=Kernel("matern", 0.8, 0.5), core_size=150), True, False),
    Case("kernel:full", KernelRidge(3, ridge=0.4, kernel=Kernel("matern", 0.3, 2.5), core_size=12), True, False),
    Case("logistic:d3", Logistic(3, ridge=0.05), False, False),
    Case("logistic:d5", Logistic(5, ridge=0.4, norm=6.0), False, False),
    Case("finite:n20", Finite(_weights(1, 20, 3), ridge=0.5), False),
    Case("finite:n50", Finite(_weights(2, 50, 5), ridge=2.0), False),
    Case("tabular:9", Tabular(9, ridge=0.2)),
    Case("tabular:40", Tabular(40, ridge=3.0, norm=2.0)),
]


def points(function: FunctionClass[Any], count: int, seed: int) -> Array:
    """Points in the unit ball, or cells of a table."""
    rng = np.random.default_rng(seed)
    if isinstance(function, Tabular):
        return rng.integers(function.cells, size=(count, 1)).astype(np.float64)
    vectors = rng.normal(size=(count, function.dimension))
    lengths = rng.uniform(0.3, 1.0, size=(count, 1))
    scaled: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * lengths
    return scaled


def rewards(function: FunctionClass[Any], x: Array, seed: int) -> Array:
    """Noisy values of one fixed function, in [0, 1]."""
    rng = np.random.default_rng((seed, 1))
    signal = np.sin(3.0 * x @ rng.normal(size=x.shape[1]))
    clipped: Array = np.clip(0.5 + 0.3 * signal + 0.1 * rng.normal(size=len(x)), 0.0, 1.0)
    return clipped


def folded(function: FunctionClass[Any], x: Array, y: Array, weigh: Weigh, donate: bool = False) -> Any:
    """The state after all rows, one by one."""
    state = function.init()
    for row, value in zip(x, y, strict=True):
        state, _ = function.observe(state, row, float(value), weigh, donate)
    return state


def unit_rows(rng: np.random.Generator, count: int, dimension: int) -> Array:
    """Random directions."""
    rows = rng.normal(size=(count, dimension))
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def linear_rewards(x: Array, seed: int) -> Array:
    """Noisy values of a linear function with an intercept, in [0, 1]."""
    rng = np.random.default_rng((seed, 3))
    signal = x @ unit_rows(rng, 1, x.shape[1])[0]
    clipped: Array = np.clip(0.5 + 0.4 * signal + 0.1 * rng.normal(size=len(x)), 0.0, 1.0)
    return clipped


def folded_bandit(bandit: Bandit[Any], x: Array, y: Array, donate: bool = False) -> tuple[BanditState, list[Info]]:
    """The learner's state after all rewards, one by one, and what each update reported."""
    state, infos = bandit.init(), []
    for row, value in zip(x, y, strict=True):
        state, info = bandit.update(state, row, float(value), donate)
        infos.append(info)
    return state, infos


robust = weigh_with(alpha=0.4)  # down-weights some points and not others


def _data(case: Case, seed: int = 5, count: int = ROUNDS) -> tuple[Array, Array]:
    x = points(case.function, count, seed)
    return x, rewards(case.function, x, seed)


def check_that_two_folds_give_the_same_bytes(case: Case) -> None:
    x, y = _data(case)
    first, second = (codec.encode(folded(case.function, x, y, robust)) for _ in range(2))
    assert first == second


def check_that_donating_the_state_gives_the_same_bytes(case: Case) -> None:
    x, y = _data(case)
    kept, donated = (codec.encode(folded(case.function, x, y, robust, donate)) for donate in (False, True))
    assert kept == donated


def check_that_observing_leaves_the_old_state_alone(case: Case) -> None:
    x, y = _data(case)
    state = folded(case.function, x[:-1], y[:-1], robust)
    before = codec.encode(state)
    case.function.confine(state, 0.5)
    case.function.observe(state, x[-1], float(y[-1]), robust)
    assert codec.encode(state) == before


def check_that_a_codec_round_trip_in_the_middle_changes_nothing(case: Case) -> None:
    x, y = _data(case)
    state = case.function.init()
    for index, (row, value) in enumerate(zip(x, y, strict=True)):
        if index % 40 == 20:
            state = codec.decode(codec.encode(state), like=case.function.init())
        state, _ = case.function.observe(state, row, float(value), robust)
    assert codec.encode(state) == codec.encode(folded(case.function, x, y, robust))


def check_that_rows_at_once_equal_rows_one_by_one(case: Case) -> None:
    x, y = _data(case)
    state = folded(case.function, x, y, robust)
    fresh = points(case.function, 30, seed=6)
    together = case.function.evaluate(state, fresh)
    alone = [case.function.evaluate(state, row[None, :]) for row in fresh]
    for part in (0, 1):
        np.testing.assert_allclose(together[part], [a[part][0] for a in alone], rtol=1e-10, atol=1e-13)


def check_that_an_observation_sees_what_evaluate_says(case: Case) -> None:
    x, y = _data(case)
    state = folded(case.function, x, y, robust)
    for row in points(case.function, 10, seed=7):
        mean, width = case.function.evaluate(state, row[None, :])
        _, seen = case.function.observe(state, row, 0.5, robust)
        np.testing.assert_allclose((seen.mean, seen.width), (mean[0], width[0]), rtol=1e-10, atol=1e-13)
        assert seen.weight == robust(seen.width)


def check_that_the_weight_is_asked_for_before_the_point_is_added(case: Case) -> None:
    x, y = _data(case)
    state = folded(case.function, x[:-1], y[:-1], robust)
    asked: list[float] = []
    case.function.observe(state, x[-1], float(y[-1]), lambda width: asked.append(width) or 1.0)
    np.testing.assert_allclose(asked, case.function.evaluate(state, x[-1:])[1], rtol=1e-10)


def check_that_widths_are_finite_and_not_negative(case: Case) -> None:
    x, y = _data(case)
    state = case.function.init()
    for row, value in zip(x, y, strict=True):
        _, width = case.function.evaluate(state, x)
        assert np.isfinite(width).all()
        assert (width >= 0.0).all()
        state, _ = case.function.observe(state, row, float(value), robust)


def check_that_widths_never_grow_when_data_are_added(case: Case) -> None:
    if not case.linear:
        return  # b depends on where f̂ is, and f̂ moves: see the class's own tests
    x, y = _data(case)
    state = case.function.init()
    _, before = case.function.evaluate(state, x)
    for row, value in zip(x, y, strict=True):
        state, _ = case.function.observe(state, row, float(value), robust)
        _, after = case.function.evaluate(state, x)
        # A kernel's width may grow when its core does, by what the core had left unexplained.
        slack = getattr(case.function, "threshold", 0.0)
        assert (after**2 <= before**2 * (1.0 + 1e-9) + 1e-12 + slack).all()
        before = after


def check_that_repeating_a_point_shrinks_its_width(case: Case) -> None:
    x, _ = _data(case)
    state = case.function.init()
    first = case.function.evaluate(state, x[:1])[1][0]
    for _ in range(400):
        state, _ = case.function.observe(state, x[0], 0.5, lambda width: 1.0)
    assert case.function.evaluate(state, x[:1])[1][0] < 0.25 * first + 1e-12


def check_that_complexity_grows_with_information(case: Case) -> None:
    x, y = _data(case)
    state = case.function.init()
    for row, value in zip(x, y, strict=True):
        before = case.function.log_complexity(state)
        state, seen = case.function.observe(state, row, float(value), robust)
        grown = case.function.log_complexity(state) - before
        assert grown >= -1e-12
        if case.linear and case.kind != "kernel":
            assert abs(grown - np.log1p(seen.weight * seen.width**2)) <= 1e-9  # ln det Λ grows by ln(1 + b²/σ²)


def check_that_the_potential_stays_below_the_elliptical_bound(case: Case) -> None:
    x, y = _data(case, count=4 * ROUNDS)
    state, potential = case.function.init(), 0.0
    for row, value in zip(x, y, strict=True):
        state, seen = case.function.observe(state, row, float(value), robust)
        potential += min(1.0, seen.weight * seen.width**2)  # D², def:wdim_bandit
    if isinstance(case.function, Finite):
        bound = case.function.dimension * np.log1p(len(x) * 4.0 / case.function.ridge) * 4.0
    else:
        # Σ min(1, D²) ≤ 2 ln det(Λ)/det(λI); what a kernel projected away adds at most its last threshold each.
        dropped = getattr(state, "threshold", 0.0) * len(x)
        bound = 2.0 * case.function.log_complexity(state) + dropped
    assert potential <= bound


def check_that_the_fit_finds_a_function_of_the_class(case: Case) -> None:
    x = points(case.function, 1_500, seed=8)
    truth = folded(case.function, x[:40], rewards(case.function, x[:40], seed=8), lambda width: 1.0)
    target = case.function.evaluate(truth, x)[0]
    state = folded(case.function, x, target, lambda width: 1.0, donate=True)
    assert np.abs(case.function.evaluate(state, x)[0] - target).mean() < 0.03


def check_that_the_order_of_observations_does_not_change_the_fit(case: Case) -> None:
    if not case.order_free:
        return
    x, y = _data(case)
    mixed = np.random.default_rng(9).permutation(len(x))
    one = folded(case.function, x, y, lambda width: 0.7)
    other = folded(case.function, x[mixed], y[mixed], lambda width: 0.7)
    for a, b in zip(case.function.evaluate(one, x), case.function.evaluate(other, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def check_that_weights_add_up(case: Case) -> None:
    """The same reward with weights 0.3 and 0.5 is one reward of weight 0.8."""
    if not case.order_free:
        return
    x, y = _data(case)
    start = folded(case.function, x[:-1], y[:-1], robust)
    split, _ = case.function.observe(start, x[-1], 0.9, lambda width: 0.3)
    split, _ = case.function.observe(split, x[-1], 0.9, lambda width: 0.5)
    whole, _ = case.function.observe(start, x[-1], 0.9, lambda width: 0.8)
    for a, b in zip(case.function.evaluate(split, x), case.function.evaluate(whole, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def check_the_bias_bound_against_the_worst_adversary(case: Case) -> None:
    """|f̂_corrupt(z) − f̂_clean(z)| ≤ α·ζ·b(z) for the corruption a linear program finds to be worst at z."""
    if not case.linear:
        return
    alpha, budget, count = 0.3, 4.0, 60
    x, y = _data(case, count=count)
    weigh = weigh_with(alpha)
    clean = folded(case.function, x, y, weigh)
    probes = points(case.function, 6, seed=10)
    mean, width = case.function.evaluate(clean, probes)
    influence = np.empty((count, len(probes)))  # what one unit on reward s does to f̂(z): the fit is linear in y
    for s in range(count):
        nudged = y.copy()
        nudged[s] += 1.0
        influence[s] = case.function.evaluate(folded(case.function, x, nudged, weigh), probes)[0] - mean
    for probe in range(len(probes)):
        corruption = worst_corruption(influence[:, probe], y, budget)
        corrupt = folded(case.function, x, y + corruption, weigh)
        shift = abs(case.function.evaluate(corrupt, probes[probe : probe + 1])[0][0] - mean[probe])
        assert shift <= alpha * budget * width[probe] * (1.0 + 1e-6)
        assert shift >= 0.9 * abs(influence[:, probe] @ corruption)  # the adversary did what it planned


def worst_corruption(influence: Array, y: Array, budget: float) -> Array:
    """max Σ influence·c over Σ|c| ≤ budget and corrupted rewards still in [0, 1]; c = up − down."""
    n = len(y)
    plan = linprog(
        -np.concatenate([influence, -influence]),
        A_ub=np.ones((1, 2 * n)),
        b_ub=[budget],
        bounds=[(0.0, 1.0 - v) for v in y] + [(0.0, v) for v in y],
    )
    assert plan.success
    found: Array = plan.x[:n] - plan.x[n:]
    return found


def check_the_covering_number_is_that_of_the_ball_or_the_list(case: Case) -> None:
    gamma, function = 0.01, case.function
    lipschitz = 0.25 if case.kind == "logistic" else 1.0
    ball = function.parameters * np.log(1.0 + 2.0 * function.norm * lipschitz / gamma)
    expected = np.log(len(function.candidates)) if isinstance(function, Finite) else ball
    np.testing.assert_allclose(function.log_covering(gamma), expected)


def check_that_a_state_reached_by_learning_is_sound(case: Case) -> None:
    x, y = _data(case)
    assert case.function.is_sound(case.function.init())
    assert case.function.is_sound(folded(case.function, x, y, robust))


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
