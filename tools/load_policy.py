#!/usr/bin/env python3
"""Loads an exported policy with numpy alone and compares its action values with those that SANE computed.

    sane export runs/boxing/q-sane/seed-1 -o policy.safetensors
    sane eval runs/boxing/q-sane/seed-1 --dump-states 100 -o states.safetensors
    python3 tools/load_policy.py policy.safetensors states.safetensors

Needs: pip install numpy. Works for every agent: without noise a NoisyNet layer is its mean, a SANE layer its weights, and an
ensemble the mean of its heads, to which its fixed prior network is added.
Exit code: 0 all action values within 1e-4, 1 a difference, 2 wrong usage.
"""

import json
import struct
import sys

import numpy as np

# U32: `memory`, what the agent remembers of states. Action values without noise do not depend on it.
DTYPES = {"F32": "<f4", "I64": "<i8", "U32": "<u4", "U8": "u1"}


def load(path):
    """The tensors and the metadata of a safetensors file: a length, a JSON header, the bytes."""
    data = open(path, "rb").read()
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    metadata = header.pop("__metadata__", {})
    tensors = {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
    }
    return tensors, metadata


def conv(x, w, b, stride):
    """PyTorch's layouts: x [N,C,H,W], w [O,C,K,K]."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True) + b[None, :, None, None]


def dense(tensors, k):
    """Weights and biases of dense layer k without noise: NoisyNet's are called weight_mu and bias_mu; None beyond the last."""
    suffix = "_mu" if f"fc{k}.weight_mu" in tensors else ""
    return tensors.get(f"fc{k}.weight{suffix}"), tensors.get(f"fc{k}.bias{suffix}")


def action_values(tensors, metadata, observations):
    """Q [N,A] of observations [N,C,H,W] (or [N,I] where the network has no convolutions)."""
    prior = {name.removeprefix("prior."): value for name, value in tensors.items() if name.startswith("prior.")}
    q = network(tensors, metadata, observations)
    if prior:
        q = q + network(prior, metadata, observations)
    actions = len(metadata["actions"].split(","))
    return q.reshape(len(q), -1, actions).mean(1)


def network(tensors, metadata, observations):
    """Outputs of the last layer: one set of action values, or one per head of an ensemble."""
    x = observations.astype(np.float32) / np.float32(metadata["input_divided_by"])
    for k, stride in enumerate(filter(None, metadata["strides"].split(",")), 1):
        w = tensors[f"conv{k}.weight"]
        x = np.maximum(conv(x, w, tensors.get(f"conv{k}.bias", np.zeros(len(w), np.float32)), int(stride)), 0)
    x = x.reshape(len(x), -1)
    w, b = dense(tensors, 1)
    if w is None:
        raise SystemExit(f"no dense layer in {sorted(tensors)}")
    k = 1
    while w is not None:
        x, k = x @ w.T + b, k + 1
        w, b = dense(tensors, k)
        x = x if w is None else np.maximum(x, 0)
    return x


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    (tensors, metadata), (states, _) = load(sys.argv[1]), load(sys.argv[2])
    expected, found = states["q"], action_values(tensors, metadata, states["observations"])
    same_action = (expected.argmax(1) == found.argmax(1)).mean()
    print(
        f"{len(expected)} states, {metadata['agent']} on {metadata['world']}: largest difference "
        f"{np.abs(expected - found).max():.2e}, largest |Q| {np.abs(expected).max():.3f}, same greedy action in {same_action:.1%}"
    )
    return 0 if np.allclose(expected, found, rtol=1e-4, atol=1e-4) else 1


sys.exit(main())
