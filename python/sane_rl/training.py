"""Training and evaluation from Python: the same loop, the same bytes as the program's."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sane_rl import _native


def train(
    world: str,
    agent: str = "q-sane",
    preset: str | None = None,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    *,
    seed: int | None = None,
    fresh: bool = False,
    threads: int | None = None,
    progress: bool = True,
) -> Path:
    """Trains an agent; called again, resumes the run. Returns the run's folder.

    Args:
        world: As `sane train` takes it: a game (`road_runner`), `minatar/breakout`, `deep-sea/10`, `risky-road`.
        agent: Its way of exploring; `sane agents` lists them.
        preset: Starting point of the settings; None is the one made for the world.
        steps: Length of the run in interactions.
        settings: Single settings by their keys: `{"learner.gamma": 0.98}` (`sane config keys` lists them).
        out: Folder of the run; None is `runs/<world>/<agent>/seed-<S>`.
        callback: Called about five times a second with a dict of the progress; returning False saves and stops.
        seed: Seed of all random streams.
        fresh: Starts anew; an old run in the folder is renamed.
        threads: Worker threads; results do not depend on them.
        progress: Whether a line shows the progress.

    Ctrl-C saves a checkpoint, then raises `KeyboardInterrupt`; so does the exception of a callback.
    """
    assignments = {**(settings or {})}
    if steps is not None:
        assignments["training.total_interactions"] = int(steps)
    if seed is not None:
        assignments["seed"] = int(seed)
    line = _ProgressLine() if progress else None

    def call(now: dict[str, Any]) -> bool | None:
        if line is not None:
            line.show(now)
        return None if callback is None else callback(now)

    try:
        folder, _ = _native.train(
            world,
            agent,
            preset,
            [f"{key}={_toml(value)}" for key, value in assignments.items()],
            None if out is None else os.fspath(out),
            fresh,
            threads,
            call if line is not None or callback is not None else None,
        )
    finally:
        if line is not None:
            line.close()
    return Path(folder)


def evaluate(
    run: str | os.PathLike[str],
    noise: bool = False,
    interactions: int = 500_000,
    *,
    start_seed: int = 0,
    threads: int | None = None,
    checkpoint: int | None = None,
    record: bool = False,
) -> dict[str, Any]:
    """Plays whole episodes with the policy of a run from seeded starts; the result as a dict, as `sane eval --json` has it.

    With `record`, it is appended to the run's evaluations, which reports read.
    """
    if interactions < 1:
        raise ValueError(f"interactions is {interactions}; expected at least 1")
    result: dict[str, Any] = json.loads(
        _native.evaluate(os.fspath(run), noise, int(interactions), start_seed, threads, checkpoint, record)
    )
    return result


def _toml(value: Any) -> str:
    """A value as it is typed after `--set KEY=`."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)


class _ProgressLine:
    """One line that is overwritten, in a terminal or a notebook."""

    def __init__(self) -> None:
        self._since: tuple[float, int] | None = None
        self._width = 0

    def show(self, progress: dict[str, Any]) -> None:
        now, done, total = time.monotonic(), progress["interactions"], progress["total_interactions"]
        start, first = self._since = self._since or (now, done)
        speed = (done - first) / (now - start) if start < now else 0.0
        parts = [f"{done}/{total}", f"{speed:.0f}/s"]
        for name, key in (("return", "mean_return"), ("ε", "epsilon"), ("σ", "sigma"), ("loss", "loss")):
            if progress[key] is not None:
                parts.append(f"{name} {progress[key]:.3g}")
        text = " · ".join(parts)
        self._width, padding = len(text), self._width - len(text)
        sys.stderr.write("\r" + text + " " * max(padding, 0))
        sys.stderr.flush()

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\n")
