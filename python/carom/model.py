"""The compiled model."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _core, _given
from .errors import Diagnostic, ModelError, ModelWarning, NotFiniteError, UnknownNameError
from .options import Options
from .parameters import Parameters
from .results import Results
from .rollout import NotFinite, Rollout
from .state import Array, Layout, State
from .view import LiveView, _opens

if TYPE_CHECKING:
    from typing_extensions import Never, Self

Integers = npt.NDArray[np.int64]
Path = Union[str, "os.PathLike[str]"]


class _Fixed(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of a model: what is computed from it is an ordinary array, and assignment says how a model is changed."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ValueError(
                "arrays of a model are read-only, since a model never changes: model.parameters('body.hand.mass').apply([0.4]) makes one with other numbers, "
                "model.with_options(timestep=0.001) one with other options"
            )
        super().__setitem__(key, value)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __repr__(self) -> str:
        return repr(np.asarray(self))


@dataclasses.dataclass(frozen=True)
class Element:
    """An element of a model: its number and its name."""

    id: int
    name: str
    _model: Model = dataclasses.field(repr=False, compare=False)

    def _row(self, array: Array) -> Array:
        row: Array = array[self.id]
        return row


@dataclasses.dataclass(frozen=True)
class Joint(Element):
    """A joint, where its numbers are, and what they are.

    >>> import carom
    >>> carom.Model.load("models/pendulum.xml").joint("pivot").damping
    array([0.01])
    """

    type: str
    """``free``, ``ball``, ``slide`` or ``hinge``."""
    body: int
    qpos: slice
    """Its coordinates in ``qpos``."""
    dof: slice
    """Its degrees of freedom in ``qvel``."""

    @property
    def axis(self) -> Array:
        """Its axis in the body's frame."""
        return self._row(self._model.jnt_axis)

    @property
    def pos(self) -> Array:
        """Its anchor in the body's frame (m)."""
        return self._row(self._model.jnt_pos)

    @property
    def range(self) -> Array:
        """Its limits (rad or m)."""
        return self._row(self._model.jnt_range)

    @property
    def stiffness(self) -> float:
        """Stiffness of its spring."""
        return float(self._model.jnt_stiffness[self.id])

    @property
    def damping(self) -> Array:
        """Damping of its degrees of freedom."""
        return self._model.dof_damping[self.dof]

    @property
    def armature(self) -> Array:
        """Added inertia of its degrees of freedom."""
        return self._model.dof_armature[self.dof]

    @property
    def frictionloss(self) -> Array:
        """Dry friction of its degrees of freedom."""
        return self._model.dof_frictionloss[self.dof]


@dataclasses.dataclass(frozen=True)
class Body(Element):
    """A body; the world is body 0.

    >>> import carom
    >>> carom.Model.load("models/cube.xml").body("cube").mass
    0.4
    """

    parent: int
    joints: slice
    geoms: slice
    dof: slice

    @property
    def mass(self) -> float:
        """Mass (kg)."""
        return float(self._model.body_mass[self.id])

    @property
    def subtree_mass(self) -> float:
        """Mass with all that it carries (kg)."""
        return float(self._model.body_subtreemass[self.id])

    @property
    def inertia(self) -> Array:
        """Principal moments of inertia (kg·m²)."""
        return self._row(self._model.body_inertia)

    @property
    def pos(self) -> Array:
        """Position in the parent's frame (m)."""
        return self._row(self._model.body_pos)

    @property
    def quat(self) -> Array:
        """Orientation in the parent's frame."""
        return self._row(self._model.body_quat)

    @property
    def ipos(self) -> Array:
        """Centre of mass in its frame (m)."""
        return self._row(self._model.body_ipos)


@dataclasses.dataclass(frozen=True)
class Geom(Element):
    """A geom."""

    type: str
    body: int

    @property
    def size(self) -> Array:
        """Size (m), as its type has it."""
        return self._row(self._model.geom_size)

    @property
    def pos(self) -> Array:
        """Position in the body's frame (m)."""
        return self._row(self._model.geom_pos)

    @property
    def quat(self) -> Array:
        """Orientation in the body's frame."""
        return self._row(self._model.geom_quat)

    @property
    def friction(self) -> Array:
        """Sliding, spinning and rolling friction."""
        return self._row(self._model.geom_friction)

    @property
    def solref(self) -> Array:
        """Reference dynamics of its contacts."""
        return self._row(self._model.geom_solref)

    @property
    def solimp(self) -> Array:
        """Impedance of its contacts."""
        return self._row(self._model.geom_solimp)


