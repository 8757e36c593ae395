"""A learner of sessions in memory: the fold of episodes, plans and horizons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from holdfast.errors import UnusableState
from holdfast.hosting.blueprint import SessionBlueprint
from holdfast.hosting.live import LiveLearner, Tally
from holdfast.hosting.sessions import folding
from holdfast.hosting.sessions.records import HorizonRecord, LearnedRecord, StepRewardRecord, unpack
from holdfast.learners import codec
from holdfast.learners.mdp import Mdp, MdpState, Plan, Transition, adopt, is_due, is_outgrown, replan
from holdfast.store import snapshots
from holdfast.store.database import Connection
from holdfast.store.log import Event


@dataclass
class SessionTally(Tally):
    """What the log of a learner of sessions adds up to. `decisions` are steps, and so is whatever was learned."""

    horizon: int = 0
    episodes: int = 0  # begun
    closed: int = 0
    timed_out: int = 0
    left_out: int = 0  # steps of closed episodes of which something was not known
    settled: int = 0  # rewards whose episode was closed


def fresh_tally(blueprint: SessionBlueprint) -> SessionTally:
    return SessionTally(horizon=blueprint.spec.horizon)


@dataclass
class LiveSessions(LiveLearner):
    """A learner of episodes. `mdp` is the blueprint's, at the horizon that the log has reached."""

    kind: ClassVar[str] = "mdp"
    settled_at_once: ClassVar[int] = 20

    blueprint: SessionBlueprint
    state: MdpState
    tally: SessionTally = field(default_factory=SessionTally)
    mdp: Mdp[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.mdp = self.blueprint.at(self.tally.horizon)

    def redraw(self, spec: str) -> None:
        super().redraw(spec)
        self.mdp = self.blueprint.at(self.tally.horizon)

    def restore(self, state: bytes, tally: str) -> None:
        told = SessionTally.from_json(tally)
        mdp = self.blueprint.at(told.horizon)
        self.state, self.tally, self.mdp = codec.restore(state, mdp), told, mdp

    def bring(self, state: bytes) -> None:
        self.state = codec.restore(state, self.mdp)

    def learn(self, transitions: Sequence[Transition]) -> list[float]:
        """Fold what is known of one episode in; the weight of each transition."""
        if not transitions:
            return []
        self.state, infos = self.mdp.learn(self.state, transitions, donate=True)
        weights = [info.weight for info in infos if info is not None]
        for weight in weights:
            self.tally.weigh(weight)
        return weights

    def close(self, record: LearnedRecord) -> None:
        """Count the end of an episode."""
        tally = self.tally
        tally.closed += 1
        tally.timed_out += record.reason == "timeout"
        tally.learned += len(record.steps) - len(record.defaulted)
        tally.defaulted += len(record.defaulted)
        tally.left_out += record.taken - len(record.steps)
        tally.settled += record.told

    def adopt(self, plan: Plan) -> None:
        self.state = adopt(self.mdp, self.state, plan, donate=True)

    def extend(self, horizon: int, state: MdpState) -> None:
        """Go on with a state that was folded for this horizon."""
        self.tally.horizon = horizon
        self.mdp = self.blueprint.at(horizon)
        self.state = state

    def next_events(self, connection: Connection) -> list[tuple[Event, list[Event]]]:
        return folding.page(connection, self.id, self.position)

    def apply(self, connection: Connection, event: Event, related: list[Event]) -> None:
        if event.kind == "episode":
            self.tally.episodes += 1
        elif event.kind == "step":
            self.tally.decisions += 1
        elif event.kind == "reward":
            self.tally.count(unpack(event.payload, StepRewardRecord).outcome)
        elif event.kind == "learned":
            self.learn(folding.taught(event, related))
            self.close(unpack(event.payload, LearnedRecord))
        elif event.kind == "plan":
            self.adopt(decode_plan(self.mdp, event.payload))
        elif event.kind == "horizon":
            self._replay_horizon(connection, event)
        elif event.kind == "import":
            self.bring(event.payload)

    def _replay_horizon(self, connection: Connection, event: Event) -> None:
        """From the snapshot that was saved with the event, or by folding everything before it once more."""
        for snapshot in snapshots.newest(connection, self.id):
            if snapshot.position == event.position and snapshot.is_intact:
                try:
                    return self.restore(snapshot.state, snapshot.tally)
                except UnusableState:
                    break
        record = unpack(event.payload, HorizonRecord)
        mdp = self.blueprint.at(record.horizon)
        planned = folding.fold(connection, self.id, mdp, folding.nothing(mdp), record.folded_to, with_plans=True)
        rest = folding.fold(connection, self.id, mdp, planned, event.position - 1, with_plans=False)
        return self.extend(record.horizon, rest.state)

    def numbers(self) -> dict[str, Any]:
        state, tally, mdp = self.state, self.tally, self.mdp
        return {
            "rounds": state.episodes,
            "alpha": None if mdp.alpha == float("inf") else mdp.alpha,
            "beta": mdp.beta,
            "budget": self.blueprint.budget_at(tally.horizon),
            "eluder_potential": state.potential,
            "noise": None,
            "horizon": tally.horizon,
            "episodes": {
                "begun": tally.episodes,
                "open": tally.episodes - tally.closed,
                "learned": state.episodes,
                "timed_out": tally.timed_out,
                "steps_left_out": tally.left_out,
            },
            "samples": state.samples,
            "plans": {
                "adopted": state.plans,
                "planned_at": state.planned_at,
                "is_due": is_due(mdp, state),
                "is_outgrown": is_outgrown(mdp, state),
            },
            "next_states": [model.groups.size for model in state.models],
        }

    def rewards(self) -> dict[str, int]:
        return super().rewards() | {"pending": self.tally.pending - self.tally.settled}


def decode_plan(mdp: Mdp[Any], payload: bytes) -> Plan:
    """A plan as the log holds it."""
    return codec.decode(payload, like=replan(mdp, mdp.init()))
