"""What the servers of the peers share: requests, start states and controls."""

import json
import sys

import numpy as np


def start(mujoco, request):
    """MuJoCo's model and data of a request, and the controls of all its steps.

    A request is {"model": path, "steps": n} and optionally "timestep": seconds, "qpos" and "qvel": {index: number, ...}
    of the start, "settle": steps before it.
    """
    model = mujoco.MjModel.from_xml_path(request["model"])
    model.opt.timestep = request.get("timestep", model.opt.timestep)
    for name, option in [("iterations", "iterations"), ("line_search", "ls_iterations")]:
        setattr(model.opt, option, request.get(name, getattr(model.opt, option)))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    for name in ["qpos", "qvel"]:
        for index, number in request.get(name, {}).items():
            getattr(data, name)[int(index)] = number
    control = controls(model, request["steps"])
    if request.get("settle", 0):
        data.ctrl[:] = control[0]
        mujoco.mj_step(model, data, request["settle"])
    return model, data, control


def controls(model, steps):
    """The same formula as `carom bench`: a small sine per actuator within its control range."""
    control = np.zeros((steps, model.nu))
    for actuator in range(model.nu):
        low, high = -1.0, 1.0
        if model.actuator_ctrllimited[actuator]:
            low, high = model.actuator_ctrlrange[actuator]
        phase = 0.02 * np.arange(steps) + actuator
        control[:, actuator] = 0.5 * (low + high) + 0.1 * (high - low) * np.sin(phase)
    return control


def serve(make_case):
    """Answers requests, JSON lines on standard input, until it ends; cases are made once and measured as often as asked."""
    cases = {}
    for line in sys.stdin:
        if line not in cases:
            cases[line] = make_case(json.loads(line))
        print(json.dumps(cases[line].measure()), flush=True)
