"""Diffusion: a network learns to take noise away from points of the plane.

    ./dev example diffusion

The points lie on a spiral. The picture shows how random points become a spiral, step by step.
Takes about a minute.
"""

import math

import numpy as np
import show

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

TIMES, BATCH = 100, 512
# The share of the variance that is left of the data at each time (the cosine schedule).
ANGLE = (mx.arange(1, TIMES + 1) / TIMES + 0.008) / 1.008 * math.pi / 2
KEPT = mx.clip(mx.cos(ANGLE) ** 2, 1e-4, 0.9999)
ALPHA = KEPT / mx.concatenate([mx.ones(1), KEPT[:-1]])


def spiral(count: int) -> mx.array:
    """Points `(count, 2)` of a spiral, with mean 0 and deviation about 1."""
    turn = 3 * math.pi * mx.sqrt(mx.random.uniform(0.03, 1, (count,)))
    points = mx.stack([mx.cos(turn), mx.sin(turn)], axis=1) * turn[:, None] / 5
    return points + 0.03 * mx.random.normal((count, 2))


class Denoiser(nn.Module):
    """Predicts the noise in points at given times."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.time = nn.SinusoidalPositionalEncoding(32)
        self.layers = [nn.Linear(34, width), nn.Linear(width, width), nn.Linear(width, width)]
        self.output = nn.Linear(width, 2)

    def __call__(self, points: mx.array, times: mx.array) -> mx.array:
        """Noise `(N, 2)` of points `(N, 2)` at times `(N,)`."""
        x = mx.concatenate([points, self.time(times)], axis=1)
        for layer in self.layers:
            x = nn.silu(layer(x))
        return self.output(x)


def loss(model: Denoiser) -> mx.array:
    """The mean squared error of the predicted noise, at random times."""
    points, noise = spiral(BATCH), mx.random.normal((BATCH, 2))
    times = mx.random.randint(0, TIMES, (BATCH,))
    kept = KEPT[times][:, None]
    noisy = mx.sqrt(kept) * points + mx.sqrt(1 - kept) * noise
    return mx.mean((model(noisy, times) - noise) ** 2)


def sample(model: Denoiser, count: int, shown: list[int]) -> list[np.ndarray]:
    """Take the noise away from random points; the points when `shown` steps are left."""
    points, pictures = mx.random.normal((count, 2)), []
    for time in range(TIMES - 1, -1, -1):
        if time + 1 in shown:
            pictures.append(np.array(points))
        noise = model(points, mx.full((count,), time))
        alpha, kept = ALPHA[time], KEPT[time]
        points = (points - (1 - alpha) / mx.sqrt(1 - kept) * noise) / mx.sqrt(alpha)
        if time > 0:
            before = (1 - KEPT[time - 1]) / (1 - kept) * (1 - alpha)
            points = points + mx.sqrt(before) * mx.random.normal(points.shape)
        mx.eval(points)
    return [*pictures, np.array(points)]


def distance(points: mx.array, others: mx.array) -> float:
    """The mean distance from a point to the nearest of the others."""
    squares = mx.sum((points[:, None] - others[None]) ** 2, axis=2)
    return mx.mean(mx.sqrt(mx.min(squares, axis=1))).item()


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, sample, draw; the figures at the end."""
    options = show.options(__doc__, "diffusion", 4000, given)
    mx.random.seed(options.seed)
    model = Denoiser()
    optimizer = optim.Adam(optim.cosine_decay(2e-3, options.steps), bias_correction=True)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state, mx.random.state]

    def step() -> mx.array:
        value, gradients = nn.value_and_grad(model, lambda: loss(model))()
        optimizer.update(model, gradients)
        return value

    compiled = mx.compile(step, inputs=state, outputs=state)
    progress, losses = show.Progress(options.steps), []
    for _ in range(options.steps):
        value = compiled()
        mx.eval(value, state)
        losses.append(value.item())
        progress(loss=sum(losses[-100:]) / len(losses[-100:]))

    shown = [100, 60, 40, 20, 8]
    pictures = sample(model, 600, shown)
    figure, axes = show.panels(1, 6, 11, 2.2)
    for panel, points, left in zip(axes, pictures, [*shown, 0], strict=True):
        panel.scatter(*points.T, s=1)
        panel.set(title=f"{left} steps left", xlim=(-3, 3), ylim=(-3, 3), xticks=[], yticks=[])
    show.save(figure, options.output / "denoising.png")
    real, first, last = spiral(1000), mx.array(pictures[0]), mx.array(pictures[-1])
    far, near = distance(first, real), distance(last, real)
    print(f"mean distance to the spiral: {far:.3f} as noise, {near:.3f} at the end")
    return {"first loss": losses[0], "last loss": losses[-1], "noise": far, "samples": near}


if __name__ == "__main__":
    main()
