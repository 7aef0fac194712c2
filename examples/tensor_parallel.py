"""A language model whose layers are divided among ranks: the same text, a part of the weights each.

    ./dev example tensor_parallel

The network learns the letters of a poem on one rank. Then 1, 2 and 4 ranks go on with its
beginning: `shard_linear` gives each of them some heads of attention and some of the hidden units,
and one sum for each half of a layer puts the parts together. Ranks are threads here; a program does
the same in processes that `mlx.launch` starts. The picture shows the loss, and the parameters of a
rank. Takes less than a minute.
"""

import show

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.nn.layers.distributed import shard_linear
from mlx.utils import tree_flatten

# William Blake, 1794.
POEM = """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?
In what distant deeps or skies
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?
"""
LETTERS = sorted(set(POEM))
CONTEXT = 48


class Layer(nn.Module):
    """Attention and a feed-forward network. Its heads are as many as its weights have."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.size = width // heads
        self.norms = [nn.RMSNorm(width), nn.RMSNorm(width)]
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def __call__(self, x: mx.array) -> mx.array:
        """Texts `(rows, letters, width)`."""
        y = self.norms[0](x)
        q, k, v = (
            mx.unflatten(f(y), -1, (-1, self.size)).swapaxes(1, 2) for f in (self.q, self.k, self.v)
        )
        q, k = (mx.fast.rope(t, self.size, traditional=False, base=1e4, scale=1.0, offset=0)
                for t in (q, k))  # fmt: skip
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.size**-0.5, mask="causal")
        x = x + self.out(y.swapaxes(1, 2).flatten(-2))
        return x + self.down(nn.gelu_approx(self.up(self.norms[1](x))))

    def divide(self) -> None:
        """Keep the part of this rank: heads of attention, hidden units."""
        for name in ("q", "k", "v", "up"):
            self[name] = shard_linear(self[name], "all-to-sharded")
        for name in ("out", "down"):
            self[name] = shard_linear(self[name], "sharded-to-all")


class Model(nn.Module):
    """Scores of the next letter."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.layers = [Layer(width, heads) for _ in range(layers)]
        self.head = nn.Linear(width, len(LETTERS))

    def __call__(self, letters: mx.array) -> mx.array:
        """Scores `(rows, letters, kinds)` of texts `(rows, letters)`."""
        x = self.embedding(letters)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def learn(model: Model, text: mx.array, steps: int) -> list[float]:
    """The losses of a training on pieces of the text."""
    optimizer = optim.Adam(2e-3)
    step = nn.value_and_grad(
        model, lambda x, y: nn.losses.cross_entropy(model(x), y, reduction="mean")
    )
    progress, losses = show.Progress(steps), []
    for _ in range(steps):
        at = mx.random.randint(0, len(text) - CONTEXT, (16, 1)) + mx.arange(CONTEXT)
        value, gradients = step(text[at], text[at + 1])
        optimizer.update(model, gradients)
        mx.eval(value, model.parameters(), optimizer.state)
        losses.append(value.item())
        progress(loss=losses[-1])
    return losses


def go_on(weights: list[tuple[str, mx.array]], text: mx.array, count: int) -> tuple[str, int]:
    """The text with its most likely continuation, and the parameters of this rank."""
    model = Model()
    model.load_weights(weights)
    for layer in model.layers:
        layer.divide()
    for _ in range(count):
        last = mx.argmax(model(text[None, -CONTEXT:])[0, -1])
        text = mx.concatenate([text, last[None]])
        mx.eval(text)
    size = sum(p.size for _, p in tree_flatten(model.parameters()))
    return "".join(LETTERS[k] for k in text.tolist()), size


def main(given: list[str] | None = None) -> dict[str, float]:
    """Learn, go on with 1, 2 and 4 ranks, and draw; the figures at the end."""
    options = show.options(__doc__, "tensor_parallel", 300, given)
    mx.random.seed(options.seed)
    text = mx.array([LETTERS.index(c) for c in POEM])
    model = Model()
    losses = learn(model, text, options.steps)
    weights = tree_flatten(model.parameters())
    mx.eval(weights)
    texts, sizes = [], []
    count = 10 if options.quick else 100
    for ranks in (1, 2, 4):
        results = mx.distributed.simulate(lambda: go_on(weights, text[:CONTEXT], count), ranks)
        texts += [written for written, _ in results]
        sizes.append(results[0][1])
        print(f"{ranks} rank{'s' * (ranks > 1)}: {sizes[-1]} parameters each")
    print(texts[-1])
    figure, axes = show.panels(1, 2, 8, 3)
    axes[0].plot(losses)
    axes[0].set(title="loss", xlabel="step")
    axes[1].bar(["1", "2", "4"], sizes)
    axes[1].set(title="parameters of a rank", xlabel="ranks")
    show.save(figure, options.output / "tensor_parallel.png")
    return {
        "first loss": losses[0],
        "last loss": losses[-1],
        "texts": len(set(texts)),
        "share": sizes[2] / sizes[0],
    }


if __name__ == "__main__":
    main()
