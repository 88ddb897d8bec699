#!/usr/bin/env python3
"""Recomputes a learning trace with PyTorch and says whether the program learned what PyTorch learns.

    sane trace-learning --agent sane --steps 10 --seed 1 --out trace.safetensors
    python3 tools/verify_with_pytorch.py trace.safetensors [MORE.safetensors ...] [--tolerance 1e-4]

What it does: takes the initial parameters of the online and the target network, the batches and the noise vectors from
the trace, and runs the same number of learn steps with torch.nn.functional, autograd and torch.optim.Adam. Perturbed
weights are built in full, one matrix per example, as the authors of the paper do ([batch, outputs, inputs] floats):
nothing of the program's rank-one forms is used here. Compared are, step by step, Q(s, .), sigma(s), the target and the
loss, and at the end every parameter. A difference is relative to the largest number of the tensor it belongs to.
The movement of each parameter tensor (final minus initial) is compared as well, because parameters move little in ten
steps: the relative norm of its error has to stay below a hundred times the tolerance.

Needs: pip install torch numpy safetensors. Agents: eps-greedy, noisynet, sane, q-sane (and sane-per-batch,
noisynet-per-example, sane-softplus, q-sane-softplus, which differ from them only by what the trace holds).
Exit code: 0 all within the tolerance, 1 a mismatch, 2 wrong usage. Not part of the automatic tests.
"""

import argparse
import json
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open


