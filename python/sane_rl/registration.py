"""Ids for Gymnasium: `SANE/<Game>-v5` and the small worlds, and on request those of ale-py."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.envs.registration import registry

from sane_rl import _native

_LONGEST_EPISODE = 108_000

# Names in which a digit or a run of letters is not what the rule below makes of it.
_CAMEL_EXCEPTIONS = {"tic_tac_toe_3d": "TicTacToe3D"}

_MINATAR = {
    "minatar/asterix": "Asterix",
    "minatar/breakout": "Breakout",
    "minatar/freeway": "Freeway",
    "minatar/seaquest": "Seaquest",
    "minatar/space_invaders": "SpaceInvaders",
}


def game_id(game: str) -> str:
    """The name of a game as it stands in ids: `road_runner` → `RoadRunner`."""
    return _CAMEL_EXCEPTIONS.get(game) or "".join(part.capitalize() for part in game.split("_"))


def register(take_over_ale: bool = False) -> None:
    """Registers the environments; importing `sane_rl` has done so already.

    With `take_over_ale`, the ids of ale-py (`ALE/<Game>-v5`, `<Game>NoFrameskip-v4`, `<Game>-v4`) mean this package's games,
    too, so that programs run without a change:

    >>> import gymnasium, sane_rl
    >>> sane_rl.register(take_over_ale=True)
    >>> gymnasium.spec("ALE/Boxing-v5").entry_point
    'sane_rl.atari_env:AtariEnv'
    """
    for game, *_ in _native.games():
        name = game_id(game)
        sticky = {"repeat_action_probability": 0.25, "frameskip": 4}
        _register(f"SANE/{name}-v5", game, sticky, vector=True)
        if take_over_ale:
            _register(f"ALE/{name}-v5", game, sticky, vector=True)
            _register(f"{name}-v4", game, {"repeat_action_probability": 0.0, "frameskip": (2, 5)})
            _register(f"{name}NoFrameskip-v4", game, {"repeat_action_probability": 0.0, "frameskip": 1})
    for world, name in _MINATAR.items():
        _register_small(f"SANE/MinAtar-{name}-v1", {"world": world})
    _register_small("SANE/DeepSea-v0", {"world": "deep-sea", "size": 10})
    _register_small("SANE/RiskyRoad-v0", {"world": "risky-road"})


def _register(id: str, game: str, kwargs: dict[str, Any], vector: bool = False) -> None:
    registry.pop(id, None)
    gymnasium.register(
        id=id,
        entry_point="sane_rl.atari_env:AtariEnv",
        vector_entry_point="sane_rl.vector_env:AtariVectorEnv" if vector else None,
        kwargs={
            "game": game,
            "full_action_space": False,
            "max_num_frames_per_episode": _LONGEST_EPISODE,
            **kwargs,
        },
    )


def _register_small(id: str, kwargs: dict[str, Any]) -> None:
    registry.pop(id, None)
    gymnasium.register(id=id, entry_point="sane_rl.small_worlds:SmallWorldEnv", kwargs=kwargs)
