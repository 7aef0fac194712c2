"""vmap never unrolls: a longer batch makes a graph with as many nodes."""

import io

import cases
import pytest
from cases.table import device_array

import mlx.core as mx


def nodes_of(outputs):
    """How many ops the graph of the arrays has."""
    text = io.StringIO()
    mx.export_to_dot(text, *outputs)
    return text.getvalue().count("shape=rectangle")


def mapped_nodes(row, length):
    positions = row.differentiable()
    inputs = [device_array(i) for i in row.host_inputs(row.dtypes[0])]
    mx.eval(inputs)
    axes = tuple(0 if n in positions else None for n in range(len(inputs)))
    stacked = [
        mx.contiguous(mx.broadcast_to(i, (length, *i.shape))) if axis == 0 else i
        for i, axis in zip(inputs, axes, strict=True)
    ]
    mx.eval(stacked)
    result = mx.vmap(lambda *a: row.call(*a), in_axes=axes)(*stacked)
    return nodes_of(result if isinstance(result, (list, tuple)) else [result])


def check(row):
    if not row.differentiable() or not cases.chosen(f"nodes {row.name}", 0.2):
        return
    few, many = mapped_nodes(row, 2), mapped_nodes(row, 33)
    if few != many:
        yield f"{few} ops for a batch of 2, {many} for one of 33"


@pytest.mark.parametrize("family", cases.names())
def test_rows(family):
    cases.run_rows(family, check, lambda row: row.batched)


def test_a_batch_of_4096():
    def f(x):
        return mx.softmax(mx.sin(x) @ mx.ones((3, 3)))[::-1].sum()

    counts = {nodes_of([mx.vmap(f)(mx.zeros((n, 3, 3)))]) for n in (2, 4096)}
    assert len(counts) == 1 and counts.pop() > 4
