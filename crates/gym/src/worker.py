"""The worker of a world gym:ID: one process, one environment; requests in, observations out.

It is started as `python -c`. Requests arrive on standard input, replies leave on the original standard output, in the
format of protocol.rs, after a line of random letters (the second argument): what was printed before it, by a module that
the interpreter loads on its own, is not taken for a reply. The first argument names a socket of the parent that carries
no data.
"""

import os
import sys

# The protocol has its own descriptors; what an environment prints goes to standard error.
requests, replies = os.dup(0), os.dup(1)
os.set_blocking(requests, False)
os.dup2(2, 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.stdout = sys.__stdout__ = sys.stderr
os.write(replies, sys.argv[2].encode())
owner = os.getpid()

import fcntl
import importlib
import json
import signal
import socket
import struct
import traceback

# When the parent ends for any reason, its socket closes and the kernel kills the whole process group: also a worker that
# hangs in an extension and never returns to the interpreter, and also what the environment has started.
signal.signal(signal.SIGINT, signal.SIG_IGN)
lifeline = socket.socket(socket.AF_UNIX)
lifeline.connect("\0" + sys.argv[1])
fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
fcntl.fcntl(lifeline, getattr(fcntl, "F_SETSIG", 10), signal.SIGKILL)
fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)

REQUEST = struct.Struct("<BBHQ")
HEAD = struct.Struct("<BBHid")
MAKE, RESET, STEP, OBSERVE, RENDER = range(5)
WITH_OBSERVATION, WITH_SEED = 1, 2
TERMINATED, TRUNCATED = 1, 2
POLLS = 30
polling_pays, calls = True, 0


class WorkerError(Exception):
    """An environment that cannot be made, with the data of the error message."""

    def __init__(self, kind, text, known=()):
        super().__init__(text)
        self.kind, self.known = kind, list(known)


def make(request):
    """Makes the requested environment; returns it with its description."""
    try:
        import numpy
        import gymnasium
    except ModuleNotFoundError as error:
        raise WorkerError("no-package", error.name or "gymnasium") from error
    module, _, name = request["id"].rpartition(":")
    if not module and name.startswith("ALE/"):
        module = "ale_py"
    if module:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and (module + ".").startswith(error.name + "."):
                raise WorkerError("no-module", module) from error
            raise
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        raise WorkerError("unknown-id", str(error), gymnasium.registry) from error
    kwargs = request["kwargs"]
    try:
        env = gymnasium.make(name, disable_env_checker=True, **kwargs)
    except gymnasium.error.DependencyNotInstalled as error:
        raise WorkerError("dependency", str(error)) from error
    except TypeError as error:
        if kwargs and "argument" in str(error):
            raise WorkerError("kwargs", str(error)) from error
        raise
    if not isinstance(env.observation_space, gymnasium.spaces.Box) and env.observation_space.is_np_flattenable:
        env = gymnasium.wrappers.FlattenObservation(env)
    space, actions = env.observation_space, env.action_space
    if not isinstance(actions, gymnasium.spaces.Discrete):
        kind = "continuous" if isinstance(actions, gymnasium.spaces.Box) else "not-discrete"
        raise WorkerError(kind, str(actions))
    if not isinstance(space, gymnasium.spaces.Box):
        raise WorkerError("observation", str(space))
    is_bytes = space.dtype == numpy.uint8
    names = getattr(env.unwrapped, "get_action_meanings", None)
    info = {
        "shape": list(space.shape),
        "is_bytes": bool(is_bytes),
        "full_scale": int(space.high.max()) if is_bytes and space.high.size else 255,
        "actions": int(actions.n),
        "names": [str(name) for name in names()] if names else [],
        "versions": f"gymnasium {gymnasium.__version__}, Python {sys.version.split()[0]}",
        "has_no_limit": not has_limit(gymnasium, env),
    }
    return Session(numpy, env, is_bytes), info


