"""Times MJX's acceleration under diffrax's adaptive Tsit5 and its reverse-mode gradient, one JSON line per request.

Requests are those of `peer.start` for a model of one free body, with "tolerance" and "seconds"; asked for is the
position "loss" at the end by the velocity "by" at the start. The answer has the CPU time of value and gradient in
microseconds, the derivative, and the CPU seconds that compilation took.
"""

import time

# First: it sets the environment of jax, and knows how to make MJX's solver differentiable.
import mjx_peer

import diffrax
import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

import peer


def turn_rate(quaternion, turning):
    """The rate of a quaternion under an angular velocity in the frame of the body."""
    w, axis = quaternion[0], quaternion[1:]
    rate = w * turning + jnp.cross(axis, turning)
    return 0.5 * jnp.concatenate([-jnp.dot(axis, turning)[None], rate])


class Case:
    """A compiled gradient with its arguments."""

    def __init__(self, request):
        model, data, _ = peer.start(mujoco, request | {"steps": 1})
        mjx_peer.bound_solver_loop(int(model.opt.iterations))
        with jax.enable_x64(True):
            self.compile(request, model, data)
            self.run()

    def compile(self, request, model, data):
        constants = mjx_peer.widen(mjx.put_model(model))
        start = mjx_peer.widen(mjx.put_data(model, data))
        controller = diffrax.PIDController(rtol=request["tolerance"], atol=request["tolerance"])

        def rates(_, y, constants):
            position, quaternion, velocity = y[:3], y[3:7], y[7:]
            qpos = jnp.concatenate([position, quaternion / jnp.linalg.norm(quaternion)])
            moved = mjx.forward(constants, start.replace(qpos=qpos, qvel=velocity))
            return jnp.concatenate([velocity[:3], turn_rate(quaternion, velocity[3:]), moved.qacc])

        def loss(velocity):
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(rates),
                diffrax.Tsit5(),
                0.0,
                request["seconds"],
                1e-4,
                jnp.concatenate([start.qpos, velocity]),
                constants,
                stepsize_controller=controller,
                max_steps=10_000,
            )
            return solution.ys[-1][request["loss"]]

        self.by = request["by"]
        self.velocity = jnp.asarray(data.qvel)
        begin = time.process_time()
        self.gradient = jax.jit(jax.value_and_grad(loss)).lower(self.velocity).compile()
        self.compile_seconds = time.process_time() - begin

    def run(self):
        return jax.block_until_ready(self.gradient(self.velocity))

    def measure(self):
        with jax.enable_x64(True):
            begin = time.process_time()
            _, gradient = self.run()
            seconds = time.process_time() - begin
        return {
            "microseconds": seconds * 1e6,
            "contacts": 0,
            "derivative": float(gradient[self.by]),
            "compile_seconds": self.compile_seconds,
        }


if __name__ == "__main__":
    peer.serve(Case)
