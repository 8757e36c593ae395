"""Pure learners: a learner is a fold over a log. No I/O, no clock, no global randomness."""

from holdfast.learners.bandit import Bandit, BanditState, Info
from holdfast.learners.catalogue import BanditSpec, build_bandit
from holdfast.learners.ranking import Decision, Decisions, Ranking

__all__ = ["Bandit", "BanditSpec", "BanditState", "Decision", "Decisions", "Info", "Ranking", "build_bandit"]
