"""Dropout of single elements and of whole channels, in training mode only."""

from __future__ import annotations

import mlx.core as mx
from mlx.nn.layers.base import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"The dropout probability {p} is not in [0, 1)")
        self._p_1 = 1 - p

    def _extra_repr(self) -> str:
        return f"p={1 - self._p_1}"

    def _mask_shape(self, x: mx.array) -> tuple[int, ...]:
        """The shape of the mask: 1 along the axes that are dropped together."""
        return x.shape

    def __call__(self, x: mx.array) -> mx.array:
        if self._p_1 == 1 or not self.training:
            return x
        mask = mx.random.bernoulli(self._p_1, self._mask_shape(x))
        return mx.where(mask, x * (1 / self._p_1), 0)


class Dropout(_Dropout):
    """Set each element to zero with probability ``p``, and divide the others by ``1 - p``.

    In evaluation mode, or with ``p = 0``, the input is returned.

    Args:
        p: the probability, in ``[0, 1)``.

    Raises:
        ValueError: ``p`` is no such probability.

    >>> nn.Dropout(0.5).eval()(mx.array([1.0, 2.0]))
    array([1, 2], dtype=float32)
    """


class _ChannelDropout(_Dropout):
    _axes: int

    def _mask_shape(self, x: mx.array) -> tuple[int, ...]:
        if x.ndim not in (self._axes + 1, self._axes + 2):
            raise ValueError(
                f"Received input with {x.ndim} dimensions. Expected"
                f" {self._axes + 1} or {self._axes + 2} dimensions."
            )
        return (*x.shape[: -self._axes - 1], *[1] * self._axes, x.shape[-1])


class Dropout2d(_ChannelDropout):
    """Drop whole channels of images ``(H, W, C)`` or ``(N, H, W, C)``, as :class:`Dropout`.

    Args:
        p: the probability, in ``[0, 1)``.

    >>> nn.Dropout2d(0.5)(mx.ones((2, 4, 4, 3))).shape
    (2, 4, 4, 3)
    """

    _axes = 2


class Dropout3d(_ChannelDropout):
    """Drop whole channels of volumes ``(D, H, W, C)`` or ``(N, D, H, W, C)``, as :class:`Dropout`.

    Args:
        p: the probability, in ``[0, 1)``.

    >>> nn.Dropout3d(0.5)(mx.ones((2, 4, 4, 4, 3))).shape
    (2, 4, 4, 4, 3)
    """

    _axes = 3
