"""Where the models are, and tools that several tests need."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import carom

ROOT = Path(__file__).parents[2]
Array = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of examples are from the root of the repository."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def load() -> Callable[[str], carom.Model]:
    """Loads a shipped model by name."""
    return lambda name: carom.Model.load(ROOT / "models" / f"{name}.xml")


@pytest.fixture(scope="session")
def command() -> Path:
    """The ``carom`` command: that of ``CAROM_COMMAND``, or compiled as the package was, which has most of the work done already."""
    if given := os.environ.get("CAROM_COMMAND"):
        return Path(given)
    profile = ["--profile=dev", "--config=profile.dev.opt-level=1", "--config=profile.dev.package.carom-spec.opt-level=0"]
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "carom-cli", *profile], cwd=ROOT, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "carom"


def differences(function: Callable[[Array], float], at: Array, step: float = 1e-6) -> Array:
    """The gradient of a function by central differences."""
    slopes = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = at.copy()
            moved[index] += sign * step
            ends.append(function(moved))
        slopes[index] = (ends[0] - ends[1]) / (2 * step)
    return slopes


TOSS = """
<mujoco><option timestep="0.002"/>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body pos="0 0 0.3"><freejoint/><geom name="cube" type="box" size="0.05 0.06 0.07"/>
      <site name="corner" pos="0.05 0.06 0.07"/>
      <body pos="0 0 0.1"><joint name="arm" axis="0 1 0" damping="0.01"/>
        <geom name="arm" type="capsule" size="0.02 0.05" pos="0 0 0.05" contype="0" conaffinity="0"/></body></body>
  </worldbody>
  <actuator><position name="servo" joint="arm" kp="0.3"/><intvelocity name="integrated" joint="arm" kp="0.2"/></actuator>
  <sensor><framepos objtype="site" objname="corner"/><jointvel joint="arm"/></sensor>
</mujoco>
"""
"""A box with an arm that falls on a plane: quaternions, contacts, activations, sensors."""


@pytest.fixture
def toss() -> carom.Model:
    """The box with an arm."""
    return carom.Model.from_string(TOSS)


def thrown(model: carom.Model, batch: int | None = None) -> carom.State:
    """A start from which the box hits the plane soon, its quaternion not of unit length."""
    state = model.state()
    state.qpos[:7] = [0.0, 0.1, 0.13, 0.9, 0.1, -0.2, 0.3]
    state.qvel[:] = [0.3, -0.2, -1.0, 1.0, 2.0, -1.0, 0.5]
    state.act[:] = 0.1
    if batch is None:
        return state
    states = state.repeat(batch)
    states.qvel[:, 0] += np.linspace(-0.5, 0.5, batch)
    return states
