"""Transformations of functions that switch to other stacks: they overlap without nesting."""

import os
import random

import greenlet
import pytest

import mlx.core as mx

pytestmark = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="greenlet copies whole stacks, which AddressSanitizer takes for an error",
)

# Transformations, and the result for x⁴ + x.
TRANSFORMS = {
    "grad": (mx.grad, lambda v: 4 * v**3 + 1),
    "second derivative": (lambda f: mx.grad(mx.grad(f)), lambda v: 12 * v**2),
    "value": (lambda f: lambda x: mx.value_and_grad(f)(x)[0], lambda v: v**4 + v),
    "jvp": (lambda f: lambda x: mx.jvp(f, [x], [mx.ones_like(x)])[1][0], lambda v: 4 * v**3 + 1),
    "compile": (mx.compile, lambda v: v**4 + v),
    "shapeless": (lambda f: mx.compile(f, shapeless=True), lambda v: v**4 + v),
    "grad of compile": (lambda f: mx.grad(mx.compile(f)), lambda v: 4 * v**3 + 1),
    "vmap": (lambda f: lambda x: mx.vmap(f)(x[None])[0], lambda v: v**4 + v),
    "checkpoint": (lambda f: mx.grad(mx.checkpoint(f)), lambda v: 4 * v**3 + 1),
}


@pytest.mark.parametrize("seed", range(30))
def test_overlapping_transformations(seed):
    """Each of six greenlets gets the result that it gets alone, whichever runs when."""
    chance, main, results = random.Random(seed), greenlet.getcurrent(), []

    def f(x):
        y = x * x
        main.switch()
        y = y * x + y.size
        main.switch()
        return y * x

    def work(name, value):
        transform, expected = TRANSFORMS[name]
        for _ in range(2):
            results.append((name, transform(f)(mx.array(value)).item(), expected(value)))

    names = [chance.choice(list(TRANSFORMS)) for _ in range(6)]
    running = [greenlet.greenlet(work) for _ in names]
    for i, (g, name) in enumerate(zip(running, names, strict=True)):
        g.switch(name, i + 1.0)
    while running:
        g = chance.choice(running)
        g.switch()
        running = [g for g in running if not g.dead]
    assert len(results) == 12
    assert [(n, v) for n, v, e in results if v != pytest.approx(e)] == []
    assert mx.compile(lambda x: x + 1)(mx.array(1.0)).item() == 2


def test_more_transformations_overlap_than_may_nest():
    """A chain of greenlets, of which two overlap at any time, goes on without end."""
    main = greenlet.getcurrent()

    def f(x):
        main.switch()
        return x * x

    before = greenlet.greenlet(lambda: mx.grad(f)(mx.array(3.0)).item())
    before.switch()
    for _ in range(600):
        now = greenlet.greenlet(lambda: mx.grad(f)(mx.array(3.0)).item())
        now.switch()
        assert before.switch() == 6
        before = now
    assert before.switch() == 6
