"""Trajectories in JAX: arrays in, arrays out, with gradients, under ``jit`` and ``vmap``.

>>> import carom, carom.jax, jax, jax.numpy as jnp
>>> jax.config.update("jax_enable_x64", True)
>>> model = carom.Model.load("models/cartpole.xml")
>>> def loss(controls):
...     trajectory = carom.jax.rollout(model, controls=controls)
...     return jnp.sum((trajectory.qpos[-1] - 1.0) ** 2)
>>> jax.jit(jax.grad(loss))(jnp.zeros((50, model.nu))).shape
(50, 1)
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import _bridge
from .model import Model
from .parameters import Parameters
from .state import State


class Trajectory(NamedTuple):
    """A trajectory, or a batch of them: states before each step and at the end, sensor values of each step."""

    qpos: jax.Array
    qvel: jax.Array
    act: jax.Array
    sensordata: jax.Array


def _results(plan: _bridge.Plan, batch: tuple[int, ...], like: Any) -> tuple[Any, ...]:
    shapes = plan.shapes().values()
    return tuple(jax.ShapeDtypeStruct(batch + shape, like.dtype) for shape in shapes)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(plan: _bridge.Plan, *inputs: jax.Array) -> tuple[jax.Array, ...]:
    batch = _bridge.batched(plan, [one.shape for one in inputs])
    dtype = inputs[0].dtype

    def host(*numbers: Any) -> tuple[Any, ...]:
        run = _bridge.forward(plan, [np.asarray(one) for one in numbers])
        return tuple(one.astype(dtype) for one in run.outputs)

    found: tuple[jax.Array, ...] = jax.pure_callback(
        host, _results(plan, batch, inputs[0]), *inputs, vmap_method="broadcast_all"
    )
    return found


def _forward(plan: _bridge.Plan, *inputs: jax.Array) -> tuple[tuple[jax.Array, ...], Any]:
    return _rollout(plan, *inputs), inputs


def _backward(plan: _bridge.Plan, inputs: Any, bars: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    count = len(inputs)

    def host(*numbers: Any) -> tuple[Any, ...]:
        # The trajectory is simulated again: nothing is kept on the host that JAX does not know of.
        run = _bridge.forward(plan, [np.asarray(one) for one in numbers[:count]])
        found = _bridge.backward(run, [np.asarray(one) for one in numbers[count:]])
        return tuple(one.astype(number.dtype) for one, number in zip(found, numbers))

    results = tuple(jax.ShapeDtypeStruct(one.shape, one.dtype) for one in inputs)
    found: tuple[jax.Array, ...] = jax.pure_callback(
        host, results, *inputs, *bars, vmap_method="broadcast_all"
    )
    return found


_rollout.defvjp(_forward, _backward)


def rollout(
    model: Model,
    qpos: jax.Array | None = None,
    qvel: jax.Array | None = None,
    controls: jax.Array | None = None,
    *,
    act: jax.Array | None = None,
    parameters: Parameters | None = None,
    theta: jax.Array | None = None,
    start: State | None = None,
    steps: int | None = None,
    threads: int | None = None,
) -> Trajectory:
    """Simulates trajectories, with gradients to every array that is given.

    Any of the arrays may have further dimensions in front: they are broadcast against each other and make a batch. What is
    not given is as in ``start``, or in the model's default state; ``parameters`` and ``theta`` give the model other numbers.
    ``controls`` has the shape (steps, nu), or (nu,) with ``steps``. Everything is computed in float64; switch
    ``jax_enable_x64`` on to get it so.
    """
    shape = None if controls is None else tuple(controls.shape)
    plan = _bridge.plan(model, shape, parameters, theta is not None, start, steps, threads)
    if controls is None:
        controls = jnp.zeros((plan.steps, model.nu))
    elif controls.ndim == 1:
        controls = jnp.broadcast_to(controls, (plan.steps, model.nu))
    inputs = [
        jnp.asarray(plan.start.qpos if qpos is None else qpos),
        jnp.asarray(plan.start.qvel if qvel is None else qvel),
        jnp.asarray(plan.start.act if act is None else act),
        jnp.asarray(controls),
        jnp.asarray(np.zeros(0) if theta is None else theta),
    ]
    # As many dimensions in front of all: vmap adds its own in front of those.
    rank = len(_bridge.batched(plan, [one.shape for one in inputs]))
    widths = plan.widths().values()
    ranks = [rank + len(width) for width in widths]
    aligned = [one.reshape((1,) * (full - one.ndim) + one.shape) for one, full in zip(inputs, ranks)]
    return Trajectory(*_rollout(plan, *aligned))
