"""CR-LSVI-UCB: learners for sessions, as a fold over episodes and plans."""

from holdfast.learners.mdp.catalogue import MdpSpec, build_mdp
from holdfast.learners.mdp.earning import EpisodeRule
from holdfast.learners.mdp.learner import Mdp, MdpState, Transition, snapshot
from holdfast.learners.mdp.planning import Plan, adopt, is_due, refreshed, replan
from holdfast.learners.mdp.refold import fold, is_outgrown

__all__ = [
    "EpisodeRule",
    "Mdp",
    "MdpSpec",
    "MdpState",
    "Plan",
    "Transition",
    "adopt",
    "build_mdp",
    "fold",
    "is_due",
    "is_outgrown",
    "refreshed",
    "replan",
    "snapshot",
]
