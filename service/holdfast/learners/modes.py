"""What a learner's mode changes, as pure functions around the learner.

- `online`: decide and learn.
- `shadow`: answer the first candidate, as the caller's own system would have, and learn from it.
- `frozen`: decide, learn nothing.
"""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand_choice
from holdfast.learners.bandit import Bandit, BanditState, Info
from holdfast.learners.ranking import Decision

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
    mode: Mode, bandit: Bandit[Any], state: BanditState, options: Sequence[Array], position: int, tops: Sequence[int]
) -> list[Decision]:
    """As `decide`, at successive positions."""
    demand_choice("mode", mode, MODES)
    decisions = bandit.decide_all(state, options, position, tops)
    return [_first(decision) for decision in decisions] if mode == "shadow" else decisions


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
