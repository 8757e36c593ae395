from typing import Any

import numpy as np
import pytest

from holdfast.arrays import cuts
from holdfast.errors import InvalidConfiguration
from holdfast.learners import BanditSpec, build_bandit, codec, modes

BANDIT = build_bandit(BanditSpec(dimension=3, budget=0, noise=0.05))


def _learned() -> object:
    state = BANDIT.init()
    for _ in range(40):
        for index, value in enumerate((0.1, 0.9, 0.4)):
            state, _ = BANDIT.update(state, np.eye(3)[index], value)
    return state


STATE = _learned()


def test_online_answers_and_learns_as_the_learner_does() -> None:
    assert modes.decide("online", BANDIT, STATE, np.eye(3), 7).chosen == 1
    state, info = modes.update("online", BANDIT, STATE, np.eye(3)[0], 0.5)
    assert info is not None
    assert state.rounds == STATE.rounds + 1


def test_shadow_answers_the_first_and_still_says_what_it_would_prefer() -> None:
    decision = modes.decide("shadow", BANDIT, STATE, np.eye(3), 7)
    assert decision.chosen == 0
    assert decision.probability.tolist() == [1.0, 0.0, 0.0]
    assert decision.order[0] == 1


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("counts", [[3, 3, 3], [2, 3, 1]])
def test_many_decisions_at_once_are_those_made_one_by_one_in_every_mode(mode: modes.Mode, counts: list[int]) -> None:
    options = np.random.default_rng(3).uniform(-0.5, 0.5, (sum(counts), 3))
    together = modes.decide_all(mode, BANDIT, STATE, options, counts, 7, [1, 1, 1]).rankings()
    for place, (start, end) in enumerate(cuts(counts)):
        alone = modes.decide(mode, BANDIT, STATE, options[start:end], 7 + place).ranking()
        assert together[place][:2] == alone[:2]
        assert together[place].probability == alone.probability


def test_shadow_learns_from_what_was_shown() -> None:
    state, info = modes.update("shadow", BANDIT, STATE, np.eye(3)[0], 0.5)
    assert info is not None
    assert state.rounds == STATE.rounds + 1


@pytest.mark.parametrize("mode", ["Frozen", "off", None])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    with pytest.raises(InvalidConfiguration):
        modes.decide(mode, BANDIT, STATE, np.eye(3), 7)
    with pytest.raises(InvalidConfiguration):
        modes.update(mode, BANDIT, STATE, np.eye(3)[0], 0.5)


def test_frozen_decides_but_learns_nothing() -> None:
    before = codec.encode(STATE)
    assert modes.decide("frozen", BANDIT, STATE, np.eye(3), 7).chosen == 1
    state, info = modes.update("frozen", BANDIT, STATE, np.eye(3)[0], 0.5, donate=True)
    assert info is None
    assert codec.encode(state) == before
