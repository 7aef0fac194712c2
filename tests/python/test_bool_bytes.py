"""Elements of bool are 0 or 1 for any source bytes."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest

import mlx.core as mx

BYTES = np.array([0, 1, 2, 255, 128, 0], np.uint8)
WANT = [False, True, True, True, True, False]


def numpy_bools(shape=(6,)):
    """A NumPy array of bool over bytes that are neither 0 nor 1."""
    return BYTES.copy().view(bool).reshape(shape)


def npy_bytes(shape=(6,), fortran=False):
    """An .npy file of such bytes."""
    head = f"{{'descr': '|b1', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    head += b" " * ((64 - (10 + len(head) + 1) % 64) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + BYTES.tobytes()


def from_npy(tmp_path):
    return mx.load(io.BytesIO(npy_bytes()), format="npy")


def from_npy_file(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_bytes())
    return mx.load(str(path))


def from_npz(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("a.npy", npy_bytes())
    return mx.load(str(path))["a"]


def from_safetensors(tmp_path):
    header = json.dumps({"a": {"dtype": "BOOL", "shape": [6], "data_offsets": [0, 6]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + BYTES.tobytes())
    return mx.load(str(path))["a"]


def from_gguf(tmp_path):
    path = tmp_path / "a.gguf"
    mx.save_gguf(str(path), {"w": mx.zeros(32)}, {"flags": mx.array([False] * 6)})
    data = path.read_bytes()
    at = data.index(b"flags") + len(b"flags") + 4 + 4 + 8
    path.write_bytes(data[:at] + BYTES.tobytes() + data[at + 6 :])
    return mx.load(str(path), return_metadata=True)[1]["flags"]


class Versioned:
    """Exports a NumPy array through DLPack only, without the buffer protocol."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__()

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


DOORS = {
    "array": lambda p: mx.array(numpy_bools()),
    "asarray": lambda p: mx.asarray(numpy_bools()),
    "array with dtype": lambda p: mx.array(numpy_bools(), mx.bool_),
    "memoryview": lambda p: mx.array(memoryview(numpy_bools())),
    "reversed": lambda p: mx.array(numpy_bools()[::-1])[::-1],
    "matrix": lambda p: mx.array(numpy_bools((2, 3)).T).T.reshape(6),
    "elements": lambda p: mx.stack([mx.array(numpy_bools()[i]) for i in range(6)]),
    "zero axes": lambda p: mx.stack(
        [mx.array(numpy_bools()[i : i + 1].reshape(())) for i in range(6)]
    ),
    "list of arrays": lambda p: mx.array([numpy_bools()])[0],
    "list of elements": lambda p: mx.array(list(numpy_bools())),
    "from_dlpack": lambda p: mx.from_dlpack(numpy_bools()),
    "from_dlpack copy": lambda p: mx.from_dlpack(numpy_bools(), copy=True),
    "dlpack object": lambda p: mx.array(Versioned(numpy_bools())),
    "operand": lambda p: mx.logical_and(numpy_bools(), mx.array(True)),
    "where": lambda p: mx.where(numpy_bools(), mx.array(True), mx.array(False)),
    "update": lambda p: assigned(numpy_bools()),
    "view": lambda p: mx.array(BYTES).view(mx.bool_),
    "view of int8": lambda p: mx.array(BYTES.view(np.int8)).view(mx.bool_),
    "view of int16": lambda p: mx.array(BYTES.view(np.int16)).view(mx.bool_),
    "view of a slice": lambda p: mx.array(np.repeat(BYTES, 2))[::2].view(mx.bool_),
    "mapped view": lambda p: mx.vmap(lambda a: a.view(mx.bool_))(mx.array(BYTES)),
    "compiled view": lambda p: mx.compile(lambda a: a.view(mx.bool_))(mx.array(BYTES)),
    "npy": from_npy,
    "npy file": from_npy_file,
    "npz": from_npz,
    "safetensors": from_safetensors,
    "gguf": from_gguf,
}


