"""Losses of short training runs, the same for every implementation of the API.

Weights and batches come from NumPy, so that the losses of two implementations may be compared. Run
with the published wheel's interpreter, this file records `training.json`; tests/python/nn/
test_training.py compares with it.
"""

import json
import pathlib
import sys

import numpy as np

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_unflatten

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "examples" / "digits"))


def mlp() -> nn.Module:
    """A network for flat images of 64 pixels."""
    return nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.LayerNorm(96), nn.Linear(96, 10))


def digits() -> nn.Module:
    """The network of examples/digits."""
    from model import DigitNet

    return DigitNet()


RUNS = {
    "mlp-sgd": (mlp, lambda: optim.SGD(0.1, momentum=0.9)),
    "mlp-adamw": (mlp, lambda: optim.AdamW(1e-3)),
    "digits-adam": (digits, lambda: optim.Adam(1e-3)),
    "digits-sgd": (digits, lambda: optim.SGD(0.05, momentum=0.8, nesterov=True)),
}


def batches(rng: np.random.Generator, steps: int, flat: bool):
    """Images with a bright bar that says which class they are, and their classes."""
    for _ in range(steps):
        labels = rng.integers(0, 10, 64)
        images = rng.random((64, 8, 8), np.float32)
        images[np.arange(64), labels % 8] += labels[:, None] / 5
        yield mx.array(images.reshape(64, -1) if flat else images[..., None]), mx.array(labels)


def losses(name: str, steps: int = 25) -> list[float]:
    """The loss of every step of a run."""
    make, optimizer = RUNS[name][0], RUNS[name][1]()
    model, rng = make(), np.random.default_rng(7)
    weights = [
        (
            path,
            mx.array((rng.standard_normal(w.shape) / np.sqrt(w.size**0.5 + 8)).astype(np.float32)),
        )
        for path, w in sorted(tree_flatten(model.parameters()))
    ]
    model.update(tree_unflatten(weights))

    def loss_fn(images, labels):
        return nn.losses.cross_entropy(model(images), labels, reduction="mean")

    step, out = nn.value_and_grad(model, loss_fn), []
    for images, labels in batches(rng, steps, name.startswith("mlp")):
        loss, gradients = step(images, labels)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
        out.append(loss.item())
    return out


if __name__ == "__main__":
    record = {name: losses(name) for name in RUNS}
    (HERE / "training.json").write_text(json.dumps(record, indent=1) + "\n")
