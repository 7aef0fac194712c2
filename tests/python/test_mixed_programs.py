"""Random graphs of many dtypes, whose values have several readers and are read through views:
evaluated at once, compiled, mapped and in derivatives, they have the bits that each op gives
alone."""

import mixed_graphs
import numpy as np
import pytest
import second_backend
from cases import selection
from mixed_graphs import bits

import mlx.core as mx

PARTS = 8


def seeds_of(part, most, all_of_them, few):
    """The graphs of a part: others each day, and few where a graph's kernels are compiled."""
    count = all_of_them if selection.EVERYTHING else most
    if mx.default_device() != mx.cpu and second_backend.in_use() not in ("fake", "fake-unified"):
        count = few
    first = (selection.SEED * PARTS + part) * 1000
    return range(first, first + count)


def compiled(f, inputs):
    """The results of a compiled function, as a list."""
    return list(mx.compile(lambda *given: tuple(f(*given)))(*inputs))


@pytest.mark.parametrize("part", range(PARTS))
def test_at_once_and_compiled(part):
    """The bits of the same ops, each evaluated before its value is read."""
    for seed in seeds_of(part, 80, 1000, 3):
        inputs = mixed_graphs.inputs_of(seed)
        expected = bits(mixed_graphs.run(seed, inputs, alone=True))
        at_once = mixed_graphs.run(seed, inputs)
        mx.eval(at_once)
        assert bits(at_once) == expected, seed
        made = compiled(lambda *given, seed=seed: mixed_graphs.run(seed, given), inputs)
        assert bits(made) == expected, seed


@pytest.mark.parametrize("part", range(PARTS))
def test_on_several_streams(part):
    """Ops on two streams of the CPU and two of the default device, some values started early."""
    streams = [mx.new_stream(d) for d in (mx.cpu, mx.cpu, mx.default_device(), mx.default_device())]
    for seed in seeds_of(part, 25, 300, 2):
        inputs = mixed_graphs.inputs_of(seed)
        expected = bits(mixed_graphs.run(seed, inputs, True, streams))
        results = mixed_graphs.run(seed, inputs, False, streams)
        mx.async_eval(results[1])
        assert bits(results) == expected, seed


@pytest.mark.parametrize("part", range(PARTS))
def test_derivatives(part):
    """Of all inputs together, compiled, and of one input at a time: the same bits."""
    for seed in seeds_of(part, 15, 300, 1):
        inputs = mixed_graphs.inputs_of(seed)
        wanted = [k for k, a in enumerate(inputs) if mixed_graphs.is_inexact(a)]

        def loss(*given, seed=seed):
            found = [a for a in mixed_graphs.run(seed, given) if mixed_graphs.is_inexact(a)]
            return sum((mx.sum(mx.real(a).astype(mx.float32)) for a in found), mx.array(0.0))

        def gradients(*given, loss=loss, wanted=wanted):
            found = mx.grad(loss, argnums=wanted)(*given)
            return found if len(wanted) > 1 else [found]

        if not wanted:
            continue
        together = bits(gradients(*inputs))
        assert bits(compiled(gradients, inputs)) == together, seed
        single = [mx.grad(loss, argnums=k)(*inputs) for k in wanted]
        assert bits(single) == together, seed


@pytest.mark.parametrize("part", range(PARTS))
def test_mapped(part):
    """A graph mapped over three sets of inputs has the bits of three graphs."""
    for seed in seeds_of(part, 15, 300, 1):
        inputs = mixed_graphs.inputs_of(seed)
        sets = [[a, a[::-1] if a.ndim else a, a + a] for a in inputs]
        batches = [mx.stack(same) for same in sets]
        each = [mixed_graphs.run(seed, [b[k] for b in batches]) for k in range(3)]
        expected = [mx.stack(list(same)) for same in zip(*each, strict=True)]
        mapped = mx.vmap(lambda *given, seed=seed: tuple(mixed_graphs.run(seed, given)))(*batches)
        assert bits(mapped) == bits(expected), seed


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
