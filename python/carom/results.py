"""What the stages find out about a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import _core, _given
from .state import Array

if TYPE_CHECKING:
    from .model import Body, Geom, Site


@dataclass(frozen=True)
class Contacts:
    """Contacts of a state, one row each."""

    geom: npt.NDArray[np.int64]
    """The two geoms; the normal points from the first to the second."""
    dist: Array
    """Distance, negative in penetration (m)."""
    pos: Array
    """Midpoint between the two surfaces (m)."""
    frame: Array
    """Rows: normal, two tangents; n × 3 × 3."""
    force: Array
    """Force along the three axes (N), then torque about them (N·m)."""

    def __len__(self) -> int:
        return len(self.dist)


class Results:
    """Everything about a state, under MuJoCo's names; made by :meth:`carom.Model.forward`."""

    def __init__(self, cores: list[_core.Results], batch: int | None) -> None:
        """For internal use: :meth:`carom.Model.forward` makes them."""
        self._cores = cores
        self._batch = batch

    def _stacked(self, numbers: list[Array]) -> Array:
        return numbers[0] if self._batch is None else np.stack(numbers) if numbers else np.zeros((0,))

    def _array(self, stage: str, field: str, *shape: int) -> Array:
        return self._stacked([core.array(stage, field).reshape(-1, *shape) for core in self._cores])

    def _core_of(self, index: int) -> _core.Results:
        if self._batch is not None and not -self._batch <= index < self._batch:
            raise IndexError(f"the batch has {self._batch} states, none at {index}")
        return self._cores[index]

    def __getitem__(self, index: int) -> Results:
        """Those of one state of a batch."""
        if self._batch is None:
            raise TypeError("these are the results of a single state")
        return Results([self._core_of(index)], None)

    @property
    def energy(self) -> Array:
        """Potential and kinetic energy (J)."""
        return self._stacked([np.array(core.energy) for core in self._cores])

    @property
    def mass_matrix(self) -> Array:
        """The mass matrix of the joints, nv × nv."""
        return self._stacked([core.mass_matrix() for core in self._cores])

    def jacobian(self, body: Body | Site | Geom | int, point: npt.ArrayLike | None = None) -> tuple[Array, Array]:
        """How a place moves (m) and turns (rad) with the joints: two matrices 3 × nv, as ``mj_jac``.

        The place is the origin of a body, site or geom, or a ``point`` of the world that the body carries.

        >>> import carom
        >>> model = carom.Model.load("models/pendulum.xml")
        >>> moves, turns = model.forward(model.state()).jacobian(model.site("tip"))
        >>> moves[0, 0].round(6)
        np.float64(-0.81)
        """
        pairs = [self._jacobian(core, body, point) for core in self._cores]
        return self._stacked([moves for moves, _ in pairs]), self._stacked([turns for _, turns in pairs])

    def _jacobian(
        self, core: _core.Results, body: Body | Site | Geom | int, point: npt.ArrayLike | None
    ) -> tuple[Array, Array]:
        owner = body if isinstance(body, int) else getattr(body, "body", body.id)
        place = None if point is None else [float(number) for number in _given.finite(point, "point").reshape(3)]
        field = {"Site": "site_position", "Geom": "geom_position"}.get(type(body).__name__)
        if place is None and field is not None and not isinstance(body, int):
            place = core.array("kinematics", field).reshape(-1, 3)[body.id].tolist()
        return core.jacobian(int(owner), place)

    @property
    def xpos(self) -> Array:
        """Positions of bodies (m)."""
        return self._array("kinematics", "body_position", 3)

    @property
    def xquat(self) -> Array:
        """Orientations of bodies."""
        return self._array("kinematics", "body_quat", 4)

    @property
    def xmat(self) -> Array:
        """Orientations of bodies, as matrices."""
        return self._array("kinematics", "body_rotation", 9)

    @property
    def xipos(self) -> Array:
        """Centres of mass of bodies (m)."""
        return self._array("kinematics", "inertial_position", 3)

    @property
    def subtree_com(self) -> Array:
        """Centres of mass of bodies with all their descendants (m)."""
        return self._array("kinematics", "subtree_com", 3)

    @property
    def geom_xpos(self) -> Array:
        """Positions of geoms (m)."""
        return self._array("kinematics", "geom_position", 3)

    @property
    def geom_xmat(self) -> Array:
        """Orientations of geoms, as matrices."""
        return self._array("kinematics", "geom_rotation", 9)

    @property
    def site_xpos(self) -> Array:
        """Positions of sites (m)."""
        return self._array("kinematics", "site_position", 3)

    @property
    def site_xmat(self) -> Array:
        """Orientations of sites, as matrices."""
        return self._array("kinematics", "site_rotation", 9)

    @property
    def ten_length(self) -> Array:
        """Lengths of tendons (m)."""
        return self._array("tendon", "length")

    @property
    def actuator_force(self) -> Array:
        """Forces of actuators."""
        return self._array("actuation", "actuator_force")

    @property
    def qfrc_actuator(self) -> Array:
        """Generalised forces of actuators."""
        return self._array("actuation", "force")

    @property
    def qfrc_bias(self) -> Array:
        """Centrifugal, Coriolis and gravity forces."""
        return self._array("bias", "force")

    @property
    def qfrc_passive(self) -> Array:
        """Forces of springs, dampers and the medium."""
        return self._array("passive", "total")

    @property
    def qfrc_constraint(self) -> Array:
        """Forces of constraints."""
        return self._array("solve", "force_constraint")

    @property
    def qacc(self) -> Array:
        """Acceleration."""
        return self._array("solve", "qacc")

    @property
    def sensordata(self) -> Array:
        """Sensor values."""
        return self._array("sensing", "values")

    @property
    def contact(self) -> Contacts:
        """Contacts of a single state; those of one of a batch are ``results[index].contact``."""
        if self._batch is not None:
            raise ValueError("states of a batch have different numbers of contacts: take those of one, results[index].contact")
        found = self._cores[0].contacts()
        return Contacts(
            geom=found["geom"],
            dist=found["dist"].reshape(-1),
            pos=found["pos"],
            frame=found["frame"].reshape(-1, 3, 3),
            force=found["force"],
        )
