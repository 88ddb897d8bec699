"""Atari and small worlds for Gymnasium, and deep Q-networks that explore by state-aware noise.

>>> import gymnasium, sane_rl
>>> env = gymnasium.make("SANE/Boxing-v5")
>>> envs = gymnasium.make_vec("SANE/Boxing-v5", num_envs=8)

The environments equal ale-py's bit for bit; `sane_rl.register(take_over_ale=True)` lets them answer for its ids, too.
`train`, `evaluate`, `Policy` and `runs` are the laboratory; the command `sane` is the same from a terminal.
"""

from sane_rl.ale import Action, ALEInterface, ALEState
from sane_rl.atari_env import AtariEnv, AtariState
from sane_rl.policy import Decision, Policy
from sane_rl.registration import register
from sane_rl.results import Runs, runs
from sane_rl.small_worlds import SmallWorldEnv
from sane_rl.training import evaluate, train
from sane_rl.vector_env import AtariVectorEnv, EnvState

__all__ = [
    "ALEInterface",
    "ALEState",
    "Action",
    "AtariEnv",
    "AtariState",
    "AtariVectorEnv",
    "Decision",
    "EnvState",
    "Policy",
    "Runs",
    "SmallWorldEnv",
    "evaluate",
    "register",
    "runs",
    "train",
]

register()
