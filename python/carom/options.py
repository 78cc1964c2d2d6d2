"""How to simulate: options, contact laws, contacts from distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Union

from . import _given


class _Law:
    """A contact law as the texts of model files write it."""

    _word = ""

    def _text(self) -> str:
        words = [f"law={self._word}"]
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                value = " ".join(repr(float(number)) for number in value)
            elif not isinstance(value, int):
                value = repr(float(value))
            words.append(f"{field.name}={value}")
        return "; ".join(words)


@dataclass(frozen=True)
class Soft(_Law):
    """MuJoCo's convex law, with the parameters of the geoms: the default."""

    _word = "soft"


@dataclass(frozen=True)
class Complementarity(_Law):
    """Rigid contact: impulses that keep bodies from entering each other, exact Coulomb friction. Needs the Euler integrator."""

    _word = "complementarity"

    restitution: float = 0.0
    """Share of the approach speed that comes back, 0 to 1."""
    restitution_speed: float = 0.0
    """Slower contacts do not bounce (m/s)."""
    baumgarte: tuple[float, float] = (0.2, 1.0)
    """Share of a penetration corrected in one step; share of a gap that may close in one."""
    mixing: float = 1e-6
    """Velocity that an impulse gives way by (1/kg)."""
    tolerance: float = 1e-10
    """Violation of the law at which iterations end (m/s)."""
    iterations: int = 2000
    """The most iterations."""


@dataclass(frozen=True)
class HuntCrossley(_Law):
    """Springs f = k·δⁿ·(1 + c·δ̇) at every contact point, with smooth friction."""

    _word = "hunt_crossley"

    stiffness: float = 1e5
    """k (N/mⁿ)."""
    exponent: float = 1.5
    """n; 1.5 is Hertz's contact of spheres."""
    dissipation: float = 0.5
    """c (s/m)."""
    transition_speed: float = 0.01
    """Speed at which friction has nearly its full size (m/s)."""
    static_ratio: float = 1.0
    """Greatest static over sliding friction."""
    viscous: float = 0.0
    """Viscous friction (N·s/m)."""
    viscous_force: float = 1.0
    """Normal force above which viscous friction acts in full (N)."""


@dataclass(frozen=True)
class Impulse(_Law):
    """Ideal impacts without friction, at their own times within a step."""

    _word = "impulse"

    restitution: float = 1.0
    """Share of the approach speed that comes back, 0 to 1."""
    impacts: int = 100
    """The most impacts in one step."""


@dataclass(frozen=True)
class KelvinVoigt(_Law):
    """A linear spring and damper f = k·δ + d·δ̇ at every contact point, never pulling, with regularised Coulomb friction."""

    _word = "kelvin_voigt"

    stiffness: float = 1e4
    """k (N/m)."""
    viscous: float = 50.0
    """d (N·s/m)."""
    transition_speed: float = 0.01
    """Sliding speed at which friction has 0.7 of its full size (m/s)."""


ContactLaw = Union[Soft, Complementarity, HuntCrossley, Impulse, KelvinVoigt]
"""How contacts push."""


@dataclass(frozen=True)
class PairLaw:
    """A contact law for one geom, or for a pair of geoms.

    >>> import carom
    >>> springs = carom.PairLaw(carom.HuntCrossley(stiffness=1e4), "cube")
    >>> model = carom.Model.load("models/cube.xml").with_options(contact_law=[carom.Soft(), springs])
    """

    law: ContactLaw
    """The law."""
    geom1: str
    """The geom whose contacts follow it."""
    geom2: str | None = None
    """The other geom, if only contacts with it do."""

    def _text(self) -> str:
        other = "" if self.geom2 is None else f"; geom2={self.geom2}"
        return f"{self.law._text()}; geom1={self.geom1}{other}"


def _laws(laws: ContactLaw | PairLaw | Sequence[ContactLaw | PairLaw]) -> list[tuple[str, str]]:
    """Laws by label."""
    listed = [laws] if isinstance(laws, (_Law, PairLaw)) or isinstance(laws, str) else list(laws)
    for law in listed:
        if not isinstance(law, (_Law, PairLaw)):
            known = "carom.Soft(), carom.Complementarity(), carom.HuntCrossley(), carom.Impulse(), carom.KelvinVoigt() or carom.PairLaw(...)"
            raise TypeError(f"a contact law is {known}, not {law!r}")
    named = enumerate(listed)
    return [(f"law{i}" if isinstance(law, PairLaw) else "", law._text()) for i, law in named]


