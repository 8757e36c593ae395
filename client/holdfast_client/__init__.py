"""The Python SDK of Holdfast: `Client` and `AsyncClient`, results and errors. What is named here is public."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast_client.bodies import Action, Actions, Claim, Features, Observation, Question
from holdfast_client.client import Client
from holdfast_client.episode import Episode
from holdfast_client.errors import (
    ConfigurationError,
    Conflict,
    Flaw,
    Forbidden,
    HoldfastError,
    InvalidRequest,
    NoAnswer,
    NotFound,
    Problem,
    RateLimited,
    Refused,
    ServerError,
    TimedOut,
    TooLarge,
    Unauthorised,
    Unavailable,
    UndeliveredRewards,
    UnexpectedAnswer,
    Unsendable,
)
from holdfast_client.models import (
    Chosen,
    Decision,
    DecisionRecord,
    Diagnostics,
    EpisodeEnd,
    Health,
    Learner,
    LogEvent,
    Observed,
    Ranked,
    Retraction,
    RewardRecord,
    RewardResult,
    Step,
    Weights,
)
from holdfast_client.outbox import Counts
from holdfast_client.retries import Retries
from holdfast_client.reward_queue import RewardQueue
from holdfast_client.version import __version__

if TYPE_CHECKING:
    from holdfast_client.async_client import AsyncClient
    from holdfast_client.async_episode import AsyncEpisode
    from holdfast_client.async_reward_queue import AsyncRewardQueue

__all__ = [
    "Action",
    "Actions",
    "AsyncClient",
    "AsyncEpisode",
    "AsyncRewardQueue",
    "Chosen",
    "Claim",
    "Client",
    "ConfigurationError",
    "Conflict",
    "Counts",
    "Decision",
    "DecisionRecord",
    "Diagnostics",
    "Episode",
    "EpisodeEnd",
    "Features",
    "Flaw",
    "Forbidden",
    "Health",
    "HoldfastError",
    "InvalidRequest",
    "Learner",
    "LogEvent",
    "NoAnswer",
    "NotFound",
    "Observation",
    "Observed",
    "Problem",
    "Question",
    "Ranked",
    "RateLimited",
    "Refused",
    "Retraction",
    "Retries",
    "RewardQueue",
    "RewardRecord",
    "RewardResult",
    "ServerError",
    "Step",
    "TimedOut",
    "TooLarge",
    "Unauthorised",
    "Unavailable",
    "UndeliveredRewards",
    "UnexpectedAnswer",
    "Unsendable",
    "Weights",
    "__version__",
]

# Imported when asked for: asyncio alone would be a quarter of the time that importing the SDK takes.
_LATER = {
    "AsyncClient": "holdfast_client.async_client",
    "AsyncEpisode": "holdfast_client.async_episode",
    "AsyncRewardQueue": "holdfast_client.async_reward_queue",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
