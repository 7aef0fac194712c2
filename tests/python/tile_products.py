"""Products of bfloat16 in the arithmetic that MLX_CPU_ISA selects, as a separate program.

Prints how many results differ from exact ones, then digests of results of random numbers. Products
of small integers are exact in every order of additions: they test packing, blocking and edges.
"""

import hashlib
import itertools
import sys

import numpy as np

import mlx.core as mx

SIZES = [
    (1, 1, 1),
    (2, 3, 1),
    (5, 31, 33),
    (31, 1, 64),
    (17, 40, 2100),
    (33, 70, 45),
    (48, 260, 1100),
    (64, 64, 64),
    (257, 129, 100),
]
FLAT = [(16, 1024, 1060), (32, 1030, 1056)]  # few rows by a large matrix
MODES = [
    ("affine", 64, 2),
    ("affine", 32, 3),
    ("affine", 64, 4),
    ("affine", 64, 8),
    ("mxfp4", 32, 4),
    ("nvfp4", 16, 4),
    ("mxfp8", 32, 8),
]
rng = np.random.default_rng(7)


def integers(*shape):
    return mx.array(rng.integers(-4, 5, shape).astype(np.float32)).astype(mx.bfloat16)


def normal(*shape):
    return mx.array(rng.standard_normal(shape).astype(np.float32)).astype(mx.bfloat16)


def exact(x):
    return np.array(x.astype(mx.float32)).astype(np.float64)


def rounded(x):
    return exact(mx.array(x.astype(np.float32)).astype(mx.bfloat16))


def layouts(rows, columns):
    """A matrix of integers in each layout that a product may meet."""
    yield integers(rows, columns)
    yield integers(columns, rows).T
    yield integers(2 * rows, columns)[::2]
    yield integers(rows, columns)[:, ::-1]
    yield mx.broadcast_to(integers(1, columns), (rows, columns))


def differences():
    """Results that are not the exact ones."""
    for m, n, k in SIZES:
        for a, b in itertools.product(layouts(m, k), layouts(k, n)):
            product = exact(a) @ exact(b)
            yield (exact(a @ b) != rounded(product)).sum()
            got = mx.addmm(integers(1, n), a, b, 2.0, 0.0)
            yield (exact(got) != rounded(2 * product)).sum()
    for m, n, k in FLAT:
        a, b = integers(m, k), integers(k, n)
        yield (exact(a @ b) != rounded(exact(a) @ exact(b))).sum()
    a, b = integers(3, 5, 40, 33), integers(5, 33, 20)
    yield (exact(a @ b) != rounded(exact(a) @ exact(b))).sum()


def digests():
    """Digests of results of random numbers: of every scale, packed matrices and attention."""
    results = []
    for (m, n, k), scale in itertools.product(SIZES, (1, 1e-19, 1e18)):
        results.append((normal(m, k) * mx.array(scale, mx.bfloat16)) @ normal(n, k).T)
    results += [normal(m, k) @ normal(k, n) for m, n, k in FLAT]
    for mode, group, bits in MODES:
        packed = mx.quantize(normal(96, 192), group_size=group, bits=bits, mode=mode)
        for transpose, width in ((True, 192), (False, 96)):
            results.append(
                mx.quantized_matmul(
                    normal(40, width),
                    *packed,
                    transpose=transpose,
                    group_size=group,
                    bits=bits,
                    mode=mode,
                )
            )
    q, k, v = (normal(2, 4, 130, 64) for _ in range(3))
    for mask in (None, "causal"):
        results.append(mx.fast.scaled_dot_product_attention(q, k, v, scale=0.125, mask=mask))
    for x in results:
        yield hashlib.sha256(np.array(x.view(mx.uint16)).tobytes()).hexdigest()[:12]


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    mx.set_num_threads(int(sys.argv[1]))
    print(mx.device_info(mx.cpu)["matrix_unit"])
    print(sum(int(n) for n in differences()))
    print(*digests())
