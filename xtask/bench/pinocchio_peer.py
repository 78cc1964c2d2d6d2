"""Times Pinocchio's derivatives of forward dynamics, one JSON line per request on standard input.

A request is {"model": path of an MJCF file, "steps": calls}. The answer has the CPU time of one call of
computeABADerivatives in microseconds: the acceleration's derivatives by configuration, velocity and force. The loop of
calls is Python's, which adds about a third of a microsecond to each. There are no contacts in this.
"""

import time

import numpy as np
import pinocchio

import peer


class Case:
    """A model with a configuration that is no special one, a velocity and forces."""

    def __init__(self, request):
        built = pinocchio.buildModelFromMJCF(request["model"])
        self.model = built[0] if isinstance(built, tuple) else built
        self.data = self.model.createData()
        self.calls = request["steps"]
        random = np.random.default_rng(0)
        tangent, self.velocity, self.force = random.standard_normal((3, self.model.nv))
        self.configuration = pinocchio.integrate(self.model, pinocchio.neutral(self.model), 0.3 * tangent)

    def measure(self):
        derivatives = pinocchio.computeABADerivatives
        model, data = self.model, self.data
        configuration, velocity, force = self.configuration, self.velocity, self.force
        begin = time.process_time()
        for _ in range(self.calls):
            derivatives(model, data, configuration, velocity, force)
        return {"microseconds": (time.process_time() - begin) / self.calls * 1e6, "contacts": 0}


if __name__ == "__main__":
    peer.serve(Case)
