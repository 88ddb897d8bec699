"""What runs have written down, as data frames."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sane_rl import _native

Table = Any
"""A `pandas.DataFrame` if pandas is installed, else a dict of numpy arrays."""


@dataclass(frozen=True)
class Runs:
    """The runs below a folder. Every table has a column `run` with the folder, and the columns `world`, `agent`, `seed`."""

    folders: list[Path]
    settings: Table
    """One row per run, one column per key."""
    curves: Table
    """One row per interval of a run: interactions, returns, loss, σ."""
    episodes: Table
    """One row per episode of training."""
    evaluations: Table
    """One row per evaluation."""


def runs(folder: str | os.PathLike[str] = "runs") -> Runs:
    """Reads all runs at or below a folder; one that is damaged is left out with a warning.

    >>> sane_rl.runs("runs").curves.groupby("agent")["return_mean"].last()      # doctest: +SKIP
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    found_folders, notes = _native.run_folders(os.fspath(folder))
    folders = []
    tables: dict[str, list[dict[str, Any]]] = {"settings": [], "curves": [], "episodes": [], "evaluations": []}
    kinds = {
        "interval_finished": "curves",
        "episode_finished": "episodes",
        "evaluation_finished": "evaluations",
    }
    for found in map(Path, found_folders):
        try:
            config, events, evaluations = map(json.loads, _native.read_run(os.fspath(found)))
        except (OSError, ValueError, RuntimeError) as error:
            notes.append(f"{found} is left out: {error}")
            continue
        folders.append(found)
        run = {
            "run": str(found),
            "world": config["world"]["name"],
            "agent": config["agent"],
            "seed": config["seed"],
        }
        tables["settings"].append({**run, **_flat(config)})
        for event in [*events, *evaluations]:
            table = kinds.get(event.pop("event"))
            if table is not None:
                tables[table].append({**run, **_flat(event)})
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Runs(folders, **{name: _table(rows) for name, rows in tables.items()})


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots; lists stay as they are."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    try:
        import pandas
    except ImportError:
        return {column: _array([row.get(column) for row in rows]) for column in columns}
    return pandas.DataFrame(rows, columns=columns)


def _array(values: Iterable[Any]) -> np.ndarray:
    values = list(values)
    if all(value is None or isinstance(value, (bool, int, float)) for value in values):
        if not any(value is None for value in values):
            return np.array(values)
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
