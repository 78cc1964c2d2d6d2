"""Mistakes of users: every one is answered with a sentence that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import carom


def models() -> dict[str, carom.Model]:
    return {name: carom.Model.load(f"models/{name}.xml") for name in ("humanoid", "cube")}


def infinite(model: carom.Model) -> carom.State:
    state = model.state()
    state.qvel[3] = np.inf
    return state


Mistake = Callable[[carom.Model, carom.Model], Any]

MISTAKES: list[tuple[str, Mistake]] = [
    # Models.
    ("named by a path, not by 3", lambda m, c: carom.Model.load(3)),  # type: ignore[arg-type]
    ("carom.Model.from_string(text) reads it", lambda m, c: carom.Model.load("<mujoco/>")),
    ("cannot find file 'nope.xml'", lambda m, c: carom.Model.load("nope.xml")),
    ("carom.Model.load(path) reads a file", lambda m, c: carom.Model.from_string("models/cube.xml")),
    (".decode() makes one", lambda m, c: carom.Model.from_string(b"<mujoco/>")),  # type: ignore[arg-type]
    (".encode() makes some", lambda m, c: carom.Model.from_string("<mujoco/>", assets={"a": "b"})),  # type: ignore[dict-item]
    ("a mujoco.MjModel is needed, not str", lambda m, c: carom.Model.from_mujoco("models/cube.xml")),
    ("no joint 'left_kne'; it has left_knee", lambda m, c: m.joint("left_kne")),
    ("22 elements of the family 'joint', none at 99", lambda m, c: m.joint(99)),
    ("by its name or its number, not by 1.0", lambda m, c: m.joint(1.0)),  # type: ignore[arg-type]
    ("no family of elements 'bodys'; did you mean 'body'", lambda m, c: m.names("bodys")),
    ("cannot be set: parameters()", lambda m, c: setattr(m, "body_mass", 1)),
    # Options.
    ("no option 'timstep'; did you mean 'timestep'", lambda m, c: m.with_options(timstep=1)),
    ("'rk45' is not one of Euler, RK4", lambda m, c: m.with_options(integrator="rk45")),
    ("timestep is positive, not 0", lambda m, c: m.with_options(timestep=0)),
    ("timestep is positive, not -1", lambda m, c: m.with_options(timestep=-1)),
    ("timestep is nan", lambda m, c: m.with_options(timestep=float("nan"))),
    ("expected 3 numbers: x, y, z", lambda m, c: m.with_options(gravity=-9.81)),
    ("iterations is at least 0, not -3", lambda m, c: m.with_options(iterations=-3)),
    ("a contact law is carom.Soft()", lambda m, c: m.with_options(contact_law="hard")),
    # States.
    ("no key 'stnd'; it has stand", lambda m, c: m.state("stnd")),
    ("batch is at least 0, not -1", lambda m, c: m.state(batch=-1)),
    ("batch is a whole number, not 2.0", lambda m, c: m.state(batch=2.0)),  # type: ignore[arg-type]
    ("qpos has the shape (3,), expected (28,)", lambda m, c: setattr(m.state(), "qpos", [1, 2, 3])),
    ("qpos must be real numbers, not 'abc'", lambda m, c: setattr(m.state(), "qpos", "abc")),
    ("no attribute 'qpso'", lambda m, c: setattr(m.state(), "qpso", [1])),
    ("different shapes cannot be stacked", lambda m, c: carom.State.stack([m.state(), c.state()])),
    ("single state, not a batch", lambda m, c: m.state()[0]),
    # Motion.
    ("a carom.State is needed, not NoneType: model.state()", lambda m, c: m.step(None)),  # type: ignore[arg-type]
    ("a carom.State is needed, not list", lambda m, c: m.rollout([m.state()], steps=1)),  # type: ignore[arg-type]
    ("belongs to a model of another shape", lambda m, c: m.step(c.state())),
    ("ctrl has the shape (2,), expected (21,)", lambda m, c: m.step(m.state(), [1, 2])),
    ("ctrl must be real numbers, not 'go'", lambda m, c: m.step(m.state(), "go")),
    ("ctrl must be real numbers", lambda m, c: m.step(m.state(), np.zeros(21) + 1j)),
    ("ctrl has rows of different lengths", lambda m, c: m.step(m.state(), [[1.0], [1.0, 2.0]])),
    ("ctrl[0] is nan", lambda m, c: m.step(m.state(), np.full(21, np.nan))),
    ("qvel of degree of freedom 3 of joint 'root' is inf", lambda m, c: m.step(infinite(m))),
    ("steps is at least 0, not -1", lambda m, c: m.step(m.state(), steps=-1)),
    ("threads is at least 0, not -1", lambda m, c: m.step(m.state(), threads=-1)),
    ("say how many steps", lambda m, c: m.rollout(m.state())),
    ("steps is a whole number, not 10.0", lambda m, c: m.rollout(steps=10.0)),  # type: ignore[arg-type]
    ("no memory for an array of shape", lambda m, c: m.rollout(steps=10**12)),
    ("expected (21,), (steps, 21) or (batch, steps, 21)", lambda m, c: m.rollout(controls=np.zeros((5, 20)))),
    ("controls for 5 steps, not for 7", lambda m, c: m.rollout(controls=np.zeros((5, 21)), steps=7)),
    ("3 states and 4 sets of controls", lambda m, c: m.rollout(m.state(batch=3), np.zeros((4, 5, 21)))),
    ("take those of one", lambda m, c: m.forward(m.state(batch=2)).contact),
    ("xfrc_applied has the shape (6,), expected (14, 6)", lambda m, c: m.step(m.state(), xfrc_applied=np.zeros(6))),
    # Gradients and parameters.
    ("qpos has the shape (3, 7), expected (11, 7)", lambda m, c: c.rollout(steps=10).backward(qpos=np.zeros((3, 7)))),
    ("qpos[0][0] is nan", lambda m, c: c.rollout(steps=1).backward(qpos=np.full((2, 7), np.nan))),
    ("carom.Cotangents are needed, not ndarray", lambda m, c: c.rollout(steps=1).backward(np.zeros((2, 7)))),  # type: ignore[arg-type]
    ("carom.Parameters are needed, not 'geom", lambda m, c: gradient(c).by("geom.cube.size")),  # type: ignore[arg-type]
    ("parameters are those of another model", lambda m, c: gradient(c).by(m.parameters("body.*.mass"))),
    ("parameters are those of another model", lambda m, c: along(c, m.parameters("body.*.mass"))),
    ("parameters is a pair", lambda m, c: c.rollout(steps=1).jvp(parameters=3)),  # type: ignore[arg-type]
    ("no geom is called 'hed': did you mean 'head'", lambda m, c: m.parameters("geom.hed.size")),
    ("modifier 'lgo' of 'geom.head.size' is none of log", lambda m, c: m.parameters("geom.head.size lgo")),
    ("a selector is a text, not 3", lambda m, c: m.parameters(3)),  # type: ignore[arg-type]
    ("theta has the shape (1,), expected (13,)", lambda m, c: m.parameters("body.*.mass").apply([1.0])),
    ("theta[0] is nan", lambda m, c: m.parameters("geom.head.size").apply([np.nan])),
    ("qpos has the shape (3,), expected (..., 28)", lambda m, c: m.integrate_pos(np.zeros(3), np.zeros(27))),
]


def gradient(model: carom.Model) -> carom.Gradient:
    run = model.rollout(steps=2)
    return run.backward(qpos=run.qpos)


def along(model: carom.Model, parameters: carom.Parameters) -> carom.Change:
    return model.rollout(steps=2).jvp(parameters=(parameters, np.ones(len(parameters))))


@pytest.mark.parametrize(("sentence", "mistake"), MISTAKES, ids=[sentence for sentence, _ in MISTAKES])
def test_mistakes_are_answered(sentence: str, mistake: Mistake) -> None:
    humanoid, cube = models().values()
    with pytest.raises(Exception) as caught:
        mistake(humanoid, cube)
    assert sentence in str(caught.value)


def test_numbers_of_other_kinds_are_taken() -> None:
    from fractions import Fraction

    model = carom.Model.load("models/cartpole.xml")
    expected = model.step(model.state(), [0.5]).qvel
    for control in ([Fraction(1, 2)], np.array([0.5], np.float32), np.array([0.5], np.float16), (0.5,)):
        np.testing.assert_array_equal(model.step(model.state(), control).qvel, expected)  # type: ignore[arg-type]
    assert model.step(model.state(), [True]).qvel[0] == model.step(model.state(), [1]).qvel[0]
