"""One environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from ..model import Model, Path
from ..state import Array, State
from ._quantities import Snapshot
from ._segment import Segment
from ._simulator import Simulator
from ._task import Task, task_of

Actions = npt.NDArray[np.float32]


class Env(gymnasium.Env[Array, Actions]):
    """A Gymnasium environment of a model.

    >>> import carom.gym, numpy as np
    >>> env = carom.gym.Env(
    ...     "models/cartpole.xml",
    ...     observation=["qpos", "qvel"],
    ...     reward=lambda step: np.cos(step["joint.hinge.qpos"]),
    ...     reset_noise=0.1,
    ...     frame_skip=2,
    ...     max_episode_steps=100,
    ... )
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape, terminated, truncated
    ((4,), False, False)

    Settings are those of :class:`carom.gym.Task`, which can be given instead of a model. A simulation whose numbers
    overflow ends its episode at the last state that is finite, and ``info["diverged"]`` says what happened.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: Task | Model | Path, *, render_mode: None = None, **settings: Any) -> None:
        if render_mode is not None:
            raise ValueError(f"there is no render mode '{render_mode}'")
        self.task = task_of(task, settings)
        self._simulator = Simulator(self.task, threads=1)
        self.observation_space = self._simulator.observation_space
        self.action_space = self._simulator.action_space
        self._snapshot: Snapshot | None = None
        self._steps = 0

    @property
    def model(self) -> Model:
        """The model."""
        return self._simulator.model

    @property
    def dt(self) -> float:
        """Time of one step (s)."""
        return self._simulator.dt

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        self._snapshot, observations = self._simulator.begin([self.np_random])
        self._steps = 0
        return observations[0], {}

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One step: observation, reward, terminated, truncated, info."""
        given = np.asarray(action)
        if given.shape != self.action_space.shape:
            raise ValueError(f"the action has the shape {given.shape}, expected {self.action_space.shape}")
        outcome = self._simulator.step(self._current(), given[np.newaxis])
        self._snapshot = outcome.snapshot
        self._steps += 1
        limit = self.task.max_episode_steps
        truncated = limit is not None and self._steps >= limit
        info: dict[str, Any] = {name: values[0] for name, values in outcome.info.items()}
        if outcome.diverged:
            info["diverged"] = outcome.diverged[0]
        return outcome.observation[0], float(outcome.reward[0]), bool(outcome.terminated[0]), truncated, info

    def _current(self) -> Snapshot:
        if self._snapshot is None:
            raise gymnasium.error.ResetNeeded("an episode starts with env.reset()")
        return self._snapshot

    @property
    def state(self) -> State:
        """The state, as a copy; assign another to go on from there, within the same episode."""
        return self._simulator.state(self._current())[0]

    @state.setter
    def state(self, state: State) -> None:
        self._snapshot = self._simulator.at(state, self._current().controls)

    def segment(self, actions: npt.ArrayLike) -> Segment:
        """Steps from here under actions of shape (steps, nu), with a gradient; the environment does not move."""
        return Segment(self._simulator, self.state, actions)
