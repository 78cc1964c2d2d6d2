"""Recorded trajectories, and their derivatives."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core, _given
from .errors import GradientError
from .state import Array, State
from .view import Page, _opens

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
        if not hasattr(parameters, "gradient"):
            raise TypeError(f"carom.Parameters are needed, not {parameters!r}: model.parameters('geom.*.size') chooses some")
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
        # Gradients are those of the motion as it was.
        for kept in (rows, controls, start._row, start._mocap):
            kept.flags.writeable = False

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
        return State(self.model._layout, rows.copy(), mocap.copy(), self.start._ctrl.copy())

    @property
    def end(self) -> State:
        """The last state, from which it can go on."""
        return self.state(-1)

    def view(
        self,
        *,
        trajectory: int = 0,
        overlay: Trajectories | None = None,
        gradient: Gradient | npt.ArrayLike | None = None,
        browser: bool | None = None,
    ) -> Page:
        """Shows a trajectory: a notebook in the cell, a program in the browser; ``browser`` decides otherwise.

        ``overlay`` is shown as its ghost: the same trajectory of other ones, say those of a fitted model. A ``gradient`` of a loss is
        shown as arrows on the bodies, ∂loss/∂velocity: at the start, or for an array of (states, nv) at each state that it has a
        row for.

        >>> import carom
        >>> model = carom.Model.load("models/cube.xml")
        >>> rollout = model.rollout(steps=150)
        >>> gradient = rollout.backward(qpos=rollout.qpos)
        >>> page = rollout.view(gradient=gradient, browser=False)
        """
        page = self._page(trajectory, overlay, gradient)
        if _opens(browser):
            page.open()
        return page

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        trajectory: int = 0,
        overlay: Trajectories | None = None,
        gradient: Gradient | npt.ArrayLike | None = None,
    ) -> Path:
        """Writes a page that shows a trajectory and needs no network; see :meth:`view`.

        >>> import carom, tempfile, os
        >>> model = carom.Model.load("models/cube.xml")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = model.rollout(steps=150).save_html(os.path.join(folder, "cube.html"))
        ...     path.read_text(encoding="utf-8").count('id="carom-recording"')
        1
        """
        return self._page(trajectory, overlay, gradient).save(path)

    def _page(
        self,
        trajectory: int,
        overlay: Trajectories | None,
        gradient: Gradient | npt.ArrayLike | None,
    ) -> Page:
        motions = [self._motion("run", trajectory, gradient)]
        if overlay is not None:
            motions.append(overlay._motion("overlay", trajectory, None))
        return Page(_core.export_html(self.model._native, motions), self.model._native.files)

    def _motion(
        self, name: str, trajectory: int, gradient: Gradient | npt.ArrayLike | None
    ) -> tuple[str, _core.Model, Array, Array, Array, Array | None]:
        """A trajectory as the page takes it."""
        count = len(self._rows)
        if not -count <= trajectory < count:
            raise IndexError(f"there is no trajectory {trajectory}; there are {count}")
        index = trajectory % count
        arrows = None
        if isinstance(gradient, Gradient):
            arrows = gradient.qvel.reshape(count, -1)[index : index + 1]
        elif gradient is not None:
            given = np.asarray(gradient, dtype=np.float64)
            nv = self.model.nv
            if given.ndim not in (1, 2) or given.shape[-1] != nv:
                raise ValueError(f"gradient has the shape {given.shape}, expected (states, {nv})")
            arrows = given.reshape(-1, nv)
        if arrows is not None:
            arrows = np.ascontiguousarray(arrows)
        mocap = self.start._rows()[1]
        controls = self._controls[min(index, len(self._controls) - 1)]
        return (
            name,
            self.model._native,
            np.ascontiguousarray(self._rows[index]),
            np.ascontiguousarray(mocap[min(index, len(mocap) - 1)]),
            np.ascontiguousarray(controls),
            arrows,
        )

    def _recorded(self) -> _core._Recorded:
        """The trajectories as the engine takes them."""
        return {"states": self._rows, "starts": self.start._rows(), "controls": self._controls}

    def _bar(
        self, numbers: npt.ArrayLike | None, name: str, like: Array, tangent: int | None = None
    ) -> Array | None:
        """Derivatives in C order, with a batch in front."""
        if numbers is None:
            return None
        given = _given.finite(numbers, name)
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

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the trajectory as ``carom sim --out run.npz`` does: the file is complete or not there.

        ``carom view`` shows it, and ``carom.identify`` and ``carom.evaluate`` take it without a mapping. One of a batch is
        ``model.rollout(start[i], controls[i]).save(path)``.

        >>> import carom, tempfile
        >>> model = carom.Model.load("models/pendulum.xml")
        >>> path = model.rollout(model.state("horizontal"), steps=100).save(tempfile.mkdtemp() + "/run.npz")
        >>> carom.evaluate(model, path)["angle"]
        0.0
        """
        if self.batch is not None:
            raise ValueError("a batch is several recordings: save each trajectory on its own")
        if os.fspath(path)[-4:].lower() != ".npz":
            raise ValueError("a recording of carom is named .npz")
        controls = np.asarray(self.controls)
        last = controls[-1:] if len(controls) else np.zeros((1, self.model.nu))
        sensors = np.asarray(self.sensordata)
        missing = len(self.time) - len(sensors)
        results = self.model.forward(self.end, last[0]) if missing else None
        if results is not None:
            sensors = np.concatenate([sensors, results.sensordata[None]])
        arrays: dict[str, Any] = {
            "time": self.time,
            "qpos": self.qpos,
            "qvel": self.qvel,
            "act": self.act,
            "ctrl": np.concatenate([controls, last]),
            "sensordata": sensors,
        }
        for name in ("joint", "actuator", "sensor"):
            arrays[f"{name}_names"] = np.array(self.model.names(name), dtype=np.str_)
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial.npz")
        try:
            np.savez(partial, **arrays)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        return target

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
        if cotangents is not None and not isinstance(cotangents, Cotangents):
            advice = "backward(qpos=...) takes derivatives by one array, rollout.cotangents() makes zeros to be filled"
            raise TypeError(f"carom.Cotangents are needed, not {type(cotangents).__name__}: {advice}")
        bars = Cotangents() if cotangents is None else cotangents
        given = (qpos, qvel, act, sensordata)
        of_object = (bars.qpos, bars.qvel, bars.act, bars.sensordata)
        chosen = [one if one is not None else other for one, other in zip(given, of_object)]
        self._check_finite()
        by_sensors = self._bar(chosen[3], "sensordata", self.sensordata)
        by_states: _core._Bars = {
            "qpos": self._bar(chosen[0], "qpos", self.qpos, self.model.nv),
            "qvel": self._bar(chosen[1], "qvel", self.qvel),
            "act": self._bar(chosen[2], "act", self.act),
            # Sensors are computed again, which costs, only for losses that look at them.
            "sensors": by_sensors if np.any(by_sensors) else None,
        }
        found, bar = _core.backward([self.model._native], self._recorded(), by_states, None, self._threads)
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
        """How the rollout changes along a direction of initial state, controls and parameters.

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
            if not isinstance(parameters, tuple) or len(parameters) != 2:
                raise TypeError("parameters is a pair: carom.Parameters, and the direction of their θ")
            chosen, direction = parameters
            along = chosen._direction(theta, direction)
        start = self.start
        given: _core._Direction = {
            "qpos": self._bar(qpos, "qpos", start.qpos, self.model.nv),
            "qvel": self._bar(qvel, "qvel", start.qvel),
            "act": self._bar(act, "act", start.act),
            "controls": self._bar(controls, "controls", self.controls),
            "model": along,
        }
        found = _core.jvp(self.model._native, self._recorded(), given, self._threads)
        return Change(**{name: self._view(numbers) for name, numbers in found.items()})

    def linearize(self) -> Linearization:
        """The Jacobians of every step, in tangent space: A of shape (batch,) steps, n, n with n = 2·nv + na, and B."""
        batch = self._rows.shape[0]
        rows = self._rows[:, :-1].reshape(batch * self.steps, self._rows.shape[2])
        layout = self.model._layout
        mocap = np.repeat(self.start._rows()[1], self.steps, axis=0)
        states = State(layout, rows, mocap.reshape(len(rows), layout.nmocap, 7))
        controls = np.broadcast_to(self._controls, (batch, self.steps, self.model.nu))
        found = self.model.linearize(states, controls.reshape(len(rows), self.model.nu), threads=self._threads)
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
