"""Many Atari games at once, preprocessed and stacked, stepped by threads in Rust without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, SupportsIndex, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sane_rl import _native
from sane_rl.games import ale_package_roms, game_info

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

EnvState = _native.LaneState
"""The state of one environment of a vector, from `AtariVectorEnv.clone_state`: exact, picklable."""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Method = Callable[Concatenate["AtariVectorEnv", _Parameters], _Result]


def _one_thread_at_a_time(method: _Method[_Parameters, _Result]) -> _Method[_Parameters, _Result]:
    """Says what happened if a second thread calls the vector while it works without the interpreter's lock."""

    @wraps(method)
    def call(self: AtariVectorEnv, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return method(self, *args, **kwargs)
        except RuntimeError as error:
            if "borrowed" not in str(error):
                raise
            raise RuntimeError(
                f"another thread is in this vector, so {method.__name__} was not begun; "
                "use a vector from one thread at a time, or make one for each"
            ) from None

    return call


class AtariVectorEnv(VectorEnv):
    """Atari games in one vector. With ale-py's arguments, equal to its `AtariVectorEnv` on equal seeds and actions.

    Args:
        game: A game, or one game per environment.
        num_envs: Number of environments.
        batch_size: Environments that `recv` waits for; 0 is all of them.
        num_threads: Threads that step them; 0 is one per core. Results do not depend on it.
        max_num_frames_per_episode: Frames after which an episode is truncated; None or 0 is never.
        repeat_action_probability: Probability that a frame repeats the previous action.
        full_action_space: All legal actions, which several games in one vector usually need.
        autoreset_mode: When an environment whose episode ended is reset: `NextStep`, `SameStep` or `Disabled`.
        img_height, img_width: Size of a frame.
        grayscale: Luma; otherwise the last axis holds red, green and blue.
        stack_num: Frames of an observation, the newest last.
        frameskip: Frames per step.
        maxpool: A frame is the pixelwise maximum of a step's last two screens.
        noop_max: An episode starts with fewer than this many frames without an action.
        use_fire_reset: An episode starts with FIRE, in games that have it.
        episodic_life: A lost life ends the episode.
        life_loss_info: A lost life sets the termination flag; the game continues.
        reward_clipping: Rewards are reduced to their signs.
        mode, difficulty: One for all environments, or one per environment; None is the default one.

    >>> import numpy as np, sane_rl
    >>> envs = sane_rl.AtariVectorEnv("boxing", 2)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([0, 1]))
    >>> observations.shape, infos["env_id"].tolist()
    ((2, 4, 84, 84), [0, 1])
    """

    def __init__(
        self,
        game: str | Sequence[str],
        num_envs: int,
        *,
        batch_size: int = 0,
        num_threads: int = 0,
        max_num_frames_per_episode: int | None = 108_000,
        repeat_action_probability: float = 0.0,
        full_action_space: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        img_height: int = 84,
        img_width: int = 84,
        grayscale: bool = True,
        stack_num: int = 4,
        frameskip: int = 4,
        maxpool: bool = True,
        noop_max: int = 30,
        use_fire_reset: bool = True,
        episodic_life: bool = False,
        life_loss_info: bool = False,
        reward_clipping: bool = True,
        mode: int | Sequence[int | None] | None = None,
        difficulty: int | Sequence[int | None] | None = None,
    ) -> None:
        _check_counts(
            num_envs=(num_envs, 1),
            batch_size=(batch_size, 0),
            num_threads=(num_threads, 0),
            img_height=(img_height, 1),
            img_width=(img_width, 1),
            stack_num=(stack_num, 1),
            frameskip=(frameskip, 1),
            noop_max=(noop_max, 0),
        )
        self.num_envs = num_envs
        self.games = _one_per_env("game", game, num_envs)
        for name in set(self.games):
            game_info(name)
        self.batch_size = batch_size or num_envs
        if num_envs < self.batch_size:
            raise ValueError(f"batch_size is {batch_size}; expected at most the {num_envs} environments")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": ["rgb_array"],
            "render_fps": max(60 // frameskip, 1),
        }
        self.render_mode = None
        self._vector = _native.Vector(
            self.games,
            modes=_one_per_env("mode", mode, num_envs),
            difficulties=_one_per_env("difficulty", difficulty, num_envs),
            frameskip=frameskip,
            grayscale=grayscale,
            stack_num=stack_num,
            img_height=img_height,
            img_width=img_width,
            maxpool=maxpool,
            reward_clipping=reward_clipping,
            noop_max=noop_max,
            use_fire_reset=use_fire_reset,
            episodic_life=episodic_life,
            life_loss_info=life_loss_info,
            max_num_frames_per_episode=max_num_frames_per_episode or None,
            repeat_action_probability=repeat_action_probability,
            full_action_space=full_action_space,
            autoreset_mode=self.autoreset_mode.value,
            num_threads=num_threads,
            ale_package=ale_package_roms(),
        )
        shape = (stack_num, img_height, img_width) + (() if grayscale else (3,))
        self.single_observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.single_action_space = spaces.Discrete(self._vector.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        self.action_space = batch_space(self.single_action_space, self.batch_size)
        # The environments that the next actions are for, in asynchronous use.
        self._received: np.ndarray | None = None

    @_one_thread_at_a_time
    def reset(
        self, *, seed: int | Sequence[int | None] | np.ndarray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_native._Bytes, dict[str, Any]]:
        """Resets all environments, or those of `options["reset_mask"]`.

        An integer seeds environment i with `seed + i`; an array has one seed for each environment that is reset. Without a
        seed, what is left to chance continues.
        """
        mask = self._mask((options or {}).get("reset_mask"))
        seeds = self._seeds(seed, mask)
        if self.batch_size == self.num_envs:
            return self._vector.reset(mask.tolist(), seeds)
        if not mask.all():
            raise ValueError(
                f"a partial reset needs batch_size == num_envs; they are {self.batch_size} and {self.num_envs}"
            )
        if self._received is not None:
            self._collect()
        self._vector.send_resets(seeds)
        observations, _, _, _, info = self.recv()
        return observations, info

    @_one_thread_at_a_time
    def step(self, actions: ArrayLike) -> _native._Batch:
        """One step of every environment (with `batch_size`, of those that were received last)."""
        if self.batch_size == self.num_envs:
            return self._vector.step(self._actions(actions, self.num_envs))
        self.send(actions)
        return self.recv()

    @_one_thread_at_a_time
    def send(self, actions: ArrayLike, env_ids: Sequence[int] | np.ndarray | None = None) -> None:
        """Begins a step of the environments that were received last, or of those named; `recv` has the results."""
        if env_ids is None:
            env_ids = np.arange(self.num_envs) if self.batch_size == self.num_envs else self._received
        if env_ids is None:
            raise ValueError("no environment has been received; reset the vector first")
        ids = [self._env(env) for env in env_ids]
        self._vector.send(ids, self._actions(actions, len(ids)))

    @_one_thread_at_a_time
    def recv(self) -> _native._Batch:
        """Waits until `batch_size` environments are ready, and returns them sorted by `info["env_id"]`."""
        batch = self._vector.receive(self.batch_size)
        self._received = batch[4]["env_id"]
        return batch

    @_one_thread_at_a_time
    def clone_state(self, env: int) -> EnvState:
        """The state of one environment."""
        return self._vector.clone_state(self._env(env))

    @_one_thread_at_a_time
    def restore_state(self, env: int, state: EnvState) -> np.ndarray:
        """Restores the state of one environment and returns its observation."""
        self._vector.restore_state(self._env(env), state)
        return self._vector.observation(env)

    @_one_thread_at_a_time
    def get_ram(self) -> np.ndarray:
        """The RAM of all environments, one row of 128 bytes each."""
        return self._vector.ram()

    @_one_thread_at_a_time
    def get_action_meanings(self, env: int = 0) -> list[str]:
        """Names of the actions of an environment."""
        return self._vector.action_meanings(self._env(env))

    @_one_thread_at_a_time
    def render(self) -> tuple[np.ndarray, ...]:
        """The screens of all environments in colour."""
        return tuple(self._vector.screen_rgb(env) for env in range(self.num_envs))

    def _env(self, env: SupportsIndex) -> int:
        env = env.__index__()
        if not 0 <= env < self.num_envs:
            raise ValueError(f"there is no environment {env}; the vector has 0 to {self.num_envs - 1}")
        return env

    def _collect(self) -> None:
        """Takes back what threads still hold, so that all environments can be reset."""
        while True:
            try:
                self._vector.receive(1)
            except ValueError:
                return

    def _mask(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.ones(self.num_envs, dtype=bool)
        array: np.ndarray = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != bool:
            raise ValueError(f"reset_mask has shape {array.shape} of {array.dtype}; expected ({self.num_envs},) of bool")
        if not array.any():
            raise ValueError("reset_mask selects no environment")
        return array

    def _seeds(self, seed: Any, mask: np.ndarray) -> list[int | None]:
        count = int(mask.sum())
        if seed is None:
            given: list[int | None] = [None] * count
        elif isinstance(seed, (int, np.integer)):
            given = [int(seed) + i for i in range(count)]
        else:
            given = [None if one is None else int(one) for one in seed]
        if len(given) != count:
            raise ValueError(f"{len(given)} seeds for {count} environments that are reset")
        for one in given:
            if one is not None and not 0 <= one < 2**32:
                raise ValueError(f"the seed {one} is not between 0 and 2**32 - 1")
        seeds = iter(given)
        return [next(seeds) if reset else None for reset in mask]

    @staticmethod
    def _actions(actions: Any, count: int) -> np.ndarray:
        array = np.asarray(actions)
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"actions of type {array.dtype}; expected integers")
        if array.shape != (count,):
            raise ValueError(f"actions of shape {array.shape}; expected ({count},), one for each environment")
        return np.ascontiguousarray(array, dtype=np.int64)


def _one_per_env(what: str, value: Any, num_envs: int) -> list[Any]:
    if value is None or isinstance(value, (str, int, np.integer)):
        return [value] * num_envs
    values = list(value)
    if len(values) != num_envs:
        raise ValueError(f"{len(values)} values of {what} for {num_envs} environments; give one, or one for each")
    return values


def _check_counts(**counts: tuple[Any, int]) -> None:
    for name, (found, least) in counts.items():
        if not isinstance(found, (int, np.integer)) or found < least:
            raise ValueError(f"{name} is {found!r}; expected an integer of at least {least}")
