"""The engine over numpy arrays; see ``crates/carom-py``. No part of the public interface."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Problems = list[tuple[int, int, str]]
_Given = str | tuple[str, dict[str, _Array]]
_Meaning = str | tuple[str, str] | dict[str, float]
# Rows of states, and poses of the mocap bodies.
_Starts = tuple[_Array, _Array]

class _Inputs(TypedDict):
    controls: _Array
    force: _Array | None
    body_force: _Array | None

class _Recorded(TypedDict):
    states: _Array
    starts: _Starts
    controls: _Array

class _Bars(TypedDict):
    qpos: _Array | None
    qvel: _Array | None
    act: _Array | None
    sensors: _Array | None

class _Direction(TypedDict):
    qpos: _Array | None
    qvel: _Array | None
    act: _Array | None
    controls: _Array | None
    model: ModelBar | None

__all__ = [
    "Identification",
    "Model",
    "ModelBar",
    "Motions",
    "Parameters",
    "Readings",
    "Recordings",
    "Results",
    "Viewer",
    "__version__",
    "advance",
    "backward",
    "backward_of_motions",
    "diff",
    "evaluate",
    "export_html",
    "follow",
    "identify",
    "jvp",
    "linearize",
    "rollout",
    "step",
    "write_text",
]

__version__: str

@final
class Identification:
    @property
    def estimates(self) -> list[tuple[str, str, float, float, float, tuple[float, float], bool]]: ...
    @property
    def covariance(self) -> _Array: ...
    @property
    def document(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def remarks(self) -> list[str]: ...
    @property
    def files(self) -> list[Path]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def refusal(self) -> str | None: ...
    @property
    def is_interrupted(self) -> bool: ...
    def model(self) -> Model: ...
    def mjcf(self, path: Path | None) -> str: ...
    def page(self) -> str: ...

@final
class Model:
    @staticmethod
    def load(path: str, allow: list[str]) -> Model: ...
    @staticmethod
    def from_string(
        text: str, directory: str, assets: Mapping[str, bytes], allow_codes: list[str]
    ) -> Model: ...
    @staticmethod
    def adopt(
        text: str,
        meshes: list[
            tuple[list[int], list[list[int]], list[list[int]], list[list[int]], list[list[int]]]
        ],
        numbers: dict[str, _Array],
        names: dict[str, list[str]],
    ) -> Model: ...
    @staticmethod
    def adopted_arrays() -> list[str]: ...
    def with_options(self, options: dict[str, Any]) -> Model: ...
    def to_mjcf(self) -> str | None: ...
    @property
    def warnings(self) -> tuple[str, str]: ...
    @property
    def files(self) -> list[Path]: ...
    @property
    def name(self) -> str: ...
    @property
    def counts(self) -> dict[str, int]: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def layout(self) -> dict[str, tuple[int, int]]: ...
    def names(self, family: str) -> list[str]: ...
    def constant(self, name: str) -> _Array: ...
    def reference(self) -> tuple[_Array, _Array]: ...
    def keyframe(self, index: int) -> tuple[_Array, _Array, _Array]: ...
    def integrate(self, qpos: _Array, tangent: _Array) -> _Array: ...
    def difference(self, from_: _Array, to: _Array) -> _Array: ...

@final
class ModelBar: ...

@final
class Motions:
    @property
    def status(self) -> list[tuple[bool, str]]: ...
    @property
    def work(self) -> list[tuple[int, int, int]]: ...
    def onsets(
        self, model: Model, motion: int
    ) -> list[tuple[float, str, bool, float, bool, bool]]: ...

@final
class Parameters:
    def __new__(cls, model: Model, selectors: list[str]) -> Parameters: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def skipped(self) -> list[tuple[str, str]]: ...
    @property
    def has_state(self) -> bool: ...
    @property
    def theta(self) -> _Array: ...
    @property
    def bounds(self) -> _Array: ...
    def values(self, theta: _Array) -> _Array: ...
    def describe(self, theta: _Array) -> str: ...
    def set(self, theta: _Array, name: str, value: float) -> _Array: ...
    def apply(self, theta: _Array) -> Model: ...
    def backward(self, theta: _Array, bar: ModelBar) -> _Array: ...
    def direction(self, theta: _Array, along: _Array) -> ModelBar: ...

@final
class Readings:
    def __new__(cls, model: Model, names: list[tuple[str, int, int]]) -> Readings: ...
    @property
    def width(self) -> int: ...

@final
class Recordings:
    def __new__(cls, model: Model, given: list[_Given], meaning: _Meaning) -> Recordings: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def labels(self) -> list[str]: ...

@final
class Results:
    def __new__(
        cls,
        model: Model,
        state: _Array,
        mocap: _Array,
        controls: _Array,
        force: _Array | None,
        body_force: _Array | None,
    ) -> Results: ...
    def array(self, stage: str, field: str) -> _Array: ...
    def contacts(self) -> dict[str, Any]: ...

@final
class Viewer:
    def __new__(
        cls,
        model: Model,
        state: _Array,
        mocap: _Array,
        controls: _Array,
        port: int,
        paused: bool,
    ) -> Viewer: ...
    @property
    def url(self) -> str: ...
    def doorway(self) -> Path | None: ...
    @property
    def is_running(self) -> bool: ...
    def stop(self) -> None: ...

def diff(first: Model, second: Model) -> tuple[str, str]: ...
def evaluate(
    model: Model,
    recordings: Recordings,
    window: int | None,
    every: int | None,
    tolerance: float | None,
    threads: int | None,
) -> tuple[str, list[tuple[str, str, str]]]: ...
def identify(
    model: Model,
    recordings: Recordings,
    held_out: Recordings | None,
    asked: str,
    progress: Callable[[int, float, str], object] | None,
    threads: int | None,
) -> Identification: ...
def write_text(path: str | os.PathLike[str], text: str, inputs: Sequence[str | os.PathLike[str]]) -> None: ...
def export_html(
    model: Model,
    motions: list[tuple[str, Model, _Array, _Array, _Array, _Array | None]],
) -> str: ...
def rollout(
    models: list[Model],
    states: _Array,
    mocap: _Array,
    controls: _Array,
    steps: int,
    threads: int | None,
) -> tuple[_Array, _Array, _Problems]: ...
def step(
    model: Model, starts: _Starts, inputs: _Inputs, steps: int, threads: int | None
) -> tuple[_Array, _Array, _Problems]: ...
def advance(
    model: Model,
    starts: _Starts,
    controls: _Array,
    steps: int,
    readings: Readings,
    threads: int | None,
) -> tuple[_Array, _Array, _Problems]: ...
def backward(
    models: list[Model],
    recorded: _Recorded,
    bars: _Bars,
    by: tuple[Parameters, _Array] | None,
    threads: int | None,
) -> tuple[dict[str, _Array], ModelBar]: ...
def jvp(
    model: Model, recorded: _Recorded, along: _Direction, threads: int | None
) -> dict[str, _Array]: ...
def linearize(
    model: Model, states: _Array, mocap: _Array, controls: _Array, threads: int | None
) -> tuple[_Array, _Array]: ...
def follow(
    model: Model,
    starts: _Starts,
    controls: _Array,
    intervals: tuple[float, int],
    options: dict[str, Any],
    threads: int | None,
) -> tuple[_Array, Motions]: ...
def backward_of_motions(
    model: Model,
    motions: Motions,
    recorded: _Recorded,
    bars: _Bars,
    by: tuple[Parameters, _Array] | None,
    threads: int | None,
) -> tuple[dict[str, _Array], ModelBar]: ...
