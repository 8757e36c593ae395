"""CR-LSVI-UCB against a transcription of Algorithm 2, the bandit, a table, and its own invariants."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidInput
from holdfast.functions import Fourier, Kernel, KernelRidge, Linear, Quadratic, StableKernel, Tabular
from holdfast.learners import Bandit
from holdfast.learners.mdp import Mdp, MdpState, Transition, refreshed
from holdfast.learners.noise import GivenNoise
from holdfast.learners.radius import Confidence
from tests.learners.mdp.worlds import World, one_hot, session, wander, world
from tests.oracles import AlgorithmTwo

RIDGE, ALPHA, BETA = 0.3, 0.4, 0.15  # a larger β puts nearly every value at the cap, where nothing can differ


def _mdp(place: World, **changes: Any) -> Mdp[Any]:
    linear = Linear(place.options[0].shape[1], ridge=RIDGE)
    settings = {"function": linear, "length": place.length, "alpha": ALPHA, "beta": BETA, "growth": 0.0, "seed": 3}
    return Mdp(**{**settings, "step_max": 1.0 / place.length, **changes})


def _oracle(mdp: Mdp[Any]) -> AlgorithmTwo:
    caps = [mdp.cap(h) for h in range(1, mdp.length + 1)]
    return AlgorithmTwo(mdp.function.ridge, mdp.alpha, mdp.beta, caps, mdp.function.dimension, mdp.stationary)


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_equals_a_transcription_of_algorithm_2(seed: int, stationary: bool) -> None:
    place = world(seed, states=4 + seed % 2, actions=3, length=2 + seed, dimension=4 + seed)
    mdp = _mdp(place, stationary=stationary)
    oracle, state, rng, capped = _oracle(mdp), mdp.init(), np.random.default_rng(seed), []
    for t in range(25):
        episode = session(place, mdp, state, rng, 100 * t)
        state, infos = mdp.learn(state, episode, donate=True)
        state = refreshed(mdp, state, donate=True)
        for (h, phi, reward, following, _), info in zip(episode, infos, strict=True):
            assert info is not None
            assert 1.0 / info.weight == pytest.approx(oracle.learn(h, phi, reward, following), rel=1e-8)
        oracle.stage()
        for h in range(1, mdp.length + 1):
            ours = [mdp.value(state, h, options) for options in place.options]
            np.testing.assert_allclose(ours, [oracle.value(h, o) for o in place.options], rtol=0.0, atol=1e-8)
            capped += [value == mdp.cap(h) for value in ours]
    assert state.plans == 25
    assert np.mean(capped) < 0.3


@pytest.mark.parametrize("stationary", [False, True])
def test_a_table_is_linear_on_one_hot_features(stationary: bool) -> None:
    numbered = world(5, states=5, length=4, dimension=None)
    unit = one_hot(numbered)
    cells = unit.options[0].shape[1]
    table = _mdp(numbered, function=Tabular(cells, ridge=RIDGE), stationary=stationary, divisible=False)
    linear = _mdp(unit, function=Linear(cells, ridge=RIDGE), stationary=stationary)
    one, other = table.init(), linear.init()
    for mine, theirs in zip(wander(numbered, 30, 2), wander(unit, 30, 2), strict=True):
        one, other = refreshed(table, table.learn(one, mine)[0]), refreshed(linear, linear.learn(other, theirs)[0])
        for h in range(1, 5):
            for x in range(5):
                a, b = numbered.options[x], unit.options[x]
                assert table.value(one, h, a) == pytest.approx(linear.value(other, h, b), abs=1e-10)
                assert table.decide(one, h, a, x).chosen == linear.decide(other, h, b, x).chosen


@dataclass(frozen=True)
class _Given:
    """A radius for the bandit that never changes, as the MDP's."""

    budget: float = 1.0

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        return Confidence(ALPHA, BETA)


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_an_episode_of_one_step_is_the_bandit(stationary: bool, floor: float) -> None:
    place = world(7, states=6, actions=5, length=1, dimension=3)
    mdp = _mdp(place, stationary=stationary, growth=0.2, exploration_floor=floor)
    bandit = Bandit(mdp.function, _Given(), GivenNoise(0.1), seed=mdp.seed, exploration_floor=floor)
    ours, theirs, rng = mdp.init(), bandit.init(), np.random.default_rng(1)
    for t in range(200):
        options = place.options[int(rng.integers(6))]
        decision, expected = mdp.decide(ours, 1, options, t), bandit.decide(theirs, options, t)
        assert decision.chosen == expected.chosen
        np.testing.assert_array_equal(decision.bonus, expected.bonus)
        np.testing.assert_allclose(decision.mean, expected.mean, atol=1e-12)
        reward = float(rng.random())
        chosen = options[decision.chosen]
        theirs, told = bandit.update(theirs, chosen, reward)
        ours, (info,) = mdp.learn(ours, [Transition(1, chosen, reward, ended=True)])
        ours = refreshed(mdp, ours)
        assert info is not None
        assert (info.weight, info.uncertainty, info.d_squared) == (told.weight, told.uncertainty, told.d_squared)
    assert ours.potential == pytest.approx(theirs.potential)


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("growth", [0.0, 0.2, 1e6])
def test_the_fit_is_at_all_times_that_of_all_transitions_under_the_values_of_the_table(
    stationary: bool, growth: float
) -> None:
    place = world(11, length=3, dimension=4)
    mdp = _mdp(place, stationary=stationary, growth=growth)
    state, rng = mdp.init(), np.random.default_rng(0)
    for t in range(40):
        state, _ = mdp.learn(state, session(place, mdp, state, rng, 10 * t), donate=True)
        state = refreshed(mdp, state, donate=True)
        for model in state.models:
            np.testing.assert_allclose(model.thetas, mdp.refitted(model).thetas, atol=1e-10)
    assert (growth < 1e6) == (state.plans > 1)


