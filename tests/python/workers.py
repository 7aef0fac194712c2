"""Functions that pickle by name, for processes to import."""

import functools
import os

import mlx.core as mx
import mlx.nn as nn


@mx.compile
def doubled(x):
    return x * 2


@functools.partial(mx.compile, shapeless=True)
def halved(x):
    return x / 2


@mx.grad
def slope(x):
    return (x * x * x).sum()


@mx.compile
@mx.vmap
def rows(x):
    return x.sum()


@mx.checkpoint
def recomputed(x):
    return mx.sin(x)


@mx.custom_function
def with_rule(x):
    return x * 3


@with_rule.vjp
def _(primals, cotangents, outputs):
    return cotangents * 30


class Holder:
    """Transformed functions in a class."""

    @staticmethod
    @mx.compile
    def tripled(x):
        return x * 3


COUNTER = [mx.array(0.0)]


@functools.partial(mx.compile, inputs=COUNTER, outputs=COUNTER)
def counted(x):
    COUNTER[0] = COUNTER[0] + 1
    return x + COUNTER[0]


def square(x):
    return x * x


def total(x, scale=1.0):
    return (x * x).sum() * scale


def error(model, x):
    return (model(x) ** 2).mean()


class Network(nn.Module):
    """A module with functions, a device and limits among its attributes."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm(3)
        self.activation = nn.GELU("tanh")
        self._step = mx.compile(square)
        self._device = mx.Device(mx.cpu, 0)
        self._limits = mx.finfo(mx.float16)
        self._initializer = nn.init.he_normal()

    def __call__(self, x):
        return self._step(self.activation(self.norm(self.linear(x))))


def compute(x):
    """Work on many threads and on another stream, and a decomposition."""
    product = mx.sin(x) @ mx.ones((x.shape[1], 200))
    other = mx.add(product, 1, stream=mx.new_stream(mx.cpu))
    mx.async_eval(other)
    inverse = mx.linalg.inv(mx.eye(50) * 2, stream=mx.cpu)
    return other, inverse.sum().item(), doubled(mx.array(21)).item(), os.getpid()


def with_rule_rule(primals, cotangents, outputs):
    """A derivative that says that the rule was used."""
    return cotangents * 30


def is_matrix(path, weight):
    return weight.ndim > 1
