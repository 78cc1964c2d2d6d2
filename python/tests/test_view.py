"""Pages and live views."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import struct
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Array, thrown

import carom


def scene_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="carom-scene">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    scene: dict[str, Any] = json.loads(found[1])
    return scene


def frames_of(page: str) -> list[tuple[str, list[bytes]]]:
    """Name and frames of the recordings of a page."""
    recordings = []
    for name, text in re.findall(r'id="carom-recording" data-name="(.*?)">(.*?)</script>', page):
        data = base64.b64decode(text)
        assert data[:4] == b"CRR1"
        count, length = struct.unpack_from("<II", data, 4)
        place, frames = 12 + (length + 3) // 4 * 4, []
        for _ in range(count):
            (size,) = struct.unpack_from("<I", data, place)
            frames.append(data[place + 4 : place + 4 + size])
            place += 4 + size
        assert place == len(data)
        recordings.append((name, frames))
    return recordings


def time_and_poses(frame: bytes) -> tuple[float, Array]:
    (time,) = struct.unpack_from("<d", frame, 8)
    (bodies,) = struct.unpack_from("<I", frame, 32)
    poses = np.frombuffer(frame, dtype="<f4", count=7 * bodies, offset=64)
    return time, poses.reshape(bodies, 7).astype(np.float64)


def test_a_page_shows_the_rollout(toss: carom.Model) -> None:
    rollout = toss.rollout(thrown(toss), steps=200)
    page = rollout.view(browser=False)
    assert scene_of(page.html)["nq"] == toss.nq
    [(name, frames)] = frames_of(page.html)
    assert name == "run"
    # 60 frames a second of 0.4 s.
    assert 24 <= len(frames) <= 26
    for frame in frames:
        time, poses = time_and_poses(frame)
        step = round(time / toss.timestep)
        found = toss.forward(rollout.state(step))
        np.testing.assert_allclose(poses[:, :3], found.xpos, atol=1e-5)
        np.testing.assert_allclose(poses[:, 3:], found.xquat, atol=1e-5)
    assert time == pytest.approx(0.4)


def test_one_of_a_batch_and_a_ghost(toss: carom.Model) -> None:
    batch = toss.rollout(thrown(toss, batch=3), steps=50)
    other = toss.rollout(thrown(toss), steps=50)
    page = batch.view(trajectory=-1, overlay=other, browser=False)
    (name, frames), (ghost_name, ghost) = frames_of(page.html)
    assert (name, ghost_name) == ("run", "overlay")
    _, last = time_and_poses(frames[-1])
    np.testing.assert_allclose(last[1, :3], batch.qpos[2, -1, :3], atol=1e-5)
    _, last = time_and_poses(ghost[-1])
    np.testing.assert_allclose(last[1, :3], other.qpos[-1, :3], atol=1e-5)


def test_gradients_are_arrows(toss: carom.Model) -> None:
    rollout = toss.rollout(thrown(toss), steps=20)
    gradient = rollout.backward(qpos=rollout.qpos)
    page = rollout.view(gradient=gradient, browser=False)
    assert scene_of(page.html)["has_gradients"] is True
    [(_, frames)] = frames_of(page.html)
    flags = [struct.unpack_from("<I", frame, 56)[0] for frame in frames]
    assert flags[0] == 1 and not any(flags[1:])
    per_state = np.ones((21, toss.nv))
    [(_, frames)] = frames_of(rollout.view(gradient=per_state, browser=False).html)
    assert all(struct.unpack_from("<I", frame, 56)[0] == 1 for frame in frames)


def test_pages_are_written_whole(toss: carom.Model, tmp_path: Path) -> None:
    rollout = toss.rollout(thrown(toss), steps=10)
    path = rollout.save_html(tmp_path / "toss.html")
    assert path == tmp_path / "toss.html"
    assert "carom-scene" in path.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["toss.html"]
    with pytest.raises(FileNotFoundError):
        rollout.save_html(tmp_path / "missing" / "toss.html")
    assert os.listdir(tmp_path) == ["toss.html"]


def test_notebooks_get_a_frame(toss: carom.Model) -> None:
    page = toss.rollout(steps=5).view(browser=False)
    frame = page._repr_html_()
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-downloads".*</iframe>', frame)
    assert found is not None
    assert html.unescape(found[1]) == page.html
    with toss.view(browser=False) as view:
        assert html.escape(view.url) in view._repr_html_()


def test_a_live_view_is_served(load: Callable[[str], carom.Model]) -> None:
    model = load("humanoid")
    view = model.view(browser=False, paused=True)
    with urllib.request.urlopen(view.url) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert b"carom-data" in answer.read()
    assert "frame-ancestors 'self' http://localhost:*" in policy
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(view.url.split("?")[0])
    assert view.is_running and view.url in repr(view)
    view.stop()
    assert not view.is_running and "stopped" in repr(view)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(view.url)
    view.stop()


def test_the_address_is_no_argument_of_a_browser(toss: carom.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    view = toss.view()
    token = view.url.split("token=")[1]
    [address] = opened
    assert address.startswith("file://") and token not in address
    path = Path(urllib.request.url2pathname(address.removeprefix("file://")))
    assert f"url={view.url}" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    view.stop()
    assert not path.exists()
    with pytest.raises(RuntimeError, match="has ended"):
        view.open()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_leaves_the_view_to_its_parent(toss: carom.Model) -> None:
    with toss.view(browser=False) as view:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                view.stop()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        with urllib.request.urlopen(view.url) as answer:
            assert b"carom-data" in answer.read()


def test_colours_of_a_mujoco_model_are_taken_over() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><asset><material name="steel" rgba="0.1 0.2 0.3 1" reflectance="0.25"/></asset>
      <worldbody><geom size="0.1" material="steel"/><site name="tip" rgba="0 1 0 0.5"/>
      <body><joint type="slide"/><geom size="0.1" rgba="1 0 0 1"/><site name="end"/></body></worldbody>
      <tendon><spatial width="0.02" rgba="0 0 1 1"><site site="tip"/><site site="end"/></spatial></tendon></mujoco>"""
    scenes = []
    for model in (carom.Model.from_string(text), carom.Model.from_mujoco(mujoco.MjModel.from_xml_string(text))):
        scenes.append(scene_of(model.rollout(steps=1).view(browser=False).html))
    for family in ("geoms", "sites", "tendons"):
        for one, other in zip(scenes[0][family], scenes[1][family]):
            np.testing.assert_allclose(one["rgba"], other["rgba"], atol=1e-6)
    assert scenes[1]["geoms"][0]["material"]["reflectance"] == pytest.approx(0.25)
    assert scenes[1]["tendons"][0]["width"] == pytest.approx(0.02)


def test_what_cannot_be_shown_is_refused(toss: carom.Model, load: Callable[[str], carom.Model]) -> None:
    rollout = toss.rollout(thrown(toss), steps=5)
    with pytest.raises(IndexError, match="no trajectory 1"):
        rollout.view(trajectory=1, browser=False)
    with pytest.raises(ValueError, match="expected \\(states, 7\\)"):
        rollout.view(gradient=np.zeros(3), browser=False)
    with pytest.raises(ValueError, match="up to 6 rows"):
        rollout.view(gradient=np.zeros((9, 7)), browser=False)
    with pytest.raises(ValueError, match="motion of"):
        rollout.view(overlay=load("humanoid").rollout(steps=1), browser=False)
    with pytest.raises(ValueError, match="batch"):
        toss.view(toss.state(batch=2), browser=False)
    with toss.view(browser=False) as view:
        port = int(view.url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="cannot listen"):
            toss.view(port=port, browser=False)
    # A motion that is not finite is refused by name.
    start = toss.state()
    start.qvel[:] = 1e200
    broken = toss.rollout(start, steps=5)
    assert broken.not_finite
    with pytest.raises(ValueError, match="in row"):
        broken.view(browser=False)
