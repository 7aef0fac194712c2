"""Function files: the format, loop ops in them, damaged files."""

import contextlib
import json
import pathlib
import random
import struct

import pytest
from cases import names, run_rows
from cases.table import device_array

import mlx.core as mx


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "f.mlxfn")


def checksum(data):
    total = 0
    for (word,) in struct.iter_unpack("<Q", data):
        total = ((total ^ word) * 0x9E3779B97F4A7C15) % 2**64
        total ^= total >> 32
    return struct.pack("<Q", total)


@pytest.fixture
def written(path):
    w = mx.random.normal((3, 6))
    mask = mx.array([True, False, True])

    def fun(x, k):
        h = mx.conv1d(x[None, :, :], w[:, None, :2] * mx.ones((3, 2, 2)), stride=1)
        y = mx.take(x @ w[:2], k, axis=0).T[::-1]
        s, i = mx.sort(y, axis=0), mx.argmax(y, axis=1)
        z = mx.where(mask, mx.fast.rms_norm(s[:3, :3], None, 1e-5), 0).cumsum(0)
        parts = mx.fast.rope(
            mx.zeros((1, 4, 4)) + z[0, 0], 4, traditional=False, base=10000, scale=1, offset=0
        )
        return z, i, h, mx.fft.rfft(z), parts, mx.logsumexp(y), mx.as_strided(y + 1, (2,), (2,))

    with mx.exporter(path, fun, metadata="m") as e:
        e(mx.ones((4, 2)), k=mx.array([0, 1, 3]))
    return pathlib.Path(path).read_bytes()


MAPPED = {
    "sort": ({"axis": 0}, [[True], [True]]),
    "slice": ({"start": [0, 0], "stop": [2, 2], "strides": [1, 1]}, [[True]]),
    "svd": ({}, [[True]]),
    "matmul": ({}, [[True, False]]),
}


@pytest.fixture
def written_with_maps(path):
    """A file whose ops take batches position by position, where they would take them at once."""
    w = mx.random.normal((3, 2))

    def fun(x):
        return mx.sort(x, axis=2), x[:, :, :2], *mx.linalg.svd(x), x @ w

    x = mx.random.normal((2, 2, 3))
    mx.export_function(path, fun, x)
    plain = pathlib.Path(path).read_bytes()
    header = header_of(plain)
    for step in header["traces"][0]["steps"]:
        attributes, step["map"] = MAPPED[step["op"]]
        step["attrs"] = {**step.get("attrs", {}), **attributes}
    return with_header(plain, header), fun, x


def header_of(data):
    (length,) = struct.unpack("<Q", data[16:24])
    return json.loads(data[24 : 24 + length])


def test_mapped_ops_are_read(written_with_maps, path):
    data, fun, x = written_with_maps
    pathlib.Path(path).write_bytes(data)
    call = mx.import_function(path)
    for given in (x, mx.contiguous(x.swapaxes(0, 1)).swapaxes(0, 1)):
        for a, b in zip(call(given), fun(x), strict=True):
            assert mx.allclose(a, b, atol=1e-6)
    slope = [mx.grad(lambda x, f=f: (f(x)[5] ** 2).sum())(x) for f in (call, fun)]
    assert mx.allclose(*slope, atol=1e-5)
    # A file that was read is written again as it was.
    mx.export_function(path, call, x)
    again = mx.import_function(path)
    steps = header_of(pathlib.Path(path).read_bytes())["traces"][0]["steps"]
    assert {s["op"]: s["map"] for s in steps} == {op: maps for op, (_, maps) in MAPPED.items()}
    assert all(mx.array_equal(a, b) for a, b in zip(again(x), call(x), strict=True))
    names = []
    mx.export_function(lambda part: names.append(part.get("name")), call, x)
    assert {"map Sort", "map Slice", "map SVD", "map Matmul"} <= set(names)


@pytest.mark.parametrize("family", [f for f in names() if f != "elementwise"])
def test_every_op_may_be_mapped(family, path):
    """A file with one op, changed to run it on two arguments each: as good as two calls."""

    def check(row):
        dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
        one, other = ([device_array(v) for v in row.host_inputs(dtype)] for _ in range(2))
        other = [mx.contiguous(a[::-1]) if a.ndim and a.dtype == mx.float32 else a for a in other]
        mx.export_function(path, row.results, *one)
        data = pathlib.Path(path).read_bytes()
        header = header_of(data)
        (trace,) = header["traces"]
        arguments = range(len(trace["inputs"]))
        if len(trace["steps"]) != 1 or not set(arguments) & set(trace["steps"][0]["in"]):
            return
        (step,) = trace["steps"]
        step["map"] = [[i in arguments for i in step["in"]]]
        for array in trace["inputs"] + step["out"]:
            array[1] = [2, *array[1]]
        pathlib.Path(path).write_bytes(with_header(data, header))
        try:
            mapped = mx.import_function(path)
        except mx.FileError as error:
            if "not a single kernel or view" not in str(error):  # elementwise
                yield str(error)
            return
        got = mapped(*(mx.stack(pair) for pair in zip(one, other, strict=True)))
        for i, (a, *pair) in enumerate(
            zip(got, row.results(*one), row.results(*other), strict=True)
        ):
            if not mx.allclose(a, mx.stack(pair), atol=1e-5, equal_nan=True):
                yield f"output {i} differs"

    run_rows(family, check, lambda row: row.traced)


