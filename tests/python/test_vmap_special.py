"""vmap of every row against a loop, on inputs with NaN and infinities, for scalars and for
mapped axes other than the first."""

import cases
import numpy as np
import pytest
from cases.table import FLOATS, In, device_array, host, host_input
from test_special_values import strewn

import mlx.core as mx

# The propagation of infinities in a transform of many numbers, and whether zeros of the padding are
# multiplied with infinities and NaN, depends on the batch size.
FINITE_ONLY = ("mx.fft.", "conv")
SPECIALS = {
    "finite": [],
    "nan": [np.nan],
    "infinite": [np.inf],
    "both": [np.nan, np.inf, -np.inf, 0.0, -0.0],
}
LINALG_ERROR = mx.LinAlgError


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def stacks(row, dtype, specials, name, axis):
    """Three samples of each input along an axis; inputs with a dtype of their own are shared."""
    inputs, axes = [], []
    for n, spec in enumerate(row.ins):
        if n not in row.differentiable():
            inputs.append(host_input(spec, dtype, f"{row.name}{n}"))
            axes.append(None)
            continue
        samples = [host_input(spec, dtype, f"{row.name}{n}{s}") for s in range(3)]
        if specials:
            samples = [
                strewn(v, dtype, f"{row.name}{n}{name}{s}", specials) for s, v in enumerate(samples)
            ]
        at = axis if axis <= samples[0].ndim else samples[0].ndim
        inputs.append(np.stack(samples, at))
        axes.append(at)
    return inputs, axes


def compare(row, call, inputs, axes, dtype):
    """Results that differ between vmap and a loop."""
    arrays = [device_array(i) for i in inputs]
    mapped = mx.vmap(lambda *a: tuple(flat(call(*a))), in_axes=tuple(axes))
    each = []
    for s in range(3):
        one = [
            device_array(i if x is None else np.take(i, s, x))
            for i, x in zip(inputs, axes, strict=True)
        ]
        try:
            each.append([host(o)[0] for o in flat(call(*one))])
        except LINALG_ERROR:
            with pytest.raises(LINALG_ERROR):
                mx.eval(mapped(*arrays))
            return
    got = flat(mapped(*arrays))
    eps = 1e-5 if dtype != "float16" else 5e-3
    for n, g in enumerate(got):
        want, have = np.stack([e[n] for e in each]), host(g)[0]
        scale = np.max(np.abs(want), initial=1, where=np.isfinite(want)) if row.norm else 1
        if have.shape != want.shape or not np.allclose(
            have, want, eps, eps * scale, equal_nan=True
        ):
            have, want = (f"{v.shape} {v.ravel()[:6]}" for v in (have, want))
            yield f"output {n}: {have}, loop {want}"


def check(row):
    for dtype in [d for d in ("float32", "float16") if d in row.dtypes and d in FLOATS]:
        for name, specials in SPECIALS.items():
            if specials and any(part in row.expr for part in FINITE_ONLY):
                continue
            for axis in (0, 1, 2):
                if not cases.chosen(f"vmap special {row.name} {dtype} {name} {axis}", 0.15):
                    continue
                inputs, axes = stacks(row, dtype, specials, name, axis)
                if all(a is None for a in axes):
                    return
                for message in compare(row, row.call, inputs, axes, dtype):
                    yield f"{dtype} {name} axes {axes}: {message}"


@pytest.mark.parametrize("family", cases.names())
def test_vmap_of_special_values(family):
    cases.run_rows(family, check, lambda row: row.batched and row.special)


def check_few_axes(row):
    """The row on inputs of one axis and of none, where it takes these."""
    for shape in ((), (4,), (1,)):
        ins = tuple(
            In(shape, s.lo, s.hi, s.dtype) if isinstance(s, In) and s.dtype is None else s
            for s in row.ins
        )
        small = type(row)(row.expr, ins, row.ref, row.dtypes, norm=row.norm)
        dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
        inputs, axes = stacks(small, dtype, [], "few", 0)
        if all(a is None for a in axes):
            return
        try:
            one = [
                device_array(i if x is None else np.take(i, 0, x))
                for i, x in zip(inputs, axes, strict=True)
            ]
            mx.eval(flat(small.call(*one)))
        except (ValueError, TypeError, IndexError):
            continue  # the op refuses such inputs, mapped or not
        for message in compare(small, small.call, inputs, axes, dtype):
            yield f"shape {shape}: {message}"


@pytest.mark.parametrize("family", cases.names())
def test_vmap_of_few_axes(family):
    cases.run_rows(family, check_few_axes, lambda row: row.batched)


@pytest.mark.parametrize("n", [1, 2, 4, 12])
def test_hadamard_of_numbers_and_rows(n):
    x = mx.random.normal((n, 4), key=mx.random.key(1))
    for v in (x, x[:, 0]):
        for scale in (None, 0.5):
            for axis in range(v.ndim):

                def f(a, s=scale):
                    return mx.hadamard_transform(a, s)

                got = mx.vmap(f, in_axes=axis)(v)
                want = mx.stack([f(mx.take(v, k, axis)) for k in range(v.shape[axis])])
                assert mx.allclose(got, want).item()


SEGMENTS = {
    "apart": [[0, 2], [4, 6]],
    "empty": [[3, 3], [5, 2]],
    "negative": [[-4, -1], [0, -2]],
    "whole": [[0, 8], [0, -1]],
    "nested": [[[0, 3]], [[3, 8]]],
}


@pytest.mark.parametrize("segments", SEGMENTS)
@pytest.mark.parametrize("mapped", [(0, None, None), (None, 0, None), (0, 0, None), (1, 2, None),
                                    (None, None, 0), (0, None, 0), (0, 0, 0)])  # fmt: skip
def test_segmented_mm_reads_its_segments_only(segments, mapped):
    rng = np.random.RandomState(2)
    a, b = rng.randn(3, 5, 8).astype("f"), rng.randn(3, 8, 4).astype("f")
    a[..., 3], b[..., 6, :] = np.inf, np.nan
    s = np.stack([np.array(SEGMENTS[segments])] * 3)
    inputs = [
        v[0] if m is None else np.moveaxis(v, 0, m) for v, m in zip((a, b, s), mapped, strict=True)
    ]
    arrays = [mx.array(v, mx.int32 if v.dtype.kind == "i" else mx.float32) for v in inputs]
    got = mx.vmap(mx.segmented_mm, in_axes=mapped)(*arrays)
    each = [
        mx.segmented_mm(
            *[v if m is None else mx.take(v, k, m) for v, m in zip(arrays, mapped, strict=True)]
        )
        for k in range(3)
    ]
    assert mx.allclose(got, mx.stack(each), equal_nan=True).item()


def test_derivatives_of_segmented_mm_count_negative_ends_from_behind():
    rng = np.random.RandomState(3)
    a, b = mx.array(rng.randn(5, 8)), mx.array(rng.randn(8, 4))
    negative, positive = mx.array([[-9, -5], [3, -1]]), mx.array([[0, 4], [3, 8]])

    def grads(segments):
        return mx.grad(lambda a, b: (mx.segmented_mm(a, b, segments) ** 2).sum(), (0, 1))(a, b)

    for x, y in zip(grads(negative), grads(positive), strict=True):
        assert mx.allclose(x, y).item()
