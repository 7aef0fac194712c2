"""A small convolutional network for images of 8×8 pixels."""

import mlx.core as mx
import mlx.nn as nn


class DigitNet(nn.Module):
    """Two convolutions, each with a halving of the image, and two linear layers."""

    def __init__(self, channels: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(2 * 2 * 2 * channels, 128)
        self.output = nn.Linear(128, classes)

    def __call__(self, x: mx.array) -> mx.array:
        """Scores of the classes `(N, classes)` for images `(N, 8, 8, 1)`."""
        x = self.pool(nn.relu(self.conv1(x)))
        x = self.pool(nn.relu(self.conv2(x)))
        return self.output(nn.relu(self.hidden(x.flatten(1))))


def accuracy(model: DigitNet, images: mx.array, labels: mx.array) -> float:
    """The share of images whose label has the highest score."""
    return mx.mean(mx.argmax(model(images), axis=1) == labels).item()
