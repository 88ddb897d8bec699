#!/usr/bin/env python3
"""make_profiles.py - preprocessed frames of each profile, made from ale-py as a black box.

usage: make_profiles.py NOOPS > profiles.csv        (needs: pip install ale-py==0.12.1 opencv-python-headless)

NOOPS is the number of no-op decisions at the start; the test that reads the table draws it from its own stream and
checks it. One row per game and profile: up to 120 decisions of four frames, the i-th taking action (i*i*7 + i//3) mod n;
the CRC-32 is that of all 84x84 frames, the first included, one after the other.
"""
import sys, zlib
from pathlib import Path
import numpy as np
import ale_py
import cv2

GAMES = ["asterix", "atlantis", "enduro", "ice_hockey", "qbert", "riverraid", "road_runner", "seaquest",
         "fishing_derby", "boxing", "bowling", "pooyan", "journey_escape", "pacman", "carnival"]
SEED, SIDE, SKIP = 11, 84, 4


def crop_nearest(last, before):
    index = np.arange(SIDE) * 160 // SIDE
    return last[34:194][index][:, index]


def area_of_max(last, before):
    return cv2.resize(np.maximum(last, before), (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def play(game, profile, noops):
    sticky = profile == "machado"
    noops = 0 if sticky else noops
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", SEED)
    ale.setFloat("repeat_action_probability", 0.25 if sticky else 0.0)
    ale.loadROM(str(Path(ale_py.__file__).parent / "roms" / f"{game}.bin"))
    ale.reset_game()
    actions = ale.getLegalActionSet() if sticky else ale.getMinimalActionSet()
    resize = crop_nearest if profile == "paper" else area_of_max
    screens = [ale.getScreenGrayscale()] * 2

    def hold(action):
        reward, seen = 0, []
        while len(seen) < SKIP and not ale.game_over():
            reward += ale.act(action)
            seen.append(ale.getScreenGrayscale().copy())
        return reward, [seen[-1]] * 2 if len(seen) < SKIP else seen[-2:]

    for _ in range(noops):
        _, screens = hold(ale_py.Action.NOOP)
        assert not ale.game_over(), f"{game} ended during the no-ops"
    frames, total, steps = [resize(screens[1], screens[0])], 0, 0
    for i in range(120):
        reward, screens = hold(actions[(i * i * 7 + i // 3) % len(actions)])
        total, steps = total + reward, steps + 1
        frames.append(resize(screens[1], screens[0]))
        if ale.game_over():
            break
    crc = zlib.crc32(b"".join(np.ascontiguousarray(f).tobytes() for f in frames))
    return f"{game},{profile},{SEED},{noops},{steps},{total},{crc:08x}"


print("# Made by make_profiles.py from ale-py 0.12.1 and OpenCV's INTER_AREA as black boxes.")
print("game,profile,seed,noops,steps,reward,frames_crc32")
for game in GAMES:
    for profile in ("paper", "nature", "machado"):
        print(play(game, profile, int(sys.argv[1])))
