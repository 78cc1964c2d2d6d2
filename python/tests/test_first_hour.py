"""What a user of MuJoCo's Python package looks for, and the commands `map`, `discover` and `learn terms` from Python."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import carom

PENDULUM = Path("models/pendulum.xml").read_text()
REAL = PENDULUM.replace('damping="0.01"', 'damping="0.2"')


def swing(steps: int = 300) -> carom.Rollout:
    real = carom.Model.from_string(REAL)
    return real.rollout(real.state("horizontal"), steps=steps)


def logged(run: carom.Rollout) -> dict[str, npt.NDArray[np.float64]]:
    """A recording as a logger of one's own names it."""
    return {
        "t_ms": 1e3 * np.asarray(run.time),
        "pivot_deg": np.degrees(run.qpos[:, 0]),
        "pivot_vel_deg": np.degrees(run.qvel[:, 0]),
        "u": np.zeros(len(run.time)),
    }


def test_a_proposed_mapping_is_taken_as_it_is(tmp_path: Path) -> None:
    model = carom.Model.load("models/pendulum.xml")
    recording = logged(swing())
    found = carom.map(model, recording, out=tmp_path / "map.toml")
    assert found.complete and not found.undecided and not found.needless
    assert "factor = 0.001" in found.text and 'unit = "deg"' in found.text
    assert (tmp_path / "map.toml").read_text() == found.text == str(found)
    assert "1 joint" in repr(found) and found._repr_html_().startswith("<pre>")
    for mapping in (found, found.tables, tmp_path / "map.toml"):
        answer = carom.identify(
            model, recording, free="joint.pivot.damping[0] log", mapping=mapping, progress=False, profiles=False
        )
        assert abs(answer.values["joint.pivot.damping[0]"] - 0.2) < 1e-4


def test_what_cannot_be_decided_is_said() -> None:
    found = carom.map("models/arm7.xml", {"q": np.zeros((9, 3)), "dt": np.array(0.01)})
    assert not found.complete
    assert "3 of the joints joint1" in found.undecided[0]
    with pytest.raises(carom.RecordingError):
        carom.map("models/arm7.xml", "nowhere.npz")


def test_missing_friction_is_discovered_and_learned(tmp_path: Path) -> None:
    run = swing(800)
    recording = {"time": run.time, "qpos": run.qpos, "qvel": run.qvel}
    steps: list[carom.Progress] = []
    found = carom.discover("models/pendulum.xml", recording, targets=["joint.*.force"], progress=steps.append)
    assert [one.inputs for one in found.terms] == [("joint.pivot.velocity",)]
    assert steps and found.errors[1] < found.errors[0] and not found.unexplained
    assert "joint.pivot" in found.text and "<table>" in found._repr_html_()
    # The missing damping is 0.19.
    assert abs(abs(found.terms[0].numbers[0].value) - 0.19) < 0.01
    drag = {
        "name": "drag",
        "target": "joint.pivot.force",
        "inputs": ["joint.pivot.velocity"],
        "form": "polynomial",
        "degree": 1,
        "odd": ["joint.pivot.velocity"],
    }
    learned = carom.learn_terms("models/pendulum.xml", recording, [drag], evaluations=40, progress=False)
    assert learned.stages[0].after < learned.stages[0].before
    assert "<table>" in learned._repr_html_() and "weights" in repr(learned)
    learned.save(tmp_path / "learned.xml")
    again = carom.Model.load(tmp_path / "learned.xml")
    before = carom.evaluate("models/pendulum.xml", recording)["angle"]
    assert carom.evaluate(again, recording)["angle"] < 0.05 * before
    assert carom.evaluate(learned.model, recording)["angle"] < 0.05 * before


def test_ctrl_c_keeps_what_was_learned() -> None:
    run = swing(800)
    recording = {"time": run.time, "qpos": run.qpos, "qvel": run.qvel}
    net = {"name": "net", "target": "joint.pivot.force", "inputs": ["joint.pivot.velocity"], "form": "mlp", "hidden": [8]}
    told = threading.Event()

    def interrupt(progress: carom.Progress) -> None:
        if not told.is_set():
            told.set()
            os.kill(os.getpid(), signal.SIGINT)

    learned = carom.learn_terms("models/pendulum.xml", recording, [net], evaluations=100_000, progress=interrupt)
    assert learned.interrupted and learned.model.nq == 1


