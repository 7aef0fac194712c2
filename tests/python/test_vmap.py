"""vmap of every row against a loop over the mapped axis."""

import cases
import numpy as np
import pytest
from cases.table import device_array, host, host_input

import mlx.core as mx


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def check(row):
    positions = row.differentiable()
    variants = [([0] * len(row.ins), 0), ([-1] * len(row.ins), -1)]
    if len(row.ins) > 1:
        variants += [([0] + [None] * (len(row.ins) - 1), 0), ([None] + [1] * (len(row.ins) - 1), 0)]
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    for axes, out_axis in variants:
        if not cases.chosen(f"vmap {row.name} {axes}", 0.6):
            continue
        axes = [a if n in positions else None for n, a in enumerate(axes)]
        if all(a is None for a in axes):
            continue
        inputs = []
        for n, spec in enumerate(row.ins):
            samples = [
                host_input(spec, dtype, f"{row.name}{n}{s if axes[n] is not None else 0}")
                for s in range(3)
            ]
            axis = axes[n] if axes[n] is None or abs(axes[n]) <= samples[0].ndim else 0
            axes[n] = axis
            inputs.append(samples[0] if axis is None else np.stack(samples, axis))
        arrays = [device_array(i) for i in inputs]
        got = flat(
            mx.vmap(lambda *a: tuple(flat(row.call(*a))), in_axes=tuple(axes), out_axes=out_axis)(
                *arrays
            )
        )
        each = [
            [
                host(o)[0]
                for o in flat(
                    row.call(
                        *[
                            device_array(i if x is None else np.take(i, s, x))
                            for i, x in zip(inputs, axes, strict=True)
                        ]
                    )
                )
            ]
            for s in range(3)
        ]
        for n, g in enumerate(got):
            want = np.stack([e[n] for e in each], out_axis)
            have = host(g)[0]
            scale = np.max(np.abs(want), initial=1, where=np.isfinite(want)) if row.norm else 1
            close = have.shape == want.shape and np.allclose(
                have, want, 1e-5, 1e-6 * scale, equal_nan=True
            )
            if not close:
                have, want = (f"{v.shape} {v.ravel()[:4]}" for v in (have, want))
                yield f"in_axes {axes}, output {n}: {have}, loop {want}"


@pytest.mark.parametrize("family", cases.names())
def test_vmap(family):
    cases.run_rows(family, check, lambda row: row.batched)
