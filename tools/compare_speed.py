#!/usr/bin/env python3
"""Measures what docs/performance.md compares with: PyTorch's train step, ale-py's frames, Stable-Baselines3's training.

    python3 tools/compare_speed.py pytorch [--threads 2] [--seconds 5]      beside: sane bench engine --threads 2
    python3 tools/compare_speed.py ale [--frames 6000] [GAME ...]           beside: sane bench atari
    python3 tools/compare_speed.py stable-baselines3 [--threads 2]          beside: sane bench train boxing --fill 3000 --interactions 800

Needs: pip install torch / ale-py numpy / stable-baselines3[extra] gymnasium ale-py. Speeds of one machine differ from minute to minute:
run both sides alternately, several times, on an idle host, and compare minimum with minimum or mean with mean.
"""

import argparse
import math
import random
import time

GAMES = "asterix atlantis enduro ice_hockey qbert riverraid road_runner seaquest fishing_derby boxing bowling".split()


def pytorch(args):
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    batch, actions = 32, 6

    def z(x):
        return torch.sign(x) * torch.sqrt(torch.abs(x))

    class Net(nn.Module):
        """The paper's network; `noise` is None (DQN), "rank-one" or "matrices" (the weights of each example built in full)."""

        def __init__(self, noise, channels_last):
            super().__init__()
            self.noise, self.channels_last = noise, channels_last
            self.conv = nn.ModuleList([nn.Conv2d(4, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3, 1)])
            self.fc1, self.fc2 = nn.Linear(3136, 512), nn.Linear(512, actions)
            if noise:
                self.sigma1, self.sigma2 = nn.Linear(3136, 256), nn.Linear(256, 1)

        def perturbed(self, layer, x, sigma):
            n = x.shape[0]
            z_in, z_out = z(torch.randn(n, layer.in_features)), z(torch.randn(n, layer.out_features))
            if self.noise == "rank-one":
                return layer(x) + sigma * z_out * ((z_in * x).sum(1, keepdim=True) + 1)
            w = layer.weight.t().unsqueeze(0) + sigma.unsqueeze(2) * torch.bmm(z_in.unsqueeze(2), z_out.unsqueeze(1))
            return torch.bmm(x.unsqueeze(1), w).squeeze(1) + layer.bias + sigma * z_out

        def forward(self, x):
            x = x.float().mul_(1 / 255.0)
            if self.channels_last:
                x = x.contiguous(memory_format=torch.channels_last)
            for conv in self.conv:
                x = F.relu(conv(x))
            x = x.flatten(1)
            if not self.noise:
                return self.fc2(F.relu(self.fc1(x)))
            sigma = self.sigma2(F.relu(self.sigma1(x)))
            return self.perturbed(self.fc2, F.relu(self.perturbed(self.fc1, x, sigma)), sigma)

    def made(noise, channels_last):
        net = Net(noise, channels_last)
        return net.to(memory_format=torch.channels_last) if channels_last else net

    def train_step(noise, channels_last):
        online, target = made(noise, channels_last), made(noise, channels_last)
        target.load_state_dict(online.state_dict())
        optimiser = torch.optim.Adam(online.parameters(), lr=6.25e-5, eps=1.5e-4, fused=True)
        action, reward = torch.randint(0, actions, (batch, 1)), torch.randn(batch)
        states, next_states = (torch.randint(0, 256, (batch, 4, 84, 84), dtype=torch.uint8) for _ in range(2))

        def step():
            with torch.no_grad():
                y = reward + 0.99 * target(next_states).max(1)[0]
            loss = F.mse_loss(online(states).gather(1, action).squeeze(1), y)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()

        return step

    def act(noise):
        net, state = made(noise, False), torch.randint(0, 256, (1, 4, 84, 84), dtype=torch.uint8)

        def one():
            with torch.no_grad():
                return int(net(state).argmax(1)[0])

        return one

    def measure(name, call):
        for _ in range(3):
            call()
        times, until = [], time.perf_counter() + args.seconds
        while time.perf_counter() < until or len(times) < 5:
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
        times.sort()
        print(f"{name:44} minimum {times[0]:9.3f} ms   median {times[len(times) // 2]:9.3f} ms   {len(times)} times", flush=True)

    print(f"PyTorch {torch.__version__}, {args.threads} threads, batch {batch}, {actions} actions")
    measure("train step, DQN, channels_last", train_step(None, True))
    measure("train step, DQN, eager", train_step(None, False))
    measure("train step, SANE, channels_last", train_step("rank-one", True))
    measure("train step, SANE, eager", train_step("rank-one", False))
    measure("train step, SANE, a matrix per example", train_step("matrices", False))
    torch.set_num_threads(1)
    measure("act, DQN, eager, 1 thread", act(None))
    measure("act, SANE, eager, 1 thread", act("rank-one"))


