"""Past the horizon: the same log under a new α.

An α that fits a longer horizon is smaller, and what was learned under the larger one would stay nearly unprotected. So
the learner is built again for twice the horizon (`MdpSpec.doubled`) and everything it ever learned is folded anew.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.learners.mdp.learner import Mdp, MdpState, Transition
from holdfast.learners.mdp.planning import adopt, refreshed, replan


def is_outgrown(mdp: Mdp[Any], state: MdpState) -> bool:
    """Whether as many episodes were learned as the learner was planned for."""
    return state.episodes >= mdp.horizon


def refold(mdp: Mdp[Any], episodes: Iterable[Sequence[Transition]]) -> MdpState:
    """The state after these episodes, in the order they were learned, planned at the end.

    Plans made in between are those that are due, on the spot; a log's own adoptions belong to the learner before.
    """
    state = mdp.init()
    for episode in episodes:
        state, _ = mdp.learn(state, episode, donate=True)
        state = refreshed(mdp, state, donate=True)
    return adopt(mdp, state, replan(mdp, state), donate=True)
