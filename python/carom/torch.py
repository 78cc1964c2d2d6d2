"""Trajectories in PyTorch: tensors in, tensors out, and gradients through them.

>>> import carom, carom.torch, torch
>>> model = carom.Model.load("models/cartpole.xml")
>>> controls = torch.zeros(50, model.nu, dtype=torch.float64, requires_grad=True)
>>> trajectory = carom.torch.rollout(model, controls=controls)
>>> (trajectory.qpos[-1] - 1.0).square().sum().backward()
>>> controls.grad.shape
torch.Size([50, 1])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from . import _bridge
from .model import Model
from .parameters import Parameters
from .state import State


class Trajectory(NamedTuple):
    """A trajectory, or a batch of them: states before each step and at the end, sensor values of each step."""

    qpos: torch.Tensor
    qvel: torch.Tensor
    act: torch.Tensor
    sensordata: torch.Tensor


class _Rollout(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, plan: _bridge.Plan, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        run = _bridge.forward(plan, [one.detach().cpu().numpy() for one in inputs])
        ctx.run = run
        ctx.like = inputs
        ctx.set_materialize_grads(False)
        like = inputs[0]
        return tuple(torch.from_numpy(one).to(like) for one in run.outputs)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *bars: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        numbers = [None if bar is None else bar.detach().cpu().numpy() for bar in bars]
        found = _bridge.backward(ctx.run, numbers)
        return (None, *(torch.from_numpy(np.ascontiguousarray(one)).to(like) for one, like in zip(found, ctx.like)))


def rollout(
    model: Model,
    qpos: torch.Tensor | None = None,
    qvel: torch.Tensor | None = None,
    controls: torch.Tensor | None = None,
    *,
    act: torch.Tensor | None = None,
    parameters: Parameters | None = None,
    theta: torch.Tensor | None = None,
    start: State | None = None,
    steps: int | None = None,
    threads: int | None = None,
) -> Trajectory:
    """Simulates trajectories, with gradients to every tensor that is given.

    Any of the tensors may have further dimensions in front: they are broadcast against each other and make a batch. What is
    not given is as in ``start``, or in the model's default state; ``parameters`` and ``theta`` give the model other numbers.
    ``controls`` has the shape (steps, nu), or (nu,) with ``steps``. Everything is computed in float64, and returned in the type
    of the first tensor that is given.
    """
    given = [one for one in (qpos, qvel, act, controls, theta) if one is not None]
    like = given[0] if given else torch.zeros((), dtype=torch.float64)
    shape = None if controls is None else tuple(controls.shape)
    plan = _bridge.plan(model, shape, parameters, theta is not None, start, steps, threads)
    if controls is None:
        controls = like.new_zeros(plan.steps, model.nu)
    elif controls.ndim == 1:
        controls = controls.expand(plan.steps, model.nu)

    def number(one: torch.Tensor | None, default: Any) -> torch.Tensor:
        return torch.as_tensor(default).to(like) if one is None else one

    inputs = (
        number(qpos, plan.start.qpos.copy()),
        number(qvel, plan.start.qvel.copy()),
        number(act, plan.start.act.copy()),
        controls,
        number(theta, np.zeros(0)),
    )
    return Trajectory(*_Rollout.apply(plan, *inputs))
