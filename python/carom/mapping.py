"""What the arrays of a recording are in a model, from names and shapes."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path as _Path
from typing import Any

from . import _core
from ._recordings import Recording, _one, model_of
from .model import Model, Path
from .view import Page


class ProposedMapping:
    """A mapping that :func:`map` proposes; :func:`carom.identify` and its like take it as ``mapping=``.

    Printed, it is the text of a mapping file, with comments. A notebook shows it so.
    """

    text: str
    """The text of the mapping file."""
    tables: dict[str, Any]
    """The same as dicts and lists, to be changed."""
    complete: bool
    """Whether recordings can be read by it as it is."""
    needless: bool
    """Whether the names of the arrays say all of it, so that no mapping is needed."""
    undecided: tuple[str, ...]
    """What you have to decide, in sentences; the text has the candidates."""
    unused: tuple[str, ...]
    """Arrays that are not mapped."""
    warnings: tuple[str, ...]
    """What looks wrong with the recording read so."""

    def __init__(self, found: _core._Proposed) -> None:
        """For internal use: :func:`map` makes one."""
        self.text, tables, (self.complete, self.needless), undecided, unused, warnings = found
        self.tables = json.loads(tables)
        self.undecided, self.unused, self.warnings = tuple(undecided), tuple(unused), tuple(warnings)

    def save(self, path: Path) -> _Path:
        """Writes the mapping file; it is complete or not there."""
        return Page(self.text).save(path)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        parts = [f"{len(found)} {kind}" for kind, found in self.tables.items() if isinstance(found, list)]
        state = "complete" if self.complete else "something has to be decided"
        return f"<carom.ProposedMapping of {', '.join(parts) or 'nothing'}; {state}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


def map(model: Model | Path, recording: Recording, *, out: Path | None = None) -> ProposedMapping:
    """Proposes what the arrays of a recording are in a model, as ``carom map`` does.

    Arrays are matched with joints, bodies, actuators and sensors by the words of their names, else by their shapes. What cannot be decided
    stands in the text as a comment, with the candidates.

    >>> import carom, numpy as np
    >>> model = carom.Model.load("models/pendulum.xml")
    >>> t = np.arange(100) * 0.01
    >>> found = carom.map(model, {"t": t, "pivot_deg": np.degrees(0.3 * np.cos(3 * t)), "u": np.zeros(100)})
    >>> found.tables["joint"]
    [{'name': 'pivot', 'position': 'pivot_deg', 'unit': 'deg'}]
    >>> found.complete
    True

    Args:
        model: A model, or the path of its file.
        recording: A file (.npz, .csv or .mcap), or arrays by name.
        out: Where the mapping file is written.
    """
    found = ProposedMapping(_core.propose(model_of(model)._native, _one(recording, "recording")))
    if out is not None:
        found.save(out)
    return found
