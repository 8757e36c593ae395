"""Plans: rare, made from a snapshot, adopted later, and always the same bits."""

from typing import Any

import numpy as np
import pytest

from holdfast.errors import DamagedState, MismatchedState
from holdfast.functions import Linear
from holdfast.learners import codec
from holdfast.learners.mdp import Mdp, MdpState, Plan, Transition, adopt, is_due, refreshed, replan, snapshot
from tests.learners.mdp.worlds import World, session, wander, world
from tests.oracles import AlgorithmTwo


def _mdp(place: World, **changes: Any) -> Mdp[Any]:
    settings = {"length": place.length, "alpha": 0.4, "beta": 0.15, "step_max": 1.0 / place.length, **changes}
    return Mdp(Linear(place.options[0].shape[1], ridge=0.3), **settings)


def _bytes(state: MdpState) -> bytes:
    return codec.encode(state)


def _learned(mdp: Mdp[Any], state: MdpState, episodes: list[list[Transition]]) -> MdpState:
    for episode in episodes:
        state, _ = mdp.learn(state, episode)
    return state


@pytest.mark.parametrize("stationary", [False, True])
def test_a_plan_adopted_later_gives_the_same_bits_again_and_through_the_codec(stationary: bool) -> None:
    place = world(1, states=6, length=4)
    mdp, episodes = _mdp(place, stationary=stationary), list(wander(place, 40, 1))
    at_p = _learned(mdp, mdp.init(), episodes[:20])
    plan = replan(mdp, snapshot(at_p))
    straight = _learned(mdp, adopt(mdp, _learned(mdp, at_p, episodes[20:30]), plan), episodes[30:])

    revived = codec.restore(codec.encode(at_p), mdp)
    same_plan = codec.decode(codec.encode(replan(mdp, revived)), like=replan(mdp, mdp.init()))
    for episode in episodes[20:30]:
        revived, _ = mdp.learn(codec.restore(codec.encode(revived), mdp), episode, donate=True)
    revived = adopt(mdp, revived, same_plan, donate=True)
    for episode in episodes[30:]:
        revived, _ = mdp.learn(revived, episode, donate=True)
    assert _bytes(revived) == _bytes(straight)


def test_adopting_later_gives_known_next_states_the_planned_value_and_leaves_new_ones_theirs() -> None:
    place = world(2, states=12, length=3)
    mdp, episodes = _mdp(place), list(wander(place, 12, 1))
    at_p = _learned(mdp, mdp.init(), episodes[:2])
    plan = replan(mdp, at_p)
    at_q = _learned(mdp, at_p, episodes[2:])
    after = adopt(mdp, at_q, plan)
    arrived = 0
    for before, planned, held in zip(at_q.models, plan.models, after.models, strict=True):
        known = len(planned.values)
        np.testing.assert_array_equal(held.groups.values[:known], planned.values)
        np.testing.assert_array_equal(held.groups.values[known:], before.groups.values[known:])
        np.testing.assert_array_equal(held.groups.brackets, before.groups.brackets)
        np.testing.assert_allclose(held.thetas, mdp.refitted(held).thetas, atol=1e-12)
        arrived += held.groups.size - known
    assert arrived > 0
    assert after.planned_at == 2
    assert after.episodes == 12


def test_making_a_plan_only_reads() -> None:
    place = world(2, length=3)
    mdp = _mdp(place)
    state = _learned(mdp, mdp.init(), list(wander(place, 5, 1)))
    before = _bytes(state)
    adopt(mdp, state, replan(mdp, state))
    assert _bytes(state) == before


def test_a_plan_is_worth_nothing_to_another_learner() -> None:
    place = world(2, length=3)
    mdp, shared = _mdp(place), _mdp(place, stationary=True)
    episodes = list(wander(place, 5, 1))
    plan = replan(mdp, _learned(mdp, mdp.init(), episodes))
    with pytest.raises(MismatchedState):
        adopt(mdp, mdp.init(), plan)
    with pytest.raises(MismatchedState):
        adopt(shared, _learned(shared, shared.init(), episodes), plan)
    with pytest.raises(MismatchedState):
        adopt(mdp, mdp.init(), Plan(plan.models, 0))


def test_a_plan_made_before_the_table_was_renumbered_is_dropped_and_another_is_due() -> None:
    place = world(3, states=30, actions=1, length=2, dimension=3)
    mdp = _mdp(place, numbers_max=2 * 9 * 6)
    episodes = list(wander(place, 60, 1))
    early = _learned(mdp, mdp.init(), episodes[:4])
    late = _learned(mdp, early, episodes[4:])
    assert late.models[0].groups.merges > early.models[0].groups.merges
    after = adopt(mdp, late, replan(mdp, early))
    np.testing.assert_array_equal(after.models[0].groups.values, late.models[0].groups.values)
    assert is_due(mdp, after)
    for model in late.models:
        np.testing.assert_allclose(model.thetas, mdp.refitted(model).thetas, atol=1e-9)


