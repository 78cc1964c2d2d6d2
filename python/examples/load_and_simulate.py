"""Load a model file, simulate it step by step, read states, results and sensors by name.

Claim: a tossed cube comes to rest on the floor, and the contacts then carry its weight.
Run it in the folder of the repository: ``python python/examples/load_and_simulate.py``.
"""

# ANCHOR: all
import carom

model = carom.Model.load("models/cube.xml")
cube = model.body("cube").id

state = model.state("toss")  # a keyframe
while state.time < 2.0:
    state = model.step(state)

found = model.forward(state)  # everything about a state
height = found.xpos[cube, 2]
push = found.qfrc_constraint[2]
weight = model.body_mass[cube] * 9.81
print(f"after {state.time:.3f} s the cube is at {height:.4f} m")
print(f"the floor pushes with {push:.4f} N, it weighs {weight:.4f} N")
print("gyro:", found.sensordata[model.sensor("rate").data].round(3))
assert abs(height - 0.05) < 1e-3
assert abs(push - weight) < 1e-3
# ANCHOR_END: all
