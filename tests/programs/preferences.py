"""Direct preference optimization: a policy is drawn to chosen answers, away from rejected ones,
relative to a frozen copy of itself."""

import copy

import numpy as np
from program_support import STEPS, initialize

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

WIDTH, VOCABULARY, LENGTH, BETA = 24, 20, 9, 0.5


class Policy(nn.Module):
    """A language model of recurrent layers."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = [nn.GRU(WIDTH, WIDTH), nn.LSTM(WIDTH, WIDTH)]
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def __call__(self, tokens):
        x = self.layers[0](self.embedding(tokens))
        hidden, _ = self.layers[1](x)
        return self.output(x + hidden)


def log_probability(model, tokens, lengths):
    """Of each answer: the sum over its tokens, without those that fill up the batch."""
    logits = model(tokens[:, :-1])
    chosen = mx.take_along_axis(logits, tokens[:, 1:, None], axis=-1).squeeze(-1)
    each = chosen - mx.logsumexp(logits, axis=-1)
    mask = mx.arange(1, tokens.shape[1]) < lengths[:, None]
    return mx.where(mask, each, 0.0).sum(axis=-1)


def preference_loss(policy, reference, batch):
    """The loss, and what the margin between the answers is."""
    margins = []
    for tokens, lengths in batch:
        fixed = mx.stop_gradient(log_probability(reference, tokens, lengths))
        margins.append(log_probability(policy, tokens, lengths) - fixed)
    margin = BETA * (margins[0] - margins[1])
    return -mx.mean(nn.log_sigmoid(margin)), mx.mean(margin)


def batches(rng: np.random.Generator):
    """Chosen answers count up, rejected ones count down."""
    for _ in range(STEPS):
        start = rng.integers(0, VOCABULARY, (6, 1))
        lengths = mx.array(rng.integers(4, LENGTH + 1, 6))
        steps = np.arange(LENGTH)
        yield [
            (mx.array((start + sign * steps) % VOCABULARY, mx.int32), lengths) for sign in (1, -1)
        ]


def run() -> dict[str, list[float]]:
    """Losses; norms of the gradients; the last margin."""
    policy = initialize(Policy(), 21)
    reference = copy.deepcopy(policy)
    reference.freeze()
    optimizer = optim.Adam(
        learning_rate=optim.join_schedules(
            [optim.linear_schedule(0.0, 1e-2, 5), optim.cosine_decay(1e-2, 15)], [5]
        ),
        bias_correction=True,
    )
    step = nn.value_and_grad(policy, preference_loss)
    losses, norms, margin = [], [], None
    for batch in batches(np.random.default_rng(22)):
        (loss, margin), gradients = step(policy, reference, batch)
        gradients, norm = optim.clip_grad_norm(gradients, max_norm=0.5)
        optimizer.update(policy, gradients)
        mx.eval(policy.state, optimizer.state)
        losses.append(loss.item())
        norms.append(norm.item())
    return {"losses": losses, "norms": norms, "after": [margin.item()]}
