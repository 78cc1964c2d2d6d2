#!/usr/bin/env python3
"""Record what MuJoCo computes for a folder of models, as one ``ref.npz`` per model.

    make_reference.py DIR [NAME ...]            record the models listed in DIR/manifest.json, or only those named
    make_reference.py DIR [NAME ...] --check    compute again and compare with the stored files

Without a manifest, every .xml and .urdf file in DIR that MuJoCo can compile is recorded, into DIR/NAME/ref.npz; the others
(parts that models include) are named and left out.

The manifest is a list of objects. Only ``name`` (the folder) and ``file`` (relative to that folder) are required:

    seed      of everything random; default: CRC-32 of the name
    key       keyframe to start from, or null for qpos0; default: the first one, if there is any
    dq, dv    size of the random change of qpos and qvel at the start; default 0.02 and 0.2
    lift      added to the height of every free joint; default 0
    ctrl      share of the control range in use; default 0.3
    ctrl_set  [index, value] pairs of controls that are held; default none
    nstep     length of the trajectory; default 100
    warmup    steps before recording starts, so that contacts exist; default 0

Each trajectory is run twice: ``own`` with the options of the file, ``tight`` with the solver run to convergence.
Snapshots (``s0``, ``s1``, ...) of the tight one hold every stage's result. See ``layout.py`` for the names.
"""

import argparse
import json
import os
import pathlib
import sys
import zlib

import layout
import mujoco
import numpy as np

TIGHT_OPTIONS = {
    "solver": int(mujoco.mjtSolver.mjSOL_NEWTON),
    "tolerance": 0.0,
    "iterations": 200,
    "ls_tolerance": 1e-12,
    "ls_iterations": 200,
    "noslip_iterations": 0,
    "ccd_tolerance": 1e-14,
    "ccd_iterations": 2000,
}
STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
SHIFT = 1e-10  # size of the disturbance that measures how errors grow
DIFFERENCE_STEP = 1e-6  # of the centred differences
LARGEST_DIFFERENTIATED = 70  # dofs; beyond this the dense Jacobians would dominate the file


