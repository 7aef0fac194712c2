"""PyTorch. Compiled cases use torch.compile: of a training step, for loss and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from .base import Base


class Framework(Base):
    """PyTorch."""

    name, version = "torch", torch.__version__
    compiles = ("compiled", "own")
    exp, log, sin, tanh, sqrt, erf, rsqrt = map(
        staticmethod,
        (torch.exp, torch.log, torch.sin, torch.tanh, torch.sqrt, torch.erf, torch.rsqrt),
    )
    matmul, relu = staticmethod(torch.matmul), staticmethod(torch.relu)
    linear, scalar = staticmethod(F.linear), staticmethod(torch.tensor)
    silu, where = staticmethod(F.silu), staticmethod(torch.where)
    elementwise = (torch, torch.special)
    aliases: ClassVar = {"power": ("pow",), "bitwise_invert": ("bitwise_not",), "rint": ("round",)}

    def __init__(self, threads: int | None) -> None:
        self.waits = False
        torch.manual_seed(0)
        if threads:
            torch.set_num_threads(threads)

    def use(self, device: str) -> None:
        self.waits = device == "gpu"
        torch.set_default_device("cuda" if self.waits else device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True

    def sync(self, result: Any) -> Any:
        if self.waits:
            torch.cuda.synchronize()
        return result

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function)

    def forget(self) -> None:
        # Without it, the eighth function from the same line is not compiled any more.
        torch.compiler.reset()

    def size(self, leaf: Any) -> int:
        return leaf.numel() if isinstance(leaf, torch.Tensor) else 1

    def normal(self, shape: tuple[Any, ...], dtype: str = "float32") -> Any:
        return torch.randn(shape).to(getattr(torch, dtype))

    def uniform(
        self, shape: tuple[Any, ...], low: float, high: float, dtype: str = "float32"
    ) -> Any:
        return torch.empty(shape).uniform_(low, high).to(getattr(torch, dtype.rstrip("_")))

    def integers(self, shape: tuple[Any, ...], high: int) -> Any:
        return torch.randint(high, shape)

    def complex(self, shape: tuple[Any, ...]) -> Any:
        return torch.randn(shape, dtype=torch.complex64)

    def sum(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return x.sum() if axis is None else x.sum(axis, keepdim=keep)

    def mean(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return x.mean() if axis is None else x.mean(axis, keepdim=keep)

    def argmax(self, x: Any) -> Any:
        return x.argmax(-1)

    def softmax(self, x: Any) -> Any:
        return x.softmax(-1)

    def logsumexp(self, x: Any) -> Any:
        return x.logsumexp(-1)

    def cumsum(self, x: Any) -> Any:
        return x.cumsum(-1)

    def maximum(self, x: Any) -> Any:
        return x.amax(-1)

    def any(self, x: Any) -> Any:
        return x.any(-1)

    def histogram(self, x: Any, bins: int) -> Any:
        return torch.histc(x, bins)

    def bincount(self, x: Any) -> Any:
        return torch.bincount(x)

    def unique(self, x: Any) -> Any:
        return torch.unique(x)

    def nonzero(self, x: Any, mask: Any) -> Any:
        return torch.nonzero(mask)

    def masked(self, x: Any, mask: Any) -> Any:
        return x[mask]

    def searchsorted(self, sequence: Any, x: Any) -> Any:
        return torch.searchsorted(sequence, x)

    def sort(self, x: Any) -> Any:
        return x.sort(-1)[0]

    def argsort(self, x: Any) -> Any:
        return x.argsort(-1)

    def copy(self, x: Any) -> Any:
        return x.clone()

    def transposed_copy(self, x: Any) -> Any:
        return x.T.contiguous()

    def pick(self, x: Any, index: Any) -> Any:
        return torch.take_along_dim(x, index[:, None].long(), -1)[:, 0]

    def take(self, x: Any, index: Any) -> Any:
        return x.index_select(0, index)

    def scatter_add(self, x: Any, index: Any, updates: Any) -> Any:
        return x.index_add(0, index, updates)

    def fft(self, x: Any) -> Any:
        return torch.fft.fft(x)

    def swapped(self, x: Any) -> Any:
        return x.mT

    def linalg(self, name: str, *args: Any) -> Any:
        return getattr(torch.linalg, name)(*args)

    def quantized(self, w: Any) -> Any:
        """A weight in 4 bits, groups of 64, for kernels of CPUs; 16 bits on a GPU."""
        if self.waits:
            return (w.bfloat16(),)
        groups = w.float().reshape(w.shape[0], -1, 64)
        low, high = groups.amin(-1, True), groups.amax(-1, True)
        scales = (high - low) / 15
        codes = ((groups - low) / scales).round().clamp(0, 15).to(torch.int32).reshape(w.shape)
        numbers = torch.cat([scales, low + 8 * scales], -1).transpose(0, 1)
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 2)
        return packed, numbers.contiguous().bfloat16()

    def quantized_matmul(self, x: Any, w: Any, numbers: Any = None) -> Any:
        if self.waits:
            return x @ w.T.to(x.dtype)
        rows = x.bfloat16().reshape(-1, x.shape[-1])
        y = torch.ops.aten._weight_int4pack_mm_for_cpu(rows, w, 64, numbers)
        return y.to(x.dtype).reshape(*x.shape[:-1], -1)

    def image(self, n: int, height: int, width: int, channels: int) -> Any:
        return torch.randn(n, channels, height, width)

    def kernel(self, out: int, height: int, width: int, channels: int) -> Any:
        return torch.randn(out, channels, height, width) * (channels * height * width) ** -0.5

    def conv2d(self, x: Any, w: Any, padding: int) -> Any:
        return F.conv2d(x, w, padding=padding)

    def layer_norm(self, x: Any, w: Any, b: Any) -> Any:
        return F.layer_norm(x, x.shape[-1:], w, b)

    def rms_norm(self, x: Any, w: Any) -> Any:
        return F.rms_norm(x, x.shape[-1:], w, 1e-5)

    def rope(self, x: Any, start: int) -> Any:
        def frequencies(start: int, count: int, half: int) -> tuple[Any, ...]:
            places = torch.arange(start, start + count, device=x.device)[:, None]
            angles = places * 10000.0 ** (-torch.arange(half, device=x.device) / half)
            return angles.cos().bfloat16(), angles.sin().bfloat16()

        return self.turned(x, start, frequencies, torch.cat)

    def joined(self, a: Any, b: Any, axis: int) -> Any:
        return torch.cat([a, b], axis)

    def batch_norm(self, x: Any, w: Any, b: Any) -> Any:
        return F.batch_norm(x, None, None, w, b, training=True)

    def max_pool(self, x: Any) -> Any:
        return F.max_pool2d(x, 2)

    def mean_pool(self, x: Any) -> Any:
        return x.mean((2, 3))

    def gelu(self, x: Any) -> Any:
        return F.gelu(x)

    def heads(self, x: Any, count: int) -> Any:
        return x.unflatten(-1, (count, -1)).transpose(1, 2)

    def join_heads(self, x: Any) -> Any:
        return x.transpose(1, 2).flatten(2)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def embedding(self, table: Any, index: Any) -> Any:
        return F.embedding(index, table)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten())

    def grad(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(params: Any, *args: Any) -> Any:
            leaves = self.leaves(params)
            for p in leaves:
                if not p.requires_grad:  # else torch.compile would compile at each call
                    p.requires_grad_()
            return torch.autograd.grad(loss(params, *args), leaves)

        return gradient

    def compile_loop(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function  # torch.compile would write out every step of the loop

    def scan(self, step: Callable[..., Any], start: Any, xs: Any) -> Any:
        results = []
        for x in xs:
            start, y = step(start, x)
            results.append(y)
        return start, torch.stack(results)

    def lstm(self, wide: int, hidden: int) -> tuple[Callable[..., Any], Any]:
        """A function of parameters and x (rows, steps, wide), and its parameters."""
        layer = torch.nn.LSTM(wide, hidden, batch_first=True).requires_grad_(False)
        params = dict(layer.named_parameters())
        del params["bias_hh_l0"]  # a second bias, which others do not have
        return lambda _, x: layer(x)[0], params

    def trainer(
        self, loss: Callable[..., Any], params: dict[str, Any], compiled: bool
    ) -> Callable[..., Any]:
        """A function of a batch that updates the parameters with AdamW and returns the loss."""
        loss = torch.compile(loss) if compiled else loss
        optimizer = torch.optim.AdamW([p.requires_grad_() for p in params.values()], lr=1e-3)

        def step(*batch: Any) -> Any:
            value = loss(params, *batch)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            return value.detach()

        return step
