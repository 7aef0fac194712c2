"""A picture of the training: the loss curve and a grid of digits with predicted labels."""

import pathlib

import matplotlib
import numpy as np

import mlx.core as mx

matplotlib.use("Agg")
from matplotlib import pyplot

ROWS, COLUMNS = 6, 10


def draw(
    path: pathlib.Path, losses: list[float], images: mx.array, labels: mx.array, guesses: mx.array
) -> None:
    """Write the picture; wrong predictions come first and are red."""
    figure = pyplot.figure(figsize=(13, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.2])
    axes = left.subplots()
    axes.semilogy(losses, color="tab:blue", linewidth=0.8)
    axes.set(title="loss of each batch", xlabel="step", ylabel="cross-entropy")
    axes.grid(alpha=0.3)

    images, labels, guesses = np.array(images), np.array(labels), np.array(guesses)
    order = np.argsort(guesses == labels, kind="stable")
    right.suptitle("held-out digits and predicted labels")
    for panel, k in zip(right.subplots(ROWS, COLUMNS).flat, order, strict=False):
        wrong = guesses[k] != labels[k]
        panel.imshow(images[k, ..., 0], cmap="gray_r")
        panel.set_title(
            f"{guesses[k]} (is {labels[k]})" if wrong else str(guesses[k]),
            color="red" if wrong else "black",
            fontsize=8,
        )
        panel.axis("off")
    figure.savefig(path, dpi=110)
