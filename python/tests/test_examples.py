"""The examples: each asserts its claim."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "python/examples").glob("*.py"))
NEEDED = {"torch_bridge": "torch", "jax_bridge": "jax", "gym_env": "gymnasium"}
CLAIMS = [pytest.param(file, marks=[pytest.mark.torch] if NEEDED.get(file.stem) == "torch" else []) for file in EXAMPLES]


@pytest.mark.parametrize("file", CLAIMS, ids=lambda file: file.stem)
def test_claims_hold(file: Path) -> None:
    if file.stem in NEEDED:
        pytest.importorskip(NEEDED[file.stem], reason=f"{NEEDED[file.stem]} is not installed")
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip(), "an example shows what it has found"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_are_short_and_say_their_claim(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= 60
    assert "\nClaim: " in text and "assert " in text


def test_every_topic_is_there() -> None:
    assert {file.stem for file in EXAMPLES} == {
        "batch_rollouts",
        "continuous_time",
        "fit_a_parameter",
        "gradient_through_contact",
        "gym_env",
        "identify_damping",
        "jax_bridge",
        "linearize_lqr",
        "load_and_simulate",
        "torch_bridge",
    }
