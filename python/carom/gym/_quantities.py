"""Numbers about states by name: what observations and rewards are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import UnknownNameError
from ..model import Model
from ..state import Array

Columns = npt.NDArray[np.intp]

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {"sin": np.sin, "cos": np.cos}
_FIELDS: dict[str, dict[str, int]] = {
    "body": {"pos": 3, "quat": 4, "mat": 9, "com": 3, "subtree_com": 3, "linvel": 3, "angvel": 3},
    "geom": {"pos": 3, "mat": 9},
    "site": {"pos": 3, "mat": 9},
    "tendon": {"length": 1, "velocity": 1},
    "actuator": {"force": 1},
    "joint": {"qpos": 0, "qvel": 0},
}
"""Fields of elements, and how many numbers each has; those of joints depend on their type."""
_OF_STATES = ("time", "qpos", "qvel", "act", "ctrl", "sensordata")
_FORMS = (
    "qpos, qvel, act, ctrl, time, sensordata, sensor.NAME, joint.NAME.qpos, body.NAME.pos, site.NAME.pos and so on, "
    "with an index or a slice behind: qpos[2:]; sin(…), cos(…), and the difference of two: site.tip.pos - body.goal.pos"
)
_CUT = re.compile(r"\[\s*(-?\d*)\s*(?:(:)\s*(-?\d*)\s*(?:(:)\s*(-?\d*)\s*)?)?\]$")
_CALL = re.compile(r"(\w+)\((.*)\)$")


@dataclass(frozen=True)
class _Place:
    """Where numbers are: columns of the rows of states, of controls, or of readings."""

    source: str
    columns: Columns
    is_single: bool
    """One number a state, without a dimension of its own."""

    @property
    def width(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class _Term:
    """Numbers, and what is computed from them."""

    place: _Place
    function: Callable[[Array], Array] | None
    minus: _Place | None


class Snapshot:
    """A batch of states, and numbers about them by name; the batch is the first dimension of every array.

    ``snapshot["qpos[2:]"]`` has the shape (batch, …), ``snapshot["qpos[2]"]`` and others of a single number (batch,).
    """

    __slots__ = ("_quantities", "controls", "mocap", "readings", "rows")

    def __init__(
        self, quantities: Quantities, rows: Array, mocap: Array, controls: Array, readings: Array
    ) -> None:
        self._quantities = quantities
        self.rows = rows
        self.mocap = mocap
        self.controls = controls
        self.readings = readings

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Array:
        """Numbers by name, as in an observation."""
        found = self._quantities._values(self, self._quantities._term(name))
        is_single = found.shape[1] == 1 and self._quantities._term(name).place.is_single
        return found[:, 0] if is_single else found

    @property
    def qpos(self) -> Array:
        """Configurations, batch × nq."""
        return self.rows[:, self._quantities.model._layout.qpos]

    @property
    def qvel(self) -> Array:
        """Velocities, batch × nv."""
        return self.rows[:, self._quantities.model._layout.qvel]

    def take(self, which: npt.NDArray[np.bool_]) -> Snapshot:
        """Some of the batch."""
        return Snapshot(self._quantities, *(array[which] for array in self.arrays()))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Rows of states, poses of mocap bodies, controls, readings."""
        return self.rows, self.mocap, self.controls, self.readings


