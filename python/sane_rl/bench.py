"""Speed against the published packages: `python -m sane_rl.bench`.

Every measurement is interleaved: each contestant runs for a fraction of a second, then the next, several rounds; the best
round counts, and the spread (slowest to fastest round) is printed beside it. Run it on an idle machine; on one that is not,
`--clock cpu` counts the processor time of this process, which waiting for other programs does not enter.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import sane_rl

PAPER_GAMES = (
    "asterix atlantis enduro ice_hockey qbert riverraid road_runner seaquest fishing_derby boxing bowling"
).split()

Work = Callable[[], int]
"""Does some work; returns how many units it did."""


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def measure(contestants: dict[str, Work], seconds: float, rounds: int, clock: str = "wall") -> dict[str, list[float]]:
    """Units per second of every contestant in every round, interleaved."""
    now = CLOCKS[clock]
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for work in contestants.values():
        work()
    for _ in range(rounds):
        for name, work in contestants.items():
            start, units = now(), 0
            while (elapsed := now() - start) < seconds:
                units += work()
            speeds[name].append(units / elapsed)
    return speeds


def act_only(package: str, game: str) -> Work:
    """Single frames of random actions through the interface."""
    ale = _interface(package)
    ale.setInt("random_seed", 1)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(_rom(package, game))
    actions = list(ale.getMinimalActionSet())
    order = [actions[i] for i in np.random.default_rng(1).integers(len(actions), size=1_000)]

    def work() -> int:
        act = ale.act
        for action in order:
            act(action)
            if ale.game_over():
                ale.reset_game()
        return len(order)

    return work


def single_env(package: str, game: str) -> Work:
    """Steps of four frames of one Gymnasium environment."""
    kwargs: dict[str, Any] = {"frameskip": 4, "repeat_action_probability": 0.25}
    env: Any
    if package == "sane_rl":
        env = sane_rl.AtariEnv(game, **kwargs)
    else:
        import ale_py

        env = ale_py.AtariEnv(game, **kwargs)
    env.reset(seed=1)
    order = np.random.default_rng(1).integers(env.action_space.n, size=250).tolist()

    def work() -> int:
        for action in order:
            *_, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(order)

    return work


def clone_restore(package: str, game: str) -> Work:
    """A clone and its restoration."""
    ale = _interface(package)
    ale.setInt("random_seed", 1)
    ale.loadROM(_rom(package, game))
    for _ in range(100):
        ale.act(0)

    def work() -> int:
        for _ in range(100):
            ale.restoreState(ale.cloneState())
        return 100

    return work


def vector(package: str, game: str, envs: int, threads: int) -> Work:
    """Steps of four frames of a vector of 84×84×4; one unit is one environment's step."""
    pool: Any
    if package == "envpool":
        import envpool

        name = "".join(part.capitalize() for part in game.split("_"))
        pool = envpool.make_gymnasium(f"{name}-v5", num_envs=envs, num_threads=threads)
        actions = pool.action_space.n
    else:
        kind = sane_rl.AtariVectorEnv if package == "sane_rl" else _ale_vector()
        pool = kind(game, envs, num_threads=threads)
        actions = pool.single_action_space.n
        pool.reset(seed=1)
    if package == "envpool":
        pool.reset()
    order = np.random.default_rng(1).integers(actions, size=(50, envs))

    def work() -> int:
        for row in order:
            pool.step(row)
        return order.size

    return work


def _ale_vector() -> Any:
    from ale_py.vector_env import AtariVectorEnv

    return AtariVectorEnv


def _interface(package: str) -> Any:
    if package == "sane_rl":
        return sane_rl.ALEInterface()
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py.ALEInterface()


def _rom(package: str, game: str) -> Any:
    if package == "sane_rl":
        return game
    import ale_py

    return ale_py.roms.get_rom_path(game)


def _installed() -> dict[str, str]:
    found = {}
    for package, distribution in (("ale_py", "ale-py"), ("envpool", "envpool")):
        try:
            __import__(package)
            found[package] = metadata.version(distribution)
        except ImportError as error:
            print(f"left out: {distribution} is not installed for Python {platform.python_version()} ({error})")
    return found


def _version() -> str:
    try:
        return metadata.version("sane-rl")
    except metadata.PackageNotFoundError:
        return "from source"


def _geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def main() -> None:
    """Prints the table; `--json` prints every round."""
    parser = argparse.ArgumentParser(prog="python -m sane_rl.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement [default: 5]")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a round [default: 0.5]")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="time that passes, or that of the processor [default: wall]")
    parser.add_argument("--games", nargs="*", default=PAPER_GAMES, help="games [default: the eleven of the paper]")
    parser.add_argument("--json", action="store_true", help="print every round as JSON")
    options = parser.parse_args()
    installed = _installed()
    with_ale = ["sane_rl", *(name for name in installed if name == "ale_py")]
    everyone = ["sane_rl", *installed]
    kinds: list[tuple[str, str, list[str], Callable[[str, str], Work]]] = [
        ("act only, one thread", "frames/s", with_ale, act_only),
        ("one environment, skip 4", "steps/s", with_ale, single_env),
        ("clone + restore", "pairs/s", with_ale, clone_restore),
        ("vector of 8, one thread", "steps/s", everyone, lambda p, g: vector(p, g, 8, 1)),
        ("vector of 8, two threads", "steps/s", everyone, lambda p, g: vector(p, g, 8, 2)),
    ]
    report: dict[str, Any] = {"machine": platform.platform(), "versions": {"sane_rl": _version(), **installed}}
    print(f"{report['machine']}; " + ", ".join(f"{name} {version}" for name, version in report["versions"].items()))
    print(
        f"best of {options.rounds} interleaved rounds of {options.seconds} s ({options.clock} time), "
        f"geometric mean of {len(options.games)} games"
    )
    measured: dict[str, dict[str, dict[str, list[float]]]] = {}
    report["measurements"] = measured
    for name, unit, contestants, make in kinds:
        games = measured[name] = {}
        for game in options.games:
            works = {package: make(package, game) for package in contestants}
            games[game] = measure(works, options.seconds, options.rounds, options.clock)
        best = {package: _geometric_mean([max(games[game][package]) for game in games]) for package in contestants}
        spread = max(max(speeds) / min(speeds) for rounds in games.values() for speeds in rounds.values())
        line = f"{name:<26}{best['sane_rl']:>12,.0f} {unit:<9}"
        for package in contestants[1:]:
            ratios = [max(games[game]["sane_rl"]) / max(games[game][package]) for game in games]
            line += f"{_geometric_mean(ratios):>7.2f} × {package} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{line}   spread {spread:.2f}", flush=True)
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
