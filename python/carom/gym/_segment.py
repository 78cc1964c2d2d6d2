"""Parts of episodes as trajectories with a gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..rollout import Gradient, Rollout
from ..state import Array, State
from ._simulator import Simulator


@dataclass(frozen=True)
class SegmentGradient:
    """Derivatives of a loss by what a segment started from."""

    actions: Array
    """By the actions, in their shape; zero for those beyond the range of a control, which are cut."""
    start: Gradient
    """By the state at the start, where the gradient is cut off: ``start.qpos``, ``start.qvel``; and by the model."""


class Segment:
    """Some steps of environments from where they are, without episodes that end; the environments do not move.

    Made by ``env.segment(actions)``. The gradient goes back to the first state of the segment and not beyond: start the
    next one where this one ended, or after a reset, and each has a gradient of its own.
    """

    rollout: Rollout
    """Every time step of the segment, of which each step of the environment has ``frame_skip``."""

    def __init__(self, simulator: Simulator, start: State, actions: npt.ArrayLike) -> None:
        given = np.asarray(actions, dtype=np.float64)
        nu, skip = simulator.model.nu, simulator.task.frame_skip
        batch = () if start.batch is None else (start.batch,)
        if given.ndim != len(batch) + 2 or given.shape[:-2] != batch or given.shape[-1] != nu:
            expected = ", ".join([*map(str, batch), "steps", str(nu)])
            raise ValueError(f"actions of a segment have the shape {given.shape}, expected ({expected})")
        self._simulator = simulator
        flat = given.reshape(-1, nu)
        _, controls = simulator.controls(flat, len(flat))
        self._slopes: Array = simulator.slopes(flat).reshape(given.shape)
        repeated = np.repeat(controls.reshape(given.shape), skip, axis=-2)
        self.rollout = simulator.model.rollout(start, repeated, threads=simulator.threads).check()

    def __len__(self) -> int:
        return int(self._slopes.shape[-2])

    def _at_steps(self, array: Array) -> Array:
        return array[..., :: self._simulator.task.frame_skip, :]

    @property
    def _rows(self) -> Array:
        """All numbers of the states, at every time step."""
        return self.rollout._view(self.rollout._rows)

    @property
    def qpos(self) -> Array:
        """Configurations before the first step and after each, (environments,) steps + 1, nq."""
        return self._at_steps(self.rollout.qpos)

    @property
    def qvel(self) -> Array:
        """Velocities before the first step and after each, (environments,) steps + 1, nv."""
        return self._at_steps(self.rollout.qvel)

    @property
    def observations(self) -> Array:
        """What the environments observe before the first step and after each, (environments,) steps + 1, numbers.

        There is a gradient for numbers of the state only; of those that are computed from it, see :meth:`backward`.
        """
        return self._at_steps(self._rows)[..., self._columns()]

    @property
    def end(self) -> State:
        """The states at the end: a batch, or a single one for a single environment."""
        return self.rollout.end

    def backward(
        self,
        *,
        qpos: npt.ArrayLike | None = None,
        qvel: npt.ArrayLike | None = None,
        observations: npt.ArrayLike | None = None,
    ) -> SegmentGradient:
        """The gradient of a loss from its derivatives by :attr:`qpos`, :attr:`qvel` and :attr:`observations`.

        >>> import carom.gym, numpy as np
        >>> env = carom.gym.make("cartpole")
        >>> _ = env.reset(seed=1)
        >>> segment = env.segment(np.zeros((10, 1)))
        >>> gradient = segment.backward(qpos=2 * segment.qpos)  # of the sum of all squares
        >>> gradient.actions.shape, gradient.start.qvel.shape
        ((10, 1), (2,))

        Losses that need bodies, sites or sensors take ``segment.rollout`` and its ``sensordata``, for which the model file
        can name sensors of any of them.
        """
        rows = np.zeros(self._rows.shape)
        at_steps, layout = self._at_steps(rows), self._simulator.model._layout
        wholes = ((qpos, "qpos", self.qpos, layout.qpos), (qvel, "qvel", self.qvel, layout.qvel))
        for given, name, like, place in wholes:
            if given is not None:
                at_steps[..., place] += _bar(given, name, like)
        if observations is not None:
            bars = _bar(observations, "observations", self.observations)
            for index, column in enumerate(self._columns()):
                at_steps[..., column] += bars[..., index]
        gradient = self.rollout.backward(
            qpos=rows[..., layout.qpos], qvel=rows[..., layout.qvel], act=rows[..., layout.act]
        )
        *batch, steps, nu = self._slopes.shape
        of_steps = gradient.controls.reshape(*batch, steps, -1, nu).sum(axis=-2)
        return SegmentGradient(of_steps * self._slopes, gradient)

    def _columns(self) -> list[int]:
        """Where observed numbers are in rows of states."""
        columns: list[int] = []
        for name in self._simulator.task.observation:
            found = self._simulator.quantities.columns_of_state(name)
            if found is None:
                advice = "take segment.qpos and segment.qvel, or a sensor of the model and segment.rollout.sensordata"
                raise ValueError(f"the observation '{name}' is computed from the state and has no gradient here: {advice}")
            columns += found.tolist()
        return columns


def _bar(given: npt.ArrayLike, name: str, like: Array) -> Array:
    bar = np.asarray(given, dtype=np.float64)
    if bar.shape != like.shape:
        raise ValueError(f"{name} has the shape {bar.shape}, expected {like.shape}")
    return bar