class Quantities:
    """Which numbers about states of a model are read after every step, and where they are found by name."""

    def __init__(self, model: Model, names: Iterable[str]) -> None:
        self.model = model
        self._terms: dict[str, _Term] = {}
        self._wanted: dict[tuple[str, int, int], int] = {}
        self._is_complete = False
        for name in names:
            self._term(name)
        self._is_complete = True
        self.readings = _core.Readings(model._native, list(self._wanted))

    def width(self, name: str) -> int:
        """How many numbers a name stands for."""
        return self._term(name).place.width

    def columns_of_state(self, name: str) -> Columns | None:
        """Where numbers are in the rows of states; none for those that are computed."""
        term = self._term(name)
        is_plain = term.function is None and term.minus is None and term.place.source == "rows"
        return term.place.columns if is_plain else None

    def table(self, snapshot: Snapshot, names: Iterable[str]) -> Array:
        """Numbers of all names, side by side."""
        parts = [self._values(snapshot, self._term(name)) for name in names]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(snapshot), 0))

    def _values(self, snapshot: Snapshot, term: _Term) -> Array:
        values = _taken(snapshot, term.place)
        if term.minus is not None:
            values = values - _taken(snapshot, term.minus)
        return values if term.function is None else term.function(values)

    def _term(self, name: str) -> _Term:
        term = self._terms.get(name)
        if term is None:
            if not isinstance(name, str):
                raise TypeError(f"an observation is named by a text, not by {name!r}; there are {_FORMS}")
            term = self._parse(name)
            self._terms[name] = term
        return term

    def _parse(self, name: str) -> _Term:
        text, function = name.strip(), None
        call = _CALL.match(text)
        if call is not None:
            function = _FUNCTIONS.get(call[1])
            if function is None:
                raise UnknownNameError(f"'{name}': there is no function '{call[1]}'; there are sin and cos")
            text = call[2].strip()
        first, *others = (part.strip() for part in text.split(" - "))
        if len(others) > 1:
            raise ValueError(f"'{name}': only the difference of two can be taken")
        place = self._place(first, name)
        minus = self._place(others[0], name) if others else None
        if minus is not None and minus.width != place.width:
            raise ValueError(f"'{name}': {place.width} and {minus.width} numbers have no difference")
        return _Term(place, function, minus)

    def _place(self, text: str, whole: str) -> _Place:
        """Where the numbers of a name with an index or a slice are."""
        cut = _CUT.search(text)
        base = text[: cut.start()].strip() if cut else text
        source, columns, is_single = self._whole(base, whole)
        if cut is None:
            return _Place(source, columns, is_single)
        if cut[2] is None and cut[1] == "":
            raise ValueError(f"'{whole}': an index or a slice is missing between the brackets")
        if cut[2] is None:
            index = int(cut[1])
            if not -len(columns) <= index < len(columns):
                raise IndexError(f"'{whole}': {base} has {len(columns)} numbers, there is none at {index}")
            return _Place(source, columns[[index]], True)
        bounds = [int(one) if one else None for one in (cut[1], cut[3], cut[5])]
        if bounds[2] == 0:
            raise ValueError(f"'{whole}': a slice cannot go on in steps of 0")
        chosen = columns[slice(*bounds)]
        if not len(chosen):
            raise IndexError(f"'{whole}': {base} has {len(columns)} numbers, none of them is in the slice")
        return _Place(source, chosen, False)

    def _whole(self, base: str, whole: str) -> tuple[str, Columns, bool]:
        """The columns of a name without index or slice."""
        family, _, rest = base.partition(".")
        if base in _OF_STATES:
            return self._of_states(base)
        if family == "sensor" and rest:
            sensor = self.model.sensor(rest)
            columns = self._read("sensor", sensor.data.start, sensor.data.stop, whole)
            return "readings", columns, len(columns) == 1
        name, _, field = rest.rpartition(".")
        if family not in _FIELDS or not name:
            raise UnknownNameError(f"'{whole}' names nothing that can be observed; there are {_FORMS}")
        if field not in _FIELDS[family]:
            known = ", ".join(_FIELDS[family])
            raise UnknownNameError(f"'{whole}': of a {family} there are {known}, not '{field}'")
        if family == "joint":
            return self._of_joint(name, field)
        index, _ = self.model._find(family, name)
        columns = self._read(f"{family}.{field}", index, index + 1, whole, _FIELDS[family][field])
        return "readings", columns, len(columns) == 1

    def _of_states(self, base: str) -> tuple[str, Columns, bool]:
        layout, model = self.model._layout, self.model
        if base == "time":
            return "rows", np.zeros(1, np.intp), True
        if base == "ctrl":
            return "controls", np.arange(model.nu), False
        if base == "sensordata":
            return "readings", self._read("sensor", 0, model.nsensordata, base), False
        place: slice = getattr(layout, base)
        return "rows", np.arange(place.start, place.stop), False

    def _of_joint(self, name: str, field: str) -> tuple[str, Columns, bool]:
        joint, layout = self.model.joint(name), self.model._layout
        own, start = (joint.qpos, layout.qpos.start) if field == "qpos" else (joint.dof, layout.qvel.start)
        columns = np.arange(start + own.start, start + own.stop)
        return "rows", columns, len(columns) == 1

    def _read(self, reading: str, start: int, end: int, whole: str, width: int | None = None) -> Columns:
        """Columns of a reading, which is added to the list as long as that is open."""
        key, count = (reading, start, end), end - start if width is None else width
        if key not in self._wanted:
            if self._is_complete:
                advice = "name it in the observation, or in measure=[…] if only the reward needs it"
                raise UnknownNameError(f"'{whole}' is not read after the steps: {advice}")
            self._wanted[key] = sum(self._widths(other) for other in self._wanted)
        first = self._wanted[key]
        return np.arange(first, first + count)

    def _widths(self, key: tuple[str, int, int]) -> int:
        family, _, field = key[0].partition(".")
        return key[2] - key[1] if family == "sensor" else _FIELDS[family][field]


def _taken(snapshot: Snapshot, place: _Place) -> Array:
    """In C order, so that functions of numpy give the same bits for a batch of any size."""
    source: Array = getattr(snapshot, place.source)
    return np.ascontiguousarray(source[:, place.columns])
