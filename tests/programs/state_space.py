"""A selective state space model: its states decay at rates that depend on the input."""

import numpy as np
from program_support import STEPS, initialize, train

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

WIDTH, INNER, STATES, RANK, VOCABULARY, LENGTH = 16, 32, 8, 4, 12, 14


def scan(decay, drive, output):
    """h[t] = decay[t] h[t-1] + drive[t], read out by output[t], one step after the other."""
    state, out = mx.zeros_like(drive[:, 0]), []
    for t in range(decay.shape[1]):
        state = decay[:, t] * state + drive[:, t]
        out.append(mx.einsum("bds,bs->bd", state, output[:, t]))
    return mx.stack(out, axis=1)


def parallel_scan(decay, drive, output):
    """The same in log2(length) steps over whole sequences."""
    length, shift = decay.shape[1], 1
    while shift < length:
        before = mx.pad(drive[:, :-shift], [(0, 0), (shift, 0), (0, 0), (0, 0)])
        factor = mx.pad(
            decay[:, :-shift], [(0, 0), (shift, 0), (0, 0), (0, 0)], constant_values=1.0
        )
        drive, decay = drive + decay * before, decay * factor
        shift *= 2
    return mx.einsum("btds,bts->btd", drive, output)


class Mixer(nn.Module):
    """Gated channels that pass a short convolution and the recurrence."""

    def __init__(self, recurrence):
        super().__init__()
        self.recurrence = recurrence
        self.into = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.conv = nn.Conv1d(INNER, INNER, 4, padding=3, groups=INNER)
        self.select = nn.Linear(INNER, RANK + 2 * STATES, bias=False)
        self.step = nn.Linear(RANK, INNER)
        self.log_rate = mx.zeros((INNER, STATES))
        self.skip = mx.ones((INNER,))
        self.out = nn.Linear(INNER, WIDTH, bias=False)

    def __call__(self, x):
        x, gate = mx.split(self.into(x), 2, axis=-1)
        x = nn.silu(self.conv(x)[:, : x.shape[1]])
        low, drive, output = mx.split(self.select(x), [RANK, RANK + STATES], axis=-1)
        step = mx.logaddexp(self.step(low), 0.0)[..., None]
        decay = mx.exp(-step * mx.exp(self.log_rate))
        y = self.recurrence(decay, step * drive[:, :, None] * x[..., None], output)
        return self.out((y + self.skip * x) * nn.silu(gate))


class Model(nn.Module):
    """Mixers, each added to its input; one is computed again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.mixers = [Mixer(scan), Mixer(parallel_scan)]
        self.norms = [nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)]
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def __call__(self, tokens):
        x = self.embedding(tokens)
        x = x + nn.utils.checkpoint(self.mixers[0])(self.norms[0](x))
        x = x + self.mixers[1](self.norms[1](x))
        return self.output(x)


def run() -> dict[str, list[float]]:
    """Losses of recalling a token that was seen some steps ago."""
    model = initialize(Model(), 91)
    rng = np.random.default_rng(92)
    tokens = mx.array(rng.integers(0, VOCABULARY, (STEPS, 6, LENGTH)), mx.uint32)

    def loss_fn(batch):
        logits = model(batch)[:, 2:]
        return nn.losses.cross_entropy(logits, batch[:, :-2], reduction="mean")

    losses = train(model, optim.AdaDelta(2.0), loss_fn, ((batch,) for batch in tokens))
    return {"losses": losses, "after": model(tokens[0])[0, -1].tolist()}
