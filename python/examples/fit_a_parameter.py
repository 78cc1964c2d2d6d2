"""A friction coefficient from a recorded motion, by the derivative of the simulation.

Claim: from 0.6 and noise-free positions of a sliding cube, a few steps of Gauss–Newton find 0.3 to 1e-6.
Run it in the folder of the repository: ``python python/examples/fit_a_parameter.py``.
"""

# ANCHOR: all
import numpy as np

import carom

STEPS = 150  # 0.3 s
truth = carom.Model.load("models/cube.xml")
start = truth.state("slide")
recorded = truth.rollout(start, steps=STEPS).qpos[-1, 0]  # where it was seen in the end

# One coefficient for floor and cube, always positive. A fit is over θ, here its logarithm.
friction = truth.parameters("geom.*.friction[0] log tied")
theta = np.log([0.6])
for iteration in range(8):
    model = friction.apply(theta)  # with all that follows from the numbers
    rollout = model.rollout(start, steps=STEPS)
    error = rollout.qpos[-1, 0] - recorded

    last = rollout.cotangents()
    last.qpos[-1, 0] = 1.0
    slope = rollout.backward(last).by(friction, theta)
    print(f"{iteration}: {np.exp(theta[0]):.9f}, error {error:+.1e} m")
    theta = theta - error / slope  # Gauss–Newton for one number
assert abs(np.exp(theta[0]) - 0.3) < 1e-6
# ANCHOR_END: all
