"""Attention on the GPU against float64, and its independence of layouts and of other rows."""

import itertools

import numpy as np
import pytest
import second_backend
from test_devices_agree import bits

import mlx.core as mx

pytestmark = [pytest.mark.gpu_only, pytest.mark.sampled(0.5)]

ROUNDING = {mx.bfloat16: 2.0**-8, mx.float16: 2.0**-11, mx.float32: 2.0**-20}

# heads, heads of keys, queries, keys, features, features of values; then options
CASES = {
    "one block": ((2, 2, 64, 64, 64, 64), {}),
    "ragged": ((3, 3, 70, 131, 64, 64), {}),
    "causal": ((2, 2, 150, 150, 64, 64), {"mask": "causal"}),
    "causal, more keys": ((2, 1, 70, 200, 32, 48), {"mask": "causal"}),
    "causal, more queries": ((4, 2, 90, 33, 16, 16), {"mask": "causal"}),
    "grouped heads": ((6, 2, 45, 77, 80, 80), {"batch": 2}),
    "odd features": ((2, 2, 40, 40, 13, 7), {}),
    "wide": ((1, 1, 130, 70, 128, 128), {"mask": "causal"}),
    "widest": ((1, 1, 20, 70, 256, 200), {}),
    "bool mask": ((2, 2, 33, 65, 64, 64), {"mask": "bool"}),
    "bool mask of each head": ((4, 2, 33, 65, 24, 24), {"mask": "bool", "each": True}),
    "added mask": ((2, 2, 33, 65, 64, 64), {"mask": "added"}),
    "mask of lowest numbers": ((2, 2, 33, 65, 64, 64), {"mask": "lowest"}),
    "sinks": ((4, 2, 50, 90, 64, 64), {"sinks": True}),
    "many, grouped heads": ((6, 2, 145, 177, 80, 80), {"batch": 2}),
    "many, causal, more queries": ((4, 2, 190, 33, 16, 16), {"mask": "causal"}),
    "many, causal, more keys": ((2, 1, 70, 300, 192, 128), {"mask": "causal"}),
    "many, bool mask": ((2, 2, 128, 192, 64, 64), {"mask": "bool"}),
    "many, bool mask of each head": ((4, 2, 133, 165, 24, 24), {"mask": "bool", "each": True}),
    "many, added mask": ((2, 2, 133, 166, 64, 128), {"mask": "added"}),
    "many, mask of lowest numbers": ((2, 2, 97, 65, 64, 64), {"mask": "lowest"}),
    "many, sinks, causal": ((4, 4, 150, 150, 128, 128), {"sinks": True, "mask": "causal"}),
    "many, widest": ((1, 1, 130, 270, 256, 200), {}),
    "few": ((4, 2, 1, 300, 128, 128), {"batch": 2}),
    "few, causal": ((4, 2, 3, 700, 64, 40), {"mask": "causal"}),
    "few, more queries than keys": ((2, 1, 6, 3, 40, 72), {"mask": "causal"}),
    "few, bool mask, sinks": ((6, 2, 4, 530, 80, 96), {"mask": "bool", "sinks": True}),
    "few, added mask": ((8, 1, 2, 300, 32, 16), {"mask": "added", "batch": 2}),
    "few, odd features": ((3, 3, 5, 280, 13, 7), {"sinks": True}),
    "few, many keys": ((4, 1, 8, 1030, 64, 64), {"mask": "causal", "sinks": True}),
    "sinks, causal": ((4, 4, 50, 50, 64, 64), {"sinks": True, "mask": "causal"}),
}


def draw(shape, options, dtype, seed=0):
    """Queries, keys, values, and the arguments behind them."""
    heads, of_keys, queries, keys, features, width = shape
    batch = options.get("batch", 1)
    rng = np.random.default_rng(seed)
    q, k, v = (
        mx.array(rng.standard_normal(s).astype(np.float32)).astype(dtype)
        for s in (
            (batch, heads, queries, features),
            (batch, of_keys, keys, features),
            (batch, of_keys, keys, width),
        )
    )
    mask, more = options.get("mask"), {}
    full = (batch, heads, queries, keys) if options.get("each") else (queries, keys)
    if mask == "causal":
        more["mask"] = "causal"
    elif mask == "bool":
        chosen = rng.random(full) < 0.3
        chosen[..., 0, :] = False  # a row without keys
        more["mask"] = mx.array(chosen)
    elif mask == "added":
        added = rng.standard_normal(full) * 3
        added[..., ::3] = -np.inf
        more["mask"] = mx.array(added.astype(np.float32)).astype(dtype)
    elif mask == "lowest":
        lowest = np.where(rng.random(full) < 0.5, mx.finfo(dtype).min, 0)
        lowest[..., 1, :] = mx.finfo(dtype).min
        more["mask"] = mx.array(lowest.astype(np.float32)).astype(dtype)
    if options.get("sinks"):
        more["sinks"] = mx.array(rng.standard_normal(heads).astype(np.float32)).astype(dtype)
    return q, k, v, more