def ale(args):
    from pathlib import Path

    import ale_py
    import numpy as np
    from ale_py.vector_env import AtariVectorEnv

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

    def act(game, gray):
        """Frames per second of processor time, resets left out."""
        console = ale_py.ALEInterface()
        console.setInt("random_seed", 0)
        console.setFloat("repeat_action_probability", 0.0)
        console.loadROM(str(Path(ale_py.__file__).parent / "roms" / f"{game}.bin"))
        console.reset_game()
        rng, choices = random.Random(1), list(console.getMinimalActionSet())
        screen, resets, start = np.empty(console.getScreenDims(), np.uint8), 0.0, time.process_time()
        for _ in range(args.frames):
            console.act(rng.choice(choices))
            if gray:
                console.getScreenGrayscale(screen)
            if console.game_over():
                before = time.process_time()
                console.reset_game()
                resets += time.process_time() - before
        return args.frames / (time.process_time() - start - resets)

    def agent_step(game, environments):
        """Frames per second of processor time, four per step, preprocessed to 84×84."""
        env = AtariVectorEnv(game, num_envs=environments, num_threads=1)
        env.reset(seed=0)
        steps = max(1, args.frames // 4 // environments)
        actions = np.random.default_rng(0).integers(0, env.single_action_space.n, (steps + 5, environments))
        for row in actions[:5]:
            env.step(row)
        start = time.process_time()
        for row in actions[5:]:
            env.step(row)
        rate = 4 * environments * steps / (time.process_time() - start)
        env.close()
        return rate

    columns = ["act", "act + gray", "agent step, 1 environment", "agent step, 8 environments"]
    print("frames per second".ljust(18) + "".join(column.rjust(28) for column in columns))
    rows = []
    for game in args.games or GAMES:
        rows.append([act(game, False), act(game, True), agent_step(game, 1), agent_step(game, 8)])
        print(game.ljust(18) + "".join(f"{rate:28.0f}" for rate in rows[-1]), flush=True)
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*rows)]
    print("geometric mean".ljust(18) + "".join(f"{mean:28.0f}" for mean in means))


def stable_baselines3(args):
    import ale_py
    import gymnasium
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.atari_wrappers import AtariWrapper
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    gymnasium.register_envs(ale_py)
    torch.set_num_threads(args.threads)

    class Clock(BaseCallback):
        """When the timed interactions began and ended."""

        start = end = 0.0

        def _on_step(self):
            if self.num_timesteps == args.warm_up:
                self.start = time.perf_counter()
            self.end = time.perf_counter()
            return True

    def world():
        return AtariWrapper(gymnasium.make("ALE/Boxing-v5", frameskip=1, repeat_action_probability=0.0))

    env, clock = VecFrameStack(DummyVecEnv([world]), 4), Clock()
    model = DQN("CnnPolicy", env, buffer_size=20_000, learning_starts=100, train_freq=4, batch_size=32, device="cpu", seed=1)
    model.learn(args.warm_up + args.interactions, callback=clock)
    rate = args.interactions / (clock.end - clock.start)
    print(f"Stable-Baselines3 DQN on boxing, {args.threads} threads: {rate:.1f} interactions/s over {args.interactions} interactions")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("pytorch")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--seconds", type=float, default=5.0)
    command.set_defaults(run=pytorch)
    command = commands.add_parser("ale")
    command.add_argument("--frames", type=int, default=6000)
    command.add_argument("games", nargs="*", metavar="GAME")
    command.set_defaults(run=ale)
    command = commands.add_parser("stable-baselines3")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--warm-up", type=int, default=1_200)
    command.add_argument("--interactions", type=int, default=300)
    command.set_defaults(run=stable_baselines3)
    args = parser.parse_args()
    args.run(args)


main()
