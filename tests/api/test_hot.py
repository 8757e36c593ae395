"""The hot routes, as far as no running service is needed to see it."""

from holdfast.api.hot import _observation
from holdfast.api.schemas import ActionBody, EventBody
from holdfast.features import Dense
from holdfast.store.audit import Actor


def test_of_a_warm_start_only_the_features_of_what_was_shown_are_kept() -> None:
    actions = [ActionBody(f"a{i}", [0.1 * i]) for i in range(5)]
    event = EventBody(actions, "a3", 1.0)
    kept = _observation(Dense(action=1, joint="action"), event, 0, Actor("me"))
    assert kept.phi.tolist() == [0.1 * 3]
    assert kept.phi.base is None  # nothing larger stays for its sake
