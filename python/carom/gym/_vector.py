"""Many environments, one call of the engine for a step of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from ..model import Model, Path
from ..state import Array, State
from ._env import Actions
from ._quantities import Snapshot
from ._segment import Segment
from ._simulator import Outcome, Simulator
from ._task import Bools, Task, task_of


class VectorEnv(gymnasium.vector.VectorEnv[Array, Actions, npt.NDArray[Any]]):
    """Environments of one task that are simulated together, over all cores or ``threads`` of them.

    >>> import carom.gym
    >>> envs = carom.gym.make("hopper", num_envs=16)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((16, 11), (16,))

    Each environment has random numbers of its own, so environment i under seed s is a single one under seed s + i, to the
    bit, for any number of threads. An episode that has ended starts anew as ``autoreset_mode`` says:

    - ``"NextStep"``, as Gymnasium's wrappers expect: the step returns the last observation, from before the reset; the next
      one ignores the action and returns the first observation of the new episode.
    - ``"SameStep"``: at once. The step returns the first observation of the new episode; the last one of the old, from before
      the reset, is in ``infos["final_obs"]``, what else there is to say about it in ``infos["final_info"]``.
    - ``"Disabled"``: not at all; ``reset(options={"reset_mask": ended})`` does it.
    """

    def __init__(
        self,
        task: Task | Model | Path,
        num_envs: int,
        *,
        threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"there must be an environment at least, not {num_envs}")
        self.task = task_of(task, settings)
        self.num_envs = num_envs
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._simulator = Simulator(self.task, threads)
        self.single_observation_space = self._simulator.observation_space
        self.single_action_space = self._simulator.action_space
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self._random: list[np.random.Generator] = []
        self._snapshot: Snapshot | None = None
        self._observations: Array = np.zeros((num_envs, *self._simulator.observation_space.shape))
        self._steps = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, np.bool_)

    @property
    def model(self) -> Model:
        """The model."""
        return self._simulator.model

    @property
    def dt(self) -> float:
        """Time of one step (s)."""
        return self._simulator.dt

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Starts an episode in all environments, or in those of ``options["reset_mask"]``.

        A number seeds environment i with ``seed + i``; a list has a seed for each.
        """
        which = self._mask((options or {}).get("reset_mask"))
        self._seed(seed, which)
        self._begin(which)
        return self._observations.copy(), {}

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Array, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """One step of all environments."""
        given = np.asarray(actions)
        if given.shape != self.action_space.shape:
            raise ValueError(f"actions have the shape {given.shape}, expected {self.action_space.shape}")
        before, waiting = self._current(), self._ended
        if self.autoreset_mode == AutoresetMode.DISABLED and waiting.any():
            first = int(np.nonzero(waiting)[0][0])
            remedy = 'reset(options={"reset_mask": np.logical_or(terminated, truncated)})'
            raise gymnasium.error.ResetNeeded(f"the episode of environment {first} has ended: {remedy}")
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}
        going = ~waiting
        if going.any():
            outcome = self._simulator.step(before.take(going) if waiting.any() else before, given[going])
            self._put(going, outcome.snapshot, outcome.observation)
            self._steps[going] += 1
            rewards[going], terminated[going] = outcome.reward, outcome.terminated
            if self.task.max_episode_steps is not None:
                truncated[going] = self._steps[going] >= self.task.max_episode_steps
            infos = self._infos(outcome, going)
        if waiting.any():
            self._begin(waiting)
        self._ended = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._ended.any():
            infos = self._final(infos, self._ended)
            self._begin(self._ended)
        return self._observations.copy(), rewards, terminated, truncated, infos

    @property
    def state(self) -> State:
        """The states of all environments, as a copy."""
        return self._simulator.state(self._current())

    def segment(self, actions: npt.ArrayLike) -> Segment:
        """Steps from here under actions of shape (num_envs, steps, nu), with a gradient; the environments do not move."""
        return Segment(self._simulator, self.state, actions)

    def _current(self) -> Snapshot:
        if self._snapshot is None:
            raise gymnasium.error.ResetNeeded("episodes start with envs.reset()")
        return self._snapshot

    def _mask(self, given: Any) -> Bools:
        if given is None:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(given)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            expected = f"{self.num_envs} truth values, at least one of them true"
            raise ValueError(f"options['reset_mask'] is {given!r}, expected {expected}")
        if self._snapshot is None and not mask.all():
            raise gymnasium.error.ResetNeeded("the first reset is that of all environments")
        return mask

    def _seed(self, seed: int | Sequence[int | None] | None, which: Bools) -> None:
        """Random numbers for each of some environments."""
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else int(seed) + index for index in range(self.num_envs)]
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"there are {len(seeds)} seeds for {self.num_envs} environments")
        if not self._random:
            self._random = [gymnasium.utils.seeding.np_random(one)[0] for one in seeds]
            return
        for index in np.nonzero(which)[0]:
            if seeds[index] is not None:
                self._random[index] = gymnasium.utils.seeding.np_random(seeds[index])[0]

    def _begin(self, which: Bools) -> None:
        """A new episode for some environments."""
        snapshot, observations = self._simulator.begin([self._random[index] for index in np.nonzero(which)[0]])
        if self._snapshot is None:
            self._snapshot = snapshot
        self._put(which, snapshot, observations)
        self._steps[which] = 0
        self._ended = self._ended & ~which

    def _put(self, which: Bools, part: Snapshot, observations: Array) -> None:
        """Takes over the states of some environments."""
        self._observations[which] = observations
        if which.all():
            self._snapshot = part
            return
        whole = self._current()
        for array, own in zip(whole.arrays(), part.arrays()):
            array[which] = own

    def _infos(self, outcome: Outcome, going: Bools) -> dict[str, Any]:
        """What single environments say, each name with a mask of those that say it."""
        infos: dict[str, Any] = {}
        for name, values in outcome.info.items():
            spread = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            spread[going] = values
            infos[name], infos[f"_{name}"] = spread, going.copy()
        if outcome.diverged:
            places = np.nonzero(going)[0]
            sentences = np.full(self.num_envs, None, dtype=object)
            for index, sentence in outcome.diverged.items():
                sentences[places[index]] = sentence
            infos["diverged"] = sentences
            infos["_diverged"] = np.array([one is not None for one in sentences])
        return infos

    def _final(self, infos: dict[str, Any], ended: Bools) -> dict[str, Any]:
        """What is said about the last steps of episodes is moved out of the way of those that go on."""
        kept: dict[str, Any] = {}
        final: dict[str, Any] = {}
        for name in [name for name in infos if f"_{name}" in infos]:
            values, mask = infos[name], infos[f"_{name}"]
            for target, chosen in ((kept, mask & ~ended), (final, mask & ended)):
                if chosen.any():
                    spread = np.full_like(values, None if values.dtype == object else 0)
                    spread[chosen] = values[chosen]
                    target[name], target[f"_{name}"] = spread, chosen
        last = np.full(self.num_envs, None, dtype=object)
        for index in np.nonzero(ended)[0]:
            last[index] = self._observations[index].copy()
        kept.update(final_obs=last, _final_obs=ended.copy(), final_info=final, _final_info=ended.copy())
        return kept


def _mode(given: AutoresetMode | str) -> AutoresetMode:
    if isinstance(given, AutoresetMode):
        return given
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(f"'{mode.value}'" for mode in AutoresetMode)
        raise ValueError(f"there is no autoreset mode '{given}'; there are {known}") from None