def test_models_are_pickled_to_the_bit() -> None:
    for name in ("humanoid", "cube", "hand"):
        model = carom.Model.load(f"models/{name}.xml").with_options(timestep=0.001)
        again = pickle.loads(pickle.dumps(model))
        for array in ("body_mass", "geom_size", "dof_damping"):
            assert np.array_equal(getattr(again, array), getattr(model, array))
        one, other = model.rollout(steps=20), again.rollout(steps=20)
        assert np.array_equal(one.qpos, other.qpos)
    assert copy.deepcopy(model).nq == model.nq


def test_elements_have_their_numbers() -> None:
    model = carom.Model.load("models/humanoid.xml")
    for index, name in enumerate(model.names("body")):
        assert model.body(index).mass == model.body_mass[index], name
    knee = model.joint("right_knee")
    assert np.array_equal(knee.range, model.jnt_range[knee.id]) and knee.damping.shape == (1,)
    assert model.geom(0).friction.shape == (3,) and model.actuator(0).ctrlrange.shape == (2,)
    assert "mass" not in repr(model.body(1))


def test_assignment_says_how_models_are_changed() -> None:
    model = carom.Model.load("models/cube.xml")
    with pytest.raises(ValueError, match=r"model\.parameters"):
        model.body_mass[1] = 2.0
    with pytest.raises(ValueError, match="never changes"):
        model.geom_size[0][0] = 2.0
    # What is computed from them is an ordinary array.
    twice = 2.0 * model.body_mass
    twice[0] = 1.0
    assert type(twice) is np.ndarray and repr(model.body_mass).startswith("array")


def test_jacobians_mass_matrix_and_inverse_dynamics_agree() -> None:
    model = carom.Model.load("models/arm7.xml")
    state = model.state("home")
    random = np.random.default_rng(3)
    state.qvel[:] = random.normal(size=model.nv)
    results = model.forward(state)
    # Places move as differences of configurations say.
    tip = model.site(0)
    moves, turns = results.jacobian(tip)
    assert moves.shape == turns.shape == (3, model.nv)
    for dof in range(model.nv):
        ends = []
        for sign in (1e-6, -1e-6):
            moved = state.copy()
            moved.qpos[:] = model.integrate_pos(state.qpos, sign * np.eye(model.nv)[dof])
            ends.append(model.forward(moved).site_xpos[tip.id])
        assert np.allclose((ends[0] - ends[1]) / 2e-6, moves[:, dof], atol=1e-8)
    body = model.body(tip.body)
    assert np.allclose(results.jacobian(body, results.site_xpos[tip.id])[0], moves)
    # Kinetic energy by the mass matrix, forces by inverse dynamics.
    assert results.mass_matrix.shape == (model.nv, model.nv)
    kinetic = 0.5 * state.qvel @ results.mass_matrix @ state.qvel
    assert np.isclose(results.energy[1], kinetic)
    qacc = random.normal(size=model.nv)
    expected = results.mass_matrix @ qacc + results.qfrc_bias - results.qfrc_passive
    assert np.allclose(model.inverse(state, qacc), expected, rtol=1e-10)


def test_results_of_batches_are_those_of_their_states() -> None:
    model = carom.Model.load("models/humanoid.xml")
    states = model.state(batch=3)
    states.qvel[:] = np.random.default_rng(1).normal(size=(3, model.nv))
    together = model.forward(states)
    for index in range(3):
        alone = model.forward(states[index])
        assert np.array_equal(together.xpos[index], alone.xpos)
        assert np.array_equal(together.sensordata[index], alone.sensordata)
        assert np.array_equal(together[index].contact.dist, alone.contact.dist)
        assert np.array_equal(together.mass_matrix[index], alone.mass_matrix)
    forces = model.inverse(states, np.zeros(model.nv))
    assert np.array_equal(forces[1], model.inverse(states[1], np.zeros(model.nv)))
    with pytest.raises(ValueError, match=r"results\[index\]"):
        _ = together.contact


def test_saved_rollouts_need_no_mapping(tmp_path: Path) -> None:
    run = swing()
    path = run.save(tmp_path / "run.npz")
    assert carom.evaluate(run.model, path)["angle"] == 0.0
    found = carom.identify("models/pendulum.xml", path, free="joint.pivot.damping[0] log", progress=False, profiles=False)
    assert abs(found.values["joint.pivot.damping[0]"] - 0.2) < 1e-4
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]
    with pytest.raises(ValueError, match="on its own"):
        run.model.rollout(run.model.state(batch=2), steps=2).save(tmp_path / "batch.npz")
