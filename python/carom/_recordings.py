"""Recordings as users give them: files, or arrays by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _core, _given
from .errors import RecordingError
from .model import Model, Path

Recording = Union[Path, Mapping[str, npt.ArrayLike]]
"""A file (.npz, .csv or .mcap), or arrays by name."""
Recordings = Union[Recording, Sequence[Recording]]


class Tabled(Protocol):
    """What has the tables of a mapping, as :class:`carom.ProposedMapping` does."""

    tables: dict[str, Any]


Mappings = Union[Path, Mapping[str, Any], Tabled, None]
"""A mapping file, a dict of the same form, what :func:`carom.map` proposes, or none where names say what arrays are."""


def model_of(given: Model | Path) -> Model:
    """A model, or that of a file."""
    if isinstance(given, Model):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Model.load(given)
    raise TypeError(f"a carom.Model or the path of a model file is needed, not {type(given).__name__}")


def bind(
    model: Model,
    given: Recordings,
    mapping: Mappings,
    noise: Mapping[str, float] | None = None,
    name: str = "recordings",
) -> _core.Recordings:
    """Recordings as they fit a model."""
    listed: Sequence[Recording] = [given] if isinstance(given, (str, os.PathLike, Mapping)) else list(given)
    if not listed:
        raise RecordingError(f"{name} is empty: give files, or arrays by name such as {{'time': …, 'qpos': …}}")
    labels = [name] if len(listed) == 1 else [f"{name}[{index}]" for index in range(len(listed))]
    native = [_one(one, label) for one, label in zip(listed, labels)]
    return _core.Recordings(model._native, native, _meaning(mapping, noise))


def _one(given: Recording, label: str) -> str | tuple[str, dict[str, npt.NDArray[np.float64]]]:
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    if not isinstance(given, Mapping):
        raise TypeError(f"{label} is a path or a dict of arrays by name, not {type(given).__name__}")
    arrays: dict[str, npt.NDArray[np.float64]] = {}
    for key, values in given.items():
        if not isinstance(key, str):
            raise TypeError(f"{label}: arrays are named by text, not by {key!r}")
        arrays[key] = _given.numbers(values, f"{label}[{key!r}]")
    time = arrays.get("time")
    for key, array in arrays.items():
        # Controls of steps: one row fewer than there are states. The last frame has no step, so any control will do.
        is_control = key == "ctrl" or key.startswith("actuator.")
        if is_control and time is not None and array.ndim and 0 < len(array) == len(time) - 1:
            arrays[key] = np.concatenate([array, array[-1:]])
    return label, arrays


def _meaning(mapping: Mappings, noise: Mapping[str, float] | None) -> _core._Meaning:
    if mapping is None:
        return {str(key): float(deviation) for key, deviation in (noise or {}).items()}
    if noise is not None:
        raise TypeError("noise goes by the names of arrays that need no mapping; a mapping states the noise itself")
    if isinstance(mapping, (str, os.PathLike)):
        return os.fspath(mapping)
    if isinstance(mapping, Mapping):
        return "mapping", as_json(mapping, "mapping")
    tables = getattr(mapping, "tables", None)
    if isinstance(tables, Mapping):
        return "mapping", as_json(tables, "mapping")
    raise TypeError(f"mapping is the path of a mapping file or a dict of the same form, not {type(mapping).__name__}")


def as_json(given: Mapping[str, Any], name: str) -> str:
    """Tables in the form of carom's TOML files, with numbers of numpy."""

    def plain(found: Any) -> Any:
        if isinstance(found, (np.ndarray, np.generic)):
            return found.tolist()
        if isinstance(found, os.PathLike):
            return os.fspath(found)
        if isinstance(found, Mapping):
            return dict(found)
        raise TypeError(f"{name}: {found!r} has no place in a table of settings")

    return json.dumps(given if isinstance(given, dict) else dict(given), default=plain)
