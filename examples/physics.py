"""A physics-informed network: it solves an equation of heat flow, and no solution is shown to it.

    ./dev example physics

The steady temperature u of a plate with heat source f obeys u_xx + u_yy = -f, with u = 0 at the
edge. The loss is the mean square of what is missing to that, from the Hessian of the network at
random points. The source is chosen so that the solution is known and the error can be plotted.
Takes less than a minute.
"""

import math
from collections.abc import Callable

import numpy as np
import show

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

POINTS = 256


def hessian(function: Callable) -> Callable:
    """The matrix of second derivatives of a function of a vector: forward over reverse mode."""
    gradient = mx.grad(function)

    def derivatives(x: mx.array) -> mx.array:
        def column(direction: mx.array) -> mx.array:
            return mx.jvp(gradient, [x], [direction])[1][0]

        return mx.vmap(column)(mx.eye(x.size))

    return derivatives


def solution(p: mx.array) -> mx.array:
    """The temperature at a point, to compare with."""
    return mx.sin(math.pi * p[0]) * mx.sin(2 * math.pi * p[1])


def source(p: mx.array) -> mx.array:
    """The heat source at a point."""
    return 5 * math.pi**2 * solution(p)


class Plate(nn.Module):
    """A network of a point; a factor makes it zero at the edge of the unit square."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.layers = [nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 1)]

    def __call__(self, p: mx.array) -> mx.array:
        """The temperature at a point `(2,)`, a scalar."""
        x = 2 * p - 1
        for layer in self.layers[:-1]:
            x = mx.tanh(layer(x))
        return 16 * mx.prod(p * (1 - p)) * self.layers[-1](x)[0]


def loss(model: Plate, points: mx.array) -> mx.array:
    """The mean square of the equation's residual."""

    def residual(p: mx.array) -> mx.array:
        return mx.trace(hessian(model)(p)) + source(p)

    return mx.mean(mx.vmap(residual)(points) ** 2)


def main(given: list[str] | None = None) -> dict[str, float]:
    """Train, compare, draw; the figures at the end."""
    options = show.options(__doc__, "physics", 3000, given)
    mx.random.seed(options.seed)
    model = Plate()
    optimizer = optim.Adam(optim.cosine_decay(5e-3, options.steps), bias_correction=True)
    optimizer.init(model.trainable_parameters())
    state = [model.state, optimizer.state, mx.random.state]

    def step() -> mx.array:
        points = mx.random.uniform(0, 1, (POINTS, 2))
        value, gradients = nn.value_and_grad(model, lambda: loss(model, points))()
        optimizer.update(model, gradients)
        return value

    compiled = mx.compile(step, inputs=state, outputs=state)
    progress, losses = show.Progress(options.steps), []
    for _ in range(options.steps):
        value = compiled()
        mx.eval(value, state)
        losses.append(value.item())
        progress(residual=losses[-1] ** 0.5)

    line = mx.linspace(0, 1, 61)
    grid = mx.stack(mx.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    found, right = mx.vmap(model)(grid), mx.vmap(solution)(grid)
    error = mx.max(mx.abs(found - right)).item()
    figure, axes = show.panels(1, 3, 10, 2.6)
    axes[0].semilogy(losses, linewidth=0.6)
    axes[0].set(title="mean squared residual", xlabel="step")
    for panel, values, title in zip(
        axes[1:], (found, found - right), ("temperature", "error"), strict=True
    ):
        image = panel.imshow(
            np.array(values).reshape(61, 61).T,
            origin="lower",
            extent=(0, 1, 0, 1),
            interpolation="nearest",
        )
        panel.set_title(title)
        figure.colorbar(image, ax=panel)
    show.save(figure, options.output / "plate.png")
    print(f"largest error {error:.5f}, where temperatures reach 1")
    return {"first loss": losses[0], "last loss": losses[-1], "error": error}


if __name__ == "__main__":
    main()
