"""The worker behind the worlds called gym:…: one process, one environment, orders in, frames out.

It is started by the binary as `python -c`. Orders come on standard input, answers leave on what was standard output,
as protocol.rs says; the first argument names a socket of the binary's on which nothing is ever said.
"""

import os
import sys

# The protocol keeps descriptors of its own; whatever an environment prints goes to standard error.
orders, answers = os.dup(0), os.dup(1)
os.set_blocking(orders, False)
os.dup2(2, 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.stdout = sys.stderr

import fcntl
import importlib
import json
import signal
import socket
import struct
import traceback

# When the binary is gone, however it went, its socket closes and the kernel sends SIGIO, which ends a process that does
# not handle it: even one that hangs in an extension and never comes back to the interpreter.
signal.signal(signal.SIGIO, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.SIG_IGN)
lifeline = socket.socket(socket.AF_UNIX)
lifeline.connect("\0" + sys.argv[1])
fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)

ORDER = struct.Struct("<BBHQ")
HEAD = struct.Struct("<BBHid")
MAKE, RESET, STEP, SHOW, RENDER = range(5)
WITH_OBSERVATION, WITH_SEED = 1, 2
TERMINATED, TRUNCATED = 1, 2
SPINS = 30
luck, calls = True, 0


class Refusal(Exception):
    """An environment that cannot be had, with what the binary needs to say why."""

    def __init__(self, kind, text, known=()):
        super().__init__(text)
        self.kind, self.known = kind, list(known)


def make(order):
    """The environment that was ordered, and what there is to know about it."""
    try:
        import numpy
        import gymnasium
    except ModuleNotFoundError as error:
        raise Refusal("no-package", error.name or "gymnasium") from error
    module, _, name = order["id"].rpartition(":")
    if not module and name.startswith("ALE/"):
        module = "ale_py"
    if module:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and (module + ".").startswith(error.name + "."):
                raise Refusal("no-module", module) from error
            raise
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        raise Refusal("unknown-id", str(error), gymnasium.registry) from error
    kwargs = order["kwargs"]
    try:
        env = gymnasium.make(name, disable_env_checker=True, **kwargs)
    except gymnasium.error.DependencyNotInstalled as error:
        raise Refusal("dependency", str(error)) from error
    except TypeError as error:
        if kwargs and "argument" in str(error):
            raise Refusal("kwargs", str(error)) from error
        raise
    if not isinstance(env.observation_space, gymnasium.spaces.Box) and env.observation_space.is_np_flattenable:
        env = gymnasium.wrappers.FlattenObservation(env)
    space, actions = env.observation_space, env.action_space
    if not isinstance(actions, gymnasium.spaces.Discrete):
        kind = "continuous" if isinstance(actions, gymnasium.spaces.Box) else "not-discrete"
        raise Refusal(kind, str(actions))
    if not isinstance(space, gymnasium.spaces.Box):
        raise Refusal("observation", str(space))
    is_bytes = space.dtype == numpy.uint8
    names = getattr(env.unwrapped, "get_action_meanings", None)
    about = {
        "shape": list(space.shape),
        "is_bytes": bool(is_bytes),
        "full_scale": int(space.high.max()) if is_bytes and space.high.size else 255,
        "actions": int(actions.n),
        "names": [str(name) for name in names()] if names else [],
        "versions": f"gymnasium {gymnasium.__version__}, Python {sys.version.split()[0]}",
    }
    return Room(numpy, env, is_bytes), about


class Room:
    """An environment, and the bytes its answers are written in."""

    def __init__(self, numpy, env, is_bytes):
        self.env, self.array, self.first = env, numpy.ndarray, int(env.action_space.start)
        self.asarray = numpy.asarray
        self.shape = env.observation_space.shape
        element = numpy.dtype(numpy.uint8 if is_bytes else "<f4")
        count = 1
        for side in self.shape:
            count *= side
        self.answer = bytearray(HEAD.size + count * element.itemsize)
        self.frame = numpy.frombuffer(self.answer, element, count, HEAD.size).reshape(self.shape)
        self.observation = None

    def write(self, reward, flags, lives, wanted):
        HEAD.pack_into(self.answer, 0, 0, flags, 0, lives, reward)
        if not wanted & WITH_OBSERVATION:
            return send(self.answer[: HEAD.size])
        observation = self.observation
        if observation.__class__ is not self.array or observation.shape != self.shape:
            observation = self.asarray(observation)
            if observation.shape != self.shape:
                raise ValueError(f"an observation of shape {observation.shape} where the space says {self.shape}")
        self.frame[...] = observation
        send(self.answer)

    def reset(self, wanted, seed):
        self.observation, info = self.env.reset(seed=seed if wanted & WITH_SEED else None)
        self.write(0.0, 0, int(info.get("lives", -1)), wanted)

    def step(self, wanted, action):
        self.observation, reward, terminated, truncated, info = self.env.step(action + self.first)
        flags = (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0)
        self.write(float(reward), flags, int(info["lives"]) if "lives" in info else -1, wanted)

    def show(self, wanted):
        self.write(0.0, 0, -1, wanted)

    def render(self):
        picture = self.env.render() if self.env.render_mode == "rgb_array" else None
        if picture is None:
            return send(HEAD.pack(0, 0, 0, 0, 0.0))
        picture = self.asarray(picture)
        height, width = picture.shape[:2]
        head = HEAD.pack(0, 0, 0, height * width * 3, float(width))
        send(head + picture[:, :, :3].astype("uint8").tobytes())


def send(data):
    sent = os.write(answers, data)
    while sent < len(data):
        sent += os.write(answers, memoryview(data)[sent:])


def receive(count):
    """The next bytes of orders. Being woken takes longer than a small step, so where orders follow each other at once
    they are asked for a few times before the worker goes to sleep; now and then it is tried whether they do."""
    global luck, calls
    calls += 1
    patience = SPINS if luck or calls % 64 == 0 else 1
    while True:
        try:
            data = os.read(orders, count)
            luck = 1 < patience
            break
        except BlockingIOError:
            patience -= 1
            if patience == 0:
                luck = False
                os.set_blocking(orders, True)
                data = os.read(orders, count)
                os.set_blocking(orders, False)
                break
    while len(data) < count:
        more = receive(count - len(data)) if data else b""
        if not more:
            sys.exit(0)
        data += more
    return data


def send_text(status, value):
    text = json.dumps(value).encode()
    send(HEAD.pack(status, 0, 0, len(text), 0.0) + text)


def serve():
    room = None
    while True:
        order, wanted, action, number = ORDER.unpack(receive(ORDER.size))
        try:
            if order == STEP:
                room.step(wanted, action)
            elif order == RESET:
                room.reset(wanted, number)
            elif order == SHOW:
                room.show(wanted)
            elif order == RENDER:
                room.render()
            elif order == MAKE:
                wish = json.loads(receive(number))
                if room is not None:
                    room.env.close()
                room, about = make(wish)
                send_text(0, about)
        except Refusal as refusal:
            send_text(1, {"kind": refusal.kind, "text": str(refusal), "known": refusal.known})
        except Exception as error:
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            frames = traceback.extract_tb(error.__traceback__)
            place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
            traceback.print_exc()
            send_text(1, {"kind": "raised", "text": last + place, "known": []})


serve()
