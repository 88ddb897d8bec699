"""The examples and the docstrings run as they stand."""

import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
MODULES = ["games", "registration", "atari_env", "vector_env", "small_worlds", "ale", "policy", "results", "training"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(roms, example, tmp_path):
    environment = {**os.environ, "SANE_EXAMPLE_STEPS": "600", "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, example], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", ["sane_rl", *(f"sane_rl.{name}" for name in MODULES)])
def test_docstrings_say_the_truth(roms, name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
