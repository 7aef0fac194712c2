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


def data_of(path, alignment):
    """The bytes of each tensor at its place in the description of the format.

    Read from the end: the head is as long as the offsets leave, a multiple of the alignment."""
    content = path.read_bytes()
    offsets = {}
    for name, size in {"a": 5, "b": 12, "c": 4}.items():
        at = content.index(struct.pack("<Q", 1) + name.encode()) + 9
        (rank,) = struct.unpack_from("<I", content, at)
        _, offset = struct.unpack_from("<IQ", content, at + 4 + 8 * rank)
        assert offset % alignment == 0
        offsets[name], end = (offset, size), at + 16 + 8 * rank
    start = end + -end % alignment
    return {n: content[start + at : start + at + size] for n, (at, size) in offsets.items()}


@pytest.mark.parametrize("dtype", [mx.uint32, mx.int64, mx.uint8, int])
@pytest.mark.parametrize("alignment", [1, 2, 8, 16, 32, 64, 128])
def test_alignment(tmp_path, alignment, dtype):
    """Tensors begin where `general.alignment` says, and are read from there."""
    path = tmp_path / "a.gguf"
    arrays = {
        "a": mx.array([1, 2, 3, 4, 5], mx.int8),
        "b": mx.array([1.0, 2.0, 3.0]),
        "c": mx.array([-1, 7], mx.int16),
    }
    given = alignment if dtype is int else mx.array(alignment, dtype)
    mx.save_gguf(path, arrays, {"general.alignment": given})
    loaded, metadata = mx.load(path, return_metadata=True)
    assert metadata["general.alignment"].item() == alignment
    assert metadata["general.alignment"].dtype == mx.uint32
    assert metadata["general.alignment"].shape == ()
    for name, data in data_of(path, alignment).items():
        assert loaded[name].tolist() == arrays[name].tolist()
        assert data == np.array(arrays[name]).tobytes()


@pytest.mark.parametrize(
    "alignment", [0, -8, 24, 2**31, 2**40, 8.0, 1j, True, [8, 8], [], "32", ["32"]]
)
def test_an_alignment_that_is_none(tmp_path, alignment):
    """Other readers refuse such a file."""
    path = tmp_path / "a.gguf"
    is_text = alignment == "32" or alignment == ["32"]
    with pytest.raises(ValueError, match=r"save_gguf.*general\.alignment.*accepted"):
        given = alignment if is_text else mx.array(alignment)
        mx.save_gguf(path, {"a": mx.ones(2)}, {"general.alignment": given})
    assert not path.exists()


