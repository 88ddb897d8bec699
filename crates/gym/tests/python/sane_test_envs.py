"""Environments that behave, and some that do not, for the tests of the bridge."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Graph


class Counter(gymnasium.Env):
    """Counts its steps. Options say what happens at which step, and what it shows."""

    def __init__(self, shape=(2,), dtype="float32", at=3, event="nothing", actions=2, first=0, factor=1.0, marks=""):
        high = 255 if dtype == "uint8" else np.inf
        self.observation_space = Box(0, high, tuple(shape), np.dtype(dtype))
        self.action_space = Discrete(actions, start=first)
        self.marks = marks
        self.at, self.event, self.factor, self.count, self.last = at, event, factor, 0, None

    def shown(self):
        size = int(np.prod(self.observation_space.shape))
        values = (np.arange(size) + self.count).reshape(self.observation_space.shape)
        return values.astype(self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        if self.event == "child":
            self.event = "nothing"
            subprocess.Popen(["sh", "-c", "trap '' HUP IO TERM; echo $$ > \"$0\"; exec sleep 1000", self.marks])
            while not (os.path.exists(self.marks) and os.path.getsize(self.marks)):
                time.sleep(0.01)
        if self.event == "noisy start":
            self.count = int(self.np_random.integers(100))
        return self.shown(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.count += 1
        terminated = truncated = False
        reward = self.factor * float(action)
        shown = self.shown()
        if self.count == self.at:
            if self.event == "exit":
                print("about to leave", flush=True)
                os._exit(3)
            elif self.event == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.event == "hang":
                print("about to hang", file=sys.stderr, flush=True)
                time.sleep(1000)
            elif self.event == "raise":
                raise RuntimeError("the bridge is out")
            elif self.event == "nan reward":
                reward = float("nan")
            elif self.event == "nan":
                shown[0] = np.nan
            elif self.event == "wrong shape":
                shown = np.zeros(7, np.float32)
            elif self.event == "terminate":
                terminated = True
            elif self.event == "truncate":
                truncated = True
            elif self.event == "both":
                terminated = truncated = True
            elif self.event == "print":
                print("x" * 10_000)
                os.write(1, b"\x00" * 5_000)
        return shown, reward, terminated, truncated, {}

    def close(self):
        if self.event == "marks its end":
            with open(self.marks, "a") as file:
                file.write("closed\n")


class Networked(Counter):
    """Shows something that is no box."""

    def __init__(self):
        super().__init__()
        self.observation_space = Graph(Box(0, 1, (2,)), None)


gymnasium.register("Counter-v0", Counter, max_episode_steps=50)
gymnasium.register("Unlimited-v0", Counter)
gymnasium.register("Wrapped-v0", lambda **kwargs: gymnasium.wrappers.TimeLimit(Counter(**kwargs), 50))
gymnasium.register("Networked-v0", Networked)
