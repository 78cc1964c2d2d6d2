"""Recorded trajectories, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import GradientError
from .state import Array, State

if TYPE_CHECKING:
    from .model import Linearization, Model
    from .parameters import Parameters


class NotFinite(NamedTuple):
    """A trajectory that met a number that is infinite or not a number."""

    trajectory: int
    """Which one of the batch."""
    step: int
    """The step in which it did."""
    message: str
    """The number, by name."""


@dataclass
class Cotangents:
    """Derivatives of a loss by what a rollout recorded: arrays of the same shapes, to be filled.

    ``None`` means that the loss does not look at it. Derivatives by ``qpos`` are by its nq numbers; those in tangent
    space, nv, are taken too.
    """

    qpos: Array | None = field(default_factory=lambda: None)
    qvel: Array | None = field(default_factory=lambda: None)
    act: Array | None = field(default_factory=lambda: None)
    sensordata: Array | None = field(default_factory=lambda: None)


class MotionZeros(Cotangents):
    """Cotangents that are there to be written into, except for those of sensors."""

    qpos: Array
    qvel: Array
    act: Array


class RolloutZeros(MotionZeros):
    """Cotangents that are all there to be written into."""

    sensordata: Array


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a loss by everything that a rollout depends on; a batch has one more dimension in front."""

    qpos: Array
    """By the start configuration, nq numbers: quaternions are treated as four numbers."""
    qpos_tangent: Array
    """The same in tangent space, nv numbers."""
    qvel: Array
    """By the start velocity."""
    act: Array
    """By the activations at the start."""
    mocap_pos: Array
    """By positions of mocap bodies."""
    mocap_quat: Array
    """By orientations of mocap bodies."""
    controls: Array
    """By the controls of every step."""
    norms: Array
    """Length of the derivative by the state before each step and by the last one: how much of the loss hangs on it."""
    _bar: _core.ModelBar = field(repr=False)

    def by(self, parameters: Parameters, theta: npt.ArrayLike | None = None) -> Array:
        """By parameters of the model, summed over the batch; ``theta`` is what the model was made with, if not as it was."""
        return parameters.gradient(self, theta)


@dataclass(frozen=True)
class Change:
    """How a rollout changes along a direction: arrays of the shapes of the rollout's."""

    qpos: Array
    """Of configurations, nq numbers."""
    qpos_tangent: Array
    """The same in tangent space, nv numbers."""
    qvel: Array
    act: Array
    sensordata: Array