def test_the_fit_follows_when_next_states_of_different_values_become_one() -> None:
    place = world(3, states=60, actions=1, length=2, dimension=2)
    mdp, episodes = _mdp(place, numbers_max=2 * 7 * 25), list(wander(place, 120, 1))
    state, joined = mdp.init(), 0
    for episode in episodes:
        before = state.models[0].groups
        state, _ = mdp.learn(state, episode)
        joined += state.models[0].groups.size < before.size
        for model in state.models:
            np.testing.assert_allclose(model.thetas, mdp.refitted(model).thetas, atol=1e-9)
    assert joined > 0


def test_a_full_table_of_cells_values_what_is_new_once() -> None:
    place = world(3, states=30, actions=1, length=2, dimension=3)
    mdp = _mdp(place, numbers_max=2 * 9 * 6, divisible=False)
    state = _learned(mdp, mdp.init(), list(wander(place, 60, 1)))
    groups = state.models[0].groups
    assert groups.size * 9 <= 9 * 6
    assert groups.merges == 0
    for model in state.models:
        np.testing.assert_allclose(model.thetas, mdp.refitted(model).thetas, atol=1e-9)


@pytest.mark.parametrize(("episodes", "scale"), [(2, "what it was"), (400, "parameters")])
def test_a_plan_is_due_when_a_complexity_grew_by_a_share_of_its_parameters_or_of_what_it_was(
    episodes: int, scale: str
) -> None:
    place = world(3, length=1, dimension=5)
    mdp = _mdp(place, growth=0.25, alpha=9.0)
    state = _learned(mdp, mdp.init(), list(wander(place, episodes, 1)))
    [model] = state.models
    complexity = mdp.function.log_complexity(model.function)
    threshold = complexity - 0.25 * 5 if scale == "parameters" else complexity / 1.25
    for planned, due in ((threshold - 1e-6, True), (threshold + 1e-6, False)):
        assert is_due(mdp, state._replace(models=(model._replace(planned=planned),))) == due


def test_the_next_plan_is_counted_from_when_the_last_was_made_not_from_when_it_was_adopted() -> None:
    place = world(2, states=12, length=3)
    mdp, episodes = _mdp(place), list(wander(place, 12, 1))
    at_p = _learned(mdp, mdp.init(), episodes[:2])
    after = adopt(mdp, _learned(mdp, at_p, episodes[2:]), replan(mdp, at_p))
    made = [mdp.function.log_complexity(model.function) for model in at_p.models]
    assert [model.planned for model in after.models] == made


def test_plans_are_rare_and_values_close_to_those_of_planning_every_time() -> None:
    place = world(4, states=8, length=4, dimension=6)
    mdp = _mdp(place, growth=0.2)
    state, rng, oracle = mdp.init(), np.random.default_rng(2), None
    oracle = AlgorithmTwo(0.3, mdp.alpha, mdp.beta, [mdp.cap(h) for h in range(1, 5)], 6)
    for t in range(300):
        episode = session(place, mdp, state, rng, 10 * t)
        state = refreshed(mdp, mdp.learn(state, episode, donate=True)[0], donate=True)
        for h, phi, reward, following, _ in episode:
            oracle.learn(h, phi, reward, following)
    assert state.plans <= 60
    oracle.stage()
    ours = [mdp.value(state, h, options) for h in range(1, 5) for options in place.options]
    theirs = [oracle.value(h, options) for h in range(1, 5) for options in place.options]
    np.testing.assert_allclose(ours, theirs, atol=0.1)


def test_a_state_file_that_no_fold_reaches_is_refused() -> None:
    place = world(2, length=3)
    mdp = _mdp(place)
    state = _learned(mdp, mdp.init(), list(wander(place, 5, 1)))
    first = state.models[0]
    assert codec.restore(codec.encode(state), mdp).episodes == 5
    for groups in (
        first.groups._replace(size=99),
        first.groups._replace(starts=first.groups.starts[::-1].copy()),
        first.groups._replace(keys=first.groups.keys[:1].copy()),
        first.groups._replace(rows=first.groups.rows[:1].copy()),
    ):
        broken = state._replace(models=(first._replace(groups=groups), *state.models[1:]))
        with pytest.raises(DamagedState):
            codec.restore(codec.encode(broken), mdp)
    with pytest.raises(MismatchedState):
        codec.restore(codec.encode(state), _mdp(place, stationary=True))
