"""Times MuJoCo, one JSON line per request on standard input.

Requests are those of `peer.start`, with "disable": ["contact", ...] if some features are to be off. By default steps are
timed through mujoco.rollout; "measure": "linearize" times mjd_transitionFD with centred differences at every state of the
trajectory instead. The answer has the CPU time per step of one batch in microseconds and the number of contacts at its
end. The process stays alive between requests, so that both engines can be measured in turns.
"""

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


if __name__ == "__main__":
    peer.serve(lambda request: (Jacobians if request.get("measure") == "linearize" else Steps)(request))
