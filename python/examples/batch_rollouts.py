"""Many trajectories over threads, and their gradients.

Claim: results are the same to the last bit for one thread and for many.
Run it in the folder of the repository: ``python python/examples/batch_rollouts.py``.
"""

# ANCHOR: all
import numpy as np

import carom

model = carom.Model.load("models/humanoid.xml")
starts = model.state(batch=16)
starts.qvel[:, 0] = 0.1 * np.arange(16)
controls = np.full(model.nu, 0.1)

one = model.rollout(starts, controls, steps=100, threads=1)
many = model.rollout(starts, controls, steps=100)  # all cores, while other threads of Python go on
assert np.array_equal(one.qpos, many.qpos)

loss = many.cotangents()
loss.qpos[:, -1, 2] = 1.0  # how high each torso is in the end
gradient = many.backward(loss)
for speed, height, slope in zip(starts.qvel[:, 0], many.qpos[:, -1, 2], gradient.qvel[:, 0]):
    print(f"{speed:.1f} m/s: ends at {height:.3f} m, slope {slope:+.3f}")
assert np.array_equal(one.backward(loss).qvel, gradient.qvel)
# ANCHOR_END: all
