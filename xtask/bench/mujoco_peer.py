"""Times MuJoCo, one JSON line per request on standard input.

Requests are those of `peer.start`, with "disable": ["contact", ...] if some features are to be off. By default steps are
timed through mujoco.rollout; "measure": "linearize" times mjd_transitionFD with centred differences at every state of the
trajectory instead, "measure": "load" loads the model. The answer has the CPU time per step of one batch in microseconds and the number of contacts at its
end. The process stays alive between requests, so that both engines can be measured in turns.
"""

import pathlib
import re
import time

import mujoco
import mujoco.rollout
import numpy as np

import peer

FLAGS = {
    "contact": mujoco.mjtDisableBit.mjDSBL_CONTACT,
    "constraint": mujoco.mjtDisableBit.mjDSBL_CONSTRAINT,
    "sensor": mujoco.mjtDisableBit.mjDSBL_SENSOR,
}
FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION
# Displacement of finite differences.
DIFFERENCE = 1e-6


class Case:
    """A model with its start state and controls."""

    def __init__(self, request):
        self.model, self.data, self.control = peer.start(mujoco, request)
        for name in request.get("disable", []):
            self.model.opt.disableflags |= int(FLAGS[name])

    def state(self, kind):
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        return state

    def measure(self):
        begin = time.process_time()
        self.batch()
        seconds = time.process_time() - begin
        return {"microseconds": seconds / self.control.shape[0] * 1e6, "contacts": int(self.data.ncon)}


class Steps(Case):
    """Steps."""

    def __init__(self, request):
        super().__init__(request)
        self.start = self.state(FULL_PHYSICS)
        self.warmstart = self.data.qacc_warmstart.copy()

    def batch(self):
        mujoco.rollout.rollout(
            self.model, self.data, self.start[None], self.control[None], initial_warmstart=self.warmstart[None]
        )


class Jacobians(Case):
    """The derivatives of all steps of a trajectory by state and controls."""

    def __init__(self, request):
        super().__init__(request)
        size = 2 * self.model.nv + self.model.na
        self.by_state = np.zeros((size, size))
        self.by_control = np.zeros((size, self.model.nu)) if self.model.nu else None
        self.states = []
        for control in self.control:
            self.data.ctrl[:] = control
            self.states.append(self.state(INTEGRATION))
            mujoco.mj_step(self.model, self.data)

    def batch(self):
        for state in self.states:
            mujoco.mj_setState(self.model, self.data, state, INTEGRATION)
            mujoco.mjd_transitionFD(
                self.model, self.data, DIFFERENCE, True, self.by_state, self.by_control, None, None
            )


class Loading(Case):
    """From the model file to the model."""

    def __init__(self, request):
        super().__init__(request)
        path = pathlib.Path(request["model"])
        self.text = path.read_text()
        self.files = {name: (path.parent / name).read_bytes() for name in re.findall(r'file="([^"]+)"', self.text)}
        self.loads = 0

    def measure(self):
        # MuJoCo keeps the meshes that it has processed, by name: new names make it work each time.
        self.loads += 1
        text = self.text.replace('file="', f'file="{self.loads}_')
        files = {f"{self.loads}_{name}": content for name, content in self.files.items()}
        begin = time.process_time()
        mujoco.MjModel.from_xml_string(text, files)
        return {"microseconds": (time.process_time() - begin) * 1e6, "contacts": 0}


CASES = {"linearize": Jacobians, "load": Loading}

if __name__ == "__main__":
    peer.serve(lambda request: CASES.get(request.get("measure"), Steps)(request))
