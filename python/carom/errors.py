"""What can go wrong, as exceptions that say what and where."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_FLAG = re.compile(r"--([a-z][a-z-]*)(?: ([0-9]+|cmaes|multi-start))?")


@dataclass(frozen=True)
class Diagnostic:
    """A problem of a model file, with its place."""

    severity: str
    """``error`` or ``warning``."""
    code: str
    """A stable code such as ``M012``; ``Model.load(..., allow=[code])`` goes on without what it names, where possible."""
    message: str
    """What is wrong, in a sentence."""
    file: str | None = None
    """The file, if the problem is in one."""
    line: int | None = None
    """The line, from 1."""
    column: int | None = None
    """The column, from 1."""
    label: str | None = None
    """What was expected at that place."""
    help: str | None = None
    """What to do about it."""
    notes: tuple[str, ...] = ()
    """Further facts."""
    included_from: tuple[tuple[str, int], ...] = ()
    """Files and lines through which the file was included, innermost first."""

    @classmethod
    def _from_json(cls, text: str) -> tuple[Diagnostic, ...]:
        return tuple(cls._from_dict(found) for found in json.loads(text))

    @classmethod
    def _from_dict(cls, found: dict[str, Any]) -> Diagnostic:
        chain = tuple((link["file"], link["line"]) for link in found.pop("included_from", ()))
        notes = tuple(found.pop("notes", ()))
        return cls(**found, notes=notes, included_from=chain)


class CaromError(Exception):
    """Any error of carom."""


class ModelError(CaromError, ValueError):
    """A model that cannot be used; :attr:`diagnostics` has every problem, the text shows them with their source lines.

    >>> import carom
    >>> try:
    ...     carom.Model.from_string("<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>")
    ... except carom.ModelError as error:
    ...     problem = error.diagnostics[0]
    >>> problem.line, problem.severity
    (1, 'error')
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, text: str, diagnostics: str = "[]") -> None:
        super().__init__(text.rstrip())
        self.diagnostics = Diagnostic._from_json(diagnostics)


class ModelWarning(UserWarning):
    """Something in a model file that was probably not meant, or that carom does not do yet."""


class NotFiniteError(CaromError, ValueError):
    """A number that is infinite or not a number where that cannot be."""


class GradientError(CaromError, ArithmeticError):
    """A trajectory without a gradient; the text says why, :attr:`trajectory` which one of the batch."""

    trajectory: int | None

    def __init__(self, text: str, trajectory: int | None = None) -> None:
        super().__init__(text if trajectory is None else f"trajectory {trajectory}: {text}")
        self.trajectory = trajectory


class UnknownNameError(CaromError, KeyError):
    """No element has this name; the text says which names are near."""

    __str__ = Exception.__str__


class ParameterError(CaromError, ValueError):
    """Numbers that cannot be parameters; the text says what would be right."""


class RecordingError(CaromError, ValueError):
    """A recording or mapping that cannot be used; the text says what, where, and what to do."""


class IdentificationError(CaromError, ValueError):
    """Parameters that cannot be identified as asked; the text says why."""

    def __init__(self, text: str) -> None:
        super().__init__(_in_python(text))


class NotIdentifiableError(IdentificationError):
    """The recordings do not identify the parameters; :attr:`motions` says what to record."""

    motions: tuple[str, ...]
    """Motions that would tell more."""

    def __init__(self, text: str, motions: list[str] | tuple[str, ...] = ()) -> None:
        record = f"record other motions ({', or '.join(motions)})" if motions else "record other motions"
        advice = f"hold one of them, give a prior, {record}, or fit all the same with anyway=True"
        super().__init__(f"{text}. To go on, {advice}")
        self.motions = tuple(motions)


def _in_python(text: str) -> str:
    """A sentence of the command with its flags as arguments: ``--segments 20`` is ``segments=20``."""

    def argument(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2]
        name = {"validate": "held_out"}.get(name, name)
        if value is not None:
            return f"{name}={value}" if value.isdigit() else f"{name}='{value}'"
        return f"{name}=True" if name in ("free_initial_states", "anyway", "resume") else f"{name}="

    return _FLAG.sub(argument, text)
