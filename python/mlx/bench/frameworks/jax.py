"""JAX: operations and formulas through jit, except where a case asks for eager execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from .base import Base


class Framework(Base):
    """JAX."""

    name, version = "jax", jax.__version__
    compiles = ("op", "eager", "compiled", "own")
    exp, log, sin, tanh, sqrt, erf, rsqrt = map(
        staticmethod, (jnp.exp, jnp.log, jnp.sin, jnp.tanh, jnp.sqrt, lax.erf, lax.rsqrt)
    )
    matmul, relu = staticmethod(jnp.matmul), staticmethod(jax.nn.relu)
    scalar, silu, where = map(staticmethod, (jnp.float32, jax.nn.silu, jnp.where))
    elementwise = (jnp, jax.nn, lax, jax.scipy.special)
    aliases: ClassVar = {"rint": ("round",), "erfinv": ("erf_inv",)}

    def __init__(self, threads: int | None) -> None:
        self.key = jax.random.key(0)

    def use(self, device: str) -> None:
        jax.config.update("jax_default_device", jax.devices(device)[0])
        self.key = jax.random.key(0)

    def _next(self) -> Any:
        self.key, key = jax.random.split(self.key)
        return key

    def op(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(function)

    compile = op

    def ready(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return jax.block_until_ready(args)

    sync = staticmethod(jax.block_until_ready)

    def normal(self, shape: tuple[Any, ...], dtype: str = "float32") -> Any:
        return jax.random.normal(self._next(), shape, dtype)

    def sampler(self, shape: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return lambda key: jax.random.normal(key, shape), (self._next(),)

    def uniform(
        self, shape: tuple[Any, ...], low: float, high: float, dtype: str = "float32"
    ) -> Any:
        values = jax.random.uniform(self._next(), shape, minval=low, maxval=high)
        return values.astype(dtype.rstrip("_"))

    def integers(self, shape: tuple[Any, ...], high: int) -> Any:
        return jax.random.randint(self._next(), shape, 0, high)

    def complex(self, shape: tuple[Any, ...]) -> Any:
        return jax.random.normal(self._next(), shape, jnp.complex64)

    def sum(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return x.sum(axis, keepdims=keep)

    def mean(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return x.mean(axis, keepdims=keep)

    def argmax(self, x: Any) -> Any:
        return x.argmax(-1)

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x, -1)

    def logsumexp(self, x: Any) -> Any:
        return jax.nn.logsumexp(x, -1)

    def cumsum(self, x: Any) -> Any:
        return x.cumsum(-1)

    def maximum(self, x: Any) -> Any:
        return x.max(-1)

    def any(self, x: Any) -> Any:
        return x.any(-1)

    def histogram(self, x: Any, bins: int) -> Any:
        return jnp.histogram(x, bins)[0]

    def bincount(self, x: Any) -> Any:
        return jnp.bincount(x, length=1000)

    def unique(self, x: Any) -> Any:
        return jnp.unique(x)

    def nonzero(self, x: Any, mask: Any) -> Any:
        return jnp.nonzero(mask)[0]

    def masked(self, x: Any, mask: Any) -> Any:
        return x[mask]

    def searchsorted(self, sequence: Any, x: Any) -> Any:
        return jnp.searchsorted(sequence, x)

    def sort(self, x: Any) -> Any:
        return jnp.sort(x, -1)

    def argsort(self, x: Any) -> Any:
        return jnp.argsort(x, -1)

    def copy(self, x: Any) -> Any:
        return jnp.array(x, copy=True)

    def transposed_copy(self, x: Any) -> Any:
        return x.T

    def pick(self, x: Any, index: Any) -> Any:
        return jnp.take_along_axis(x, index[:, None], axis=-1)[:, 0]

    def take(self, x: Any, index: Any) -> Any:
        return jnp.take(x, index, 0)

    def scatter_add(self, x: Any, index: Any, updates: Any) -> Any:
        return x.at[index].add(updates)

    def fft(self, x: Any) -> Any:
        return jnp.fft.fft(x)

    def swapped(self, x: Any) -> Any:
        return x.mT

    def linalg(self, name: str, *args: Any) -> Any:
        return getattr(jnp.linalg, name)(*args)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x @ w.T + b

    def conv2d(self, x: Any, w: Any, padding: int) -> Any:
        pads = [(padding, padding)] * 2
        layout = ("NHWC", "OHWI", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), pads, dimension_numbers=layout)

    def layer_norm(self, x: Any, w: Any, b: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * w + b

    def rms_norm(self, x: Any, w: Any) -> Any:
        y = x.astype(jnp.float32)
        y = y * lax.rsqrt(jnp.square(y).mean(-1, keepdims=True) + 1e-5)
        return y.astype(x.dtype) * w

    def rope(self, x: Any, start: int) -> Any:
        return self.turned(x, start, self._frequencies, jnp.concatenate)

    def _frequencies(self, start: int, count: int, half: int) -> tuple[Any, ...]:
        places = jnp.arange(start, start + count)[:, None]
        angles = places * 10000.0 ** (-jnp.arange(half) / half)
        return jnp.cos(angles).astype(jnp.bfloat16), jnp.sin(angles).astype(jnp.bfloat16)

    def joined(self, a: Any, b: Any, axis: int) -> Any:
        return jnp.concatenate([a, b], axis)

    def batch_norm(self, x: Any, w: Any, b: Any) -> Any:
        return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * w + b

    def max_pool(self, x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def mean_pool(self, x: Any) -> Any:
        return x.mean((1, 2))

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def heads(self, x: Any, count: int) -> Any:
        return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)

    def join_heads(self, x: Any) -> Any:
        return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        # Its argument order is (batch, token, head, size).
        q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal).transpose(0, 2, 1, 3)

    def embedding(self, table: Any, index: Any) -> Any:
        return table[index]

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    grad, scan, compile_loop = map(staticmethod, (jax.grad, lax.scan, jax.jit))

    def lstm(self, wide: int, hidden: int) -> tuple[Callable[..., Any], Any]:
        """A function of parameters and x (rows, steps, wide), and its parameters."""
        params = {
            "x": self.normal((wide, 4 * hidden)) * wide**-0.5,
            "h": self.normal((hidden, 4 * hidden)) * hidden**-0.5,
            "b": jnp.zeros((4 * hidden,)),
        }

        def call(params: Any, x: Any) -> Any:
            def step(state: Any, x: Any) -> tuple[Any, Any]:
                h, c = state
                i, f, g, o = jnp.split(x + h @ params["h"], 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            xs = (x @ params["x"] + params["b"]).swapaxes(0, 1)
            start = jnp.zeros((x.shape[0], hidden))
            return lax.scan(step, (start, start), xs)[1].swapaxes(0, 1)

        return call, params

    def trainer(
        self, loss: Callable[..., Any], params: dict[str, Any], compiled: bool
    ) -> Callable[..., Any]:
        """A function of a batch that updates the parameters with AdamW and returns the loss."""
        if not compiled:
            return self.eager_trainer
        zeros = jax.tree.map(jnp.zeros_like, params)
        state = [params, zeros, jax.tree.map(jnp.copy, zeros)]

        def adamw(p: Any, m: Any, v: Any, g: Any) -> tuple[Any, ...]:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return p * (1 - 1e-5) - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v

        def update(state: list[Any], *batch: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(state[0], *batch)
            new = {name: adamw(*(t[name] for t in (*state, grads))) for name in grads}
            return value, [{name: new[name][i] for name in new} for i in range(3)]

        update = jax.jit(update, donate_argnums=0)

        def step(*batch: Any) -> Any:
            value, state[:] = update(state, *batch)
            jax.block_until_ready(state)
            return value

        return step
