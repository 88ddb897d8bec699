"""Trained policies: load one, and let it act."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from sane_rl import _native


class Decision(NamedTuple):
    """What a policy decided: for one state, or one row per state of a batch."""

    action: np.ndarray | int
    """The action, or the actions."""
    q_values: np.ndarray
    """Action values: of the perturbed network where there was noise."""
    sigma: np.ndarray
    """All σ(s), with their signs; empty for agents without."""


class Policy:
    """The network of a trained agent.

    >>> policy = sane_rl.Policy.load("runs/boxing/q-sane/seed-1")               # doctest: +SKIP
    >>> policy.act(observation, noise=False).action                             # doctest: +SKIP
    3
    """

    def __init__(self, native: _native.Policy) -> None:
        self._native = native
        self._draws = 0

    @classmethod
    def load(cls, path: str | os.PathLike[str], checkpoint: int | None = None) -> Policy:
        """A policy from a run folder, at its newest checkpoint or that of an interaction, or from `sane export`'s file."""
        return cls(_native.Policy(os.fspath(path), checkpoint))

    @property
    def world(self) -> str:
        """The world it was trained in."""
        return self._native.world

    @property
    def agent(self) -> str:
        """Its way of exploring."""
        return self._native.agent

    @property
    def actions(self) -> list[str]:
        """Names of the actions."""
        return self._native.actions

    @property
    def interactions(self) -> int | None:
        """Interactions after which it was saved; None for an exported file."""
        return self._native.interactions

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Shape of a state: channels (frames), rows, columns."""
        return self._native.shape

    @property
    def settings(self) -> str:
        """The settings of its run, as TOML."""
        return self._native.settings

    def act(self, observation: np.ndarray, noise: bool = True, seed: int | None = None) -> Decision:
        """Decides in one state, or in each state of a batch.

        Without noise the numbers are those of `sane eval --dump-states`. With noise every state gets a draw of its own; the
        same seed repeats them, and without one each call draws anew. One seed for all states of an episode, one by one,
        holds a draw for the episode, as `thompson = "episode"` and the heads of `bootstrapped` are meant.
        """
        dtype = np.dtype(np.uint8 if self._native.takes_bytes else np.float32)
        states = np.asarray(observation)
        shape = self.observation_shape
        size = int(np.prod(shape))
        single = states.shape == shape or states.shape == (size,)
        if not single and states.shape[1:] != shape and states.shape[1:] != (size,):
            raise ValueError(f"an observation of shape {states.shape}; expected {shape}, or a batch of them")
        if states.dtype != dtype:
            raise ValueError(f"an observation of type {states.dtype}; expected {dtype}")
        if seed is None:
            seed, self._draws = self._draws, self._draws + 1
        count = 1 if single else len(states)
        rows = np.ascontiguousarray(states).reshape(count, size).view(np.uint8)
        actions, q_values, sigma = self._native.act(rows, noise, seed)
        return Decision(int(actions[0]), q_values[0], sigma[0]) if single else Decision(actions, q_values, sigma)

    def __repr__(self) -> str:
        after = "exported" if self.interactions is None else f"after {self.interactions} interactions"
        return f"<policy of {self.agent} on {self.world}, {after}>"
