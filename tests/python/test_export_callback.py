"""Functions exported to a callback: ops have the names and arguments that MLX publishes."""

import pytest

import mlx.core as mx

X = mx.arange(1.0, 13.0).reshape(3, 4)
V = mx.array([0.25, 0.5, 0.75])
I = mx.array([2, 0, 1])

ELEMENTWISE = {
    "Abs ArcCos ArcSin ArcSinh ArcTan ArcTanh Ceil Cos Cosh Erf ErfInv Exp Expm1 Floor Log1p "
    "Negative Round Sigmoid Sign Sin Sinh Square Tan Tanh": (
        "abs arccos arcsin arcsinh arctan arctanh ceil cos cosh erf erfinv exp expm1 floor log1p "
        "negative round sigmoid sign sin sinh square tan tanh",
        [V],
    ),
    "Add Subtract Multiply Divide Power Maximum Minimum Remainder FloorDivide ArcTan2 LogAddExp "
    "NotEqual Less LessEqual Greater GreaterEqual": (
        "add subtract multiply divide power maximum minimum remainder floor_divide arctan2 "
        "logaddexp not_equal less less_equal greater greater_equal",
        [V, V],
    ),
}

# The name of the last op of a function, and its arguments.
OTHERS = {
    "mx.log2(v)": ("Log", [0]),
    "mx.log10(v)": ("Log", [1]),
    "mx.log(v)": ("Log", [2]),
    "mx.sqrt(v)": ("Sqrt", [False]),
    "mx.rsqrt(v)": ("Sqrt", [True]),
    "mx.equal(v, v)": ("Equal", [False]),
    "i & i": ("BitwiseBinary", [0]),
    "i | i": ("BitwiseBinary", [1]),
    "i ^ i": ("BitwiseBinary", [2]),
    "i << i": ("BitwiseBinary", [3]),
    "i >> i": ("BitwiseBinary", [4]),
    "mx.where(x > 1, x, -x)": ("Select", []),
    "mx.sum(x, axis=1, keepdims=True)": ("Reduce", [2, [1]]),
    "mx.prod(x, axis=1, keepdims=True)": ("Reduce", [3, [1]]),
    "mx.max(x, axis=1, keepdims=True)": ("Reduce", [5, [1]]),
    "mx.min(x, axis=(0, 1), keepdims=True)": ("Reduce", [4, [0, 1]]),
    "mx.all(x > 1, axis=1, keepdims=True)": ("Reduce", [0, [1]]),
    "mx.any(x > 1, axis=1, keepdims=True)": ("Reduce", [1, [1]]),
    "mx.sum(x, axis=1)": ("Squeeze", [[1]]),
    "mx.argmax(x, axis=1, keepdims=True)": ("ArgReduce", [1, 1]),
    "mx.argmin(x, axis=0, keepdims=True)": ("ArgReduce", [0, 0]),
    "mx.cumsum(x, axis=0, reverse=True, inclusive=False)": ("Scan", [2, 0, True, False]),
    "mx.cumprod(x, axis=1)": ("Scan", [3, 1, False, True]),
    "mx.cummax(x, axis=1)": ("Scan", [0, 1, False, True]),
    "mx.cummin(x, axis=1)": ("Scan", [1, 1, False, True]),
    "mx.sort(x, axis=1)": ("Sort", [1]),
    "mx.argsort(x, axis=0)": ("ArgSort", [0]),
    "mx.partition(x, 2, axis=1)": ("Partition", [2, 1]),
    "mx.argpartition(x, 2, axis=1)": ("ArgPartition", [2, 1]),
    "mx.softmax(x, axis=1, precise=True)": ("Softmax", [True]),
    "mx.searchsorted(v, x)": ("SearchSorted", [False]),
    "x.reshape(4, 3)": ("Reshape", [(4, 3)]),
    "x.T": ("Transpose", [[1, 0]]),
    "x.flatten()": ("Flatten", [0, 1]),
    "mx.unflatten(x, 1, (2, 2))": ("Unflatten", [1, (2, 2)]),
    "mx.expand_dims(x, (0, 2))": ("ExpandDims", [[0, 2]]),
    "mx.squeeze(x[None], 0)": ("Squeeze", [[0]]),
    "mx.broadcast_to(x, (2, 3, 4))": ("Broadcast", [(2, 3, 4)]),
    "mx.as_strided(x.flatten(), (2, 2), (1, 2), 1)": ("AsStrided", [(2, 2), (1, 2), 1]),
    "x[1:, ::2]": ("Slice", [(1, 0), (3, 4), (1, 2)]),
    "x.astype(mx.int32)": ("AsType", [mx.int32]),
    "x.view(mx.int32)": ("View", [mx.int32]),
    "mx.concatenate([x, x], axis=1)": ("Concatenate", [1]),
    "mx.take_along_axis(x, i[:, None], axis=1)": ("GatherAxis", [1]),
    "mx.put_along_axis(x, i[:, None], mx.array(1.0), axis=1)": ("ScatterAxis", [1, 1]),
    "x.at[i].add(1.0)": ("Scatter", [2, [0]]),
    "x.at[i].multiply(2.0)": ("Scatter", [3, [0]]),
    "x.at[i].maximum(2.0)": ("Scatter", [0, [0]]),
    "x.at[i].minimum(2.0)": ("Scatter", [1, [0]]),
    "x @ x.T": ("Matmul", []),
    "mx.addmm(x @ x.T, x, x.T, 2.0, 3.0)": ("AddMM", [2.0, 3.0]),
    "mx.conv1d(x[None], mx.ones((2, 2, 4)), padding=1)": (
        "Convolution",
        [[1], [1], [1], [1], [1], 1, False],
    ),
    "mx.hadamard_transform(x)": ("Hadamard", [0.5]),
    "mx.linalg.cholesky(x @ x.T + 10)": ("Cholesky", [False]),
    "mx.linalg.qr(x)": ("QRF", []),
    "mx.linalg.inv(x[:3, :3])": ("Inverse", [False, True]),
    "mx.linalg.svd(x)": ("SVD", [True]),
    "mx.linalg.eigh(x @ x.T)": ("Eigh", ["L", True]),
    "mx.depends([x], [x * 2])[0]": ("Depends", []),
    # Ops that the published package composes of others have a name of their own.
    "mx.softmax(x, axis=0)": ("softmax", [0]),
    "mx.mean(x, axis=1, keepdims=True)": ("reduce", [1, (1,), 1]),
    "mx.logical_or(x > 1, x > 2)": ("LogicalOr", []),
}


