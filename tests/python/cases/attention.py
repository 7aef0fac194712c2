"""Rotary embeddings, attention in blocks, the delta rule, alignments, Hadamard transforms."""

import itertools

import numpy as np

from cases.table import FLOATS, In, Row

U = (-1, 1)


def rope(a, dims, offset, traditional=False, freqs=None):
    """Reference of mx.fast.rope with base 100."""
    half = dims // 2
    rate = 100.0 ** (-np.arange(half) / half) if freqs is None else 1 / freqs
    start = np.reshape(offset, (-1,) + (1,) * (a.ndim - 2))
    angle = (np.arange(a.shape[-2]) + start)[..., None] * rate
    cos, sin = np.cos(angle), np.sin(angle)
    first = np.s_[..., :dims:2] if traditional else np.s_[..., :half]
    second = np.s_[..., 1:dims:2] if traditional else np.s_[..., half:dims]
    out = np.array(a)
    out[first] = a[first] * cos - a[second] * sin
    out[second] = a[first] * sin + a[second] * cos
    return out


def attention(q, k, v, mask=None, causal=False, sinks=None):
    """Reference of mx.fast.scaled_dot_product_attention with scale 0.5."""
    shared = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
    s = 0.5 * q @ np.swapaxes(k, -1, -2)
    if causal:
        mask = np.tril(np.ones(s.shape[-2:], bool), s.shape[-1] - s.shape[-2])
    if mask is not None:
        s = np.where(mask, s, -1e300) if mask.dtype == bool else s + mask
    if sinks is not None:
        s = np.concatenate([np.broadcast_to(sinks[None, :, None, None], (*s.shape[:-1], 1)), s], -1)
    w = np.exp(s - s.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    return (w if sinks is None else w[..., 1:]) @ v


def delta(q, k, v, g, b, state):
    """Reference of mx.fast.gated_delta_update."""
    shared, ys = v.shape[2] // q.shape[2], []
    q, k = np.repeat(q, shared, 2), np.repeat(k, shared, 2)
    for t in range(q.shape[1]):
        state = state * g[:, t, :, None, None]
        found = (state * k[:, t, :, None]).sum(-1)
        state = state + ((v[:, t] - found) * b[:, t, :, None])[..., None] * k[:, t, :, None]
        ys.append((state * q[:, t, :, None]).sum(-1))
    return np.stack(ys, 1), state


def ctc(x, targets, steps, lengths, blank=0):
    """Reference of mx.fast.ctc_loss, by all sequences of classes."""
    out = np.full(len(x), np.inf)
    for i, taken in enumerate(steps):
        target, logs = list(targets[i, : lengths[i]]), [-np.inf]
        for path in itertools.product(range(x.shape[2]), repeat=taken):
            if [c for c, _ in itertools.groupby(path) if c != blank] == target:
                logs.append(sum(x[i, t, c] for t, c in enumerate(path)))
        out[i] = -np.logaddexp.reduce(logs)
    return out


def hadamard(a):
    """Reference of mx.hadamard_transform for powers of two."""
    h = np.ones((1, 1))
    while len(h) < a.shape[-1]:
        h = np.block([[h, h], [h, -h]])
    return a @ h / np.sqrt(a.shape[-1])


class Reference(Row):
    """A row whose reference is a function of this module."""

    @property
    def reference(self):
        """The function that `ref` names."""
        return eval(f"lambda {', '.join('abcdef'[: len(self.ins)])}: {self.ref}", globals())


def row(expr, shapes, ref, **more):
    """A row in all floating dtypes, relative to the largest output."""
    ins = tuple(In(s, *U) if isinstance(s, tuple) else s for s in shapes)
    return Reference(expr, ins, ref, **{"ulps": 64, "exact": False, "dtypes": FLOATS, **more})


ROPE = "mx.fast.rope(a, {d}, traditional={t}, base=100.0, scale=1.0, offset={o})"
SDPA = "mx.fast.scaled_dot_product_attention(a, b, c, scale=0.5{k})"
SMALL = ((2, 4, 5, 8), (2, 2, 6, 8), (2, 2, 6, 3))
LARGE = ((1, 2, 130, 16), (1, 1, 300, 16), (1, 1, 300, 24))
FEW = ((1, 6, 1, 16), (1, 2, 1100, 16), (1, 2, 1100, 24))
RNG = np.random.RandomState(0)

ROWS = [
    *[
        row(ROPE.format(d=d, t=t, o=o), (s,), f"rope(a, {d}, {o.replace('mx', 'np')}, {t})")
        for d in (4, 10)
        for t in (False, True)
        for s, o in [((2, 3, 10), "7"), ((2, 3, 5, 10), "-2"), ((2, 3, 5, 10), "mx.array([3, 40])")]
    ],
    row(
        "mx.fast.rope(a, 8, traditional=False, base=None, scale=1.0, offset=3, freqs=b)",
        ((2, 3, 5, 8), In((4,), 1, 9)),
        "rope(a, 8, 3, freqs=b)",
    ),
    *[
        row(SDPA.format(k=k), s, f"attention(a, b, c{r})", ulps=200)
        for s in (SMALL, LARGE, FEW)
        for k, r in [("", ""), (", mask='causal'", ", causal=True")]
    ],
    *[
        row(
            SDPA.format(k=", mask=d, sinks=e"),
            (*s, m, In((s[0][1],), *U)),
            "attention(a, b, c, d, sinks=e)",
            ulps=200,
        )
        for s in (SMALL, LARGE, FEW)
        for m in (
            RNG.rand(s[0][2], s[1][2]) > 0.4,
            In((1, s[0][1], 1, s[1][2]), *U),
            In((s[0][0], 1, s[0][2], 1), *U),
        )
    ],
    row(
        "mx.fast.gated_delta_update(a, b, c, d, e, f)",
        ((1, 4, 2, 20), (1, 4, 2, 20), (1, 4, 4, 3), (1, 4, 4), (1, 4, 4), (1, 4, 3, 20)),
        "delta(a, b, c, d, e, f)",
        dtypes=("float32", "float64"),
    ),
    *[
        row(
            f"mx.fast.ctc_loss(a, mx.array({targets}), mx.array({steps}), mx.array({lengths}), "
            f"blank={blank})",
            ((len(steps), max(steps), 3),),
            f"ctc(a, np.array({targets}).reshape({len(steps)}, -1), {steps}, {lengths}, {blank})",
            ulps=8,
        )
        for targets, steps, lengths, blank in (
            ([[1, 2], [2, 2], [1, 0]], [5, 4, 3], [2, 2, 1], 0),
            ([[0, 1, 1], [1, 0, 1]], [6, 5], [3, 0], 2),
            ([[1, 0, 1, 0]], [5], [4], 2),
            ([[1]], [1], [1], 0),
        )
    ],
    *[row("mx.hadamard_transform(a)", ((3, n),), "hadamard(a)") for n in (1, 2, 16, 128)],
    # rows of the transform of the identity are orthogonal
    *[
        row(
            f"mx.hadamard_transform(mx.hadamard_transform(mx.eye({n}, dtype=a.dtype)).T) * a",
            ((n, n),),
            f"np.eye({n}) * a",
        )
        for n in (12, 20, 28, 40)
    ],
]
