"""A whole deep Q-network in one file, against plain Gymnasium and numpy: nothing here knows which package the game comes from.

    python dqn.py SANE/Boxing-v5            # or ALE/Boxing-v5 with `import ale_py`: the same curve
"""

# %%
import os
import sys

import gymnasium
import numpy as np


class Network:
    """RAM (128 bytes) → one hidden layer → action values; Adam."""

    def __init__(self, rng, actions, hidden=64):
        self.params = [
            rng.normal(0, 1 / np.sqrt(128), (128, hidden)),
            np.zeros(hidden),
            rng.normal(0, 1 / np.sqrt(hidden), (hidden, actions)),
            np.zeros(actions),
        ]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in self.params]
        self.updates = 0

    def values(self, x):
        w1, b1, w2, b2 = self.params
        h = np.maximum(x @ w1 + b1, 0)
        return h, h @ w2 + b2

    def learn(self, x, actions, targets, rate=1e-3):
        w1, b1, w2, b2 = self.params
        h, q = self.values(x)
        rows = np.arange(len(x))
        error = np.clip(q[rows, actions] - targets, -1, 1) / len(x)
        dq = np.zeros_like(q)
        dq[rows, actions] = error
        dh = (dq @ w2.T) * (h > 0)
        self.updates += 1
        for p, (m, v), g in zip(self.params, self.moments, [x.T @ dh, dh.sum(0), h.T @ dq, dq.sum(0)], strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * (m / (1 - 0.9**self.updates)) / (np.sqrt(v / (1 - 0.999**self.updates)) + 1e-8)
        return float(np.abs(error).sum())


def train(id, steps, seed=1):
    """The learning curve: step, return of each episode and mean TD error."""
    rng = np.random.default_rng(seed)
    env = gymnasium.make(id, obs_type="ram", max_num_frames_per_episode=400)
    network = Network(rng, env.action_space.n)
    replay, curve, total = [], [], 0.0
    observation, _ = env.reset(seed=seed)
    for step in range(steps):
        epsilon = max(0.1, 1 - 2 * step / steps)
        if rng.random() < epsilon:
            action = int(rng.integers(env.action_space.n))
        else:
            action = int(network.values(observation / 255.0)[1].argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.append((observation, action, np.sign(reward), following, terminated))
        observation, total = following, total + reward
        if terminated or truncated:
            curve.append((step, total))
            observation, total = env.reset()[0], 0.0
        if 100 <= step and step % 4 == 0:
            batch = [replay[i] for i in rng.integers(len(replay), size=32)]
            x, a, r, y, done = (np.array(column) for column in zip(*batch, strict=True))
            targets = r + 0.99 * ~done * network.values(y / 255.0)[1].max(1)
            curve.append((step, network.learn(x / 255.0, a, targets)))
    return curve


# %%
if __name__ == "__main__":
    import sane_rl  # noqa: F401  registers the ids

    id = sys.argv[1] if 1 < len(sys.argv) else "SANE/Boxing-v5"
    curve = train(id, int(os.environ.get("SANE_EXAMPLE_STEPS", 5_000)))
    print(id, "last points:", curve[-3:])
