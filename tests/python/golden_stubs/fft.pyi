"""Discrete Fourier transforms."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def fft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Discrete Fourier transform along an axis. The axis is cut, or padded with zeros, to `n`.
    """

def ifft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Inverse discrete Fourier transform along an axis. The axis is cut, or padded with zeros, to `n`.
    """

def rfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    The first n // 2 + 1 numbers of the transform of a real array. The axis is cut, or padded with zeros, to `n`.
    """

def irfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    The way back from rfft to `n` real numbers, 2 (m - 1) for m along the axis.
    """

def hfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    The real transform of signals with conjugate symmetry, of which `a` is half.
    """

def ihfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The way back from hfft."""

def fft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """Discrete Fourier transform over two axes."""

def fftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Discrete Fourier transform over axes: by default all, or the last ones that `s` has lengths for.
    """

def ifft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """Inverse discrete Fourier transform over two axes."""

def ifftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Inverse discrete Fourier transform over axes: by default all, or the last ones that `s` has lengths for.
    """

def rfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Transform of a real array, of which half is given along the last axis, over two axes.
    """

def rfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Transform of a real array, of which half is given along the last axis, over axes: by default all, or the last ones that `s` has lengths for.
    """

def irfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """The way back from the transform of a real array over two axes."""

def irfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    The way back from the transform of a real array over axes: by default all, or the last ones that `s` has lengths for.
    """

def fftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, device: Device | Stream | None = None) -> array:
    """Frequencies of the n numbers of fft for samples d apart."""

def rfftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, device: Device | Stream | None = None) -> array:
    """Frequencies of the n // 2 + 1 numbers of rfft for samples d apart."""

def fftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """Moves frequency zero to the middle of axes, all by default."""

def ifftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """The way back from fftshift."""

def stft(x: array, n_fft: int = 2048, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, stream: StreamOrDevice = None) -> array:
    """
    Spectra of overlapping, windowed frames of a signal (.., time): (.., frequency, frame).

    Frames of `n_fft` samples begin `hop_length` (n_fft // 4) apart. The window, ones of
    `win_length` (n_fft) by default, stands in the middle of a frame. `center` pads the signal
    by n_fft // 2 at both ends ('reflect', 'edge', 'constant', 'symmetric'). `onesided`, the
    default for real signals, gives n_fft // 2 + 1 frequencies.
    """

def istft(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, norm: str = 'backward', onesided: bool | None = None, length: int | None = None, stream: StreamOrDevice = None) -> array:
    """
    The real signal of which `stft`, with the same parameters, gives the spectra; cut or padded to `length`.
    """
