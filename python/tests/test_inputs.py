"""What callers do to arrays and files while they are in use, and after."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import thrown

import carom
from carom import flow

Array = npt.NDArray[np.float64]
Load = Callable[[str], carom.Model]


@contextmanager
def scribbling(*arrays: Array) -> Iterator[None]:
    """Another thread writes into arrays, from soon after the call on."""
    done = threading.Event()

    def write() -> None:
        # Not before the call has its numbers: what counts are those at the time of the call.
        while not done.wait(0.02):
            for array in arrays:
                array[...] = 0.1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_thread_that_writes_into_the_callers_arrays_changes_nothing(load: Load) -> None:
    model = load("humanoid")
    rng = np.random.default_rng(0)
    controls = rng.normal(size=(8, 300, model.nu)) * 0.1
    start = model.state(batch=8)
    expected = model.rollout(start, controls)
    bars = rng.normal(size=expected.qpos.shape)
    gradient = expected.backward(qpos=bars)
    given, state, by_qpos = controls.copy(), start.copy(), bars.copy()
    with scribbling(given, state.qpos, state.qvel):
        found = model.rollout(state, given)
    np.testing.assert_array_equal(found.qpos, expected.qpos)
    assert given[0, 0, 0] == 0.1, "the writer never ran"
    # What was simulated is what gradients are taken of, whatever became of the arrays.
    np.testing.assert_array_equal(found.controls, controls)
    with scribbling(by_qpos, given):
        again = found.backward(qpos=by_qpos)
    assert by_qpos[0, 0, 0] == 0.1, "the writer never ran"
    for one, other in ((again.controls, gradient.controls), (again.qvel, gradient.qvel)):
        np.testing.assert_array_equal(one, other)


def test_what_a_rollout_started_from_cannot_be_written_to(toss: carom.Model) -> None:
    start = thrown(toss)
    for run in (toss.rollout(start, steps=5), flow.follow(toss, start, seconds=0.01)):
        for kept in (run.start.qpos, run.start.mocap_pos, run.controls, run.qpos):
            with pytest.raises(ValueError, match="read-only"):
                kept[...] = 1.0
        run.start.copy().qpos[0] = 1.0
    start.qpos[0] = 7.0


def test_motions_beyond_all_measure_are_warned_of() -> None:
    # Antidamping: the speed grows, and yet no number is infinite for a long time.
    text = """
        <mujoco><option timestep="0.01"/><worldbody><body><joint name="hinge" axis="0 1 0" type="slide"/>
          <geom size="0.1"/></body></worldbody>
          <actuator><general joint="hinge" biastype="affine" biasprm="0 0 400"/></actuator></mujoco>
    """
    model = carom.Model.from_string(text)
    start = model.state(batch=2)
    start.qvel[1] = 1.0
    with pytest.warns(RuntimeWarning, match=r"trajectory 1, step \d+: .* of .*joint 'hinge' is .*smaller time step"):
        run = model.rollout(start, steps=40)
    assert np.isfinite(run.qvel).all() and np.abs(run.qvel).max() > 1e10
    with pytest.warns(RuntimeWarning, match="beyond all measure"):
        model.step(start, steps=40)


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_no_steps_are_a_rollout_too(load: Load, shape: tuple[int, ...]) -> None:
    model = load("cartpole")
    run = model.rollout(model.state(), np.zeros((*shape, model.nu)))
    batch = shape[:-1]
    assert run.steps == 0 and run.qpos.shape == (*batch, 1, model.nq)
    gradient = run.backward(qpos=np.ones(run.qpos.shape))
    assert gradient.controls.shape == (*batch, 0, model.nu)
    np.testing.assert_array_equal(gradient.qpos, np.ones((*batch, model.nq)))
    assert run.linearize().A.shape == (*batch, 0, 4, 4)
    assert run.jvp(qvel=np.ones((*batch, model.nv))).qvel.shape == (*batch, 1, model.nv)


def test_pages_never_replace_what_they_were_made_from(tmp_path: Path) -> None:
    text = (Path("models") / "cube.xml").read_text(encoding="utf-8")
    path, link, hard = (tmp_path / name for name in ("cube.xml", "link.html", "hard.html"))
    path.write_text(text, encoding="utf-8")
    link.symlink_to(path)
    os.link(path, hard)
    run = carom.Model.load(path).rollout(steps=5)
    for output in (path, tmp_path / "." / "cube.xml", link, hard):
        with pytest.raises(OSError, match=r"cube\.xml' and would be lost"):
            run.save_html(output)
    assert path.read_text(encoding="utf-8") == text
    assert sorted(os.listdir(tmp_path)) == ["cube.xml", "hard.html", "link.html"]


def test_pages_do_not_replace_devices_and_folders(toss: carom.Model, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    run = toss.rollout(steps=5)
    for output, why in ((pipe, "a device or a pipe"), ("/dev/null", "a device or a pipe"), (tmp_path, "a folder")):
        with pytest.raises(OSError, match=why):
            run.save_html(output)
    assert pipe.is_fifo()


def test_identifications_never_replace_their_inputs(tmp_path: Path) -> None:
    text = """
        <mujoco><worldbody><body><joint name="hinge" axis="0 1 0" damping="0.1"/>
          <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3"/></body></worldbody></mujoco>
    """
    path, recording = tmp_path / "swing.xml", tmp_path / "swing.npz"
    path.write_text(text, encoding="utf-8")
    model = carom.Model.load(path)
    start = model.state()
    start.qpos[0] = 1.0
    run = model.rollout(start, steps=200)
    np.savez(recording, time=run.time, qpos=run.qpos, qvel=run.qvel)
    before = recording.read_bytes()

    def identify(checkpoint: Path | None = None) -> carom.Identification:
        noise = {"qpos": 1e-3, "qvel": 1e-2}
        free = ["joint.hinge.damping[0]"]
        return carom.identify(model, recording, free=free, noise=noise, checkpoint=checkpoint)

    with pytest.raises(OSError, match=r"swing\.npz' and would be lost"):
        identify(checkpoint=recording)
    found = identify()
    for write in (found.save, found.report):
        for output in (path, recording):
            with pytest.raises(OSError, match="would be lost"):
                write(output)
    found.save(tmp_path / "calibrated.xml")
    assert (path.read_text(encoding="utf-8"), recording.read_bytes()) == (text, before)


THREADS = """
    import os, subprocess
    import carom
    model = carom.Model.load("models/cube.xml")
    for threads in (1, 2, 50, 100_000, 2**62):
        model.rollout(model.state(batch=8), steps=10, threads=threads)
    if os.path.isdir("/proc/self/task"):
        print(len(os.listdir("/proc/self/task")))
    else:
        # macOS has no /proc: ps lists a line a thread, below a head.
        listed = subprocess.run(["ps", "-M", str(os.getpid())], capture_output=True, text=True, check=True).stdout
        print(len(listed.splitlines()) - 1)