@dataclasses.dataclass(frozen=True)
class Site(Element):
    """A site."""

    body: int

    @property
    def pos(self) -> Array:
        """Position in the body's frame (m)."""
        return self._row(self._model.site_pos)

    @property
    def quat(self) -> Array:
        """Orientation in the body's frame."""
        return self._row(self._model.site_quat)


@dataclasses.dataclass(frozen=True)
class Actuator(Element):
    """An actuator. Its control is number ``id``, unless an actuator up to it has several controls or none."""

    act: slice
    """Its activations in ``act``."""

    @property
    def gear(self) -> Array:
        """Gear ratios."""
        return self._row(self._model.actuator_gear)

    @property
    def ctrlrange(self) -> Array:
        """Limits of its control."""
        return self._row(self._model.actuator_ctrlrange)

    @property
    def forcerange(self) -> Array:
        """Limits of its force."""
        return self._row(self._model.actuator_forcerange)


@dataclasses.dataclass(frozen=True)
class Sensor(Element):
    """A sensor, and where its values are."""

    data: slice
    """Its values in ``sensordata``."""


class Linearization(NamedTuple):
    """A step as a linear map of states in tangent space: x⁺ ≈ A·x + B·u, with x = (qpos, qvel, act)."""

    A: Array
    B: Array


_FAMILIES = ("body", "joint", "geom", "site", "camera", "mesh", "hfield", "pair", "equality", "tendon", "actuator", "sensor", "key")
_JOINTS = ("free", "ball", "slide", "hinge")
_JOINT_COORDINATES = (7, 4, 1, 1)
_JOINT_DOFS = (6, 3, 1, 1)
_GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")


class _ReadOnly:
    """An attribute of the model that cannot be set."""

    def __set_name__(self, owner: type[Model], name: str) -> None:
        self._name = name

    def __set__(self, model: Model, value: Never) -> None:
        advice = "parameters() makes models with other numbers, with_options() with other options"
        raise AttributeError(f"'{self._name}' of a model cannot be set: {advice}")


class _Alias(_ReadOnly):
    """A read-only array of the model under MuJoCo's name, and the width of its rows if they are not single numbers."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width

    def _read(self, model: Model) -> Array:
        numbers = model._constants.get(self._name)
        if numbers is None:
            numbers = model._native.constant(self._name)
            if self._width is not None:
                numbers = numbers.reshape(-1, self._width)
            numbers.flags.writeable = False
            numbers = numbers.view(_Fixed)
            model._constants[self._name] = numbers
        return numbers


class _Numbers(_Alias):
    """An alias of numbers."""

    @overload
    def __get__(self, model: None, owner: type[Model]) -> Self: ...
    @overload
    def __get__(self, model: Model, owner: type[Model]) -> Array: ...
    def __get__(self, model: Model | None, owner: type[Model]) -> Self | Array:
        return self if model is None else self._read(model)


class _Integers(_Alias):
    """An alias of integers; -1 stands for none."""

    @overload
    def __get__(self, model: None, owner: type[Model]) -> Self: ...
    @overload
    def __get__(self, model: Model, owner: type[Model]) -> Integers: ...
    def __get__(self, model: Model | None, owner: type[Model]) -> Self | Integers:
        return self if model is None else np.asarray(self._read(model)).astype(np.int64)


class _Count(_ReadOnly):
    """A size of the model."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    @overload
    def __get__(self, model: None, owner: type[Model]) -> Self: ...
    @overload
    def __get__(self, model: Model, owner: type[Model]) -> int: ...
    def __get__(self, model: Model | None, owner: type[Model]) -> Self | int:
        return self if model is None else model._counts[self._name]


