"""What a learner's mode changes, as pure functions around the learner.

- `online`: decide and learn.
- `shadow`: answer the first candidate, as the caller's own system would have, and learn from it.
- `frozen`: decide, learn nothing.
"""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from holdfast.arrays import Array, cuts
from holdfast.checks import demand_choice
from holdfast.learners.bandit import Bandit, BanditState, Info
from holdfast.learners.ranking import Decision, Decisions

Mode = Literal["online", "shadow", "frozen"]
MODES = ("online", "shadow", "frozen")


def as_mode(text: str) -> Mode:
    """A stored text as a mode."""
    demand_choice("mode", text, MODES)
    return cast(Mode, text)


def decide(
    mode: Mode, bandit: Bandit[Any], state: BanditState, options: Array, position: int, top: int = 1
) -> Decision:
    """The decision this mode answers with. In shadow mode the ranking still says what online would have done."""
    demand_choice("mode", mode, MODES)
    return answered(mode, bandit.decide(state, options, position, top))


def decide_all(
    mode: Mode,
    bandit: Bandit[Any],
    state: BanditState,
    options: Array,
    counts: Sequence[int],
    position: int,
    tops: Sequence[int],
) -> Decisions:
    """As `decide`, at successive positions, of so many rows of `options` each."""
    demand_choice("mode", mode, MODES)
    decisions = bandit.decide_all(state, options, counts, position, tops)
    return _first_of_each(decisions) if mode == "shadow" else decisions


def answered(mode: Mode, decision: Decision) -> Decision:
    """What is answered where online would answer this."""
    return _first(decision) if mode == "shadow" else decision


def update(
    mode: Mode, bandit: Bandit[Any], state: BanditState, phi: Array, reward: float, donate: bool = False
) -> tuple[BanditState, Info | None]:
    """The state after a reward; no `Info` means that nothing was learned."""
    demand_choice("mode", mode, MODES)
    if mode == "frozen":
        return state, None
    return bandit.update(state, phi, reward, donate)


def _first(decision: Decision) -> Decision:
    probability = np.zeros(len(decision.probability))
    probability[0] = 1.0
    return decision._replace(chosen=0, probability=probability)


def _first_of_each(decisions: Decisions) -> Decisions:
    probability = np.zeros(len(decisions.probability))
    probability[[start for start, _ in cuts(decisions.counts)]] = 1.0
    return decisions._replace(chosen=[0] * len(decisions.counts), probability=probability)
