"""iLQR of carom beside DDP of Crocoddyl: the same motion, cost, steps and initial guess; cost, iterations and time of both.

    python xtask/bench/ilqr_peer.py --carom target/release/carom

needs `pip install crocoddyl`. Both systems are made from one MJCF file without damping and limits, and both take
semi-implicit Euler steps. A cart-pole has its controls in a box (BoxFDDP), the pole's joint no motor; an arm of six
joints reaches a posture (FDDP). The cost of carom is J = 1/N sum w |r(x_i, u_i-1)|^2 over i = 1..N plus w_N |r(x_N)|^2;
weights of Crocoddyl are chosen so that its cost differs from that by a constant, and what is printed for both is J of
the controls that they found, followed here step by step with Pinocchio.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

# Both use one thread. It is read when the library is loaded.
os.environ["OMP_NUM_THREADS"] = "1"

import crocoddyl
import numpy as np
import pinocchio

CARTPOLE = """<mujoco><option timestep="0.02"/><worldbody><body name="cart">
  <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/><joint name="q0" type="slide" axis="1 0 0"/>
  <body name="pole"><inertial pos="0 0 0.5" mass="0.2" diaginertia="0.005 0.005 0.0005"/>
  <joint name="q1" type="hinge" axis="0 1 0"/></body></body></worldbody>
  <actuator><motor name="u0" joint="q0" ctrllimited="true" ctrlrange="-15 15"/></actuator>
  <keyframe><key name="start" qpos="0 3.141592653589793"/></keyframe></mujoco>"""
# Axes and lengths of the arm's links, masses by rule.
AXES = ["0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0"]


def arm():
    bodies, ends = "", ""
    for index, axis in enumerate(AXES):
        mass = 3.0 / (1 + index)
        place = "" if index == 0 else ' pos="0 0 0.25"'
        inertia = 0.02 * mass
        bodies += f'<body name="link{index}"{place}><inertial pos="0.01 0.02 0.12" mass="{mass}" '
        bodies += f'diaginertia="{inertia} {1.2 * inertia} {0.5 * inertia}"/><joint name="q{index}" type="hinge" axis="{axis}" armature="0.1"/>'
        ends += "</body>"
    motors = "".join(f'<motor name="u{index}" joint="q{index}" ctrllimited="true" ctrlrange="-1000 1000"/>' for index in range(6))
    return (
        f'<mujoco><option timestep="0.01"/><worldbody>{bodies}{ends}</worldbody><actuator>{motors}</actuator>'
        '<keyframe><key name="start" qpos="0 0.3 -0.5 0 0.2 0"/></keyframe></mujoco>'
    )


class Problem:
    """What is to be made small: weights of positions, velocities, controls, and of the end."""

    def __init__(self, name, text, **numbers):
        self.name, self.text = name, text
        self.__dict__.update(numbers)

    def guess(self, model):
        """The controls that both begin with: what holds the arm up, nothing for the cart."""
        if self.controls < model.nv:
            return np.zeros(model.nv)
        still = np.zeros(model.nv)
        return pinocchio.rnea(model, model.createData(), np.array(self.start), still, still)

    def scene(self, model):
        """The file, with these controls in its keyframe."""
        held = " ".join(repr(float(number)) for number in self.guess(model)[: self.controls])
        return self.text.replace("/></keyframe>", f' ctrl="{held}"/></keyframe>')

    def task(self, iterations):
        lines = [f'model = "{self.name}.xml"', 'start = "start"', f"horizon = {self.steps}"]
        lines += [f"execute = {self.steps}", 'method = "ilqr"']

        def cost(quantity, weight, at="every"):
            lines.append(f'[[cost]]\nquantity = "{quantity}"\nkind = "square"\nweight = {weight!r}\nat = "{at}"')

        for joint, target in enumerate(self.target):
            cost(f"joint.q{joint}.qpos - {target!r}" if target else f"joint.q{joint}.qpos", self.place)
            cost(f"joint.q{joint}.qvel", self.speed)
            cost(f"joint.q{joint}.qpos - {target!r}" if target else f"joint.q{joint}.qpos", self.end, "terminal")
            cost(f"joint.q{joint}.qvel", self.end, "terminal")
        for control in range(self.controls):
            cost(f"ctrl.u{control}", self.effort)
        lines.append(f"[ilqr]\niterations = {iterations}\ntolerance = 1e-9")
        return "\n".join(lines).replace("- -", "+ ")


PROBLEMS = [
    Problem("cartpole", CARTPOLE, steps=150, dt=0.02, target=[0.0, 0.0], start=[0.0, np.pi], controls=1, limit=15.0,
            place=1.0, speed=0.01, effort=0.001, end=10.0, solvers=["SolverBoxFDDP", "SolverBoxDDP"]),
    Problem("arm", arm(), steps=100, dt=0.01, target=[0.8, -0.4, 0.9, 0.3, -0.6, 0.5],
            start=[0.0, 0.3, -0.5, 0.0, 0.2, 0.0], controls=6, limit=None, place=1.0, speed=0.01, effort=1e-5, end=10.0, solvers=["SolverFDDP", "SolverDDP"]),
]


def followed(problem, model, controls):
    """J of controls, and the last state."""
    data = model.createData()
    q, v, sum_ = np.array(problem.start), np.zeros(model.nv), 0.0
    target, force = np.array(problem.target), np.zeros(model.nv)
    for control in controls:
        force[: problem.controls] = control
        v = v + problem.dt * pinocchio.aba(model, data, q, v, force)
        q = q + problem.dt * v
        stage = problem.place * np.sum((q - target) ** 2) + problem.speed * np.sum(v**2)
        sum_ += (stage + problem.effort * np.sum(control**2)) / problem.steps
    return sum_ + problem.end * (np.sum((q - target) ** 2) + np.sum(v**2)), q


def peer(problem, model, iterations, repeats):
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    nu, nv = model.nv, model.nv
    target = np.concatenate([problem.target, np.zeros(nv)])

    def running(stage, effort, step):
        costs = crocoddyl.CostModelSum(state, nu)
        weights = np.array([stage[0]] * nv + [stage[1]] * nv)
        activation = crocoddyl.ActivationModelWeightedQuad(weights)
        costs.addCost("x", crocoddyl.CostModelResidual(state, activation, crocoddyl.ResidualModelState(state, target, nu)), 1.0)
        if effort:
            costs.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, nu)), effort)
        free = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        # Its other way does not count armature, which is in the model here.
        free.armature = np.zeros(nv)
        return crocoddyl.IntegratedActionModelEuler(free, step)

    share = 2.0 / problem.steps
    scale = share / problem.dt
    nodes = []
    for index in range(problem.steps):
        # The state of the first node is given; its cost would be a constant.
        stage = (0.0, 0.0) if index == 0 else (scale * problem.place, scale * problem.speed)
        node = running(stage, scale * problem.effort, problem.dt)
        if problem.limit is not None:
            limits = np.full(nu, 0.0)
            limits[: problem.controls] = problem.limit
            node.u_lb, node.u_ub = -limits, limits
        nodes.append(node)
    end = (2 * problem.end + share * problem.place, 2 * problem.end + share * problem.speed)
    last = running(end, 0.0, 0.0)
    start = np.concatenate([problem.start, np.zeros(nv)])
    found, best = None, np.inf
    for _ in range(repeats):
        shooting = crocoddyl.ShootingProblem(start, nodes, last)
        # Of its solvers the one that ends lowest.
        for kind in problem.solvers:
            solver = getattr(crocoddyl, kind)(shooting)
            solver.th_stop = 1e-9
            guess = [np.array(problem.guess(model))] * problem.steps
            states = shooting.rollout(guess)
            begin = time.process_time()
            solver.solve(states, guess, iterations, True)
            seconds = time.process_time() - begin
            if found is None or solver.cost < found.cost * (1 - 1e-6):
                found, best = solver, seconds
            elif solver.cost <= found.cost * (1 + 1e-6):
                best = min(best, seconds)
    controls = np.array(found.us)[:, : problem.controls]
    return controls, found.iter, best


def own(problem, model, carom, iterations, repeats, folder):
    (folder / f"{problem.name}.xml").write_text(problem.scene(model))
    task = folder / f"{problem.name}.toml"
    out = folder / f"{problem.name}.npz"
    best, answer = np.inf, None

    def seconds(count):
        task.write_text(problem.task(count))
        nonlocal answer
        command = [carom, "plan", task, "--threads", "1", "--json", "--out", out]
        answer = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        out_controls = np.load(out)["ctrl"][:-1]
        out.unlink()
        return answer["cpu_seconds"], out_controls

    for _ in range(repeats):
        # What reading and starting take is measured by a single iteration, and taken off but for its share.
        first, _ = seconds(1)
        whole, controls = seconds(iterations)
        count = answer["gradients"]
        best = min(best, (whole - first) * count / max(count - 1, 1))
    return controls, answer["gradients"], best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--carom", default="target/release/carom")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    carom = str(pathlib.Path(arguments.carom).resolve())
    print("problem    by         cost J      iterations   CPU ms   ms per iteration   last distance")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for problem in PROBLEMS:
            file = folder / f"{problem.name}.xml"
            file.write_text(problem.text)
            built = pinocchio.buildModelFromMJCF(str(file))
            model = built[0] if isinstance(built, tuple) else built
            rows = [
                ("carom", own(problem, model, carom, arguments.iterations, arguments.repeats, folder)),
                ("crocoddyl", peer(problem, model, arguments.iterations, arguments.repeats)),
            ]
            for by, (controls, iterations, seconds) in rows:
                cost, q = followed(problem, model, controls)
                distance = np.linalg.norm(q - np.array(problem.target))
                print(
                    f"{problem.name:10} {by:10} {cost:11.6f} {iterations:9d} {1e3 * seconds:11.1f} "
                    f"{1e3 * seconds / max(iterations, 1):14.3f} {distance:17.5f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
