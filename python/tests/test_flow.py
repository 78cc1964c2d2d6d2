"""Motion in continuous time."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Array, differences, thrown

import carom
from carom import flow

BALL = """
<mujoco><option gravity="0 0 -10"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 0.15"><joint name="height" type="slide" axis="0 0 1"/><geom name="ball" size="0.1" solimp="0.9 0.95 0.001"/></body>
</worldbody></mujoco>
"""


def test_onsets_are_when_things_meet() -> None:
    model = carom.Model.from_string(BALL)
    motion = flow.follow(model, seconds=0.15, intervals=3)
    first = motion.onsets[0]
    assert first.time == pytest.approx(np.sqrt(2 * 0.05 / 10), abs=1e-7)
    assert first.begins and "ball" in first.what and "floor" in first.what
    assert motion.qpos.shape == (4, 1) and motion.is_done
    np.testing.assert_allclose(motion.time, [0, 0.05, 0.1, 0.15], atol=1e-12)
    np.testing.assert_allclose(motion.qpos[1, 0], -10 * 0.05**2 / 2, atol=1e-9)
    assert motion.work[0][0] > 3


@pytest.mark.parametrize("adjoint", [flow.Stored(), flow.Checkpointed(10_000), flow.Continuous(1e-9)])
def test_gradients_are_those_of_the_motion(adjoint: flow.Adjoint) -> None:
    model = carom.Model.from_string(BALL)
    parameters = model.parameters("option.gravity[2]", "geom.ball.size[0]")
    settings = flow.Settings(tolerance=1e-9, adjoint=adjoint)
    start = model.state()

    def last(height: Array, theta: Array) -> float:
        moved = start.copy()
        moved.qpos = height
        return float(flow.follow(parameters.apply(theta), moved, seconds=0.12, settings=settings).qvel[-1, 0])

    motion = flow.follow(parameters.apply(parameters.theta), start, seconds=0.12, settings=settings)
    loss = motion.cotangents()
    assert loss.qvel is not None
    loss.qvel[-1, 0] = 1.0
    gradient = motion.backward(loss)
    expected = differences(lambda height: last(height, parameters.theta), start.qpos.copy(), 1e-5)
    np.testing.assert_allclose(gradient.qpos, expected, rtol=1e-4, atol=1e-5)
    expected = differences(lambda theta: last(start.qpos, theta), parameters.theta.copy(), 1e-5)
    np.testing.assert_allclose(gradient.by(parameters), expected, rtol=1e-4, atol=1e-5)


def test_batches_are_single_motions(toss: carom.Model) -> None:
    states = thrown(toss, 3)
    controls = np.array([[0.1, 0.0], [-0.1, 0.0]])
    found = []
    for threads in (1, 2):
        batch = flow.follow(toss, states, controls, seconds=0.06, threads=threads)
        gradient = batch.backward(qpos=batch.qpos)
        found.append([array.tobytes() for array in (batch._rows, gradient.qvel, gradient.controls)])
    assert found[0] == found[1]
    single = flow.follow(toss, states[1], controls, seconds=0.06)
    np.testing.assert_array_equal(single.qpos, batch.qpos[1])
    np.testing.assert_array_equal(single.backward(qpos=single.qpos).qvel, gradient.qvel[1])


def test_what_cannot_be_followed_is_told(toss: carom.Model) -> None:
    with pytest.raises(carom.ModelError, match="complementarity"):
        flow.follow(toss.with_options(contact_law=carom.Complementarity()), seconds=0.1)
    with pytest.raises(ValueError, match="not a length of time"):
        flow.follow(toss, seconds=-1.0)
    with pytest.raises(ValueError, match="'euler' is not one of tsit5"):
        flow.follow(toss, seconds=0.1, settings=flow.Settings(method="euler"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        flow.follow(toss, seconds=0.1, settings=flow.Settings(tolerance=0.0))
    state = toss.state()
    state.qvel[0] = np.nan
    with pytest.raises(carom.NotFiniteError):
        flow.follow(toss, state, seconds=0.1)
    stopped = flow.follow(toss, thrown(toss), seconds=0.5, intervals=5, settings=flow.Settings(most_steps=3))
    assert not stopped.is_done and "too many steps" in str(stopped.status)
    assert np.isnan(stopped.qpos[-1]).all()
    with pytest.raises(carom.GradientError, match="too many steps"):
        stopped.backward(qpos=np.zeros(stopped.qpos.shape))
