"""Clusters, principal components and missing values of handwritten digits, with boolean masks.

    ./dev example clusters

k-means takes the mean of the images under each mask. Then three tenths of all pixels are
hidden: the principal components are found from the visible ones, and fill the hidden ones. Takes
some seconds.
"""

import numpy as np
import show
from sklearn.datasets import load_digits

import mlx.core as mx

CLUSTERS, COMPONENTS = 16, 12


def nearest(images: mx.array, centres: mx.array) -> mx.array:
    """The index of the nearest centre of each image."""
    return mx.argmin(mx.sum((images[:, None] - centres) ** 2, axis=2), axis=1)


def spread(images: mx.array) -> mx.array:
    """First centres: each is drawn with a chance that grows with its distance from the others."""
    centres = images[mx.random.randint(0, len(images), (1,))]
    while len(centres) < CLUSTERS:
        far = mx.min(mx.sum((images[:, None] - centres) ** 2, axis=2), axis=1)
        chosen = mx.random.categorical(mx.log(far + 1e-9), shape=(1,))
        centres = mx.concatenate([centres, images[chosen]])
    return centres


def k_means(images: mx.array, steps: int) -> tuple[mx.array, mx.array, list[float]]:
    """Centres, the cluster of each image, and the mean squared distance after each step."""
    centres, distances = spread(images), []
    progress = show.Progress(steps)
    for _ in range(steps):
        cluster = nearest(images, centres)
        members = [images[cluster == k] for k in range(CLUSTERS)]
        centres = mx.stack([mx.mean(m, axis=0) if len(m) else centres[k]
                            for k, m in enumerate(members)])  # fmt: skip
        distances.append(mx.mean(mx.sum((images - centres[cluster]) ** 2, axis=1)).item())
        progress(distance=distances[-1])
    return centres, nearest(images, centres), distances


def fill(images: mx.array, visible: mx.array, steps: int) -> mx.array:
    """The images with hidden pixels replaced: by means first, then by a few components of all."""
    count = mx.maximum(mx.sum(visible, axis=0), 1)
    filled = mx.where(visible, images, mx.sum(mx.where(visible, images, 0), axis=0) / count)
    progress = show.Progress(steps)
    for _ in range(steps):
        mean = mx.mean(filled, axis=0)
        _, vectors = mx.linalg.eigh((filled - mean).T @ (filled - mean))
        basis = vectors[:, -COMPONENTS:]
        guess = mean + ((filled - mean) @ basis) @ basis.T
        change = mx.mean(mx.abs(guess - filled)[~visible]).item()
        filled = mx.where(visible, images, guess)
        progress(change=change)
    return filled


def main(given: list[str] | None = None) -> dict[str, float]:
    """Group, fill, draw; the figures at the end."""
    options = show.options(__doc__, "clusters", 30, given)
    mx.random.seed(options.seed)
    digits = load_digits()
    images, labels = mx.array((digits.data / 16).astype(np.float32)), mx.array(digits.target)

    centres, cluster, distances = k_means(images, options.steps)
    right = 0
    for k in range(CLUSTERS):
        votes = mx.zeros(10).at[labels[cluster == k]].add(1)
        right += mx.max(votes).item()
    purity = right / len(images)

    visible = mx.random.uniform(0, 1, images.shape) > 0.3
    hidden = ~visible
    filled = fill(images, visible, options.steps)
    error = mx.sqrt(mx.mean((filled - images)[hidden] ** 2)).item()
    plain = mx.sqrt(mx.mean((mx.mean(images, axis=0) - images)[hidden] ** 2)).item()

    figure, axes = show.panels(4, 16, 10, 2.9)
    shown = (centres, images[:16], mx.where(visible, images, 0)[:16], filled[:16])
    for row, title, pictures in zip(
        axes, ("centres", "digits", "visible", "filled"), shown, strict=True
    ):
        for panel, picture in zip(row, np.array(pictures), strict=True):
            panel.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            panel.set(xticks=[], yticks=[])
        row[0].set_ylabel(title, fontsize=8)
    show.save(figure, options.output / "clusters.png")
    print(f"{CLUSTERS} clusters: {purity:.1%} of the digits are the commonest of their cluster")
    print(f"error of hidden pixels: {error:.3f}, of the mean image {plain:.3f}")
    return {"first": distances[0], "last": distances[-1], "purity": purity,
            "error": error, "plain": plain}  # fmt: skip


if __name__ == "__main__":
    main()
