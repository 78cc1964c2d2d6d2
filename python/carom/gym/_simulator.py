"""A task over a batch of states: what single and many environments share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from .. import _core, _given
from ..errors import NotFiniteError
from ..state import Array, State
from ._quantities import Quantities, Snapshot
from ._task import Bools, Step, Task


class Outcome(NamedTuple):
    """What a step led to, for each of a batch."""

    snapshot: Snapshot
    observation: Array
    reward: Array
    terminated: Bools
    info: dict[str, npt.NDArray[Any]]
    diverged: dict[int, str]
    """Whose numbers have overflown, and where."""


class Simulator:
    """The engine, and the functions of a task, over batches of any size."""

    def __init__(self, task: Task, threads: int | None) -> None:
        self.task = task
        self.threads = threads
        self.model = task.loaded()
        self.quantities = Quantities(self.model, [*task.observation, *task.measure])
        self.start = self.model.state(task.start)
        self.dt = self.model.timestep * task.frame_skip
        self._center, self._half = self._range()
        size = sum(self.quantities.width(name) for name in task.observation)
        limit = task.observation_limit
        self.observation_space = gymnasium.spaces.Box(-limit, limit, (size,), np.float64)
        ends = [np.full(self.model.nu, end) for end in (-1.0, 1.0)]
        if not task.normalize_actions:
            ends = [self._center - self._half, self._center + self._half]
        low, high = (end.astype(np.float32) for end in ends)
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float32)

    def _range(self) -> tuple[Array, Array]:
        """Centre and half width of the range of each control."""
        model = self.model
        if not model.nu:
            raise ValueError(f"the model '{model.name}' has no actuators, so there is nothing that an action could do")
        unlimited = [
            model.names("actuator")[index] or f"number {index}"
            for index in range(model.nu)
            if not model.actuator_ctrllimited[index]
        ]
        if unlimited:
            listed = ", ".join(unlimited)
            raise ValueError(f"actions need a range: give ctrlrange to the actuators {listed} in the model file")
        low, high = model.actuator_ctrlrange.T
        return (low + high) / 2, (high - low) / 2

    def controls(self, actions: npt.ArrayLike, count: int) -> tuple[Array, Array]:
        """Actions as numbers, and the controls that they stand for."""
        given = _given.numbers(actions, "actions")
        if given.shape != (count, self.model.nu):
            raise ValueError(f"actions have the shape {given.shape}, expected ({count}, {self.model.nu})")
        if not np.isfinite(given).all():
            where, which = (int(index[0]) for index in np.nonzero(~np.isfinite(given)))
            raise NotFiniteError(f"action {which} of environment {where} is {given[where, which]}; has the policy diverged?")
        wanted = self._center + self._half * given if self.task.normalize_actions else given
        return given, np.clip(wanted, self._center - self._half, self._center + self._half)

    def slopes(self, actions: Array) -> Array:
        """Derivatives of controls by their actions."""
        slope = self._half if self.task.normalize_actions else np.ones_like(self._half)
        wanted = self._center + self._half * actions if self.task.normalize_actions else actions
        is_inside = np.abs(wanted - self._center) <= self._half
        return np.where(is_inside, slope, 0.0)

    def begin(self, random: list[np.random.Generator]) -> tuple[Snapshot, Array]:
        """States at the start of episodes, each with the random numbers of its own environment."""
        states = self.start.repeat(len(random))
        noise, model = self.task.reset_noise, self.model
        for state, generator in zip(states, random):
            if noise:
                tangent = generator.uniform(-noise, noise, model.nv)
                state.qpos = model.integrate_pos(state.qpos, tangent)
                state.qvel += generator.uniform(-noise, noise, model.nv)
            if self.task.reset is not None:
                self.task.reset(state, generator)
        controls = np.tile(self._center, (len(random), 1))
        snapshot, _ = self._advance(*states._rows(), controls, 0)
        return snapshot, self.observe(snapshot)

    def step(self, before: Snapshot, actions: npt.ArrayLike) -> Outcome:
        """All of a batch, one step on."""
        chosen, controls = self.controls(actions, len(before))
        after, problems = self._advance(before.rows, before.mocap, controls, self.task.frame_skip)
        diverged = {index: sentence for index, _, sentence in problems}
        for index in diverged:
            # The last state with numbers in it is where the episode ends.
            after.rows[index], after.readings[index] = before.rows[index], before.readings[index]
        step = Step(before, after, chosen, self.dt)
        reward, info = self._reward(step)
        terminated = self._terminated(step)
        terminated[list(diverged)] = True
        return Outcome(after, self.observe(after), reward, terminated, info, diverged)

    def observe(self, snapshot: Snapshot) -> Array:
        """Observations, batch × numbers."""
        limit = self.task.observation_limit
        return np.clip(self.quantities.table(snapshot, self.task.observation), -limit, limit)

    def state(self, snapshot: Snapshot) -> State:
        """The states themselves, with memory of their own."""
        mocap = snapshot.mocap.reshape(len(snapshot), self.model.nmocap, 7)
        return State(self.model._layout, snapshot.rows.copy(), mocap.copy())

    def at(self, state: State, controls: Array) -> Snapshot:
        """A snapshot of given states."""
        row, mocap = self.model._rows_of(state)
        return self._advance(row.copy(), mocap.copy(), controls, 0)[0]

    def _advance(
        self, rows: Array, mocap: Array, controls: Array, steps: int
    ) -> tuple[Snapshot, list[tuple[int, int, str]]]:
        given = controls.reshape(len(rows), 1, self.model.nu)
        quantities = self.quantities
        ends, readings, problems = _core.advance(
            self.model._native, (rows, mocap), given, steps, quantities.readings, self.threads
        )
        return Snapshot(quantities, ends, mocap, controls, readings), problems

    def _reward(self, step: Step) -> tuple[Array, dict[str, npt.NDArray[Any]]]:
        found = self.task.reward(step)
        info: dict[str, npt.NDArray[Any]] = {}
        if isinstance(found, Mapping):
            info = {f"reward_{name}": _rewards(term, step, f"the reward '{name}'") for name, term in found.items()}
            # One after the other: the same bits for a batch of any size.
            reward: Array = sum(info.values(), np.zeros(len(step)))
        else:
            reward = _rewards(found, step, "the reward")
        if self.task.info is not None:
            more = self.task.info(step)
            info.update({name: _each(one, step, f"the info '{name}'") for name, one in more.items()})
        return reward, info

    def _terminated(self, step: Step) -> Bools:
        function: Callable[[Step], Bools] | None = self.task.terminated
        if function is None:
            return np.zeros(len(step), np.bool_)
        found = _each(function(step), step, "terminated")
        if found.dtype != np.bool_ or found.ndim != 1:
            kind = f"{found.dtype} of shape {found.shape}"
            raise TypeError(f"terminated returned {kind}, not truth values; compare: np.abs(step['qpos[1]']) > 0.2")
        return found


def _rewards(found: Any, step: Step, name: str) -> Array:
    rewards = _each(found, step, name).astype(np.float64)
    if rewards.ndim != 1:
        raise ValueError(f"{name} has the shape {rewards.shape}, expected ({len(step)},); sums go over axis=-1")
    if not np.isfinite(rewards).all():
        first = int(np.nonzero(~np.isfinite(rewards))[0][0])
        raise NotFiniteError(f"{name} of environment {first} is {rewards[first]}")
    return rewards


def _each(found: Any, step: Step, name: str) -> npt.NDArray[Any]:
    """An array of one entry for each of a batch, with memory of its own."""
    array, count = np.array(found), len(step)
    if array.shape[:1] != (count,):
        advice = f"return one for each of the batch of {count}: sums over axis=-1, np.full(len(step), …) for a constant"
        raise ValueError(f"{name} has the shape {array.shape}, expected ({count},); {advice}")
    return array
