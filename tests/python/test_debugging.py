"""Debugging aids: the origin of NaNs, the source line of failing ops, profiles."""

import json

import pytest

import mlx.core as mx
import mlx.nn as nn


def line_of(text):
    with open(__file__) as f:
        lines = f.read().splitlines()
    return next(i + 1 for i, line in enumerate(lines) if text in line and "line_of" not in line)


def test_the_first_nan_is_named():
    def f(x):
        y = mx.exp(x) - 2
        z = mx.log(y)  # makes it
        return mx.sqrt(z * z).sum()

    x = mx.array([1.0, 0.0])
    assert str(f(x)) == "array(nan, dtype=float32)"
    with mx.debug_nans():
        with pytest.raises(RuntimeError) as e:
            mx.eval(f(x))
        text = str(e.value)
        assert "fused(log)" in text and f"{__file__}:{line_of('# makes it')} in f" in text
        assert f(mx.array([1.0, 2.0])).item() > 0
        with pytest.raises(RuntimeError, match=r"test_debugging\.py:\d+ in f"):
            mx.eval(mx.compile(f)(x))
    assert str(f(x)) == "array(nan, dtype=float32)"


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64, mx.complex64])
def test_nans_of_every_dtype(dtype):
    with mx.debug_nans():
        x = (mx.zeros((3, 4)).astype(dtype)).T
        mx.eval(x)
        with pytest.raises(RuntimeError, match="divide"):
            mx.eval(x / x)
        mx.eval(x * 2)
        y = mx.array(float("nan"), dtype)  # given, not made
        mx.eval(y + 1)


def test_the_flag_can_be_set_and_unset():
    mx.debug_nans(True)
    try:
        with pytest.raises(RuntimeError):
            mx.eval(mx.log(mx.array([-1.0])))
    finally:
        mx.debug_nans(False)
    mx.eval(mx.log(mx.array([-1.0])))


def test_a_scope_may_be_entered_again():
    def makes_nan():
        try:
            mx.eval(mx.log(mx.array([-1.0])))
            return False
        except RuntimeError:
            return True

    scope = mx.debug_nans()
    for _ in range(2):
        with scope:
            with scope, mx.debug_nans(False):
                assert not makes_nan()
            assert makes_nan()
        assert not makes_nan()
    with pytest.raises(KeyError), scope:
        raise KeyError
    assert not makes_nan()


def test_functions_compiled_before_name_their_lines():
    traces = []

    @mx.compile
    def f(x):
        traces.append(1)
        return mx.log(x) + 1  # in a compiled function

    x = mx.array([-1.0])
    mx.eval(f(x))
    with mx.debug_nans():
        for _ in range(2):
            with pytest.raises(RuntimeError) as e:
                mx.eval(f(x))
            assert f"{__file__}:{line_of('# in a compiled function')} in f" in str(e.value)
    mx.eval(f(x))
    assert len(traces) == 2


def test_errors_keep_their_class():
    with mx.debug_lines():
        y = mx.linalg.cholesky(-mx.eye(2), stream=mx.cpu)  # not positive
        with pytest.raises(mx.LinAlgError) as e:
            mx.eval(y)
    assert f":{line_of('# not positive')} in test_errors" in str(e.value)


def test_errors_name_the_line():
    x, i = mx.arange(3), mx.array([5])
    mx.eval(x, i)
    with mx.debug_lines():
        y = mx.take(x, i)  # built here
        with pytest.raises(IndexError) as e:
            mx.eval(y)
    assert f"test_debugging.py:{line_of('# built here')} in test_errors" in str(e.value)
    with pytest.raises(IndexError) as e:
        mx.eval(mx.take(x, i))
    assert "built at" not in str(e.value)


def test_lines_of_layers_name_the_caller_too():
    layer = nn.Linear(2, 2)
    layer.weight = layer.weight * float("nan")
    mx.eval(layer.parameters())
    with mx.debug_lines():
        y = layer(mx.ones((1, 2)))  # calls the layer
        with mx.profile() as p:
            mx.eval(y)
    assert "matmul" in p.summary() or "addmm" in p.summary()
    assert mx.isnan(y).all().item()


def test_profile(tmp_path):
    path = tmp_path / "steps.json"
    x = mx.random.normal((64, 64))
    mx.eval(x)
    f = mx.compile(lambda x: mx.exp(x @ x).sum(axis=0))
    with mx.profile(str(path)) as p:
        for _ in range(3):
            mx.eval(f(x), mx.sort(x, axis=1))
    events = json.loads(path.read_text())["traceEvents"]
    names = [e["name"] for e in events]
    products = [e for e in events if "matmul" in e["name"]]  # a backend may fuse the exp
    assert len(products) == 3 and names.count("sort") == 3
    e = products[0]
    assert e["ph"] == "X" and e["dur"] > 0
    assert e["args"]["shape"] == "(64,64)" and e["args"]["dtype"] == "float32"
    assert e["args"]["bytes"] >= 2 * 64 * 64 * 4
    assert "test_debugging.py" in events[names.index("sort")]["args"]["line"]
    table = str(p)
    assert "matmul" in table and "100.0%" in table and "GB/s" in table
    before = len(events)
    mx.eval(mx.sort(x))
    assert len(json.loads(path.read_text())["traceEvents"]) == before


def test_one_profile_at_a_time():
    with mx.profile(), pytest.raises(ValueError, match="another profile"), mx.profile():
        pass
    with mx.profile() as p:
        mx.eval(mx.ones(3) + 1)
    assert "total" in p.summary()
