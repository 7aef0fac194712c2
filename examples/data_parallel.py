"""One network trained by one rank and by four: the same losses.

    ./dev example data_parallel

Each rank computes the gradient on its part of the batch, and `nn.average_gradients` averages them.
Here ranks are threads of this process; `mlx.launch -n 4 examples/data_parallel.py` starts four
processes instead, on one machine or on several. The picture shows the loss on 1 and on 4 ranks.
Takes less than a minute.
"""

import numpy as np
import show
from sklearn.datasets import load_digits

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

BATCH = 128


def network() -> nn.Module:
    """A network of three layers for images of 64 pixels."""
    return nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def train(steps: int, seed: int) -> list[float]:
    """The losses on the whole batch. Every rank of the group calls it."""
    group = mx.distributed.init()
    mx.random.seed(seed)  # the same weights and batches on all ranks
    digits = load_digits()
    images = mx.array((digits.images / 16).astype(np.float32).reshape(-1, 64))
    labels = mx.array(digits.target)
    model, optimizer = network(), optim.AdamW(2e-3)
    step = nn.value_and_grad(
        model, lambda x, y: nn.losses.cross_entropy(model(x), y, reduction="mean")
    )
    mine = slice(group.rank(), None, group.size())
    losses = []
    for _ in range(steps):
        batch = mx.random.randint(0, len(images), (BATCH,))[mine]
        loss, gradients = step(images[batch], labels[batch])
        optimizer.update(model, nn.average_gradients(gradients))
        loss = mx.distributed.all_sum(loss) / group.size()
        mx.eval(loss, model.parameters(), optimizer.state)
        losses.append(loss.item())
    return losses


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train on 1 and on 4 ranks, and draw both; the figures at the end."""
    options = show.options(__doc__, "data_parallel", 300, given)
    group = mx.distributed.init()
    if group.size() > 1:  # started by mlx.launch
        losses = train(options.steps, options.seed)
        if group.rank() == 0:
            print(f"last loss on {group.size()} ranks: {losses[-1]:.5f}")
        return {"first loss": losses[0], "last loss": losses[-1]}

    curves = {}
    for size in (1, 4):
        curves[size] = mx.distributed.simulate(lambda: train(options.steps, options.seed), size)[0]
        print(f"last loss on {size} rank{'s' * (size > 1)}: {curves[size][-1]:.5f}")
    difference = max(abs(a - b) for a, b in zip(curves[1], curves[4], strict=True))
    print(f"largest difference of the losses: {difference:.1e}")
    figure, axes = show.panels(1, 1, 6, 3.4)
    axes.plot(curves[1], linewidth=3, alpha=0.4, label="1 rank")
    axes.plot(curves[4], linewidth=0.8, color="black", label="4 ranks")
    axes.set(title="loss", xlabel="step", yscale="log")
    axes.legend()
    show.save(figure, options.output / "data_parallel.png")
    return {
        "first loss": curves[1][0],
        "last loss": curves[1][-1],
        "difference": difference,
    }


if __name__ == "__main__":
    main()
