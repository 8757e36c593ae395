"""CR-LSVI-UCB (Algorithm 2, alg:ucb_nonlinear_mdp) as a pure fold: decide, learn; `planning.py` has the backward pass.

| symbol  | name here | meaning |
|---------|-----------|---------|
| h       | `step`    | 1 … H, as in the paper |
| f̂^h     | `thetas`  | the weighted fit of r + f^{h+1}(x'), eqn:least_square_mdp |
| f^h     | `value`   | clip(f̂^h + βb^h, 0, cap_h), eqn:confidence_set_mdp |
| cap_h   | `cap`     | what can still be earned from step h on, of an episode's [0, 1] |

Invariants
1. θ̂^h is at all times the exact weighted fit of every transition learned, under the `values` the table of next states
   holds. A plan recomputes the values; between plans a transition is absorbed at once, with the value that its next
   state has in the table, or gets there from the fit of that moment when it is new.
2. The weight of a transition comes from its own step's Λ, just before it is added; no value and no plan enters it.
3. A transition is learned when its reward and what followed are known, and not at all otherwise: the bonus never
   shrinks before the reward is there, and nothing is made up for what was not seen.
4. A decision depends on the state, the step, the candidates and the position only.

With `stationary` there is one Λ and one table for all steps, and H fits over them: dynamics that do not depend on the
step are learned from every step. It is not in the paper.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_number, demand_whole
from holdfast.errors import DamagedState, InvalidInput
from holdfast.functions.protocol import Refittable, State
from holdfast.learners import ranking
from holdfast.learners.bandit import Info, checked_reward
from holdfast.learners.mdp import groups as tables
from holdfast.learners.mdp.groups import Groups, Limits
from holdfast.learners.ranking import Decision, Draw
from holdfast.learners.weighting import weigh_with

LENGTH_MAX = 1_000
NUMBERS_MAX = 2**23  # all tables of next states together: 64 MB
REWARD_SLACK = 1e-9


class Transition(NamedTuple):
    """One step of an episode as the log holds it.

    `following` are the candidates of the next state `(K, d)`. None means that they are not known, unless `ended` says
    that nothing follows.
    """

    step: int
    phi: Array  # (d,) of the action shown
    reward: float  # scaled so that a whole episode earns at most 1
    following: Array | None = None
    ended: bool = False


class Model(NamedTuple):
    """One regression: of one step, or of all when they share it."""

    function: Any  # Λ; its own θ̂ stays 0
    thetas: Array  # (k, m)
    settled: Array  # (k, m) Σ ψr/σ², and the part of the targets that no plan changes
    groups: Groups
    planned: float  # log-complexity when the last plan was made


class MdpState(NamedTuple):
    """What must be carried on."""

    models: tuple[Model, ...]
    episodes: int
    samples: int
    plans: int
    planned_at: int  # episodes learned when the last plan was made
    potential: float  # Σ D² over all steps


@dataclass(frozen=True)
class Mdp(Generic[State]):
    """A corruption-robust optimistic learner of sessions of `length` steps, over any class that can be refitted."""

    function: Refittable[State]
    length: int
    alpha: float
    beta: float
    horizon: int = 100_000
    stationary: bool = False
    step_max: float = 1.0  # the most one step can earn, of the episode's [0, 1]
    growth: float = 0.2
    rounding: float = 0.0
    divisible: bool = True
    numbers_max: int = NUMBERS_MAX
    seed: int = 0
    exploration_floor: float = 0.0

    def __post_init__(self) -> None:
        demand_whole("episode_length", self.length, 1, LENGTH_MAX)
        demand(self.alpha > 0.0 and 0.0 < self.beta < math.inf, "alpha and beta must be above 0")
        demand_number("step_max", self.step_max, above=0.0, most=1.0)
        demand_number("growth", self.growth, least=0.0)

    @property
    def fits(self) -> int:
        """k: how many fits one model holds."""
        return self.length if self.stationary else 1

    def cap(self, step: int) -> float:
        """cap_h: what can still be earned."""
        return min(1.0, (self.length - step + 1) * self.step_max)

    def init(self) -> MdpState:
        count = 1 if self.stationary else self.length
        return MdpState(tuple(self._empty_model() for _ in range(count)), 0, 0, 0, 0, 0.0)

    def decide(self, state: MdpState, step: int, options: Array, position: int, top: int = 1) -> Decision:
        """Rank the candidates `(K, d)` of the state at this step; nothing changes."""
        self.function.check(options)
        model, fit = self.place(step)
        held = state.models[model]
        means, widths = self.function.predict(held.function, held.thetas[fit : fit + 1], options)
        return self.rank(step, means[:, 0], self.beta * widths, position, top)

    def rank(self, step: int, mean: Array, bonus: Array, position: int, top: int = 1) -> Decision:
        """The decision that follows from means and bonuses alone: what a log needs to keep to give it again."""
        draw = Draw(self.seed, position, self.exploration_floor)
        return ranking.rank(mean, bonus, self.cap(step), draw, top)

    def value(self, state: MdpState, step: int, options: Array) -> float:
        """f^h(x) of the state with these candidates."""
        model, fit = self.place(step)
        return float(self.scores(state.models[model], model, options)[:, fit].max())

    def learn(
        self, state: MdpState, episode: Sequence[Transition], donate: bool = False
    ) -> tuple[MdpState, list[Info | None]]:
        """Learn an episode, or the part of it that is known, in the order given; None where nothing was learned.

        With `donate` the old arrays may be overwritten. A refused episode has changed nothing.
        """
        for transition in episode:
            self._check(transition)
        models = list((state if donate else snapshot(state)).models)
        infos = [self._learn(models, transition) for transition in episode]
        learned = [info for info in infos if info is not None]
        potential = state.potential + sum(info.d_squared for info in learned)
        new = state._replace(
            models=tuple(models),
            episodes=state.episodes + 1,
            samples=state.samples + len(learned),
            potential=potential,
        )
        return new, infos

    def place(self, step: int) -> tuple[int, int]:
        """Which model, and which of its fits, is the step's."""
        if not isinstance(step, int) or not 1 <= step <= self.length:
            raise InvalidInput("/step", f"must be a whole number from 1 to {self.length}")
        return (0, step - 1) if self.stationary else (step - 1, 0)

    def scores(self, held: Model, model: int, rows: Array) -> Array:
        """f^h = clip(f̂^h + βb^h, 0, cap_h) for each row of candidates and each fit of the model, `(n, k)`."""
        means, widths = self.function.predict(held.function, held.thetas, rows)
        first = 1 if self.stationary else model + 1
        caps = np.array([self.cap(first + fit) for fit in range(self.fits)])
        clipped: Array = np.clip(means + self.beta * widths[:, None], 0.0, caps)
        return clipped

    def check_state(self, state: MdpState) -> None:
        """Refuse a state of the right shape that no fold of this learner could have reached."""
        counts = (state.episodes, state.samples, state.plans, state.planned_at, state.potential)
        sound = min(counts) >= 0 and all(self._is_sound(model) for model in state.models)
        if not sound:
            raise DamagedState("the state holds numbers that no learner reaches")

    def _empty_model(self) -> Model:
        shape = (self.fits, self.function.parameters)
        groups = tables.empty(self.function.dimension, self.function.parameters, self.fits, self.rounding)
        return Model(self.function.init(), np.zeros(shape), np.zeros(shape), groups, 0.0)

    def _check(self, transition: Transition) -> None:
        self.place(transition.step)
        if checked_reward(transition.reward) > self.step_max * (1.0 + REWARD_SLACK):
            raise InvalidInput("/value", f"must be at most {self.step_max:g} of an episode")
        for x, dimensions in ((transition.phi, 1), (transition.following, 2)):
            if x is not None:
                self.function.check(x)
                if x.ndim != dimensions:
                    raise InvalidInput("/features", "one action was shown, and a state has several candidates")

    def _learn(self, models: list[Model], transition: Transition) -> Info | None:
        """One weighted regression step, in place."""
        step, phi, reward, following, ended = transition
        model, fit = self.place(step)
        ended = ended or (step == self.length and not self.stationary)
        if following is None and not ended:
            return None
        home, later = (
            (-1, np.zeros(self.fits)) if ended or following is None else self._arrive(models, model, following)
        )
        held = models[model]
        # σ² = 1 ∨ b/α, eq:weight_mdp; the class's own fit sees only zeros.
        function, (_, width, weight) = self.function.observe(held.function, phi, 0.0, weigh_with(self.alpha), True)
        held, moved = self._carried(held, function)
        psi = self.function.coordinates(function, phi)
        weighted = weight * psi
        residuals = reward + later - held.thetas.dot(psi)  # y − f̂, y = r + f^{h+1}(x')
        held.thetas[:] += np.outer(residuals, self.function.solve(function, weighted))
        if home >= 0:
            held.groups.brackets[home] += weighted
            held.settled[:] += weighted * reward
        else:
            held.settled[:] += np.outer(reward + later, weighted)
        models[model] = self.refitted(held) if moved else held
        return Info(weight, width, min(1.0, weight * width * width), float(residuals[fit]))

    def _carried(self, held: Model, function: Any) -> tuple[Model, bool]:
        """The model with its Λ after an observation, and whether that moved the coordinates its sums are kept in."""
        axes = self.function.axes(held.function, function)
        if axes is None:
            return held._replace(function=function), False
        groups = held.groups._replace(brackets=held.groups.brackets.dot(axes))
        return held._replace(function=function, settled=held.settled.dot(axes), groups=groups), True

    def _arrive(self, models: list[Model], model: int, options: Array) -> tuple[int, Array]:
        """The group of a next state, and what being there is worth to each fit `(k,)`, before this arrival is learned.

        A state that is new gets a group, in place, valued as of now; −1 if the table is full for good: then it is
        valued this once.
        """
        held, limits = models[model], Limits(self.numbers_max // len(models), self.divisible)
        home = tables.find(held.groups, options)
        if home < 0:
            groups = tables.make_room(held.groups, options, limits)
            if groups.merges != held.groups.merges:  # merged transitions share a value now
                held = models[model] = self.refitted(held._replace(groups=groups))
                home = tables.find(groups, options)
        if home >= 0:
            return home, held.groups.values[home]
        worth = self._worth(models, model, options)
        if not tables.has_room(held.groups, options, limits):
            return -1, worth
        groups = tables.append(held.groups, options)
        groups.values[groups.size - 1] = worth
        models[model] = held._replace(groups=groups)
        return groups.size - 1, worth

    def _worth(self, models: list[Model], model: int, options: Array) -> Array:
        """f^{h+1}(x') now, for each fit of the model; the step after the last is worth nothing."""
        later = model if self.stationary else model + 1
        best = self.scores(models[later], later, options).max(axis=0)
        worth: Array = np.append(best[1:], 0.0) if self.stationary else best
        return worth

    def refitted(self, held: Model) -> Model:
        """θ̂ = Λ⁻¹ Σ ψy/σ² under the values that the table holds."""
        moments = held.settled + tables.moments_of(held.groups)
        return held._replace(thetas=self.function.solve(held.function, moments))

    def _is_sound(self, model: Model) -> bool:
        groups = model.groups
        size, capacity = groups.size, len(groups.keys)
        together = capacity == len(groups.brackets) == len(groups.values) == len(groups.starts) - 1
        if not (together and 0 <= size <= capacity):
            return False
        starts = groups.starts[: size + 1]
        in_order = starts[0] == 0 and bool((np.diff(starts) > 0).all()) and starts[-1] <= len(groups.rows)
        known = groups.width >= 0.0 and groups.merges >= 0 and model.planned >= 0.0
        return bool(in_order and known and self.function.is_sound(model.function))


def snapshot(state: MdpState) -> MdpState:
    """A copy that shares no array with the state: what a plan may be made from while the state goes on."""
    copied: MdpState = _copied(state)
    return copied


def _copied(node: Any) -> Any:
    if isinstance(node, np.ndarray):
        return node.copy()
    if isinstance(node, tuple):
        children = [_copied(child) for child in node]
        return type(node)(*children) if hasattr(node, "_fields") else tuple(children)
    return node
