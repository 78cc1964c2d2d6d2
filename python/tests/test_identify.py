"""Identification and evaluation: the same as the command, from files and from arrays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import carom

Arrays = dict[str, npt.NDArray[np.float64]]

DAMPING = "joint.pivot.damping[0]"
HIDDEN = 0.03
"""Three times the damping of the model (N·m·s/rad)."""
MAPPING = """
time.column = "time"
[[joint]]
name = "pivot"
position = "qpos[0]"
velocity = "qvel[0]"
noise = 1e-3
velocity_noise = 1e-2
"""


@pytest.fixture
def pendulum() -> carom.Model:
    return carom.Model.load("models/pendulum.xml")


def swing(model: carom.Model, speed: float = 0.0, frames: int = 80) -> Arrays:
    """What a pendulum with the hidden damping does, every fifth step, with noise."""
    hidden = model.parameters(DAMPING).apply([HIDDEN])
    start = hidden.state("horizontal")
    start.qvel[:] = speed
    motion = hidden.rollout(start, steps=5 * (frames - 1))
    random = np.random.default_rng(7)
    arrays = {"time": motion.time[::5], "qpos": motion.qpos[::5], "qvel": motion.qvel[::5]}
    for name, deviation in (("qpos", 1e-3), ("qvel", 1e-2)):
        arrays[name] = arrays[name] + deviation * random.normal(size=arrays[name].shape)
    return arrays


def write_csv(arrays: Arrays, path: Path) -> Path:
    rows = zip(arrays["time"], arrays["qpos"][:, 0], arrays["qvel"][:, 0])
    lines = [",".join(repr(float(number)) for number in row) for row in rows]
    path.write_text("\n".join(["time,qpos[0],qvel[0]", *lines]) + "\n")
    return path


@pytest.fixture
def files(pendulum: carom.Model, tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "map.toml").write_text(MAPPING)
    return {
        "mapping": tmp_path / "map.toml",
        "fit": write_csv(swing(pendulum), tmp_path / "fit.csv"),
        "other": write_csv(swing(pendulum, speed=1.0), tmp_path / "other.csv"),
    }


def printed(command: Path, *arguments: str | Path) -> Any:
    """The JSON that the command prints."""
    run = subprocess.run([command, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def test_an_identification_has_the_bits_of_the_command(command: Path, files: dict[str, Path]) -> None:
    expected = printed(
        command, "identify", "models/pendulum.xml", files["fit"], "--mapping", files["mapping"], "--free", f"{DAMPING} log",
        "--validate", files["other"],
    )  # fmt: skip
    found = carom.identify(
        "models/pendulum.xml",
        files["fit"],
        mapping=files["mapping"],
        free=[f"{DAMPING} log"],
        held_out=files["other"],
        progress=False,
    )
    document = found.to_dict()
    assert document.pop("seconds") > 0 and expected.pop("seconds") > 0
    assert document == expected
    one = found[DAMPING]
    assert [one.value, one.standard_error, *one.interval] == [
        expected["parameters"][0]["value"],
        expected["parameters"][0]["standard_error"],
        *expected["parameters"][0]["interval"],
    ]
    assert found.success and found.interrupted is False
    assert one.interval[0] < HIDDEN < one.interval[1] and one.unit


def test_an_evaluation_has_the_bits_of_the_command(command: Path, files: dict[str, Path]) -> None:
    expected = printed(
        command, "evaluate", "models/pendulum.xml", files["fit"], files["other"], "--mapping", files["mapping"], "--window", "20"
    )
    found = carom.evaluate("models/pendulum.xml", [files["fit"], files["other"]], mapping=files["mapping"], window=20)
    assert found.errors == expected["total"]
    assert [one.errors for one in found.trajectories] == [one["errors"] for one in expected["trajectories"]]
    assert found.units["angle"] == "rad" and not found.failures
    assert "angle [rad]" in repr(found) and found._repr_html_().count("<tr>") == 4


def test_arrays_files_and_mappings_say_the_same(pendulum: carom.Model, files: dict[str, Path], tmp_path: Path) -> None:
    arrays = swing(pendulum)
    np.savez(tmp_path / "fit.npz", **arrays)  # type: ignore[arg-type]
    noise = {"qpos": 1e-3, "qvel": 1e-2}
    named = {"time": arrays["time"], "joint.pivot": arrays["qpos"][:, 0], "joint.pivot.velocity": arrays["qvel"][:, 0]}
    table = {"name": "pivot", "position": "a", "velocity": "b", "noise": np.float64(1e-3), "velocity_noise": 1e-2}
    other = {"stamp": arrays["time"], "a": arrays["qpos"], "b": arrays["qvel"]}
    ways: list[tuple[Any, dict[str, Any]]] = [
        (files["fit"], {"mapping": files["mapping"]}),
        (tmp_path / "fit.npz", {"noise": noise}),
        (arrays, {"noise": noise}),
        ([arrays], {"noise": noise}),
        (named, {"noise": {"joint.pivot": 1e-3, "joint.pivot.velocity": 1e-2}}),
        (other, {"mapping": {"time": {"column": "stamp"}, "joint": [table]}}),
    ]
    found = [carom.identify(pendulum, given, free=DAMPING, progress=False, **more) for given, more in ways]
    assert len({one[DAMPING] for one in found}) == 1
    assert found[0].loss[1] < found[0].loss[0]


def test_whole_states_need_no_names(toss: carom.Model) -> None:
    """The body on the free joint has no name; controls are those of steps, one fewer than states."""
    start = toss.state()
    start.qpos[:7] = [0.0, 0.1, 0.3, 0.8, 0.0, 0.6, 0.0]
    start.qvel[:] = [0.3, -0.2, 0.5, 1.0, 2.0, -1.0, 0.5]
    controls = np.linspace(0, 0.2, 2 * 60).reshape(60, 2)
    motion = toss.rollout(start, controls)
    arrays = {"time": motion.time, "qpos": motion.qpos, "qvel": motion.qvel, "ctrl": controls}
    found = carom.evaluate(toss, arrays)
    assert found["position"] < 1e-9 and found["rotation"] < 1e-6 and found["angle"] < 1e-9
    assert carom.evaluate(toss, {**arrays, "ctrl": 0 * controls})["angle"] > 1e-6


def test_what_was_found_can_be_kept_and_used(pendulum: carom.Model, tmp_path: Path) -> None:
    free = {"select": DAMPING, "bounds": [0.001, 0.1], "prior": {"mean": 0.02, "sd": 0.02}}
    found = carom.identify(
        pendulum, swing(pendulum), free=free, noise={"qpos": 1e-3, "qvel": 1e-2}, held_out=swing(pendulum, 1.0), progress=False
    )
    assert found.verdict.startswith("better than the start") and found.held_out is not None
    assert (found.grade, found.reasons, found.success) == ("success", (), True)
    assert found.held_out.after["angle"] < found.held_out.before["angle"]
    assert found.held_out.floor is not None and found.held_out.floor["angle"] > 0
    assert found.covariance.shape == (1, 1) and list(found.values) == [DAMPING] == list(found.intervals)
    saved = carom.Model.load(found.save(tmp_path / "calibrated.xml"))
    assert saved.dof_damping == found.model.dof_damping == found.values[DAMPING]
    assert found.model.to_mjcf()
    page = found.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and DAMPING in page and "Better than the start" in page
    assert DAMPING in found._repr_html_() and DAMPING in found.text and DAMPING in repr(found)
    again = carom.identify(found.model, swing(pendulum), free=DAMPING, noise={"qpos": 1e-3, "qvel": 1e-2}, progress=False)
    assert abs(again.values[DAMPING] - found.values[DAMPING]) < found.standard_errors[DAMPING]


def test_residuals_above_the_stated_noise_are_doubtful(pendulum: carom.Model) -> None:
    arrays = swing(pendulum)
    noisy = {**arrays, "qpos": arrays["qpos"] + 0.01 * np.random.default_rng(1).normal(size=arrays["qpos"].shape)}
    found = carom.identify(
        pendulum, noisy, free=DAMPING, noise={"qpos": 1e-3, "qvel": 1e-2}, free_initial_states=True, progress=False
    )
    assert found.grade == "doubtful" and not found.success and found.refusal is None
    assert [one.rule for one in found.reasons] == ["residuals"]
    assert found.verdict == f"doubtful: {found.reasons[0].words}"
    assert "Usable with doubts" in found._core.page() and found.text.startswith("doubtful: residuals are")


def test_a_checkpoint_is_resumed_to_the_same_bits(pendulum: carom.Model, tmp_path: Path) -> None:
    path, arrays = tmp_path / "fit.bin", swing(pendulum)

    def identified(**more: Any) -> carom.Identification:
        return carom.identify(pendulum, arrays, free=DAMPING, progress=False, checkpoint=path, **more)

    whole = identified()
    assert path.exists()
    with pytest.raises(carom.IdentificationError, match="resume=True"):
        identified()
    assert identified(resume=True).values == whole.values


def test_progress_is_told_in_the_callers_thread(pendulum: carom.Model) -> None:
    import threading

    told: list[carom.Progress] = []
    threads = set()

    def note(progress: carom.Progress) -> None:
        told.append(progress)
        threads.add(threading.get_ident())

    carom.identify(pendulum, swing(pendulum), free=DAMPING, progress=note)
    counts = [one.evaluations for one in told if not one.note]
    assert counts == sorted(counts) and counts[-1] > 1
    assert threads == {threading.get_ident()}


def long_search(pendulum: carom.Model, progress: Callable[[carom.Progress], object]) -> carom.Identification:
    return carom.identify(
        pendulum, swing(pendulum), free=DAMPING, optimiser="cmaes", evaluations=10_000_000, seconds=120, progress=progress
    )


def test_an_interrupt_keeps_the_best(pendulum: carom.Model) -> None:
    lowest: list[float] = []

    def interrupt(progress: carom.Progress) -> None:
        lowest.append(progress.loss)
        if len(lowest) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    found = long_search(pendulum, interrupt)
    assert found.interrupted and found.to_dict()["interrupted"]
    assert found.loss[1] <= lowest[-1]
    assert "interrupted" in repr(found)


def test_an_exception_of_the_callback_is_the_callers(pendulum: carom.Model) -> None:
    def fail(progress: carom.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        long_search(pendulum, fail)


Mistake = Callable[[carom.Model, Arrays], Any]

MISTAKES: list[tuple[type[Exception], str, Mistake]] = [
    (TypeError, "a carom.Model or the path", lambda m, a: carom.identify(3, a, free=DAMPING)),  # type: ignore[arg-type]
    (carom.ModelError, "cannot find file 'nope.xml'", lambda m, a: carom.evaluate("nope.xml", a)),
    (TypeError, "a path or a dict of arrays", lambda m, a: carom.evaluate(m, [3])),  # type: ignore[list-item]
    (carom.RecordingError, "is empty: give files", lambda m, a: carom.evaluate(m, [])),
    (carom.RecordingError, "nope.npz", lambda m, a: carom.evaluate(m, "nope.npz")),
    (carom.RecordingError, "no array 'time'", lambda m, a: carom.evaluate(m, {"qpos": a["qpos"]})),
    (carom.RecordingError, "'angle' says not what it is", lambda m, a: carom.evaluate(m, {**a, "angle": a["qpos"]})),
    (carom.RecordingError, "there is no such joint; the model has pivot", lambda m, a: carom.evaluate(m, {"time": a["time"], "joint.elbow": a["qpos"]})),
    (carom.RecordingError, "2 numbers a row, the model has 1", lambda m, a: carom.evaluate(m, {**a, "qpos": np.zeros((80, 2))})),
    (TypeError, "must be real numbers", lambda m, a: carom.evaluate(m, {**a, "qpos": "abc"})),
    (carom.RecordingError, "is stated for 'qpso'", lambda m, a: carom.identify(m, a, free=DAMPING, noise={"qpso": 1.0})),
    (TypeError, "a mapping states the noise itself", lambda m, a: carom.identify(m, a, mapping={}, noise={"qpos": 1.0})),
    (carom.RecordingError, "unknown field `joints`", lambda m, a: carom.evaluate(m, a, mapping={"joints": []})),
    (carom.RecordingError, "nope.toml", lambda m, a: carom.evaluate(m, a, mapping="nope.toml")),
    (ValueError, "tolerance is above 0 and below 1", lambda m, a: carom.evaluate(m, a, tolerance=2.0)),
    (ValueError, "window is at least 1, not 0", lambda m, a: carom.evaluate(m, a, window=0)),
    (carom.IdentificationError, "no parameter is free: name some", lambda m, a: carom.identify(m, a)),
    (carom.ParameterError, "pivt", lambda m, a: carom.identify(m, a, free="joint.pivt.damping")),
    (TypeError, "a selector such as", lambda m, a: carom.identify(m, a, free=[3])),  # type: ignore[list-item]
    (carom.IdentificationError, "unknown field `bound`", lambda m, a: carom.identify(m, a, free={"select": DAMPING, "bound": [0, 1]})),
    (carom.IdentificationError, "give the lower one first", lambda m, a: carom.identify(m, a, free={"select": DAMPING, "bounds": [1, 0]})),
    (carom.IdentificationError, "there is no optimiser 'newton'; there are auto", lambda m, a: carom.identify(m, a, free=DAMPING, optimiser="newton")),
    (carom.IdentificationError, "there is no loss 'l2'", lambda m, a: carom.identify(m, a, free=DAMPING, loss="l2")),
    (carom.IdentificationError, "nope.toml", lambda m, a: carom.identify(m, a, settings="nope.toml")),
    (carom.IdentificationError, "one trajectory", lambda m, a: carom.identify(m, a, free=DAMPING, folds=3)),
    (ValueError, "either free or drawn", lambda m, a: carom.identify(m, a, free=DAMPING, free_initial_states=True, initial_state_draws=3)),
    (ValueError, "either free or drawn", lambda m, a: carom.identify(m, a, free=DAMPING, free_starts=True, start_draws=3)),
    (ValueError, "seconds is above 0", lambda m, a: carom.identify(m, a, free=DAMPING, seconds=0)),
    (carom.NotIdentifiableError, "anyway=True", lambda m, a: carom.identify(m, a, free=[DAMPING, "geom.*.friction[0] tied"])),
    (carom.IdentificationError, "does not come from a file", lambda m, a: carom.identify(m.parameters(DAMPING).apply([1.0]), a, free=DAMPING)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "mistake"), MISTAKES, ids=[text for _, text, _ in MISTAKES])
def test_a_mistake_is_answered_with_what_to_do(kind: type[Exception], text: str, mistake: Mistake, pendulum: carom.Model) -> None:
    with pytest.raises(kind) as caught:
        mistake(pendulum, swing(pendulum))
    assert text in str(caught.value)
