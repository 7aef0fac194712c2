"""Every row under every transformation, and each of these compiled outside and inside.

A combination is a transformation of the row's function, run as it is and with `compile` around it,
within it, and both. `compile` around it gives the bits of the plain one where nothing is rounded
in another order; within it, cotangents may be summed in another order.
"""

import cases
import numpy as np
import pytest
from cases.table import device_array, host

import mlx.core as mx

EPS = 2.0**-52


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def outputs_of(row):
    """The row's function with a tuple of results."""
    return lambda *inputs: tuple(flat(row.call(*inputs)))


def loss_of(f, others):
    """A scalar of the inputs with a derivative: a weighted sum of the inexact results."""

    def loss(*xs):
        total = mx.array(0.0, mx.float64)
        for k, o in enumerate(f(*others(xs))):
            if mx.issubdtype(o.dtype, mx.inexact):
                weights = mx.cos(mx.arange(o.size, dtype=mx.float64) + k).reshape(o.shape)
                total = total + (mx.real(o) * weights).sum()
        return total

    return loss


class Subject:
    """A row's inputs, of which the differentiable ones vary."""

    def __init__(self, row):
        self.row = row
        dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
        self.inputs = [device_array(i) for i in row.host_inputs(dtype)]
        self.positions = [
            n for n in row.differentiable() if mx.issubdtype(self.inputs[n].dtype, mx.inexact)
        ]
        self.varied = [self.inputs[n] for n in self.positions]

    def others(self, xs):
        """All inputs, with the varied ones replaced."""
        filled = list(self.inputs)
        for n, x in zip(self.positions, xs, strict=True):
            filled[n] = x
        return filled

    def stacked(self):
        return [mx.stack([x, x * 0.875]) for x in self.varied]


def plain(f, s):
    return f, s.inputs


def vmap(f, s):
    return mx.vmap(lambda *xs: f(*s.others(xs))), s.stacked()


def grad(f, s):
    return mx.grad(loss_of(f, s.others), argnums=list(range(len(s.varied)))), s.varied


def vjp(f, s):
    def run(*xs):
        ones = [mx.ones_like(o) for o in f(*s.others(xs))]
        return mx.vjp(lambda *xs: f(*s.others(xs)), list(xs), ones)[1]

    return run, s.varied


def jvp(f, s):
    def run(*xs):
        return mx.jvp(lambda *xs: f(*s.others(xs)), list(xs), [mx.ones_like(x) for x in xs])[1]

    return run, s.varied


def grad_of_grad(f, s):
    first = grad(f, s)[0]

    def inner(*xs):
        return sum((mx.real(g) * (k + 1.5)).sum() for k, g in enumerate(flat(first(*xs))))

    return mx.grad(inner, argnums=list(range(len(s.varied)))), s.varied


def vmap_of_grad(f, s):
    return mx.vmap(grad(f, s)[0]), s.stacked()


def grad_of_vmap(f, s):
    mapped = mx.vmap(lambda *xs: f(*s.others(xs)))
    return mx.grad(loss_of(mapped, lambda xs: xs), argnums=list(range(len(s.varied)))), s.stacked()


def grad_of_checkpoint(f, s):
    return grad(mx.checkpoint(f), s)


TRANSFORMATIONS = [
    plain,
    vmap,
    grad,
    vjp,
    jvp,
    grad_of_grad,
    vmap_of_grad,
    grad_of_vmap,
    grad_of_checkpoint,
]
NEEDS_DERIVATIVE = {grad, vjp, jvp, grad_of_grad, vmap_of_grad, grad_of_vmap, grad_of_checkpoint}
NEEDS_BATCH = {vmap, vmap_of_grad, grad_of_vmap}


def applies(transformation, row, subject):
    if transformation is plain:
        return True
    if not subject.varied or any(x.size == 0 for x in subject.inputs):
        return False
    if transformation in NEEDS_BATCH and not row.batched:
        return False
    if transformation is grad_of_grad:
        return row.kind == "smooth"
    return transformation not in NEEDS_DERIVATIVE or row.kind != "flat"


def combinations(transformation, row, subject):
    """(name, function, inputs), the plain one first."""
    f = outputs_of(row)
    run, inputs = transformation(f, subject)
    yield "plain", run, inputs
    yield "compiled", mx.compile(run), inputs
    yield "shapeless", mx.compile(run, shapeless=True), inputs
    yield "of compiled", transformation(mx.compile(f), subject)[0], inputs
    yield "compiled of compiled", mx.compile(transformation(mx.compile(f), subject)[0]), inputs
    if transformation in (plain, vmap, grad):
        yield "checkpointed", transformation(mx.checkpoint(f), subject)[0], inputs


def differs(got, want, exact):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, plain {want.dtype}{want.shape}"
    if np.array_equal(got, want, equal_nan=got.dtype.kind in "fc"):
        return None
    if exact or got.dtype.kind not in "fc":
        return f"{got.ravel()[:4]}, plain {want.ravel()[:4]}"
    eps = np.finfo(got.dtype).eps
    finite = want[np.isfinite(want)]
    scale = np.abs(finite).max() if finite.size else 1.0
    if np.allclose(got, want, rtol=0, atol=256 * eps * scale, equal_nan=True):
        return None
    return f"{got.ravel()[:4]}, plain {want.ravel()[:4]}"


def check(row):
    chosen = {
        t: [n for n in NAMES if cases.chosen(f"matrix {row.name} {t.__name__} {n}", 0.02)]
        for t in TRANSFORMATIONS
    }
    if not any(chosen.values()):
        return
    subject = Subject(row)
    for transformation, names in chosen.items():
        if not names or not applies(transformation, row, subject):
            continue
        want = None
        for name, run, inputs in combinations(transformation, row, subject):
            if name != "plain" and name not in names:
                continue
            got = host(flat(run(*inputs)))
            if name == "plain":
                want = got
                continue
            for n, (g, w) in enumerate(zip(got, want, strict=True)):
                if message := differs(g, w, name in EXACT):
                    yield f"{transformation.__name__} {name}, result {n}: {message}"


# Inside of a derivative a compiled function is simplified first, and cotangents add up in another
# order; otherwise compiling changes no bit.
EXACT = ["compiled", "shapeless"]
NAMES = ["compiled", "shapeless", "of compiled", "compiled of compiled", "checkpointed"]


@pytest.mark.parametrize("family", cases.names())
def test_matrix(family):
    cases.run_rows(family, check, lambda row: row.traced)
