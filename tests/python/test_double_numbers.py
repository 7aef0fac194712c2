"""Python floats beside float64 arrays, or converted to them, keep 53 bits."""

import inspect
import itertools

import numpy as np
import pytest

import mlx.core as mx

D = mx.float64
X = 0.1  # not what float32 makes of it
A, M = np.array([0.3, 0.7]), np.array([[0.3, 0.7], [1.1, 2.2]])
Q = np.array([[0.5, -0.25], [1.5, 0.75]])


@pytest.fixture(autouse=True)
def on_the_cpu():
    """Double precision is there on every backend."""
    with mx.stream(mx.cpu):
        yield


def arrays():
    """Arrays of double precision for the cases below."""
    return {
        "mx": mx,
        "D": D,
        "a": mx.array(A, dtype=D),
        "m": mx.array(M, dtype=D),
        "q": mx.array(Q, dtype=D)[None, None],
        "i": mx.array([0]),
        "one": mx.array([1.0], dtype=D),
        "bad": mx.array([np.nan, np.inf, -np.inf], dtype=D),
    }


def assigned(index, value):
    """[0.3, 0.7] with an assignment made."""
    out = mx.array(A, dtype=D)
    out[index] = value
    return out


def attention(scale):
    """softmax(scale q qᵀ) q."""
    s = Q @ Q.T * scale
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ Q)[None, None]


def rotated(base, scale):
    """Pairs of four features, at positions 0 and 1."""
    angles = scale * np.array([1.0, base**-0.5])
    c, s = np.cos(angles), np.sin(angles)
    second = np.stack([c - s, s + c], -1).flatten()
    return np.stack([np.ones(4), second])[None, None]


VALUES = {
    "mx.full((1,), 1e300, dtype=D)": [1e300],
    "mx.full((1,), 0.1, dtype=D)": [X],
    "mx.full((1,), 0.1, dtype=mx.complex128)": [X],
    "mx.full((1,), 0.1 + 1e300j, dtype=mx.complex128)": [X + 1e300j],
    "mx.full((1,), 2**53 + 2, dtype=D)": [2.0**53 + 2],
    "mx.full_like(a, 0.1)": [X, X],
    "mx.full_like(mx.array([1.0, 2.0]), 0.1, dtype=D)": [X, X],
    "mx.array(0.1, dtype=D)": X,
    "mx.array([0.1, 2], dtype=D)": [X, 2],
    "mx.array([a[0], 0.1])": [0.3, X],
    "mx.array([[a[0], 0.1], [0.1, 1]])": [[0.3, X], [X, 1]],
    "mx.arange(0.1, 2.1, 0.7, dtype=D)": np.arange(X, 2.1, 0.7),
    "mx.linspace(0.1, 0.9, 5, dtype=D)": np.linspace(X, 0.9, 5),
    "a + 0.1": A + X,
    "0.1 - a": X - A,
    "a * 0.1": A * X,
    "0.1 / a": X / A,
    "a // 0.1": A // X,
    "a % 0.1": A % X,
    "a ** 0.1": A**X,
    "0.1 ** a": X**A,
    "mx.maximum(a, 0.55)": [0.55, 0.7],
    "mx.arctan2(a, 0.1)": np.arctan2(A, X),
    "mx.logaddexp(0.1, a)": np.logaddexp(X, A),
    "mx.divmod(a, 0.1)[1]": A % X,
    "mx.isclose(one, 1.0 + 2e-12, rtol=0, atol=1e-12)": [False],
    "mx.isclose(one * 0.1, 0.1, rtol=0, atol=0)": [True],
    "mx.allclose(0.1, one * 0.1, rtol=0, atol=0)": True,
    "mx.allclose(one * 0, one * 0.1, rtol=0, atol=0.1)": True,
    "mx.array_equal(one[0] * 0.1, 0.1)": True,
    "one * 0.1 == 0.1": [True],
    "mx.clip(a, 0.4, 0.6)": [0.4, 0.6],
    "mx.where(a > 0.5, a, 0.1)": [X, 0.7],
    "mx.where(a > 0.5, 0.1, a)": [0.3, X],
    "mx.pad(a, 1, constant_values=0.1)": [X, 0.3, 0.7, X],
    "mx.nan_to_num(bad, nan=0.1, posinf=1e300, neginf=-0.1)": [X, 1e300, -X],
    "assigned(0, 0.1)": [X, 0.7],
    "assigned(slice(None), 0.1)": [X, X],
    "assigned(mx.array([True, False]), 0.1)": [X, 0.7],
    "assigned(mx.array([0]), np.float64(0.1))": [X, 0.7],
    "assigned(slice(None), [0.1, 0.2])": [X, 0.2],
    "a.at[0].add(0.1)": [0.3 + X, 0.7],
    "a.at[0].subtract(0.1)": [0.3 - X, 0.7],
    "a.at[0].multiply(0.1)": [0.3 * X, 0.7],
    "a.at[0].divide(0.1)": [0.3 / X, 0.7],
    "a.at[0].minimum(0.1)": [X, 0.7],
    "mx.put_along_axis(a, i, 0.1, axis=0)": [X, 0.7],
    "mx.slice_update(a, 0.1, i, [0])": [X, 0.7],
    "mx.searchsorted(mx.array([0.0, 0.1, 1.0], dtype=D), 0.1)": 1,
    "mx.addmm(m, m, m, alpha=0.1, beta=0.3)": 0.3 * M + X * (M @ M),
    "mx.addmm(0.1, m, m)": X + M @ M,
    "mx.grad(lambda c: mx.addmm(c, m, m, beta=0.1).sum())(m)": np.full((2, 2), X),
    "mx.vmap(lambda c: mx.addmm(c, m, m, beta=0.1))(mx.stack([m, m]))[1]": X * M + M @ M,
    "mx.inner(a, 0.1)": A * X,
    "mx.outer(0.1, a)": [A * X],
    "mx.kron(a, 0.1)": A * X,
    "mx.random.laplace((2,), loc=0.1, scale=0.0, dtype=D)": [X, X],
    "mx.random.normal((2,), loc=0.1, scale=0.0, dtype=D)": [X, X],
    "mx.random.uniform(0.1, 0.1, (2,), dtype=D)": [X, X],
    "mx.random.truncated_normal(0.1, 0.1, (2,), dtype=D)": [X, X],
    "mx.fast.rms_norm(m, None, 0.1)": M / np.sqrt((M * M).mean(-1, keepdims=True) + X),
    "mx.fast.layer_norm(m, None, None, 0.1)": (M - M.mean(-1, keepdims=True))
    / np.sqrt(M.var(-1, keepdims=True) + X),
    "mx.fast.scaled_dot_product_attention(q, q, q, scale=0.1)": attention(X),
    "mx.fast.rope(mx.ones((1, 1, 2, 4), dtype=D), 4, traditional=True, base=100.1, scale=0.1,"
    " offset=0)": rotated(100.1, X),
    "mx.linalg.norm(a, ord=1.7)": (A**1.7).sum() ** (1 / 1.7),
}


