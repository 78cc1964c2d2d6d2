"""A simulation as a function of PyTorch, within a graph that ends in a loss.

Claim: Adam finds the push with which a cube slides over the floor and comes to rest at a place, to a millimetre.
Run it in the folder of the repository: ``python python/examples/torch_bridge.py``; it needs ``pip install torch``.
"""

# ANCHOR: all
import torch

import carom
import carom.torch

model = carom.Model.load("models/cube.xml")
start = model.state("slide")
place = torch.tensor([0.1, 0.2], dtype=torch.float64)

push = torch.tensor([1.5, 0.0], dtype=torch.float64, requires_grad=True)  # m/s
optimizer = torch.optim.Adam([push], lr=0.05)
for _ in range(150):
    optimizer.zero_grad()
    qvel = torch.cat([push, torch.zeros(4, dtype=torch.float64)])
    run = carom.torch.rollout(model, qvel=qvel, start=start, steps=400)
    miss = run.qpos[-1, :2] - place
    miss.square().sum().backward()
    optimizer.step()
print("a push of", push.detach().numpy().round(3), "m/s misses by", miss.detach().norm().item(), "m")
assert miss.norm() < 1e-3
# ANCHOR_END: all
