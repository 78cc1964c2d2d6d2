"""Numbers of a model as a vector θ with a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy.typing as npt

from . import _core, _given
from .state import Array

if TYPE_CHECKING:
    from .model import Model
    from .rollout import Gradient


class Parameters:
    """Numbers of a model, chosen by name, as a vector θ.

    Selectors have the form ``family.name.attribute[components] modifiers`` with the attributes of the file format; names
    may hold ``*`` and ``?``. Modifiers are ``log``, ``softplus``, ``bounds(low,high)``, ``scale(c)``, ``tied`` and
    ``tied-ratio``. Setting a number derives everything that follows from it, as compiling the changed file would.

    >>> import carom
    >>> model = carom.Model.load("models/cube.xml")
    >>> parameters = model.parameters("geom.cube.size log tied", "option.gravity[2]")
    >>> parameters.names
    ['geom.cube.size', 'option.gravity[2]']
    >>> theta = parameters.set("option.gravity[2]", -1.62)
    >>> on_the_moon = parameters.apply(theta)
    >>> on_the_moon.gravity[2]
    np.float64(-1.62)

    The gradient by θ follows from that of a rollout of the model for θ.

    >>> rollout = on_the_moon.rollout(steps=100)
    >>> gradient = rollout.backward(qpos=rollout.qpos)
    >>> parameters.gradient(gradient, theta).shape
    (2,)
    """

    def __init__(self, model: Model, selectors: Sequence[str]) -> None:
        for selector in selectors:
            if not isinstance(selector, str):
                raise TypeError(f"a selector is a text, not {selector!r}")
        self._native = _core.Parameters(model._native, list(selectors))
        self.names = self._native.names
        """Name of each number of θ."""
        self.theta = self._native.theta
        """The θ that gives the model as it was."""
        self.theta.flags.writeable = False

    def __len__(self) -> int:
        return len(self.names)

    def _theta(self, theta: npt.ArrayLike | None, name: str = "theta") -> Array:
        if theta is None:
            return self.theta
        given = _given.finite(theta, name)
        if given.shape != (len(self),):
            raise ValueError(f"{name} has the shape {given.shape}, expected ({len(self)},)")
        return given

    @property
    def bounds(self) -> Array:
        """Lowest and highest sensible value of each number of θ."""
        return self._native.bounds

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Elements that patterns passed over, and why."""
        return self._native.skipped

    def values(self, theta: npt.ArrayLike | None = None) -> Array:
        """What each number of θ stands for, in the units of the model."""
        return self._native.values(self._theta(theta))

    def set(self, name: str, value: float, theta: npt.ArrayLike | None = None) -> Array:
        """θ with one parameter set to a value, in the units of the model."""
        return self._native.set(self._theta(theta), name, float(value))

    def apply(self, theta: npt.ArrayLike) -> Model:
        """The model for θ."""
        from .model import Model

        return Model(self._native.apply(self._theta(theta)))

    def gradient(self, gradient: Gradient, theta: npt.ArrayLike | None = None) -> Array:
        """The derivative of a loss by θ from the gradient of a rollout of the model for θ, summed over a batch."""
        return self._native.backward(self._theta(theta), gradient._bar)

    def _direction(self, theta: npt.ArrayLike | None, along: npt.ArrayLike) -> _core.ModelBar:
        return self._native.direction(self._theta(theta), self._theta(along, "direction"))

    def describe(self, theta: npt.ArrayLike | None = None) -> str:
        """A table for people: names, values, units, transforms."""
        return self._native.describe(self._theta(theta))

    def __repr__(self) -> str:
        return f"<carom.Parameters: {', '.join(self.names)}>"
