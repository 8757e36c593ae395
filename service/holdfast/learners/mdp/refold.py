"""Past the horizon: the same log under a new α.

An α that fits a longer horizon is smaller, and what was learned under the larger one would stay nearly unprotected. So
the learner is built again for twice the horizon (`MdpSpec.doubled`) and everything it ever learned is folded anew.
Plans in the log belong to the learner before and are passed over.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.learners.mdp.learner import Mdp, MdpState, Transition
from holdfast.learners.mdp.planning import refreshed


def is_outgrown(mdp: Mdp[Any], state: MdpState) -> bool:
    """Whether as many episodes were learned as the learner was planned for."""
    return state.episodes >= mdp.horizon


def fold(mdp: Mdp[Any], state: MdpState, episodes: Iterable[Sequence[Transition]]) -> MdpState:
    """Learn episodes in the order given, each plan made and adopted on the spot when it is due. `state` is donated.

    A part at a time gives the same bits, so that most of it can be done off the request path.
    """
    for episode in episodes:
        state, _ = mdp.learn(state, episode, donate=True)
        state = refreshed(mdp, state, donate=True)
    return state
