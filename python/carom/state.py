"""The state of a simulation: one, or a batch of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import _given

Array = npt.NDArray[np.float64]
"""Numbers, in float64."""


@dataclass(frozen=True)
class Layout:
    """Where the parts of a state are in its row of numbers."""

    width: int
    nmocap: int
    nu: int
    qpos: slice
    qvel: slice
    act: slice
    warmstart: slice
    history: slice


class State:
    """What changes while simulating: time, configuration, velocity, activations, poses of mocap bodies; and the controls that hold
    where no others are given.

    A state is made by :meth:`carom.Model.state`. Its arrays are views of one block of memory: write into them, or assign.

    >>> import carom
    >>> model = carom.Model.load("models/cube.xml")
    >>> state = model.state()
    >>> state.qpos[2] = 1.5
    >>> state.qvel = [0, 0, -1, 0, 0, 0]
    >>> state.qvel[2]
    np.float64(-1.0)

    A batch has one more dimension in front.

    >>> states = model.state(batch=8)
    >>> states.qpos[:, 2] = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> len(states), states[3].qpos[2]
    (8, np.float64(4.0))
    """

    __slots__ = ("_ctrl", "_layout", "_mocap", "_row")

    _layout: Layout
    _row: Array
    _mocap: Array
    _ctrl: Array

    def __init__(self, layout: Layout, row: Array, mocap: Array, ctrl: Array | None = None) -> None:
        self._layout = layout
        self._row = row
        self._mocap = mocap
        self._ctrl = np.zeros((*row.shape[:-1], layout.nu)) if ctrl is None else ctrl

    @property
    def batch(self) -> int | None:
        """How many states there are; none for a single one."""
        return self._row.shape[0] if self._row.ndim == 2 else None

    def _set(self, view: Array, name: str, value: npt.ArrayLike) -> None:
        given = _given.numbers(value, name)
        try:
            view[...] = given
        except ValueError:
            message = f"{name} has the shape {given.shape}, expected {view.shape}"
            raise ValueError(message) from None

    @property
    def time(self) -> Array:
        """Time (s): an array without dimensions for a single state."""
        return self._row[..., 0]

    @time.setter
    def time(self, value: npt.ArrayLike) -> None:
        self._set(self._row[..., 0], "time", value)

    @property
    def qpos(self) -> Array:
        """Configuration, nq numbers; quaternions are (w, x, y, z)."""
        return self._row[..., self._layout.qpos]

    @qpos.setter
    def qpos(self, value: npt.ArrayLike) -> None:
        self._set(self.qpos, "qpos", value)

    @property
    def qvel(self) -> Array:
        """Velocity, nv numbers."""
        return self._row[..., self._layout.qvel]

    @qvel.setter
    def qvel(self, value: npt.ArrayLike) -> None:
        self._set(self.qvel, "qvel", value)

    @property
    def act(self) -> Array:
        """Activations, na numbers."""
        return self._row[..., self._layout.act]

    @act.setter
    def act(self, value: npt.ArrayLike) -> None:
        self._set(self.act, "act", value)

    @property
    def warmstart(self) -> Array:
        """Acceleration from which the constraint solver starts, nv numbers; MuJoCo's ``qacc_warmstart``."""
        return self._row[..., self._layout.warmstart]

    @warmstart.setter
    def warmstart(self, value: npt.ArrayLike) -> None:
        self._set(self.warmstart, "warmstart", value)

    @property
    def history(self) -> Array:
        """Past controls and sensor values, for models with delays."""
        return self._row[..., self._layout.history]

    @history.setter
    def history(self, value: npt.ArrayLike) -> None:
        self._set(self.history, "history", value)

    @property
    def mocap_pos(self) -> Array:
        """Positions of the mocap bodies, nmocap × 3 (m)."""
        return self._mocap[..., :3]

    @mocap_pos.setter
    def mocap_pos(self, value: npt.ArrayLike) -> None:
        self._set(self.mocap_pos, "mocap_pos", value)

    @property
    def mocap_quat(self) -> Array:
        """Orientations of the mocap bodies, nmocap × 4."""
        return self._mocap[..., 3:]

    @mocap_quat.setter
    def mocap_quat(self, value: npt.ArrayLike) -> None:
        self._set(self.mocap_quat, "mocap_quat", value)

    @property
    def ctrl(self) -> Array:
        """Controls that hold where none are given, nu numbers: those of the keyframe the state comes from, or zeros."""
        return self._ctrl

    @ctrl.setter
    def ctrl(self, value: npt.ArrayLike) -> None:
        self._set(self._ctrl, "ctrl", value)

    def copy(self) -> State:
        """The same state with memory of its own."""
        return State(self._layout, self._row.copy(), self._mocap.copy(), self._ctrl.copy())

    def repeat(self, batch: int) -> State:
        """A batch of copies of a single state."""
        if self.batch is not None:
            raise ValueError(f"this is a batch of {self.batch} states already")
        row, mocap = np.tile(self._row, (batch, 1)), np.tile(self._mocap, (batch, 1, 1))
        return State(self._layout, row, mocap, np.tile(self._ctrl, (batch, 1)))

    @staticmethod
    def stack(states: Sequence[State]) -> State:
        """A batch of single states."""
        if not states:
            raise ValueError("there is no state to stack")
        if any(state.batch is not None for state in states):
            raise ValueError("single states are stacked, not batches of them")
        if any(state._layout != states[0]._layout for state in states):
            raise ValueError("states of models of different shapes cannot be stacked")
        rows = np.stack([state._row for state in states])
        mocap = np.stack([state._mocap for state in states])
        return State(states[0]._layout, rows, mocap, np.stack([state._ctrl for state in states]))

    def __len__(self) -> int:
        if self.batch is None:
            raise TypeError("a single state has no length")
        return self.batch

    def __getitem__(self, index: int | slice) -> State:
        """One state of a batch, or some, as views."""
        if self.batch is None:
            raise TypeError("this is a single state, not a batch")
        return State(self._layout, self._row[index], self._mocap[index], self._ctrl[index])

    def __iter__(self) -> Iterator[State]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        if self.batch is not None:
            return f"<carom.State: batch of {self.batch}>"
        return f"<carom.State: time={float(self.time):g}, qpos={self.qpos}, qvel={self.qvel}>"

    def _rows(self) -> tuple[Array, Array]:
        """As a batch in C order, as the engine reads it."""
        count = 1 if self.batch is None else self.batch
        row = np.ascontiguousarray(self._row).reshape(count, self._layout.width)
        mocap = np.ascontiguousarray(self._mocap).reshape(count, 7 * self._layout.nmocap)
        return row, mocap
