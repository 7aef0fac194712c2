"""Collectives as a table: the result of each rank from the inputs of all.

The same rows run on threads and on processes (test_distributed.py, test_launch.py).
"""

import functools
import hashlib

import numpy as np

import mlx.core as mx

DTYPES = {
    name: getattr(mx, name)
    for name in [
        "bool_",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
}
SHAPES = [(), (0,), (0, 3), (1,), (7,), (4, 5), (8, 3), (16, 33)]
LARGE = (1 << 19) + 24  # elements: several pieces of a segment, the last one short


@functools.cache
def make_input(rank, shape, dtype):
    """The array of one rank: numbers that add up exactly in no dtype but small integers."""
    generator = np.random.default_rng(17 * rank + len(shape))
    if dtype == mx.bool_:
        return mx.array(generator.integers(0, 2, shape).astype(bool))
    if mx.issubdtype(dtype, mx.complexfloating):
        values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
        with mx.stream(mx.cpu):
            return mx.array(np.asarray(values)).astype(dtype)
    if mx.issubdtype(dtype, mx.integer):
        low = 0 if mx.issubdtype(dtype, mx.unsignedinteger) else -100
        return mx.array(generator.integers(low, 100, shape)).astype(dtype)
    with mx.stream(mx.cpu):
        return mx.array(np.asarray(generator.normal(size=shape))).astype(dtype)


def view(x):
    """The same elements, not in rows."""
    return x if x.ndim < 2 else mx.contiguous(x.T).T


def tree(rows, add):
    """The sum of rows in pairs, then pairs of pairs."""
    while len(rows) > 1:
        pairs = [rows[k : k + 2] for k in range(0, len(rows), 2)]
        rows = [add(*p) if len(p) == 2 else p[0] for p in pairs]
    return rows[0]


def sum_of(arrays):
    """The sum as the engine promises it: 16-bit floats in float32, rounded once."""
    dtype = arrays[0].dtype
    with mx.stream(mx.cpu):
        if dtype == mx.bool_:
            return tree(arrays, mx.logical_or)
        wide = dtype in (mx.float16, mx.bfloat16)
        return tree([a.astype(mx.float32) if wide else a for a in arrays], mx.add).astype(dtype)


def divides(shape, size):
    """Whether the first axis can be divided among the ranks."""
    return len(shape) > 0 and shape[0] % size == 0


# Name, the call, the result of one rank from the inputs of all, and which shapes are accepted.
ROWS = [
    ("all_sum", mx.distributed.all_sum, lambda xs, r: sum_of(xs), None),
    ("all_max", mx.distributed.all_max, lambda xs, r: tree(xs, mx.maximum), None),
    ("all_min", mx.distributed.all_min, lambda xs, r: tree(xs, mx.minimum), None),
    (
        "all_gather",
        mx.distributed.all_gather,
        lambda xs, r: mx.concatenate([x.reshape(1) if x.ndim == 0 else x for x in xs]),
        None,
    ),
    (
        "sum_scatter",
        mx.distributed.sum_scatter,
        lambda xs, r: mx.split(sum_of(xs), len(xs))[r],
        divides,
    ),
    (
        "all_to_all",
        mx.distributed.all_to_all,
        lambda xs, r: mx.concatenate([mx.split(x, len(xs))[r] for x in xs]),
        divides,
    ),
    (
        "broadcast",
        lambda x: mx.distributed.broadcast(x, 1),
        lambda xs, r: xs[1],
        None,
    ),
    (
        "around",
        lambda x: around(x),
        lambda xs, r: xs[r - 1],
        None,
    ),
]


def around(x):
    """Send to the right, receive from the left."""
    group = mx.distributed.init()
    rank, size = group.rank(), group.size()
    sent = mx.distributed.send(x, (rank + 1) % size)
    got = mx.distributed.recv_like(x, (rank - 1) % size)
    mx.eval(sent, got)
    return got


def cases(size):
    """(row, shape, dtype) of every case for a number of ranks."""
    few = ("bool_", "int32", "bfloat16", "float32", "complex64")
    for row in ROWS:
        for name, dtype in DTYPES.items():
            if size > 4 and name not in few:
                continue
            for shape in SHAPES:
                if row[3] is None or row[3](shape, size):
                    yield row, shape, dtype, name
        if row[3] is None or divides((LARGE,), size):
            for name in ("float32", "bfloat16", "int64"):
                yield row, (LARGE,), DTYPES[name], name


def as_bytes(x):
    """The elements as they lie in rows."""
    with mx.stream(mx.cpu):
        x = x.view(mx.uint16) if x.dtype == mx.bfloat16 else x
        return np.ascontiguousarray(np.array(x)).tobytes()


def run_all():
    """Run every case as one rank: texts of what is wrong, and a hash of all bits."""
    group = mx.distributed.init()
    rank, size = group.rank(), group.size()
    wrong, bits = [], hashlib.sha256()
    for (name, call, expected, _), shape, dtype, text in cases(size):
        with mx.stream(mx.cpu):
            inputs = [make_input(r, shape, dtype) for r in range(size)]
            want = expected(inputs, rank)
        got = call(view(inputs[rank]))
        mx.eval(got)
        if got.shape != want.shape or got.dtype != want.dtype or as_bytes(got) != as_bytes(want):
            wrong.append(f"rank {rank} of {size}: {name} of {shape} {text}")
        bits.update(as_bytes(got))
    mx.distributed.barrier()
    make_input.cache_clear()
    return wrong, bits.hexdigest()
