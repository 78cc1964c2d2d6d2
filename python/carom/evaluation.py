"""Errors of a model on recordings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

from . import _core, _given
from ._recordings import Mappings, Recordings, bind, model_of
from .model import Model, Path


class TrajectoryErrors(NamedTuple):
    """Errors on one trajectory."""

    label: str
    """The recording it comes from."""
    frames: int
    """Frames that were compared."""
    windows: int
    """Simulations."""
    errors: dict[str, float]
    """Mean errors; nan where nothing was compared."""
    failure: str | None
    """Why it has none."""
    steps_outside_training: int = 0
    """Steps in which a learned term had an input outside of the range that it was trained on."""


class Evaluation:
    """How far a model is from recordings, as ``carom evaluate`` measures it.

    A notebook shows it as a table.
    """

    errors: dict[str, float]
    """Mean errors over all trajectories, by name; :attr:`units` has their units."""
    units: dict[str, str]
    """Their units; empty for plain numbers."""
    trajectories: tuple[TrajectoryErrors, ...]
    """Errors of every trajectory."""
    floor: dict[str, float] | None
    """What the model would score if it were right, from initial states with the noise of the recordings; none where nothing is known of it."""
    windows: str | None
    """Why windows were measured where whole runs diverge; none if they do not, or if the windows are yours."""
    warnings: tuple[str, ...]
    """What looks wrong with the recordings."""

    def __init__(self, document: dict[str, Any], metrics: list[tuple[str, str, str]]) -> None:
        """For internal use: :func:`evaluate` makes one."""
        self.errors = _numbers(document["total"])
        self.units = {name: unit for name, unit, _ in metrics}
        self.trajectories = tuple(
            TrajectoryErrors(
                one["label"], one["frames"], one["windows"], _numbers(one["errors"]), one["failure"], one["steps_outside_training"]
            )
            for one in document["trajectories"]
        )
        floor, windows = document["floor"], document["windows"]
        self.floor = None if floor is None else _numbers(floor["errors"])
        self.windows = None if windows is None else windows["because"]
        self.warnings = tuple(document["warnings"])
        self._heads = {name: head for name, _, head in metrics}

    @property
    def failures(self) -> tuple[TrajectoryErrors, ...]:
        """Trajectories that could not be simulated to their end; they are not in the means."""
        return tuple(one for one in self.trajectories if one.failure is not None)

    def __getitem__(self, metric: str) -> float:
        """The mean of one error."""
        if metric not in self.errors:
            raise KeyError(f"no error '{metric}'; {_given.nearest(metric, self.errors)}")
        return self.errors[metric]

    def _rows(self) -> list[tuple[str, dict[str, float]]]:
        rows = [(one.label, one.errors) for one in self.trajectories]
        return [*rows, (f"mean of {len(self.trajectories) - len(self.failures)}", self.errors)]

    def __repr__(self) -> str:
        means = ", ".join(f"{self._heads[name]} {error:.4g}" for name, error in self.errors.items())
        return f"<carom.Evaluation of {len(self.trajectories)} trajectories: {means}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(self._heads[name])}</th>" for name in self.errors)
        rows = "".join(
            f"<tr><td>{escape(label)}</td>" + "".join(f"<td>{errors[name]:.4g}</td>" for name in self.errors) + "</tr>"
            for label, errors in self._rows()
        )
        return f"<table><tr><th>trajectory</th>{head}</tr>{rows}</table>"


def _numbers(errors: Mapping[str, float | None]) -> dict[str, float]:
    """JSON has no nan: what was not compared is null."""
    return {name: math.nan if error is None else error for name, error in errors.items()}


def evaluate(
    model: Model | Path,
    recordings: Recordings,
    *,
    mapping: Mappings = None,
    window: int | None = None,
    every: int | None = None,
    tolerance: float | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Compares a model with recorded motions, to the same bits as ``carom evaluate``.

    The model is simulated from the recorded start of every trajectory and compared with it at every frame. Where most such runs diverge, windows
    of half a second are simulated instead, and :attr:`Evaluation.windows` says so.

    >>> import carom
    >>> model = carom.Model.load("models/pendulum.xml")
    >>> swing = model.rollout(model.state("horizontal"), steps=100)
    >>> found = carom.evaluate(model, {"time": swing.time, "qpos": swing.qpos, "qvel": swing.qvel})
    >>> found["angle"]
    0.0

    Args:
        model: A model, or the path of its file.
        recordings: Files (.npz, .csv, .mcap), or dicts of arrays by name; one, or a list. Names are ``time`` (s) with ``qpos``, ``qvel``, ``ctrl``
            and ``sensordata`` as carom's own runs have them, or those of elements: ``joint.knee``, ``joint.knee.velocity``,
            ``body.cube.position``, ``body.cube.rotation``, ``site.tip.position``, ``sensor.imu``, ``actuator.motor``.
        mapping: What arrays of other names are: a mapping file, a dict of the same form, or what :func:`carom.map` proposes.
        window: Predict so many frames from each start.
        every: Start every so many frames.
        tolerance: Simulate in continuous time to this tolerance instead of by the model's time steps; that of the file if it was calibrated so.
        threads: Threads; all cores if not given. The numbers do not depend on it.

    Raises:
        carom.RecordingError: A recording or mapping that cannot be used.
    """
    compiled = model_of(model)
    bound = bind(compiled, recordings, mapping)
    frames = None if window is None else _given.count(window, "window", 1)
    apart = None if every is None else _given.count(every, "every", 1)
    text, metrics = _core.evaluate(
        compiled._native, bound, frames, apart, tolerance_of(tolerance), _given.threads(threads)
    )
    return Evaluation(json.loads(text), metrics)


def tolerance_of(given: float | None) -> float | None:
    """A tolerance between 0 and 1."""
    if given is None or 0 < given < 1:
        return given
    raise ValueError(f"tolerance is above 0 and below 1, as 1e-7 is, not {given}")