@pytest.mark.parametrize("stationary", [False, True])
def test_a_next_state_that_is_new_is_worth_what_the_step_after_makes_of_it_at_that_moment(stationary: bool) -> None:
    place = world(11, states=12, length=3, dimension=4)
    mdp = _mdp(place, stationary=stationary, growth=1e6)
    state, arrived = mdp.init(), 0
    for episode in wander(place, 30, 2):
        for transition in episode:
            model, _ = mdp.place(transition.step)
            before, known = state, state.models[model].groups.size
            state, _ = mdp.learn(state, [transition])
            if state.models[model].groups.size == known:
                continue
            arrived += 1
            assert transition.following is not None
            steps = range(1, 4) if stationary else [transition.step]
            worth = [mdp.value(before, h + 1, transition.following) if h < 3 else 0.0 for h in steps]
            np.testing.assert_allclose(state.models[model].groups.values[known], worth, atol=1e-12)
    assert arrived > 5


def test_a_linear_kernel_is_the_linear_class() -> None:
    place = world(5, states=6, length=3, dimension=4)
    linear = _mdp(place)
    kernel = _mdp(place, function=KernelRidge(4, ridge=RIDGE, kernel=Kernel("linear"), core_size=10, threshold=1e-9))
    one, other = linear.init(), kernel.init()
    for episode in wander(place, 25, 3):
        one, other = (
            refreshed(linear, linear.learn(one, episode)[0]),
            refreshed(kernel, kernel.learn(other, episode)[0]),
        )
    for h in (1, 2, 3):
        for options in place.options:
            assert kernel.value(other, h, options) == pytest.approx(linear.value(one, h, options), abs=1e-6)


@pytest.mark.parametrize("stationary", [False, True])
def test_a_kernel_that_thins_its_points_carries_its_sums_along(stationary: bool) -> None:
    place = world(9, states=12, length=3, dimension=3)
    fit = KernelRidge(3, ridge=RIDGE, kernel=Kernel("rbf", 0.8), core_size=8, threshold=1e-3)
    mdp = _mdp(place, function=StableKernel(fit, 30), stationary=stationary, growth=0.2)
    state, thinned = mdp.init(), 0
    for episode in wander(place, 40, 3):
        before = state.models[0].function.inducing.threshold
        state = refreshed(mdp, mdp.learn(state, episode, donate=True)[0], donate=True)
        for model in state.models:
            np.testing.assert_allclose(model.thetas, mdp.refitted(model).thetas, atol=1e-8)
        thinned += state.models[0].function.inducing.threshold > before
    assert thinned > 0


