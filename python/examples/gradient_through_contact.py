"""The derivative of a toss by its start and by numbers of the model, in one backward pass.

Claim: it is the derivative of the steps, through bouncing and sliding: central differences agree to 1e-5.
Run it in the folder of the repository: ``python python/examples/gradient_through_contact.py``.
"""

# ANCHOR: all
import carom

STEPS = 250  # half a second
model = carom.Model.load("models/cube.xml")
start = model.state("toss")

rollout = model.rollout(start, steps=STEPS)
loss = rollout.cotangents()
loss.qpos[-1, 0] = 1.0  # ∂loss/∂qpos: the loss is how far it gets
gradient = rollout.backward(loss)

friction = model.parameters("geom.*.friction[0] tied")
by_friction = gradient.by(friction)[0]
print("by start velocity:", gradient.qvel.round(4))
print("by friction:", by_friction.round(4))
# ANCHOR_END: all


def distance(model: carom.Model, start: carom.State) -> float:
    """How far the cube gets."""
    return float(model.rollout(start, steps=STEPS).qpos[-1, 0])


h = 1e-6
faster, slower = start.copy(), start.copy()
faster.qvel[0] += h
slower.qvel[0] -= h
by_speed = (distance(model, faster) - distance(model, slower)) / (2 * h)
assert abs(gradient.qvel[0] - by_speed) < 1e-5

rough, smooth = (friction.apply(friction.theta + change) for change in (h, -h))
difference = (distance(rough, start) - distance(smooth, start)) / (2 * h)
assert abs(by_friction - difference) < 1e-5
