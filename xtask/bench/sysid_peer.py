"""Times mujoco.sysid, one JSON line per request on standard input.

A request is {"model": path, "recording": path, "steps": n, "noise": relative, "parameters": [[joint, attribute, truth,
start, low, high], ...]}. The recording, of positions, velocities and controls, is made by MuJoCo with the true parameters
and written for others to read; its first frame is without noise. The answer has the CPU time in microseconds of one
identification on one thread, the values that it finds, the sum of squares there, and the unit of each column in the loss:
mujoco.sysid divides residuals by the length of the recorded column over the square root of two. {"at": values} in the
request asks for the sum of squares there as well.
"""

import contextlib
import io
import time

import mujoco
import mujoco.rollout
import numpy as np
from mujoco import sysid

import peer

# Of the noise.
SEED = 5


def sines(model, start, times):
    """Commands around the start: two sines for every servo."""
    number = np.arange(model.nu)
    slow = 0.25 * np.sin(np.outer(times, 2.0 + 0.4 * number) + number)
    fast = 0.08 * np.sin(np.outer(times, 9.0 + 1.3 * number))
    return start + slow + fast - 0.25 * np.sin(number)


def put(spec, joint, attribute, number):
    """Sets a number of a joint; damping has coefficients of higher powers of the velocity, which stay zero."""
    joint = spec.joint(joint)
    setattr(joint, attribute, [number, 0, 0] if attribute == "damping" else number)


class Case:
    """Recorded joints of an arm, and what is unknown of them."""

    def __init__(self, request):
        self.at = request.get("at")
        self.spec = mujoco.MjSpec.from_file(request["model"])
        # States are compared: sensors would only cost time.
        self.spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self.parameters = request["parameters"]
        self.record(request)
        self.residual = sysid.build_residual_fn(
            models_sequences=[self.sequences], n_threads=1, enabled_observations=self.observations
        )

    def record(self, request):
        steps = request["steps"]
        for joint, attribute, truth, *_ in self.parameters:
            put(self.spec, joint, attribute, truth)
        model = self.spec.compile()
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        times = model.opt.timestep * np.arange(steps + 1)
        control = sines(model, data.ctrl.copy(), times)
        start = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
        states, _ = mujoco.rollout.rollout(model, data, start, control[:-1])
        rows = np.vstack([start, states[0]])[:, 1 : 1 + model.nq + model.nv]
        noise = request["noise"] * rows.std(axis=0) * np.random.default_rng(SEED).normal(size=rows.shape)
        noise[0] = 0
        rows = rows + noise
        np.savez(
            request["recording"],
            q=rows[:, : model.nq],
            qd=rows[:, model.nq :],
            u=control,
            dt=model.opt.timestep,
        )
        self.units = np.linalg.norm(rows[1:], axis=0) / np.sqrt(2)
        positions, velocities, _, _ = sysid.TimeSeries.compute_all_state_mappings(model)
        signals = positions | velocities
        self.observations = [(name, kind) for name, (kind, _) in signals.items()]
        self.sequences = sysid.ModelSequences(
            "arm",
            self.spec,
            "sines",
            start,
            sysid.TimeSeries(times, control),
            sysid.TimeSeries(times, rows, signals),
            allow_missing_sensors=True,
        )

    def unknown(self):
        unknown = sysid.ParameterDict()
        for joint, attribute, truth, start, low, high in self.parameters:
            modifier = lambda spec, parameter, j=joint, a=attribute: put(spec, j, a, parameter.value[0])
            name = f"{joint}.{attribute}"
            unknown.add(sysid.Parameter(name, nominal=truth, min_value=low, max_value=high, modifier=modifier))
            unknown[name].value[:] = start
        return unknown

    def squares(self, unknown, values):
        residuals, _, _ = self.residual(np.asarray(values), unknown.copy())
        return float(sum(np.sum(part**2) for part in residuals))

    def measure(self):
        unknown = self.unknown()
        begin = time.process_time()
        # Its progress goes to standard output, where answers are expected.
        with contextlib.redirect_stdout(io.StringIO()):
            found, _ = sysid.optimize(unknown, self.residual, optimizer="mujoco", verbose=False)
        seconds = time.process_time() - begin
        values = found.as_vector()
        answer = {
            "microseconds": seconds * 1e6,
            "contacts": 0,
            "values": values.tolist(),
            "squares": self.squares(unknown, values),
            "units": self.units.tolist(),
        }
        if self.at:
            answer["squares_at"] = self.squares(unknown, self.at)
        return answer


if __name__ == "__main__":
    peer.serve(Case)