"""


def test_threads_are_at_most_cores() -> None:
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(THREADS)], capture_output=True, text=True, timeout=60, check=True
    )
    # numpy has threads of its own, and there are pools of one thread, of two and of as many as cores.
    assert int(found.stdout) <= 3 * (os.cpu_count() or 1) + 4


INTERRUPTED = """
    import os, signal, sys, threading, time
    import carom
    from carom import flow
    if sys.argv[1] == "load":
        # Geoms that all touch: the compiler takes long over them.
        count = 20_000
        vertices = " ".join(f"{x % 97} {x * x % 89} {x * x % 83}" for x in range(30 * count))
        text = f'<mujoco><asset><mesh name="m" vertex="{vertices}"/></asset></mujoco>'
        text = text.replace("</mujoco>", '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>')
        work = lambda: [carom.Model.from_string(text) for _ in range(1000)]
    else:
        model = carom.Model.load("models/humanoid.xml")
        settings = flow.Settings(tolerance=1e-12, most_steps=10**9)
        batch = None if sys.argv[1] == "single" else 8
        start = model.state(batch=batch)
        work = lambda: flow.follow(model, start, seconds=1000.0, settings=settings)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        work()
        print("done")
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - begin)
    sys.stdout.flush()
    # The thread that reads is not waited for.
    os._exit(0)
"""


@pytest.mark.parametrize("kind", ["load", "single", "batch"])
def test_ctrl_c_stops_motions_and_loading(kind: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), kind],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    word, seconds = found.stdout.split()
    assert word == "stopped"
    assert float(seconds) < 5.0