def load(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def with_prefix(tensors, prefix):
    return {name[len(prefix):]: value for name, value in tensors.items() if name.startswith(prefix)}


class Network:
    """One network of the trace: its parameters, and the paper's forward pass over them."""

    def __init__(self, parameters, config):
        self.p = parameters
        self.exploration = config["exploration"]
        self.convolutions = config["network"]["convolutions"]
        self.full_scale = float(config["full_scale"])
        self.layers = len(config["network"]["hidden"]) + 1

    def hidden(self, states):
        x = states.float() / self.full_scale
        for n, conv in enumerate(self.convolutions, 1):
            x = F.relu(F.conv2d(x, self.p[f"conv{n}.weight"], self.p.get(f"conv{n}.bias"), stride=conv["stride"]))
        return x.flatten(1)

    def head(self, x, weights):
        """weights(k) -> (W [batch or 1, m, l], b [batch or 1, m]) of dense layer k."""
        for k in range(1, self.layers + 1):
            w, b = weights(k)
            x = torch.bmm(w.expand(x.shape[0], -1, -1), x.unsqueeze(2)).squeeze(2) + b
            if k < self.layers:
                x = F.relu(x)
        return x

    def clean(self, k):
        return self.p[f"fc{k}.weight"].unsqueeze(0), self.p[f"fc{k}.bias"].unsqueeze(0)

    def sigma(self, h):
        x = h
        if self.exploration["kind"] == "q-sane":
            x = torch.cat([h, self.head(h, self.clean).detach()], 1)
        hidden = self.exploration["module"]["hidden"]
        for k in range(1, len(hidden) + 2):
            x = F.linear(x, self.p[f"sigma{k}.weight"], self.p[f"sigma{k}.bias"])
            if k <= len(hidden):
                x = F.relu(x)
        if self.exploration["module"]["sigma"] == "softplus":
            x = F.softplus(x - 3.0)
        return x

    def forward(self, states, noise):
        """Q(s, .) [batch, actions] and sigma(s) [batch] or None."""
        h = self.hidden(states)
        kind = self.exploration["kind"]
        if kind == "eps-greedy":
            return self.head(h, self.clean), None

        def epsilon(k):
            z_in = noise[f"z_in{k}"].reshape(-1, noise[f"z_in{k}"].shape[-1])
            z_out = noise[f"z_out{k}"].reshape(-1, noise[f"z_out{k}"].shape[-1])
            return z_out.unsqueeze(2) * z_in.unsqueeze(1), z_out

        if kind == "noisynet":
            def noisy(k):
                eps_w, eps_b = epsilon(k)
                p = {name: self.p[f"fc{k}.{name}"].unsqueeze(0)
                     for name in ("weight_mu", "weight_sigma", "bias_mu", "bias_sigma")}
                return p["weight_mu"] + p["weight_sigma"] * eps_w, p["bias_mu"] + p["bias_sigma"] * eps_b
            return self.head(h, noisy), None

        sigma = self.sigma(h)

        def perturbed(k):
            eps_w, eps_b = epsilon(k)
            w, b = self.clean(k)
            return w + sigma.unsqueeze(2) * eps_w, b + sigma * eps_b
        return self.head(h, perturbed), sigma.squeeze(1)


class Verdict:
    def __init__(self, tolerance):
        self.tolerance, self.worst, self.failures = tolerance, {}, []

    def compare(self, kind, where, ours, theirs, scale=1.0):
        ours, theirs = ours.double(), theirs.detach().double()
        largest = max(theirs.abs().max().item(), 1e-12)
        self.note(kind, where, (ours - theirs).abs().max().item() / largest, scale)

    def compare_norm(self, kind, where, ours, theirs, scale):
        ours, theirs = ours.double(), theirs.detach().double()
        self.note(kind, where, ((ours - theirs).norm() / max(theirs.norm().item(), 1e-12)).item(), scale)

    def note(self, kind, where, error, scale):
        self.worst[kind] = max(self.worst.get(kind, 0.0), error)
        if not error <= scale * self.tolerance:
            self.failures.append(f"{where}: relative difference {error:.2e} exceeds {scale * self.tolerance:.0e}")


def verify(path, tolerance):
    tensors, metadata = load(path)
    config = json.loads(metadata["config"])
    agent, steps = metadata["agent"], int(metadata["steps"])
    kind, form = config["exploration"]["kind"], config["exploration"].get("noise", {}).get("form", "factored")
    supported = kind in ("eps-greedy", "noisynet", "sane", "q-sane") and form == "factored"
    if not supported or config["exploration"].get("q_features") == "noisy" or config["double_q"]:
        sys.exit(f"{path}: agent {agent} is not one this script recomputes")
    initial = with_prefix(tensors, "initial.online.")
    parameters = {name: value.clone().requires_grad_(True) for name, value in initial.items()}
    online = Network(parameters, config)
    target = Network(with_prefix(tensors, "initial.target."), config)
    adam = config["optimiser"]
    optimiser = torch.optim.Adam(parameters.values(), lr=adam["learning_rate"],
                                 betas=(adam["beta_1"], adam["beta_2"]), eps=adam["epsilon"])
    verdict = Verdict(tolerance)
    for k in range(steps):
        step = with_prefix(tensors, f"step{k}.")
        with torch.no_grad():
            q_next, _ = target.forward(step["next_states"], with_prefix(step, "target."))
            value = step["rewards"] + config["gamma"] * (1 - step["dones"].float()) * q_next.max(1).values
        q, sigma = online.forward(step["states"], with_prefix(step, "online."))
        taken = q.gather(1, step["actions"].long().unsqueeze(1)).squeeze(1)
        loss = ((taken - value) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        verdict.compare("loss", f"step {k} loss", step["loss"], loss)
        verdict.compare("q", f"step {k} q", step["q"], q)
        verdict.compare("target", f"step {k} target_value", step["target_value"], value)
        if sigma is not None:
            verdict.compare("sigma", f"step {k} sigma", step["sigma"], sigma)
    final = with_prefix(tensors, "final.online.")
    if set(final) != set(parameters):
        verdict.failures.append(f"parameters differ: {sorted(set(final) ^ set(parameters))}")
    for name in sorted(set(final) & set(parameters)):
        verdict.compare("parameters", name, final[name], parameters[name])
        moved = parameters[name] - initial[name]
        verdict.compare_norm("movement", f"{name} movement", final[name] - initial[name], moved, 100.0)
    worst = ", ".join(f"{kind} {error:.1e}" for kind, error in verdict.worst.items())
    print(f"{path}: {agent}, {steps} steps, {len(final)} parameter tensors: {'FAILED' if verdict.failures else 'ok'} "
          f"(largest relative differences: {worst})")
    for failure in verdict.failures:
        print(f"  {failure}")
    return not verdict.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="+", metavar="FILE.safetensors")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="largest relative difference (default 1e-4)")
    arguments = parser.parse_args()
    verdicts = [verify(path, arguments.tolerance) for path in arguments.traces]
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
