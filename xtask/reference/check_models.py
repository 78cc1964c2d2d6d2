#!/usr/bin/env python3
"""Check that models live: each one of DIR/manifest.json loads in MuJoCo and runs from every keyframe under small controls.

    check_models.py DIR [--seconds 5]

A model fails when MuJoCo warns (which it does before numbers become infinite) or a number is not finite at the end.
"""

import argparse
import json
import pathlib
import sys

import mujoco
import numpy as np

SHARE = 0.1  # of each control's range, around the keyframe's control


def control_waves(model, centre, steps):
    """A slow sine per control, each of another frequency, inside the range."""
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    time = model.opt.timestep * np.arange(steps)[:, None]
    frequency = 0.3 + 0.1 * np.arange(model.nu)
    return np.clip(centre + SHARE * (high - low) * np.sin(2 * np.pi * frequency * time), low, high)


def problem_from(model, key, seconds):
    """What goes wrong when simulating from a keyframe (none: from qpos0), or an empty string."""
    data = mujoco.MjData(model)
    if key is not None:
        mujoco.mj_resetDataKeyframe(model, data, key)
    steps = round(seconds / model.opt.timestep)
    for control in control_waves(model, data.ctrl.copy(), steps):
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
    warnings = [mujoco.mjtWarning(i).name for i, warning in enumerate(data.warning) if warning.number]
    if warnings:
        return ", ".join(warnings)
    return "" if np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all() else "numbers are not finite"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()

    failures = 0
    manifest = json.loads((arguments.directory / "manifest.json").read_text())
    for entry in manifest:
        model = mujoco.MjModel.from_xml_path(str(arguments.directory / entry["name"] / entry["file"]))
        for key in [None, *range(model.nkey)]:
            problem = problem_from(model, key, arguments.seconds)
            if problem:
                failures += 1
                start = "qpos0" if key is None else f"keyframe {model.key(key).name}"
                print(f"{entry['name']} from {start}: {problem}")
    if failures:
        sys.exit(f"{failures} runs failed")
    print(f"{len(manifest)} models ran for {arguments.seconds:g} s from every keyframe")


if __name__ == "__main__":
    main()
