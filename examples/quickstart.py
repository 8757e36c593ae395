"""Five minutes with Holdfast: which headline for which reader? It starts without knowing; the clicks show it learn.

Start `holdfast serve` (`make serve`), set HOLDFAST_API_KEY to the key it prints, and run this.
"""

import random

from holdfast_client import Client

READERS = {"fan": [1.0, 0.0], "critic": [0.0, 1.0]}
HEADLINES = {"sport": [1.0, 0.0, 0.0], "opera": [0.0, 1.0, 0.0], "weather": [0.0, 0.0, 1.0]}
# What nobody tells the learner: how likely each reader clicks on each headline.
CLICK_RATES = {
    "fan": {"sport": 0.8, "opera": 0.1, "weather": 0.3},
    "critic": {"sport": 0.1, "opera": 0.7, "weather": 0.3},
}
BLOCKS, READERS_PER_BLOCK = 5, 100


def main() -> None:
    """Show headlines, report clicks, and count them in blocks."""
    dice = random.Random(7)
    with Client() as client:
        client.create_learner(
            "headlines",
            features={"kind": "dense", "context": 2, "action": 3, "joint": "outer"},
            corruption={"budget": 2},  # insured against two fully forged clicks
            horizon=500,
        )
        for block in range(BLOCKS):
            clicks = sum(show_one(client, dice) for _ in range(READERS_PER_BLOCK))
            print(f"readers {block * 100 + 1:3d} to {(block + 1) * 100}: {clicks} clicks")
        for reader, context in READERS.items():
            best = client.decide("headlines", HEADLINES, context).action.id
            print(f"for a {reader}: {best}")


def show_one(client: Client, dice: random.Random) -> bool:
    """One reader comes, sees a headline, and clicks or not."""
    reader = dice.choice(list(READERS))
    decision = client.decide("headlines", HEADLINES, READERS[reader], default_action="weather")
    clicked = dice.random() < CLICK_RATES[reader][decision.action.id]
    client.reward("headlines", decision, float(clicked))
    return clicked


if __name__ == "__main__":
    main()
