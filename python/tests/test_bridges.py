"""PyTorch and JAX beside the core. They are tested where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Array, thrown

import carom

STEPS = 60
RNG = np.random.default_rng(5)
CONTROLS = RNG.normal(size=(STEPS, 2)) * 0.1
BARS = [RNG.normal(size=shape) for shape in ((STEPS + 1, 8), (STEPS + 1, 7), (STEPS + 1, 1), (STEPS, 4))]


def core(model: carom.Model, state: carom.State, controls: Array, theta: Array) -> tuple[carom.Rollout, dict[str, Array]]:
    """The rollout and its gradient, by the core."""
    parameters = model.parameters("geom.cube.size log", "joint.arm.damping")
    run = parameters.apply(theta).rollout(state, controls)
    gradient = run.backward(carom.Cotangents(*BARS))
    names = ("qpos", "qvel", "act", "controls")
    return run, {**{name: getattr(gradient, name) for name in names}, "theta": gradient.by(parameters, theta)}


def inputs(model: carom.Model) -> dict[str, Array]:
    state = thrown(model)
    parameters = model.parameters("geom.cube.size log", "joint.arm.damping")
    arrays = {"qpos": state.qpos, "qvel": state.qvel, "act": state.act, "controls": CONTROLS, "theta": parameters.theta}
    return {name: array.copy() for name, array in arrays.items()}


class Torch:
    """The bridge to PyTorch, as a function of numpy arrays."""

    def __init__(self) -> None:
        self.torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def run(self, model: carom.Model, given: dict[str, Array], bars: list[Array], **options: Any) -> Any:
        import carom.torch

        tensors = {name: self.torch.tensor(array, requires_grad=True) for name, array in given.items()}
        found = carom.torch.rollout(model, **tensors, **options)
        loss = sum((one * self.torch.tensor(bar)).sum() for one, bar in zip(found, bars))
        loss.backward()
        return [one.detach().numpy() for one in found], {name: one.grad.numpy() for name, one in tensors.items()}


class Jax:
    """The bridge to JAX, as a function of numpy arrays."""

    def __init__(self) -> None:
        self.jax = pytest.importorskip("jax", reason="JAX is not installed")
        self.jax.config.update("jax_enable_x64", True)

    def run(self, model: carom.Model, given: dict[str, Array], bars: list[Array], **options: Any) -> Any:
        import carom.jax

        def loss(arrays: Any) -> Any:
            found = carom.jax.rollout(model, **arrays, **options)
            return sum((one * bar).sum() for one, bar in zip(found, bars)), found

        gradient = self.jax.jit(self.jax.grad(loss, has_aux=True))
        derivatives, found = gradient(given)
        return [np.asarray(one) for one in found], {name: np.asarray(one) for name, one in derivatives.items()}


TORCH = pytest.param(Torch, marks=pytest.mark.torch)


@pytest.fixture(params=[TORCH, Jax], ids=["torch", "jax"])
def bridge(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_bridges_are_the_core(toss: carom.Model, bridge: Any) -> None:
    given = inputs(toss)
    run, expected = core(toss, thrown(toss), CONTROLS, given["theta"])
    parameters = toss.parameters("geom.cube.size log", "joint.arm.damping")
    outputs, gradient = bridge.run(toss, given, BARS, parameters=parameters)
    for found, own in zip(outputs, (run.qpos, run.qvel, run.act, run.sensordata)):
        np.testing.assert_array_equal(found, own)
    for name, own in expected.items():
        np.testing.assert_allclose(gradient[name], own, rtol=1e-12, atol=1e-12, err_msg=name)


def test_what_is_shared_by_a_batch_gets_the_sum(toss: carom.Model, bridge: Any) -> None:
    given = inputs(toss)
    parameters = toss.parameters("geom.cube.size log", "joint.arm.damping")
    single = {name: array.copy() for name, array in given.items()}
    given["qvel"] = thrown(toss, 3).qvel.copy()
    given["controls"] = given["controls"][None]
    _, gradient = bridge.run(toss, given, [np.stack([bar] * 3) for bar in BARS], parameters=parameters)
    totals = {name: np.zeros_like(array) for name, array in single.items()}
    for index in range(3):
        single["qvel"] = given["qvel"][index]
        _, alone = bridge.run(toss, single, BARS, parameters=parameters)
        np.testing.assert_allclose(gradient["qvel"][index], alone["qvel"], rtol=1e-12, atol=1e-12)
        for name in ("qpos", "act", "controls", "theta"):
            totals[name] += alone[name]
    for name in ("qpos", "act", "theta"):
        np.testing.assert_allclose(gradient[name], totals[name], rtol=1e-11, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(gradient["controls"][0], totals["controls"], rtol=1e-11, atol=1e-11)


def test_each_of_a_batch_may_have_its_own_parameters(toss: carom.Model, bridge: Any) -> None:
    given = inputs(toss)
    parameters = toss.parameters("geom.cube.size log", "joint.arm.damping")
    single = {name: array.copy() for name, array in given.items()}
    given["theta"] = given["theta"] + 0.01 * np.arange(3)[:, None]
    outputs, gradient = bridge.run(toss, given, [np.stack([bar] * 3) for bar in BARS], parameters=parameters)
    for index in range(3):
        single["theta"] = given["theta"][index]
        alone, derivatives = bridge.run(toss, single, BARS, parameters=parameters)
        np.testing.assert_array_equal(outputs[0][index], alone[0])
        np.testing.assert_allclose(gradient["theta"][index], derivatives["theta"], rtol=1e-12, atol=1e-12)


def test_constant_controls_and_defaults(toss: carom.Model, bridge: Any) -> None:
    outputs, gradient = bridge.run(toss, {"controls": np.array([0.1, -0.2])}, BARS, steps=STEPS, start=thrown(toss))
    run = toss.rollout(thrown(toss), [0.1, -0.2], steps=STEPS)
    np.testing.assert_array_equal(outputs[0], run.qpos)
    expected = run.backward(carom.Cotangents(*BARS)).controls.sum(axis=0)
    np.testing.assert_allclose(gradient["controls"], expected, rtol=1e-12)


def test_wrong_shapes_are_told(toss: carom.Model, bridge: Any) -> None:
    attempts: list[tuple[str, Callable[[], Any]]] = [
        (r"qpos has the shape \(3,\)", lambda: bridge.run(toss, {"qpos": np.zeros(3)}, BARS, steps=2)),
        ("say how many steps", lambda: bridge.run(toss, {"qvel": np.zeros(7)}, BARS)),
        ("go together", lambda: bridge.run(toss, {"theta": np.zeros(3)}, BARS, steps=2)),
    ]
    for text, attempt in attempts:
        with pytest.raises(ValueError, match=text):
            attempt()


@pytest.mark.torch
def test_gradcheck_of_torch(toss: carom.Model) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import carom.torch

    model = toss.with_options(tolerance=0.0, iterations=200)
    state = thrown(model)
    arrays = [state.qpos, state.qvel, CONTROLS[:5]]
    tensors = [torch.tensor(array.copy(), requires_grad=True) for array in arrays]

    def ends(*tensors: Any) -> Any:
        found = carom.torch.rollout(model, *tensors)
        return found.qpos[-1], found.qvel[-1]

    assert torch.autograd.gradcheck(ends, tensors, eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.torch
def test_float32_tensors_stay_float32(toss: carom.Model) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import carom.torch

    controls = torch.zeros(5, 2, requires_grad=True)
    found = carom.torch.rollout(toss, controls=controls)
    found.qpos.sum().backward()
    assert found.qpos.dtype == torch.float32
    assert controls.grad is not None and controls.grad.dtype == torch.float32


def test_vmap_of_jax(toss: carom.Model) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    import carom.jax

    parameters = toss.parameters("geom.cube.size log", "joint.arm.damping")
    state = thrown(toss)
    qvel = thrown(toss, 3).qvel.copy()

    def loss(velocity: Any, controls: Any, theta: Any) -> Any:
        found = carom.jax.rollout(toss, state.qpos, velocity, controls, parameters=parameters, theta=theta)
        return sum((one * bar).sum() for one, bar in zip(found, BARS))

    gradient = jax.grad(loss, argnums=(0, 1, 2))
    many = jax.jit(jax.vmap(gradient, in_axes=(0, None, None)))(qvel, CONTROLS, parameters.theta)
    for index in range(3):
        alone = gradient(qvel[index], CONTROLS, parameters.theta)
        for one, other in zip(many, alone):
            np.testing.assert_allclose(one[index], other, rtol=1e-12, atol=1e-12)
    # A batch within a batch.
    both = jax.vmap(lambda controls: carom.jax.rollout(toss, qvel=qvel, controls=controls).qpos)(np.stack([CONTROLS, -CONTROLS]))
    assert both.shape == (2, 3, STEPS + 1, 8)
    expected = toss.rollout(_with_velocity(toss, qvel[1]), -CONTROLS).qpos
    np.testing.assert_array_equal(both[1, 1], expected)


def _with_velocity(model: carom.Model, qvel: Array) -> carom.State:
    state = model.state()
    state.qvel = qvel
    return state


def _at(model: carom.Model, qpos: Array) -> carom.State:
    state = model.state()
    state.qpos = qpos
    return state


class Core:
    """The core itself, as the bridges are."""

    def run(self, model: carom.Model, given: dict[str, Array], bars: list[Array], **options: Any) -> Any:
        start: carom.State = options.pop("start")
        states = start.repeat(len(given["qvel"]))
        states.qvel = given["qvel"]
        parameters = options.pop("parameters")
        run = parameters.apply(given["theta"]).rollout(states, **options)
        gradient = run.backward(qpos=bars[0])
        return [run.qpos], {"qvel": gradient.qvel, "theta": gradient.by(parameters, given["theta"])}


@pytest.mark.parametrize("kind", [Core, TORCH, Jax], ids=["core", "torch", "jax"])
def test_a_thousand_tosses_have_the_same_bits_for_any_threads(
    load: Callable[[str], carom.Model], kind: Callable[[], Any]
) -> None:
    model = load("cube")
    start = model.state("slide")
    size = model.parameters("geom.cube.size log", "geom.*.friction[0]")
    rng = np.random.default_rng(8)
    given = {"qvel": start.qvel + rng.normal(size=(1000, 6)), "theta": size.theta}
    bars = [rng.normal(size=(1000, 31, 7))]
    found = [kind().run(model, given, bars, parameters=size, start=start, steps=30, threads=threads) for threads in (1, 2)]
    (one_run, one), (other_run, other) = found
    np.testing.assert_array_equal(one_run[0], other_run[0])
    assert np.count_nonzero(one["qvel"]) == 6000
    for name in ("qvel", "theta"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    touching = [len(model.forward(_at(model, row)).contact) for row in one_run[0][:100, -1]]
    assert np.mean([count > 0 for count in touching]) > 0.2
