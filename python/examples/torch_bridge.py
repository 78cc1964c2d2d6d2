"""A simulation as a function of PyTorch, within a graph that ends in a loss.

Claim: Adam finds the size of a cube from how it has tumbled, through the contacts with the floor.
Run it in the folder of the repository: ``python python/examples/torch_bridge.py``; it needs ``pip install torch``.
"""

# ANCHOR: all
import torch

import carom
import carom.torch

model = carom.Model.load("models/cube.xml")
start = model.state("toss")
size = model.parameters("geom.cube.size log tied")
true = torch.tensor(size.theta)
recorded = carom.torch.rollout(model, start=start, parameters=size, theta=true, steps=150).qpos

theta = (true + 0.1).requires_grad_()  # 10 % too large
optimizer = torch.optim.Adam([theta], lr=0.01)
for _ in range(150):
    optimizer.zero_grad()
    run = carom.torch.rollout(model, start=start, parameters=size, theta=theta, steps=150)
    loss = (run.qpos - recorded).square().sum()
    loss.backward()
    optimizer.step()
print("size", theta.detach().exp(), "m, loss", loss.item())
assert (theta - true).abs().max() < 0.01
# ANCHOR_END: all
