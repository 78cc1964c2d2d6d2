"""The package as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import carom


def test_the_script_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It writes a page where it runs.
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    exec(compile(found[1], "README.md", "exec"), {})
    assert len(found[1].strip().splitlines()) <= 12
    assert "carom-scene" in (tmp_path / "humanoid.html").read_text(encoding="utf-8")


def test_imports_are_quick() -> None:
    script = "import time; t = time.process_time(); import carom; print(time.process_time() - t)"
    # CPU time, since other programs use the machine as well, with numpy, which takes most of it.
    times = sorted(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(7))
    assert times[3] < 0.3, times


def test_nothing_else_is_imported() -> None:
    script = "import sys, carom; print([name for name in ('torch', 'jax', 'mujoco', 'gymnasium') if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_everything_public_is_documented() -> None:
    for name in carom.__all__:
        thing = getattr(carom, name)
        if isinstance(thing, type):
            assert thing.__doc__, name
            methods = [value for key, value in vars(thing).items() if not key.startswith("_")]
            assert all(value.__doc__ for value in methods if callable(value)), name
