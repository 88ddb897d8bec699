"""Policies, training and results."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sane_rl


def run_program(*arguments):
    command = [sys.executable, "-m", "sane_rl", "--quiet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_safetensors(path):
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.pop("__metadata__", None)
    dtypes = {"F32": "<f4", "I64": "<i8", "U8": "u1"}
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], dtypes[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
    }


def test_a_policy_computes_the_numbers_of_the_program(small_run, tmp_path):
    run_program("eval", small_run, "--dump-states", 40, "-o", tmp_path / "states.safetensors")
    run_program("export", small_run, "-o", tmp_path / "policy.safetensors")
    states = read_safetensors(tmp_path / "states.safetensors")
    for source in (small_run, tmp_path / "policy.safetensors"):
        policy = sane_rl.Policy.load(source)
        assert (policy.world, policy.agent) == ("risky-road", "sane")
        batch = policy.act(states["observations"], noise=False)
        assert np.array_equal(batch.action, states["actions"])
        assert np.array_equal(batch.q_values, states["q"]) and np.array_equal(batch.sigma, states["sigma"])
        one = policy.act(states["observations"][3], noise=False)
        assert one.action == states["actions"][3] and np.array_equal(one.q_values, states["q"][3])


@pytest.mark.parametrize("agent", ["sane", "bayes-head", "bootstrapped"])
def test_noise_repeats_with_its_seed_and_differs_without(agent, tmp_path):
    """Also where one draw is held for an episode of training."""
    settings = {"training.learning_starts": 500, "record.interval": 500}
    run = sane_rl.train("risky-road", agent, steps=700, settings=settings, out=tmp_path / "run", progress=False)
    policy = sane_rl.Policy.load(run)
    state = np.zeros(policy.observation_shape, np.uint8)
    by_seed = [policy.act(state, seed=seed).q_values for seed in range(20)]
    again = [policy.act(state, seed=seed).q_values for seed in range(20)]
    assert np.array_equal(by_seed, again)
    assert 1 < len({q.tobytes() for q in by_seed})
    assert 1 < len({policy.act(state).q_values.tobytes() for _ in range(20)})
    batch = policy.act(np.stack([state] * 20), seed=3).q_values
    assert 1 < len({q.tobytes() for q in batch}), "every state of a batch has a draw of its own"


def test_a_policy_plays_in_its_environment(small_run):
    policy = sane_rl.Policy.load(small_run)
    env = sane_rl.SmallWorldEnv("risky-road")
    observation, _ = env.reset(seed=1)
    for _ in range(30):
        observation, _, terminated, truncated, _ = env.step(policy.act(observation).action)
        if terminated or truncated:
            observation, _ = env.reset()


def test_wrong_observations_and_files_are_refused(small_run, tmp_path):
    policy = sane_rl.Policy.load(small_run)
    shape = policy.observation_shape
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected"):
        policy.act(np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match="float64; expected uint8"):
        policy.act(np.zeros(shape))
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        sane_rl.Policy.load(tmp_path)
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not an exported policy"):
        sane_rl.Policy.load(broken)
    with pytest.raises(ValueError, match="did you mean boxing"):
        sane_rl.train("boxng", "sane", out=tmp_path / "run")
    with pytest.raises(ValueError, match="unknown"):
        sane_rl.train("risky-road", "sane", settings={"learner.gama": 1}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_from_python_gives_the_bytes_of_the_program(small_run, tmp_path):
    settings = ["--set", "training.learning_starts=500", "--set", "record.interval=500"]
    run_program("train", "risky-road", "--agent", "sane", "--steps", 1500, *settings, "--out", tmp_path / "run")
    digests = [run_program("runs", "hash", folder).split() for folder in (small_run, tmp_path / "run")]
    assert digests[0] == digests[1]


def test_a_callback_sees_the_progress_and_can_stop_and_raise(tmp_path):
    seen = []

    def stop(progress):
        seen.append(progress)
        return False

    folder = tmp_path / "stopped"
    sane_rl.train("risky-road", "sane", steps=1_000_000, out=folder, callback=stop, progress=False)
    assert 0 < seen[0]["interactions"] < 1_000_000 and seen[0]["total_interactions"] == 1_000_000
    assert list((folder / "checkpoints").iterdir())

    def fail(progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        sane_rl.train("risky-road", "sane", steps=1_000_000, out=folder, callback=fail, progress=False)


@pytest.mark.parametrize("inside", [False, True], ids=["between callbacks", "inside a callback"])
def test_ctrl_c_saves_the_run_and_raises(tmp_path, inside):
    script = (
        "import sane_rl, signal, sys, time\n"
        # A process that was started in the background may have inherited that the signal is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def say(progress):\n"
        "    print('training', flush=True)\n"
        f"    if {inside}: time.sleep(60)\n"
        "try: sane_rl.train('risky-road', 'sane', steps=10**8, out=sys.argv[1], callback=say, progress=False)\n"
        "except KeyboardInterrupt as stopped: print('stopped:', stopped)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "run"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "training\n"
    os.kill(child.pid, signal.SIGINT)
    lines = child.communicate(timeout=120)[0].splitlines()
    assert lines[-1] == "stopped: the run is saved; the same call resumes it" and child.returncode == 0
    assert list((tmp_path / "run" / "checkpoints").iterdir())


def test_results_are_tables(small_run):
    evaluation = sane_rl.evaluate(small_run, interactions=300, record=True)
    assert evaluation["noise"] == "off" and 1 <= evaluation["episodes"]
    assert evaluation == sane_rl.evaluate(small_run, interactions=300, threads=1)
    runs = sane_rl.runs(small_run.parents[2])
    assert runs.folders == [small_run]
    assert list(runs.curves["interactions"]) == [500, 1000, 1500]
    assert set(runs.curves["agent"]) == {"sane"} and len(runs.episodes["return_raw"]) > 5
    assert list(runs.evaluations["return_mean"])[-1] == evaluation["return_mean"]
    assert list(runs.settings["training.total_interactions"]) == [1500]


def test_results_are_arrays_without_pandas(small_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    runs = sane_rl.runs(small_run.parents[2])
    assert isinstance(runs.curves["interactions"], np.ndarray) and runs.curves["interactions"][-1] == 1500


def test_a_folder_for_a_hub_is_complete_and_reproducible(small_run, tmp_path):
    sane_rl.evaluate(small_run, interactions=300, record=True)
    hub = tmp_path / "hub"
    run_program("export", small_run, "--hub", hub)
    film = "replay.mp4" if shutil.which("ffmpeg") else "replay.gif"
    assert sorted(path.name for path in hub.iterdir()) == ["README.md", "config.toml", "policy.safetensors", film]
    card = (hub / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: sane-rl\n") and "mean_reward" in card
    start = (hub / film).read_bytes()[:8]
    assert film in card and (start[4:] == b"ftyp" if film == "replay.mp4" else start[:6] == b"GIF89a")
    assert sane_rl.Policy.load(hub / "policy.safetensors").agent == "sane"
    run_program("train", "risky-road", "--config", hub / "config.toml", "--out", tmp_path / "again")
    digests = [run_program("runs", "hash", folder).split() for folder in (small_run, tmp_path / "again")]
    assert digests[0] == digests[1]
    full = subprocess.run(
        [sys.executable, "-m", "sane_rl", "export", small_run, "--hub", hub], capture_output=True, text=True
    )
    assert full.returncode == 2 and "is not empty" in full.stderr


def test_the_program_reports_by_its_exit_code():
    version = subprocess.run([sys.executable, "-m", "sane_rl", "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and version.stdout.startswith("sane ")
    wrong = subprocess.run([sys.executable, "-m", "sane_rl", "train"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "sane train" in wrong.stderr
