"""Which forces a model lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from . import _core, _given
from ._recordings import Mappings, Recordings, bind, model_of
from .identification import Progress, _Line
from .model import Model, Path


class LawNumber(NamedTuple):
    """A number of a law that was found."""

    name: str
    value: float
    error: float | None
    """Its standard error, where it is known."""
    unit: str


class MissingForce(NamedTuple):
    """A force that a model lacks."""

    target: str
    """Where it acts, such as ``joint.elbow.force``."""
    inputs: tuple[str, ...]
    """What it depends on."""
    sentence: str
    """What law it looks like."""
    formula: str
    numbers: tuple[LawNumber, ...]
    model_file: str | None
    """How a model file says it, where it has words for it."""
    share: float
    """Its share of what is missing."""
    better_in: float
    """In which share of the held-out parts of the recordings predictions are better with it."""


class Discovery:
    """Forces that a model lacks, as ``carom discover`` finds them; a notebook shows them as a table."""

    terms: tuple[MissingForce, ...]
    """Missing forces; empty where nothing is missing."""
    words: str
    """The answer in sentences."""
    unexplained: bool
    """Whether no law was found, though the errors are no noise either."""
    errors: tuple[float, float]
    """Held-out errors in units of the noise, without the terms and with them."""
    interrupted: bool
    """Whether Ctrl-C ended the search: the terms are those that were found until then."""

    def __init__(self, document: str, text: str) -> None:
        """For internal use: :func:`discover` makes one."""
        self._document: dict[str, Any] = json.loads(document)
        self.text = text
        self.terms = tuple(
            MissingForce(
                one["target"],
                tuple(one["inputs"]),
                one["sentence"],
                one["formula"],
                tuple(LawNumber(number["name"], number["value"], number["error"], number["unit"]) for number in one["numbers"]),
                one["model_file"],
                one["share"],
                one["better_in"],
            )
            for one in self._document["terms"]
        )
        self.words = self._document["words"]
        self.unexplained = self._document["unexplained"]
        self.errors = (self._document["errors"]["without"], self._document["errors"]["with"])
        self.interrupted = self._document["interrupted"]

    text: str
    """All of it for people, as ``carom discover`` prints it."""

    def to_dict(self) -> dict[str, Any]:
        """All of it for programs, as ``carom discover --json`` prints it."""
        copy: dict[str, Any] = json.loads(json.dumps(self._document))
        return copy

    def __repr__(self) -> str:
        found = "; ".join(f"{one.target}: {one.sentence}" for one in self.terms)
        return f"<carom.Discovery: {found or self.words}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(one.target)}</code></td><td>{escape(one.sentence)}</td>"
            f"<td>{escape(', '.join(f'{number.name} {number.value:.4g} {number.unit}' for number in one.numbers))}</td>"
            f"<td>{100 * one.share:.1f} %</td></tr>"
            for one in self.terms
        )
        head = "<tr><th>where</th><th>law</th><th>numbers</th><th>share</th></tr>"
        return f"<p>{escape(self.words)}</p>" + (f"<table>{head}{rows}</table>" if rows else "")


def discover(
    model: Model | Path,
    recordings: Recordings,
    *,
    mapping: Mappings = None,
    noise: Mapping[str, float] | None = None,
    targets: Sequence[str] = (),
    inputs: Sequence[str] = (),
    samples: int | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool = True,
) -> Discovery:
    """Finds which forces a model lacks, on what they depend, and what law they look like: ``carom discover``.

    The answer may be that nothing is missing. Ctrl-C ends the search and keeps what was found.

    >>> import carom
    >>> text = open("models/pendulum.xml").read()
    >>> real = carom.Model.from_string(text.replace('damping="0.01"', 'damping="0.2"'))
    >>> swing = real.rollout(real.state("horizontal"), steps=800)
    >>> run = {"time": swing.time, "qpos": swing.qpos, "qvel": swing.qvel}
    >>> found = carom.discover("models/pendulum.xml", run, targets=["joint.*.force"], progress=False)
    >>> found.terms[0].inputs
    ('joint.pivot.velocity',)

    Args:
        model: A model, or the path of its file.
        recordings: As in :func:`carom.identify`.
        mapping: What arrays of other names are: a mapping file, a dict of the same form, or what :func:`carom.map` proposes.
        noise: Standard deviations of arrays that need no mapping.
        targets: Where a force may be missing, ``*`` for any letters; otherwise at all joints and on all free bodies.
        inputs: What it may depend on; otherwise positions, velocities and loads of all joints, motions of free bodies, and the time.
        samples: Most transitions between frames that are looked at.
        threads: How many to use; all cores if not given.
        progress: Whether a line shows how far it is, or a function that is told.
    """
    own = model_of(model)
    bound = bind(own, recordings, mapping, noise)
    line = _Line() if progress is True else None
    hear = line if progress is True else progress if callable(progress) else None
    told = None if hear is None else lambda steps, left, note: hear(Progress(steps, left, note))
    asked: _core._Discovering = {
        "targets": list(targets),
        "inputs": list(inputs),
        "samples": None if samples is None else _given.count(samples, "samples"),
        "threads": _given.threads(threads),
    }
    try:
        document, text = _core.discover(own._native, bound, asked, told)
    finally:
        if line is not None:
            line.clear()
    return Discovery(document, text)
