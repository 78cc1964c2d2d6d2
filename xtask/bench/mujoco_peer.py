"""Times MuJoCo's step through mujoco.rollout, one JSON line per request on standard input.

A request is {"model": path, "steps": n} and optionally "disable": ["contact", ...], "timestep": seconds,
"qpos" and "qvel": {index: number, ...} of the start, "settle": steps before it. The answer has the CPU time per step
of one batch in microseconds and the number of contacts at its end. The process stays alive between requests, so that both engines can be measured in turns.
"""

import json
import sys
import time

import mujoco
import mujoco.rollout
import numpy as np

FLAGS = {
    "contact": mujoco.mjtDisableBit.mjDSBL_CONTACT,
    "constraint": mujoco.mjtDisableBit.mjDSBL_CONSTRAINT,
    "sensor": mujoco.mjtDisableBit.mjDSBL_SENSOR,
}
FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS


class Case:
    """A model with its start state and controls."""

    def __init__(self, request):
        steps = request["steps"]
        self.model = mujoco.MjModel.from_xml_path(request["model"])
        for name in request.get("disable", []):
            self.model.opt.disableflags |= int(FLAGS[name])
        self.model.opt.timestep = request.get("timestep", self.model.opt.timestep)
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        for name in ["qpos", "qvel"]:
            for index, number in request.get(name, {}).items():
                getattr(self.data, name)[int(index)] = number
        settle = request.get("settle", 0)
        if settle:
            self.data.ctrl[:] = controls(self.model, 1)[0]
            mujoco.mj_step(self.model, self.data, settle)
        self.state = np.empty(mujoco.mj_stateSize(self.model, FULL_PHYSICS))
        mujoco.mj_getState(self.model, self.data, self.state, FULL_PHYSICS)
        self.warmstart = self.data.qacc_warmstart.copy()
        self.control = controls(self.model, steps)

    def cpu_microseconds_per_step(self):
        begin = time.process_time()
        mujoco.rollout.rollout(
            self.model, self.data, self.state[None], self.control[None], initial_warmstart=self.warmstart[None]
        )
        return (time.process_time() - begin) / self.control.shape[0] * 1e6


def controls(model, steps):
    """The same formula as `carom bench`: a small sine per actuator within its control range."""
    control = np.zeros((steps, model.nu))
    for actuator in range(model.nu):
        low, high = -1.0, 1.0
        if model.actuator_ctrllimited[actuator]:
            low, high = model.actuator_ctrlrange[actuator]
        phase = 0.02 * np.arange(steps) + actuator
        control[:, actuator] = 0.5 * (low + high) + 0.1 * (high - low) * np.sin(phase)
    return control


def main():
    cases = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = line
        if key not in cases:
            cases[key] = Case(request)
        answer = {
            "microseconds": cases[key].cpu_microseconds_per_step(),
            "contacts": cases[key].data.ncon,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
