"""Environments that look like somebody's product: users in segments as JSON, and real data (handwritten digits)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from holdfast_client.simulator.problems import Array, Round, click, dense

SEGMENTS = ("student", "parent", "retired", "night owl")
DEVICES = ("phone", "desktop")
TOPICS = ("news", "sport", "opera", "cooking", "travel", "games")
SIDE = 8  # pixels
INK = "0123456789abcdefg"  # 0 to 16


@dataclass
class Segments:
    """Users in segments on devices, items with topics, all as named features; every segment has tastes of its own."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 15))
        self._taste = self._rng.uniform(0.1, 0.7, size=(len(SEGMENTS), len(TOPICS)))

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": {"kind": "json", "dimension": 64}}

    def round(self, t: int) -> Round:
        segment, device = int(self._rng.integers(len(SEGMENTS))), int(self._rng.integers(len(DEVICES)))
        context = {"segment": SEGMENTS[segment], "device": DEVICES[device]}
        options = [{"topic": topic} for topic in TOPICS]
        return Round(options, self._taste[segment] + 0.1 * device, context=context, ids=TOPICS)

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return click(rng, round_.means[chosen])


@cache
def digits() -> tuple[Array, Array]:
    """The bundled digits: (n, 64) pixels in [0, 1] and (n,) labels.

    >>> pixels, labels = digits()
    >>> pixels.shape, sorted(set(labels.tolist()))
    ((1000, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    lines = files(__package__).joinpath("digits.txt").read_text(encoding="ascii").split("\n")
    rows = [line for line in lines if line and not line.startswith("#")]
    pixels = np.array([[INK.index(ink) for ink in row[2:]] for row in rows]) / (len(INK) - 1)
    return pixels, np.array([int(row[0]) for row in rows], dtype=np.int64)


@dataclass
class Digits:
    """Which digit is this? Real images, one guess each, and only the answer right or wrong."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        pixels, self._labels = digits()
        blocks = pixels.reshape(-1, SIDE // 2, 2, SIDE // 2, 2).mean(axis=(2, 4)).reshape(len(pixels), -1)
        self._contexts = np.hstack([blocks / np.linalg.norm(blocks, axis=1, keepdims=True), np.ones((len(blocks), 1))])
        self._contexts /= np.sqrt(2.0)
        self._rng = np.random.default_rng((self.seed, 16))

    @property
    def learner(self) -> Mapping[str, Any]:
        names = [str(digit) for digit in range(10)]
        return {"features": dense(0, self._contexts.shape[1], "disjoint", actions=names)}

    def round(self, t: int) -> Round:
        row = int(self._rng.integers(len(self._labels)))
        means = (np.arange(10) == self._labels[row]).astype(np.float64)
        context = self._contexts[row].tolist()
        return Round([None] * 10, means, context=context, ids=[str(digit) for digit in range(10)])

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return float(round_.means[chosen])
