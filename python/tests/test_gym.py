"""Gymnasium environments: Gymnasium's own checks, and many environments beside single ones."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, differences

import carom

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")

import carom.gym
from carom.gym import Step, Task

READY = ["cartpole", "reacher", "hopper", "ant", "humanoid", "push-cube"]
CARTPOLE = str(ROOT / "models/cartpole.xml")


def balance(**settings: Any) -> Task:
    """A cart with a pole, in a few lines."""
    task = Task(
        CARTPOLE,
        observation=["qpos", "qvel"],
        reward=lambda step: 1.0 - np.abs(step["joint.slider.qpos"]),
        terminated=lambda step: np.abs(step["joint.hinge.qpos"]) > 0.2,
        reset_noise=0.05,
        frame_skip=2,
        max_episode_steps=50,
    )
    return task.with_(**settings)


def identifiers() -> list[str]:
    return [name for name in gymnasium.registry if name.startswith("carom/")]


def test_ready_ones_are_registered() -> None:
    assert sorted(identifiers()) == sorted(f"carom/{name}-v0" for name in ("Ant", "Cartpole", "Hopper", "Humanoid", "PushCube", "Reacher"))


@pytest.mark.parametrize("identifier", identifiers())
def test_gymnasium_has_nothing_to_say(identifier: str) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(identifier).unwrapped)
        # As made, with Gymnasium's own wrappers that look at each step.
        env = gymnasium.make(identifier)
        env.reset(seed=1)
        env.action_space.seed(1)
        for _ in range(100):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()


@pytest.mark.parametrize("name", READY)
@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_many_are_single_ones_to_the_bit(name: str, mode: str) -> None:
    from gymnasium.vector import SyncVectorEnv
    from gymnasium.vector.vector_env import AutoresetMode

    count, limit = 5, 13
    many = carom.gym.make(name, num_envs=count, threads=2, autoreset_mode=mode, max_episode_steps=limit)
    single = SyncVectorEnv([lambda: carom.gym.make(name, max_episode_steps=limit)] * count, autoreset_mode=AutoresetMode(mode))
    both: list[Any] = [many, single]
    one, other = (envs.reset(seed=7)[0] for envs in both)
    np.testing.assert_array_equal(one, other)
    random, ends = np.random.default_rng(0), 0
    for _ in range(40):
        actions = random.uniform(-1.2, 1.2, many.action_space.shape).astype(np.float32)
        one, other = (envs.step(actions) for envs in both)
        for mine, theirs in zip(one[:4], other[:4]):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
        assert_same(one[4], other[4])
        ended = one[2] | one[3]
        ends += int(ended.sum())
        if mode == "Disabled" and ended.any():
            again = [envs.reset(options={"reset_mask": ended.copy()})[0] for envs in both]
            np.testing.assert_array_equal(*again)
    assert ends >= 2 * count


def assert_same(one: Any, other: Any) -> None:
    """Of infos, with all that they hold."""
    if isinstance(one, dict):
        assert sorted(one) == sorted(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for mine, theirs in zip(one, other):
            assert_same(mine, theirs)
    else:
        np.testing.assert_array_equal(one, other)


def test_threads_do_not_change_a_bit() -> None:
    runs = []
    for threads in (1, 2, 5, None):
        envs = carom.gym.make("hopper", num_envs=9, threads=threads)
        envs.reset(seed=3)
        random = np.random.default_rng(1)
        seen: list[Any] = [envs.step(random.uniform(-1, 1, (9, 3))) for _ in range(120)]
        runs.append([np.concatenate([np.ravel(one[index]) for one in seen]) for index in range(4)])
    assert runs[0][2].any()
    for run in runs[1:]:
        for one, other in zip(run, runs[0]):
            np.testing.assert_array_equal(one, other)


def test_seeds_are_those_of_single_environments() -> None:
    many = carom.gym.VectorEnv(balance(), 4)
    observations, _ = many.reset(seed=10)
    for index in range(4):
        np.testing.assert_array_equal(carom.gym.Env(balance()).reset(seed=10 + index)[0], observations[index])
    again, _ = many.reset(seed=[13, None, None, 10])
    np.testing.assert_array_equal(again[[0, 3]], observations[[3, 0]])
    assert (again[1] != observations[1]).any()
    with pytest.raises(ValueError, match="2 seeds for 4 environments"):
        many.reset(seed=[1, 2])


def test_the_observation_before_a_reset_is_there() -> None:
    task = balance(max_episode_steps=3, terminated=None)
    envs, env = carom.gym.VectorEnv(task, 2, autoreset_mode="SameStep"), carom.gym.Env(task)
    envs.reset(seed=5)
    env.reset(seed=5)
    for _ in range(3):
        observations, _, terminated, truncated, infos = envs.step(np.full((2, 1), 0.5))
        last = env.step([0.5])[0]
    assert truncated.all() and not terminated.any()
    np.testing.assert_array_equal(infos["final_obs"][0], last)
    np.testing.assert_array_equal(infos["_final_obs"], [True, True])
    np.testing.assert_array_equal(observations[0], env.reset()[0])


def test_names_are_those_of_the_engine() -> None:
    names = [
        "qpos[2:]", "qvel[-1]", "time", "ctrl", "sensordata", "sensor.chest_rate", "joint.left_knee.qpos", "joint.root.qvel",
        "body.torso.pos", "body.left_foot.quat", "body.torso.mat", "body.left_shin.com", "body.torso.subtree_com",
        "geom.head.pos", "geom.head.mat", "site.left_hand.pos[1]", "site.left_hand.mat", "tendon.left_calf.length",
        "actuator.left_knee.force", "site.left_hand.pos - site.right_hand.pos", "cos(joint.left_knee.qpos)",
    ]  # fmt: skip
    model = carom.Model.load(ROOT / "models/humanoid.xml")
    task = Task(model, observation=names, reward=lambda step: np.zeros(len(step)), reset_noise=0.1, frame_skip=3)
    env = carom.gym.Env(task)
    env.reset(seed=1)
    observation, *_ = env.step(np.linspace(-1, 1, model.nu))
    state, ctrl = env.state, np.linspace(-1, 1, model.nu, dtype=np.float64)
    found = model.forward(state, ctrl)
    foot, shin, torso = (model.body(name).id for name in ("left_foot", "left_shin", "torso"))
    hand, other, head = model.site("left_hand").id, model.site("right_hand").id, model.geom("head").id
    knee = state.qpos[model.joint("left_knee").qpos]
    expected = [
        state.qpos[2:], state.qvel[-1:], [state.time], ctrl, found.sensordata, found.sensordata[model.sensor("chest_rate").data],
        knee, state.qvel[:6], found.xpos[torso], found.xquat[foot], found.xmat[torso], found.xipos[shin], found.subtree_com[torso],
        found.geom_xpos[head], found.geom_xmat[head], found.site_xpos[hand, 1:2], found.site_xmat[hand],
        found.ten_length[model.tendon("left_calf").id], found.actuator_force[model.actuator("left_knee").id],
        found.site_xpos[hand] - found.site_xpos[other], np.cos(knee),
    ]  # fmt: skip
    joined = np.concatenate([np.ravel(one) for one in expected])
    np.testing.assert_array_equal(observation, np.clip(joined, -1000, 1000))


def test_velocities_of_bodies_are_derivatives_of_positions() -> None:
    names = ["body.tip.pos", "body.tip.linvel", "body.tip.angvel", "body.tip.mat", "tendon.rope.length", "tendon.rope.velocity"]
    text = """<mujoco><option gravity="0 0 0"/><worldbody><site name="anchor" pos="1 1 1"/>
      <body pos="0 0 1"><freejoint name="root"/><geom size="0.1"/>
      <body name="tip" pos="0.3 0 0"><joint name="arm" axis="0 1 0" range="-3 3"/><geom size="0.05"/><site name="end"/></body></body></worldbody>
      <tendon><spatial name="rope"><site site="anchor"/><site site="end"/></spatial></tendon>
      <actuator><motor joint="arm" ctrlrange="-1 1"/></actuator></mujoco>"""
    model = carom.Model.from_string(text)
    env = carom.gym.Env(model, observation=names, reward=lambda step: np.zeros(len(step)), reset_noise=0.5)
    env.reset(seed=2)
    at, step = env.state, 1e-6
    seen = []
    for sign in (1, -1, 0):
        moved = at.copy()
        moved.qpos = model.integrate_pos(at.qpos, sign * step * at.qvel)
        env.state = moved
        seen.append(env._simulator.observe(env._current())[0])
    slope = (seen[0] - seen[1]) / (2 * step)
    position, velocity, spin, matrix, length, rate = np.split(seen[2], [3, 6, 9, 18, 19])
    np.testing.assert_allclose(velocity, slope[:3], atol=1e-8)
    np.testing.assert_allclose(rate, slope[18:19], atol=1e-8)
    turning = slope[9:18].reshape(3, 3) @ matrix.reshape(3, 3).T
    np.testing.assert_allclose(spin, [turning[2, 1], turning[0, 2], turning[1, 0]], atol=1e-8)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qposs", "names nothing that can be observed; there are qpos, qvel"),
        ("sensor.pole_angel", "no sensor 'pole_angel'; it has pole_angle"),
        ("body.kart.pos", "no body 'kart'; it has cart"),
        ("body.cart.position", "of a body there are pos, quat"),
        ("qpos[5]", "qpos has 2 numbers, there is none at 5"),
        ("qpos[7:]", "none of them is in the slice"),
        ("qpos[]", "is missing between the brackets"),
        ("exp(qpos)", "there is no function 'exp'; there are sin and cos"),
        ("site.tip.pos - qpos", "3 and 2 numbers have no difference"),
        ("", "names nothing that can be observed"),
    ],
)
def test_wrong_names_are_told(name: str, text: str) -> None:
    with pytest.raises((KeyError, ValueError, IndexError)) as caught:
        carom.gym.Env(balance(observation=["qpos", name]))
    assert text in str(caught.value)


def test_rewards_may_have_terms_and_need_what_is_read() -> None:
    def reward(step: Step) -> dict[str, Any]:
        return {"upright": step["site.tip.pos[2]"], "effort": -np.square(step.action).sum(axis=-1)}

    env = carom.gym.Env(balance(reward=reward, measure=["site.tip.pos[2]"]))
    env.reset(seed=0)
    _, total, _, _, info = env.step([0.5])
    assert total == info["reward_upright"] + info["reward_effort"]
    env = carom.gym.Env(balance(reward=reward))
    env.reset(seed=0)
    with pytest.raises(carom.UnknownNameError, match=r"'site.tip.pos\[2\]' is not read after the steps: .* measure="):
        env.step([0.5])


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"reward": lambda step: 1.0}, ValueError, r"the reward has the shape \(\), expected \(1,\)"),
        ({"reward": lambda step: step["qpos"]}, ValueError, r"the reward has the shape \(1, 2\)"),
        ({"reward": lambda step: np.log(-step["time"])}, ValueError, "the reward of environment 0 is nan"),
        ({"terminated": lambda step: step["qpos[0]"]}, TypeError, "not truth values; compare"),
    ],
)
def test_wrong_functions_are_told(settings: Any, error: type[Exception], text: str) -> None:
    env = carom.gym.Env(balance(**settings))
    env.reset(seed=0)
    with pytest.raises(error, match=text), np.errstate(invalid="ignore"):
        env.step([0.1])


def test_wrong_settings_are_told() -> None:
    attempts: list[tuple[str, Any]] = [
        ("needs reward too, such as reward=lambda", lambda: carom.gym.Env(CARTPOLE, observation=["qpos"])),
        ("no setting 'rewards'; did you mean 'reward'", lambda: carom.gym.Env(balance(), rewards=1)),
        ("lists of names", lambda: carom.gym.Env(balance(observation="qpos"))),
        ("observes something", lambda: carom.gym.Env(balance(observation=[]))),
        ("frame_skip is at least 1", lambda: carom.gym.Env(balance(frame_skip=0))),
        ("reward is a function", lambda: carom.gym.Env(balance(reward=3))),
        ("or the path of a model file, not int", lambda: carom.gym.Env(balance(model=3))),
        ("has no actuators", lambda: carom.gym.Env(balance(model="models/cube.xml", terminated=None))),
        ("there are cartpole, reacher", lambda: carom.gym.make("cartpoll")),
        ("no autoreset mode 'Never'; there are 'NextStep'", lambda: carom.gym.make("ant", num_envs=2, autoreset_mode="Never")),
        ("an environment at least", lambda: carom.gym.make("ant", num_envs=0)),
        ("no render mode 'human'", lambda: carom.gym.make("ant", render_mode="human")),
        ("starts with env.reset", lambda: carom.gym.make("ant").step(np.zeros(8))),
        ("start with envs.reset", lambda: carom.gym.make("ant", num_envs=1).step(np.zeros((1, 8)))),
    ]
    for text, attempt in attempts:
        with pytest.raises((TypeError, ValueError, gymnasium.error.ResetNeeded)) as caught:
            attempt()
        assert text in str(caught.value)


def test_actions_need_a_range() -> None:
    text = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1"/></body></worldbody>
      <actuator><motor name="wheel" joint="a"/></actuator></mujoco>"""
    with pytest.raises(ValueError, match="give ctrlrange to the actuators wheel"):
        carom.gym.Env(balance(model=carom.Model.from_string(text)))


