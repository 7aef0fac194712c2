"""A residual network with batch normalization: a compiled step whose state holds running values."""

import numpy as np
from program_support import STEPS, initialize

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map_with_path

CLASSES, BATCH = 4, 12


class Residual(nn.Module):
    """Two convolutions around which the input is led."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm(outputs, momentum=0.2)
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm(outputs)
            )

    def __call__(self, x):
        way = self.shortcut(x) if "shortcut" in self else x
        return nn.relu(way + self.bn2(self.conv2(nn.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    """A stem, three stages and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm(8, affine=False)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.stages = [Residual(8, 8, 1), Residual(8, 12, 2), Residual(12, 16, 1)]
        self.last_pool = nn.AvgPool2d(3)
        self.output = nn.Linear(16, CLASSES)

    def __call__(self, x):
        x = self.pool(nn.relu(self.norm(self.stem(x))))
        for stage in self.stages:
            x = stage(x)
        return self.output(self.last_pool(x).flatten(1))


def pictures(rng: np.random.Generator):
    """Stripes whose direction is their class, in random colours."""
    classes = rng.integers(0, CLASSES, BATCH)
    grid, phase = np.arange(12), rng.uniform(0, 6, (BATCH, 1, 1))
    angle = (classes * np.pi / CLASSES)[:, None, None]
    waves = np.sin(np.cos(angle) * grid[:, None] + np.sin(angle) * grid + phase)
    images = waves[..., None] * rng.uniform(0.5, 1, (BATCH, 1, 1, 3))
    return mx.array(images.astype(np.float32)), mx.array(classes)


def run() -> dict[str, list[float]]:
    """Losses, accuracies; losses in evaluation mode, also with half the weights; statistics."""
    model = initialize(ResNet(), 61)
    optimizer = optim.SGD(optim.cosine_decay(0.05, STEPS), momentum=0.9, nesterov=True)
    optimizer.init(model.trainable_parameters())

    def loss_fn(images, classes):
        logits = model(images)
        right = mx.mean(mx.argmax(logits, axis=-1) == classes)
        return mx.mean(nn.losses.cross_entropy(logits, classes)), right

    state = [model.state, optimizer.state]

    @mx.compile
    def without_state(images):
        return images * 2 - images.mean(axis=(1, 2), keepdims=True)

    def step(images, classes):
        (loss, right), gradients = nn.value_and_grad(model, loss_fn)(images, classes)
        optimizer.update(model, gradients)
        return loss, right

    step = mx.compile(step, inputs=state, outputs=state)
    rng, losses, right = np.random.default_rng(62), [], []
    for _ in range(STEPS):
        images, classes = pictures(rng)
        values = step(without_state(images), classes)
        mx.eval(state, values)
        losses.append(values[0].item())
        right.append(values[1].item())
    running = [v for k, v in tree_flatten(model.parameters()) if "running" in k]
    model.eval()
    images, classes = pictures(rng)
    evaluated = loss_fn(without_state(images), classes)[0].item()
    weights = model.parameters()
    model.update(tree_map_with_path(lambda k, v: v if "running" in k else v / 2, weights))
    after = [evaluated, loss_fn(without_state(images), classes)[0].item()]
    after += [sum(v.sum().item() for v in running), model.stages[1].bn1.running_mean[0].item()]
    return {"losses": losses, "right": right, "after": after}
