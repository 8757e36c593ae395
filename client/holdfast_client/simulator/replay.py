"""Recorded traffic through a learner: what it would have chosen, and what that is worth.

The learner decides on each row's own candidates. Where it chooses what was shown then, it gets the reward of then;
elsewhere nobody knows, and it learns nothing. Two estimates of what the learner is worth: the mean reward where both
agree (Li et al. 2011, right if the past chose at random), and, where the file has probabilities, inverse propensity
scores, Σ 1[agree]·r/p / n, and the same divided by Σ 1[agree]/p / n.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_client import Claim, Client, Decision, Question
from holdfast_client.simulator.auditor import Auditor, Violation
from holdfast_client.simulator.run import connected, is_insured, lent
from holdfast_client.simulator.traces import Row

SOURCE = "replay"


@dataclass
class Replayed:
    """What the past was worth, and what the learner would have been."""

    rows: int
    logged: float
    agreed: list[float] = field(default_factory=list)  # rewards
    inverse: list[float] = field(default_factory=list)  # 1/p of those
    has_probabilities: bool = False
    violations: list[Violation] = field(default_factory=list)

    def lines(self) -> list[str]:
        share = len(self.agreed) / self.rows
        said = [
            f"{self.rows:,} rows; the past earned {self.logged:.4f} each",
            f"the learner chose the same in {len(self.agreed):,} ({share:.1%})",
        ]
        if self.agreed:
            said.append(f"where both agree: {np.mean(self.agreed):.4f} each")
        if self.has_probabilities and self.agreed:
            weighted = np.array(self.agreed) * np.array(self.inverse)
            mean = weighted.sum() / self.rows
            variance = max(0.0, (weighted**2).sum() / self.rows - mean**2)  # rounding can leave it below 0
            said.append(f"by inverse propensity: {mean:.4f} ± {(variance / self.rows) ** 0.5:.4f}")
            said.append(f"self-normalised: {weighted.sum() / np.sum(self.inverse):.4f}")
        return said + [f"VIOLATION {kind}: {what}" for kind, what in self.violations]


def features_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Vectors as they are; everything else as named features."""
    first = rows[0]
    inner = first.actions[0].get("features")
    if isinstance(inner, list):
        context = len(first.context) if isinstance(first.context, list) else 0
        return {"kind": "dense", "context": context, "action": len(inner), "joint": "concat" if context else "action"}
    return {"kind": "json"}


def replay(url: str, rows: Sequence[Row], settings: Mapping[str, Any], batch: int) -> Replayed:
    """In the order of the file, with a learner of its own."""
    values = [row.value for row in rows]
    span = {"min": min(0.0, *values), "max": max(1.0, *values), "wait_s": 86_400, "default": None}
    described: dict[str, Any] = {"features": features_of(rows), "reward": span} | dict(settings)
    learner, auditor = f"replay-{uuid.uuid4().hex[:12]}", Auditor(is_insured(described))
    replayed = Replayed(len(rows), float(np.mean(values)))
    replayed.has_probabilities = all(row.probability for row in rows)
    with connected(url) as client, lent(client, learner, described, auditor.violations):
        for start in range(0, len(rows), batch):
            _some(client, learner, auditor, rows[start : start + batch], start, replayed)
        auditor.settle(client.log(learner))
        replayed.violations = auditor.violations
    return replayed


def _some(client: Client, learner: str, auditor: Auditor, rows: Sequence[Row], start: int, replayed: Replayed) -> None:
    questions = [_question(row, start + place) for place, row in enumerate(rows)]
    auditor.ask(question["decision_id"] for question in questions)
    made = client.decide_many(learner, questions)
    auditor.decided(made)
    agreed = [(row, decision) for row, decision in zip(rows, made, strict=True) if decision.action.id == row.chosen]
    claims = [_claim(row, decision) for row, decision in agreed]
    if claims:
        auditor.claim(claims)
        auditor.rewarded(claims, client.reward_many(learner, claims))
    replayed.agreed += [row.value for row, _ in agreed]
    replayed.inverse += [1.0 / row.probability if row.probability else 0.0 for row, _ in agreed]


def _question(row: Row, number: int) -> Question:
    return {
        "context": row.context,
        "actions": row.actions,  # type: ignore[typeddict-item]
        "decision_id": f"d-{number}",
        "ranking": "chosen",
    }


def _claim(row: Row, decision: Decision) -> Claim:
    return {"decision_id": decision.decision_id, "value": row.value, "source": SOURCE}