def test_wrong_actions_are_told() -> None:
    env, envs = carom.gym.Env(balance()), carom.gym.VectorEnv(balance(), 3)
    env.reset(seed=0)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"the action has the shape \(2,\), expected \(1,\)"):
        env.step([0.1, 0.2])
    with pytest.raises(ValueError, match=r"actions have the shape \(1,\), expected \(3, 1\)"):
        envs.step([0.1])
    with pytest.raises(carom.NotFiniteError, match="action 0 of environment 1 is nan; has the policy diverged"):
        envs.step([[0.1], [np.nan], [0.2]])
    with pytest.raises(TypeError, match="actions must be real numbers"):
        env.step(["left"])


def test_actions_stand_for_the_range_of_controls() -> None:
    text = """<mujoco><worldbody><body><joint name="a" damping="1"/><geom size="0.1"/></body></worldbody>
      <actuator><motor name="wheel" joint="a" ctrlrange="1 3"/></actuator></mujoco>"""
    task = Task(carom.Model.from_string(text), observation=["ctrl"], reward=lambda step: step["ctrl[0]"])
    for action, control in ((-1.0, 1.0), (0.0, 2.0), (0.5, 2.5), (4.0, 3.0)):
        env = carom.gym.Env(task)
        env.reset(seed=0)
        assert env.step([action])[0] == [control]
    raw = carom.gym.Env(task, normalize_actions=False)
    space = raw.action_space
    assert isinstance(space, gymnasium.spaces.Box) and space.low == [1.0] and space.high == [3.0]
    raw.reset(seed=0)
    assert raw.step([2.5])[0] == [2.5]


