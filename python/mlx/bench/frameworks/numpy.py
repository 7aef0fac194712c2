"""NumPy (and SciPy's functions where it is installed)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Missing
from .base import Base


class Framework(Base):
    """NumPy: eager, no compiler, no derivatives."""

    name, version = "numpy", np.__version__
    exp, log, sin, tanh, sqrt = np.exp, np.log, np.sin, np.tanh, np.sqrt
    matmul, scalar = np.matmul, np.float32

    def __init__(self, threads: int | None) -> None:
        self.rng = np.random.default_rng(0)

    def _dtype(self, name: str) -> Any:
        if not hasattr(np, name):
            raise Missing(f"numpy has no {name}")
        return getattr(np, name)

    def normal(self, shape: tuple[Any, ...], dtype: str = "float32") -> Any:
        return self.rng.standard_normal(shape, np.float32).astype(self._dtype(dtype), copy=False)

    def uniform(
        self, shape: tuple[Any, ...], low: float, high: float, dtype: str = "float32"
    ) -> Any:
        return self.rng.uniform(low, high, shape).astype(self._dtype(dtype))

    def integers(self, shape: tuple[Any, ...], high: int) -> Any:
        return self.rng.integers(0, high, shape, np.int32)

    def erf(self, x: Any) -> Any:
        try:
            from scipy.special import erf
        except ImportError:
            raise Missing("numpy has no erf") from None
        return erf(x)

    def rsqrt(self, x: Any) -> Any:
        return 1 / np.sqrt(x)

    def sum(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return np.sum(x, axis, keepdims=keep)

    def mean(self, x: Any, axis: int | None = None, keep: bool = False) -> Any:
        return np.mean(x, axis, keepdims=keep)

    def argmax(self, x: Any) -> Any:
        return np.argmax(x, -1)

    def softmax(self, x: Any) -> Any:
        y = np.exp(x - x.max(-1, keepdims=True))
        return y / y.sum(-1, keepdims=True)

    def cumsum(self, x: Any) -> Any:
        return np.cumsum(x, -1)

    def maximum(self, x: Any) -> Any:
        return x.max(-1)

    def any(self, x: Any) -> Any:
        return x.any(-1)

    def histogram(self, x: Any, bins: int) -> Any:
        return np.histogram(x, bins)[0]

    def bincount(self, x: Any) -> Any:
        return np.bincount(x)

    def unique(self, x: Any) -> Any:
        return np.unique(x)

    def nonzero(self, x: Any, mask: Any) -> Any:
        return np.nonzero(mask)[0]

    def masked(self, x: Any, mask: Any) -> Any:
        return x[mask]

    def searchsorted(self, sequence: Any, x: Any) -> Any:
        return np.searchsorted(sequence, x)

    def sort(self, x: Any) -> Any:
        return np.sort(x, -1)

    def argsort(self, x: Any) -> Any:
        return np.argsort(x, -1)

    def copy(self, x: Any) -> Any:
        return x.copy()

    def transposed_copy(self, x: Any) -> Any:
        return np.ascontiguousarray(x.T)

    def pick(self, x: Any, index: Any) -> Any:
        return np.take_along_axis(x, index[:, None], axis=-1)[:, 0]

    def take(self, x: Any, index: Any) -> Any:
        return np.take(x, index, 0)

    def fft(self, x: Any) -> Any:
        return np.fft.fft(x)

    def complex(self, shape: tuple[Any, ...]) -> Any:
        return (self.normal(shape) + 1j * self.normal(shape)).astype(np.complex64)

    def swapped(self, x: Any) -> Any:
        return x.swapaxes(-1, -2)

    def linalg(self, name: str, *args: Any) -> Any:
        return getattr(np.linalg, name)(*args)

    def from_table(self, name: str, reference: str) -> Any:
        if hasattr(np, name):
            return getattr(np, name)
        names: dict[str, Any] = {"np": np}
        if "scipy" in reference:
            try:
                import scipy.special
            except ImportError:
                raise Missing(f"numpy has no {name}") from None
            names["scipy"] = scipy
        return eval(f"lambda a, b=None, c=None: {reference}", names)
