"""A motion followed to a tolerance, and the derivative of the motion itself.

Claim: the derivative of a bounce under MuJoCo's default contact agrees with a difference quotient of the motion in
continuous time, and is off by several times itself through steps of 1 ms.
Run it in the folder of the repository: ``python python/examples/continuous_time.py``.
"""

# ANCHOR: all
import carom
import carom.flow

BALL = """<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
model = carom.Model.from_string(BALL)
start = model.state()
start.qvel[:] = [1.0, 0.0, -2.0, 0.0, 0.0, 0.0]
settings = carom.flow.Settings(tolerance=1e-9)

motion = carom.flow.follow(model, start, seconds=1.0, settings=settings)
for onset in motion.onsets:
    print(f"{onset.time:.4f} s: {onset.what} {'begins' if onset.begins else 'ends'}")
loss = motion.cotangents()
loss.qpos[-1, 0] = 1.0  # how far sideways it gets
by_speed = motion.backward(loss).qvel[2]
# ANCHOR_END: all


def sideways(change: float) -> float:
    """How far it gets when it falls faster."""
    moved = start.copy()
    moved.qvel[2] += change
    return float(carom.flow.follow(model, moved, seconds=1.0, settings=settings).qpos[-1, 0])


quotient = (sideways(1e-3) - sideways(-1e-3)) / 2e-3
rollout = model.rollout(start, steps=1000)
bars = rollout.cotangents()
bars.qpos[-1, 0] = 1.0
of_steps = rollout.backward(bars).qvel[2]
print(f"continuous time {by_speed:.5f}, difference quotient {quotient:.5f}, steps of 1 ms {of_steps:.5f}")
assert abs(by_speed - quotient) < 0.01 * abs(quotient)
assert abs(of_steps - quotient) > abs(quotient)
