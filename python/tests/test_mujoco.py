"""Models that MuJoCo has compiled."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from unusual_models import UNUSUAL

import carom

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")


def files() -> list[Path]:
    """Shipped models, those of environments, and shared ones where they are present."""
    folders = ("models", "models/features", "python/carom/gym/models")
    found = [file for folder in folders for file in sorted((ROOT / folder).glob("*.xml"))]
    for folder in ("models", "models_tasks"):
        shared = Path(os.environ.get("CAROM_SHARED", ROOT.parent / "shared")) / folder
        manifest = shared / "manifest.json"
        if manifest.exists():
            # Some are listed several times, each with another start.
            found += [(shared / one["name"] / one["file"]).resolve() for one in json.loads(manifest.read_text())]
        else:
            print(f"there are no shared {folder}; set CAROM_SHARED to a folder that has them")
    return list(dict.fromkeys(found))


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def aliases(model: Any) -> list[str]:
    names = [name for name in dir(carom.Model) if not name.startswith("_") and hasattr(model, name)]
    return [name for name in names if name != "names" and not callable(getattr(model, name))]


# Models whose actuators are simulated from their file, but not yet taken over from MuJoCo's own model.
NOT_TAKEN_OVER = ("dc_motor.xml", "orientation_servo.xml", "pid.xml")


@pytest.mark.parametrize("name", NOT_TAKEN_OVER)
def test_motors_and_servos_load_from_their_file_alone(name: str) -> None:
    file = ROOT / "models/features" / name
    assert carom.Model.load(file).nu > 0
    with pytest.raises(carom.ModelError, match="load the file of the model instead"):
        carom.Model.from_mujoco(mujoco.MjModel.from_xml_path(str(file)))


@pytest.mark.parametrize("file", [file for file in files() if file.name not in NOT_TAKEN_OVER], ids=name_of)
def test_models_are_taken_over_as_they_are(file: Path) -> None:
    theirs = mujoco.MjModel.from_xml_path(str(file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", carom.ModelWarning)
        loaded, ours = carom.Model.load(file), carom.Model.from_mujoco(theirs)
    for name in aliases(theirs):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12, err_msg=name)
    for family in ("body", "joint", "geom", "site", "actuator", "sensor", "tendon", "key"):
        assert ours.names(family) == loaded.names(family)
    runs = [model.rollout(steps=20) for model in (loaded, ours)]
    for name in ("qpos", "qvel", "act", "sensordata"):
        one, other = (getattr(run, name) for run in runs)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_models_move_as_in_mujoco(name: str) -> None:
    theirs = mujoco.MjModel.from_xml_string(UNUSUAL[name])
    # To convergence, which carom is judged by.
    theirs.opt.tolerance, theirs.opt.iterations = 0, 300
    if theirs.opt.noslip_iterations:
        theirs.opt.noslip_tolerance, theirs.opt.noslip_iterations = 0, 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", carom.ModelWarning)
        ours, loaded = carom.Model.from_mujoco(theirs), carom.Model.from_string(UNUSUAL[name])
    for alias in aliases(theirs):
        np.testing.assert_allclose(getattr(ours, alias), getattr(theirs, alias), rtol=1e-12, atol=1e-12, err_msg=alias)
    for key in range(theirs.nkey):
        one, other = loaded.state(key), ours.state(key)
        for part in ("time", "qpos", "qvel", "act", "mocap_pos", "mocap_quat"):
            np.testing.assert_allclose(getattr(one, part), getattr(other, part), rtol=1e-12, err_msg=part)
    data, random = mujoco.MjData(theirs), np.random.default_rng(0)
    data.qvel[:] = random.normal(size=theirs.nv) * 0.3
    data.ctrl[:] = random.normal(size=theirs.nu) * 0.3
    start = ours.state()
    start.qvel = data.qvel
    run = ours.rollout(start, data.ctrl, steps=20)
    for step in range(20):
        mujoco.mj_step(theirs, data)
        np.testing.assert_allclose(run.sensordata[step], data.sensordata, rtol=1e-6, atol=1e-6)
    for part in ("qpos", "qvel", "act"):
        np.testing.assert_allclose(getattr(run, part)[-1], getattr(data, part), rtol=1e-8, atol=1e-8, err_msg=part)


def test_changes_in_python_are_kept() -> None:
    theirs = mujoco.MjModel.from_xml_path(str(ROOT / "models/humanoid.xml"))
    theirs.body_mass[3] *= 2
    theirs.dof_damping[7] = 3.0
    theirs.dof_armature[:6] = 0.25
    theirs.geom_friction[:, 0] = 0.3
    theirs.opt.timestep = 0.001
    theirs.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART
    ours = carom.Model.from_mujoco(theirs)
    for name in aliases(theirs):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12, err_msg=name)
    assert (ours.timestep, ours.integrator) == (0.001, "implicitfast")
    data = mujoco.MjData(theirs)
    state = ours.state()
    for _ in range(50):
        mujoco.mj_step(theirs, data)
        state = ours.step(state)
    np.testing.assert_allclose(state.qpos, data.qpos, rtol=1e-9, atol=1e-9)
    with pytest.raises(carom.ParameterError, match="was changed after"):
        ours.parameters("joint.right_knee.damping[0]")
    mujoco.mj_setConst(theirs, data)
    damping = carom.Model.from_mujoco(theirs).parameters("joint.right_knee.damping[0]", "body.*.mass")
    assert damping.values()[3] == theirs.body_mass[3]


def test_dofs_of_one_joint_may_differ() -> None:
    theirs = mujoco.MjModel.from_xml_path(str(ROOT / "models/cube.xml"))
    theirs.dof_armature[:] = np.arange(6) * 0.1
    theirs.dof_damping[:] = np.arange(6) * 0.2
    ours = carom.Model.from_mujoco(theirs)
    np.testing.assert_allclose(ours.dof_armature, theirs.dof_armature, rtol=1e-14)
    np.testing.assert_allclose(ours.dof_damping, theirs.dof_damping, rtol=1e-14)


def test_gradients_are_those_of_the_loaded_model() -> None:
    file = ROOT / "models/humanoid.xml"
    models = [carom.Model.load(file), carom.Model.from_mujoco(mujoco.MjModel.from_xml_path(str(file)))]
    start = models[0].state()
    start.qpos[2] += 0.1
    start.qvel[:] = np.random.default_rng(0).normal(size=models[0].nv)
    runs = [model.rollout(start, steps=20) for model in models]
    found = [run.backward(qpos=run.qpos).qvel for run in runs]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)


def test_actuators_that_add_damping_add_it_once() -> None:
    text = """<mujoco><worldbody><body><joint name="a" damping="0.1" armature="0.2"/><geom size="0.1"/></body></worldbody>
      <actuator><motor joint="a" gear="2" damping="0.5" armature="0.3"/></actuator></mujoco>"""
    theirs, loaded = mujoco.MjModel.from_xml_string(text), carom.Model.from_string(text)
    start = loaded.state()
    start.qvel[0] = 1.0
    for damping in (0.1, 0.7):
        theirs.dof_damping[0] = damping
        ours = carom.Model.from_mujoco(theirs)
        data = mujoco.MjData(theirs)
        data.qvel[0] = 1.0
        mujoco.mj_step(theirs, data)
        assert ours.step(start).qvel[0] == pytest.approx(data.qvel[0], rel=1e-12)


def test_what_is_not_simulated_is_refused_by_name() -> None:
    text = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body></worldbody>
      <actuator><dcmotor name="wheel" joint="a" motorconst="0.1" resistance="1"/></actuator></mujoco>"""
    with pytest.raises(carom.ModelError, match="actuator 'wheel'"):
        carom.Model.from_mujoco(mujoco.MjModel.from_xml_string(text))
    sleep = mujoco.MjModel.from_xml_string("<mujoco><option><flag sleep='enable'/></option></mujoco>")
    with pytest.raises(carom.ModelError, match="'sleep'"):
        carom.Model.from_mujoco(sleep)


