"""Loops whose steps depend on each other: a filter of small matrices, and a recurrent layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import case


def log_likelihood(f: Any, noise: Any, known: dict[str, Any], observed: Any) -> Any:
    """Of noisy positions of a point whose speed changes at random."""
    move, seen = known["move"], known["seen"]
    added, spread_of_seen = f.exp(noise[0]) * known["eye"], f.exp(noise[1])

    def step(state: Any, y: Any) -> tuple[Any, Any]:
        mean, cov = state
        mean = f.matmul(move, mean)
        cov = f.matmul(f.matmul(move, cov), move.T) + added
        seen_cov = f.matmul(seen, cov)
        spread = f.matmul(seen_cov, seen.T)[0, 0] + spread_of_seen
        error = y - f.matmul(seen, mean)[0]
        gain = seen_cov[0] / spread
        mean = mean + gain * error
        cov = cov - gain[:, None] * seen_cov
        return (mean, cov), f.log(spread) + error * error / spread

    return f.sum(f.scan(step, (known["mean"], known["eye"]), observed)[1])


@case("loop/Kalman filter of 400 steps, gradient, compiled", mode="own")
def kalman(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    known = {
        "move": f.scalar([[1.0, 1.0], [0.0, 1.0]]),
        "seen": f.scalar([[1.0, 0.0]]),
        "eye": f.scalar([[1.0, 0.0], [0.0, 1.0]]),
        "mean": f.scalar([0.0, 0.0]),
    }
    gradient = f.grad(lambda noise, known, observed: log_likelihood(f, noise, known, observed))
    return f.compile_loop(gradient), (f.scalar([0.1, -0.2]), known, f.normal((400,)))


@case("loop/LSTM of 256 steps, 32×256×128, compiled", mode="own")
def lstm(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layer, params = f.lstm(128, 128)
    return f.compile_loop(layer), (params, f.normal((32, 256, 128)))


@case("loop/LSTM of 256 steps, 32×256×128, gradient, compiled", mode="own")
def lstm_gradient(f: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layer, params = f.lstm(128, 128)

    def loss(params: Any, x: Any) -> Any:
        y = layer(params, x)
        return f.mean(y * y)

    return f.compile_loop(f.grad(loss)), (params, f.normal((32, 256, 128)))