class Model:
    """A compiled model: what never changes while simulating.

    >>> import carom
    >>> model = carom.Model.load("models/humanoid.xml")
    >>> model.nq, model.nv, model.nu
    (28, 27, 21)
    >>> rollout = model.rollout(model.state(), steps=100)
    >>> rollout.qpos.shape
    (101, 28)

    Arrays bear MuJoCo's names and cannot be changed in place; :meth:`parameters` makes models with other numbers, and
    :meth:`with_options` models with other options.
    """

    __slots__ = ("__weakref__", "_constants", "_counts", "_layout", "_native")

    _native: _core.Model
    _counts: dict[str, int]
    _layout: Layout
    _constants: dict[str, Array]

    def __init__(self, core: _core.Model) -> None:
        """For internal use: models come from :meth:`load` or :meth:`from_string`."""
        self._native = core
        self._counts = core.counts
        places = {name: slice(*place) for name, place in core.layout.items()}
        self._layout = Layout(width=places["history"].stop, nmocap=self.nmocap, nu=self.nu, **places)
        self._constants = {}

    # Where models come from.

    @classmethod
    def load(cls, path: Path, *, options: Options | None = None, allow: Iterable[str] = ()) -> Model:
        """Reads a model file: MJCF or URDF.

        ``allow`` lists codes of unsupported features to go on without, or ``"all"``. Raises :class:`carom.ModelError` with
        every problem of the file.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"a model file is named by a path, not by {path!r}")
        if isinstance(path, str) and path.lstrip().startswith("<"):
            raise ValueError("this is the text of a model, not the path of a file: carom.Model.from_string(text) reads it")
        return cls._read(_core.Model.load(os.fsdecode(path), _codes(allow)), options)

    @classmethod
    def from_string(
        cls,
        text: str,
        *,
        directory: Path = "",
        assets: Mapping[str, bytes] | None = None,
        options: Options | None = None,
        allow: Iterable[str] = (),
    ) -> Model:
        """Reads a model from a text. Files that it names are looked for in ``assets``, then in ``directory``.

        >>> import carom
        >>> text = "<mujoco><worldbody><body><joint name='hinge'/><geom size='0.1'/></body></worldbody></mujoco>"
        >>> carom.Model.from_string(text).joint("hinge").type
        'hinge'
        """
        if not isinstance(text, str):
            raise TypeError(f"the text of a model is a str, not {type(text).__name__}; .decode() makes one of bytes")
        if "<" not in text:
            raise ModelError(f"{text!r} is no text of a model; carom.Model.load(path) reads a file")
        files = {name: bytes(content) for name, content in _contents(assets or {})}
        core = _core.Model.from_string(text, os.fsdecode(directory), files, _codes(allow))
        return cls._read(core, options)

    @classmethod
    def from_mujoco(cls, model: Any) -> Model:
        """Takes over a compiled model of the ``mujoco`` package, a ``mujoco.MjModel``, with all its numbers as they are.

        So any model that MuJoCo compiles can be used, also one that was made or changed in Python. What carom does not simulate
        is refused by name. MuJoCo has forgotten what masses came from: sizes of geoms, as parameters, do not change them.
        """
        from ._mujoco import adopt

        if not hasattr(model, "opt") or not hasattr(model, "body_parentid"):
            advice = "mujoco.MjModel.from_xml_path(path) or MjSpec.compile() makes one; carom.Model.load(path) needs none"
            raise TypeError(f"a mujoco.MjModel is needed, not {type(model).__name__}: {advice}")
        return cls._read(adopt(model), None)

    @classmethod
    def _read(cls, core: _core.Model, options: Options | None) -> Model:
        model = cls(core)
        if model.diagnostics:
            warnings.warn(core.warnings[0].rstrip(), ModelWarning, stacklevel=3)
        return model if options is None else model._with(options)

    def with_options(self, options: Options | None = None, **changes: Any) -> Model:
        """The same model with other options, as if its file said so; see :class:`carom.Options` for their names.

        >>> import carom
        >>> model = carom.Model.load("models/cube.xml").with_options(integrator="RK4", timestep=0.001)
        >>> model.timestep, model.integrator
        (0.001, 'RK4')
        """
        model = self if options is None else self._with(options)
        known = [field.name for field in dataclasses.fields(Options)]
        for name in changes:
            if name not in known:
                raise TypeError(f"there is no option '{name}'; {_given.nearest(name, known)}")
        return model._with(Options(**changes)) if changes else model

    def _with(self, options: Options) -> Model:
        return Model(self._native.with_options(options._dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        text = self._native.portable()
        if text is None:
            raise TypeError(
                "this model cannot be pickled, since no model file says all of its numbers: pickle the model it comes from, "
                "and theta for parameters.apply(theta)"
            )
        return _unpickled, (text,)

    def to_mjcf(self) -> str:
        """The model file, with everything that carom has understood of it."""
        text = self._native.to_mjcf()
        if text is None:
            raise ValueError("this model does not come from a file")
        return text

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What reader and compiler warned about."""
        return Diagnostic._from_json(self._native.warnings[1])

    # Simulation.

    def state(self, key: int | str | None = None, *, batch: int | None = None) -> State:
        """The default state, or that of a keyframe with its controls; a batch of copies if asked for.

        >>> import carom
        >>> model = carom.Model.load("models/arm7.xml")
        >>> model.state("home").ctrl[1]
        np.float64(0.4)
        """
        if key is None:
            state = State(self._layout, *self._native.reference())
        else:
            state = State(self._layout, *self._native.keyframe(self.key(key).id))
        return state if batch is None else state.repeat(_given.count(batch, "batch"))

    def step(
        self,
        state: State,
        ctrl: npt.ArrayLike | None = None,
        *,
        steps: int = 1,
        qfrc_applied: npt.ArrayLike | None = None,
        xfrc_applied: npt.ArrayLike | None = None,
        out: State | None = None,
        threads: int | None = None,
    ) -> State:
        """The state after a step, or after some under the same controls and forces; of a batch too.

        ``qfrc_applied`` are generalised forces, ``xfrc_applied`` forces and torques on bodies at their centres of mass, as
        in MuJoCo. With ``out=state`` the state itself moves on.

        >>> import carom
        >>> model = carom.Model.load("models/cube.xml")
        >>> state = model.state()
        >>> model.step(state, steps=10).time.round(9)
        np.float64(0.02)
        """
        own = self._own(state)
        force = _forces(qfrc_applied, "qfrc_applied", state, (self.nv,))
        wrench = _forces(xfrc_applied, "xfrc_applied", state, (self.nbody, 6))
        controls = self._one_control(ctrl, own)
        row, mocap = self._rows_of(state)
        given: _core._Inputs = {"controls": controls, "force": force, "body_force": wrench}
        rows, _, problems = _core.step(
            self._native, (row, mocap), given, _given.count(steps, "steps"), _given.threads(threads)
        )
        if problems:
            trajectory, _, sentence = problems[0]
            where = "" if state.batch is None else f"state {trajectory}: "
            raise NotFiniteError(f"{where}the step is not finite: {sentence}")
        rows = rows.reshape(state._row.shape)
        if out is None:
            return State(self._layout, rows, state._mocap.copy(), state._ctrl.copy())
        out._set(out._row, "out", rows)
        out._set(out._mocap, "out", state._mocap)
        out._set(out._ctrl, "out", state._ctrl)
        return out

    def forward(
        self,
        state: State,
        ctrl: npt.ArrayLike | None = None,
        *,
        qfrc_applied: npt.ArrayLike | None = None,
        xfrc_applied: npt.ArrayLike | None = None,
    ) -> Results:
        """Everything about a state: positions of bodies, forces, accelerations, contacts, sensor values; of a batch too.

        >>> import carom
        >>> model = carom.Model.load("models/cube.xml")
        >>> model.forward(model.state()).xpos.shape
        (2, 3)
        >>> model.forward(model.state(batch=5)).xpos.shape
        (5, 2, 3)
        """
        own = self._own(state)
        force = _forces(qfrc_applied, "qfrc_applied", state, (self.nv,))
        wrench = _forces(xfrc_applied, "xfrc_applied", state, (self.nbody, 6))
        row, mocap = self._rows_of(state)
        controls = self._one_control(ctrl, own)
        parts = [row, mocap, controls, force, wrench]
        # Controls and forces may be the same for all.
        rows = [
            [part if part is None or len(part) == 1 else part[index : index + 1] for part in parts]
            for index in range(len(row))
        ]
        cores = [_core.Results(self._native, *one) for one in rows]  # type: ignore[arg-type]
        return Results(cores, own.batch)

    def inverse(self, state: State, qacc: npt.ArrayLike) -> Array:
        """Inverse dynamics: the generalised forces under which states accelerate at ``qacc``; of a batch too.

        >>> import carom
        >>> model = carom.Model.load("models/arm7.xml")
        >>> model.inverse(model.state("home"), [0.0] * model.nv).shape
        (7,)
        """
        own = self._own(state)
        shape = (self.nv,) if own.batch is None else (own.batch, self.nv)
        wanted = np.ascontiguousarray(np.broadcast_to(_given.finite(qacc, "qacc"), shape))
        forces = self._native.inverse(self._rows_of(state), wanted.reshape(-1, self.nv))
        return forces.reshape(shape)

    def rollout(
        self,
        state: State | None = None,
        controls: npt.ArrayLike | None = None,
        *,
        steps: int | None = None,
        threads: int | None = None,
    ) -> Rollout:
        """Simulates trajectories and records them, over all cores or ``threads`` of them, with the same bits for any number.

        ``controls`` has the shape (nu,) for constant ones, (steps, nu), or (batch, steps, nu). Without them those of the state hold:
        of a keyframe its own, else zeros. A single state and a batch of
        controls, or the other way round, make a batch. Other Python threads go on meanwhile, and Ctrl-C stops it.

        >>> import carom, numpy as np
        >>> model = carom.Model.load("models/cartpole.xml")
        >>> controls = np.random.default_rng(0).normal(size=(16, 50, model.nu))
        >>> model.rollout(model.state(), controls).qvel.shape
        (16, 51, 2)
        """
        start, given, steps = self._given(state, controls, steps)
        row, mocap = self._rows_of(start)
        rows, sensors, problems = _core.rollout(
            [self._native], row, mocap, given, steps, _given.threads(threads)
        )
        found = tuple(NotFinite(*problem) for problem in problems)
        return Rollout(self, start, given, rows, sensors, found, threads)

    def linearize(
        self, state: State, ctrl: npt.ArrayLike | None = None, *, threads: int | None = None
    ) -> Linearization:
        """The Jacobians of a step by state and controls; of a batch too.

        Configurations live in tangent space here, so A is square of side 2·nv + na.

        >>> import carom
        >>> model = carom.Model.load("models/cartpole.xml")
        >>> A, B = model.linearize(model.state())
        >>> A.shape, B.shape
        ((4, 4), (4, 1))
        """
        own = self._own(state)
        controls = self._one_control(ctrl, own)
        row, mocap = self._rows_of(state)
        a, b = _core.linearize(self._native, row, mocap, controls, _given.threads(threads))
        return Linearization(a[0], b[0]) if state.batch is None else Linearization(a, b)

    def view(
        self,
        state: State | None = None,
        ctrl: npt.ArrayLike | None = None,
        *,
        paused: bool = False,
        port: int = 0,
        browser: bool | None = None,
    ) -> LiveView:
        """Simulates the model from a state and shows it: a notebook in the cell, a program in the browser.

        ``browser`` decides otherwise, ``port`` 0 takes a free one. The page can pause, step, reset, drag bodies and set controls; it is
        served on this machine alone, until :meth:`LiveView.stop` or the end of the program.

        >>> import carom
        >>> model = carom.Model.load("models/humanoid.xml")
        >>> view = model.view(browser=False)
        >>> view.stop()
        """
        start = self.state() if state is None else state
        if start.batch is not None:
            raise ValueError("a batch of states cannot be shown; choose one of them")
        row, mocap = self._rows_of(start)
        controls = self._one_control(ctrl, start)
        core = _core.Viewer(
            self._native, row.reshape(-1), mocap.reshape(-1), controls.reshape(-1), port, paused
        )
        view = LiveView(core)
        if _opens(browser):
            view.open()
        return view

    def parameters(self, *selectors: str) -> Parameters:
        """Numbers of the model, chosen by name, as a vector θ with a gradient; see :class:`carom.Parameters`."""
        return Parameters(self, selectors)

    # Configurations.

    def integrate_pos(self, qpos: npt.ArrayLike, tangent: npt.ArrayLike) -> Array:
        """Configurations moved along tangents: qpos ⊕ tangent."""
        start, along = _rows(qpos, self.nq, "qpos"), _rows(tangent, self.nv, "tangent")
        start = np.ascontiguousarray(np.broadcast_to(start, (*along.shape[:-1], self.nq)))
        moved = self._native.integrate(start.reshape(-1, self.nq), along.reshape(-1, self.nv))
        return moved.reshape(start.shape)

    def difference_pos(self, start: npt.ArrayLike, end: npt.ArrayLike) -> Array:
        """The tangent from one configuration to another: ``start`` ⊕ result = ``end``."""
        first, last = _rows(start, self.nq, "start"), _rows(end, self.nq, "end")
        first = np.ascontiguousarray(np.broadcast_to(first, last.shape))
        tangent = self._native.difference(first.reshape(-1, self.nq), last.reshape(-1, self.nq))
        return tangent.reshape((*last.shape[:-1], self.nv))

    # Names.

    def names(self, family: str) -> list[str]:
        """Names of the elements of a family (``body``, ``joint``, ``geom``, …); empty for those without."""
        try:
            return self._native.names(family)
        except KeyError:
            hint = _given.nearest(str(family), _FAMILIES)
            raise UnknownNameError(f"there is no family of elements '{family}'; {hint}") from None

    def _find(self, family: str, which: int | str) -> tuple[int, str]:
        names = self._native.names(family)
        if isinstance(which, str):
            if which and which in names:
                return names.index(which), which
            raise UnknownNameError(_no_such(family, which, names))
        if not isinstance(which, (int, np.integer)):
            raise TypeError(f"a {family} is chosen by its name or its number, not by {which!r}")
        if -len(names) <= which < len(names):
            index = range(len(names))[which]
            return index, names[index]
        raise IndexError(f"there are {len(names)} elements of the family '{family}', none at {which}")

    def joint(self, which: int | str) -> Joint:
        """A joint by name or index.

        >>> import carom
        >>> model = carom.Model.load("models/humanoid.xml")
        >>> knee = model.joint("right_knee")
        >>> model.state().qpos[knee.qpos].shape
        (1,)
        """
        index, name = self._find("joint", which)
        kind = int(self.jnt_type[index])
        qpos, dof = int(self.jnt_qposadr[index]), int(self.jnt_dofadr[index])
        return Joint(
            index,
            name,
            self,
            _JOINTS[kind],
            int(self.jnt_bodyid[index]),
            slice(qpos, qpos + _JOINT_COORDINATES[kind]),
            slice(dof, dof + _JOINT_DOFS[kind]),
        )

    def body(self, which: int | str) -> Body:
        """A body by name or index."""
        index, name = self._find("body", which)
        return Body(
            index,
            name,
            self,
            int(self.body_parentid[index]),
            _range(self.body_jntadr[index], self.body_jntnum[index]),
            _range(self.body_geomadr[index], self.body_geomnum[index]),
            _range(self.body_dofadr[index], self.body_dofnum[index]),
        )

    def geom(self, which: int | str) -> Geom:
        """A geom by name or index."""
        index, name = self._find("geom", which)
        return Geom(index, name, self, _GEOMS[int(self.geom_type[index])], int(self.geom_bodyid[index]))

    def site(self, which: int | str) -> Site:
        """A site by name or index."""
        index, name = self._find("site", which)
        return Site(index, name, self, int(self.site_bodyid[index]))

    def actuator(self, which: int | str) -> Actuator:
        """An actuator by name or index."""
        index, name = self._find("actuator", which)
        return Actuator(
            index, name, self, _range(self.actuator_actadr[index], self.actuator_actnum[index])
        )

    def sensor(self, which: int | str) -> Sensor:
        """A sensor by name or index."""
        index, name = self._find("sensor", which)
        return Sensor(index, name, self, _range(self.sensor_adr[index], self.sensor_dim[index]))

    def tendon(self, which: int | str) -> Element:
        """A tendon by name or index."""
        return Element(*self._find("tendon", which), self)

    def equality(self, which: int | str) -> Element:
        """An equality constraint by name or index."""
        return Element(*self._find("equality", which), self)

    def camera(self, which: int | str) -> Element:
        """A camera by name or index."""
        return Element(*self._find("camera", which), self)

    def key(self, which: int | str) -> Element:
        """A keyframe by name or index."""
        return Element(*self._find("key", which), self)

    # Options, sizes and arrays.

    @property
    def name(self) -> str:
        """The model's name."""
        return self._native.name

    @property
    def options(self) -> dict[str, Any]:
        """Physics options, by their names in model files."""
        return self._native.settings

    @property
    def timestep(self) -> float:
        """Time step (s)."""
        return float(self._native.settings["timestep"])

    @property
    def gravity(self) -> Array:
        """Gravity (m/s²)."""
        return np.array(self._native.settings["gravity"])

    @property
    def integrator(self) -> str:
        """How steps are made: ``Euler``, ``RK4``, ``implicit`` or ``implicitfast``."""
        return str(self._native.settings["integrator"])

    nq = _Count("Numbers of a configuration.")
    nv = _Count("Degrees of freedom.")
    nu = _Count("Controls.")
    na = _Count("Activations.")
    nbody = _Count("Bodies, the world included.")
    njnt = _Count("Joints.")
    ngeom = _Count("Geoms.")
    nsite = _Count("Sites.")
    ncam = _Count("Cameras.")
    nmesh = _Count("Meshes.")
    nhfield = _Count("Height fields.")
    npair = _Count("Explicit contact pairs.")
    neq = _Count("Equality constraints.")
    ntendon = _Count("Tendons.")
    nwrap = _Count("Elements of tendon paths.")
    nsensor = _Count("Sensors.")
    nsensordata = _Count("Sensor values.")
    nkey = _Count("Keyframes.")
    nmocap = _Count("Mocap bodies.")
    ntree = _Count("Kinematic trees.")

    qpos0 = _Numbers()
    qpos_spring = _Numbers()
    body_parentid = _Integers()
    body_rootid = _Integers()
    body_weldid = _Integers()
    body_mocapid = _Integers()
    body_jntadr = _Integers()
    body_jntnum = _Integers()
    body_dofadr = _Integers()
    body_dofnum = _Integers()
    body_geomadr = _Integers()
    body_geomnum = _Integers()
    body_pos = _Numbers(3)
    body_quat = _Numbers(4)
    body_ipos = _Numbers(3)
    body_iquat = _Numbers(4)
    body_mass = _Numbers()
    body_subtreemass = _Numbers()
    body_inertia = _Numbers(3)
    body_invweight0 = _Numbers(2)
    body_gravcomp = _Numbers()
    jnt_type = _Integers()
    jnt_qposadr = _Integers()
    jnt_dofadr = _Integers()
    jnt_bodyid = _Integers()
    jnt_limited = _Integers()
    jnt_actfrclimited = _Integers()
    jnt_pos = _Numbers(3)
    jnt_axis = _Numbers(3)
    jnt_stiffness = _Numbers()
    jnt_range = _Numbers(2)
    jnt_actfrcrange = _Numbers(2)
    jnt_margin = _Numbers()
    jnt_solref = _Numbers(2)
    jnt_solimp = _Numbers(5)
    dof_bodyid = _Integers()
    dof_jntid = _Integers()
    dof_parentid = _Integers()
    dof_armature = _Numbers()
    dof_damping = _Numbers()
    dof_frictionloss = _Numbers()
    dof_invweight0 = _Numbers()
    dof_M0 = _Numbers()
    dof_solref = _Numbers(2)
    dof_solimp = _Numbers(5)
    geom_type = _Integers()
    geom_contype = _Integers()
    geom_conaffinity = _Integers()
    geom_condim = _Integers()
    geom_bodyid = _Integers()
    geom_dataid = _Integers()
    geom_priority = _Integers()
    geom_solmix = _Numbers()
    geom_solref = _Numbers(2)
    geom_solimp = _Numbers(5)
    geom_size = _Numbers(3)
    geom_rbound = _Numbers()
    geom_pos = _Numbers(3)
    geom_quat = _Numbers(4)
    geom_friction = _Numbers(3)
    geom_margin = _Numbers()
    geom_gap = _Numbers()
    site_type = _Integers()
    site_bodyid = _Integers()
    site_size = _Numbers(3)
    site_pos = _Numbers(3)
    site_quat = _Numbers(4)
    mesh_vertnum = _Integers()
    mesh_facenum = _Integers()
    pair_dim = _Integers()
    pair_geom1 = _Integers()
    pair_geom2 = _Integers()
    pair_solref = _Numbers(2)
    pair_solimp = _Numbers(5)
    pair_margin = _Numbers()
    pair_gap = _Numbers()
    pair_friction = _Numbers(5)
    eq_type = _Integers()
    eq_obj1id = _Integers()
    eq_obj2id = _Integers()
    eq_active0 = _Integers()
    eq_solref = _Numbers(2)
    eq_solimp = _Numbers(5)
    tendon_limited = _Integers()
    tendon_range = _Numbers(2)
    tendon_stiffness = _Numbers()
    tendon_damping = _Numbers()
    tendon_armature = _Numbers()
    tendon_frictionloss = _Numbers()
    tendon_lengthspring = _Numbers(2)
    tendon_length0 = _Numbers()
    actuator_trntype = _Integers()
    actuator_trnid = _Integers(2)
    actuator_dyntype = _Integers()
    actuator_gaintype = _Integers()
    actuator_biastype = _Integers()
    actuator_actadr = _Integers()
    actuator_actnum = _Integers()
    actuator_ctrllimited = _Integers()
    actuator_forcelimited = _Integers()
    actuator_dynprm = _Numbers(10)
    actuator_gainprm = _Numbers(10)
    actuator_biasprm = _Numbers(10)
    actuator_ctrlrange = _Numbers(2)
    actuator_forcerange = _Numbers(2)
    actuator_gear = _Numbers(6)
    actuator_acc0 = _Numbers()
    actuator_length0 = _Numbers()
    actuator_lengthrange = _Numbers(2)
    sensor_dim = _Integers()
    sensor_adr = _Integers()
    sensor_cutoff = _Numbers()
    key_time = _Numbers()

    def __repr__(self) -> str:
        return f"<carom.Model '{self.name}': nq={self.nq}, nv={self.nv}, nu={self.nu}>"

    # Shapes.

    def _rows_of(self, state: State) -> tuple[Array, Array]:
        return self._own(state)._rows()

    def _own(self, state: State) -> State:
        """The state, if it is one of this model."""
        if not isinstance(state, State):
            advice = "model.state() makes one, model.state(batch=8) a batch, carom.State.stack([...]) a batch of given ones"
            raise TypeError(f"a carom.State is needed, not {type(state).__name__}: {advice}")
        if state._layout != self._layout:
            raise ValueError("the state belongs to a model of another shape; model.state() makes one for this model")
        return state

    def _one_control(self, ctrl: npt.ArrayLike | None, state: State) -> Array:
        """Controls of single steps, as (1 or count, 1, nu); those of the states where none are given."""
        count = 1 if state.batch is None else state.batch
        if ctrl is None:
            return np.ascontiguousarray(state._ctrl).reshape(count, 1, self.nu)
        given = _given.finite(ctrl, "ctrl")
        if given.shape not in ((self.nu,), (count, self.nu)):
            expected = f"({self.nu},)" if count == 1 else f"({self.nu},) or ({count}, {self.nu})"
            raise ValueError(f"ctrl has the shape {given.shape}, expected {expected}")
        return given.reshape(1 if given.ndim == 1 else count, 1, self.nu)

    def _given(
        self, state: State | None, controls: npt.ArrayLike | None, steps: int | None
    ) -> tuple[State, Array, int]:
        """Start states with memory of their own, controls as (1 or batch, 1 or steps, nu), and the number of steps."""
        start = self.state() if state is None else self._own(state)
        given, is_batch = self._controls(controls, steps)
        steps = self._steps(controls, given, steps)
        if controls is None:
            given = start._ctrl.reshape(1 if start.batch is None else start.batch, 1, self.nu).copy()
        batch = given.shape[0]
        if is_batch and start.batch is None:
            return start.repeat(batch), given, steps
        if is_batch and start.batch != batch:
            raise ValueError(f"there are {start.batch} states and {batch} sets of controls")
        return start.copy(), given, steps

    def _controls(self, controls: npt.ArrayLike | None, steps: int | None) -> tuple[Array, bool]:
        """Controls as (1 or batch, 1 or steps, nu), and whether they are a batch."""
        if controls is None:
            return np.zeros((1, 1, self.nu)), False
        given = _given.finite(controls, "controls")
        if given.ndim == 0 or given.ndim > 3 or given.shape[-1] != self.nu:
            shapes = f"({self.nu},), (steps, {self.nu}) or (batch, steps, {self.nu})"
            raise ValueError(f"controls have the shape {given.shape}, expected {shapes}")
        if steps is not None and given.ndim > 1 and given.shape[-2] != steps:
            raise ValueError(f"there are controls for {given.shape[-2]} steps, not for {steps}")
        return given.reshape((1,) * (3 - given.ndim) + given.shape), given.ndim == 3

    def _steps(self, controls: npt.ArrayLike | None, given: Array, steps: int | None) -> int:
        if steps is None:
            if controls is None or np.ndim(controls) == 1:
                raise ValueError("say how many steps: rollout(..., steps=100)")
            return int(given.shape[1])
        return _given.count(steps, "steps")