def test_models_made_in_python_can_be_used() -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(pos=[0, 0, 1])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.2, 0.3])
    ours = carom.Model.from_mujoco(spec.compile())
    assert ours.rollout(steps=10).qpos[-1, 2] < 1.0
    assert ours.body_mass[1] == pytest.approx(48.0)


def test_calibrated_sets_move_in_mujoco_as_in_carom() -> None:
    """Calibrated models that ship, where MuJoCo has their law: the same motion, step by step, to 1e-8."""
    tried = 0
    for file in sorted((ROOT / "datasets").glob("*_calibrated.xml")):
        text = file.read_text()
        if "carom/" in text:
            print(f"skipped: {file.name} has a law that MuJoCo lacks")
            continue
        tried += 1
        theirs = mujoco.MjModel.from_xml_path(str(file))
        # Both to convergence: how early a solver stops is no part of a model.
        theirs.opt.tolerance, theirs.opt.iterations = 0.0, 500
        data = mujoco.MjData(theirs)
        model = carom.Model.load(file, options=carom.Options(tolerance=0.0, iterations=500))
        generator = np.random.default_rng(0)
        state = model.state()
        state.qvel = generator.normal(size=model.nv)
        for step in range(300):
            data.qpos[:], data.qvel[:] = state.qpos, state.qvel
            data.qacc_warmstart[:] = state.warmstart
            mujoco.mj_step(theirs, data)
            state = model.step(state)
            apart = max(np.abs(data.qpos - state.qpos).max(), np.abs(data.qvel - state.qvel).max() * model.timestep)
            assert apart < 1e-8, f"{file.name}, step {step}: {apart}"
    assert tried >= 5


def test_references_of_models_with_delays_are_recorded(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "delayed.xml").write_text(
        "<mujoco><worldbody><body pos='0 0 1'><joint name='pivot' axis='0 1 0'/><geom size='0.05' pos='0 0 -0.5'/></body></worldbody>"
        "<actuator><position joint='pivot' kp='10' delay='0.01' nsample='8'/></actuator></mujoco>"
    )
    script = ROOT / "xtask/reference/make_reference.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True)
    with np.load(tmp_path / "delayed/ref.npz") as recorded:
        assert len(recorded["traj/tight/qpos"]) > 1
        assert not any(name.startswith("s0/fd") for name in recorded.files)
