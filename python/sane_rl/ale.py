"""`ALEInterface`: the interface of ale-py, for programs written against it."""

from __future__ import annotations

import enum
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sane_rl import _native
from sane_rl.games import GameInfo, ale_package_roms, game_table

_INTS = {"random_seed": -1, "frame_skip": 1, "max_num_frames_per_episode": 0}
_BOOLS = {"truncate_on_loss_of_life": False, "color_averaging": False, "sound": False, "display_screen": False}
_FLOATS = {"repeat_action_probability": 0.25}


class Action(enum.IntEnum):
    """The 18 actions by name."""

    NOOP, FIRE, UP, RIGHT, LEFT, DOWN = range(6)
    UPRIGHT, UPLEFT, DOWNRIGHT, DOWNLEFT = range(6, 10)
    UPFIRE, RIGHTFIRE, LEFTFIRE, DOWNFIRE = range(10, 14)
    UPRIGHTFIRE, UPLEFTFIRE, DOWNRIGHTFIRE, DOWNLEFTFIRE = range(14, 18)


class ALEState:
    """The state of a game, from `cloneState` or `cloneSystemState`: exact in every game, picklable."""

    def __init__(self, state: _native.AleState) -> None:
        self._state = state

    def getFrameNumber(self) -> int:
        return self._state.frame_number

    def getEpisodeFrameNumber(self) -> int:
        return self._state.episode_frame_number

    def getDifficulty(self) -> int:
        return self._state.difficulty

    def getCurrentMode(self) -> int:
        return self._state.mode

    def serialize(self) -> bytes:
        return self._state.serialize()

    def equals(self, other: ALEState) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ALEState) and self._state == other._state

    __hash__ = None  # type: ignore[assignment]


