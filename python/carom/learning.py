"""Learned terms: small functions that give a model the forces it lacks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path as _Path
from typing import Any, NamedTuple, Union

from . import _core, _given
from ._recordings import Mappings, Recordings, bind, model_of
from .identification import Progress, _Line
from .model import Model, Path

Blueprint = Union[Path, Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""A blueprint file, a dict of the same form, or a list of its terms."""


class Stage(NamedTuple):
    """A search of a training."""

    frames: int
    """Frames of its segments."""
    search: str
    evaluations: int
    before: float
    after: float
    """The loss before and after."""
    end: str
    """Why it ended."""


class Training:
    """A model with trained terms, as ``carom learn terms`` makes it."""

    stages: tuple[Stage, ...]
    """The searches, in order."""
    weights: int
    """How many weights the terms have."""
    parameters: dict[str, tuple[float, float]]
    """Parameters of the model that were found with the weights: before and after."""
    held_out: tuple[float, float] | None
    """The loss of held-out recordings before and after, where there are some."""
    interrupted: bool
    """Whether Ctrl-C ended it: the weights are the best until then."""

    def __init__(self, core: _core.Trained) -> None:
        """For internal use: :func:`learn_terms` makes one."""
        self._core = core
        document = json.loads(core.document)
        self.stages = tuple(
            Stage(one["frames"], one["search"], one["evaluations"], one["loss_before"], one["loss_after"], one["end"])
            for one in document["horizons"]
        )
        self.weights = document["weights"]
        self.parameters = {one["name"]: (one["before"], one["after"]) for one in document["parameters"]}
        held_out = document["validation"]
        self.held_out = None if held_out is None else (held_out["before"], held_out["after"])
        self.interrupted = document["interrupted"]

    @property
    def model(self) -> Model:
        """The model with its terms."""
        return Model(self._core.model())

    def save(self, path: Path) -> _Path:
        """Writes the model file, and its weights beside it in a file of the same name that ends with .safetensors."""
        self._core.save(os.fspath(path))
        return _Path(path)

    def to_dict(self) -> dict[str, Any]:
        """All of it for programs, as ``carom learn terms --json`` prints it."""
        found: dict[str, Any] = json.loads(self._core.document)
        return found

    def __repr__(self) -> str:
        last = f"loss {self.stages[0].before:.4g} to {self.stages[-1].after:.4g}" if self.stages else "nothing trained"
        return f"<carom.Training: {self.weights} weights, {last}{'; interrupted' * self.interrupted}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{one.frames}</td><td>{escape(one.search)}</td><td>{one.before:.4g}</td><td>{one.after:.4g}</td>"
            f"<td>{one.evaluations}</td><td>{escape(one.end)}</td></tr>"
            for one in self.stages
        )
        head = "<tr><th>frames</th><th>search</th><th>loss before</th><th>after</th><th>evaluations</th><th>end</th></tr>"
        return f"<p>{self.weights} weights</p><table>{head}{rows}</table>"


def _toml(tables: Mapping[str, Any]) -> str:
    """The tables of a blueprint as the text of its file."""
    lines: list[str] = []
    for name, found in tables.items():
        listed = isinstance(found, Sequence)
        for table in found if listed else [found]:
            lines.append(f"[[{name}]]" if listed else f"[{name}]")
            lines.extend(f"{key} = {json.dumps(_given.plain(value))}" for key, value in table.items() if value is not None)
    return "\n".join(lines)


def learn_terms(
    model: Model | Path,
    recordings: Recordings,
    blueprint: Blueprint,
    *,
    mapping: Mappings = None,
    noise: Mapping[str, float] | None = None,
    held_out: Recordings | None = None,
    free: Sequence[str] = (),
    horizons: Sequence[int] = (),
    evaluations: int | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool = True,
) -> Training:
    """Gives a model terms and trains them through the simulation, as ``carom learn terms`` does.

    Ctrl-C ends the training and keeps the best weights so far.

    >>> import carom
    >>> text = open("models/pendulum.xml").read()
    >>> real = carom.Model.from_string(text.replace('damping="0.01"', 'damping="0.2"'))
    >>> swing = real.rollout(real.state("horizontal"), steps=200)
    >>> run = {"time": swing.time, "qpos": swing.qpos, "qvel": swing.qvel}
    >>> drag = {"name": "drag", "target": "joint.pivot.force", "inputs": ["joint.pivot.velocity"], "form": "polynomial"}
    >>> drag |= {"degree": 1, "odd": drag["inputs"]}
    >>> found = carom.learn_terms("models/pendulum.xml", run, [drag], evaluations=30, progress=False)
    >>> found.stages[-1].after < found.stages[0].before
    True

    Args:
        model: A model, or the path of its file.
        recordings: As in :func:`carom.identify`.
        blueprint: Which terms, and how they are trained: a blueprint file, a dict of the same form, or a list of terms.
        mapping: What arrays of other names are: a mapping file, a dict of the same form, or what :func:`carom.map` proposes.
        noise: Standard deviations of arrays that need no mapping.
        held_out: Recordings that say when training gets no better; part of ``recordings`` if not given.
        free: Parameters of the model that are found with the weights.
        horizons: Frames of the segments that are predicted, one after the other.
        evaluations: Most evaluations over each horizon.
        checkpoint: Where training is stored after every round.
        resume: Go on from the checkpoint, if there is one.
        threads: How many to use; all cores if not given.
        progress: Whether a line shows how far it is, or a function that is told.
    """
    own = model_of(model)
    bound = bind(own, recordings, mapping, noise)
    others = None if held_out is None else bind(own, held_out, mapping, noise, "held_out")
    if isinstance(blueprint, (str, os.PathLike)):
        given: str | tuple[str, str] = os.fspath(blueprint)
    else:
        given = ("blueprint", _toml(blueprint if isinstance(blueprint, Mapping) else {"term": list(blueprint)}))
    asked: _core._Learning = {
        "free": list(free),
        "horizons": [_given.count(frames, "horizons") for frames in horizons],
        "evaluations": None if evaluations is None else _given.count(evaluations, "evaluations"),
        "checkpoint": None if checkpoint is None else os.fspath(checkpoint),
        "resume": bool(resume),
        "threads": _given.threads(threads),
    }
    line = _Line() if progress is True else None
    hear = line if progress is True else progress if callable(progress) else None
    told = None if hear is None else lambda count, loss, note: hear(Progress(count, loss, note))
    try:
        core = _core.learn_terms(own._native, (bound, others), given, asked, told)
    finally:
        if line is not None:
            line.clear()
    return Training(core)