def primitives(fun, *args):
    """The parts that describe ops."""
    parts = []
    mx.export_function(parts.append, fun, *args)
    return [p for p in parts if p["type"] == "primitive"]


@pytest.mark.parametrize("names", ELEMENTWISE, ids=["one operand", "two operands"])
def test_names_of_elementwise_ops(names):
    functions, operands = ELEMENTWISE[names]
    found = [primitives(getattr(mx, f), *operands)[-1] for f in functions.split()]
    assert [p["name"] for p in found] == names.split()
    assert all(p["arguments"] == [] for p in found)


@pytest.mark.parametrize("source", OTHERS)
def test_names_and_arguments(source):
    fun = eval(f"lambda x, v, i: {source}", {"mx": mx})
    p = primitives(fun, X, V, I)[-1]
    name, arguments = OTHERS[source]
    assert (p["name"], p["arguments"]) == (name, arguments)
    # A list and a tuple differ, and so do 1 and True.
    assert [type(a) for a in p["arguments"]] == [type(a) for a in arguments]


def test_reductions_that_drop_axes_are_two_ops():
    reduce, squeeze = primitives(lambda x: mx.max(x, axis=(0, 1)), X)
    assert (reduce["name"], reduce["arguments"]) == ("Reduce", [5, [0, 1]])
    assert [shape for _, shape, _ in reduce["outputs"]] == [(1, 1)]
    assert squeeze["inputs"] == reduce["outputs"]
    assert [shape for _, shape, _ in squeeze["outputs"]] == [()]
