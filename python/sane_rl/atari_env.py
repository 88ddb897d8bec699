"""An Atari game as a Gymnasium environment, with the arguments, spaces and infos of ale-py's."""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding

from sane_rl import _native
from sane_rl.ale import ALEInterface
from sane_rl.games import ACTION_MEANINGS, ale_package_roms, game_info, keys_of

AtariState = _native.AleState
"""The state of a game, from `AtariEnv.clone_state`: exact, comparable, picklable."""


class AtariEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One Atari game. Observations, rewards, endings and infos equal ale-py's with the same seed and actions.

    Args:
        game: Its name in snake case, such as `road_runner`.
        mode: Game mode; None is the default one.
        difficulty: Difficulty; None is the default one.
        obs_type: `rgb`, `grayscale` or `ram`.
        frameskip: Frames per step, or `(low, high)`: drawn anew for every step, `high` excluded.
        repeat_action_probability: Probability that a frame repeats the previous action instead of taking the new one.
        full_action_space: All legal actions instead of those that have an effect in the game.
        max_num_frames_per_episode: Frames after which an episode is truncated; None or 0 is never.
        render_mode: `rgb_array` or `human`.

    >>> import gymnasium, sane_rl
    >>> env = gymnasium.make("SANE/Boxing-v5", obs_type="grayscale")
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["lives"], env.unwrapped.get_action_meanings()[:3]
    ((210, 160), 0, ['NOOP', 'FIRE', 'UP'])
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}

    def __init__(
        self,
        game: str,
        mode: int | None = None,
        difficulty: int | None = None,
        obs_type: Literal["rgb", "grayscale", "ram"] = "rgb",
        frameskip: tuple[int, int] | int = 4,
        repeat_action_probability: float = 0.25,
        full_action_space: bool = False,
        max_num_frames_per_episode: int | None = None,
        render_mode: Literal["human", "rgb_array"] | None = None,
    ) -> None:
        _check_choice("obs_type", obs_type, ("rgb", "grayscale", "ram"))
        _check_choice("render_mode", render_mode, (None, "human", "rgb_array"))
        _check_frameskip(frameskip)
        if render_mode == "human":
            _pygame()
        if not 0.0 <= repeat_action_probability <= 1.0:
            raise gymnasium.error.Error(
                f"repeat_action_probability is {repeat_action_probability}; expected a probability from 0 to 1"
            )
        self._game = game_info(game)
        self._obs_type = obs_type
        self._frameskip = frameskip
        self._settings: dict[str, Any] = {
            "repeat_action_probability": repeat_action_probability,
            "max_episode_frames": max_num_frames_per_episode or None,
        }
        self._mode, self._difficulty = mode, difficulty
        self.render_mode = render_mode
        self._window: Any = None

        self._actions = self._game.legal_actions if full_action_space else self._game.minimal_actions
        self.action_space = spaces.Discrete(len(self._actions))
        self._load(seed=0)
        rows, columns = self._ale.screen_size
        shape = {"rgb": (rows, columns, 3), "grayscale": (rows, columns), "ram": (128,)}[obs_type]
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.np_random, _ = seeding.np_random()

    def _load(self, seed: int) -> None:
        ale = _native.Ale(self._game.name, seed=seed, ale_package=ale_package_roms(), **self._settings)
        if self._mode is not None:
            ale.set_mode(self._mode)
        if self._difficulty is not None:
            ale.set_difficulty(self._difficulty)
        self._ale = ale
        self.ale = ALEInterface._of(ale)
        """The game behind ale-py's interface, which wrappers ask for lives."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode. A seed loads the game anew, so that everything left to chance repeats."""
        info: dict[str, Any] = {}
        if seed is not None:
            info["seeds"] = seeds = tuple(np.random.SeedSequence(seed).generate_state(2))
            self.np_random, self._np_random_seed = np.random.Generator(np.random.PCG64(int(seeds[0]))), seed
            self._load(int(seeds[1]))
        self._ale.reset_game()
        if self.render_mode == "human":
            self._show()
        return self._observation(), {**self._info(), **info}

    def step(self, action: SupportsIndex) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Holds an action for the frames of the skip."""
        try:
            index = action.__index__()
        except AttributeError:
            raise TypeError(f"an action is an integer, found {action!r} of type {type(action).__name__}") from None
        if not 0 <= index < len(self._actions):
            raise ValueError(f"there is no action {index}; {self._game.name} has 0 to {len(self._actions) - 1} here")
        skip = self._frameskip
        frames = skip if isinstance(skip, int) else int(self.np_random.integers(*skip))
        reward = float(self._ale.hold(self._actions[index], frames))
        if self.render_mode == "human":
            self._show()
        terminated = self._ale.is_terminal
        truncated = self._ale.is_truncated
        return self._observation(), reward, terminated, truncated, self._info()

    def render(self) -> np.ndarray | None:
        """The screen in colour if `render_mode` is `rgb_array`; a window shows it by itself if it is `human`."""
        return self._ale.screen_rgb() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            _pygame().display.quit()
            self._window = None

    def clone_state(self, include_rng: bool = False) -> AtariState:
        """The state of the game: exact in every game. With `include_rng`, also that of sticky actions."""
        return self._ale.clone_state(include_rng)

    def restore_state(self, state: AtariState) -> None:
        """Restores a state of the same game; one of another game is a `ValueError` and changes nothing."""
        self._ale.restore_state(state)

    def get_action_meanings(self) -> list[str]:
        """Names of the actions, in the order of the action space."""
        return [ACTION_MEANINGS[action] for action in self._actions]

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """The keys of each action, for `gymnasium.utils.play`."""
        return {keys_of(action): index for index, action in enumerate(self._actions)}

    def get_ram(self) -> np.ndarray:
        """The 128 bytes of RAM."""
        return self._ale.ram()

    def _observation(self) -> np.ndarray:
        if self._obs_type == "rgb":
            return self._ale.screen_rgb()
        return self._ale.screen_gray() if self._obs_type == "grayscale" else self._ale.ram()

    def _info(self) -> dict[str, Any]:
        ale = self._ale
        return {
            "lives": ale.lives,
            "episode_frame_number": ale.episode_frame_number,
            "frame_number": ale.frame_number,
        }

    def _show(self) -> None:
        pygame, picture = _pygame(), self._ale.screen_rgb()
        if self._window is None:
            pygame.display.init()
            pygame.display.set_caption(self._game.name)
            self._window = pygame.display.set_mode((4 * picture.shape[1], 3 * picture.shape[0]))
            self._clock = pygame.time.Clock()
        surface = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        pygame.transform.scale(surface, self._window.get_size(), self._window)
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.metadata["render_fps"])


def _pygame() -> Any:
    try:
        import pygame
    except ImportError:
        raise gymnasium.error.DependencyNotInstalled(
            "render_mode human needs pygame; install it with `pip install pygame`, or use rgb_array"
        ) from None
    return pygame


def _check_choice(what: str, found: Any, expected: tuple[Any, ...]) -> None:
    if found not in expected:
        raise gymnasium.error.Error(f"{what} is {found!r}; expected one of {', '.join(map(repr, expected))}")


def _check_frameskip(frameskip: Any) -> None:
    if isinstance(frameskip, (int, np.integer)):
        valid = 1 <= frameskip
    else:
        valid = (
            isinstance(frameskip, (tuple, list))
            and len(frameskip) == 2
            and all(isinstance(bound, (int, np.integer)) for bound in frameskip)
            and 1 <= frameskip[0] < frameskip[1]
        )
    if not valid:
        raise gymnasium.error.Error(
            f"frameskip is {frameskip!r}; expected a positive integer or (low, high) with 1 <= low < high"
        )
