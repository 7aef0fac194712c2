"""Discrete Fourier transforms."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def fft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the discrete Fourier transform along an axis.

    Args:
        a: an array, real or complex.
        n: the length of the axis, which is cut or padded with zeros; by default as it is.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.fft.fft(mx.array([1.0, 0.0, 0.0, 0.0]))
        array([1+0j, 1+0j, 1+0j, 1+0j], dtype=complex64)
    """

def ifft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the inverse discrete Fourier transform along an axis.

    Args:
        a: an array, real or complex.
        n: the length of the axis, which is cut or padded with zeros; by default as it is.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.fft.ifft(mx.array([4.0, 0.0, 0.0, 0.0]))
        array([1+0j, 1+0j, 1+0j, 1+0j], dtype=complex64)
    """

def rfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the non-negative frequencies of the transform of a real array.

    Args:
        a: a real array.
        n: the length of the axis, which is cut or padded with zeros; by default as it is.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array of length `n // 2 + 1` along the axis.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.fft.rfft(mx.array([1.0, 1.0, 1.0, 1.0]))
        array([4+0j, 0+0j, 0+0j], dtype=complex64)
    """

def irfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the real array whose transform `rfft` returns.

    Args:
        a: an array of the non-negative frequencies.
        n: the length of the result along the axis; `2 (m - 1)` by default, `m` being that of
            `a`.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.fft.irfft(mx.fft.rfft(mx.array([1.0, 2.0, 3.0, 4.0])))
        array([1, 2, 3, 4], dtype=float32)
    """

def hfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the real transform of a signal that has conjugate symmetry.

    Args:
        a: the first half of the signal.
        n: the length of the result along the axis; `2 (m - 1)` by default, `m` being that of
            `a`.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.fft.hfft(mx.array([1.0, 2.0, 1.0]))
        array([6, 0, -2, 0], dtype=float32)
    """

def ihfft(a: array, n: int | None = None, axis: int = -1, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the signal of conjugate symmetry whose transform `hfft` returns.

    Args:
        a: a real array.
        n: the length of the axis, which is cut or padded with zeros; by default as it is.
        axis: the axis; the last one by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array: the first half of the signal.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> mx.real(mx.fft.ihfft(mx.array([6.0, 0.0, -2.0, 0.0])))
        array([1, 2, 1], dtype=float32)
    """

def fft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the discrete Fourier transform over two axes.

    Args:
        a: an array, real or complex.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the two axes; the last two by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.fft2(x)
        array([[10+0j, -2+0j],
               [-4+0j, 0+0j]], dtype=complex64)
    """

def fftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the discrete Fourier transform over axes.

    Args:
        a: an array, real or complex.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the axes; all by default, or as many of the last ones as `s` has lengths.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.fftn(x)
        array([[10+0j, -2+0j],
               [-4+0j, 0+0j]], dtype=complex64)
    """

def ifft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the inverse discrete Fourier transform over two axes.

    Args:
        a: an array, real or complex.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the two axes; the last two by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.ifft2(mx.fft.fft2(x))
        array([[1+0j, 2+0j],
               [3+0j, 4+0j]], dtype=complex64)
    """

def ifftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the inverse discrete Fourier transform over axes.

    Args:
        a: an array, real or complex.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the axes; all by default, or as many of the last ones as `s` has lengths.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.ifftn(mx.fft.fftn(x))
        array([[1+0j, 2+0j],
               [3+0j, 4+0j]], dtype=complex64)
    """

def rfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the transform of a real array, with the non-negative frequencies of the last axis,
    over two axes.

    Args:
        a: a real array.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the two axes; the last two by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array of length `n // 2 + 1` along the last axis.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.rfft2(x)
        array([[10+0j, -2+0j],
               [-4+0j, 0+0j]], dtype=complex64)
    """

def rfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the transform of a real array, with the non-negative frequencies of the last axis,
    over axes.

    Args:
        a: a real array.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the axes; all by default, or as many of the last ones as `s` has lengths.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array of length `n // 2 + 1` along the last axis.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.rfftn(x)
        array([[10+0j, -2+0j],
               [-4+0j, 0+0j]], dtype=complex64)
    """

def irfft2(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = [-2, -1], norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the real array whose transform `rfft2` returns, over two axes.

    Args:
        a: an array of the non-negative frequencies of the last axis.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the two axes; the last two by default.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.irfft2(mx.fft.rfft2(x))
        array([[1, 2],
               [3, 4]], dtype=float32)
    """

def irfftn(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = None, norm: str = 'backward', stream: StreamOrDevice = None) -> array:
    """
    Return the real array whose transform `rfftn` returns, over axes.

    Args:
        a: an array of the non-negative frequencies of the last axis.
        s: the lengths of the axes, which are cut or padded with zeros; by default as they are.
        axes: the axes; all by default, or as many of the last ones as `s` has lengths.
        norm: 'backward' (default) divides the inverse transform by `n`, 'forward' the
            transform, 'ortho' both by `sqrt(n)`.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array.

    Raises:
        IndexError: an axis is out of range.
        ValueError: a length is 0, or `norm` is another word.

    Example:
        >>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
        >>> mx.fft.irfftn(mx.fft.rfftn(x))
        array([[1, 2],
               [3, 4]], dtype=float32)
    """

def fftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, device: Device | Stream | None = None) -> array:
    """
    Return the frequencies that belong to the numbers of `fft`.

    Args:
        n: how many numbers.
        d: the distance of samples; 1 by default.
        dtype: a floating dtype; float32 by default.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        A vector of length `n`.

    Raises:
        ValueError: `n` is not positive.

    Example:
        >>> mx.fft.fftfreq(4)
        array([0, 0.25, -0.5, -0.25], dtype=float32)
    """

