"""From recordings to a calibrated model."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path as _Path
from typing import Any, Literal, NamedTuple, Union

from . import _core, _given
from ._recordings import Mappings, Recordings, as_json, bind, model_of
from .errors import _in_python
from .evaluation import _numbers, tolerance_of
from .model import Model, Path
from .state import Array
from .view import Page, _in_notebook

Free = Union[str, Mapping[str, Any]]
"""A selector such as ``geom.cube.size log tied``, or a dict with ``select``, ``bounds``, ``prior``, ``start``, …"""


class Progress(NamedTuple):
    """How far a search is."""

    evaluations: int
    """Evaluations of the loss so far."""
    loss: float
    """The lowest so far; nan with a note."""
    note: str
    """Something to say, or empty."""


class Estimate(NamedTuple):
    """A parameter that was identified."""

    name: str
    unit: str
    """Its unit; ``1`` for plain numbers."""
    start: float
    """The model's own value."""
    value: float
    """The value found."""
    standard_error: float
    """Infinite if the recordings do not tell."""
    interval: tuple[float, float]
    """Ends of its confidence interval."""
    at_bound: bool
    """Whether it lies at a bound: the interval is then only how far it could move."""


class ErrorChange(NamedTuple):
    """Mean errors of the model at the start, and of the calibrated one."""

    before: dict[str, float]
    after: dict[str, float]
    floor: dict[str, float] | None = None
    """What the calibrated model would score if it were right; none where nothing is known of the noise."""


class Reason(NamedTuple):
    """Something that speaks against an answer."""

    grade: str
    """The best grade that it leaves: ``doubtful`` or ``no success``."""
    rule: str
    """The rule that found it, such as ``residuals``, ``held_out``, ``naive`` or ``plausibility``."""
    words: str
    """What it is."""


