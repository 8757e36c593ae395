"""A session: the first step decides what the later ones can be worth. A story now sells more later than a discount now.

Start `holdfast serve` (`make serve`), set HOLDFAST_API_KEY to the key it prints, and run this.
"""

import random

from holdfast_client import Client

STATES = {"new": [1.0, 0.0, 0.0], "interested": [0.0, 1.0, 0.0], "gone": [0.0, 0.0, 1.0]}
ACTIONS = {"discount": [1.0, 0.0], "story": [0.0, 1.0]}
STEPS, BLOCKS, SESSIONS_PER_BLOCK = 3, 5, 40


def main() -> None:
    """Play sessions, and print what they earned in blocks."""
    dice = random.Random(7)
    with Client() as client:
        client.create_learner(
            "shop",
            kind="mdp",
            episode_length=STEPS,
            features={"kind": "dense", "context": 3, "action": 2, "joint": "outer"},
            corruption={"budget": 2},
            horizon=600,
        )
        for block in range(BLOCKS):
            earned = sum(play(client, dice) for _ in range(SESSIONS_PER_BLOCK)) / SESSIONS_PER_BLOCK
            print(f"sessions {block * 40 + 1:3d} to {(block + 1) * 40}: {earned:.3f} each")


def play(client: Client, dice: random.Random) -> float:
    """One visitor; the sum of the session's rewards, which lies in [0, 1]."""
    state, earned = "new", 0.0
    with client.episode("shop") as episode:
        for _ in range(STEPS):
            step = episode.step(STATES[state], ACTIONS)
            state, reward = react(state, step.action.id, dice)
            episode.reward(reward)
            earned += reward
        episode.finish(STATES[state])
    return earned


def react(state: str, action: str, dice: random.Random) -> tuple[str, float]:
    """The visitor's next state, and what the shop earned in this one."""
    if state == "new":
        return ("gone", 0.2) if action == "discount" else ("interested", 0.0)
    if state == "interested":
        buys = dice.random() < (0.8 if action == "discount" else 0.3)
        return "interested", 0.4 * buys
    return "gone", 0.0


if __name__ == "__main__":
    main()
