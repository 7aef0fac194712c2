"""A thread computes with arrays that another thread's streams made, and with data."""

import concurrent.futures

import cases
import numpy as np
import pytest
from cases.table import device_array

import mlx.core as mx


def in_a_thread(work):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor.submit(work).result()


class Subject:
    """A row's function, with its inputs computed by a stream of this thread."""

    def __init__(self, row, dtype, computed):
        self.row = row
        self.inputs = [device_array(i) for i in row.host_inputs(dtype)]
        if computed:
            self.inputs = [mx.stop_gradient(a) + 0 for a in self.inputs]
            mx.eval(self.inputs)
        self.positions = [
            n for n in row.differentiable() if mx.issubdtype(self.inputs[n].dtype, mx.inexact)
        ]

    def call(self, *xs):
        inputs = list(self.inputs)
        for n, x in zip(self.positions, xs, strict=False):
            inputs[n] = x
        out = self.row.call(*inputs)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def inexact(self, *xs):
        return [o for o in self.call(*xs) if mx.issubdtype(o.dtype, mx.inexact)]


def vmap_one(s):
    """The first input is mapped, the others are captured."""
    x = s.inputs[s.positions[0]]
    return mx.vmap(lambda x: tuple(s.call(x)))(mx.stack([x, x]))


def vjp(s):
    xs = [s.inputs[n] for n in s.positions]
    return mx.vjp(s.inexact, xs, [mx.ones_like(o) for o in s.inexact(*xs)])[1]


def jvp(s):
    xs = [s.inputs[n] for n in s.positions]
    return mx.jvp(s.inexact, xs, [mx.ones_like(x) for x in xs])[1]


def compiled(s):
    return mx.compile(lambda *xs: s.call(*xs))(*[s.inputs[n] for n in s.positions])


def run_in_a_thread(row):
    if "float32" not in row.dtypes:
        return
    for computed in (False, True):
        s = Subject(row, "float32", computed)
        if not s.positions:
            continue
        works = [vmap_one] if row.batched else []
        if row.kind != "flat":
            works += [vjp, jvp] if s.inexact(*[s.inputs[n] for n in s.positions]) else []
        works += [compiled] if row.traced else []
        for work in works:
            if not cases.chosen(f"threads {row.name} {computed} {work.__name__}", 0.4):
                continue
            try:
                in_a_thread(lambda work=work, s=s: mx.eval(work(s)))
            except RuntimeError as error:
                yield f"{work.__name__} of {'results' if computed else 'data'}: {error}"


@pytest.mark.parametrize("family", cases.names())
def test_transformations_of_arrays_of_another_thread(family):
    cases.run_rows(family, run_in_a_thread)


def arrays(kind):
    """A scalar, a vector and indices: data, values that this thread computed, or lazy ones."""
    x, v, i = mx.array(2.0), mx.array([1.0, 3.0]), mx.array([0, 1])
    if kind != "data":
        x, v, i = x * 1, v * 1, i + 0
    if kind == "computed":
        mx.eval(x, v, i)
    return x, v, i


PROGRAMS = {
    "vmap of a captured result": lambda x, v, i: mx.vmap(lambda a: x)(v),
    "vjp of a captured result": lambda x, v, i: mx.vjp(lambda a: x, [v], [x])[1][0],
    "jvp of a captured result": lambda x, v, i: mx.jvp(lambda a: x, [v], [v])[1][0],
    "vmap of jvp": lambda x, v, i: mx.vmap(lambda a: mx.jvp(lambda b: x, [a], [a])[1][0])(v),
    "vmap of a custom function": lambda x, v, i: mx.vmap(mx.custom_function(lambda a: x))(v),
    "mapped and captured indices": lambda x, v, i: mx.vmap(lambda k: mx.outer(v, v)[k, i])(i),
    "scatter at both": lambda x, v, i: mx.vmap(lambda a, k: a.at[k, i].add(1.0), in_axes=(None, 0))(
        mx.outer(v, v), i
    ),
    "grad of an unused input": lambda x, v, i: mx.grad(lambda a, b: a * 1, argnums=1)(x, v),
    "a result that is an input": lambda x, v, i: mx.compile(lambda a: (x, a))(v)[0],
}


@pytest.mark.parametrize("kind", ["data", "computed", "lazy"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_captured_arrays_of_another_thread(program, kind):
    f, inputs = PROGRAMS[program], arrays(kind)
    got = in_a_thread(lambda: np.array(f(*inputs)))
    np.testing.assert_array_equal(got, np.array(f(*inputs)))


def test_threads_share_traces():
    """A function that one thread traced is differentiated, mapped and called by another."""
    f = mx.compile(lambda a: mx.sin(a) * 2)
    v = mx.array([1.0, 3.0])
    want = [f(v), mx.grad(lambda a: f(a).sum())(v), mx.vmap(f)(v)]
    mx.eval(want)
    got = in_a_thread(lambda: [f(v) + 0, mx.grad(lambda a: f(a).sum())(v), mx.vmap(f)(v)])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(np.array(a), np.array(b))


def test_data_is_on_the_default_device():
    assert mx.array([1.0]).device == mx.default_device()
    with mx.stream(mx.cpu):
        assert mx.array([1.0]).device == mx.cpu
        assert (mx.array([1.0]) + 1).device == mx.cpu
