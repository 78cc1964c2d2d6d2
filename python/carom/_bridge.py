"""What the bridges to PyTorch and JAX share: trajectories and their gradients over plain numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import GradientError
from .model import Model
from .parameters import Parameters
from .state import Array, State

INPUTS = ("qpos", "qvel", "act", "controls", "theta")
"""What trajectories depend on, and derivatives are by, in order."""

OUTPUTS = ("qpos", "qvel", "act", "sensordata")
"""What trajectories record."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What does not change from call to call."""

    model: Model
    parameters: Parameters | None
    start: State
    steps: int
    threads: int | None

    def widths(self) -> dict[str, tuple[int, ...]]:
        """Shapes of inputs, without a batch."""
        model = self.model
        theta = 0 if self.parameters is None else len(self.parameters)
        return {
            "qpos": (model.nq,),
            "qvel": (model.nv,),
            "act": (model.na,),
            "controls": (self.steps, model.nu),
            "theta": (theta,),
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of outputs, without a batch."""
        model, states = self.model, self.steps + 1
        return {
            "qpos": (states, model.nq),
            "qvel": (states, model.nv),
            "act": (states, model.na),
            "sensordata": (self.steps, model.nsensordata),
        }


def plan(
    model: Model,
    controls_shape: tuple[int, ...] | None,
    parameters: Parameters | None,
    theta_is_given: bool,
    start: State | None,
    steps: int | None,
    threads: int | None,
) -> Plan:
    """Checks what does not depend on numbers."""
    if theta_is_given != (parameters is not None):
        raise ValueError("parameters and theta go together")
    if start is not None and start.batch is not None:
        raise ValueError("start is a single state; qpos, qvel and act may be batches")
    if controls_shape is None or len(controls_shape) < 2:
        if steps is None:
            raise ValueError("say how many steps: rollout(..., steps=100)")
    elif steps is not None and controls_shape[-2] != steps:
        raise ValueError(f"there are controls for {controls_shape[-2]} steps, not for {steps}")
    else:
        steps = controls_shape[-2]
    return Plan(model, parameters, model.state() if start is None else start, steps, threads)


def batched(plan: Plan, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The dimensions of the batch that inputs of these shapes make together."""
    leading = []
    for (name, own), shape in zip(plan.widths().items(), shapes):
        count = len(shape) - len(own)
        if count < 0 or shape[count:] != own:
            raise ValueError(f"{name} has the shape {tuple(shape)}, expected (batch,) {own}")
        leading.append(shape[:count])
    return np.broadcast_shapes(*leading)


@dataclass(frozen=True, eq=False)
class Run:
    """Trajectories, and what a backward pass needs of them."""

    plan: Plan
    batch: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    models: list[_core.Model]
    states: Array
    starts: tuple[Array, Array]
    controls: Array
    theta: Array
    outputs: tuple[Array, ...]


def forward(plan: Plan, inputs: Sequence[npt.NDArray[np.floating]]) -> Run:
    """Simulates a batch of any number of dimensions; inputs in the order of :data:`INPUTS`."""
    shapes = tuple(one.shape for one in inputs)
    batch = batched(plan, shapes)
    count = int(np.prod(batch, dtype=np.int64))
    widths = plan.widths()

    def flat(index: int) -> Array:
        """An input with one dimension for the whole batch, or with one row for all of it."""
        given, own = np.asarray(inputs[index], dtype=np.float64), widths[INPUTS[index]]
        if given.ndim == len(own) or all(size == 1 for size in given.shape[: given.ndim - len(own)]):
            return np.ascontiguousarray(given).reshape(1, *own)
        return np.ascontiguousarray(np.broadcast_to(given, batch + own)).reshape(count, *own)

    qpos, qvel, act, controls, theta = (flat(index) for index in range(len(INPUTS)))
    state = plan.start.repeat(count)
    state.qpos, state.qvel, state.act = qpos, qvel, act
    models = [plan.model._native]
    if plan.parameters is not None:
        if len(theta) > 1 and (theta == theta[0]).all():
            theta = theta[:1]
        models = [plan.parameters.apply(row)._native for row in theta]
    row, mocap = plan.model._rows_of(state)
    states, sensors, problems = _core.rollout(models, row, mocap, controls, plan.steps, plan.threads)
    if problems:
        trajectory, step, sentence = problems[0]
        raise GradientError(f"not finite from step {step} on: {sentence}", trajectory)
    layout = plan.model._layout
    parts = [states[..., part] for part in (layout.qpos, layout.qvel, layout.act)]
    own_shapes = plan.shapes()
    outputs = tuple(
        np.ascontiguousarray(part).reshape(batch + own_shapes[name])
        for name, part in zip(OUTPUTS, [*parts, sensors])
    )
    return Run(plan, batch, shapes, models, states, (row, mocap), controls, theta, outputs)


def backward(run: Run, bars: Sequence[npt.NDArray[np.floating] | None]) -> tuple[Array, ...]:
    """Derivatives by the inputs from those by the outputs, in the shapes of the inputs."""
    plan, count = run.plan, run.states.shape[0]
    own_shapes = plan.shapes()
    flat: list[Array | None] = []
    for name, bar in zip(OUTPUTS, bars):
        shape = (count, *own_shapes[name])
        used = bar is not None and bool(np.any(bar))
        flat.append(np.ascontiguousarray(bar, dtype=np.float64).reshape(shape) if used else None)
    by = None if plan.parameters is None else (plan.parameters._native, run.theta)
    qpos, qvel, act, sensors = flat
    recorded: _core._Recorded = {"states": run.states, "starts": run.starts, "controls": run.controls}
    by_outputs: _core._Bars = {"qpos": qpos, "qvel": qvel, "act": act, "sensors": sensors}
    found, _ = _core.backward(run.models, recorded, by_outputs, by, plan.threads)
    widths = plan.widths()
    gradients = []
    for name, shape in zip(INPUTS, run.shapes):
        whole = found[name].reshape(run.batch + widths[name])
        gradients.append(_summed(whole, shape))
    return tuple(gradients)


def _summed(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient by an input that was repeated to a shape: summed over its repetitions."""
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(axis=tuple(range(extra))) if extra else gradient
    repeated = tuple(axis for axis, size in enumerate(shape) if size == 1 and gradient.shape[axis] != 1)
    return gradient.sum(axis=repeated, keepdims=True) if repeated else gradient
