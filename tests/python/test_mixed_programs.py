"""Random graphs of several dtypes, whose values have several readers and are read through views:
evaluated at once, and compiled, they have the bits that each op gives alone."""

import numpy as np
import pytest
import second_backend
from cases import selection

import mlx.core as mx

REALS = [mx.float16, mx.bfloat16, mx.float32, mx.float64, mx.int8, mx.int32, mx.bool_]
SHAPES = [(20, 21), (21,), (20, 1), (1, 21), (20, 20), ()]  # more than a burst of registers


def is_complex(a):
    return a.dtype in (mx.complex64, mx.complex128)


def is_inexact(a):
    return mx.issubdtype(a.dtype, mx.inexact)


def cast(rng, a, b):
    """To another dtype: complex numbers keep their real parts."""
    if is_complex(a):
        return mx.real(a)
    wider = [t for t in (*REALS, mx.complex64) if t.size >= a.dtype.size]
    return a.astype(wider[rng.integers(len(wider))])


def unary(rng, a, b):
    small = mx.clip(a, -2, 2) if not is_complex(a) and a.dtype != mx.bool_ else a
    if not is_inexact(a):
        return mx.abs(small)
    names = ["abs", "square", "negative"] if is_complex(a) else ["exp", "tanh", "square", "abs"]
    return getattr(mx, names[rng.integers(len(names))])(small)


def binary(rng, a, b):
    try:
        mx.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return a
    name = ["add", "multiply", "subtract", "maximum", "where"][rng.integers(5)]
    if name == "where":
        return mx.where(a == b, a, b)
    if name == "maximum" and (is_complex(a) or is_complex(b)):
        name = "add"
    if name == "subtract" and mx.bool_ in (a.dtype, b.dtype):
        name = "add"
    return getattr(mx, name)(a, b)


def view(rng, a, b):
    """Another order, shape or part of the same elements."""
    kind = rng.integers(8)
    if kind == 0:
        return a.T
    if kind == 1:
        return a[None] if a.ndim < 3 else a.reshape(-1)
    if kind == 2:
        return a.reshape(-1)
    if kind == 3 and a.ndim:
        return a[::-1]
    if kind == 4 and a.ndim and a.shape[-1] > 2:
        return a[..., 1:]
    if kind == 5 and a.ndim < 2:
        return mx.broadcast_to(a, (20, *a.shape))
    if kind == 6:
        return mx.stop_gradient(a)
    return a[..., None] if a.ndim < 2 else a.swapaxes(0, -1)


def kernel(rng, a, b):
    """A reduction, or an op that is no part of a program."""
    kind = rng.integers(7)
    if a.ndim == 0 or a.size == 0:
        return a
    if kind < 3 and not (kind == 1 and is_complex(a)):
        name = ["sum", "max", "mean"][kind]
        return getattr(mx, name)(a, axis=int(rng.integers(a.ndim)), keepdims=bool(rng.integers(2)))
    if kind == 3 and not is_complex(a):
        return mx.sort(a, axis=-1)
    if kind == 4:
        return mx.concatenate([a, a], axis=0)[: a.shape[0]]
    if kind == 5 and is_inexact(a) and not is_complex(a):
        return mx.softmax(a, axis=-1)
    return mx.split(a, [a.shape[0] // 2])[int(rng.integers(2))]


OPS = [cast, cast, unary, unary, binary, binary, binary, binary, view, view, kernel]


def run(seed, inputs, alone):
    """Some values of a random graph; `alone`: each value is evaluated before it is read."""
    rng = np.random.default_rng(seed)
    values = list(inputs)
    for _ in range(int(rng.integers(6, 24))):
        # Recent values have several readers, near each other.
        recent = [int(rng.integers(max(0, len(values) - n), len(values))) for n in (3, 6)]
        made = OPS[rng.integers(len(OPS))](rng, *(values[k] for k in recent))
        if alone:
            mx.eval(made)
        values.append(made)
    wanted = rng.integers(len(inputs), len(values), 2)
    return [values[-1], *(values[k] for k in wanted)]


def inputs_of(seed):
    rng = np.random.default_rng(seed)
    found = [
        mx.array(rng.integers(-4, 5, SHAPES[rng.integers(len(SHAPES))]).astype(np.float32) / 2)
        for _ in range(3)
    ]
    found = [a.astype(REALS[rng.integers(len(REALS))]) for a in found]
    mx.eval(found)
    return found


def bits(arrays):
    """Dtypes, shapes and bytes; any NaN is the same one."""

    def bytes_of(a):
        x = np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a)
        if is_inexact(a):
            x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
        return x.tobytes()

    return [(a.dtype, a.shape, bytes_of(a)) for a in arrays]


@pytest.mark.parametrize("part", range(8))
def test_graphs_of_several_dtypes(part):
    """Other graphs each day; with --all, more of them; few where a graph's kernels are compiled."""
    count = 1000 if selection.EVERYTHING else 100
    if mx.default_device() != mx.cpu and second_backend.in_use() not in ("fake", "fake-unified"):
        count = 3
    first = (selection.SEED * 8 + part) * 1000
    for seed in range(first, first + count):
        inputs = inputs_of(seed)
        expected = bits(run(seed, inputs, alone=True))
        at_once = run(seed, inputs, alone=False)
        mx.eval(at_once)
        assert bits(at_once) == expected, seed
        compiled = mx.compile(lambda *given, seed=seed: run(seed, given, alone=False))(*inputs)
        assert bits(compiled) == expected, seed


@pytest.mark.parametrize("wide", [mx.float32, mx.float64, mx.complex64], ids=str)
@pytest.mark.parametrize("narrow", [mx.float16, mx.bfloat16, mx.float32], ids=str)
def test_a_cast_has_another_tile_than_its_source(narrow, wide):
    """The source has its last reader, and the cast has two, in the same run of registers."""
    rng = np.random.default_rng(0)
    a, b = (mx.array(rng.standard_normal(3000)).astype(mx.float32).astype(narrow) for _ in range(2))
    chosen = mx.array(rng.random(3000) > 0.5)
    mx.eval(a, b, chosen)

    def run(alone):
        def seen(x):
            if alone:
                mx.eval(x)
            return x

        cast = seen(seen(mx.where(chosen, a, b)).astype(wide))
        back = seen(cast.real.astype(narrow))
        other = seen(seen(back * b).astype(mx.float32))
        return [
            cast * seen(mx.exp(cast)),
            other * seen(mx.tanh(other)) + seen(a.astype(mx.float32)),
        ]

    for k in range(2):
        alone, at_once = run(alone=True)[k], run(alone=False)[k]
        assert bits([at_once]) == bits([alone])
