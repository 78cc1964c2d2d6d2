"""What the stages find out about a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import _core
from .state import Array


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

    def __init__(self, core: _core.Results) -> None:
        self._core = core

    def _array(self, stage: str, field: str, *shape: int) -> Array:
        return self._core.array(stage, field).reshape(-1, *shape)

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
        """Contacts."""
        found = self._core.contacts()
        return Contacts(
            geom=found["geom"],
            dist=found["dist"].reshape(-1),
            pos=found["pos"],
            frame=found["frame"].reshape(-1, 3, 3),
            force=found["force"],
        )