def test_files_with_another_alignment_are_read(tmp_path):
    """Earlier versions wrote lengths that are no power of two, in other dtypes."""
    path = tmp_path / "a.gguf"
    key = b"general.alignment"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", len(key)) + key
    head += struct.pack("<Iq", 11, 24)  # int64
    head += struct.pack("<Q", 1) + b"a" + struct.pack("<IQIQ", 1, 2, 0, 0)
    path.write_bytes(head + bytes(-len(head) % 24) + struct.pack("<ff", 1.5, 2.5))
    assert mx.load(path)["a"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("alignment", [1, 8, 32, 128])
def test_other_readers_take_the_alignment(tmp_path, alignment):
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "a.gguf"
    arrays = {"a": mx.array([1.0, 2.0, 3.0]), "b": mx.array([5, 6], mx.int8)}
    mx.save_gguf(path, arrays, {"general.alignment": mx.array([alignment])})
    reader = gguf.GGUFReader(path)
    assert reader.alignment == alignment
    assert {t.name: t.data.tolist() for t in reader.tensors} == {"a": [1, 2, 3], "b": [5, 6]}


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
    write_file(file, {"t": (15, (2, 256), bytes(584))})
    with pytest.raises(RuntimeError, match=r"type 15; accepted are"):
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


def halves(block, at):
    """The float16 number at a byte of a block."""
    return float(np.frombuffer(block[at : at + 2].tobytes(), np.float16)[0])


def bits(block, first, count, width):
    """All `width`-bit fields of bytes: fields[k] is the k-th field of each byte."""
    part = block[first : first + count].astype(int)
    return [part >> k & (1 << width) - 1 for k in range(0, 8, width)]


def q5(block, least):
    """32 elements of Q5_0 or Q5_1."""
    high = np.unpackbits(block[-20:-16], bitorder="little").astype(int)
    low = np.concatenate(bits(block, len(block) - 16, 16, 4))
    scale = halves(block, 0)
    return scale * (low + 16 * high) + (halves(block, 2) if least else -16 * scale)


def q2_k(block):
    scale, least = bits(block, 0, 16, 4)
    codes = [c for half in (16, 48) for field in bits(block, half, 32, 2) for c in field]
    spread = np.repeat(scale, 16) * halves(block, 80), np.repeat(least, 16) * halves(block, 82)
    return spread[0] * codes - spread[1]


def q3_k(block):
    low = np.concatenate(bits(block, 96, 8, 4))
    high = np.concatenate(bits(block, 104, 4, 2))
    scale = (low + 16 * high - 32) * halves(block, 108)
    codes = [c for half in (32, 64) for field in bits(block, half, 32, 2) for c in field]
    third = np.concatenate(bits(block, 0, 32, 1))
    return np.repeat(scale, 16) * (np.array(codes) + 4 * third - 4)


def q45_k(block, fifth):
    a, b, c = block[4:8].astype(int), block[8:12].astype(int), block[12:16].astype(int)
    scale = np.concatenate([a & 63, (c & 15) + 16 * (a >> 6)]) * halves(block, 0)
    least = np.concatenate([b & 63, (c >> 4) + 16 * (b >> 6)]) * halves(block, 2)
    start = 48 if fifth else 16
    codes = np.concatenate([np.concatenate(bits(block, start + k, 32, 4)) for k in (0, 32, 64, 96)])
    if fifth:
        codes = codes + 16 * np.concatenate(bits(block, 16, 32, 1))
    return np.repeat(scale, 32) * codes - np.repeat(least, 32)


def q6_k(block):
    codes = []
    for low, high in ((0, 128), (64, 160)):
        nibbles = np.concatenate(bits(block, low, 64, 4))
        codes.append(nibbles + 16 * np.concatenate(bits(block, high, 32, 2)))
    scale = block[192:208].view(np.int8).astype(int) * halves(block, 208)
    return np.repeat(scale, 16) * (np.concatenate(codes) - 32)


WIDE = {
    "Q5_0": (6, 22, 32, (0,), lambda b: q5(b, False)),
    "Q5_1": (7, 24, 32, (0, 2), lambda b: q5(b, True)),
    "Q2_K": (10, 84, 256, (80, 82), q2_k),
    "Q3_K": (11, 110, 256, (108,), q3_k),
    "Q4_K": (12, 144, 256, (0, 2), lambda b: q45_k(b, False)),
    "Q5_K": (13, 176, 256, (0, 2), lambda b: q45_k(b, True)),
    "Q6_K": (14, 210, 256, (208,), q6_k),
}


@pytest.mark.parametrize("name", WIDE)
def test_blocks_of_the_other_layouts(tmp_path, name):
    kind, size, elements, numbers, reference = WIDE[name]
    rng = np.random.RandomState(kind)
    blocks = rng.randint(0, 256, (6, size)).astype(np.uint8)
    for at in numbers:
        few = rng.uniform(0.001, 0.05, 6).astype(np.float16)
        blocks[:, at : at + 2] = few.view(np.uint8).reshape(6, 2)
    path = tmp_path / "a.gguf"
    write_file(path, {"w": (kind, (3, 2 * elements), blocks.tobytes())})
    got = mx.load(str(path))["w"]
    want = np.concatenate([reference(b) for b in blocks]).reshape(3, 2 * elements)
    assert got.dtype == mx.float16 and got.shape == want.shape
    np.testing.assert_allclose(np.array(got), want, 1e-3, 1e-3)
    write_file(path, {"w": (kind, (3, elements + 8), blocks.tobytes())})
    with pytest.raises(ValueError, match=rf"w .*blocks of {elements}"):
        mx.load(str(path))
