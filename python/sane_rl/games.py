"""The table of the games, and where their ROMs are."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import gymnasium

from sane_rl import _native

ACTION_MEANINGS = (
    "NOOP",
    "FIRE",
    "UP",
    "RIGHT",
    "LEFT",
    "DOWN",
    "UPRIGHT",
    "UPLEFT",
    "DOWNRIGHT",
    "DOWNLEFT",
    "UPFIRE",
    "RIGHTFIRE",
    "LEFTFIRE",
    "DOWNFIRE",
    "UPRIGHTFIRE",
    "UPLEFTFIRE",
    "DOWNRIGHTFIRE",
    "DOWNLEFTFIRE",
)
"""Names of the actions by their ids."""

_KEYS = {"UP": "w", "RIGHT": "d", "LEFT": "a", "DOWN": "s", "FIRE": " "}


@dataclass(frozen=True)
class GameInfo:
    """What is known of a game before it is loaded."""

    name: str
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    minimal_actions: tuple[int, ...]
    legal_actions: tuple[int, ...]
    screen_rows: int


@cache
def game_table() -> dict[str, GameInfo]:
    """All games by name.

    >>> len(game_table()), game_table()["boxing"].screen_rows
    (104, 210)
    """
    rows = _native.games()
    return {
        name: GameInfo(name, tuple(modes), tuple(difficulties), tuple(minimal), tuple(legal), screen_rows)
        for name, modes, difficulties, minimal, legal, screen_rows in rows
    }


def game_info(game: str) -> GameInfo:
    """One game; an unknown name is an error that suggests a similar one."""
    if game not in game_table():
        try:
            _native.Ale(game)
        except ValueError as error:
            raise gymnasium.error.Error(str(error)) from None
    return game_table()[game]


@cache
def ale_package_roms() -> str | None:
    """The ROM folder of an installed ale-py, found without importing it."""
    spec = importlib.util.find_spec("ale_py")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "roms"
    return str(folder) if folder.is_dir() else None


def keys_of(action: int) -> tuple[str, ...]:
    """The keys that press an action, as Gymnasium's `play` takes them."""
    name = ACTION_MEANINGS[action]
    if name == "NOOP":
        return ("e",)
    vertical = [_KEYS[part] for part in ("UP", "DOWN") if name.startswith(part)]
    horizontal = [_KEYS[part] for part in ("RIGHT", "LEFT") if part in name]
    return (*vertical, *horizontal, *([" "] if name.endswith("FIRE") else []))