def assigned(values):
    a = mx.zeros(6, mx.bool_)
    a[:] = values
    return a


@pytest.mark.parametrize("door", DOORS)
def test_bytes_of_bool_become_0_or_1(door, tmp_path):
    a = DOORS[door](tmp_path)
    assert a.dtype == mx.bool_
    assert np.array(a).view(np.uint8).tolist() == [int(w) for w in WANT]
    assert a.tolist() == WANT
    assert mx.logical_not(a).tolist() == [not w for w in WANT]
    assert mx.sum(a).item() == 4
    assert (a == True).tolist() == WANT  # noqa: E712
    assert mx.array_equal(a, mx.array(WANT)).item()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_converted_on_the_way_in(dtype, shape):
    want = np.array(WANT).reshape(shape)
    for values in (numpy_bools(shape), numpy_bools(shape).T):
        a = mx.array(values, getattr(mx, dtype))
        reference = want if values.shape == shape and values.flags.c_contiguous else want.T
        assert np.array(a).tolist() == reference.astype(dtype).tolist()
    assert mx.array(numpy_bools()[2:3].reshape(()), getattr(mx, dtype)).item() == 1


def test_shared_memory_is_refused_where_it_is_no_bool():
    mx.from_dlpack(np.array(WANT), copy=False)
    with pytest.raises(ValueError, match="bool"):
        mx.from_dlpack(numpy_bools(), copy=False)


VIEWS = {
    "plain": lambda b: b,
    "reshaped": lambda b: b.reshape(2, -1).reshape(-1),
    "broadcast": lambda b: mx.broadcast_to(b, (3, b.size))[1],
    "sliced": lambda b: mx.expand_dims(b, 0)[:, :][0],
    "transposed": lambda b: b.reshape(8, -1).T.T.reshape(-1),
    "stopped": lambda b: mx.stop_gradient(b),
}
WAYS = {
    "at once": lambda f, x: f(x),
    "compiled": lambda f, x: mx.compile(f)(x),
    "mapped": lambda f, x: mx.vmap(f)(mx.stack([x, x]))[1],
    "computed": lambda f, x: f(mx.concatenate([x[:2], x[2:]])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rearranged", VIEWS)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16", "float32", "complex64"])
def test_a_view_of_a_view_as_bool_has_the_bytes(dtype, rearranged, way):
    t = getattr(mx, dtype)
    x = mx.array(np.arange(64, dtype=np.uint8) * 5).view(t)

    def there_and_back(x):
        return VIEWS[rearranged](x.view(mx.bool_)).view(t)

    def as_bool(x):
        return VIEWS[rearranged](x.view(mx.bool_))

    back, bools = WAYS[way](there_and_back, x), WAYS[way](as_bool, x)
    assert back.dtype == t and back.view(mx.uint8).tolist() == x.view(mx.uint8).tolist()
    assert np.array(bools).view(np.uint8).tolist() == [0] + [1] * 63
    assert mx.sum(WAYS[way](as_bool, x)).item() == 63


def test_bytes_of_bool_that_were_computed_are_0_and_1():
    x = mx.array(BYTES)
    b = x.view(mx.bool_)
    assert mx.logical_and(b, True).view(mx.uint8).tolist() == [int(w) for w in WANT]
    assert (x.view(mx.uint8) != 0).view(mx.uint8).tolist() == [int(w) for w in WANT]
    assert x.astype(mx.bool_).view(mx.uint8).tolist() == [int(w) for w in WANT]
    mx.eval(b)  # from here on its elements have values
    assert b.view(mx.uint8).tolist() == [int(w) for w in WANT]
    x = mx.random.randint(0, 1000, (4, 1))
    wide = mx.broadcast_to(x, (4, 6))
    assert mx.array_equal(wide.view(mx.bool_).view(mx.int32), wide)