def test_the_weight_of_a_transition_comes_from_before_it_and_bounds_its_pull() -> None:
    place = world(1, length=3)
    mdp = _mdp(place)
    state = mdp.init()
    for episode in wander(place, 30, 1):
        for transition in episode:
            held = state.models[transition.step - 1]
            before = float(mdp.function.evaluate(held.function, transition.phi[None, :])[1][0])
            state, (info,) = mdp.learn(state, [transition])
            assert info is not None
            assert info.uncertainty == pytest.approx(before, rel=1e-12)
            assert info.weight == pytest.approx(1.0 / max(1.0, before / ALPHA), rel=1e-12)
            assert info.weight * before <= ALPHA * (1.0 + 1e-12)


def test_no_value_enters_a_weight() -> None:
    """However the rewards and the plans fall, Λ is the same."""
    place = world(2, length=3)
    often, never = _mdp(place, growth=0.0), _mdp(place, growth=1e9)
    one, other = often.init(), never.init()
    for episode in wander(place, 20, 5):
        one = refreshed(often, often.learn(one, episode)[0])
        other = refreshed(never, never.learn(other, [t._replace(reward=0.0) for t in episode])[0])
    for mine, theirs in zip(one.models, other.models, strict=True):
        np.testing.assert_array_equal(mine.function.root, theirs.function.root)


def test_nothing_is_worth_more_than_can_still_be_earned() -> None:
    place = world(3, length=4)
    mdp = _mdp(place)
    assert [mdp.cap(h) for h in (1, 2, 3, 4)] == pytest.approx([1.0, 0.75, 0.5, 0.25])
    assert [replace(mdp, step_max=0.4).cap(h) for h in (1, 2, 3, 4)] == pytest.approx([1.0, 1.0, 0.8, 0.4])
    state = mdp.init()
    for episode in wander(place, 10, 1):
        for h in (1, 2, 3, 4):
            assert all(mdp.value(state, h, options) <= mdp.cap(h) for options in place.options)
            assert mdp.decide(state, h, place.options[0], 0).score.max() <= mdp.cap(h)
        state = refreshed(mdp, mdp.learn(state, episode)[0])


@pytest.mark.parametrize("stationary", [False, True])
def test_an_unseen_state_starts_at_the_cap_when_the_ridge_is_the_square_of_the_radius(stationary: bool) -> None:
    place = world(3, length=4)
    mdp = _mdp(place, function=Linear(5, ridge=0.05**2), beta=0.05, stationary=stationary)
    unit = np.eye(5)
    assert [mdp.value(mdp.init(), h, unit) for h in (1, 2, 3, 4)] == pytest.approx([1.0, 0.75, 0.5, 0.25])


def test_it_is_optimistic() -> None:
    """With a radius that covers the noise, f^h is above the true best value on the whole of an honest run."""
    numbered = world(8, states=4, length=3, dimension=None)
    best, cells = numbered.best_values(), 1 + int(max(rows.max() for rows in numbered.options))
    mdp = _mdp(numbered, function=Tabular(cells, ridge=0.25), beta=0.5, alpha=0.5, divisible=False)
    state, rng, lowest = mdp.init(), np.random.default_rng(4), math.inf
    for t in range(300):
        state = refreshed(
            mdp, mdp.learn(state, session(numbered, mdp, state, rng, 10 * t), donate=True)[0], donate=True
        )
        for h in (1, 2, 3):
            margins = [mdp.value(state, h, numbered.options[x]) - best[h - 1, x] for x in range(4)]
            lowest = min(lowest, *margins)
    assert lowest >= 0.0
    assert mdp.value(state, 1, numbered.options[0]) < 1.0  # and it has learned something


