"""Environments for Stable-Baselines3: many of them, one call of the engine for a step.

Single environments need nothing of this: ``PPO("MlpPolicy", carom.gym.make("cartpole"))``. Many are simulated together by

    from stable_baselines3 import PPO
    import carom.gym.sb3
    model = PPO("MlpPolicy", carom.gym.sb3.VecEnv("cartpole", num_envs=8))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from stable_baselines3.common.vec_env import VecEnv as _VecEnv
except ImportError as _error:
    raise ImportError("carom.gym.sb3 needs Stable-Baselines3: pip install stable-baselines3") from _error

from ..state import Array
from . import VectorEnv, make
from ._task import Task

__all__ = ["VecEnv"]


class VecEnv(_VecEnv):  # type: ignore[misc]
    """A :class:`carom.gym.VectorEnv` as Stable-Baselines3 wants it.

    ``task`` is the name of a ready one or a :class:`carom.gym.Task`; settings are those of :class:`carom.gym.VectorEnv`.
    """

    def __init__(self, task: Task | str, num_envs: int, **settings: Any) -> None:
        settings["autoreset_mode"] = "SameStep"
        self.envs: VectorEnv = (
            make(task, num_envs, **settings) if isinstance(task, str) else VectorEnv(task, num_envs, **settings)
        )
        self._chosen: npt.NDArray[Any] | None = None
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> Array:
        """Starts episodes everywhere."""
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations, _ = self.envs.reset(seed=seeds)
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Remembers the actions."""
        self._chosen = actions

    def step_wait(self) -> tuple[Array, Array, npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Takes the step: observations, rewards, which episodes have ended, infos."""
        assert self._chosen is not None, "step_async() comes first"
        observations, rewards, terminated, truncated, found = self.envs.step(self._chosen)
        ended = terminated | truncated
        infos = [_of(found, index) for index in range(self.num_envs)]
        for index in np.nonzero(ended)[0].tolist():
            infos[index].update(_of(found["final_info"], index))
            infos[index]["terminal_observation"] = found["final_obs"][index]
            infos[index]["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
        return observations, rewards, ended, infos

    def close(self) -> None:
        """Nothing has to be closed."""

    def get_attr(self, attr_name: str, indices: None | int | Iterable[int] = None) -> list[Any]:
        """An attribute, the same for all."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: None | int | Iterable[int] = None) -> None:
        """There is one object for all environments, so none has attributes of its own."""
        raise AttributeError(f"'{attr_name}' cannot be set: environments are simulated together; make others with settings")

    def env_method(self, method_name: str, *arguments: Any, indices: None | int | Iterable[int] = None, **named: Any) -> list[Any]:
        """There is one object for all environments, so none has methods of its own."""
        raise AttributeError(f"'{method_name}' cannot be called for each: environments are simulated together, in .envs")

    def env_is_wrapped(self, wrapper_class: type, indices: None | int | Iterable[int] = None) -> list[bool]:
        """None of them is."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[None]:
        """There are none."""
        return [None] * self.num_envs


def _of(infos: dict[str, Any], index: int) -> dict[str, Any]:
    """What is said about one environment."""
    names = [name for name in infos if f"_{name}" in infos and name not in ("final_obs", "final_info")]
    return {name: infos[name][index] for name in names if infos[f"_{name}"][index]}
