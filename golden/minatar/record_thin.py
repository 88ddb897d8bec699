"""Records a thin trace from the MinAtar package: game, seed, acts, sticky probability, ramping (0/1), output file.

    python3 record_thin.py asterix 501 20000 0.1 1 traces/asterix_thin_s501_sticky10_ramp1.bin.gz

The player presses a button for one to six acts, then another one. The package is used as it is installed, through its
public calls only; a game without a difficulty needs nothing else, because thin traces do not hold it.
"""
import gzip
import random
import struct
import sys
import zlib

from minatar import Environment

GAMES = ["asterix", "breakout", "freeway", "seaquest", "space_invaders"]
INTERVAL = 250

game, seed, acts, sticky, ramping, path = sys.argv[1:7]
seed, acts, sticky, ramping = int(seed), int(acts), float(sticky), int(ramping)
environment = Environment(game, sticky_action_prob=sticky, difficulty_ramping=bool(ramping))
environment.seed(seed)
environment.reset()


def observation():
    return environment.state().astype("uint8").tobytes()


first = observation()
chain = zlib.crc32(first)
draws = random.Random(seed)
buttons, flags, rewards, links = bytearray(), bytearray(), bytearray(), []
button, held, ended = 0, 0, False
for act in range(1, acts + 1):
    if held == 0:
        button, held = draws.randrange(6), draws.randint(1, 6)
    held -= 1
    flag = 2 if ended else 0
    if ended:
        environment.reset()
    reward, ended = environment.act(button)
    chain = zlib.crc32(observation(), chain)
    buttons.append(button)
    flags.append(flag | int(ended))
    rewards.append(int(reward))
    if act % INTERVAL == 0:
        links.append(chain)

channels = environment.state_shape()[2]
header = struct.pack(
    "<8sBBBBIdIIIIII",
    b"MNATRC1\0", GAMES.index(game), channels, ramping | 4, 0, seed, sticky, acts, 0, zlib.crc32(first), INTERVAL, 0, 0,
)
body = bytes(buttons + flags + rewards) + struct.pack(f"<{len(links)}I", *links)
with open(path, "wb") as file:
    file.write(gzip.compress(header + body, 9, mtime=0))
