"""Derivatives beside differences, and beside each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from conftest import Array, differences, thrown

import carom

STEPS = 60
RNG = np.random.default_rng(3)
CONTROLS = RNG.normal(size=(STEPS, 2)) * 0.1


def weights(run: carom.Rollout) -> carom.Cotangents:
    """A loss that looks at everything: a sum with random factors."""
    rng = np.random.default_rng(4)
    bars = run.cotangents()
    for bar in (bars.qpos, bars.qvel, bars.act, bars.sensordata):
        bar[...] = rng.normal(size=bar.shape)
    return bars


def loss(run: carom.Rollout) -> float:
    bars = weights(run)
    arrays = [(bars.qpos, run.qpos), (bars.qvel, run.qvel), (bars.act, run.act), (bars.sensordata, run.sensordata)]
    return float(sum(np.sum(bar * numbers) for bar, numbers in arrays if bar is not None))


def tight(model: carom.Model) -> carom.Model:
    """Differences need solutions to rounding."""
    return model.with_options(tolerance=0.0, iterations=200)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_gradients_are_those_of_differences(toss: carom.Model, integrator: str) -> None:
    model = tight(toss).with_options(integrator=integrator)
    start = thrown(model)
    run = model.rollout(start, CONTROLS)
    assert any(len(model.forward(run.state(step)).contact) for step in range(STEPS))
    gradient = run.backward(weights(run))

    def of(name: str) -> Callable[[Array], float]:
        def value(numbers: Array) -> float:
            moved = start.copy()
            setattr(moved, name, numbers)
            return loss(model.rollout(moved, CONTROLS))

        return value

    for name in ("qpos", "qvel", "act"):
        expected = differences(of(name), getattr(start, name).copy())
        np.testing.assert_allclose(getattr(gradient, name), expected, rtol=2e-5, atol=2e-5, err_msg=name)
    expected = differences(lambda controls: loss(model.rollout(start, controls)), CONTROLS)
    np.testing.assert_allclose(gradient.controls, expected, rtol=2e-5, atol=2e-5)


def test_gradients_by_parameters_are_those_of_differences(toss: carom.Model) -> None:
    model = tight(toss)
    parameters = model.parameters("geom.cube.size log", "geom.cube.friction[0]", "joint.arm.damping", "option.gravity")
    theta = parameters.theta + 0.01
    start = thrown(model)
    run = parameters.apply(theta).rollout(start, CONTROLS)
    gradient = run.backward(weights(run))
    expected = differences(lambda theta: loss(parameters.apply(theta).rollout(start, CONTROLS)), theta)
    found = gradient.by(parameters, theta)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    assert len(found) == len(parameters) == len(parameters.names)


def test_batches_are_sums_and_singles(toss: carom.Model) -> None:
    parameters = toss.parameters("geom.cube.size")
    states = thrown(toss, 5)
    batch = toss.rollout(states, CONTROLS)
    together = batch.backward(weights(batch))
    bars = weights(batch)
    total = np.zeros(3)
    for index in range(5):
        single = toss.rollout(states[index], CONTROLS)
        parts = [None if bar is None else bar[index] for bar in (bars.qpos, bars.qvel, bars.act, bars.sensordata)]
        alone = single.backward(carom.Cotangents(*parts))
        for name in ("qpos", "qpos_tangent", "qvel", "act", "controls", "norms"):
            np.testing.assert_array_equal(getattr(together, name)[index], getattr(alone, name))
        total += alone.by(parameters)
    np.testing.assert_allclose(together.by(parameters), total, rtol=1e-12)


def test_tangents_and_numbers_say_the_same(toss: carom.Model) -> None:
    run = toss.rollout(thrown(toss), CONTROLS)
    start = run.qpos[0]
    seeds = np.zeros(run.qvel.shape)
    seeds[-1] = RNG.normal(size=7)
    gradient = run.backward(qpos=seeds)
    # A turn δ changes the numbers by q ⊗ (0, δ)/2.
    for direction in np.eye(7):
        ends = [toss.integrate_pos(start, sign * 1e-6 * direction) for sign in (1.0, -1.0)]
        change = (ends[0] - ends[1]) / 2e-6
        change[3:7] *= np.linalg.norm(start[3:7])
        assert gradient.qpos @ change == pytest.approx(gradient.qpos_tangent @ direction, abs=1e-7)


def test_forward_and_backward_agree(toss: carom.Model) -> None:
    parameters = toss.parameters("geom.cube.size", "joint.arm.damping[0] log")
    run = toss.rollout(thrown(toss), CONTROLS)
    bars = weights(run)
    gradient = run.backward(bars)
    along = {"qpos": RNG.normal(size=8), "qvel": RNG.normal(size=7), "act": RNG.normal(size=1), "controls": RNG.normal(size=(STEPS, 2))}
    theta = RNG.normal(size=len(parameters))
    change = run.jvp(**along, parameters=(parameters, theta))
    forward = 0.0
    for name in ("qpos", "qvel", "act", "sensordata"):
        forward += float(np.sum(getattr(bars, name) * getattr(change, name)))
    backward = float(sum(np.sum(getattr(gradient, name) * direction) for name, direction in along.items()))
    backward += float(gradient.by(parameters) @ theta)
    assert forward == pytest.approx(backward, rel=1e-10)


def test_jacobians_of_steps_are_those_of_directions(toss: carom.Model) -> None:
    run = toss.rollout(thrown(toss), CONTROLS)
    a, b = run.linearize()
    assert a.shape == (STEPS, 15, 15) and b.shape == (STEPS, 15, 2)
    for step in (0, 25, 50):
        one = toss.rollout(run.state(step), CONTROLS[step : step + 1])
        direction, controls = RNG.normal(size=15), RNG.normal(size=2)
        change = one.jvp(qpos=direction[:7], qvel=direction[7:14], act=direction[14:], controls=controls[None])
        found = np.concatenate([change.qpos_tangent[1], change.qvel[1], change.act[1]])
        np.testing.assert_allclose(a[step] @ direction + b[step] @ controls, found, rtol=1e-8, atol=1e-8)
        single = toss.linearize(run.state(step), CONTROLS[step])
        np.testing.assert_array_equal(single.A, a[step])


def test_gradients_by_mocap_poses() -> None:
    text = """<mujoco><worldbody><body name="hand" mocap="true" pos="0 0 1" quat="0.9 0.1 0.2 0.1"><geom size="0.01" contype="0" conaffinity="0"/></body>
      <body name="held" pos="0 0 1.02"><freejoint/><geom size="0.05"/></body></worldbody>
      <equality><weld body1="hand" body2="held" relpose="0.01 0 0.02 1 0 0 0"/></equality></mujoco>"""
    model = carom.Model.from_string(text).with_options(tolerance=0.0, iterations=200)
    start = model.state()
    run = model.rollout(start, steps=30)
    gradient = run.backward(qpos=2 * run.qpos)

    def value(numbers: Array, name: str) -> float:
        moved = start.copy()
        setattr(moved, name, numbers)
        return float(np.sum(model.rollout(moved, steps=30).qpos ** 2))

    for name in ("mocap_pos", "mocap_quat"):
        expected = differences(lambda numbers, name=name: value(numbers, name), getattr(start, name).copy())  # type: ignore[misc]
        np.testing.assert_allclose(getattr(gradient, name), expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_wrong_parameters_get_advice(toss: carom.Model) -> None:
    with pytest.raises(carom.ParameterError, match="no geom is called 'cub'"):
        toss.parameters("geom.cub.size")
    with pytest.raises(TypeError, match="a selector is a text"):
        toss.parameters(3)  # type: ignore[arg-type]
    parameters = toss.parameters("geom.cube.size log")
    with pytest.raises(ValueError, match=r"theta has the shape \(2,\), expected \(3,\)"):
        parameters.apply([1, 2])
    with pytest.raises(carom.ParameterError, match="above 0"):
        parameters.set("geom.cube.size[0]", -1.0)
    np.testing.assert_allclose(parameters.values(), [0.05, 0.06, 0.07])
    assert "geom.cube.size[1]" in parameters.describe()
    moved = parameters.apply(parameters.set("geom.cube.size[0]", 0.5))
    assert moved.geom_size[1, 0] == pytest.approx(0.5)
    assert moved.body_mass[1] > 5 * toss.body_mass[1]
    with pytest.raises(carom.ModelError, match="does not come from a file"):
        moved.with_options(timestep=0.1)
