"""Differentiable rigid-body simulation: MuJoCo's motion, and its gradient by every number of the model.

>>> import carom
>>> model = carom.Model.load("models/cube.xml")
>>> start = model.state()
>>> start.qvel[:3] = [1, 0, -2]
>>> rollout = model.rollout(start, steps=150)
>>> loss = rollout.cotangents()
>>> loss.qpos[-1, 0] = 1.0
>>> gradient = rollout.backward(loss)
>>> size = model.parameters("geom.cube.size")
>>> size.gradient(gradient).shape
(3,)
"""

from . import flow
from ._core import __version__
from .difference import Difference, NumberChange, diff
from .discovery import Discovery, LawNumber, MissingForce, discover
from .errors import (
    CaromError,
    Diagnostic,
    GradientError,
    IdentificationError,
    ModelError,
    ModelWarning,
    NotFiniteError,
    NotIdentifiableError,
    ParameterError,
    RecordingError,
    UnknownNameError,
)
from .evaluation import Evaluation, TrajectoryErrors, evaluate
from .identification import ErrorChange, Estimate, Identification, Progress, Reason, identify
from .learning import Stage, Training, learn_terms
from .mapping import ProposedMapping, map
from .model import Actuator, Body, Element, Geom, Joint, Linearization, Model, Sensor, Site
from .options import Complementarity, FromDistance, HuntCrossley, Impulse, KelvinVoigt, Options, PairLaw, Soft
from .parameters import Parameters
from .results import Contacts, Results
from .rollout import Change, Cotangents, Gradient, NotFinite, Rollout, Trajectories
from .state import State
from .view import LiveView, Page

__all__ = [
    "Actuator",
    "Body",
    "CaromError",
    "Change",
    "Complementarity",
    "Contacts",
    "Cotangents",
    "Diagnostic",
    "Difference",
    "Discovery",
    "Element",
    "ErrorChange",
    "Estimate",
    "Evaluation",
    "FromDistance",
    "Geom",
    "Gradient",
    "GradientError",
    "HuntCrossley",
    "Identification",
    "IdentificationError",
    "Impulse",
    "Joint",
    "KelvinVoigt",
    "Linearization",
    "LawNumber",
    "LiveView",
    "MissingForce",
    "Model",
    "ModelError",
    "ModelWarning",
    "NotFinite",
    "NotFiniteError",
    "NotIdentifiableError",
    "NumberChange",
    "Options",
    "Page",
    "PairLaw",
    "ParameterError",
    "Parameters",
    "Progress",
    "ProposedMapping",
    "Reason",
    "RecordingError",
    "Results",
    "Rollout",
    "Sensor",
    "Site",
    "Soft",
    "Stage",
    "State",
    "Training",
    "Trajectories",
    "TrajectoryErrors",
    "UnknownNameError",
    "__version__",
    "diff",
    "discover",
    "evaluate",
    "flow",
    "identify",
    "learn_terms",
    "map",
]
