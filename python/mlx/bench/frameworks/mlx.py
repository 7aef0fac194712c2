"""MLX: this build or another one, by its public interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import mlx.core as mx

from ..registry import Missing
from .base import Base


def version() -> str:
    """The version of the package."""
    return str(getattr(mx, "__version__", "unknown"))


class Framework(Base):
    """mlx.core and mlx.optimizers."""

    name = "mlx"
    matmul, scalar = staticmethod(mx.matmul), staticmethod(mx.array)
    where = staticmethod(mx.where)
    exp, log, sin, tanh, sqrt, erf, rsqrt = map(
        staticmethod, (mx.exp, mx.log, mx.sin, mx.tanh, mx.sqrt, mx.erf, mx.rsqrt)
    )
    elementwise = (mx,)
    aliases: ClassVar = {"rint": ("round",)}

    def __init__(self, threads: int | None) -> None:
        self.version = version()
        mx.random.seed(0)

    def use(self, device: str) -> None:
        mx.set_default_device(getattr(mx, device))
        if device == "gpu" and hasattr(mx, "set_matmul_precision"):
            mx.set_matmul_precision("high")  # TF32, which the others use by themselves or are told
        mx.random.seed(0)

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return mx.compile(function)

    def ready(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        mx.eval(args)
        return args

    def sync(self, result: Any) -> Any:
        mx.eval(result)
        return result

    def normal(self, shape: tuple[Any, ...], dtype: str = "float32") -> Any:
        return mx.random.normal(shape, dtype=getattr(mx, dtype))

    def uniform(
        self, shape: tuple[Any, ...], low: float, high: float, dtype: str = "float32"
    ) -> Any:
        return mx.random.uniform(low, high, shape).astype(getattr(mx, dtype))

    def integers(self, shape: tuple[Any, ...], high: int) -> Any:
        return mx.random.randint(0, high, shape)

    def complex(self, shape: tuple[Any, ...]) -> Any:
        return self.normal(shape) + 1j * self.normal(shape)

    def sum(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return mx.sum(x, axis, keepdims=keep)

    def mean(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return mx.mean(x, axis, keepdims=keep)

    def argmax(self, x: Any) -> Any:
        return mx.argmax(x, -1)

    def softmax(self, x: Any) -> Any:
        return mx.softmax(x, -1)

    def logsumexp(self, x: Any) -> Any:
        return mx.logsumexp(x, -1)

    def cumsum(self, x: Any) -> Any:
        return mx.cumsum(x, -1)

    def maximum(self, x: Any) -> Any:
        return mx.max(x, -1)

    def any(self, x: Any) -> Any:
        return mx.any(x, -1)

    def histogram(self, x: Any, bins: int) -> Any:
        return self.need("histogram")(x, bins)[0]

    def bincount(self, x: Any) -> Any:
        return self.need("bincount")(x)

    def unique(self, x: Any) -> Any:
        return self.need("unique_values")(x)

    def nonzero(self, x: Any, mask: Any) -> Any:
        return self.need("nonzero")(mask)[0]

    def masked(self, x: Any, mask: Any) -> Any:
        self.need("nonzero")  # there is boolean indexing where there is this
        return x[mask]

    def searchsorted(self, sequence: Any, x: Any) -> Any:
        return self.need("searchsorted")(sequence, x)

    def need(self, name: str) -> Callable[..., Any]:
        """A function that other builds may lack."""
        if not hasattr(mx, name):
            raise Missing(f"this mlx has no {name}")
        return getattr(mx, name)

    def sort(self, x: Any) -> Any:
        return mx.sort(x, -1)

    def argsort(self, x: Any) -> Any:
        return mx.argsort(x, -1)

    def copy(self, x: Any) -> Any:
        # array.__copy__ may share the memory; adding zero of the right dtype may not.
        return x + 0

    def transposed_copy(self, x: Any) -> Any:
        return mx.contiguous(x.T)

    def pick(self, x: Any, index: Any) -> Any:
        return mx.take_along_axis(x, index[:, None], axis=-1)[:, 0]

    def take(self, x: Any, index: Any) -> Any:
        return mx.take(x, index, 0)

    def scatter_add(self, x: Any, index: Any, updates: Any) -> Any:
        return x.at[index].add(updates)

    def fft(self, x: Any) -> Any:
        return mx.fft.fft(x)

    def swapped(self, x: Any) -> Any:
        return mx.swapaxes(x, -1, -2)

    def linalg(self, name: str, *args: Any) -> Any:
        return getattr(mx.linalg, name)(*args, stream=mx.cpu)

    def quantized(self, w: Any) -> Any:
        """A weight in 4 bits, groups of 64."""
        return mx.quantize(w, 64, 4)

    def quantized_matmul(self, x: Any, w: Any, scales: Any, biases: Any) -> Any:
        return mx.quantized_matmul(x, w, scales, biases, True, 64, 4)

    def relu(self, x: Any) -> Any:
        return mx.maximum(x, 0)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return mx.addmm(b, x, w.T)

    def conv2d(self, x: Any, w: Any, padding: int) -> Any:
        return mx.conv2d(x, w, padding=padding)

    def layer_norm(self, x: Any, w: Any, b: Any) -> Any:
        return mx.fast.layer_norm(x, w, b, 1e-5)

    def rms_norm(self, x: Any, w: Any) -> Any:
        return mx.fast.rms_norm(x, w, 1e-5)

    def rope(self, x: Any, start: int) -> Any:
        return mx.fast.rope(
            x, x.shape[-1], traditional=False, base=10000.0, scale=1.0, offset=start
        )

    def silu(self, x: Any) -> Any:
        return x * mx.sigmoid(x)

    def joined(self, a: Any, b: Any, axis: int) -> Any:
        return mx.concatenate([a, b], axis)

    def batch_norm(self, x: Any, w: Any, b: Any) -> Any:
        axes = (0, 1, 2)
        return (x - mx.mean(x, axes)) * mx.rsqrt(mx.var(x, axes) + 1e-5) * w + b

    def max_pool(self, x: Any) -> Any:
        n, height, width, channels = x.shape
        return x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))

    def mean_pool(self, x: Any) -> Any:
        return mx.mean(x, (1, 2))

    def gelu(self, x: Any) -> Any:
        return x * (1 + mx.erf(x * 2**-0.5)) * 0.5

    def heads(self, x: Any, count: int) -> Any:
        return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)

    def join_heads(self, x: Any) -> Any:
        return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        mask = "causal" if causal else None
        scale = q.shape[-1] ** -0.5
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)

    def embedding(self, table: Any, index: Any) -> Any:
        return table[index]

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        picked = mx.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return mx.mean(mx.logsumexp(logits, -1) - picked)

    grad = staticmethod(mx.grad)
    compile_loop = compile

    def scan(self, step: Callable[..., Any], start: Any, xs: Any) -> Any:
        return self.need("scan")(step, start, xs)

    def lstm(self, wide: int, hidden: int) -> tuple[Callable[..., Any], Any]:
        """A function of parameters and x (rows, steps, wide), and its parameters."""
        from mlx import nn

        layer = nn.LSTM(wide, hidden)

        def call(params: Any, x: Any) -> Any:
            own = dict(layer.parameters())
            y = layer.update(params)(x)[0]
            layer.update(own)
            return y

        return call, dict(layer.parameters())

    def trainer(
        self, loss: Callable[..., Any], params: dict[str, Any], compiled: bool
    ) -> Callable[..., Any]:
        """A function of a batch that updates the parameters with AdamW and returns the loss."""
        from mlx import optimizers

        optimizer = optimizers.AdamW(1e-3)
        optimizer.init(params)
        model = {"params": params}
        value_and_grad = mx.value_and_grad(loss)

        def update(*batch: Any) -> Any:
            value, grads = value_and_grad(model["params"], *batch)
            model["params"] = optimizer.apply_gradients(grads, model["params"])
            return value

        if compiled:
            state = [model, optimizer.state]
            update = mx.compile(update, inputs=state, outputs=state)

        def step(*batch: Any) -> Any:
            value = update(*batch)
            mx.eval(value, model, optimizer.state)
            return value

        return step