def rfftfreq(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, device: Device | Stream | None = None) -> array:
    """
    Return the frequencies that belong to the numbers of `rfft`.

    Args:
        n: how many samples.
        d: the distance of samples; 1 by default.
        dtype: a floating dtype; float32 by default.
        stream: the stream or device that computes the result; None is the default one.
        device: another name of `stream`.

    Returns:
        A vector of length `n // 2 + 1`.

    Raises:
        ValueError: `n` is not positive.

    Example:
        >>> mx.fft.rfftfreq(4)
        array([0, 0.25, 0.5], dtype=float32)
    """

def fftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """
    Move frequency zero to the middle of axes.

    Args:
        a: an array.
        axes: the axis or axes; all by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.fft.fftshift(mx.fft.fftfreq(4))
        array([-0.5, -0.25, 0, 0.25], dtype=float32)
    """

def ifftshift(a: array, axes: int | Sequence[int] | None = None, stream: StreamOrDevice = None) -> array:
    """
    Undo `fftshift`: move frequency zero to the start of axes.

    Args:
        a: an array.
        axes: the axis or axes; all by default.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        IndexError: an axis is out of range.

    Example:
        >>> mx.fft.ifftshift(mx.array([-2, -1, 0, 1]))
        array([0, 1, -2, -1], dtype=int32)
    """

def stft(x: array, n_fft: int = 2048, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the spectra of overlapping, windowed frames of a signal.

    Args:
        x: the signal, of shape (..., time).
        n_fft: the number of samples of a frame; 2048 by default.
        hop_length: the distance of the starts of frames; `n_fft // 4` by default.
        win_length: the length of the window; `n_fft` by default.
        window: the window, placed in the middle of a frame; ones by default.
        center: whether the signal is padded by `n_fft // 2` at both ends; True by default.
        pad_mode: 'reflect' (default), 'edge', 'constant' or 'symmetric'.
        norm: 'backward' (default), 'forward' or 'ortho'; see `fft`.
        onesided: whether `n_fft // 2 + 1` frequencies are returned; by default for real
            signals.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A complex array of shape (..., frequency, frame).

    Raises:
        ValueError: the signal is too short, or the window does not fit.

    Example:
        >>> mx.fft.stft(mx.ones(16), n_fft=8).shape
        (5, 9)
    """

def istft(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, win_length: int | None = None, window: array | None = None, center: bool = True, norm: str = 'backward', onesided: bool | None = None, length: int | None = None, stream: StreamOrDevice = None) -> array:
    """
    Return the real signal whose spectra `stft` returns with the same arguments.

    Args:
        stft_matrix: the spectra, of shape (..., frequency, frame).
        n_fft: the number of samples of a frame; by default it follows from the frequencies.
        hop_length: the distance of the starts of frames; `n_fft // 4` by default.
        win_length: the length of the window; `n_fft` by default.
        window: the window; ones by default.
        center: whether `stft` padded the signal; True by default.
        norm: 'backward' (default), 'forward' or 'ortho'; see `fft`.
        onesided: whether the spectra have `n_fft // 2 + 1` frequencies.
        length: the number of samples, to which the signal is cut or padded; None for as many as
            there are.
        stream: the stream or device that computes the result; None is the default one.

    Returns:
        A real array of shape (..., time).

    Raises:
        ValueError: the shapes do not agree.

    Example:
        >>> mx.fft.istft(mx.fft.stft(mx.ones(16), n_fft=8), n_fft=8).shape
        (16,)
    """
