"""The linearisation of a step, and a regulator (LQR) from it.

Claim: the feedback K·x balances the pole of a cart from a tilt of 0.2 rad.
Run it in the folder of the repository: ``python python/examples/linearize_lqr.py``.
"""

# ANCHOR: all
import numpy as np

import carom

model = carom.Model.load("models/cartpole.xml")
state = model.state("upright")
A, B = model.linearize(state)  # x⁺ ≈ A·x + B·u, x = (cart, pole, and their velocities)

# The regulator for the costs xᵀ·x + uᵀ·u, by iterating Riccati's equation.
P = np.eye(4)
for _ in range(2000):
    K = np.linalg.solve(np.eye(1) + B.T @ P @ B, B.T @ P @ A)
    P = np.eye(4) + A.T @ P @ (A - B @ K)
print("K =", K.round(3))

state.qpos[1] = 0.2
for _ in range(1000):
    x = np.concatenate([state.qpos, state.qvel])
    state = model.step(state, -K @ x)
print("after 10 s:", state.qpos)
assert np.abs(state.qpos).max() < 1e-3
# ANCHOR_END: all