@pytest.mark.parametrize(
    "op, maps",
    [
        ("sort", [[False]]),
        ("sort", [[True]] * 3),
        ("sort", [[True]] * 33),
        ("sort", [[True, True]]),
        ("sort", [[]]),
        ("sort", [True]),
        ("sort", [["x"]]),
        ("matmul", [[True, True]]),
        ("matmul", [[False, True]]),
        ("slice", [[False]]),
    ],
)
def test_wrong_maps_are_refused(op, maps, written_with_maps, path):
    data = written_with_maps[0]
    header = header_of(data)
    for step in header["traces"][0]["steps"]:
        if step["op"] == op:
            step["map"] = maps
    pathlib.Path(path).write_bytes(with_header(data, header))
    with pytest.raises(mx.FileError):
        mx.import_function(path)


@pytest.mark.parametrize("fun", [mx.sin, lambda x: x.astype(mx.int32)])
def test_elementwise_ops_are_refused_where_a_file_maps_them(fun, path):
    mx.export_function(path, fun, mx.ones((2, 3)))
    data = pathlib.Path(path).read_bytes()
    header = header_of(data)
    (step,) = header["traces"][0]["steps"]
    step["map"] = [[True]]
    pathlib.Path(path).write_bytes(with_header(data, header))
    with pytest.raises(mx.FileError):
        mx.import_function(path)


def attempt(path, data):
    pathlib.Path(path).write_bytes(data)
    try:
        f = mx.import_function(path)
    except mx.FileError:
        return False
    for args, kwargs in (([4, 2], {"k": mx.array([0, 1, 3])}), ([2, 2, 3], {})):
        with contextlib.suppress(ValueError, RuntimeError, OverflowError, MemoryError, TypeError):
            mx.eval(f(mx.ones(args), **kwargs))
    return True


def test_the_checksum_is_that_of_the_format(written, path):
    assert written[:8] == b"MLXFUNC\n" and checksum(written[:-8]) == written[-8:]
    assert attempt(path, written)


def test_flipped_and_missing_bytes_are_noticed(written, path):
    rng = random.Random(1)
    for at in [*range(0, 64), *rng.sample(range(64, len(written)), 150)]:
        damaged = bytearray(written)
        damaged[at] ^= 1 << rng.randrange(8)
        assert not attempt(path, bytes(damaged)), at
    for n in [*range(0, 64, 7), *rng.sample(range(64, len(written)), 40)]:
        assert not attempt(path, written[:n]), n
    assert not attempt(path, written + b"\0")
    for foreign in (b"", b"hello", b"\x93NUMPY" + bytes(100), bytes(4096), written[64:]):
        assert not attempt(path, foreign)


def with_header(written, header):
    (length,) = struct.unpack("<Q", written[16:24])
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(24 + len(text)) % 64)
    body = written[:16] + struct.pack("<Q", len(text)) + text + written[24 + length : -8]
    return body + checksum(body)


def places(tree, at=()):
    """Where a tree has leaves and lists."""
    if isinstance(tree, (dict, list)):
        yield at
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, (*at, key))
    else:
        yield at


@pytest.mark.parametrize("maps", [False, True])
def test_a_wrong_header_with_a_right_checksum_does_no_harm(maps, written, written_with_maps, path):
    written = written_with_maps[0] if maps else written
    header = header_of(written)
    assert attempt(path, with_header(written, header))
    rng = random.Random(2)
    values = [-1, 0, 1, 2, 3, 77, 2**31, 2**40, 2**62, -(2**62), 0.5, 1e300, None, True]
    values += ["x", "int32", "nan", "sort", "conv", "matmul", "reduce", [[True]], [[True, False]]]
    values += [[], [1], [-1], [2**40], [0, 0], {}]
    spots = [p for p in places(header) if p]
    for _ in range(700):
        mutant = json.loads(json.dumps(header))
        for where in rng.sample(spots, rng.choice([1, 1, 2])):
            node = mutant
            try:
                for key in where[:-1]:
                    node = node[key]
                if rng.random() < 0.15:
                    del node[where[-1]]
                else:
                    node[where[-1]] = rng.choice(values)
            except (KeyError, IndexError, TypeError):
                continue
        attempt(path, with_header(written, mutant))
    for text in (b"", b"[", b"[" * 100000, b"\xff\xfe", b"null", b"[1,2]", b"{}"):
        assert not attempt(path, with_header(written, text))
