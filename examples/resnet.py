"""A residual network that classifies handwritten digits of 8×8 pixels.

    ./dev example resnet

Convolutions, batch normalization and shortcuts; training images are shifted by up to a pixel.
The picture shows which digits are taken for which. Takes less than a minute.
"""

import numpy as np
import show
from sklearn.datasets import load_digits

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

BATCH = 64


class Residual(nn.Module):
    """Two convolutions whose result is added to the input; a stride halves the image."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = [nn.BatchNorm(outputs), nn.BatchNorm(outputs)]
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        """Images `(N, height, width, channels)`."""
        y = nn.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        return nn.relu(y + (self.shortcut(x) if "shortcut" in self else x))


class ResNet(nn.Module):
    """A convolution, three residual blocks, and a mean over the pixels."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = [
            Residual(channels, channels),
            Residual(channels, 2 * channels, stride=2),
            Residual(2 * channels, 4 * channels, stride=2),
        ]
        self.head = nn.Linear(4 * channels, 10)

    def __call__(self, images: mx.array) -> mx.array:
        """Scores `(N, 10)` of images `(N, 8, 8, 1)`."""
        x = nn.relu(self.stem(images))
        for block in self.blocks:
            x = block(x)
        return self.head(mx.mean(x, axis=(1, 2)))


def shifted(images: mx.array) -> mx.array:
    """Each image moved by up to one pixel in each direction, zeros come in."""
    padded = mx.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
    rows = mx.random.randint(0, 3, (len(images), 1)) + mx.arange(8)
    columns = mx.random.randint(0, 3, (len(images), 1)) + mx.arange(8)
    return padded[mx.arange(len(images))[:, None, None], rows[:, :, None], columns[:, None]]


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, test, draw; the figures at the end."""
    options = show.options(__doc__, "resnet", 300, given)
    mx.random.seed(options.seed)
    digits = load_digits()
    images = mx.array((digits.images / 16).astype(np.float32)[..., None])
    labels = mx.array(digits.target)
    order = mx.random.permutation(len(images))
    train, test = order[:1437], order[1437:]

    model = ResNet()
    optimizer = optim.AdamW(optim.cosine_decay(5e-3, options.steps), weight_decay=0.01)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state, mx.random.state]

    def loss(x: mx.array, y: mx.array) -> mx.array:
        return nn.losses.cross_entropy(model(x), y, label_smoothing=0.05, reduction="mean")

    def step(chosen: mx.array) -> mx.array:
        value, gradients = nn.value_and_grad(model, loss)(shifted(images[chosen]), labels[chosen])
        optimizer.update(model, gradients)
        return value

    compiled = mx.compile(step, inputs=state, outputs=state)
    progress, losses = show.Progress(options.steps), []
    model.train()
    for _ in range(options.steps):
        value = compiled(train[mx.random.randint(0, len(train), (BATCH,))])
        mx.eval(value, state)
        losses.append(value.item())
        progress(loss=sum(losses[-20:]) / len(losses[-20:]))

    model.eval()
    guesses = mx.argmax(model(images[test]), axis=1)
    accuracy = mx.mean(guesses == labels[test]).item()
    table = mx.zeros((10, 10)).at[labels[test], guesses].add(mx.ones(len(test)))
    figure, axes = show.panels(1, 2, 8, 3.4)
    axes[0].plot(losses, linewidth=0.7)
    axes[0].set(title="loss", xlabel="step")
    axes[1].imshow(np.array(table) ** 0.5, cmap="Blues")
    axes[1].set(title="held-out digits", xlabel="guess", ylabel="digit")
    for row, column in np.argwhere(np.array(table) > 0):
        axes[1].text(
            column, row, int(table[row, column].item()), ha="center", va="center", fontsize=7
        )
    axes[1].set(xticks=range(10), yticks=range(10))
    show.save(figure, options.output / "resnet.png")
    print(f"accuracy on {len(test)} held-out digits: {accuracy:.2%}")
    return {"first loss": losses[0], "last loss": losses[-1], "accuracy": accuracy}


if __name__ == "__main__":
    main()
