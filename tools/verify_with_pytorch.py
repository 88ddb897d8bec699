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
steps: the relative norm of its error has to stay below a hundred times the tolerance. All of it is computed in double
precision. A hidden unit whose input is nearly 0 may be above it in one computation and below it in the other, and the derivative
jumps there: where a trace fails, steps with such units are named.
Agents with a KL term: the KL is torch.distributions' own, between the perturbed parameters' Gaussian and N(0, I), and its
weight 2v^2/k is recomputed from the unperturbed action values and compared.

Needs: pip install torch numpy safetensors. Agents: eps-greedy, ez-greedy, langevin, bootstrapped, bayes-head, noisynet, sane,
q-sane (and sane-per-batch, noisynet-per-example, sane-softplus, q-sane-softplus, which differ from them only by what the
trace holds), sane-visits, q-sane-visits, sane-constant, sane-fixed, and with a KL term sane-elbo, q-sane-elbo,
sane-constant-elbo, noisynet-elbo, sane-shuffled, sane-gap, sane-counts, oracle. For langevin the optimiser is Adam's
Langevin form, written out here, with the noise of the trace; for bootstrapped every head has its own targets, and the trace
says which head learns from which transition. What an agent remembers of states (visits, true risk) is in the trace, too; what
it makes of that, the factors of sigma and of the weight of a state's KL, is computed here.
Exit code: 0 all within the tolerance, 1 a mismatch, 2 wrong usage. Not part of the automatic tests.
"""

import argparse
import json
import sys

import torch
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence
from safetensors import safe_open


SMALLEST_SIGMA = 1e-6


# The judge computes in double precision, so that a difference is the program's rounding and not its own.
torch.set_default_dtype(torch.float64)


def load(path):
    def widened(tensor):
        return tensor.double() if tensor.is_floating_point() else tensor

    with safe_open(path, "pt") as file:
        return {name: widened(file.get_tensor(name)) for name in file.keys()}, file.metadata()


def with_prefix(tensors, prefix):
    return {name[len(prefix):]: value for name, value in tensors.items() if name.startswith(prefix)}


class Network:
    """One network of the trace: its parameters, and the paper's forward pass over them."""

    def __init__(self, parameters, config):
        self.p = parameters
        self.exploration = config["exploration"]
        self.kind = self.exploration["kind"]
        self.convolutions = config["network"]["convolutions"]
        self.full_scale = float(config["full_scale"])
        self.layers = len(config["network"]["hidden"]) + 1
        self.kink = 1.0

    def relu(self, x):
        """ReLU of a dense layer. Remembers how near a unit came to the kink, relative to the layer's largest one."""
        size = x.detach().abs()
        self.kink = min(self.kink, (size.min() / size.max().clamp(min=1e-12)).item())
        return F.relu(x)

    def hidden(self, states, prefix=""):
        x = states.double() / self.full_scale
        for n, conv in enumerate(self.convolutions, 1):
            name = f"{prefix}conv{n}"
            x = F.relu(F.conv2d(x, self.p[f"{name}.weight"], self.p.get(f"{name}.bias"), stride=conv["stride"]))
        return x.flatten(1)

    def prior(self, states):
        """The fixed action values of all heads [batch, heads x actions]."""
        x = F.relu(F.linear(self.hidden(states, "prior."), self.p["prior.fc1.weight"], self.p["prior.fc1.bias"]))
        return F.linear(x, self.p["prior.fc2.weight"], self.p["prior.fc2.bias"])

    def head(self, x, weights):
        """weights(k) -> (W [batch or 1, m, l], b [batch or 1, m]) of dense layer k."""
        for k in range(1, self.layers + 1):
            w, b = weights(k)
            x = torch.bmm(w.expand(x.shape[0], -1, -1), x.unsqueeze(2)).squeeze(2) + b
            if k < self.layers:
                x = self.relu(x)
        return x

    def clean(self, k):
        mu = "_mu" if self.kind.startswith("noisynet") else ""
        return self.p[f"fc{k}.weight{mu}"].unsqueeze(0), self.p[f"fc{k}.bias{mu}"].unsqueeze(0)

    def clean_q(self, states):
        """Action values without noise."""
        with torch.no_grad():
            return self.head(self.hidden(states), self.clean)

    def scales(self, h, memory):
        """Factors of sigma(s) and of the weight of its KL [batch, 1], constants for every derivative."""
        one = torch.ones(h.shape[0], 1)
        factor = one
        if self.kind == "sane-gap" and memory["gap"] > 0.0:
            q = self.head(h, self.clean).detach()
            factor = 1.0 / (1.0 + (q.max(1).values - q.mean(1)).unsqueeze(1) / memory["gap"])
        if self.kind == "oracle":
            risky = memory["true_risk"].unsqueeze(1) > self.exploration["risk_threshold"]
            factor = torch.where(risky, self.exploration["risky_noise"] * one, one)
        if self.kind == "sane-counts":
            return one, self.exploration["noise_at_visits"] / memory["visits"].unsqueeze(1).clamp(min=1.0)
        return factor, factor ** 2

    def sigma(self, h, memory):
        if self.kind == "sane-fixed":
            return torch.full((h.shape[0], 1), self.exploration["sigma"] if self.exploration["learn_with_noise"] else 0.0)
        if self.kind == "sane-constant":
            return self.p["sigma"].clone().expand(h.shape[0], 1)  # The optimiser moves the parameter in place.
        if self.kind == "sane-constant-elbo":
            return (SMALLEST_SIGMA + F.softplus(self.p["sigma_output"] - 3.0)).expand(h.shape[0], 1)
        module = self.exploration["module"]
        x = h.detach() if module["stop_gradient"] else h
        if self.kind.startswith("q-sane"):
            x = torch.cat([x, self.head(h, self.clean).detach()], 1)
        if module["visit_counts"] or self.kind == "sane-counts":
            x = torch.cat([x, memory["visits"].log1p().unsqueeze(1)], 1)
        hidden = module["hidden"]
        activation = {"relu": self.relu, "leaky-relu": F.leaky_relu, "tanh": torch.tanh}[module["activation"]]
        for k in range(1, len(hidden) + 2):
            x = F.linear(x, self.p[f"sigma{k}.weight"], self.p[f"sigma{k}.bias"])
            if k <= len(hidden):
                x = activation(x)
        if module["sigma"] != "linear":
            x = F.softplus(x - 3.0) + (SMALLEST_SIGMA if module["sigma"] == "positive" else 0.0)
        return x * self.scales(h, memory)[0]

    def perturbed(self):
        """k, the number of perturbed parameters."""
        return sum(w.numel() + b.numel() for w, b in map(self.clean, range(1, self.layers + 1)))

    def kl(self, sigma, kl_scale):
        """KL of the perturbed parameters' Gaussian around 0 and the prior N(0, 1), weighted mean over the states of the batch."""
        prior = Normal(0.0, 1.0)
        if self.kind.startswith("noisynet"):
            deviations = [value for name, value in self.p.items() if name.endswith("_sigma")]
            return sum(kl_divergence(Normal(torch.zeros_like(s), s), prior).sum() for s in deviations)
        return self.perturbed() * (kl_scale.squeeze(1) * kl_divergence(Normal(torch.zeros_like(sigma), sigma), prior)).mean()

    def forward(self, states, noise, memory):
        """Q(s, .) [batch, actions] and sigma(s) [batch] or None. `memory`: what the agent remembers of these states."""
        h = self.hidden(states)
        if self.kind in ("eps-greedy", "ez-greedy", "langevin", "bayes-head"):
            return self.head(h, self.clean), None
        if self.kind == "bootstrapped":
            return self.head(h, self.clean) + (self.prior(states) if "prior.fc2.weight" in self.p else 0), None

        def epsilon(k):
            z_in = noise[f"z_in{k}"].reshape(-1, noise[f"z_in{k}"].shape[-1])
            z_out = noise[f"z_out{k}"].reshape(-1, noise[f"z_out{k}"].shape[-1])
            return z_out.unsqueeze(2) * z_in.unsqueeze(1), z_out

        if self.kind.startswith("noisynet"):
            def noisy(k):
                eps_w, eps_b = epsilon(k)
                p = {name: self.p[f"fc{k}.{name}"].unsqueeze(0)
                     for name in ("weight_mu", "weight_sigma", "bias_mu", "bias_sigma")}
                return p["weight_mu"] + p["weight_sigma"] * eps_w, p["bias_mu"] + p["bias_sigma"] * eps_b
            return self.head(h, noisy), None

        sigma = self.sigma(h, memory)

        def perturbed(k):
            eps_w, eps_b = epsilon(k)
            w, b = self.clean(k)
            return w + sigma.unsqueeze(2) * eps_w, b + sigma * eps_b
        return self.head(h, perturbed), sigma.squeeze(1)


