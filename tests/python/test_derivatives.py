"""vjp and jvp of every row against central differences in double precision, twice."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host

import mlx.core as mx


def complex_valued(array):
    """Whether an array holds complex numbers."""
    return mx.issubdtype(array.dtype, mx.complexfloating)


def flat_outputs(row, fixed, positions):
    """The row as a function of its differentiable inputs to a list of real arrays."""

    def function(*moving):
        args = list(fixed)
        for position, value in zip(positions, moving, strict=True):
            args[position] = value
        out = row.call(*args)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        parts = [[mx.real(o), mx.imag(o)] if complex_valued(o) else [o] for o in out]
        return [p for part in parts for p in part if mx.issubdtype(p.dtype, mx.floating)]

    return function


def inner(a, b):
    """The inner product of two lists of NumPy arrays."""
    return sum(float(np.sum(p.astype(float) * q.astype(float))) for p, q in zip(a, b, strict=True))


def far(got, want, tolerance):
    """Whether lists of arrays differ by more than a tolerance relative to their size."""
    for g, w in zip(got, want, strict=True):
        scale = 1.0 + (np.max(np.abs(w)) if w.size else 0.0)
        if g.shape != w.shape or (w.size and not np.max(np.abs(g - w)) <= tolerance * scale):
            return True
    return False


def differences(function, points, directions, step):
    """Central difference of a function in a direction."""
    ahead, back = (
        host(
            function(
                *[
                    device_array((p + s * step * d).astype(p.dtype))
                    for p, d in zip(points, directions, strict=True)
                ]
            )
        )
        for s in (1, -1)
    )
    return [
        (a.astype(float) - b.astype(float)) / (2 * step) for a, b in zip(ahead, back, strict=True)
    ]


def check(row):
    double = row.grad_dtype == "float64"
    step, tolerance = (1e-6, 1e-6) if double else (0.5, 1e-4)
    positions = row.differentiable()
    inputs = row.host_inputs(row.grad_dtype)
    with mx.stream(mx.cpu):
        function = flat_outputs(row, [device_array(i) for i in inputs], positions)
        points = [inputs[p] for p in positions]
        rng = np.random.RandomState(1)
        tangents = [rng.uniform(-1, 1, p.shape).astype(p.dtype) for p in points]
        primals = [device_array(p) for p in points]
        outputs = function(*primals)
        if not outputs:
            return
        cotangents = [rng.uniform(-1, 1, o.shape).astype(host(o)[0].dtype) for o in outputs]
        want = differences(function, points, tangents, step)
        given = [device_array(c) for c in cotangents]
        _, pulled = mx.vjp(function, primals, given)
        pulled = host(pulled)
        one, other = inner(pulled, tangents), inner(cotangents, want)
        if not abs(one - other) <= tolerance * 10 * (1 + abs(other)):
            yield f"vjp {one}, differences {other}"
        if [p.shape for p in pulled] != [p.shape for p in points]:
            yield f"vjp has shapes {[p.shape for p in pulled]}"
        _, pushed = mx.jvp(function, primals, [device_array(t) for t in tangents])
        if far(host(pushed), want, tolerance):
            yield f"jvp {host(pushed)[0].ravel()[:4]}, differences {want[0].ravel()[:4]}"
        if row.kind == "smooth" and double and cases.chosen("second " + row.name, 0.5):
            backward = lambda *p: mx.vjp(function, list(p), given)[1]  # noqa: E731
            second = differences(backward, points, tangents, step)
            back = [rng.uniform(-1, 1, p.shape) for p in points]
            _, twice = mx.vjp(backward, primals, [device_array(b) for b in back])
            one, other = inner(host(twice), tangents), inner(back, second)
            if not abs(one - other) <= 1e-4 * (1 + abs(other)):
                yield f"vjp of vjp {one}, differences {other}"


@pytest.mark.parametrize("family", cases.names())
def test_derivatives(family):
    cases.run_rows(family, check, lambda row: row.kind != "flat")
