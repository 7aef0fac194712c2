"""GGUF files: round trips, packed tensors, damaged files."""

import contextlib
import struct

import numpy as np
import pytest

import mlx.core as mx


def write_file(path, tensors, version=3):
    """A file of (type, shape, bytes) by name."""
    head, data = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), 0), b""
    for name, (kind, shape, content) in tensors.items():
        data += bytes(-len(data) % 32)
        head += struct.pack("<Q", len(name)) + name.encode()
        head += struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += content
    path.write_bytes(head + bytes(-len(head) % 32) + data)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int8", "int16", "int32", "int64"]
)
def test_round_trip(tmp_path, dtype):
    file = tmp_path / "a"
    arrays = {
        "x.weight": mx.arange(12).reshape(3, 4).astype(getattr(mx, dtype)).T,
        "scalar": mx.array(3).astype(getattr(mx, dtype)),
        "empty": mx.zeros((0, 3), getattr(mx, dtype)),
    }
    mx.save_gguf(file, arrays)
    loaded = mx.load(tmp_path / "a.gguf")
    assert sorted(loaded) == sorted(arrays)
    for name, a in arrays.items():
        assert loaded[name].dtype == a.dtype and loaded[name].shape == a.shape
        assert mx.array_equal(loaded[name], a)


def test_metadata(tmp_path):
    file = str(tmp_path / "a.gguf")
    metadata = {
        "general.name": "näme",
        "empty": "",
        "list": ["a", "", "bc"],
        "vector": mx.array([1, 2, 3]),
        "big": mx.array(2**40),
        "flag": mx.array(True),
        "half": mx.array(0.5),
        "bytes": mx.array([1, 255], mx.uint8),
    }
    mx.save_gguf(file, {"x": mx.ones(2)}, metadata)
    _, loaded = mx.load(file, return_metadata=True)
    assert sorted(loaded) == sorted(metadata)
    for key, value in metadata.items():
        if isinstance(value, mx.array):
            assert loaded[key].dtype == value.dtype and mx.array_equal(loaded[key], value)
        else:
            assert loaded[key] == value


@pytest.mark.parametrize("kind, size, bits", [(2, 18, 4), (3, 20, 4), (8, 34, 8)])
def test_packed_tensors(tmp_path, kind, size, bits):
    """Q4_0 is d * (q - 8), Q4_1 d * q + m, Q8_0 d * q with signed q; blocks of 32."""
    rng = np.random.RandomState(kind)
    blocks = rng.randint(0, 256, (12, size)).astype("uint8")
    d, m = rng.uniform(0.1, 2, (2, 12)).astype("float16")
    blocks[:, :2] = d.view("uint8").reshape(12, 2)
    if kind == 3:
        blocks[:, 2:4] = m.view("uint8").reshape(12, 2)
    codes = blocks[:, size - 4 * bits :]
    if bits == 4:
        codes = np.concatenate([codes & 15, codes >> 4], -1)
        values = codes - 8.0 if kind == 2 else codes.astype("float64")
    else:
        values = codes.view("int8").astype("float64")
    want = values * d[:, None].astype("float64") + (m[:, None] if kind == 3 else 0)
    write_file(tmp_path / "a.gguf", {"t.weight": (kind, (3, 128), blocks.tobytes())})
    loaded = mx.load(tmp_path / "a.gguf")
    packed = [loaded[f"t.{part}"] for part in ("weight", "scales", "biases")]
    assert [a.shape for a in packed] == [(3, 4 * bits), (3, 4), (3, 4)]
    got = mx.dequantize(
        *(a if a.dtype == mx.uint32 else a.astype(mx.float32) for a in packed),
        group_size=32,
        bits=bits,
    )
    assert np.abs(np.array(got) - want.reshape(3, 128)).max() < 0.1 * 2.0**-3


def test_damaged_files(tmp_path):
    good = tmp_path / "good.gguf"
    mx.save_gguf(
        good, {"a": mx.arange(100), "b": mx.ones((3, 5))}, {"k": ["x", "y"], "n": mx.array(1)}
    )
    content, file = good.read_bytes(), tmp_path / "bad.gguf"
    for end in range(0, len(content) - 8, 7):
        file.write_bytes(content[:end])
        with pytest.raises(RuntimeError):
            mx.load(file, format="gguf")
    rng = np.random.RandomState(0)
    for _ in range(300):  # anything but a crash or a hang
        damaged = bytearray(content)
        damaged[rng.randint(len(content) // 2)] = rng.randint(256)
        file.write_bytes(bytes(damaged))
        with contextlib.suppress(RuntimeError, ValueError, OverflowError, MemoryError):
            mx.load(file)
    write_file(file, {"t": (13, (2, 256), bytes(352))})
    with pytest.raises(RuntimeError, match=r"type 13; accepted are"):
        mx.load(file)


def test_failed_saves_leave_the_old_file(tmp_path):
    file = tmp_path / "a.gguf"
    mx.save_gguf(file, {"a": mx.ones(3)})
    for arrays, metadata in (
        ({"a": mx.ones(2, mx.uint8)}, {}),
        ({"a": mx.ones(2, mx.complex64)}, {}),
        ({"a": mx.ones(2)}, {"k": mx.ones((2, 2))}),
        ({"a": mx.ones(2)}, {"k": mx.ones(2, mx.float16)}),
        ({"a": "text"}, {}),
        ({"a": mx.ones(2)}, {"k": object()}),
    ):
        with pytest.raises((ValueError, TypeError)):
            mx.save_gguf(file, arrays, metadata)
    assert mx.load(file)["a"].shape == (3,)
    assert [p.name for p in tmp_path.iterdir()] == ["a.gguf"]