class Trajectories:
    """What a trajectory, or a batch of them, has recorded: arrays are read-only views of one block of memory."""

    model: Model
    """The model."""
    start: State
    """The states from which they start."""

    def __init__(
        self, model: Model, start: State, controls: Array, rows: Array, threads: int | None
    ) -> None:
        self.model = model
        self.start = start
        self._controls = controls
        self._rows = rows
        self._threads = threads
        rows.flags.writeable = False

    @property
    def batch(self) -> int | None:
        """How many trajectories there are; none for a single one."""
        return self.start.batch

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self._rows.shape[1]) - 1

    def _view(self, numbers: Array) -> Array:
        return numbers[0] if self.batch is None else numbers

    def _part(self, part: slice | int) -> Array:
        return self._view(self._rows[..., part])

    @property
    def time(self) -> Array:
        """Times (s), (batch,) steps + 1."""
        return self._part(0)

    @property
    def qpos(self) -> Array:
        """Configurations, (batch,) steps + 1, nq."""
        return self._part(self.model._layout.qpos)

    @property
    def qvel(self) -> Array:
        """Velocities, (batch,) steps + 1, nv."""
        return self._part(self.model._layout.qvel)

    @property
    def act(self) -> Array:
        """Activations, (batch,) steps + 1, na."""
        return self._part(self.model._layout.act)

    @property
    def controls(self) -> Array:
        """Controls of each step, (batch,) steps, nu."""
        shape = (self._rows.shape[0], self.steps, self.model.nu)
        return self._view(np.broadcast_to(self._controls, shape))

    def state(self, step: int) -> State:
        """The state before a step, with memory of its own; ``-1`` is the last one."""
        rows, mocap = self._view(self._rows[:, step]), self.start._mocap
        return State(self.model._layout, rows.copy(), mocap.copy())

    @property
    def end(self) -> State:
        """The last state, from which it can go on."""
        return self.state(-1)

    def _bar(
        self, numbers: npt.ArrayLike | None, name: str, like: Array, tangent: int | None = None
    ) -> Array | None:
        """Derivatives in C order, with a batch in front."""
        if numbers is None:
            return None
        given = np.asarray(numbers, dtype=np.float64)
        shapes = [like.shape] if tangent is None else [like.shape, (*like.shape[:-1], tangent)]
        if given.shape not in shapes:
            raise ValueError(f"{name} has the shape {given.shape}, expected {like.shape}")
        if self.batch is None:
            given = given[np.newaxis]
        return np.ascontiguousarray(given)

    def _gradient(self, found: dict[str, Array], bar: _core.ModelBar) -> Gradient:
        """What a backward pass has found, with a batch in front only if there is one."""
        views = {name: self._view(numbers) for name, numbers in found.items()}
        mocap = views.pop("mocap")
        del views["theta"]
        return Gradient(**views, mocap_pos=mocap[..., :3], mocap_quat=mocap[..., 3:], _bar=bar)


