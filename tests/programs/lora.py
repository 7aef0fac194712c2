"""Low-rank adapters: a packed, frozen base model learns a new task through small added matrices."""

import numpy as np
from program_support import STEPS, initialize, numbers, train

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_unflatten

WIDTH, VOCABULARY, LENGTH, RANK = 32, 24, 10, 4


class Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiHeadAttention(WIDTH, 4)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.norms = [nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)]

    def __call__(self, x, mask):
        h = self.norms[0](x)
        x = x + self.attention(h, h, h, mask)
        return x + self.down(nn.gelu_approx(self.up(self.norms[1](x))))


class Language(nn.Module):
    """A language model whose output layer is its embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = [Block() for _ in range(2)]
        self.norm = nn.LayerNorm(WIDTH)

    def __call__(self, tokens):
        mask = nn.MultiHeadAttention.create_additive_causal_mask(tokens.shape[1])
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.embedding.as_linear(self.norm(x))


class Adapted(nn.Module):
    """A layer plus the product of two narrow matrices, the second of which starts as zeros."""

    def __init__(self, base, inputs: int, outputs: int, rng: np.random.Generator):
        super().__init__()
        self.base = base
        self.a = numbers(rng, inputs, RANK, scale=inputs**-0.5)
        self.b = mx.zeros((RANK, outputs))
        self.dropout = nn.Dropout(0.05)

    def __call__(self, x):
        return self.base(x) + 2.0 * ((self.dropout(x) @ self.a) @ self.b)

    def merged(self) -> nn.Linear:
        """One dense layer that computes the same."""
        weight = mx.dequantize(
            self.base.weight, self.base.scales, self.base.biases, group_size=32, bits=8
        )
        layer = nn.Linear(*reversed(weight.shape), bias=False)
        layer.weight = weight + 2.0 * (self.a @ self.b).T
        return layer


def adapt(model: nn.Module) -> None:
    """Freeze and pack the base model; adapters go around its feed-forward and query layers."""
    names = ("up", "down", "query_proj")
    shapes = {
        path: layer.weight.shape
        for path, layer in model.named_modules()
        if path.split(".")[-1] in names
    }
    nn.quantize(model, group_size=32, bits=8, class_predicate=lambda path, _: path in shapes)
    model.freeze()
    rng, layers = np.random.default_rng(12), dict(model.named_modules())
    adapted = [(p, Adapted(layers[p], s[1], s[0], rng)) for p, s in sorted(shapes.items())]
    model.update_modules(tree_unflatten(adapted))
    for _, layer in adapted:
        layer.dropout.unfreeze()


def loss_fn(model, tokens):
    """Cross-entropy of the next token."""
    return nn.losses.cross_entropy(model(tokens[:, :-1]), tokens[:, 1:], reduction="mean")


def run() -> dict[str, list[float]]:
    """Losses of the training of the adapters; the merged model's loss."""
    mx.random.seed(3)
    model = initialize(Language(), 11)
    adapt(model)
    model.train()
    rng = np.random.default_rng(13)
    start = rng.integers(0, VOCABULARY, (STEPS, 8, 1))
    tokens = mx.array((start + 3 * np.arange(LENGTH + 1)) % VOCABULARY)
    losses = train(
        model,
        optim.AdamW(learning_rate=optim.linear_schedule(2e-2, 2e-3, STEPS), weight_decay=0.01),
        lambda batch: loss_fn(model, batch),
        ((batch,) for batch in tokens),
    )
    trained = sum(value.size for _, value in tree_flatten(model.trainable_parameters()))
    model.eval()
    before = loss_fn(model, tokens[0]).item()
    merged = [(p, m.merged()) for p, m in model.named_modules() if isinstance(m, Adapted)]
    model.update_modules(tree_unflatten(merged))
    return {"losses": losses, "after": [trained, before, loss_fn(model, tokens[0]).item()]}
