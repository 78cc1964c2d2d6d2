"""Loading, names, aliases, options."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import carom

Load = Callable[[str], carom.Model]


def test_a_missing_file_is_named() -> None:
    with pytest.raises(carom.ModelError, match="no_such_file.xml") as caught:
        carom.Model.load("no_such_file.xml")
    assert caught.value.diagnostics[0].severity == "error"


def test_problems_have_places_and_remedies(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text("<mujoco>\n<worldbody>\n<body>\n<joint rnge='0 1'/><geom size='0.1'/></body></worldbody>\n</mujoco>")
    with pytest.raises(carom.ModelError) as caught:
        carom.Model.load(file)
    problem = caught.value.diagnostics[0]
    assert (problem.file, problem.line, problem.column) == (str(file), 4, 8)
    assert problem.help is not None and "range" in problem.help
    assert "^^^^" in str(caught.value)


def test_all_problems_are_reported_at_once() -> None:
    text = "<mujoco><worldbody><geom sze='1'/>\n<geom size='-1'/></worldbody></mujoco>"
    with pytest.raises(carom.ModelError) as caught:
        carom.Model.from_string(text)
    assert len([one for one in caught.value.diagnostics if one.severity == "error"]) == 2


def test_text_that_is_no_model_is_refused() -> None:
    for text in ["", "no xml", "<mujoco", "\0", "<html/>"]:
        with pytest.raises(carom.ModelError):
            carom.Model.from_string(text)


def test_files_of_texts_come_from_memory_or_a_folder(tmp_path: Path) -> None:
    cube = "\n".join(
        [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        + ["f 1 2 4", "f 1 4 3", "f 5 7 8", "f 5 8 6", "f 1 5 6", "f 1 6 2", "f 3 4 8", "f 3 8 7", "f 1 3 7", "f 1 7 5", "f 2 6 8", "f 2 8 4"]
    )
    text = "<mujoco><asset><mesh file='cube.obj'/></asset><worldbody><geom type='mesh' mesh='cube'/></worldbody></mujoco>"
    from_memory = carom.Model.from_string(text, assets={"cube.obj": cube.encode()})
    (tmp_path / "cube.obj").write_text(cube)
    from_folder = carom.Model.from_string(text, directory=tmp_path)
    assert from_memory.mesh_vertnum == from_folder.mesh_vertnum == [8]
    with pytest.raises(carom.ModelError, match="cube.obj"):
        carom.Model.from_string(text)


def test_names_lead_to_indices(load: Load) -> None:
    model = load("humanoid")
    knee = model.joint("right_knee")
    assert model.joint(knee.id) == knee == model.joint(knee.id - model.njnt)
    assert knee.qpos == slice(19, 20) and knee.dof == slice(18, 19)
    root = model.joint(0)
    assert root.type == "free" and root.qpos == slice(0, 7) and root.dof == slice(0, 6)
    assert model.geom("floor").type == "plane"
    assert model.body("torso").parent == 0
    assert model.names("body")[0] == "world"


def test_unknown_names_get_advice(load: Load) -> None:
    with pytest.raises(carom.UnknownNameError, match="no joint 'rigt_knee'; it has right_knee"):
        load("humanoid").joint("rigt_knee")
    with pytest.raises(IndexError, match="there are 22"):
        load("humanoid").joint(1000)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "models").glob("*.xml")))
def test_aliases_are_those_of_mujoco(name: str, load: Load) -> None:
    mujoco = pytest.importorskip("mujoco")
    ours, theirs = load(name), mujoco.MjModel.from_xml_path(str(ROOT / "models" / f"{name}.xml"))
    # What has the same meaning with other numbers, or is counted otherwise.
    other = {"body_iquat", "body_inertia", "geom_quat", "sensor_type", "geom_dataid"}
    compared = 0
    for alias in dir(carom.Model):
        if alias.startswith("_") or alias in other or not hasattr(theirs, alias) or alias == "names":
            continue
        ours_here, theirs_here = getattr(ours, alias), getattr(theirs, alias)
        if callable(theirs_here):
            continue
        np.testing.assert_allclose(ours_here, theirs_here, rtol=1e-9, atol=1e-9, err_msg=alias)
        assert np.shape(ours_here) == np.shape(theirs_here), alias
        compared += 1
    assert compared > 100


def test_arrays_of_models_cannot_be_changed(load: Load) -> None:
    model = load("cube")
    with pytest.raises(ValueError, match="read-only"):
        model.body_mass[1] = 2.0
    with pytest.raises(AttributeError, match="'nq' of a model cannot be set"):
        model.nq = 3  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        model.nothing = 1  # type: ignore[attr-defined]


def test_options_are_as_if_the_file_said_so(load: Load) -> None:
    model = load("cube")
    text = (ROOT / "models" / "cube.xml").read_text()
    changed = model.with_options(timestep=0.001, integrator="RK4", gravity=(0, 0, -1.62), flags=(("contact", False),))
    assert (changed.timestep, changed.integrator) == (0.001, "RK4")
    assert model.timestep != 0.001, "the model itself stays"
    option = '<option timestep="0.001" integrator="RK4" gravity="0 0 -1.62"><flag contact="disable"/></option>'
    again = carom.Model.from_string(text.replace("</mujoco>", option + "</mujoco>"), directory=ROOT / "models")
    runs = [one.rollout(one.state(), steps=300).qpos for one in (changed, again)]
    np.testing.assert_array_equal(runs[0], runs[1])


def test_wrong_options_are_refused(load: Load) -> None:
    model = load("cube")
    with pytest.raises(ValueError, match="'rk5' is not one of Euler, RK4"):
        model.with_options(integrator="rk5")
    with pytest.raises(TypeError, match="timestep"):
        model.with_options(timestep="fast")
    with pytest.raises(TypeError, match="time_step"):
        model.with_options(time_step=0.1)
    with pytest.raises(carom.ModelError, match="restitution"):
        model.with_options(contact_law=carom.Complementarity(restitution=3.0))
    with pytest.raises(ValueError, match="no geom 'nothing'"):
        model.with_options(from_distance=carom.FromDistance(geoms=("nothing",)))


def test_contact_laws_push(load: Load) -> None:
    model = load("cube").with_options(timestep=5e-4)
    start = model.state()
    start.qpos[2] = 0.1
    start.qvel[2] = -0.5
    soft = model.rollout(start, steps=2000).qpos[:, 2]
    laws = [carom.Complementarity(), carom.HuntCrossley(stiffness=1e5, dissipation=2.0)]
    for law in laws:
        other = model.with_options(contact_law=law).rollout(start, steps=2000).qpos[:, 2]
        assert not np.array_equal(other, soft)
        assert abs(other[-1] - soft[-1]) < 0.02, "it lies on the same floor"
    np.testing.assert_array_equal(model.with_options(contact_law=carom.Soft()).rollout(start, steps=2000).qpos[:, 2], soft)


def test_contacts_from_distance_are_in_gradients_only(load: Load) -> None:
    model = load("cube")
    distant = model.with_options(from_distance=carom.FromDistance(width=1.0))
    start = model.state()
    runs = [one.rollout(start, steps=20) for one in (model, distant)]
    np.testing.assert_array_equal(runs[0].qpos, runs[1].qpos)
    gradients = [run.backward(qvel=np.ones(run.qvel.shape)).qpos_tangent for run in runs]
    assert not np.array_equal(gradients[0], gradients[1])
    with pytest.raises(carom.GradientError, match="backward"):
        runs[1].jvp(qvel=np.ones(6))


def test_warnings_of_files_are_python_warnings() -> None:
    text = "<mujoco><worldbody><body><joint/><geom size='1'/><composite type='cable'/></body></worldbody></mujoco>"
    with pytest.raises(carom.ModelError, match="composite") as caught:
        carom.Model.from_string(text)
    code = caught.value.diagnostics[0].code
    with pytest.warns(carom.ModelWarning, match="composite"):
        model = carom.Model.from_string(text, allow=[code])
    assert model.diagnostics[0].severity == "warning"


def test_models_can_be_written_and_read_again(load: Load) -> None:
    model = load("cube")
    again = carom.Model.from_string(model.to_mjcf())
    np.testing.assert_array_equal(again.rollout(steps=100).qpos, model.rollout(steps=100).qpos)


def test_diagnostics_can_be_stored() -> None:
    with pytest.raises(carom.ModelError) as caught:
        carom.Model.from_string("<mujoco><worldbody><geom sze='1'/></worldbody></mujoco>")
    found = caught.value.diagnostics
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_keyframe_keeps_its_controls(load: Load) -> None:
    model = load("arm7")
    home = model.state("home")
    assert home.ctrl == pytest.approx([0, 0.4, 0, -1.5, 0, 0.9, 0])
    held = model.rollout(home, steps=200)
    assert (held.controls == home.ctrl).all()
    same = model.rollout(home, home.ctrl, steps=200)
    assert (held.qpos == same.qpos).all()
    # Without the set points of its servos the arm leaves the keyframe.
    dropped = model.rollout(home, np.zeros(model.nu), steps=200)
    assert np.abs(held.qpos[-1] - home.qpos).max() < 0.5 * np.abs(dropped.qpos[-1] - home.qpos).max()
    # They go with the state: by steps, copies, batches and parts of these.
    assert (model.step(home, steps=200).qpos == held.qpos[-1]).all()
    states = model.state("home", batch=3)
    states[1].ctrl[:] = 0
    assert (model.rollout(states, steps=200).qpos[1] == dropped.qpos).all()
    assert (model.rollout(states, steps=200).qpos[2] == held.qpos).all()
    assert not model.state().ctrl.any()


def test_differences_of_models_are_named_and_have_units(load: Load) -> None:
    model = load("pendulum")
    assert not carom.diff(model, model)
    other = carom.Model.load("models/pendulum.xml", options=carom.Options(timestep=0.001))
    found = carom.diff("models/pendulum.xml", other)
    [change] = found.numbers
    assert (change.name, change.new, change.unit) == ("option.timestep", 0.001, "s")
    assert "option.timestep" in str(found)
    assert any("cartpole" in line or "alone" in line for line in carom.diff(model, load("cartpole")).structure)