def _rows(numbers: npt.ArrayLike, width: int, name: str) -> Array:
    given = _given.numbers(numbers, name)
    if given.ndim == 0 or given.shape[-1] != width:
        raise ValueError(f"{name} has the shape {given.shape}, expected (..., {width})")
    return given


def _forces(
    forces: npt.ArrayLike | None, name: str, state: State, shape: tuple[int, ...]
) -> Array | None:
    """Forces as (batch, …)."""
    if forces is None:
        return None
    given = _given.finite(forces, name)
    count = 1 if state.batch is None else state.batch
    if given.shape not in (shape, (count, *shape)):
        raise ValueError(f"{name} has the shape {given.shape}, expected {shape}")
    return np.ascontiguousarray(np.broadcast_to(given, (count, *shape)))


def _unpickled(text: str) -> Model:
    return Model(_core.Model.from_string(text, "", {}, ["all"]))


def _codes(allow: Iterable[str]) -> list[str]:
    """Codes of problems; a single one may stand alone."""
    return [allow] if isinstance(allow, str) else list(allow)


def _contents(assets: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    for name, content in assets.items():
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(f"the content of the file '{name}' is bytes, not {type(content).__name__}; .encode() makes some of a text")
        yield name, content


def _range(first: np.int64, count: np.int64) -> slice:
    start = max(int(first), 0)
    return slice(start, start + int(count))


def _no_such(family: str, name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    named = [known for known in names if known]
    near = get_close_matches(name, named, n=3, cutoff=0.5) or named[:8]
    known = ", ".join(near) if near else "none has a name"
    return f"the model has no {family} '{name}'; it has {known}"
