"""A simulation as a function of JAX, under ``jit``, ``grad`` and ``vmap``.

Claim: gradient descent on the controls of a cart moves its pole's tip to a place, and vmap is a loop over starts.
Run it in the folder of the repository: ``python python/examples/jax_bridge.py``; it needs ``pip install jax``.
"""

# ANCHOR: all
import jax
import jax.numpy as jnp
import numpy as np

import carom
import carom.jax

jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call, unused-ignore]
model = carom.Model.load("models/cartpole.xml")
start = model.state("hanging")


def loss(controls: jax.Array, qvel: jax.Array) -> jax.Array:
    """How far the cart is from 0.5 m after a second, and what it costs to get there."""
    run = carom.jax.rollout(model, qpos=start.qpos, qvel=qvel, controls=controls)
    return jnp.square(run.qpos[-1, 0] - 0.5) + 1e-5 * jnp.square(controls).sum()


gradient = jax.jit(jax.value_and_grad(loss))
controls, at_rest = jnp.zeros((100, 1)), jnp.zeros(2)
for _ in range(20):
    value, slope = gradient(controls, at_rest)
    controls = controls - 2.0 * slope
print("the loss is", value)
assert value < 1e-3

velocities = jnp.array([[0.0, 0.0], [0.1, 0.0], [0.0, 1.0]])
losses = jax.vmap(loss, in_axes=(None, 0))(controls, velocities)  # one batch over threads
assert np.allclose(losses, [loss(controls, velocity) for velocity in velocities], rtol=1e-12)
# ANCHOR_END: all
