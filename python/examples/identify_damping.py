"""The damping of a pendulum from noisy arrays, with an interval, and the calibrated model.

Claim: from two noisy swings the damping is found such that its interval holds the true one, and a third swing is predicted better.
Run it in the folder of the repository: ``python python/examples/identify_damping.py``.
"""

# ANCHOR: all
import numpy as np

import carom

model = carom.Model.load("models/pendulum.xml")
random = np.random.default_rng(1)
NOISE = {"qpos": 2e-3, "qvel": 2e-2}  # rad, rad/s


def record(speed: float) -> dict[str, np.ndarray]:
    """What an encoder sees of a pendulum that has three times the damping of the model."""
    real = model.parameters("joint.pivot.damping[0]").apply([0.03])
    start = real.state("horizontal")
    start.qvel[:] = speed
    swing = real.rollout(start, steps=400)
    arrays = {"time": swing.time[::4], "qpos": swing.qpos[::4], "qvel": swing.qvel[::4]}
    return arrays | {name: arrays[name] + random.normal(0, noise, arrays[name].shape) for name, noise in NOISE.items()}


found = carom.identify(
    model,
    [record(speed=0.0), record(speed=2.0)],
    free=["joint.pivot.damping[0] log"],
    noise=NOISE,
    held_out=record(speed=-1.0),
)
print(found.text)
low, high = found.intervals["joint.pivot.damping[0]"]
assert found.success and low < 0.03 < high
assert found.held_out is not None and found.held_out.after["angle"] < found.held_out.before["angle"]
calibrated = found.model  # found.save("calibrated.xml") and found.report("r.html") write it down
assert abs(calibrated.dof_damping[0] - 0.03) < 0.002
# ANCHOR_END: all