@dataclass(frozen=True)
class FromDistance:
    """Contacts from distance: contacts that already push a little where nothing touches yet.

    They are in gradients only, so that a loss feels a contact that was missed; motions stay as they are, to the last bit.
    The defaults are those of the public experiments of Paulus, Geist et al. (2025).
    """

    width: float = 0.1
    """Distance from which contacts act (m)."""
    far_impedance: float = 0.0
    """Impedance at that distance."""
    near_impedance: float = 0.01
    """Impedance where geoms are about to touch."""
    midpoint: float = 1.0
    """Midpoint of the curve between the two."""
    power: float = 2.0
    """Power of the curve."""
    sharpness: float = 1e4
    """Sharpness of the soft reference (1/m)."""
    geoms: tuple[str, ...] | None = None
    """Only contacts of these geoms; all if neither this nor ``pairs`` is given."""
    pairs: tuple[tuple[str, str], ...] | None = None
    """Only contacts of these pairs of geoms."""
    in_motions: bool = False
    """Whether they act in motions too: another system, in which things hover."""

    def _dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Options:
    """Physics options of a model, named as in model files; what is ``None`` stays as the file says.

    >>> import carom
    >>> finer = carom.Options(timestep=0.001, integrator="implicitfast")
    >>> carom.Model.load("models/humanoid.xml", options=finer).timestep
    0.001
    """

    timestep: float | None = None
    """Time step (s)."""
    integrator: Literal["Euler", "RK4", "implicit", "implicitfast"] | None = None
    """How steps are made."""
    gravity: tuple[float, float, float] | None = None
    """Gravity (m/s²)."""
    wind: tuple[float, float, float] | None = None
    """Velocity of the medium (m/s)."""
    magnetic: tuple[float, float, float] | None = None
    """Magnetic flux."""
    density: float | None = None
    """Density of the medium (kg/m³)."""
    viscosity: float | None = None
    """Viscosity of the medium (Pa·s)."""
    cone: Literal["pyramidal", "elliptic"] | None = None
    """Friction cone."""
    impratio: float | None = None
    """Ratio of frictional to normal constraint impedance."""
    solver: Literal["PGS", "CG", "Newton"] | None = None
    """Constraint solver."""
    iterations: int | None = None
    """The most iterations of the solver."""
    tolerance: float | None = None
    """Tolerance of the solver."""
    ls_iterations: int | None = None
    """The most iterations of its line search."""
    ls_tolerance: float | None = None
    """Tolerance of its line search."""
    noslip_iterations: int | None = None
    """Sweeps that remove slip."""
    noslip_tolerance: float | None = None
    """Tolerance of these sweeps."""
    ccd_iterations: int | None = None
    """The most iterations of the convex collider."""
    ccd_tolerance: float | None = None
    """Tolerance of the convex collider."""
    contact_law: ContactLaw | PairLaw | Sequence[ContactLaw | PairLaw] | None = None
    """How contacts push: a law for the whole model, or a list of laws for it and for geoms."""
    from_distance: FromDistance | None = None
    """Contacts from distance."""
    flags: tuple[tuple[str, bool], ...] = ()
    """Switches by their names in model files, such as ``(("contact", False),)``; gravity's is ``gravity_force``."""

    def _dict(self) -> dict[str, Any]:
        """What is given."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: _option(name, value) for name, value in given.items() if value is not None}
        given.update(given.pop("flags"))
        if "contact_law" in given:
            given["contact_law"] = _laws(given["contact_law"])
        if "from_distance" in given:
            given["from_distance"] = given["from_distance"]._dict()
        return given


_VECTORS = ("gravity", "wind", "magnetic")
_COUNTS = ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations")
_NUMBERS = ("timestep", "density", "viscosity", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance")


def _option(name: str, value: Any) -> Any:
    """The value of an option, if it can be one."""
    if name in _VECTORS:
        vector = _given.finite(value, name)
        if vector.shape != (3,):
            raise ValueError(f"{name} has the shape {vector.shape}, expected 3 numbers: x, y, z")
        return tuple(vector.tolist())
    if name in _COUNTS:
        return _given.count(value, name)
    if name in _NUMBERS:
        number = _given.finite(value, name)
        if number.shape != ():
            raise ValueError(f"{name} is a number, not {value!r}")
        if number < 0 or (name == "timestep" and number == 0):
            raise ValueError(f"{name} is positive, not {value!r}" if name == "timestep" else f"{name} is at least 0, not {value!r}")
        return float(number)
    return value
