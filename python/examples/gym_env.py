"""An environment of Gymnasium from a model file, and many of them that are simulated together.

Claim: a hand-made policy keeps the pole upright in all of 16 environments; a random one lets it fall.
Run it in the folder of the repository: ``python python/examples/gym_env.py``; it needs ``pip install gymnasium``.
"""

# ANCHOR: all
import numpy as np

import carom.gym


def upright(step: carom.gym.Step) -> dict[str, np.ndarray]:
    """The reward of each of a batch, here in two parts that are added."""
    return {"upright": np.cos(step["joint.hinge.qpos"]), "effort": -0.01 * np.square(step.action[:, 0])}


task = carom.gym.Task(
    "models/cartpole.xml",
    observation=["qpos", "qvel", "site.tip.pos[2]"],
    reward=upright,
    terminated=lambda step: np.abs(step["joint.hinge.qpos"]) > 0.3,
    reset_noise=0.05,
    frame_skip=2,
    max_episode_steps=200,
)
env = carom.gym.Env(task)  # a gymnasium.Env
print(env.observation_space, env.action_space, env.reset(seed=0)[0])

envs = carom.gym.VectorEnv(task, num_envs=16)  # a gymnasium.vector.VectorEnv: one call for a step of all
random = np.random.default_rng(0)
lengths = []
for gain in (np.array([1.0, 15.0, 2.0, 3.0, 0.0]), np.zeros(5)):
    observations, _ = envs.reset(seed=1)
    alive, steps = np.ones(16, bool), np.zeros(16)
    for _step in range(200):
        actions = (observations @ gain)[:, None] + (0.0 if gain.any() else random.uniform(-1, 1, (16, 1)))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        steps += alive
        alive &= ~terminated
    lengths.append(steps.mean())
print("mean length of episodes: %.0f with feedback, %.0f at random" % tuple(lengths))
assert lengths[0] == 200 and lengths[1] < 100
# ANCHOR_END: all
