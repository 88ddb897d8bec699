"""Steps of an environment timed inside Python: what the bridge of `sane bench gym` is compared with."""

import json
import sys
import time

import gymnasium

identity, kwargs, rounds, steps = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
module, _, name = identity.rpartition(":")
if module:
    __import__(module)
elif name.startswith("ALE/"):
    import ale_py
env = gymnasium.make(name, disable_env_checker=True, **kwargs)
first, count = int(env.action_space.start), int(env.action_space.n)
clock, means, state, seed = time.perf_counter_ns, [], 1, 0
env.reset(seed=seed)
for _ in range(rounds):
    spent = 0
    for _ in range(steps):
        state = (state * 1103515245 + 12345) % 2**31
        action = first + (state >> 16) % count
        start = clock()
        _, _, terminated, truncated, _ = env.step(action)
        spent += clock() - start
        if terminated or truncated:
            seed += 1
            env.reset(seed=seed)
    means.append(spent / steps / 1000)
print(json.dumps({"microseconds": means, "gymnasium": gymnasium.__version__, "python": sys.version.split()[0]}))
