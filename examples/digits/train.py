"""Train a small convolutional network on handwritten digits.

    python examples/digits/train.py

Writes weights and a picture, then starts a new process that reads the weights and classifies.
"""

import argparse
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import plot
from data import load
from model import DigitNet, accuracy

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

HERE = pathlib.Path(__file__).resolve().parent


def batches(images: mx.array, labels: mx.array, size: int) -> Iterator[tuple[mx.array, mx.array]]:
    """The samples once in a new order, `size` at a time."""
    order = mx.random.permutation(len(images))
    for start in range(0, len(images), size):
        chosen = order[start : start + size]
        yield images[chosen], labels[chosen]


def make_step(model: DigitNet, optimizer: optim.Optimizer) -> Callable:
    """A function that learns from one batch and returns its loss and its number of hits."""

    def loss(images: mx.array, labels: mx.array) -> tuple[mx.array, mx.array]:
        scores = model(images)
        hits = mx.sum(mx.argmax(scores, axis=1) == labels)
        return nn.losses.cross_entropy(scores, labels, reduction="mean"), hits

    loss_and_gradients = nn.value_and_grad(model, loss)

    def step(images: mx.array, labels: mx.array) -> tuple[float, int]:
        (value, hits), gradients = loss_and_gradients(images, labels)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, value, hits)
        return value.item(), hits.item()

    return step


def progress(epoch: int, epochs: int, done: float, loss: float, hits: float, rate: float) -> None:
    """Draw the bar of an epoch over the last one."""
    bar = "█" * round(30 * done) + "░" * (30 - round(30 * done))
    end = "\n" if done == 1 else ""
    print(
        f"\repoch {epoch:2d}/{epochs} {bar} loss {loss:.4f}  accuracy {hits:6.2%}"
        f"  {rate:7,.0f} images/s",
        end=end,
        flush=True,
    )


def train(model: DigitNet, images: mx.array, labels: mx.array, options: argparse.Namespace) -> list:
    """Train the model and return the loss of every step."""
    steps = options.epochs * -(-len(images) // options.batch)
    optimizer = optim.AdamW(optim.cosine_decay(options.rate, steps), weight_decay=0.05)
    step = make_step(model, optimizer)
    losses = []
    for epoch in range(1, options.epochs + 1):
        seen = hits = 0
        total, start = 0.0, time.perf_counter()
        for x, y in batches(images, labels, options.batch):
            loss, right = step(x, y)
            losses.append(loss)
            seen, hits, total = seen + len(x), hits + right, total + loss * len(x)
            rate = seen / (time.perf_counter() - start)
            progress(epoch, options.epochs, seen / len(images), total / seen, hits / seen, rate)
    return losses


def main() -> None:
    """Train, save, plot, and classify in a new process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3, help="learning rate at the start")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "output")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    weights, picture = options.output / "digits.safetensors", options.output / "digits.png"

    mx.random.seed(options.seed)
    train_images, train_labels, test_images, test_labels = load()
    model = DigitNet()
    start = time.perf_counter()
    losses = train(model, train_images, train_labels, options)
    print(f"trained on {len(train_images)} digits in {time.perf_counter() - start:.1f} s")

    model.eval()
    model.save_weights(str(weights))
    plot.draw(picture, losses, test_images, test_labels, mx.argmax(model(test_images), axis=1))
    subprocess.run([sys.executable, HERE / "predict.py", weights], check=True)
    print(f"weights: {weights}")
    print(f"picture: {picture}")
    print(f"accuracy on held-out digits: {accuracy(model, test_images, test_labels):.2%}")


if __name__ == "__main__":
    main()
