"""Motion in continuous time, followed to a tolerance, with the gradient of the motion itself.

Steps end where contacts and limits begin or cease to act, and derivatives know that these times move. Gradients of fixed steps
(:meth:`carom.Model.rollout`) do not: they are exact for the steps, and may be far from those of the motion.

>>> import carom
>>> model = carom.Model.load("models/cube.xml")
>>> start = model.state()
>>> start.qpos[2] = 0.1
>>> motion = carom.flow.follow(model, start, seconds=0.2)
>>> motion.status
'done'
>>> any(onset.begins for onset in motion.onsets)
True
>>> loss = motion.cotangents()
>>> loss.qvel[-1, 2] = 1.0
>>> motion.backward(loss).qpos.shape
(7,)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .rollout import Cotangents, Gradient, MotionZeros, Trajectories
from .state import Array, State

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Stored:
    """Gradients by the steps of the motion, all of which are stored."""

    def _pair(self) -> tuple[str, float]:
        return ("stored", 0.0)


@dataclass(frozen=True)
class Checkpointed:
    """Gradients by the steps of the motion within a budget of memory; the others are taken again, with the same bits."""

    bytes: int
    """The budget."""

    def _pair(self) -> tuple[str, float]:
        return ("checkpointed", float(self.bytes))


@dataclass(frozen=True)
class Continuous:
    """Gradients by the equation of the cotangents along the stored motion, with steps of their own."""

    tolerance: float = 1e-6
    """Allowed error of a step, relative to the largest cotangent."""

    def _pair(self) -> tuple[str, float]:
        return ("continuous", self.tolerance)


@dataclass(frozen=True)
class Backsolve:
    """As :class:`Continuous`, along the motion followed backwards from its end. Fragile: for smooth motions without damping."""

    tolerance: float = 1e-6
    """Allowed error of a step, relative to the largest cotangent."""

    def _pair(self) -> tuple[str, float]:
        return ("backsolve", self.tolerance)


Adjoint = Union[Stored, Checkpointed, Continuous, Backsolve]
"""How gradients are computed."""


@dataclass(frozen=True)
class Settings:
    """How to follow a motion."""

    method: Literal["tsit5", "dopri5", "dopri8", "bosh3", "heun", "midpoint", "ralston", "implicit"] = "tsit5"
    """The method; ``implicit`` is for very stiff contacts."""
    tolerance: float = 1e-7
    """Allowed error, absolute and relative, of all quantities that have none of their own."""
    position: tuple[float, float] | None = None
    """Absolute and relative tolerance of positions (m, rad)."""
    velocity: tuple[float, float] | None = None
    """Absolute and relative tolerance of velocities."""
    activation: tuple[float, float] | None = None
    """Absolute and relative tolerance of activations."""
    longest_step: float = 0.05
    """Longest step (s)."""
    most_steps: int = 100_000
    """Most steps in an interval, rejected ones included."""
    adjoint: Adjoint = field(default_factory=Stored)
    """How gradients are computed."""

    def _dict(self) -> dict[str, Any]:
        both = (self.tolerance, self.tolerance)
        options: dict[str, Any] = {
            "method": self.method,
            "longest_step": self.longest_step,
            "most_steps": self.most_steps,
            "adjoint": self.adjoint._pair(),
        }
        for name in ("position", "velocity", "activation"):
            pair = getattr(self, name) or both
            if not all(np.isfinite(number) and number > 0 for number in pair):
                raise ValueError(f"tolerances of {name}s are positive numbers, not {pair}")
            options[name] = list(pair)
        return options


class Onset(NamedTuple):
    """A contact or limit that begins or ceases to act."""

    time: float
    """When (s)."""
    what: str
    """What, by name."""
    begins: bool
    """Whether it begins."""
    rate: float
    """Rate of the distance there (m/s or rad/s)."""
    grazes: bool
    """Whether the rate is too small for a derivative: the motion hardly touches."""
    is_held: bool
    """Whether the contact has chattered and is held on its surface from there on."""


class Motion(Trajectories):
    """A motion, or a batch of them: states at the start and at the ends of intervals. What was not reached is NaN."""

    def __init__(
        self,
        model: Model,
        start: State,
        controls: Array,
        rows: Array,
        motions: _core.Motions,
        threads: int | None,
    ) -> None:
        super().__init__(model, start, controls, rows, threads)
        self._motions = motions

    @property
    def is_done(self) -> bool:
        """Whether all motions were followed to their ends."""
        return all(done for done, _ in self._motions.status)

    @property
    def status(self) -> str | list[str]:
        """How the motion ended, in a sentence; a list of them for a batch."""
        found = [sentence for _, sentence in self._motions.status]
        return found[0] if self.batch is None else found

    @property
    def onsets(self) -> list[Onset]:
        """Contacts and limits that began or ceased to act, of a single motion."""
        if self.batch is not None:
            raise ValueError("onsets are those of a single motion: onsets_of(index)")
        return self.onsets_of(0)

    def onsets_of(self, index: int) -> list[Onset]:
        """Contacts and limits that began or ceased to act in one motion of a batch."""
        return [Onset(*found) for found in self._motions.onsets(self.model._native, index)]

    @property
    def work(self) -> list[tuple[int, int, int]]:
        """Of each motion: steps taken, steps rejected, evaluations of the acceleration."""
        return self._motions.work

    def cotangents(self) -> MotionZeros:
        """Zeros in the shapes of the motion's arrays, to be filled with the derivatives of a loss by them."""
        return MotionZeros(
            qpos=np.zeros(self.qpos.shape),
            qvel=np.zeros(self.qvel.shape),
            act=np.zeros(self.act.shape),
        )

    def backward(
        self,
        cotangents: Cotangents | None = None,
        *,
        qpos: npt.ArrayLike | None = None,
        qvel: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
    ) -> Gradient:
        """The gradient of a loss from its derivatives by the states at the ends of intervals."""
        bars = Cotangents() if cotangents is None else cotangents
        if bars.sensordata is not None:
            raise ValueError("a motion in continuous time records no sensors")
        given = (qpos, qvel, act)
        of_object = (bars.qpos, bars.qvel, bars.act)
        chosen = [one if one is not None else other for one, other in zip(given, of_object)]
        by_states: _core._Bars = {
            "qpos": self._bar(chosen[0], "qpos", self.qpos, self.model.nv),
            "qvel": self._bar(chosen[1], "qvel", self.qvel),
            "act": self._bar(chosen[2], "act", self.act),
            "sensors": None,
        }
        found, bar = _core.backward_of_motions(
            self.model._native, self._motions, self._recorded(), by_states, None, self._threads
        )
        return self._gradient(found, bar)

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"batch of {self.batch}, "
        return f"<carom.flow.Motion: {batch}{self.steps} intervals, {self.status}>"


def follow(
    model: Model,
    state: State | None = None,
    controls: npt.ArrayLike | None = None,
    *,
    seconds: float,
    intervals: int | None = None,
    settings: Settings | None = None,
    threads: int | None = None,
) -> Motion:
    """Follows motions for some seconds, in equal intervals with controls of their own; a batch over threads.

    ``controls`` has the shape (nu,) for constant ones, (intervals, nu), or (batch, intervals, nu).
    """
    if not (np.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{seconds} is not a length of time")
    if intervals is None and (controls is None or np.ndim(controls) == 1):
        intervals = 1
    start, given, count = model._given(state, controls, intervals)
    if count == 0:
        raise ValueError("there must be an interval")
    options = (Settings() if settings is None else settings)._dict()
    pieces = (seconds / count, count)
    rows, motions = _core.follow(model._native, model._rows_of(start), given, pieces, options, threads)
    return Motion(model, start, given, rows, motions, threads)