class ALEInterface:
    """A game behind the methods of ale-py's `ALEInterface`. Settings take effect when a ROM is loaded.

    >>> from sane_rl import ALEInterface
    >>> ale = ALEInterface()
    >>> ale.setInt("random_seed", 1)
    >>> ale.loadROM("boxing")
    >>> ale.getScreenDims(), ale.act(0), ale.getFrameNumber()
    ((210, 160), 0, 1)
    """

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {**_INTS, **_BOOLS, **_FLOATS}
        self._ale: _native.Ale = _NothingLoaded()  # type: ignore[assignment]

    @classmethod
    def _of(cls, loaded: _native.Ale) -> ALEInterface:
        """The interface to a game that an environment has loaded."""
        interface = cls()
        interface._ale = loaded
        return interface

    # Settings.

    def getInt(self, key: str) -> int:
        return int(self._get(key, _INTS))

    def getBool(self, key: str) -> bool:
        return bool(self._get(key, _BOOLS))

    def getFloat(self, key: str) -> float:
        return float(self._get(key, _FLOATS))

    def setInt(self, key: str, value: int) -> None:
        value = int(value)
        if key == "frame_skip" and value < 1 or key == "max_num_frames_per_episode" and value < 0:
            raise ValueError(f"{key} is {value}; expected at least {1 if key == 'frame_skip' else 0}")
        self._set(key, value, _INTS)

    def setBool(self, key: str, value: bool) -> None:
        if value and key in ("color_averaging", "sound", "display_screen"):
            raise NotImplementedError(f"{key} is not supported: this console has neither colour averaging, sound nor a window")
        self._set(key, bool(value), _BOOLS)

    def setFloat(self, key: str, value: float) -> None:
        if key == "repeat_action_probability" and not 0.0 <= value <= 1.0:
            raise ValueError(f"{key} is {value}; expected a probability from 0 to 1")
        self._set(key, float(value), _FLOATS)

    def getString(self, key: str) -> str:
        raise KeyError(f"there is no text setting {key!r}")

    def setString(self, key: str, value: str) -> None:
        raise KeyError(f"there is no text setting {key!r}")

    # Games.

    def loadROM(self, rom: str | os.PathLike[str]) -> None:
        """Loads a game: the path of its ROM, or its name."""
        game = self._game_of(rom)
        seed = self._settings["random_seed"]
        self._ale = _native.Ale(
            game,
            seed=secrets.randbits(32) if seed == -1 else seed % 2**32,
            repeat_action_probability=self._settings["repeat_action_probability"],
            frame_skip=self._settings["frame_skip"],
            max_episode_frames=self._settings["max_num_frames_per_episode"] or None,
            truncate_on_life_loss=self._settings["truncate_on_loss_of_life"],
            ale_package=ale_package_roms(),
        )

    @staticmethod
    def isSupportedROM(rom: str | os.PathLike[str]) -> str | None:
        """The name of the game whose ROM this file is; None if it is none of the 104."""
        return _native.game_of_rom(os.fspath(rom))

    def reset_game(self) -> None:
        self._ale.reset_game()

    def act(self, action: int, paddle_strength: float = 1.0) -> int:
        """Holds an action for `frame_skip` frames; the sum of their rewards."""
        if paddle_strength != 1.0:
            raise NotImplementedError(f"paddle_strength is {paddle_strength}; only 1.0 is supported")
        return self._ale.act(action)

    def game_over(self, with_truncation: bool = True) -> bool:
        return self._ale.game_over(with_truncation)

    def game_truncated(self) -> bool:
        return self._ale.is_truncated

    def lives(self) -> int:
        return self._ale.lives

    def getFrameNumber(self) -> int:
        return self._ale.frame_number

    def getEpisodeFrameNumber(self) -> int:
        return self._ale.episode_frame_number

    def getLegalActionSet(self) -> list[Action]:
        return [Action(action) for action in self._game.legal_actions]

    def getMinimalActionSet(self) -> list[Action]:
        return [Action(action) for action in self._game.minimal_actions]

    def getAvailableModes(self) -> list[int]:
        return list(self._game.modes)

    def getAvailableDifficulties(self) -> list[int]:
        return list(self._game.difficulties)

    def setMode(self, mode: int) -> None:
        """Sets the mode of the games after the next `reset_game`."""
        self._ale.set_mode(mode)

    def setDifficulty(self, difficulty: int) -> None:
        self._ale.set_difficulty(difficulty)

    # Memory and screen.

    def getRAMSize(self) -> int:
        return 128

    def getRAM(self, buffer: np.ndarray | None = None) -> np.ndarray | None:
        return _into(buffer, self._ale.ram())

    def setRAM(self, index: int, value: int) -> None:
        self._ale.set_ram(index, value)

    def getScreenDims(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._ale.screen_size

    def getScreen(self, buffer: np.ndarray | None = None) -> np.ndarray | None:
        """The screen as colour indices."""
        return _into(buffer, self._ale.screen())

    def getScreenGrayscale(self, buffer: np.ndarray | None = None) -> np.ndarray | None:
        return _into(buffer, self._ale.screen_gray())

    def getScreenRGB(self, buffer: np.ndarray | None = None) -> np.ndarray | None:
        return _into(buffer, self._ale.screen_rgb())

    def getAudio(self, *_: Any) -> NoReturn:
        raise NotImplementedError("this console has no audio: the sound registers are accepted and not played")

    def getAudioSize(self) -> int:
        self.getAudio()

    # States.

    def cloneState(self, include_rng: bool = False) -> ALEState:
        """The state without that of sticky actions, unless `include_rng`."""
        return ALEState(self._ale.clone_state(include_rng))

    def restoreState(self, state: ALEState) -> None:
        self._ale.restore_state(state._state)

    def cloneSystemState(self) -> ALEState:
        """The state with everything that is left to chance."""
        return self.cloneState(include_rng=True)

    def restoreSystemState(self, state: ALEState) -> None:
        self.restoreState(state)

    @property
    def _game(self) -> GameInfo:
        return game_table()[self._ale.name]

    @staticmethod
    def _game_of(rom: str | os.PathLike[str]) -> str:
        if isinstance(rom, str) and rom in game_table():
            return rom
        game = ALEInterface.isSupportedROM(rom)
        if game is None:
            raise ValueError(f"{Path(rom)} is not the ROM of a supported game; its checksum is that of none of the 104")
        return game

    def _get(self, key: str, known: Mapping[str, Any]) -> Any:
        if key not in known:
            raise KeyError(f"there is no setting {key!r}; there are {', '.join(known)}")
        return self._settings[key]

    def _set(self, key: str, value: Any, known: Mapping[str, Any]) -> None:
        self._get(key, known)
        self._settings[key] = value


class _NothingLoaded:
    """In the place of a game before one is loaded."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no game is loaded; call loadROM first")


def _into(buffer: np.ndarray | None, value: np.ndarray) -> np.ndarray | None:
    if buffer is None:
        return value
    if buffer.shape != value.shape or buffer.dtype != value.dtype:
        raise ValueError(
            f"the buffer has shape {buffer.shape} of {buffer.dtype}; expected {value.shape} of {value.dtype}"
        )
    buffer[...] = value
    return None
