"""Many games at once: frames of 84×84, four to an observation, stepped by threads without the interpreter's lock."""

# %% The defaults are those of ale-py's vector environment, and so are the pixels.
import numpy as np

import sane_rl

envs = sane_rl.AtariVectorEnv("breakout", 8, num_threads=2)
observations, infos = envs.reset(seed=1)
rng = np.random.default_rng(1)
total = np.zeros(8)
for _ in range(100):
    observations, rewards, terminations, truncations, infos = envs.step(rng.integers(4, size=8))
    total += rewards
print(observations.shape, total)

# %% A mode for each environment, the RAM of all, and the state of one.
modes = sane_rl.AtariVectorEnv("freeway", 3, mode=[0, 3, 5])
modes.reset(seed=1)
print(modes.get_ram().shape)
state = modes.clone_state(1)
modes.step([1, 1, 1])
modes.restore_state(1, state)

# %% Several games in one vector share the full action space.
several = sane_rl.AtariVectorEnv(["boxing", "breakout", "pong"], 3, full_action_space=True)
several.reset(seed=1)
print([several.get_action_meanings(env)[2] for env in range(3)])

# %% Asynchronously: act on the environments that are ready, while the others are stepped.
ready = sane_rl.AtariVectorEnv("boxing", 6, batch_size=2, num_threads=2)
observations, infos = ready.reset(seed=1)
for _ in range(10):
    ready.send(rng.integers(18, size=2))
    observations, *_, infos = ready.recv()
print(infos["env_id"])
