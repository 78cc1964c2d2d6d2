"""Times MJX's reverse-mode gradient of a trajectory on the CPU, one JSON line per request on standard input.

Requests are those of `peer.start`, with "iterations" and "line_search" to limit the constraint solver, and
"precision": 32 for single precision. The loss is the sum of the last positions; its gradient is taken by the start
velocity and by the controls of all steps. The answer has the CPU time per step in microseconds, and the CPU seconds that
compilation took.

MJX's solver loops while it has not converged, which reverse mode cannot follow; here it makes a fixed number of rounds
that do nothing from convergence on, by a function that MJX itself uses for its line search.
"""

import contextlib
import io
import os
import time

# One thread, as for the others.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# No alarms about slow compilation.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import jax.numpy as jnp
import mujoco

import peer

# It prints which other backends are not there; standard output is for answers.
with contextlib.redirect_stdout(io.StringIO()):
    from mujoco import mjx
    from mujoco.mjx._src import solver


def widen(tree):
    """MJX keeps numbers in single precision unless told; this makes them as wide as the mode in force allows."""

    def convert(leaf):
        is_real = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
        return leaf.astype(jnp.result_type(float)) if is_real else leaf

    return jax.tree.map(convert, tree)


class Substitute:
    """A module of which some names are replaced."""

    def __init__(self, module, **names):
        self.module = module
        self.__dict__.update(names)

    def __getattr__(self, name):
        return getattr(self.module, name)


def bound_solver_loop(iterations):
    """Gives the solver's outer loop a fixed length; must precede the compilation of a model."""

    def while_loop(condition, body, start):
        return solver._while_loop_scan(condition, body, start, iterations)

    solver.jax = Substitute(jax, lax=Substitute(jax.lax, while_loop=while_loop))


class Case:
    """A compiled gradient with its arguments."""

    def __init__(self, request):
        model, data, control = peer.start(mujoco, request)
        bound_solver_loop(int(model.opt.iterations))
        self.steps = request["steps"]
        self.is_double = request.get("precision", 64) == 64
        with jax.enable_x64(self.is_double):
            self.compile(model, data, control)
            self.run()

    def compile(self, model, data, control):
        constants = widen(mjx.put_model(model))
        start = widen(mjx.put_data(model, data))

        def loss(velocity, control, start):
            def advance(state, action):
                following = mjx.step(constants, state.replace(ctrl=action))
                return jax.tree.map(lambda new, old: new.astype(old.dtype), following, state), None

            end, _ = jax.lax.scan(advance, start.replace(qvel=velocity), control)
            return jnp.sum(end.qpos)

        self.arguments = (start.qvel, jnp.asarray(control), start)
        begin = time.process_time()
        gradient = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
        self.gradient = gradient.lower(*self.arguments).compile()
        self.compile_seconds = time.process_time() - begin

    def run(self):
        return jax.block_until_ready(self.gradient(*self.arguments))

    def measure(self):
        with jax.enable_x64(self.is_double):
            begin = time.process_time()
            self.run()
            seconds = time.process_time() - begin
        return {
            "microseconds": seconds / self.steps * 1e6,
            "contacts": 0,
            "compile_seconds": self.compile_seconds,
        }


if __name__ == "__main__":
    peer.serve(Case)
