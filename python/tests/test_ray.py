"""Shards over Ray are those of one process, to the bit, also when a worker dies."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time

import pytest

from carom import _core

ray = pytest.importorskip("ray", reason="Ray is not installed")

RECIPE = """model = 'model.xml'
runs = 24
seed = 5
frames = 20
rate = 60
runs_per_shard = 2
[bodies]
count = 2
[shot]
speed = [0.8, 1.4]
way = [0.02, 0.03]
"""
MODEL = """<mujoco><option timestep="0.002"/><worldbody><geom name="table" type="plane" size="1 1 0.1"/>
<body name="cube" pos="0 0 0.03"><freejoint/><geom type="box" size="0.03 0.03 0.03" mass="0.15"/></body>
</worldbody></mujoco>"""


def _bytes(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


def _children(pid: int) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::_Worker" in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return [child for child in found if child != pid]


def test_a_cluster_of_two_makes_the_same_bits_though_one_dies(tmp_path: pathlib.Path) -> None:
    import carom.ray

    (tmp_path / "model.xml").write_text(MODEL)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE)
    alone = tmp_path / "alone"
    maker = _core.Maker(str(recipe))
    manifest, todo = maker.open(str(alone))
    for index in todo:
        manifest = maker.enter(str(alone), manifest, [maker.write_shard(str(alone), index)])

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        heard: list[int] = []

        def kill_one() -> None:
            while not heard:
                time.sleep(0.01)
            for child in _children(os.getpid())[:1]:
                os.kill(child, signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        found = carom.ray.scale(recipe, tmp_path / "ray", workers=2, progress=lambda runs, _: heard.append(runs))
        killer.join()
    finally:
        ray.shutdown()
    assert sum(shard["runs"] for shard in found["shards"]) == 24
    assert heard[-1] == 24 and heard == sorted(heard)
    assert _bytes(tmp_path / "ray") == _bytes(alone)
