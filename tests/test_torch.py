"""Networks against PyTorch: forward and backward passes, `td.torch.Traces`, and streaming actor-critic as published."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch==2.13.0", exc_type=ImportError)


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The same network in PyTorch, with the parameters of one of ours."""

    def __init__(self, layers: Any, dtype: Any) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*W.shape, dtype=dtype) for W, _ in layers)
        with torch.no_grad():
            for layer, (W, b) in zip(self.layers, layers, strict=True):
                layer.weight.copy_(torch.tensor(W.T.copy()))
                layer.bias.copy_(torch.tensor(b.copy()))

    def forward(self, x: Any) -> Any:
        for layer in self.layers[:-1]:
            x = torch.nn.functional.leaky_relu(torch.nn.functional.layer_norm(layer(x), [layer.out_features]))
        return self.layers[-1](x)

    def flat(self, of: Any = lambda p: p) -> Any:
        """All parameters, or their gradients, in our order."""
        parts = []
        for k, layer in enumerate(self.layers):
            W = of(layer.weight).detach().numpy()
            parts += [W.ravel() if k == len(self.layers) - 1 else W.T.ravel(), of(layer.bias).detach().numpy()]
        return np.concatenate(parts)


class Scales:
    """Normalisation as the papers define it: Welford's mean and variance of inputs and of discounted rewards."""

    def __init__(self) -> None:
        self.n, self.mean, self.p = 0, np.zeros(3), np.zeros(3)
        self.m, self.reward_mean, self.q, self.trace = 0, 0.0, 0.0, 0.0

    def see(self, x: Any) -> None:
        self.n += 1
        d = x - self.mean
        self.mean = self.mean + d / self.n
        self.p = self.p + d * (x - self.mean)

    def inputs(self, x: Any) -> Any:
        sd = np.sqrt(self.p / (self.n - 1)) if self.n > 1 else 1.0
        return torch.tensor(np.clip((x - self.mean) / sd, -10, 10).astype(np.float32))

    def reward(self, r: float, gamma: float, begins: bool) -> float:
        self.trace = r if begins else gamma * self.trace + r
        self.m += 1
        d = self.trace - self.reward_mean
        self.reward_mean += d / self.m
        self.q += d * (self.trace - self.reward_mean)
        return r / (np.sqrt(self.q / (self.m - 1)) if self.m > 1 else abs(self.trace))


def stream(n: int) -> Any:
    """Observations of a random walk, actions and rewards; episodes terminate or are truncated."""
    rng, begins, y = np.random.default_rng(7), True, np.zeros(3)
    for _ in range(n):
        x = rng.normal(size=3) if begins else y
        y = 0.9 * x + 0.4 * rng.normal(size=3)
        ended, cut = (bool(b) for b in rng.random(2) < [0.02, 0.02])
        yield x, int(rng.integers(2)), float(x[0] + 0.1 * rng.normal()), y, ended, cut, begins
        begins = ended or cut


@pytest.mark.parametrize(("step", "alpha"), [("intentional", td.steps.Intentional(0.3)), ("obgd", td.steps.ObGD())])
def test_traces_of_pytorch_are_ours(step: Any, alpha: Any) -> None:
    v = td.TD(td.Network(3, (16, 16)), alpha, 0.8)
    net, scales = Net(v.layers, torch.float32), Scales()
    traces = td.torch.Traces(net.parameters(), gamma=0.95, lam=0.8, step=step)
    for x, _, reward, y, ended, cut, begins in stream(1000):
        v.update(x, reward, y, 0.95, terminated=ended, truncated=cut)
        x_in = scales.inputs(x)
        for one in (x, y) if begins else (y,):
            scales.see(one)
        r, here = scales.reward(reward, 0.95, begins), net(x_in)[0]
        ahead = 0.0 if ended else 0.95 * net(scales.inputs(y))[0].item()
        here.backward()
        traces.step(r + ahead - here.item(), terminated=ended, truncated=cut)
    np.testing.assert_allclose(v.row("V_w"), net.flat(), atol=2e-3)
    assert abs(v.row("V_w") - v.features.initial()).max() > 0.1


def test_streaming_actor_critic_as_published() -> None:
    """Stream AC(λ) of Elsayed, Vasan & Mahmood (2024) with our truncation, 10³ steps in float32."""
    gamma, lam, tau = 0.99, 0.8, 0.01
    critic = td.TD(td.Network(3, (16, 16)), td.steps.ObGD(kappa=2.0), lam)
    agent = td.ActorCritic(critic, td.control.Softmax(2), td.steps.ObGD(kappa=3.0), entropy=tau, weighting="plain")
    actor: Any = agent.actor
    nets = [Net(critic.layers, torch.float32), Net(actor.learner.layers, torch.float32)]
    traces = [[torch.zeros_like(p) for p in net.parameters()] for net in nets]
    scales = Scales()
    for x, action, reward, y, ended, cut, begins in stream(1000):
        agent.update(x, action, reward, y, gamma=gamma, terminated=ended, truncated=cut)
        x_in = scales.inputs(x)
        for one in (x, y) if begins else (y,):
            scales.see(one)
        r, here = scales.reward(reward, gamma, begins), nets[0](x_in)[0]
        delta = r + (0.0 if ended else gamma * nets[0](scales.inputs(y))[0].item()) - here.item()
        policy = torch.distributions.Categorical(logits=nets[1](x_in))
        here.backward()
        (policy.log_prob(torch.tensor(action)) + tau * np.sign(delta) * policy.entropy()).backward()
        for net, own, kappa in zip(nets, traces, (2.0, 3.0), strict=True):
            with torch.no_grad():
                for p, e in zip(net.parameters(), own, strict=True):
                    e.mul_(gamma * lam).add_(p.grad)
                    p.grad = None
                total = sum(float(e.abs().sum()) for e in own)
                size = 1.0 / max(1.0, kappa * max(abs(delta), 1.0) * total)
                for p, e in zip(net.parameters(), own, strict=True):
                    p.add_(e, alpha=size * delta)
                    if ended or cut:
                        e.zero_()
        assert critic.memory["td_error"] == pytest.approx(delta, abs=2e-3)
    np.testing.assert_allclose(critic.row("V_w"), nets[0].flat(), atol=2e-3)
    np.testing.assert_allclose(agent.theta[0], nets[1].flat(), atol=2e-3)


def test_gradients_are_those_of_pytorch() -> None:
    network = td.Network(3, (16, 16), dtype="float64", normalize_inputs=False)
    v, x = td.TD(network, td.steps.ObGD(), 0.8), np.array([0.5, -1.0, 2.0])
    net = Net(v.layers, torch.float64)
    assert v.predict(x) == pytest.approx(net(torch.tensor(x))[0].item(), rel=1e-12)
    net(torch.tensor(x))[0].backward()
    v.update(x, 1.0, x, 0.9, rho=0.5)
    np.testing.assert_allclose(v.row("V_e"), 0.5 * net.flat(lambda p: p.grad), rtol=1e-9, atol=1e-12)


def test_what_traces_refuse() -> None:
    with pytest.raises(TypeError, match="params must be tensors"):
        td.torch.Traces([])
    with pytest.raises(ValueError, match='step must be "intentional" or "obgd"'):
        td.torch.Traces([torch.zeros(1, requires_grad=True)], step="adam")  # type: ignore[arg-type]
    traces = td.torch.Traces([torch.zeros(1, requires_grad=True)])
    with pytest.raises(ValueError, match="a gradient is missing"):
        traces.step(1.0)
    with pytest.raises(ValueError, match="delta must be finite"):
        traces.step(float("nan"))
