"""Times act + state of the MinAtar package as it is installed: game, steps and rounds in, one JSON line out."""
import importlib.metadata
import json
import random
import sys
import time

from minatar import Environment

game, steps, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
environment = Environment(game, sticky_action_prob=0.1, difficulty_ramping=True)
environment.seed(1)
environment.reset()
draws = random.Random(1)
actions = [draws.randrange(6) for _ in range(steps)]
rates = []
for _ in range(rounds):
    start = time.perf_counter()
    for action in actions:
        _, terminal = environment.act(action)
        environment.state()
        if terminal:
            environment.reset()
    rates.append(steps / (time.perf_counter() - start))
print(json.dumps({"version": importlib.metadata.version("minatar"), "steps_per_second": rates}))
