"""What differs between two models."""

from __future__ import annotations

import json
from typing import NamedTuple

from . import _core
from ._recordings import model_of
from .model import Model, Path


class NumberChange(NamedTuple):
    """A number that differs between two models."""

    name: str
    """Element and attribute, as parameters are called: ``joint.elbow.damping[0]``."""
    unit: str
    """Its unit."""
    old: float
    """In the first model."""
    new: float
    """In the second model."""

    @property
    def ratio(self) -> float:
        """The second over the first; nan where the first is zero."""
        return self.new / self.old if self.old else float("nan")


class Difference:
    """What differs between two models; see :func:`carom.diff`. It is false where nothing does, and prints as a table."""

    numbers: list[NumberChange]
    """Numbers, in the order of the table of quantities; what follows from others is left out."""
    structure: list[str]
    """Everything discrete, in sentences: elements of one model alone, kinds, parents, settings."""
    many: list[str]
    """Attributes of which more numbers differ than are listed, such as the vertices of a mesh."""

    def __init__(self, text: str, document: str) -> None:
        found = json.loads(document)
        self.numbers = [NumberChange(one["name"], one["unit"], one["old"], one["new"]) for one in found["numbers"]]
        self.structure = found["structure"]
        self.many = [one["name"] for one in found["many"]]
        self._text = text

    def __bool__(self) -> bool:
        return bool(self.numbers or self.structure or self.many)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<carom.Difference: {len(self.numbers)} numbers, {len(self.structure)} in structure>"


def diff(first: Model | Path, second: Model | Path) -> Difference:
    """What differs between two models, or files of them: numbers by name and in units, everything discrete in words.

    >>> import carom
    >>> found = carom.diff("models/pendulum.xml", carom.Model.load("models/pendulum.xml", options=carom.Options(timestep=0.001)))
    >>> [(one.name, one.new, one.unit) for one in found.numbers]
    [('option.timestep', 0.001, 's')]
    """
    text, document = _core.diff(model_of(first)._native, model_of(second)._native)
    return Difference(text, document)
