"""States, steps and trajectories."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import numpy as np
import pytest
from conftest import thrown

import carom

Load = Callable[[str], carom.Model]


def test_arrays_of_states_are_views(toss: carom.Model) -> None:
    state = toss.state()
    view = state.qpos
    state.qpos = np.arange(toss.nq)
    assert view[3] == 3.0
    assert np.shares_memory(state.qpos, state.qvel) is False
    assert state.qpos.base is state.qvel.base
    other = state.copy()
    other.qpos[0] = 7.0
    assert state.qpos[0] == 0.0
    state.time = 1.5
    assert state.time == 1.5


def test_batches_of_states_are_indexed_and_stacked(toss: carom.Model) -> None:
    states = thrown(toss, 5)
    assert (len(states), states.batch, states[2].batch, states[1:3].batch) == (5, 5, None, 2)
    states[2].qpos[0] = 9.0
    assert states.qpos[2, 0] == 9.0
    again = carom.State.stack(list(states))
    np.testing.assert_array_equal(again.qpos, states.qpos)


def test_wrong_shapes_are_told(toss: carom.Model, load: Load) -> None:
    state = toss.state()
    with pytest.raises(ValueError, match=r"qpos has the shape \(2,\), expected \(8,\)"):
        state.qpos = [1, 2]
    with pytest.raises(ValueError, match=r"ctrl has the shape \(3,\), expected \(2,\)"):
        toss.step(state, [0, 0, 0])
    with pytest.raises(ValueError, match=r"expected \(2,\), \(steps, 2\) or \(batch, steps, 2\)"):
        toss.rollout(state, np.zeros((10, 3)))
    with pytest.raises(ValueError, match="for 10 steps, not for 20"):
        toss.rollout(state, np.zeros((10, 2)), steps=20)
    with pytest.raises(ValueError, match="say how many steps"):
        toss.rollout(state)
    with pytest.raises(ValueError, match="steps is at least 0, not -1"):
        toss.rollout(state, steps=-1)
    with pytest.raises(ValueError, match="3 states and 4 sets of controls"):
        toss.rollout(thrown(toss, 3), np.zeros((4, 5, 2)))
    with pytest.raises(ValueError, match="another shape"):
        load("humanoid").step(state)
    with pytest.raises(ValueError, match=r"qfrc_applied has the shape \(3,\), expected \(7,\)"):
        toss.step(state, qfrc_applied=[1, 2, 3])
    run = toss.rollout(state, steps=4)
    with pytest.raises(ValueError, match=r"qpos has the shape \(5, 3\), expected \(5, 8\)"):
        run.backward(qpos=np.zeros((5, 3)))


def test_numbers_that_are_not_finite_are_named(toss: carom.Model) -> None:
    state = toss.state()
    state.qpos[7] = np.nan
    for attempt in (lambda: toss.step(state), lambda: toss.rollout(state, steps=3), lambda: toss.forward(state)):
        with pytest.raises(carom.NotFiniteError, match="qpos of joint 'arm' is NaN"):
            attempt()
    with pytest.raises(carom.NotFiniteError, match=r"controls\[2\]\[1\] is inf"):
        toss.rollout(toss.state(), np.array([[0, 0], [0, 0], [0, np.inf]]))
    with pytest.raises(carom.NotFiniteError, match=r"ctrl\[0\] is nan"):
        toss.step(toss.state(), [np.nan, 0])


def test_trajectories_that_explode_are_told_and_spare_the_others(toss: carom.Model) -> None:
    states = thrown(toss, 3)
    states.qvel[1] = 1e200
    run = toss.rollout(states, steps=5)
    assert {found.trajectory for found in run.not_finite} == {1}
    assert np.isfinite(run.qpos[[0, 2]]).all()
    with pytest.raises(carom.NotFiniteError, match="trajectory 1"):
        run.check()
    with pytest.raises(carom.GradientError, match="trajectory 1") as caught:
        run.backward(qpos=run.qpos)
    assert caught.value.trajectory == 1


def test_steps_are_those_of_rollouts(toss: carom.Model) -> None:
    controls = np.random.default_rng(0).normal(size=(30, 2))
    state = thrown(toss)
    run = toss.rollout(state, controls)
    for step in range(30):
        np.testing.assert_array_equal(state.qpos, run.qpos[step])
        if step % 2:
            state = toss.step(state, controls[step])
        else:
            assert toss.step(state, controls[step], out=state) is state
    np.testing.assert_array_equal(state._row, run.end._row)
    several = toss.step(thrown(toss), controls[0], steps=30)
    np.testing.assert_array_equal(several.qpos, toss.rollout(thrown(toss), controls[0], steps=30).qpos[-1])


def test_a_trajectory_can_go_on_from_its_end(toss: carom.Model) -> None:
    whole = toss.rollout(thrown(toss), steps=40)
    first = toss.rollout(thrown(toss), steps=25)
    np.testing.assert_array_equal(toss.rollout(first.end, steps=15).qpos, whole.qpos[25:])


def test_forces_act(toss: carom.Model) -> None:
    lifted = toss.step(toss.state(), qfrc_applied=[0, 0, 100, 0, 0, 0, 0])
    pushed = toss.step(toss.state(), xfrc_applied=[[0] * 6, [0, 0, 100, 0, 0, 0], [0] * 6])
    assert lifted.qvel[2] > 0.0
    # The second force acts at the centre of mass and turns nothing of the first body but by the arm.
    assert pushed.qvel[2] == pytest.approx(lifted.qvel[2], rel=0.2)


def test_rollouts_have_views_that_cannot_be_changed(toss: carom.Model) -> None:
    run = toss.rollout(thrown(toss, 4), steps=10)
    for view in (run.qpos, run.qvel, run.act, run.time):
        assert np.shares_memory(view, run._rows)
        assert not view.flags.writeable
    assert run.qpos.shape == (4, 11, 8) and run.sensordata.shape == (4, 10, 4)
    assert run.controls.shape == (4, 10, 2)


def test_states_and_controls_make_batches(toss: carom.Model) -> None:
    controls = np.random.default_rng(1).normal(size=(3, 10, 2))
    batch = toss.rollout(thrown(toss), controls)
    for index in range(3):
        np.testing.assert_array_equal(batch.qpos[index], toss.rollout(thrown(toss), controls[index]).qpos)
    states = thrown(toss, 3)
    batch = toss.rollout(states, controls[0])
    for index in range(3):
        np.testing.assert_array_equal(batch.qpos[index], toss.rollout(states[index], controls[0]).qpos)
    assert toss.rollout(states, steps=0).qpos.shape == (3, 1, 8)
    assert toss.rollout(states[:0], steps=5).qpos.shape == (0, 6, 8)


def test_threads_do_not_change_a_bit(toss: carom.Model) -> None:
    size = toss.parameters("geom.cube.size")
    found = []
    for threads in (1, 2, 3, None):
        run = toss.rollout(thrown(toss, 150), steps=60, threads=threads)
        gradient = run.backward(qpos=run.qpos, sensordata=run.sensordata)
        change = run.jvp(qvel=np.ones((150, 7)))
        a, b = toss.linearize(run.end, threads=threads)
        arrays = (run._rows, gradient.qpos, gradient.controls, size.gradient(gradient), change.qpos, a, b)
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1] == found[2] == found[3]


def test_results_are_those_of_mujoco(toss: carom.Model) -> None:
    mujoco = pytest.importorskip("mujoco")
    from conftest import TOSS

    theirs = mujoco.MjModel.from_xml_string(TOSS)
    data = mujoco.MjData(theirs)
    run = toss.rollout(thrown(toss), steps=200)
    for step in (0, 40, 45, 120):
        state = run.state(step)
        data.qpos, data.qvel, data.act = state.qpos, state.qvel, state.act
        mujoco.mj_forward(theirs, data)
        ours = toss.forward(state)
        names = ["xpos", "xquat", "xmat", "xipos", "subtree_com", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat"]
        names += ["ten_length", "actuator_force", "qfrc_actuator", "qfrc_bias", "qfrc_passive", "sensordata"]
        for name in names:
            theirs_here = getattr(data, name)
            np.testing.assert_allclose(getattr(ours, name), theirs_here, rtol=1e-10, atol=1e-11, err_msg=name)
        for name in ["qacc", "qfrc_constraint"]:
            np.testing.assert_allclose(getattr(ours, name), getattr(data, name), rtol=1e-6, atol=1e-6, err_msg=name)
        assert len(ours.contact) == data.ncon
        np.testing.assert_allclose(ours.contact.dist, data.contact.dist, atol=1e-11)
        np.testing.assert_allclose(ours.contact.pos, data.contact.pos, atol=1e-11)
        np.testing.assert_array_equal(ours.contact.geom, data.contact.geom)
        for index in range(data.ncon):
            force = np.zeros(6)
            mujoco.mj_contactForce(theirs, data, index, force)
            np.testing.assert_allclose(ours.contact.force[index], force, rtol=1e-5, atol=1e-6)
    assert len(toss.forward(run.state(45)).contact) > 0


def test_configurations_move_on_their_manifold(toss: carom.Model) -> None:
    start = thrown(toss).qpos
    tangent = np.random.default_rng(2).normal(size=(4, 7)) * 0.3
    moved = toss.integrate_pos(start, tangent)
    assert moved.shape == (4, 8)
    np.testing.assert_allclose(np.linalg.norm(moved[:, 3:7], axis=-1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(toss.difference_pos(start, moved), tangent, atol=1e-12)


def test_keyframes_are_states(load: Load) -> None:
    text = "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><keyframe><key name='up' qpos='0.5' time='2'/></keyframe></mujoco>"
    model = carom.Model.from_string(text)
    for key in ("up", 0):
        assert model.state(key).qpos[0] == 0.5
    assert model.state("up").time == 2.0
    with pytest.raises(carom.UnknownNameError):
        model.state("down")


def test_other_threads_run_meanwhile(load: Load) -> None:
    model = load("humanoid")
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    model.rollout(model.state(batch=4), steps=200, threads=1)
    while_working = counted - before
    done.set()
    thread.join()
    assert while_working > 5


SCRIPT = """
    import os, signal, sys, threading, time
    import numpy as np
    import carom
    model = carom.Model.load("models/humanoid.xml")
    kind, threads = sys.argv[1], int(sys.argv[2])
    start = model.state(batch=16) if kind == "batch" else model.state()
    if kind == "backward":
        run = model.rollout(start, steps=20000)
        work = lambda: [run.backward(qpos=run.qpos) for _ in range(1000)]
    else:
        work = lambda: model.rollout(start, steps=100000, threads=threads)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        work()
        print("done")
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - begin)
"""


@pytest.mark.parametrize(("kind", "threads"), [("batch", 2), ("batch", 1), ("single", 1), ("backward", 1)])
def test_ctrl_c_stops(kind: str, threads: int) -> None:
    arguments = [sys.executable, "-c", textwrap.dedent(SCRIPT), kind, str(threads)]
    found = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
    word, seconds = found.stdout.split()
    assert word == "stopped"
    assert float(seconds) < 5.0


FORK = """
    import os
    import carom
    model = carom.Model.load("models/cube.xml")
    model.rollout(model.state(batch=8), steps=10, threads=2)
    child = os.fork()
    if child == 0:
        model.rollout(model.state(batch=8), steps=10, threads=2)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_forked_processes_have_threads_of_their_own() -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(FORK)], timeout=60, check=True)