class Rollout(Trajectories):
    """A trajectory, or a batch of them: states before each step and at the end, sensor values of each step.

    Arrays are read-only views of one block of memory.

    >>> import carom
    >>> model = carom.Model.load("models/cube.xml")
    >>> start = model.state()
    >>> start.qvel[:3] = [1, 0, -2]
    >>> rollout = model.rollout(start, steps=150)
    >>> rollout.qpos.shape
    (151, 7)

    The gradient of any loss follows from its derivatives by these arrays; here the loss is how far the cube gets.

    >>> loss = rollout.cotangents()
    >>> loss.qpos[-1, 0] = 1.0
    >>> gradient = rollout.backward(loss)
    >>> gradient.qvel.shape
    (6,)
    """

    not_finite: tuple[NotFinite, ...]
    """Trajectories that met numbers that are not finite; empty if all is well."""

    def __init__(
        self,
        model: Model,
        start: State,
        controls: Array,
        rows: Array,
        sensors: Array,
        not_finite: tuple[NotFinite, ...],
        threads: int | None,
    ) -> None:
        super().__init__(model, start, controls, rows, threads)
        self.not_finite = not_finite
        self._sensors = sensors
        sensors.flags.writeable = False

    @property
    def sensordata(self) -> Array:
        """Sensor values of each step, (batch,) steps, nsensordata."""
        return self._view(self._sensors)

    def check(self) -> Rollout:
        """The rollout itself, if all its numbers are finite; otherwise raises :class:`carom.NotFiniteError`."""
        if self.not_finite:
            from .errors import NotFiniteError

            first = self.not_finite[0]
            raise NotFiniteError(f"trajectory {first.trajectory}, step {first.step}: {first.message}")
        return self

    # Derivatives.

    def cotangents(self) -> RolloutZeros:
        """Zeros in the shapes of the rollout's arrays, to be filled with the derivatives of a loss by them."""
        return RolloutZeros(
            qpos=np.zeros(self.qpos.shape),
            qvel=np.zeros(self.qvel.shape),
            act=np.zeros(self.act.shape),
            sensordata=np.zeros(self.sensordata.shape),
        )

    def backward(
        self,
        cotangents: Cotangents | None = None,
        *,
        qpos: npt.ArrayLike | None = None,
        qvel: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        sensordata: npt.ArrayLike | None = None,
    ) -> Gradient:
        """The gradient of a loss from its derivatives by the arrays of the rollout, by one pass from its end to its start.

        Derivatives are given together (:meth:`cotangents`) or one by one.

        >>> import carom, numpy as np
        >>> model = carom.Model.load("models/cartpole.xml")
        >>> rollout = model.rollout(controls=np.zeros((4, 20, 1)))
        >>> gradient = rollout.backward(qpos=2 * (rollout.qpos - 1.0))
        >>> gradient.controls.shape
        (4, 20, 1)
        """
        bars = Cotangents() if cotangents is None else cotangents
        given = (qpos, qvel, act, sensordata)
        of_object = (bars.qpos, bars.qvel, bars.act, bars.sensordata)
        chosen = [one if one is not None else other for one, other in zip(given, of_object)]
        self._check_finite()
        by_sensors = self._bar(chosen[3], "sensordata", self.sensordata)
        found, bar = _core.backward(
            [self.model._native],
            self._rows,
            self.start._rows(),
            self._controls,
            self._bar(chosen[0], "qpos", self.qpos, self.model.nv),
            self._bar(chosen[1], "qvel", self.qvel),
            self._bar(chosen[2], "act", self.act),
            # Sensors are computed again, which costs, only for losses that look at them.
            by_sensors if np.any(by_sensors) else None,
            None,
            self._threads,
        )
        return self._gradient(found, bar)

    def jvp(
        self,
        *,
        qpos: npt.ArrayLike | None = None,
        qvel: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        controls: npt.ArrayLike | None = None,
        parameters: tuple[Parameters, npt.ArrayLike] | None = None,
        theta: npt.ArrayLike | None = None,
    ) -> Change:
        """How the rollout changes along a direction of start state, controls and parameters.

        ``parameters`` is a pair: parameters, and the direction of their θ; ``theta`` is what the model was made with, if
        not as it was.

        >>> import carom
        >>> model = carom.Model.load("models/cube.xml")
        >>> rollout = model.rollout(steps=10)
        >>> change = rollout.jvp(qvel=[0, 0, 1, 0, 0, 0])
        >>> round(float(change.qpos[-1, 2]), 3)
        0.02
        """
        self._check_finite()
        along = None
        if parameters is not None:
            chosen, direction = parameters
            along = chosen._direction(theta, direction)
        start = self.start
        found = _core.jvp(
            self.model._native,
            self._rows,
            start._rows(),
            self._controls,
            self._bar(qpos, "qpos", start.qpos, self.model.nv),
            self._bar(qvel, "qvel", start.qvel),
            self._bar(act, "act", start.act),
            self._bar(controls, "controls", self.controls),
            along,
            self._threads,
        )
        return Change(**{name: self._view(numbers) for name, numbers in found.items()})

    def linearize(self) -> Linearization:
        """The Jacobians of every step, in tangent space: A of shape (batch,) steps, n, n with n = 2·nv + na, and B."""
        batch = self._rows.shape[0]
        rows = self._rows[:, :-1].reshape(batch * self.steps, -1)
        layout = self.model._layout
        mocap = np.repeat(self.start._rows()[1], self.steps, axis=0)
        states = State(layout, rows, mocap.reshape(len(rows), layout.nmocap, 7))
        controls = np.broadcast_to(self._controls, (batch, self.steps, self.model.nu))
        found = self.model.linearize(states, controls.reshape(-1, self.model.nu), threads=self._threads)
        shaped = (one.reshape(batch, self.steps, *one.shape[1:]) for one in found)
        return type(found)(*(self._view(one) for one in shaped))

    def _check_finite(self) -> None:
        if self.not_finite:
            first = self.not_finite[0]
            message = f"the trajectory is not finite from step {first.step} on: {first.message}"
            raise GradientError(message, first.trajectory)

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"batch of {self.batch}, "
        return f"<carom.Rollout: {batch}{self.steps} steps>"
