"""Train, evaluate, act and read results from Python: the same loop and the same bytes as the program `sane`."""

# %% Training. The same call resumes a stopped run; Ctrl-C saves it.
import os

import numpy as np

import sane_rl

steps = int(os.environ.get("SANE_EXAMPLE_STEPS", 20_000))
run = sane_rl.train(
    "risky-road", "sane", steps=steps, settings={"training.learning_starts": 300, "record.interval": 200}, progress=False
)
print(run)

# %% The policy: an action, its values, and σ(s), the width of its noise.
policy = sane_rl.Policy.load(run)
env = sane_rl.SmallWorldEnv("risky-road")
observation, info = env.reset(seed=1)
for _ in range(5):
    decision = policy.act(observation, noise=True)
    print(policy.actions[decision.action], np.round(decision.q_values, 3), "σ", np.round(decision.sigma, 4), info)
    observation, _, terminated, truncated, info = env.step(decision.action)

# %% Whole episodes from seeded starts.
result = sane_rl.evaluate(run, noise=False, interactions=500, record=True)
print("mean return", result["return_mean"], "of", result["episodes"], "episodes")

# %% All runs below a folder, as data frames (dicts of arrays without pandas).
runs = sane_rl.runs("runs")
print(runs.curves[["interactions", "return_mean_last_100"]] if hasattr(runs.curves, "columns") else runs.curves)