class Recorder:
    """One model, its data, its random numbers, and the arrays recorded so far."""

    def __init__(self, directory, entry):
        self.entry = entry
        self.name = entry["name"]
        self.model = mujoco.MjModel.from_xml_path(str(directory / self.name / entry["file"]))
        self.data = mujoco.MjData(self.model)
        self.seed = entry.get("seed", zlib.crc32(self.name.encode()))
        self.random = np.random.default_rng(self.seed)
        self.steps = entry.get("nstep", 100)
        self.arrays = {}

    def record(self):
        self.record_model()
        self.set_initial_state()
        controls = self.control_sequence()
        start = self.settle(controls)

        self.arrays["traj/ctrl"] = controls
        self.keep("traj/own/", self.rollout(self.data, start, controls)[0])
        warnings = self.warning_counts()
        for option, value in TIGHT_OPTIONS.items():
            setattr(self.model.opt, option, value)
        tight, states = self.rollout(self.data, start, controls)
        self.keep("traj/tight/", tight)
        self.arrays["meta/warnings"] = np.array(warnings) + self.warning_counts()

        self.record_sensitivity(start, controls, states)
        self.record_snapshots(states)
        return self.arrays

    def keep(self, prefix, named):
        self.arrays.update({prefix + name: value for name, value in named.items()})

    def warning_counts(self):
        return [int(warning.number) for warning in self.data.warning]

    # Model ---------------------------------------------------------------------------------------------------------

    def record_model(self):
        m = self.model
        self.keep(
            "meta/",
            {
                "mujoco_version": np.array(mujoco.__version__),
                "name": np.array(self.name),
                "file": np.array(self.entry["file"]),
                "seed": np.array(self.seed),
            },
        )
        constants = {name: np.array(getattr(m, name)) for name in layout.CONSTANTS if hasattr(m, name)}
        self.keep("model/", {name: value for name, value in constants.items() if value.size})
        self.keep("opt/", {name: np.array(getattr(m.opt, name)) for name in layout.OPTIONS})
        self.keep("size/", {name: np.array(getattr(m, name)) for name in layout.SIZES})
        for kind, count in (("body", m.nbody), ("geom", m.ngeom), ("joint", m.njnt)):
            element = getattr(m, kind)
            self.arrays[f"model/{kind}_names"] = np.array([element(i).name for i in range(count)])

    # Start and controls --------------------------------------------------------------------------------------------

    def set_initial_state(self):
        """A keyframe or qpos0, moved at random; scalar joints stay inside their limits."""
        m, d, entry = self.model, self.data, self.entry
        mujoco.mj_resetData(m, d)
        key = entry.get("key", 0 if m.nkey else None)
        if key is not None:
            mujoco.mj_resetDataKeyframe(m, d, key)

        displacement = self.random.standard_normal(m.nv)
        velocity = self.random.standard_normal(m.nv)
        free = np.flatnonzero(m.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
        for joint in free:
            dof = m.jnt_dofadr[joint]
            displacement[dof : dof + 3] *= 0.25
            d.qpos[m.jnt_qposadr[joint] + 2] += entry.get("lift", 0.0)
        mujoco.mj_integratePos(m, d.qpos, displacement, entry.get("dq", 0.02))

        scalar = m.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
        for joint in np.flatnonzero(scalar & (m.jnt_limited != 0)):
            address = m.jnt_qposadr[joint]
            low, high = m.jnt_range[joint]
            border = 0.02 * (high - low)
            d.qpos[address] = min(max(d.qpos[address], low + border), high - border)

        d.qvel[:] += entry.get("dv", 0.2) * velocity
        if m.na:
            d.act[:] = self.random.uniform(0.05, 0.4, m.na)
        for actuator in range(m.nactuator):
            count = m.actuator_actnum[actuator]
            if count and m.actuator_actlimited[actuator]:
                last = m.actuator_actadr[actuator] + count - 1
                d.act[last] = np.clip(d.act[last], *m.actuator_actrange[actuator])

    def control_sequence(self):
        """Two sines of random frequency and phase per control, around the keyframe's control, inside the range."""
        m = self.model
        if not m.nu:
            return np.zeros((self.steps, 0))
        low, high = np.full(m.nu, -1.0), np.full(m.nu, 1.0)
        limited = np.zeros(m.nu, bool)
        if len(m.actuator_ctrllimited) == m.nu:
            limited = m.actuator_ctrllimited.astype(bool)
            low[limited], high[limited] = m.actuator_ctrlrange[limited].T
        centre = np.clip(self.data.ctrl, low, high)
        if limited.any() and not centre.any():
            border = 0.05 * (high - low)
            centre = np.clip(centre, low + border, high - border)

        time = np.arange(self.steps)[:, None] / 100.0
        frequency = self.random.uniform(0.5, 4.0, (2, m.nu))
        phase = self.random.uniform(0, 2 * np.pi, (2, m.nu))
        first, second = (np.sin(2 * np.pi * frequency[i] * time + phase[i]) for i in range(2))
        wave = 0.5 * (first + second)
        controls = np.clip(centre + self.entry.get("ctrl", 0.3) * 0.5 * (high - low) * wave, low, high)
        for index, value in self.entry.get("ctrl_set", []):
            controls[:, index] = value
        return controls

    def settle(self, controls):
        """Warm up under the first control; the state that recording starts from."""
        m, d = self.model, self.data
        if m.nu:
            d.ctrl[:] = controls[0]
        for _ in range(self.entry.get("warmup", 0)):
            mujoco.mj_step(m, d)
        d.time = 0.0
        d.qacc_warmstart[:] = 0
        return self.state(d)

    # Trajectories --------------------------------------------------------------------------------------------------

    def state(self, d):
        vector = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, d, vector, STATE)
        return vector

    def fresh(self, state):
        """New data in this state: reused data would let the sensor of kinetic energy show that of the state before."""
        d = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, d, state, STATE)
        return d

    def shifted(self, d, state):
        """Put the state into d, with its position moved by SHIFT in a random direction."""
        mujoco.mj_setState(self.model, d, state, STATE)
        mujoco.mj_integratePos(self.model, d.qpos, self.random.standard_normal(self.model.nv), SHIFT)

    def rollout(self, d, start, controls):
        """Step through the controls: recorded arrays by name, and the full state before each step."""
        m = self.model
        mujoco.mj_setState(m, d, start, STATE)
        before = {name: [] for name in ("qpos", "qvel", "act", "time")}
        during = {name: [] for name in ("qacc", "qacc_warmstart", "ncon", "nefc", "niter")}
        states = []

        def note_state():
            for name, values in before.items():
                values.append(np.copy(getattr(d, name)))

        for control in controls:
            note_state()
            d.ctrl[:] = control
            states.append(self.state(d))
            during["qacc_warmstart"].append(d.qacc_warmstart.copy())
            mujoco.mj_step(m, d)
            during["qacc"].append(d.qacc.copy())
            during["ncon"].append(d.ncon)
            during["nefc"].append(d.nefc)
            during["niter"].append(int(np.sum(d.solver_niter)))
        note_state()
        return {name: np.array(values) for name, values in (before | during).items()}, states

    def record_sensitivity(self, start, controls, states):
        """How a tiny shift of the position grows: over the whole rollout, and in one step from every state."""
        m, d = self.model, mujoco.MjData(self.model)
        tight = {name: self.arrays["traj/tight/" + name] for name in ("qpos", "qvel", "ncon", "nefc")}

        self.shifted(d, start)
        other, _ = self.rollout(d, self.state(d), controls)
        for name in ("qpos", "qvel"):
            distance = np.abs(other[name] - tight[name])
            self.arrays["traj/tight/sens_" + name] = np.max(distance, axis=1, initial=0.0)

        one_step, ambiguous, touched = np.zeros(self.steps), np.zeros(self.steps, bool), set()
        for step, state in enumerate(states):
            self.shifted(d, state)
            mujoco.mj_step(m, d)
            one_step[step] = np.max(np.abs(d.qvel - tight["qvel"][step + 1]), initial=0.0)
            ambiguous[step] = (d.ncon, d.nefc) != (tight["ncon"][step], tight["nefc"][step])
            geoms = np.reshape(d.contact.geom, (-1, 2))
            touched |= {tuple(sorted(map(int, m.geom_type[pair]))) for pair in geoms if pair.min() >= 0}
        self.arrays["traj/tight/step_sens_qvel"] = one_step
        self.arrays["traj/tight/ambiguous"] = ambiguous
        convex = touched - layout.CLOSED_FORM_PAIRS
        self.arrays["meta/contact_pairs"] = np.array(sorted(touched), int).reshape(-1, 2)
        self.arrays["meta/convex_pairs"] = np.array(sorted(convex), int).reshape(-1, 2)

    # Snapshots -----------------------------------------------------------------------------------------------------

    def record_snapshots(self, states):
        """The first state, the middle one, and the one with most constraint rows."""
        busiest = int(np.argmax(self.arrays["traj/tight/nefc"]))
        chosen = sorted({0, self.steps // 2, busiest})
        self.arrays["meta/snapshot_steps"] = np.array(chosen)
        for number, step in enumerate(chosen):
            self.keep(f"s{number}/", self.snapshot(self.fresh(states[step])))
        for number, step in enumerate(chosen):
            self.keep(f"s{number}/fd/", self.transition(self.fresh(states[step])))

    def snapshot(self, d):
        """Inputs in d, and every result of one forward evaluation there."""
        m = self.model
        out = {"in/" + name: np.array(getattr(d, name), float) for name in layout.SNAPSHOT_INPUTS}
        out["in/time"] = np.array(d.time)
        mujoco.mj_forward(m, d)

        out |= {name: np.array(getattr(d, name), float) for name in layout.SNAPSHOT_RESULTS if hasattr(d, name)}
        out["qM"] = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, out["qM"])
        out["ten_J"] = dense(
            (m.ntendon, m.nv), d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind
        )
        out["actuator_moment"] = dense(
            (len(d.moment_rownnz), m.nv), d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind
        )

        out["ncon"], out["nefc"] = np.array(d.ncon), np.array(d.nefc)
        out["solver_niter"] = np.array(d.solver_niter)
        for name, width in layout.CONTACT.items():
            shape = (d.ncon, width) if width else (d.ncon,)
            out["con/" + name] = np.array(getattr(d.contact, name)).reshape(shape)
        out |= {"efc_" + name: np.array(getattr(d, "efc_" + name))[: d.nefc] for name in layout.CONSTRAINT_ROWS}
        if mujoco.mj_isSparse(m):
            out["efc_J"] = dense((d.nefc, m.nv), d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
        else:
            out["efc_J"] = np.array(d.efc_J).reshape(d.nefc, m.nv)

        residual = out["qM"] @ d.qacc - d.qfrc_smooth - d.qfrc_constraint
        acceleration = np.linalg.solve(out["qM"], residual) if m.nv else residual
        out["residual"] = np.array(np.max(np.abs(residual), initial=0.0))
        out["residual_qacc"] = np.array(np.max(np.abs(acceleration), initial=0.0))
        return out

    def transition(self, d):
        """Jacobians of one step by centred differences; Runge-Kutta and delays have none in MuJoCo."""
        m = self.model
        runge_kutta = m.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4)
        if runge_kutta or m.nhistory or not 0 < m.nv <= LARGEST_DIFFERENTIATED:
            return {}
        size = 2 * m.nv + m.na
        by_state, by_control = np.zeros((size, size)), np.zeros((size, m.nu))
        mujoco.mjd_transitionFD(
            m, d, DIFFERENCE_STEP, True, by_state, by_control if m.nu else None, None, None
        )
        return {"A": by_state, "B": by_control}


def dense(shape, values, counts, addresses, columns):
    """A matrix from compressed rows."""
    matrix = np.zeros(shape)
    if matrix.size:
        values, columns = np.ravel(values), np.ravel(columns)
        for row, (count, address) in enumerate(zip(counts, addresses)):
            entries = slice(int(address), int(address) + int(count))
            matrix[row, columns[entries]] = values[entries]
    return matrix


def save(path, arrays):
    """Compressed, integers as 32 bits. numpy dates the archive's members 1980, so equal numbers give equal files."""

    def compact(array):
        integer = array.ndim and array.dtype.kind in "iub" and array.dtype != np.uint8
        return array.astype(np.int32) if integer else array

    path.parent.mkdir(parents=True, exist_ok=True)
    # Complete under its name, or not there at all.
    partial = path.with_name(f".{os.getpid()}.partial.npz")
    try:
        np.savez_compressed(partial, **{name: compact(array) for name, array in arrays.items()})
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


# Iteration counts depend on the last bit of every number before them.
NOT_COMPARED = ("/niter", "/solver_niter")


def differences(stored, computed):
    """Keys whose value differs by more than another processor's sine and cosine explain."""
    missing = set(computed) ^ set(stored)
    return sorted(missing) + [
        key
        for key in computed
        if key not in missing and not key.endswith(NOT_COMPARED) and not agree(key, stored, computed)
    ]


def agree(key, stored, computed):
    a, b = stored[key], computed[key]
    if a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    tolerance = 1e-5 if "/fd/" in key else 1e-9
    if key.startswith("traj/"):
        # what the recorded growth of a shift of 1e-10 allows up to each step
        growth = np.maximum(computed["traj/tight/sens_qpos"], computed["traj/tight/sens_qvel"])[: len(a)]
        tolerance = tolerance + growth.reshape((-1,) + (1,) * (a.ndim - 1)) / computed["opt/timestep"]
    scale = max(1.0, np.max(np.abs(b), initial=0.0))
    return bool(np.all(np.abs(a - b) <= tolerance * scale))


def summary(recorder):
    a, m = recorder.arrays, recorder.model
    residual = max(float(value) for key, value in a.items() if key.endswith("/residual_qacc"))
    return (
        f"nv={m.nv:3d} nu={m.nu:3d} contacts<={a['traj/tight/ncon'].max():3d} rows<={a['traj/tight/nefc'].max():3d} "
        f"|v|<={np.abs(a['traj/tight/qvel']).max(initial=0):6.2f} residual<={residual:.0e} "
        f"growth={a['traj/tight/sens_qvel'][-1]:.0e} warnings={a['meta/warnings'].sum()}"
    )


def read_manifest(directory):
    """The manifest, or one made of the models in the folder."""
    if not directory.is_dir():
        sys.exit(f"there is no folder '{directory}'")
    path = directory / "manifest.json"
    if path.is_file():
        return json.loads(path.read_text())
    entries = []
    for model in sorted([*directory.glob("*.xml"), *directory.glob("*.urdf")]):
        try:
            mujoco.MjModel.from_xml_path(str(model))
        except ValueError as error:
            print(f"{model.name:28s} left out: {str(error).splitlines()[0]}")
            continue
        taken = any(entry["name"] == model.stem for entry in entries)
        name = f"{model.stem}_{model.suffix[1:]}" if taken else model.stem
        entries.append({"name": name, "file": f"../{model.name}"})
    if not entries:
        sys.exit(f"'{directory}' has neither manifest.json nor a model (.xml, .urdf) that MuJoCo can compile")
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    arguments = parser.parse_args()

    manifest = read_manifest(arguments.directory)
    unknown = set(arguments.names) - {entry["name"] for entry in manifest}
    if unknown:
        known = ", ".join(entry["name"] for entry in manifest)
        sys.exit(f"no such model: {', '.join(sorted(unknown))}; there are {known}")

    stale = 0
    for entry in manifest:
        if arguments.names and entry["name"] not in arguments.names:
            continue
        path = arguments.directory / entry["name"] / "ref.npz"
        if arguments.check and not path.exists():
            print(f"{entry['name']:28s} no reference file")
            stale += 1
            continue
        recorder = Recorder(arguments.directory, entry)
        arrays = recorder.record()
        if not arguments.check:
            save(path, arrays)
            print(f"{entry['name']:28s} {summary(recorder)} {path.stat().st_size // 1024} kB")
            continue
        with np.load(path) as stored:
            differing = differences(dict(stored), arrays)
        stale += bool(differing)
        print(f"{entry['name']:28s} {'differs: ' + ', '.join(differing[:6]) if differing else 'agrees'}")
    if stale:
        sys.exit(f"{stale} reference files are stale: run `cargo xtask reference`")


if __name__ == "__main__":
    main()