@pytest.mark.parametrize("call", VALUES)
def test_numbers_are_not_rounded_to_float32(call):
    """The result has double precision and is right to the last digits."""
    result = eval(call, {**arrays(), "np": np, "assigned": assigned})
    expected = np.asarray(VALUES[call])
    if expected.dtype.kind == "f":
        assert result.dtype in (D, mx.complex128)
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.array(result), expected, rtol=1e-14, atol=0)


# Their results are arrays by themselves: a number does not take the dtype of its neighbour.
APART = {"atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "depends", "meshgrid"}
APART |= {"ediff1d", "piecewise"}  # the result has the dtype of the first argument
# Functions that change global state, or files.
NOT_CALLED = {
    *("export_function", "exporter", "import_function", "load", "save", "savez"),
    *("savez_compressed", "save_safetensors", "save_gguf", "eval", "async_eval", "synchronize"),
    *("set_default_device", "set_default_stream", "set_cache_limit", "set_memory_limit"),
    *("set_wired_limit", "set_compile_cache_size", "seed", "new_stream", "clear_cache"),
    *("clear_compile_cache", "disable_compile", "enable_compile", "reset_peak_memory"),
    *("start_capture", "stop_capture"),
}


def functions():
    """All functions of mlx.core and the modules below it that may be called with anything."""
    for module in (mx, mx.linalg, mx.fft, mx.random, mx.fast):
        for name, f in sorted(vars(module).items()):
            if name[0] == "_" or name in NOT_CALLED | APART or inspect.isclass(f):
                continue
            if callable(f):
                yield pytest.param(f, id=f"{module.__name__}.{name}")


def outcome(f, args):
    """The result of a call, or nothing where it raises."""
    mx.random.seed(3)

    def plain(value):
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value.tolist() if isinstance(value, mx.array) else repr(value)

    try:
        return repr(plain(f(*args)))
    except Exception:
        return None


@pytest.mark.parametrize("f", list(functions()))
def test_a_number_stands_for_the_same_array(f):
    """f(a, 0.1) is f(a, array(0.1, float64)), in every place of every function."""
    given = arrays()
    exact = mx.array(X, dtype=D)
    for n in (2, 3, 4):
        for places in itertools.product("amix", repeat=n):
            if places.count("x") != 1 or not {"a", "m"} & set(places):
                continue
            if f in (mx.where, mx.clip) and "i" in places:
                continue  # a number beside an integer array is a float32, whatever the third is
            by_number = outcome(f, [given.get(p, X) for p in places])
            by_array = outcome(f, [given.get(p, exact) for p in places])
            assert None in (by_number, by_array) or by_number == by_array, places