class LangevinAdam(torch.optim.Optimizer):
    """theta - lr (g + a m / (sqrt(v) + eps)) + sqrt(2 lr / beta) noise, moments without bias correction."""

    def __init__(self, parameters, adam, exploration):
        super().__init__(parameters.values(), {})
        self.named, self.adam, self.exploration = parameters, adam, exploration
        self.moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in parameters.items()}
        self.noise = None

    @torch.no_grad()
    def step(self):
        lr, (beta_1, beta_2) = self.adam["learning_rate"], (self.adam["beta_1"], self.adam["beta_2"])
        for name, p in self.named.items():
            m, v = self.moments[name]
            m.mul_(beta_1).add_(p.grad, alpha=1 - beta_1)
            v.mul_(beta_2).addcmul_(p.grad, p.grad, value=1 - beta_2)
            direction = p.grad + self.exploration["bias_factor"] * m / (v.sqrt() + self.adam["epsilon"])
            p.sub_(lr * direction).add_(self.noise[name], alpha=(2 * lr / self.exploration["inverse_temperature"]) ** 0.5)


class Bound:
    """The weight of the KL term: 2v^2/k, v in units of the running median of the gap between action values, as it is, or so
    large that it changes a share of the actions."""

    def __init__(self, exploration):
        self.settings = exploration if "q_noise" in exploration else None
        self.gap, self.batches = 0.0, 0
        self.changing, self.telling_batches = 0.0, 0

    def weight(self, network, states, noisy, kl_scale, memory):
        if self.settings is None:
            return None
        clean = network.clean_q(states)
        gaps = (clean.max(1).values - clean.mean(1)).sort().values
        self.batches += 1
        self.gap += (gaps[len(gaps) // 2].item() - self.gap) * max(1.0 / self.batches, 1e-3)
        if self.settings["q_noise_unit"] == "share":
            v = self.noise_that_changes(self.settings["q_noise"], clean, noisy - clean, kl_scale)
        else:
            v = self.settings["q_noise"] * (self.gap if self.settings["q_noise_unit"] == "gap" else 1.0)
        if self.settings["contraction"] == "posterior":
            v *= (self.settings["posterior_at"] / max(memory["transitions"].item(), 1.0)) ** 0.5
        return 2.0 * v * v / network.perturbed()

    def noise_that_changes(self, share, clean, noise, kl_scale):
        """The running quantile of the size at which noise changes the greedy action, in units of the scales of the states."""
        best = clean.argmax(1, keepdim=True)
        behind, ahead = clean.gather(1, best) - clean, noise - noise.gather(1, best)
        factors = torch.where(ahead > 0, behind / ahead, torch.inf).min(1).values
        size = (noise.square().mean() / kl_scale.mean()).sqrt()
        if size > 0 and factors.isfinite().any():
            current = self.changing if self.telling_batches else size.item()
            changed = (factors * size < current).double().mean().item()
            self.telling_batches += 1
            step = max(1.0 / self.telling_batches, 1e-3) * (share - changed) / share
            self.changing = current * (1.0 + min(max(step, -0.5), 0.5))
        return self.changing


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
    known = ("eps-greedy", "ez-greedy", "langevin", "bootstrapped", "bayes-head", "noisynet", "sane", "q-sane",
             "sane-elbo", "q-sane-elbo", "sane-constant-elbo", "noisynet-elbo", "sane-constant", "sane-fixed",
             "sane-shuffled", "sane-gap", "sane-counts", "oracle")
    supported = kind in known and form == "factored" and config["objective"]["kind"] == "td-error"
    if not supported or config["exploration"].get("q_features") == "noisy" or config["double_q"]:
        sys.exit(f"{path}: agent {agent} is not one this script recomputes")
    initial = with_prefix(tensors, "initial.online.")
    fixed = {name: value for name, value in initial.items() if name.startswith(("prior.", "posterior."))}
    parameters = {name: value.clone().requires_grad_(True) for name, value in initial.items() if name not in fixed}
    online = Network(parameters | fixed, config)
    target = Network(with_prefix(tensors, "initial.target."), config)
    adam, exploration = config["optimiser"], config["exploration"]
    scale = exploration.get("module", exploration).get("learning_rate_scale", 1.0)
    own = [value for name, value in parameters.items() if name.startswith("sigma")]
    rest = [value for name, value in parameters.items() if not name.startswith("sigma")]
    groups = [{"params": rest}] + ([{"params": own, "lr": scale * adam["learning_rate"]}] if own else [])
    if kind == "langevin":
        optimiser = LangevinAdam(parameters, adam, exploration)
    else:
        optimiser = torch.optim.Adam(groups, lr=adam["learning_rate"],
                                     betas=(adam["beta_1"], adam["beta_2"]), eps=adam["epsilon"])
    bound = Bound(exploration)
    verdict, near_kinks = Verdict(tolerance), []
    heads = exploration.get("heads", 1)
    for k in range(steps):
        step = with_prefix(tensors, f"step{k}.")
        with torch.no_grad():
            memory = {"gap": bound.gap} | with_prefix(step, "memory.")
            memory_next = {"gap": bound.gap} | with_prefix(step, "memory_next.")
            q_next, _ = target.forward(step["next_states"], with_prefix(step, "target."), memory_next)
            # One set of action values per head: [batch, heads, actions].
            future = q_next.unflatten(1, (heads, -1)).max(2).values
            value = step["rewards"].unsqueeze(1) + config["gamma"] * (1 - step["dones"].double().unsqueeze(1)) * future
        online.kink = 1.0
        q, sigma = online.forward(step["states"], with_prefix(step, "online."), memory)
        if online.kink < 0.1 * tolerance:
            near_kinks.append(f"step {k}: {online.kink:.1e}")
        taken = q.unflatten(1, (heads, -1))[torch.arange(len(q)), :, step["actions"].long()]
        mask = step["weight"].reshape(len(q), heads) if "weight" in step else torch.ones(len(q), heads)
        loss = (mask * (taken - value) ** 2).mean()
        value = value if heads > 1 else value.squeeze(1)
        with torch.no_grad():
            kl_scale = online.scales(online.hidden(step["states"]), memory)[1]
        weight = bound.weight(online, step["states"], q.detach(), kl_scale, memory)
        if weight is not None:
            kl = online.kl(sigma, kl_scale)
            loss = loss + weight * kl
            if exploration["kl_of_means"]:
                means = (v for n, v in parameters.items() if not n.endswith("_sigma") and n != "sigma_output")
                loss = loss + weight * 0.5 * sum((v ** 2).sum() for v in means)
            verdict.compare("kl", f"step {k} kl_sigma", step["kl_sigma"], weight * kl)
        optimiser.zero_grad()
        loss.backward()
        optimiser.noise = with_prefix(step, "langevin.")
        optimiser.step()
        if kind == "noisynet-elbo":
            with torch.no_grad():
                for name, deviations in parameters.items():
                    if name.endswith("_sigma"):
                        deviations.clamp_(min=SMALLEST_SIGMA)
        verdict.compare("loss", f"step {k} loss", step["loss"], loss)
        verdict.compare("q", f"step {k} q", step["q"], q)
        verdict.compare("target", f"step {k} target_value", step["target_value"], value)
        if sigma is not None:
            verdict.compare("sigma", f"step {k} sigma", step["sigma"], sigma)
    final = with_prefix(tensors, "final.online.")
    for name, value in fixed.items():
        if not torch.equal(final.pop(name), value):
            verdict.failures.append(f"{name} moved, which is not learned")
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
    if verdict.failures and near_kinks:
        print(f"  hidden units so near to ReLU's kink that rounding may take the other side of it: {', '.join(near_kinks)}")
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
