"""Gymnasium environments, alone or many over threads, from a model, a list of what is observed and a reward.

>>> import carom.gym, gymnasium
>>> env = gymnasium.make("carom/Cartpole-v0")
>>> envs = carom.gym.make("cartpole", num_envs=16)

``carom.gym.Env("robot.xml", observation=["qpos", "qvel"], reward=...)`` makes an environment of your own;
:class:`Task` has all its settings. Ready ones: cartpole, reacher, hopper, ant, humanoid, push-cube.
"""

from __future__ import annotations

from typing import Any, overload

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode  # not there before 1.1
except ImportError as _error:
    raise ImportError("carom.gym needs Gymnasium 1.1 or later: pip install 'gymnasium>=1.1'") from _error

from . import tasks
from ._env import Env
from ._quantities import Snapshot
from ._segment import Segment, SegmentGradient
from ._task import Step, Task
from ._vector import VectorEnv

__all__ = ["Env", "Segment", "SegmentGradient", "Snapshot", "Step", "Task", "VectorEnv", "make", "tasks"]

_READY = {
    "cartpole": tasks.cartpole,
    "reacher": tasks.reacher,
    "hopper": tasks.hopper,
    "ant": tasks.ant,
    "humanoid": tasks.humanoid,
    "push-cube": tasks.push_cube,
}


@overload
def make(name: str, num_envs: int, **settings: Any) -> VectorEnv: ...
@overload
def make(name: str, num_envs: None = None, **settings: Any) -> Env: ...
def make(name: str, num_envs: int | None = None, **settings: Any) -> Env | VectorEnv:
    """A ready environment by name, or ``num_envs`` of them; settings are those of :class:`Env` or :class:`VectorEnv`.

    >>> import carom.gym
    >>> carom.gym.make("reacher", max_episode_steps=50).observation_space.shape
    (10,)
    """
    task = _ready(name)
    return Env(task, **settings) if num_envs is None else VectorEnv(task, num_envs, **settings)


def _ready(name: str) -> Task:
    ready = _READY.get(name.replace("_", "-").lower())
    if ready is None:
        raise ValueError(f"there is no ready environment '{name}'; there are {', '.join(_READY)}")
    return ready()


def _single(name: str, **settings: Any) -> Env:
    """For Gymnasium, which counts the steps itself."""
    return Env(_ready(name), max_episode_steps=None, **settings)


def _register() -> None:
    for name, ready in _READY.items():
        identifier = f"carom/{name.title().replace('-', '')}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="carom.gym:_single",
                vector_entry_point="carom.gym:make",
                max_episode_steps=ready().max_episode_steps,
                kwargs={"name": name},
            )


_register()
