"""Random numbers from keys or a seeded generator."""

from collections.abc import Callable, Sequence
import pathlib
import types
from typing import IO, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar
from mlx.core import DLPackCompatible, Device, DeviceType, Dtype, ScalarOrArray
from mlx.core import Stream, StreamOrDevice, array, float32, int32, scalar

def seed(seed: int) -> None:
    """Seeds the calling thread's generator."""

def key(seed: int) -> array:
    """A key for the functions that take one."""

def split(key: array, num: int = 2, stream: StreamOrDevice = None) -> array:
    """Keys for independent generators, made of one key."""

def uniform(low: scalar | array = 0, high: scalar | array = 1, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers spread evenly over [low, high)."""

def randint(low: scalar | array, high: scalar | array, shape: Sequence[int] = [], dtype: Dtype | None = int32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Integers spread evenly over [low, high)."""

def bernoulli(p: scalar | array = 0.5, shape: Sequence[int] | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """True with probability p."""

def permutation(x: int | array, axis: int = 0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    The integers below x in random order, or the array with its slices along an axis so.
    """

def normal(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: scalar | array | None = None, scale: scalar | array | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Normally distributed numbers with mean `loc` (0) and standard deviation `scale` (1).
    """

def truncated_normal(lower: scalar | array, upper: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Standard normal numbers between two bounds."""

def multivariate_normal(mean: array, cov: array, shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """
    Vectors of normally distributed numbers with means (.., N) and covariances (.., N, N), which broadcast with `shape`; float32 or float64.
    """

def gumbel(shape: Sequence[int] = [], dtype: Dtype | None = float32, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the standard Gumbel distribution."""

def laplace(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: float = 0.0, scale: float = 1.0, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Numbers of the Laplace distribution."""

def categorical(logits: array, axis: int = -1, shape: Sequence[int] | None = None, num_samples: int | None = None, key: array | None = None, stream: StreamOrDevice = None) -> array:
    """Positions along an axis drawn with probabilities softmax(logits)."""

class _RandomState:
    """The key of the calling thread's generator."""

    def __len__(self) -> int:
        """One."""

    def __getitem__(self, index: int) -> array:
        """The key: the same object each time, and what is written to it counts."""

    def __setitem__(self, index: int, value: array) -> None:
        """Replaces the key."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are lists with the key of the time."""

state: _RandomState = ...
