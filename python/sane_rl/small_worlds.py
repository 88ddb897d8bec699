"""The small worlds as Gymnasium environments: MinAtar, deep sea, the risky road. They need no ROM."""

from __future__ import annotations

from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces

from sane_rl import _native


class SmallWorldEnv(gymnasium.Env[np.ndarray, np.int64]):
    """A world of the program, by its name: `minatar/breakout`, `deep-sea/10`, `risky-road`.

    An observation has the shape (channels, rows, columns). `info["true_risk"]` is the probability that a random action leads
    to a harm that the best play avoids, in worlds that know it and as long as the episode lasts.

    Args:
        world: The name, as `sane train` takes it.
        size: For a name without one, the part after the slash: `SmallWorldEnv("deep-sea", size=20)`.
        render_mode: `rgb_array`.

    >>> import gymnasium, sane_rl
    >>> env = gymnasium.make("SANE/DeepSea-v0", size=5)
    >>> env.reset(seed=1)[0].shape
    (1, 5, 5)
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, world: str, size: int | None = None, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise gymnasium.error.Error(f"render_mode is {render_mode!r}; expected None or 'rgb_array'")
        self.world = world if size is None else f"{world}/{size}"
        self.render_mode = render_mode
        try:
            self._world = _native.World(self.world, 0)
        except ValueError as error:
            raise gymnasium.error.Error(str(error)) from None
        self.observation_space = spaces.Box(0, self._world.full_scale, self._world.shape, np.uint8)
        self.action_space = spaces.Discrete(len(self._world.actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode; a seed makes the world anew."""
        super().reset(seed=seed)
        return self._world.reset(seed), self._info()

    def step(self, action: SupportsIndex) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One decision."""
        try:
            index = action.__index__()
        except AttributeError:
            raise TypeError(f"an action is an integer, found {action!r} of type {type(action).__name__}") from None
        observation, reward, terminated, truncated = self._world.step(index)
        return observation, reward, terminated, truncated, self._info()

    def render(self) -> np.ndarray | None:
        """A picture of the world if `render_mode` is `rgb_array`."""
        return self._world.picture() if self.render_mode == "rgb_array" else None

    def clone_state(self) -> bytes:
        """Everything that decides the future."""
        return self._world.snapshot()

    def restore_state(self, state: bytes) -> None:
        """Restores a state of the same world; another is a `ValueError` and changes nothing."""
        self._world.restore(state)

    def get_action_meanings(self) -> list[str]:
        """Names of the actions."""
        return self._world.actions

    def _info(self) -> dict[str, Any]:
        risk = self._world.true_risk()
        return {} if risk is None else {"true_risk": risk}
