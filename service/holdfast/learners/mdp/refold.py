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


def fold(mdp: Mdp[Any], state: MdpState, episodes: Iterable[Sequence[Transition]]) -> MdpState:
    """Learn episodes in the order given, each plan made and adopted on the spot when it is due. `state` is donated."""
    for episode in episodes:
        state, _ = mdp.learn(state, episode, donate=True)
        state = refreshed(mdp, state, donate=True)
    return state


def refold(mdp: Mdp[Any], episodes: Iterable[Sequence[Transition]]) -> MdpState:
    """The state after these episodes, in the order they were learned, planned once more at the end.

    Adoptions in the log belong to the learner before and are passed over. Most of it can be folded beforehand, off the
    request path: `fold` up to some position, then the rest, then a last plan, gives the same bits.
    """
    state = fold(mdp, mdp.init(), episodes)
    return adopt(mdp, state, replan(mdp, state), donate=True)
