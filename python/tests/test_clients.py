"""Other people's programs: they train on these environments with nothing changed but the id, and learn the same."""

import importlib.util
from pathlib import Path

import gymnasium
import numpy as np
import pytest

DQN = Path(__file__).parents[1] / "examples" / "dqn.py"


@pytest.fixture
def ale_ids(ale_py):
    """The ids of ale-py, answered by ale-py itself."""
    gymnasium.register_envs(ale_py)
    for id in [id for id in gymnasium.registry if id.startswith("ALE/")]:
        gymnasium.registry.pop(id)
    ale_py.register_v5_envs()
    assert gymnasium.spec("ALE/Breakout-v5").entry_point.startswith("ale_py")


def test_a_dqn_script_has_the_same_curve_with_both_packages(ale_ids):
    spec = importlib.util.spec_from_file_location("dqn", DQN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ours, theirs = (module.train(f"{space}/Breakout-v5", 400) for space in ("SANE", "ALE"))
    assert ours == theirs and 50 < len(ours)


def _baselines():
    """Stable-Baselines3 needs PyTorch, gigabytes that are not fetched for a test."""
    return pytest.importorskip("stable_baselines3", reason="left out: stable-baselines3 is not installed")


class Curve:
    """Records what an algorithm saw and learned."""

    def __new__(cls):
        from stable_baselines3.common.callbacks import BaseCallback

        class Recorder(BaseCallback):
            def __init__(self):
                super().__init__()
                self.points = []

            def _on_step(self):
                self.points.append((self.num_timesteps, *map(float, self.locals["rewards"])))
                return True

        return Recorder()


@pytest.mark.parametrize("algorithm", ["DQN", "PPO"])
def test_stable_baselines3_learns_the_same_with_both_packages(ale_ids, algorithm):
    _baselines()
    import stable_baselines3
    import torch
    from stable_baselines3.common.atari_wrappers import AtariWrapper
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    torch.set_num_threads(1)
    options = {
        "DQN": {"buffer_size": 600, "learning_starts": 100, "target_update_interval": 100},
        "PPO": {"n_steps": 64, "batch_size": 32, "n_epochs": 2},
    }[algorithm]
    results = []
    for space in ("SANE", "ALE"):
        make = lambda: AtariWrapper(  # noqa: E731
            gymnasium.make(f"{space}/Breakout-v5", frameskip=1, repeat_action_probability=0.0)
        )
        envs = VecFrameStack(DummyVecEnv([make]), 4)
        model = getattr(stable_baselines3, algorithm)("CnnPolicy", envs, seed=3, device="cpu", **options)
        curve = Curve()
        model.learn(320, callback=curve)
        weights = np.concatenate([p.detach().numpy().ravel() for p in model.policy.parameters()])
        results.append((curve.points, weights))
    (ours, our_weights), (theirs, their_weights) = results
    assert ours == theirs and np.array_equal(our_weights, their_weights)
