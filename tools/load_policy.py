"""Loads an exported policy with numpy alone and compares its action values with those SANE computed.

  sane export runs/boxing/q-sane/seed-1 -o policy.safetensors
  sane eval runs/boxing/q-sane/seed-1 --dump-states 100 -o states.safetensors
  python tools/load_policy.py policy.safetensors states.safetensors        (pip install numpy safetensors)
"""
import sys
import numpy as np
from safetensors import safe_open


def conv(x, w, b, stride):
    """PyTorch's layouts: x [N,C,H,W], w [O,C,K,K]."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True) + b[None, :, None, None]


policy, states = (safe_open(path, "np") for path in sys.argv[1:3])
tensor, meta = {name: policy.get_tensor(name) for name in policy.keys()}, policy.metadata()
x = states.get_tensor("observations").astype(np.float32) / float(meta["input_divided_by"])
for i, stride in enumerate(filter(None, meta["strides"].split(",")), 1):
    w = tensor[f"conv{i}.weight"]
    x = np.maximum(conv(x, w, tensor.get(f"conv{i}.bias", np.zeros(len(w), np.float32)), int(stride)), 0)
x = x.reshape(len(x), -1)
layers = sum(name.startswith("fc") and name.endswith(".weight") for name in tensor)
for i in range(1, layers + 1):  # Without noise a NoisyNet layer is its mean.
    x = x @ tensor[f"fc{i}.weight"].T + tensor[f"fc{i}.bias"]
    x = np.maximum(x, 0) if i < layers else x
q = states.get_tensor("q")
print(f"{len(q)} states, {meta['agent']} on {meta['world']}: largest difference {np.abs(q - x).max():.2e}, "
      f"largest |Q| {np.abs(q).max():.3f}, same greedy action in {(q.argmax(1) == x.argmax(1)).mean():.1%}")
sys.exit(0 if np.allclose(q, x, rtol=1e-4, atol=1e-4) else 1)
