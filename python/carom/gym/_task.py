"""What an environment is: a model, what is observed, what is rewarded, how episodes start and end."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ..model import Model, Path
from ..state import Array, State
from ._quantities import Snapshot

Bools = npt.NDArray[np.bool_]
Rewards = Union[Array, Mapping[str, Array]]


@dataclass(frozen=True)
class Step:
    """One step of a batch of environments, for functions that reward it or end the episode.

    The batch is the first dimension of every array, also for a single environment, which is a batch of one. A function
    returns one number, or one truth value, for each of the batch.

    ``step["qvel[0]"]`` are numbers after the step, ``step.before["qvel[0]"]`` before it.
    """

    before: Snapshot
    """States before the step."""
    after: Snapshot
    """States after the step."""
    action: Array
    """Actions as the policy chose them, batch × nu."""
    dt: float
    """How long the step took (s): timestep times frame skip."""

    def __getitem__(self, name: str) -> Array:
        """Numbers after the step, by name."""
        return self.after[name]

    def __len__(self) -> int:
        return len(self.after)


@dataclass(frozen=True)
class Task:
    """A model, what is observed, what is rewarded, how episodes start and end.

    >>> import carom.gym, numpy as np
    >>> task = carom.gym.Task(
    ...     "models/cartpole.xml",
    ...     observation=["qpos", "qvel", "site.tip.pos"],
    ...     reward=lambda step: 1.0 - np.abs(step["joint.slider.qpos"]),
    ...     terminated=lambda step: np.abs(step["joint.hinge.qpos"]) > 0.2,
    ...     reset_noise=0.05,
    ...     max_episode_steps=500,
    ... )
    >>> env = carom.gym.Env(task)
    >>> env.observation_space.shape
    (7,)
    """

    model: Model | Path
    """A model, or the file it is in."""
    observation: Sequence[str]
    """Names of numbers: ``"qpos[2:]"``, ``"sensor.gyro"``, ``"body.torso.pos"``, …"""
    reward: Callable[[Step], Rewards]
    """The reward of each of a batch; or several under names, whose sum it is, and which go into ``info``."""
    terminated: Callable[[Step], Bools] | None = None
    """Which of a batch have reached a state that ends their episode."""
    measure: Sequence[str] = ()
    """Names of numbers that only the functions need."""
    info: Callable[[Step], Mapping[str, npt.NDArray[Any]]] | None = None
    """What else goes into ``info``: an array for each name, with one entry for each of a batch."""
    start: int | str | None = None
    """The keyframe that episodes start at; the model's reference configuration if none."""
    reset_noise: float = 0.0
    """How far episodes start from there: each degree of freedom, and its velocity, by a random number up to this."""
    reset: Callable[[State, np.random.Generator], None] | None = None
    """What else is random at the start: changes the state of one environment in place."""
    frame_skip: int = 1
    """Time steps of the model for each step of the environment."""
    max_episode_steps: int | None = None
    """After how many steps an episode is truncated."""
    normalize_actions: bool = True
    """Whether actions lie in [-1, 1] and stand for the range of each control; otherwise they are the controls."""
    observation_limit: float = field(default=1000.0)
    """Observations are cut to this size."""

    def __post_init__(self) -> None:
        if isinstance(self.observation, str) or isinstance(self.measure, str):
            raise TypeError("observation and measure are lists of names: ['qpos', 'qvel']")
        if not self.observation:
            raise ValueError("an environment observes something: observation=['qpos', 'qvel']")
        for name in ("reward", "terminated", "info", "reset"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} is a function, not {given!r}")
        if self.frame_skip < 1:
            raise ValueError(f"frame_skip is at least 1, not {self.frame_skip}")
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise ValueError(f"max_episode_steps is at least 1, not {self.max_episode_steps}; None for no limit")
        if not self.observation_limit > 0:
            raise ValueError(f"observation_limit is positive, not {self.observation_limit}")
        if not (np.isfinite(self.reset_noise) and self.reset_noise >= 0):
            raise ValueError(f"reset_noise is a size, not {self.reset_noise}")

    def with_(self, **settings: Any) -> Task:
        """The same task with other settings."""
        known = [one.name for one in dataclasses.fields(self)]
        for name in settings:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
                raise TypeError(f"a task has no setting '{name}'; {hint}")
        return dataclasses.replace(self, **settings)

    def loaded(self) -> Model:
        """The model itself."""
        if isinstance(self.model, Model):
            return self.model
        if isinstance(self.model, (str, os.PathLike)):
            return Model.load(self.model)
        raise TypeError(f"a task needs a carom.Model or the path of a model file, not {type(self.model).__name__}")


def task_of(given: Task | Model | Path, settings: dict[str, Any]) -> Task:
    """A task, from one or from a model and settings."""
    if isinstance(given, Task):
        return given.with_(**settings)
    missing = [name for name in ("observation", "reward") if name not in settings]
    if missing:
        examples = {"observation": "observation=['qpos', 'qvel']", "reward": "reward=lambda step: step['qvel[0]']"}
        wanted = ", ".join(examples[name] for name in missing)
        raise TypeError(f"an environment of a model needs {' and '.join(missing)} too, such as {wanted}")
    first = Task(given, settings.pop("observation"), settings.pop("reward"))
    return first.with_(**settings)
