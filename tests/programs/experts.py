"""A mixture of experts: each token goes through the two experts that a router chooses."""

import numpy as np
from program_support import STEPS, initialize, train

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

WIDTH, HIDDEN, EXPERTS, CHOSEN, VOCABULARY, LENGTH = 16, 24, 6, 2, 16, 8


class Experts(nn.Module):
    """Feed-forward networks with gates, one for each expert, in stacked matrices."""

    def __init__(self):
        super().__init__()
        self.gate = mx.zeros((EXPERTS, WIDTH, HIDDEN))
        self.up = mx.zeros((EXPERTS, WIDTH, HIDDEN))
        self.down = mx.zeros((EXPERTS, HIDDEN, WIDTH))

    def __call__(self, x, chosen):
        """Tokens are sorted by expert, so that each expert's matrices are read once."""
        order = mx.argsort(chosen.flatten())
        rows = x[order // CHOSEN][:, None]
        which = chosen.flatten()[order]
        hidden = nn.silu(mx.gather_mm(rows, self.gate, rhs_indices=which, sorted_indices=True))
        hidden = hidden * mx.gather_mm(rows, self.up, rhs_indices=which, sorted_indices=True)
        out = mx.gather_mm(hidden, self.down, rhs_indices=which, sorted_indices=True)
        return mx.unflatten(out[mx.argsort(order), 0], 0, (-1, CHOSEN))


class Mixture(nn.Module):
    """The router and the experts; also gives the loss that keeps the experts equally busy."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = Experts()

    def __call__(self, x):
        flat = x.reshape(-1, WIDTH)
        likely = mx.softmax(self.router(flat), axis=-1, precise=True)
        chosen = mx.stop_gradient(mx.argpartition(-likely, CHOSEN - 1, axis=-1)[:, :CHOSEN])
        weights = mx.take_along_axis(likely, chosen, axis=-1)
        weights = weights / weights.sum(axis=-1, keepdims=True)
        out = (self.experts(flat, chosen) * weights[..., None]).sum(axis=1)
        busy = (chosen[..., None] == mx.arange(EXPERTS)).astype(mx.float32).mean(axis=(0, 1))
        return out.reshape(x.shape), EXPERTS * (busy * likely.mean(axis=0)).sum()


class Model(nn.Module):
    """Rotary attention and a mixture of experts, twice."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.projections = [nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2)]
        self.rope = nn.RoPE(8, traditional=True)
        self.mixtures = [Mixture() for _ in range(2)]
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def attend(self, projection, x):
        """Attention of two heads of which each position sees the earlier ones."""
        parts = projection(x).reshape(*x.shape[:2], 3, 2, 8).transpose(2, 0, 3, 1, 4)
        q, k = self.rope(parts[0]), self.rope(parts[1])
        mask = mx.tril(mx.ones((x.shape[1], x.shape[1]), mx.bool_))
        out = mx.fast.scaled_dot_product_attention(q, k, parts[2], scale=8**-0.5, mask=mask)
        return out.transpose(0, 2, 1, 3).reshape(x.shape)

    def __call__(self, tokens):
        x, balance = self.embedding(tokens), 0.0
        for projection, mixture in zip(self.projections, self.mixtures, strict=True):
            x = x + self.attend(projection, x)
            y, extra = mixture(mx.fast.rms_norm(x, None, 1e-5))
            x, balance = x + y, balance + extra
        return self.output(x), balance


def run() -> dict[str, list[float]]:
    """Losses of predicting the next element of arithmetic sequences."""
    model = initialize(Model(), 101)
    rng = np.random.default_rng(102)
    first, pace = rng.integers(0, VOCABULARY, (2, STEPS, 8, 1))
    tokens = mx.array((first + pace % 3 * np.arange(LENGTH)) % VOCABULARY)

    def loss_fn(batch):
        logits, balance = model(batch[:, :-1])
        return nn.losses.cross_entropy(logits, batch[:, 1:]).mean() + 0.02 * balance

    optimizer = optim.Adafactor(3e-2, relative_step=False, scale_parameter=False)
    losses = train(model, optimizer, loss_fn, ((batch,) for batch in tokens))
    return {"losses": losses, "after": [mx.max(v).item() for v in model(tokens[0])]}