def test_what_is_not_known_is_left_out_and_no_bonus_shrinks_for_it() -> None:
    place = world(4, length=3)
    mdp = _mdp(place)
    (first, second, third), *_ = wander(place, 1, 1)
    state, infos = mdp.learn(mdp.init(), [first, second._replace(following=None)])
    assert infos[0] is not None
    assert infos[1] is None
    assert state.samples == 1
    untouched = mdp.init().models[1]
    np.testing.assert_array_equal(state.models[1].function.root, untouched.function.root)
    state, (ended, last) = mdp.learn(
        state, [second._replace(following=None, ended=True), third._replace(following=None)]
    )
    assert ended is not None  # an early end is known to earn nothing more
    assert last is not None  # nothing follows the last step, whatever is known of it
    assert state.samples == 3


def test_a_shared_model_needs_to_know_what_follows_the_last_step() -> None:
    place = world(4, length=3)
    mdp = _mdp(place, stationary=True)
    *_, last = next(wander(place, 1, 1))
    assert mdp.learn(mdp.init(), [last._replace(following=None)])[1] == [None]
    assert mdp.learn(mdp.init(), [last])[1] != [None]
    assert mdp.learn(mdp.init(), [last._replace(following=None, ended=True)])[1] != [None]


@pytest.mark.parametrize(
    "function", [Linear(5, ridge=0.1), Quadratic(5, ridge=0.1), Fourier(5, ridge=0.1, frequencies=8)]
)
def test_the_same_updates_give_the_same_bits_donated_or_not(function: Any) -> None:
    place = world(6, length=3)
    mdp = _mdp(place, function=function, growth=0.2)
    assert _folded(mdp, place, donate=False) == _folded(mdp, place, donate=True)


def _folded(mdp: Mdp[Any], place: World, donate: bool) -> list[bytes]:
    state = mdp.init()
    for episode in wander(place, 25, 9):
        state = refreshed(mdp, mdp.learn(state, episode, donate)[0], donate)
    return [array.tobytes() for array in arrays(state)]


def arrays(node: Any) -> list[Any]:
    if isinstance(node, tuple):
        return [leaf for child in node for leaf in arrays(child)]
    return [np.asarray(node)]


def test_a_state_that_was_not_donated_is_left_alone() -> None:
    place = world(6, length=3)
    mdp = _mdp(place)
    episodes = list(wander(place, 4, 9))
    state = _after(mdp, episodes[:3])
    before = [array.tobytes() for array in arrays(state)]
    refreshed(mdp, mdp.learn(state, episodes[3])[0])
    assert [array.tobytes() for array in arrays(state)] == before


def _after(mdp: Mdp[Any], episodes: list[list[Transition]]) -> MdpState:
    state = mdp.init()
    for episode in episodes:
        state = refreshed(mdp, mdp.learn(state, episode)[0])
    return state


def test_ties_at_the_cap_are_settled_by_the_seed_and_the_position() -> None:
    mdp = Mdp(Linear(4, ridge=0.05**2), 2, alpha=0.1, beta=0.05, seed=5)
    chosen = [mdp.decide(mdp.init(), 1, np.eye(4), position).chosen for position in range(60)]
    assert set(chosen) == {0, 1, 2, 3}
    assert chosen == [mdp.decide(mdp.init(), 1, np.eye(4), position).chosen for position in range(60)]
    assert chosen != [replace(mdp, seed=6).decide(mdp.init(), 1, np.eye(4), position).chosen for position in range(60)]


@pytest.mark.parametrize(
    "changes",
    [
        {"step": 0},
        {"step": 4},
        {"step": True + 0.5},
        {"reward": 0.5},
        {"reward": math.nan},
        {"reward": -0.1},
        {"phi": np.ones(5)},
        {"phi": np.zeros((1, 5))},
        {"following": np.zeros(5)},
        {"following": np.full((2, 5), math.nan)},
        {"following": np.zeros((0, 5))},
    ],
    ids=str,
)
def test_a_refused_episode_has_changed_nothing(changes: dict[str, Any]) -> None:
    place = world(6, length=3)
    mdp = _mdp(place)
    first, second, third = next(wander(place, 1, 3))
    state = _after(mdp, [[first, second, third]])
    before = [array.tobytes() for array in arrays(state)]
    with pytest.raises(InvalidInput):
        mdp.learn(state, [first, second, third._replace(**changes)], donate=True)
    assert [array.tobytes() for array in arrays(state)] == before
