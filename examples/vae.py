"""A variational autoencoder that learns to draw handwritten digits.

    ./dev example vae

The encoder gives a normal distribution for each image, the decoder an image for each point. The
picture is a grid of images decoded from random points. Takes less than a minute.
"""

import numpy as np
import show
from sklearn.datasets import load_digits

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

LATENT, WIDTH, BATCH = 8, 256, 128


class VAE(nn.Module):
    """Two networks of two layers each."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 64))

    def encode(self, images: mx.array) -> tuple[mx.array, mx.array]:
        """Mean and log-variance of the latent distribution of each image."""
        return mx.split(self.encoder(images), 2, axis=-1)

    def decode(self, points: mx.array) -> mx.array:
        """Images `(N, 64)` from 0 to 1."""
        return mx.sigmoid(self.decoder(points))


def loss(model: VAE, images: mx.array) -> tuple[mx.array, mx.array]:
    """Minus the evidence lower bound of an image in nats, and its part that the latents cost."""
    mean, log_variance = model.encode(images)
    points = mean + mx.exp(0.5 * log_variance) * mx.random.normal(mean.shape)
    logits = model.decoder(points)
    drawn = nn.losses.binary_cross_entropy(logits, images, with_logits=True, reduction="none")
    divergence = 0.5 * (mx.exp(log_variance) + mean**2 - 1 - log_variance)
    cost = mx.mean(mx.sum(divergence, axis=1))
    return mx.mean(mx.sum(drawn, axis=1)) + cost, cost


def draw(path, images: mx.array, title: str) -> None:
    """A grid of 8×12 images, each 8×8 pixels."""
    grid = np.array(images).reshape(8, 12, 8, 8)
    grid = np.pad(grid, ((0, 0), (0, 0), (1, 1), (1, 1)))
    figure, axes = show.panels(1, 1, 6, 4.2)
    axes.imshow(grid.transpose(0, 2, 1, 3).reshape(80, 120), cmap="gray_r")
    axes.set_title(title)
    axes.axis("off")
    show.save(figure, path)


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, draw samples; the figures at the end."""
    options = show.options(__doc__, "vae", 3000, given)
    mx.random.seed(options.seed)
    images = mx.array((load_digits().data / 16).astype(np.float32))
    model = VAE()
    schedule = optim.cosine_decay(2e-3, options.steps)
    optimizer = optim.Adam(schedule, bias_correction=True)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state, mx.random.state]

    def step(images: mx.array) -> tuple[mx.array, mx.array]:
        batch = images[mx.random.randint(0, len(images), (BATCH,))]
        found, gradients = nn.value_and_grad(model, lambda x: loss(model, x))(batch)
        optimizer.update(model, gradients)
        return found

    compiled = mx.compile(step, inputs=state, outputs=state)
    progress, losses = show.Progress(options.steps), []
    for _ in range(options.steps):
        value, cost = compiled(images)
        mx.eval(value, state)
        losses.append(value.item())
        progress(loss=losses[-1], latents=cost.item())

    samples = model.decode(mx.random.normal((96, LATENT)))
    draw(options.output / "samples.png", samples, "digits that nobody wrote")
    error = mx.mean((model.decode(model.encode(images)[0]) - images) ** 2).item()
    print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}, mean squared error of a pixel {error:.4f}")
    return {"first loss": losses[0], "last loss": losses[-1], "error": error}


if __name__ == "__main__":
    main()
