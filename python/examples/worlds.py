"""The worlds, as Gymnasium knows them: one game, its states, and the small worlds."""

# %% One game. The arguments are those of ale-py's environments.
import gymnasium
import numpy as np

import sane_rl

env = gymnasium.make("SANE/Boxing-v5", obs_type="grayscale", render_mode="rgb_array")
observation, info = env.reset(seed=1)
print(observation.shape, info["lives"], env.unwrapped.get_action_meanings()[:4])

# %% A state is exact in every game, can be pickled, and takes microseconds.
game = env.unwrapped
state = game.clone_state(include_rng=True)
first = [env.step(action)[1] for action in (1, 3, 5, 1, 1)]
game.restore_state(state)
assert first == [env.step(action)[1] for action in (1, 3, 5, 1, 1)]

# %% Programs that ask for ale-py's ids get these games, if you wish.
sane_rl.register(take_over_ale=True)
print(gymnasium.make("ALE/Pong-v5").unwrapped)

# %% Worlds without a ROM. The risky road knows the true risk of every state.
road = gymnasium.make("SANE/RiskyRoad-v0")
road.reset(seed=1)
risks = [road.step(int(action))[4]["true_risk"] for action in np.zeros(10, int)]
print("true risk:", np.round(risks, 2))
print(gymnasium.make("SANE/DeepSea-v0", size=12).observation_space)
