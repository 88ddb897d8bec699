"""`ALEInterface`: programs written against ale-py's interface run with one changed import."""

# %%
import numpy as np

from sane_rl import Action, ALEInterface

ale = ALEInterface()
ale.setInt("random_seed", 123)
ale.setFloat("repeat_action_probability", 0.25)
ale.loadROM("breakout")  # or the path of a ROM
print(ale.getScreenDims(), ale.lives(), ale.getMinimalActionSet())

# %% An episode of random actions.
rng = np.random.default_rng(1)
actions, total = ale.getMinimalActionSet(), 0
ale.reset_game()
while not ale.game_over():
    total += ale.act(actions[rng.integers(len(actions))])
print(total, ale.getEpisodeFrameNumber())

# %% States: exact, in every game.
ale.reset_game()
state = ale.cloneSystemState()
first = [(ale.act(Action.FIRE), ale.getRAM().tobytes()) for _ in range(50)]
ale.restoreSystemState(state)
assert first == [(ale.act(Action.FIRE), ale.getRAM().tobytes()) for _ in range(50)]
