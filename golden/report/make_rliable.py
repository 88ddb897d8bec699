"""Recipe of rliable.json: what the PyPI package rliable 1.2.0 says about fixed numbers.

    pip install --target SITE rliable==1.2.0
    PYTHONPATH=SITE python3 make_rliable.py > rliable.json

The scores are drawn once with a fixed seed and stand in the file beside rliable's answers, so that the test needs no
Python. Rows are runs (seeds), columns are tasks (games). Intervals are rliable's percentile intervals, 95 %, from
50,000 stratified resamplings (2,000 for the profiles), as rliable's own documentation uses it.
"""
import json
import sys

import numpy as np
from rliable import library, metrics

rng = np.random.default_rng(20210517)


def draw(runs, tasks, shift):
    """Heavy-tailed, as normalised scores of games are; one decimal place fewer than rliable would ever notice."""
    level = rng.gamma(1.2, 1.0, size=tasks)
    return np.round(level * np.exp(0.35 * rng.normal(size=(runs, tasks))) + shift * rng.uniform(size=(runs, tasks)), 4)


CASES = {
    "three_seeds_eleven_games": {"a": draw(3, 11, 0.0), "b": draw(3, 11, 0.4)},
    "ten_seeds_five_games": {"a": draw(10, 5, -0.2), "b": draw(10, 5, 0.1)},
    "five_seeds_eight_games_with_ties": {"a": np.round(draw(5, 8, 0.0)), "b": np.round(draw(5, 8, 0.2))},
}
METRICS = {
    "iqm": metrics.aggregate_iqm,
    "median": metrics.aggregate_median,
    "mean": metrics.aggregate_mean,
    "optimality_gap": metrics.aggregate_optimality_gap,
}
THRESHOLDS = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0])


def aggregates(scores):
    points, intervals = library.get_interval_estimates(
        scores, lambda x: np.array([metric(x) for metric in METRICS.values()]), reps=50_000,
        random_state=np.random.RandomState(7))
    return {agent: {name: {"point": float(points[agent][i]), "interval": [float(end) for end in intervals[agent][:, i]]}
                    for i, name in enumerate(METRICS)} for agent in scores}


def profiles(scores):
    points, intervals = library.create_performance_profile(scores, THRESHOLDS, reps=2_000)
    return {agent: {"share": points[agent].tolist(), "low": intervals[agent][0].tolist(),
                    "high": intervals[agent][1].tolist()} for agent in scores}


def improvement(scores):
    points, intervals = library.get_interval_estimates(
        {"a,b": (scores["a"], scores["b"])}, metrics.probability_of_improvement, reps=10_000,
        random_state=np.random.RandomState(7))
    point = np.asarray(points["a,b"]).reshape(-1)[0]
    return {"point": float(point), "interval": [float(end) for end in np.asarray(intervals["a,b"]).reshape(-1)]}


answer = {"recipe": "make_rliable.py beside this file; rliable 1.2.0", "cases": {}}
for name, scores in CASES.items():
    answer["cases"][name] = {
        "scores": {agent: values.tolist() for agent, values in scores.items()},
        "aggregates": aggregates(scores),
        "thresholds": THRESHOLDS.tolist(),
        "profiles": profiles(scores),
        "improvement_of_a_over_b": improvement(scores),
    }
json.dump(answer, sys.stdout, indent=1)
print()