def test_time_limits_truncate() -> None:
    env = carom.gym.Env(balance(terminated=None, max_episode_steps=4))
    env.reset(seed=0)
    assert [env.step([0.0])[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]
    # Gymnasium's own limit, which a user may change.
    longer = gymnasium.make("carom/Reacher-v0", max_episode_steps=170)
    longer.reset(seed=0)
    assert [longer.step(np.zeros(2))[3] for _ in range(170)].index(True) == 169
    many = gymnasium.make_vec("carom/Reacher-v0", num_envs=2)
    assert isinstance(many, carom.gym.VectorEnv) and many.task.max_episode_steps == 100


def test_simulations_that_diverge_end_their_episode() -> None:
    text = """<mujoco><worldbody><body><joint name="a" type="slide"/><geom size="0.01"/></body></worldbody>
      <actuator><general name="burst" joint="a" ctrlrange="-1 1" gainprm="1e308"/></actuator></mujoco>"""
    task = Task(carom.Model.from_string(text), observation=["qpos", "qvel"], reward=lambda step: step["qpos[0]"])
    envs = carom.gym.VectorEnv(task, 2, autoreset_mode="SameStep")
    envs.reset(seed=0)
    _, rewards, terminated, _, infos = envs.step([[0.0], [1.0]])
    np.testing.assert_array_equal(terminated, [False, True])
    np.testing.assert_array_equal(infos["final_obs"][1], [0.0, 0.0])
    assert np.isfinite(rewards).all() and isinstance(infos["final_info"]["diverged"][1], str)


def test_segments_are_what_the_environment_does() -> None:
    env = carom.gym.make("hopper")
    env.reset(seed=4)
    actions = np.random.default_rng(2).uniform(-0.5, 0.5, (12, 3))
    segment = env.segment(actions)
    for index, action in enumerate(actions):
        np.testing.assert_array_equal(segment.qpos[index], env.state.qpos)
        env.step(action)
    np.testing.assert_array_equal(segment.end.qvel, env.state.qvel)
    np.testing.assert_array_equal(segment.observations[-1], env._simulator.observe(env._current())[0])


@pytest.mark.parametrize("of", ["qpos", "observations"])
def test_gradients_of_segments(of: str) -> None:
    env = carom.gym.make("cartpole")
    env.reset(seed=4)
    actions = np.random.default_rng(2).uniform(-0.5, 0.5, (6, 1))
    actions[3] = 1.5  # beyond the range: without effect
    weights = np.random.default_rng(3).normal(size=getattr(env.segment(actions), of).shape)
    gradient = env.segment(actions).backward(**{of: weights})

    def loss(actions: Any) -> float:
        return float((weights * getattr(env.segment(actions), of)).sum())

    np.testing.assert_allclose(gradient.actions, differences(loss, actions), rtol=1e-6, atol=1e-9)
    assert gradient.actions[3] == 0.0
    with pytest.raises(ValueError, match=r"observations has the shape \(2,\), expected \(7, 4\)"):
        env.segment(actions).backward(observations=[1.0, 2.0])


def test_segments_of_many() -> None:
    envs = carom.gym.make("cartpole", num_envs=3)
    envs.reset(seed=4)
    actions = np.random.default_rng(2).uniform(-0.5, 0.5, (3, 6, 1))
    segment = envs.segment(actions)
    found = segment.backward(qvel=segment.qvel)
    for index in range(3):
        env = carom.gym.make("cartpole")
        env.reset(seed=4 + index)
        alone = env.segment(actions[index])
        gradient = alone.backward(qvel=alone.qvel)
        np.testing.assert_array_equal(found.actions[index], gradient.actions)
        np.testing.assert_array_equal(found.start.qvel[index], gradient.start.qvel)
    with pytest.raises(ValueError, match=r"shape \(6, 1\), expected \(3, steps, 1\)"):
        envs.segment(actions[0])
    with pytest.raises(ValueError, match="'sin.qpos.' is computed from the state .* segment.qpos"):
        others = carom.gym.VectorEnv(balance(observation=["sin(qpos)"]), 1)
        others.reset(seed=0)
        _ = others.segment(actions[:1]).observations


def test_wrappers_of_gymnasium_work() -> None:
    from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

    envs = RecordEpisodeStatistics(NormalizeObservation(carom.gym.make("cartpole", num_envs=4)))
    envs.reset(seed=0)
    lengths: list[float] = []
    for _ in range(300):
        *_, infos = envs.step(envs.action_space.sample())
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert len(lengths) > 4 and min(lengths) > 3


def test_models_of_ready_ones_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    for file in sorted((Path(carom.gym.__file__).parent / "models").glob("*.xml")):
        theirs, ours = mujoco.MjModel.from_xml_path(str(file)), carom.Model.load(file)
        data, state = mujoco.MjData(theirs), ours.state()
        controls = np.random.default_rng(0).uniform(-0.3, 0.3, theirs.nu)
        data.ctrl[:] = controls
        theirs.opt.tolerance, theirs.opt.iterations = 0, 300
        for _ in range(20):
            mujoco.mj_step(theirs, data)
        found = ours.with_options(tolerance=0.0, iterations=300).step(state, controls, steps=20)
        np.testing.assert_allclose(found.qpos, data.qpos, rtol=1e-8, atol=1e-8, err_msg=file.name)


def test_everything_public_is_documented() -> None:
    for name in carom.gym.__all__:
        thing = getattr(carom.gym, name)
        assert thing.__doc__, name
        public = [value for key, value in vars(thing).items() if isinstance(thing, type) and not key.startswith("_")]
        assert all(value.__doc__ for value in public if callable(value)), name


def test_gymnasium_is_optional() -> None:
    script = "import sys; sys.modules['gymnasium'] = None; import carom; import carom.gym"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "carom.gym needs Gymnasium 1.1 or later: pip install" in run.stderr.strip().splitlines()[-1]


@pytest.mark.torch
def test_stable_baselines_learns_to_balance() -> None:
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    import time

    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.evaluation import evaluate_policy

    import carom.gym.sb3

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(carom.gym.make("cartpole"))
    begin = time.process_time()
    learner = PPO("MlpPolicy", carom.gym.sb3.VecEnv("cartpole", num_envs=8), n_steps=128, batch_size=256, seed=0, device="cpu")
    judge = gymnasium.make("carom/Cartpole-v0")
    judge.reset(seed=100)
    before, _ = evaluate_policy(learner, judge, n_eval_episodes=10, warn=False)
    learner.learn(30_000)
    judge.reset(seed=100)
    after, _ = evaluate_policy(learner, judge, n_eval_episodes=10, warn=False)
    seconds = time.process_time() - begin
    print(f"return {before:.0f} before, {after:.0f} after training of {seconds:.0f} s")
    assert after > before + 100
    assert seconds < 60


@pytest.mark.torch
def test_environments_of_stable_baselines_are_ours() -> None:
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    import carom.gym.sb3

    many = carom.gym.sb3.VecEnv("reacher", num_envs=3, max_episode_steps=5)
    many.seed(4)
    envs = carom.gym.make("reacher", num_envs=3, max_episode_steps=5, autoreset_mode="SameStep")
    np.testing.assert_array_equal(many.reset(), envs.reset(seed=4)[0])
    random = np.random.default_rng(0)
    for step in range(12):
        actions = random.uniform(-1, 1, (3, 2))
        observations, rewards, ended, infos = many.step(actions)
        others = envs.step(actions)
        np.testing.assert_array_equal(observations, others[0])
        np.testing.assert_array_equal(rewards, others[1])
        assert ended.all() == (step % 5 == 4)
        if ended[0]:
            assert infos[0]["TimeLimit.truncated"] and "reward_effort" in infos[0]
            np.testing.assert_array_equal(infos[1]["terminal_observation"], others[4]["final_obs"][1])
    with pytest.raises(AttributeError, match="simulated together"):
        many.set_attr("task", None)
