"""Times MuJoCo's step through mujoco.rollout, one JSON line per request on standard input.

A request is {"model": path, "steps": n, "disable": ["contact", ...]}; the answer has the CPU time per step of one
batch in microseconds. The process stays alive between requests, so that both engines can be measured in turns.
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

    def __init__(self, path, steps, disable):
        self.model = mujoco.MjModel.from_xml_path(path)
        for name in disable:
            self.model.opt.disableflags |= int(FLAGS[name])
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.state = np.empty(mujoco.mj_stateSize(self.model, FULL_PHYSICS))
        mujoco.mj_getState(self.model, self.data, self.state, FULL_PHYSICS)
        self.control = controls(self.model, steps)

    def cpu_microseconds_per_step(self):
        begin = time.process_time()
        mujoco.rollout.rollout(self.model, self.data, self.state[None], self.control[None])
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
            cases[key] = Case(request["model"], request["steps"], request["disable"])
        print(json.dumps({"microseconds": cases[key].cpu_microseconds_per_step()}), flush=True)


if __name__ == "__main__":
    main()
