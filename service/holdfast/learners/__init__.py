"""Pure learners: a learner is a fold over a log. No I/O, no clock, no global randomness."""

from holdfast.learners.bandit import Bandit, BanditState, Info
from holdfast.learners.catalogue import BanditSpec, build_bandit
from holdfast.learners.ranking import Decision

__all__ = ["Bandit", "BanditSpec", "BanditState", "Decision", "Info", "build_bandit"]