def has_limit(gymnasium, env):
    """Whether something cuts long episodes: a wrapper, which a limit of the registration becomes, or a console that counts frames."""
    spec = env.unwrapped.spec
    if spec is not None and spec.kwargs.get("max_num_frames_per_episode"):
        return True
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            return True
        env = env.env
    return False


class Session:
    """An environment, and the buffer of its replies."""

    def __init__(self, numpy, env, is_bytes):
        self.env, self.array, self.first = env, numpy.ndarray, int(env.action_space.start)
        self.asarray = numpy.asarray
        self.shape = env.observation_space.shape
        element = numpy.dtype(numpy.uint8 if is_bytes else "<f4")
        count = 1
        for side in self.shape:
            count *= side
        self.reply = bytearray(HEAD.size + count * element.itemsize)
        self.frame = numpy.frombuffer(self.reply, element, count, HEAD.size).reshape(self.shape)
        self.observation = None

    def write(self, reward, flags, lives, options):
        HEAD.pack_into(self.reply, 0, 0, flags, 0, lives, reward)
        if not options & WITH_OBSERVATION:
            return send(self.reply[: HEAD.size])
        observation = self.observation
        if observation.__class__ is not self.array or observation.shape != self.shape:
            observation = self.asarray(observation)
            if observation.shape != self.shape:
                raise ValueError(f"an observation of shape {observation.shape} where the space says {self.shape}")
        self.frame[...] = observation
        send(self.reply)

    def reset(self, options, seed):
        self.observation, info = self.env.reset(seed=seed if options & WITH_SEED else None)
        self.write(0.0, 0, int(info.get("lives", -1)), options)

    def step(self, options, action):
        self.observation, reward, terminated, truncated, info = self.env.step(action + self.first)
        flags = (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0)
        self.write(float(reward), flags, int(info["lives"]) if "lives" in info else -1, options)

    def observe(self, options):
        self.write(0.0, 0, -1, options)

    def render(self):
        picture = self.env.render() if self.env.render_mode == "rgb_array" else None
        if picture is None:
            return send(HEAD.pack(0, 0, 0, 0, 0.0))
        picture = self.asarray(picture)
        height, width = picture.shape[:2]
        head = HEAD.pack(0, 0, 0, height * width * 3, float(width))
        send(head + picture[:, :, :3].astype("uint8").tobytes())


def send(data):
    if os.getpid() != owner:  # A copy of this process that an environment forked and did not end.
        os._exit(1)
    sent = os.write(replies, data)
    while sent < len(data):
        sent += os.write(replies, memoryview(data)[sent:])


def receive(count):
    """The next bytes of a request. Waking a sleeping process takes longer than a small step, so fast requests are polled
    for before the worker sleeps; every 64th call tries whether polling pays."""
    global polling_pays, calls
    calls += 1
    polls = POLLS if polling_pays or calls % 64 == 0 else 1
    while True:
        try:
            data = os.read(requests, count)
            polling_pays = 1 < polls
            break
        except BlockingIOError:
            polls -= 1
            if polls == 0:
                polling_pays = False
                os.set_blocking(requests, True)
                data = os.read(requests, count)
                os.set_blocking(requests, False)
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
    session = None
    while True:
        try:
            request = receive(REQUEST.size)
        except SystemExit:  # The parent closed the pipe: it is done with the environment.
            if session is not None:
                session.env.close()
            raise
        kind, options, action, number = REQUEST.unpack(request)
        try:
            if kind == STEP:
                session.step(options, action)
            elif kind == RESET:
                session.reset(options, number)
            elif kind == OBSERVE:
                session.observe(options)
            elif kind == RENDER:
                session.render()
            elif kind == MAKE:
                request = json.loads(receive(number))
                if session is not None:
                    session.env.close()
                session, info = make(request)
                send_text(0, info)
        except WorkerError as error:
            send_text(1, {"kind": error.kind, "text": str(error), "known": error.known})
        except Exception as error:
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            frames = traceback.extract_tb(error.__traceback__)
            place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
            traceback.print_exc()
            send_text(1, {"kind": "raised", "text": last + place, "known": []})


serve()