class Identification:
    """What an identification found: values with intervals, what they are worth, and the calibrated model.

    A notebook shows it as a table.
    """

    estimates: tuple[Estimate, ...]
    """The parameters, in the order of ``free``."""
    warnings: tuple[str, ...]
    """What looks wrong with the recordings, what they do not tell, and how far the numbers can be trusted."""
    interrupted: bool
    """Whether Ctrl-C ended it: the values are the best that were met until then."""
    refusal: str | None
    """Why the calibrated model is no success; none if it may be used, be it with doubts."""
    grade: str
    """``success``, ``doubtful`` or ``no success``."""
    reasons: tuple[Reason, ...]
    """What speaks against the answer, the worst first; empty for a success."""

    def __init__(self, core: _core.Identification) -> None:
        """For internal use: :func:`identify` makes one."""
        self._core = core
        self._document: dict[str, Any] = json.loads(core.document)
        self.estimates = tuple(Estimate(*one) for one in core.estimates)
        self.warnings = (*core.warnings, *map(_in_python, core.remarks))
        self.interrupted = core.is_interrupted
        refusal = core.refusal
        self.refusal = None if refusal is None else _in_python(refusal)
        verdict = self._document["verdict"]
        self.grade = verdict["grade"]
        self.reasons = tuple(Reason(one["grade"], one["rule"], _in_python(one["words"])) for one in verdict["reasons"])

    # The parameters.

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of one parameter."""
        for one in self.estimates:
            if one.name == name:
                return one
        raise KeyError(f"no parameter '{name}'; {_given.nearest(name, (one.name for one in self.estimates))}")

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def values(self) -> dict[str, float]:
        """Values by name, in the units of the model."""
        return {one.name: one.value for one in self.estimates}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard errors by name."""
        return {one.name: one.standard_error for one in self.estimates}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Confidence intervals by name; :attr:`confidence` says with which probability they hold the truth."""
        return {one.name: one.interval for one in self.estimates}

    @property
    def confidence(self) -> float:
        """With which probability an interval holds the truth."""
        return float(self._document["confidence"])

    @property
    def covariance(self) -> Array:
        """The covariance of θ, the parameters as their transforms have them."""
        return self._core.covariance

    # What they are worth.

    @property
    def success(self) -> bool:
        """Whether nothing speaks against the answer; :attr:`reasons` say what does."""
        return self.grade == "success"

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.reasons:
            return f"{self.grade}: {self.reasons[0].words}"
        where = "the recordings of the fit"
        where += " and on those held out" if self.held_out else "; held_out= shows whether it holds beyond them"
        return f"better than the start on {where}"

    @property
    def fitted(self) -> ErrorChange:
        """Mean errors on the recordings of the fit."""
        return _change(self._document["fit"])

    @property
    def held_out(self) -> ErrorChange | None:
        """Mean errors on recordings that the fit did not know; none if there were none."""
        found = self._document["validation"]
        return None if found is None else _change(found)

    @property
    def loss(self) -> tuple[float, float]:
        """The loss at the start and at the end."""
        return self._document["loss"]["before"], self._document["loss"]["after"]

    @property
    def text(self) -> str:
        """All of it for people, as ``carom identify`` prints it."""
        return self._core.text

    def to_dict(self) -> dict[str, Any]:
        """All of it for programs, as ``carom identify --json`` prints it; what is not finite is None."""
        found: dict[str, Any] = json.loads(self._core.document)
        return found

    # What follows.

    @property
    def model(self) -> Model:
        """The calibrated model."""
        return Model(self._core.model())

    def to_mjcf(self) -> str:
        """The calibrated model (MJCF) as it reads in the folder of the model it comes from.

        It is that model's file with other numbers: comments, defaults, includes and mesh files stay. An include in which
        a number changes is replaced by its content. A model from a URDF file, or from MuJoCo, is written whole.
        """
        return self._core.mjcf(None)

    def save(self, path: Path) -> _Path:
        """Writes the calibrated model (MJCF); the file is complete or not there, and never an input of the identification.

        Meshes and includes stay where they are, and are found from the new file.
        """
        return Page(self._core.mjcf(_Path(path)), self._core.files).save(path)

    def report(self, path: Path) -> _Path:
        """Writes the report, one page for any browser; the file is complete or not there, and never an input."""
        return Page(self._core.page(), self._core.files).save(path)

    def __repr__(self) -> str:
        values = ", ".join(f"{one.name} {one.value:.4g}" for one in self.estimates)
        return f"<carom.Identification: {values}; {'interrupted; ' * self.interrupted}{self.verdict}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(one.name)}</code></td><td>{one.start:.5g}</td><td><b>{one.value:.5g}</b></td>"
            f"<td>{one.standard_error:.2g}</td><td>{one.interval[0]:.5g} … {one.interval[1]:.5g}</td>"
            f"<td>{escape('' if one.unit == '1' else one.unit)}</td></tr>"
            for one in self.estimates
        )
        head = f"<th>parameter</th><th>start</th><th>value</th><th>standard error</th><th>{100 * self.confidence:g} % interval</th><th>unit</th>"
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        verdict = f"{'Interrupted; ' * self.interrupted}{self.verdict}"
        return f"<p>{escape(verdict)}</p><table><tr>{head}</tr>{rows}</table>" + (f"<ul>{warnings}</ul>" if warnings else "")


def _change(found: Mapping[str, Any]) -> ErrorChange:
    floor = found["floor"]
    return ErrorChange(
        _numbers(found["before"]), _numbers(found["after"]), None if floor is None else _numbers(floor["errors"])
    )


class _Line:
    """A line that says how far the search is, in terminals and notebooks."""

    def __init__(self) -> None:
        self._stream = sys.stdout if _in_notebook() else sys.stderr
        self._is_shown = _in_notebook() or self._stream.isatty()
        self._width = 0
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        if not self._is_shown:
            return
        if progress.note:
            self.clear()
            self._stream.write(f"note: {progress.note}\n")
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 0.1
        text = f"{progress.evaluations} evaluations, loss {progress.loss:.6e}"
        self._stream.write(f"\r{text:{self._width}}")
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        if self._is_shown and self._width:
            self._stream.write(f"\r{'':{self._width}}\r")
            self._stream.flush()


def identify(
    model: Model | Path,
    recordings: Recordings,
    *,
    free: Free | Sequence[Free] = (),
    preset: str | None = None,
    mapping: Mappings = None,
    noise: Mapping[str, float] | None = None,
    held_out: Recordings | None = None,
    settings: Path | Mapping[str, Any] | None = None,
    residual: Literal["prediction", "torque", "both"] | None = None,
    loss: str | None = None,
    segments: int | None = None,
    free_initial_states: bool = False,
    initial_state_draws: int | None = None,
    tolerance: float | None = None,
    optimiser: str | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    anyway: bool = False,
    profiles: bool | None = None,
    folds: int | None = None,
    recovery: int | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool = True,
    free_starts: bool = False,
    start_draws: int | None = None,
) -> Identification:
    """Finds the parameters of a model with which it moves as recorded, to the same bits as ``carom identify``.

    Before the search, every free parameter must show in the recordings, and all must be identifiable together. After it, every parameter has an
    interval, and the calibrated model is replayed. Ctrl-C ends the search and returns the best so far, marked as interrupted.

    >>> import carom
    >>> model = carom.Model.load("models/pendulum.xml")
    >>> damping = model.parameters("joint.pivot.damping[0]")
    >>> hidden = damping.apply([0.03])
    >>> swing = hidden.rollout(hidden.state("horizontal"), steps=300)
    >>> recording = {"time": swing.time[::5], "qpos": swing.qpos[::5], "qvel": swing.qvel[::5]}
    >>> found = carom.identify(model, recording, free=["joint.pivot.damping[0]"])
    >>> found.success, round(found.values["joint.pivot.damping[0]"], 6)
    (True, 0.03)
    >>> calibrated = found.model

    Args:
        model: A model, or the path of its file.
        recordings: Files or dicts of arrays by name, one or a list; see :func:`carom.evaluate`.
        free: Parameters to find: ``"geom.cube.size log tied"``, or dicts such as ``{"select": "geom.cube.size", "bounds": [0.01, 0.1], "prior":
            {"mean": 0.05, "sd": 0.01}}``.
        preset: Parameters that are often found together: ``contact`` (friction, time constant and damping ratio, from throws),
            ``contact-pairs``, ``contact-all``, ``contact-pairs-all``.
        mapping: What arrays of other names are: a mapping file, a dict of the same form, or what :func:`carom.map` proposes.
        noise: Standard deviations of the noise by the names of the arrays, where there is no mapping: ``{"qpos": 1e-3}``.
        held_out: Recordings that the fit does not know, to measure errors before and after.
        settings: A settings file (TOML), or a dict of the same form; arguments here go before it.
        residual: What is compared: ``prediction`` (motions), ``torque`` (torques of joints by inverse dynamics, where the mapping has a table
            ``torque``), or ``both``.
        loss: ``likelihood``, ``distance_and_angle``, ``squared_poses`` or ``absolute``.
        segments: Compare segments of so many frames instead of whole trajectories.
        free_initial_states: Estimate the initial state of every trajectory too, near the recorded one.
        initial_state_draws: Simulate from so many initial states within the noise of the recorded one, and make the mean loss small.
        tolerance: Simulate in continuous time to this tolerance instead of by the model's time steps.
        optimiser: ``auto``, ``lm``, ``lbfgs``, ``adam``, ``nelder-mead``, ``cmaes``, ``cem``, ``multi-start``, ``basin-hopping`` or ``islands``.
        evaluations: Most evaluations of the loss.
        seconds: Longest search (s).
        seed: Of the random numbers of global searches.
        anyway: Fit although the recordings do not identify some parameters.
        profiles: Follow profile likelihoods; where they take little, if not given.
        folds: Fit again without each of so many parts of the trajectories, and measure errors on the part that was left out.
        recovery: Identify so many synthetic sets that the calibrated model makes, and see whether its parameters are found.
        checkpoint: Store the search in this file after every step.
        resume: Go on from the checkpoint, if there is one.
        threads: Threads; all cores if not given. The numbers do not depend on it.
        progress: Called with a :class:`Progress` after every step; True for a line in terminals and notebooks, False for none.
        free_starts: The older name of ``free_initial_states``.
        start_draws: The older name of ``initial_state_draws``.

    Raises:
        carom.RecordingError: A recording or mapping that cannot be used.
        carom.ParameterError: A parameter that does not exist, or cannot be free.
        carom.NotIdentifiableError: The recordings do not identify the parameters; ``motions`` says what to record.
        carom.IdentificationError: What is asked does not go together, or cannot be simulated.
    """
    compiled = model_of(model)
    bound = bind(compiled, recordings, mapping, noise)
    others = None if held_out is None else bind(compiled, held_out, mapping, noise, "held_out")
    wanted = [free] if isinstance(free, (str, Mapping)) else list(free)
    for one in wanted:
        if not isinstance(one, (str, Mapping)):
            raise TypeError(f"free: a selector such as 'geom.cube.size' or a dict with 'select' is needed, not {one!r}")
    residuals = (None, "prediction", "torque", "both")
    if residual not in residuals:
        raise ValueError(f"residual: one of 'prediction', 'torque' and 'both' is needed, not {residual!r}")
    free_initial_states = free_initial_states or free_starts
    draws = start_draws if initial_state_draws is None else initial_state_draws
    counts = {
        "segments": segments,
        "initial_state_draws": draws,
        "evaluations": evaluations,
        "folds": folds,
        "recovery": recovery,
    }
    is_path = isinstance(settings, (str, os.PathLike))
    asked = {
        **{name: None if count is None else _given.count(count, name, 1) for name, count in counts.items()},
        "settings_file": settings if is_path else None,
        "settings": None if is_path else settings,
        "free": wanted,
        "preset": preset,
        "residual": residual,
        "loss": loss,
        "free_initial_states": bool(free_initial_states),
        "tolerance": tolerance_of(tolerance),
        "optimiser": optimiser,
        "seconds": _seconds(seconds),
        "seed": None if seed is None else _given.count(seed, "seed"),
        "anyway": bool(anyway),
        "profiles": profiles,
        "checkpoint": checkpoint,
        "resume": bool(resume),
    }
    if free_initial_states and draws is not None:
        raise ValueError("initial states are either free or drawn: leave out free_initial_states, or initial_state_draws")
    line = _Line()
    tell: Callable[[Progress], object] | None = progress if callable(progress) else line if progress else None
    hear = None if tell is None else (lambda count, lowest, note: tell(Progress(count, lowest, note)))
    try:
        found = _core.identify(
            compiled._native, bound, others, as_json(asked, "identify"), hear, _given.threads(threads)
        )
    finally:
        line.clear()
    return Identification(found)


def _seconds(given: float | None) -> float | None:
    if given is None or 0 < given < float("inf"):
        return given
    raise ValueError(f"seconds is above 0, not {given}")
