"""Ready tasks. Each is a function that makes a :class:`carom.gym.Task`; ``with_`` changes it.

>>> import carom.gym
>>> task = carom.gym.tasks.hopper().with_(frame_skip=2)
>>> carom.gym.Env(task).dt
0.004
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..state import Array, State
from ._task import Bools, Rewards, Step, Task

__all__ = ["ant", "cartpole", "hopper", "humanoid", "push_cube", "reacher"]

_MODELS = Path(__file__).parent / "models"


def _file(name: str) -> str:
    return str(_MODELS / f"{name}.xml")


def _effort(step: Step) -> Array:
    """The sum of the squares of the actions."""
    effort: Array = np.square(step.action).sum(axis=-1)
    return effort


def _length(vectors: Array) -> Array:
    length: Array = np.sqrt(np.square(vectors).sum(axis=-1))
    return length


def _speed(step: Step, name: str) -> Array:
    """How fast a number has changed."""
    speed: Array = (step[name] - step.before[name]) / step.dt
    return speed


def cartpole() -> Task:
    """Keep a pole upright on a cart that must not leave its rail: 1 for each step."""

    def reward(step: Step) -> Rewards:
        return np.ones(len(step))

    def terminated(step: Step) -> Bools:
        fallen: Bools = np.abs(step["joint.hinge.qpos"]) > 0.2
        return fallen | (np.abs(step["joint.slider.qpos"]) > 2.0)

    return Task(
        _file("cartpole"),
        observation=["qpos", "qvel"],
        reward=reward,
        terminated=terminated,
        reset_noise=0.05,
        frame_skip=2,
        max_episode_steps=500,
    )


def reacher() -> Task:
    """Touch a target with the tip of an arm of two links, with little effort."""

    def reward(step: Step) -> Rewards:
        distance = _length(step["site.tip.pos - body.target.pos"])
        return {"distance": -distance, "effort": -0.01 * _effort(step)}

    def reset(state: State, random: np.random.Generator) -> None:
        state.qpos = random.uniform(-0.5, 0.5, 2)
        angle, radius = random.uniform(-np.pi, np.pi), random.uniform(0.05, 0.22)
        state.mocap_pos[0, :2] = radius * np.cos(angle), radius * np.sin(angle)

    names = ["cos(qpos)", "sin(qpos)", "qvel", "body.target.pos[:2]", "site.tip.pos - body.target.pos"]
    return Task(
        _file("reacher"),
        observation=names[:-1] + ["site.tip.pos[:2] - body.target.pos[:2]"],
        reward=reward,
        measure=names[-1:],
        reset=reset,
        frame_skip=2,
        max_episode_steps=100,
    )


def hopper() -> Task:
    """Hop forward on one leg without falling."""

    def reward(step: Step) -> Rewards:
        return {
            "forward": _speed(step, "joint.forward.qpos"),
            "healthy": np.ones(len(step)),
            "effort": -1e-3 * _effort(step),
        }

    def terminated(step: Step) -> Bools:
        low: Bools = step["joint.height.qpos"] < 0.7
        return low | (np.abs(step["joint.pitch.qpos"]) > 0.3)

    return Task(
        _file("hopper"),
        observation=["qpos[1:]", "qvel"],
        reward=reward,
        terminated=terminated,
        reset_noise=0.005,
        frame_skip=4,
        max_episode_steps=1000,
    )


def ant() -> Task:
    """Run along the x axis on four legs without turning over."""

    def reward(step: Step) -> Rewards:
        return {
            "forward": _speed(step, "qpos[0]"),
            "healthy": np.ones(len(step)),
            "effort": -0.5 * _effort(step),
        }

    def terminated(step: Step) -> Bools:
        height = step["qpos[2]"]
        found: Bools = (height < 0.25) | (height > 1.2)
        return found

    return Task(
        _file("ant"),
        observation=["qpos[2:]", "qvel"],
        reward=reward,
        terminated=terminated,
        start="stand",
        reset_noise=0.1,
        frame_skip=10,
        max_episode_steps=1000,
    )


def humanoid() -> Task:
    """Run along the x axis on two legs without falling."""

    def reward(step: Step) -> Rewards:
        return {
            "forward": 1.25 * _speed(step, "body.torso.subtree_com[0]"),
            "healthy": np.full(len(step), 5.0),
            "effort": -0.1 * _effort(step),
        }

    def terminated(step: Step) -> Bools:
        height = step["qpos[2]"]
        found: Bools = (height < 0.8) | (height > 1.8)
        return found

    return Task(
        _file("humanoid"),
        observation=["qpos[2:]", "qvel", "body.torso.subtree_com - body.torso.pos"],
        measure=["body.torso.subtree_com[0]"],
        reward=reward,
        terminated=terminated,
        reset_noise=0.01,
        frame_skip=5,
        max_episode_steps=1000,
    )


def push_cube() -> Task:
    """Push a cube with a finger to a place on the table; ``info["is_success"]`` says whether it is there."""

    def reward(step: Step) -> Rewards:
        return {
            "goal": -_length(step["body.goal.pos[:2] - body.cube.pos[:2]"]),
            "reach": -0.2 * _length(step["body.cube.pos[:2] - site.fingertip.pos[:2]"]),
            "effort": -0.01 * _effort(step),
        }

    def info(step: Step) -> dict[str, Bools]:
        return {"is_success": _length(step["body.goal.pos[:2] - body.cube.pos[:2]"]) < 0.03}

    def reset(state: State, random: np.random.Generator) -> None:
        state.qpos[:2] = random.uniform(-0.35, -0.15), random.uniform(-0.2, 0.2)
        state.qpos[2:4] = random.uniform(-0.05, 0.05), random.uniform(-0.1, 0.1)
        turn = random.uniform(-np.pi, np.pi)
        state.qpos[5:9] = np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)
        state.mocap_pos[0, :2] = random.uniform(0.1, 0.3), random.uniform(-0.2, 0.2)

    return Task(
        _file("push_cube"),
        observation=[
            "qpos",
            "qvel",
            "body.goal.pos[:2] - body.cube.pos[:2]",
            "body.cube.pos[:2] - site.fingertip.pos[:2]",
        ],
        reward=reward,
        info=info,
        reset=reset,
        frame_skip=10,
        max_episode_steps=150,
    )