def attend(q, k, v, scale=0.25, device=mx.gpu, **more):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, stream=device, **more)


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_values(name, dtype):
    q, k, v, more = draw(*CASES[name], dtype)
    out = np.array(attend(q, k, v, **more).astype(mx.float32))
    wide = {a: x if isinstance(x, str) or x.dtype == mx.bool_ else x.astype(mx.float64, mx.cpu)
            for a, x in more.items()}  # fmt: skip
    exact = attend(*(x.astype(mx.float64, mx.cpu) for x in (q, k, v)), device=mx.cpu, **wide)
    # A weight and the result are rounded; both are at most the largest value.
    bound = 2 * ROUNDING[dtype] * np.abs(np.array(v.astype(mx.float32))).max()
    np.testing.assert_allclose(out, np.array(exact), atol=bound, rtol=0)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("few")])
def test_float32_rounded_to_tf32(name):
    q, k, v, more = draw(*CASES[name], mx.float32)
    exact = np.array(attend(q, k, v, device=mx.cpu, **more))
    with mx.matmul_precision("high"):
        out = np.array(attend(q, k, v, **more))
    largest = np.abs(np.array(v)).max()
    np.testing.assert_allclose(out, exact, atol=2.0**-9 * largest, rtol=0)
    # Other backends compute in float32, and so do kernels of more features.
    rounded = second_backend.is_cuda() and max(CASES[name][0][4:]) <= 128
    assert (np.abs(out - exact).max() > 2.0**-18 * largest) == rounded


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16], ids=str)
def test_rows_do_not_depend_on_their_neighbours(dtype):
    q, k, v, _ = draw((2, 2, 200, 70, 16, 16), {"batch": 2}, dtype)
    whole = attend(q, k, v)
    # Shapes choose the kernel: as many queries as others have, and fewer.
    assert bits(attend(q[:, :, 128:], k, v)) == bits(whole[:, :, 128:])
    few = attend(q[:, :, 120:168], k, v)
    assert bits(attend(q[:, :, 128:160], k, v)) == bits(few[:, :, 8:40])
    assert bits(attend(q[1:, :1], k[1:, :1], v[1:, :1])) == bits(whole[1:, :1])


def layouts(x):
    """The same array in other memory orders: transposed, a slice at an odd place, reversed."""
    yield mx.contiguous(x.swapaxes(1, 2)).swapaxes(1, 2)
    padded = mx.pad(x, [(0, 0), (0, 0), (0, 0), (3, 2)])
    yield padded[..., 3:-2]
    yield mx.contiguous(x[..., ::-1])[..., ::-1]
    yield mx.contiguous(x[:, :, ::-1])[:, :, ::-1]


@pytest.mark.parametrize("queries", [3, 40, 70])
@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float32], ids=str)
def test_layouts(dtype, queries):
    arrays = draw((2, 2, queries, 70, 32, 32), {}, dtype)[:3]
    expected = bits(attend(*arrays))
    for changed in range(3):
        for x in layouts(arrays[changed]):
            assert bits(attend(*arrays[:changed], x, *arrays[changed + 1 :])) == expected


def test_special_values():
    q, k, v, _ = draw((1, 1, 40, 70, 32, 32), {}, mx.bfloat16)
    q[0, 0, 3] = float("nan")
    k[0, 0, 69] = float("inf")
    out = np.array(attend(q, k, v, mask="causal")[0, 0].astype(mx.float32))
    nan = np.isnan(out).all(axis=-1)
    # Query 39 alone sees the last key, with a score of infinity, or of NaN where signs differ.
    assert nan.tolist() == [row in (3, 39) for row in range(40)]
    assert np.isfinite(out[~nan]).all()


# In turns: the dtypes of 16 bits differ by an instruction.
IN_TURNS = [
    *zip(CASES, itertools.cycle([mx.bfloat16, mx.float16])),
    *zip(CASES, itertools.repeat(mx.float32)),
]


@pytest.mark.parametrize(("name", "dtype"), IN_TURNS, ids=str)
def test_derivatives(name, dtype):
    q, k, v, more = draw(*CASES[name], dtype)
    given = mx.random.normal((*q.shape[:3], v.shape[3]), key=mx.random.key(0)).astype(dtype)
    arrays = [q, k, v, given]
    found = mx.vjp(lambda q, k, v: attend(q, k, v, **more), [q, k, v], [given])[1]
    wide = {a: x if isinstance(x, str) or x.dtype == mx.bool_ else x.astype(mx.float64, mx.cpu)
            for a, x in more.items()}  # fmt: skip
    several = 8 if max(q.shape[3], v.shape[3]) > 128 else 2  # there ops round one by one
    *arrays, given = (x.astype(mx.float64, mx.cpu) for x in arrays)
    exact = mx.vjp(lambda q, k, v: attend(q, k, v, device=mx.cpu, **wide), arrays, [given])[1]
    for a, e in zip(found, exact, strict=True):
        a, e = np.array(a.astype(mx.float32)), np.array(e)
        assert np.linalg.norm(a - e) <= several * ROUNDING[dtype] * np.linalg.norm(e)
