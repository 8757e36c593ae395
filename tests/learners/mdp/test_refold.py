"""A horizon that is reached is doubled, and the log is folded anew."""

import numpy as np

from holdfast.learners import codec
from holdfast.learners.mdp import MdpSpec, build_mdp, fold, is_outgrown, refreshed
from tests.learners.mdp.worlds import wander, world


def test_a_refold_is_what_the_longer_learner_would_have_learned_from_the_start() -> None:
    place = world(1, states=6, length=3)
    spec = MdpSpec(dimension=5, episode_length=3, horizon=30, budget=50.0)
    short, long = build_mdp(spec), build_mdp(spec.doubled())
    episodes = list(wander(place, 30, 1))
    state, expected = short.init(), long.init()
    for episode in episodes:
        assert not is_outgrown(short, state)
        state = refreshed(short, short.learn(state, episode)[0])
        expected = refreshed(long, long.learn(expected, episode)[0])
    assert is_outgrown(short, state)
    again = fold(long, long.init(), iter(episodes))
    assert codec.encode(again) == codec.encode(expected)
    in_two_parts = fold(long, fold(long, long.init(), episodes[:17]), episodes[17:])
    assert codec.encode(in_two_parts) == codec.encode(expected)
    assert not is_outgrown(long, again)
    assert long.alpha < short.alpha
    root = (
        short.function.solve(state.models[0].function, np.eye(5)),
        long.function.solve(again.models[0].function, np.eye(5)),
    )
    assert np.linalg.eigvalsh(root[1] - root[0]).min() >= -1e-9  # every old transition weighs less
