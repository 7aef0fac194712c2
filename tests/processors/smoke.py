"""The package on the processor this runs on: values of a few functions against exact ones.

`./dev test --processors` runs it on emulated processors. It uses nothing but the package; the
argument, if there is one, is the instruction set that must be in use.
"""

import math
import sys

import mlx.core as mx

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
COMPLEX = ["complex64", "complex128"]
FAULTS = []


def expect(what, got, want):
    """Note a difference; `got` is an array or a plain value."""
    got = got.tolist() if isinstance(got, mx.array) else got
    if got != want:
        FAULTS.append(f"{what}: {got}, expected {want}")


def near(what, got, want, error):
    """Note a difference larger than `error`, relative to 1."""
    for g, w in zip(got.tolist(), want, strict=True):
        if not abs(g - w) <= error * max(1, abs(w)):
            FAULTS.append(f"{what}: {g}, expected {w}")


def arithmetic():
    """Small whole numbers, which every dtype holds; 37 elements leave a tail on every register."""
    for name in [*INTEGERS, *FLOATS, *COMPLEX]:
        x = mx.arange(37).astype(getattr(mx, name))
        values = list(range(37))
        expect(f"add {name}", x + x, [2 * v for v in values])
        expect(f"fused {name}", (x + 1) * 2 - x, [v + 2 for v in values])
        expect(f"where {name}", mx.where(x == 3, x * 0, x), [v * (v != 3) for v in values])
        expect(f"sum {name}", mx.sum(x[:16]).item(), 120)
        expect(f"sum of columns {name}", mx.sum(x[:36].reshape(9, 4), axis=0)[:1], [144])
        expect(f"cumsum {name}", mx.cumsum(x[:9]), [sum(values[: n + 1]) for n in range(9)])
    for name in [*INTEGERS, *FLOATS]:
        x = ((mx.arange(100) * 37) % 101).astype(getattr(mx, name))
        values = [n * 37 % 101 for n in range(100)]
        expect(f"sort {name}", mx.sort(x), sorted(values))
        expect(f"max {name}", mx.max(x).item(), max(values))
        expect(f"min {name}", mx.min(x).item(), min(values))
        expect(f"argmax {name}", mx.argmax(x).item(), values.index(max(values)))


def functions():
    """Functions of their own code for each instruction set."""
    points = [n / 8 - 3 for n in range(49)]
    for name, error in [("float32", 1e-6), ("float64", 1e-14), ("float16", 2e-3)]:
        x = mx.array(points, getattr(mx, name))
        for f in ["exp", "sin", "cos", "tanh", "erf", "sinh"]:
            near(f"{f} {name}", getattr(mx, f)(x), map(getattr(math, f), points), error)
        near(f"division by 7 {name}", x / 7, [p / 7 for p in points], error)
        powers = [math.exp(p) for p in points]
        near(f"softmax {name}", mx.softmax(x), [p / sum(powers) for p in powers], error)


def products():
    """Products of matrices, by this library's kernels and by the BLAS's."""
    for name in [*FLOATS, *COMPLEX]:
        for n in (3, 40):
            a = (mx.arange(n * n) % 5).reshape(n, n).astype(getattr(mx, name))
            entries = [[(i * n + j) % 5 for j in range(n)] for i in range(n)]
            want = [sum(v * entries[k][1] for k, v in enumerate(row)) for row in entries]
            expect(f"matmul {name} {n}", (a @ a)[:, 1], want)
    a = mx.array([[4.0, 1.0], [2.0, 3.0]])
    near("inverse", mx.linalg.inv(a).flatten(), [0.3, -0.1, -0.2, 0.4], 1e-6)
    near("eigenvalues", mx.linalg.eigvalsh(a @ a.T), [15 - 125**0.5, 15 + 125**0.5], 1e-5)
    wave = mx.fft.fft(mx.array([1.0, 2.0, 3.0, 4.0]))
    near("fft", mx.real(wave), [10, -2, -2, -2], 1e-6)


def randomness():
    """The generator gives the same on every processor."""
    key = mx.random.key(7)
    expect("uniform", mx.random.uniform(shape=(3,), key=key), UNIFORM)
    expect("randint", mx.random.randint(0, 1000, (4,), key=key), [224, 230, 453, 246])
    x = mx.random.normal((1000,), key=mx.random.key(1))
    near("mean of normals", mx.mean(x, keepdims=True), [0], 0.1)
    near("variance of normals", mx.var(x, keepdims=True), [1], 0.1)


UNIFORM = [0.22498463094234467, 0.42616042494773865, 0.4536093473434448]

if __name__ == "__main__":
    arithmetic()
    functions()
    products()
    randomness()
    info = mx.device_info(mx.cpu)
    if len(sys.argv) > 1:
        expect("instruction set", info["architecture"], sys.argv[1])
    print(*FAULTS, sep="\n", end="\n" if FAULTS else "")
    print(f"{info['architecture']}: {len(FAULTS)} faults")
    sys.exit(bool(FAULTS))
