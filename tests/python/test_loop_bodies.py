"""Bodies of loops have the bits of the same ops outside, whether they run as small steps or not.

A loop of small arrays runs on the host also where a GPU is the default device.
"""

import cases
import numpy as np
import pytest
from cases.table import device_array, leaves

import mlx.core as mx


def bits(a):
    """The elements of an array as bytes, with one NaN for all NaNs."""
    # A sum of two NaNs is one of them, by the order of the operands.
    values = np.array(mx.view(a, mx.uint16) if a.dtype in (mx.bfloat16, mx.float16) else a)
    if values.dtype.kind in "fc":
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    elif a.dtype in (mx.bfloat16, mx.float16):
        values = np.where(np.array(mx.isnan(a)), np.uint16(0x7FFF), values)
    return values.dtype.str, values.shape, values.tobytes()


def check(row):
    for dtype in row.dtypes:
        if dtype != "float32" and not cases.chosen(f"loop {row.name} {dtype}", 0.3):
            continue
        given = [list(map(device_array, row.host_inputs(dtype, seed))) for seed in (0, 1)]
        slices = [mx.stack(pair) for pair in zip(*given, strict=True)]
        got = mx.map(lambda inputs, row=row: leaves(row.results(*inputs)), slices)
        for device in {mx.default_device().type: None, mx.DeviceType.cpu: None}:
            with mx.stream(mx.Device(device)):
                want = [leaves(row.results(*inputs)) for inputs in given]
            failures = list(differences(got, want))
            if not failures:
                break
        for failure in failures:
            yield f"{dtype}: {failure}"


def differences(got, want):
    """The results of two iterations whose bits are not those of the op outside."""
    for k, result in enumerate(got):
        for i in range(2):
            if bits(result[i]) != bits(want[i][k]):
                yield f"result {k} of iteration {i}: {result[i]}, not {want[i][k]}"


@pytest.mark.parametrize("family", cases.names())
def test_rows_in_a_loop(family):
    cases.run_rows(family, check, lambda row: row.traced and row.batched and row.ins)


SHAPES = [(), (1,), (2,), (2, 2), (3, 2), (1, 3), (8, 8), (2, 3, 2)]
DTYPES = [mx.float32, mx.float32, mx.float32, mx.float16, mx.float64, mx.complex64, mx.int32]


def unary(rng, x):
    names = ["negative", "abs", "square", "exp", "sign"]
    if not mx.issubdtype(x.dtype, mx.complexfloating):
        names += ["tanh", "sigmoid", "floor"]
    f = getattr(mx, str(rng.choice(names)))
    return lambda y: f(y).astype(y.dtype) * 0.25


def moved(rng, x):
    """A function of an array that reads it in another order, or parts of it, or sums."""
    axis = int(rng.randint(x.ndim)) if x.ndim else None
    choices = [lambda y: y.T, lambda y: mx.sum(y, axis=axis), lambda y: y.reshape(-1)[::-1]]
    if x.ndim:
        choices += [
            lambda y: mx.max(mx.abs(y), axis=axis, keepdims=True) * y,
            lambda y: mx.broadcast_to(y.reshape(-1)[:1], y.shape) + y,
            lambda y: mx.swapaxes(y, 0, -1) * 2,
            lambda y: y[:1] - y,
        ]
    return choices[rng.randint(len(choices))]


def program(rng, carried, steps=12):
    """A random function from values with the shapes and dtypes of `carried` to such values."""
    recipes, values = [], list(carried)
    for _ in range(steps):
        a, b = (int(rng.randint(len(values))) for _ in range(2))
        x, y = values[a], values[b]
        kind = rng.randint(4)
        if kind == 0:
            f, args = unary(rng, x), (a,)
        elif kind == 1:
            f, args = moved(rng, x), (a,)
        elif kind == 2 and x.ndim == y.ndim == 2 and x.shape[1] == y.shape[0]:
            f, args = (lambda p, q: p @ q), (a, b)
        else:
            try:
                mx.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                continue
            name = str(rng.choice(["add", "subtract", "multiply"]))
            f, args = (lambda p, q, name=name: getattr(mx, name)(p, q)), (a, b)
        recipes.append((f, args))
        values.append(f(*(values[i] for i in args)))
    ends = []
    for x in carried:
        fits = [k for k, v in enumerate(values) if v.shape == x.shape and v.dtype == x.dtype]
        ends.append(int(rng.choice(fits[-3:])))
    seen = [int(k) for k in rng.choice(len(values), 3)]

    def run(given, evaluated=lambda v: v):
        made = list(given)
        for f, args in recipes:
            made.append(evaluated(f(*(made[i] for i in args))))
        return [made[k] for k in ends], [made[k] for k in seen]

    return run


def one_by_one(v):
    mx.eval(v)
    return v


@pytest.mark.parametrize("seed", range(60))
def test_random_bodies(seed):
    rng = np.random.RandomState(seed)
    start = []
    for _ in range(4):
        shape, dtype = SHAPES[rng.randint(len(SHAPES))], DTYPES[rng.randint(len(DTYPES))]
        start.append(mx.array(rng.randint(-8, 9, shape) / 4).astype(dtype))
    run = program(rng, start)
    last, rows = mx.scan(lambda c, _: run(c), start, None, length=3)
    values, want = start, []
    with mx.stream(mx.cpu):
        for _ in range(3):
            values, seen = run(values, one_by_one)
            want.append(seen)
    for a, b in zip(last, values, strict=True):
        assert bits(a) == bits(b), seed
    for k, result in enumerate(rows):
        for i in range(3):
            assert bits(result[i]) == bits(want[i][k]), (seed, k, i)
