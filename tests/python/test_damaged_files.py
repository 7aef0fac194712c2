"""Damaged and hostile files: FileError that names the file, and little memory."""

import io
import json
import os
import pathlib
import random
import struct
import subprocess
import zipfile

import numpy as np
import pytest
from processes import PYTHON

import mlx.core as mx

pytestmark = pytest.mark.anywhere


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin=0, end=8, dtype="F32", shape=(2,)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def raw(text):
    return text.encode()


EIGHT = bytes(8)
GOOD = '"dtype":"F32","shape":[2],"data_offsets":[0,8]'
WRONG_SAFETENSORS = {
    "trailing bytes": safetensors({"x": entry()}, bytes(9)),
    "a gap": safetensors({"x": entry(1, 9)}, bytes(9)),
    "an overlap": safetensors({"x": entry(), "y": entry(4, 12)}, bytes(12)),
    "the same bytes": safetensors({"x": entry(), "y": entry()}, EIGHT),
    "fewer bytes": safetensors({"x": entry()}, bytes(7)),
    "a fraction": safetensors(
        raw('{"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}'), EIGHT
    ),
    "an exponent": safetensors(
        raw('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8e0]}}'), EIGHT
    ),
    "a bool": safetensors(raw('{"x":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}'), b"1"),
    "a negative length": safetensors({"x": entry(shape=(-2,))}, EIGHT),
    "a huge length": safetensors({"x": entry(shape=(2**63,))}, EIGHT),
    "a product beyond 64 bits": safetensors({"x": entry(shape=(2**33, 2**33, 2))}, EIGHT),
    "a zero among huge lengths": safetensors({"x": entry(0, 0, shape=(2**40, 2**40, 0))}),
    "three offsets": safetensors(
        raw('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}}'), EIGHT
    ),
    "one offset": safetensors(raw('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}}'), EIGHT),
    "nested lists": safetensors(
        raw('{"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}}'), EIGHT
    ),
    "65 axes": safetensors({"x": entry(0, 4, shape=(1,) * 65)}, bytes(4)),
    "a duplicate name": safetensors(raw(f'{{"x":{{{GOOD}}},"x":{{{GOOD}}}}}'), EIGHT),
    "a duplicate field": safetensors(raw(f'{{"x":{{{GOOD},"shape":[2]}}}}'), EIGHT),
    "an unknown field": safetensors(raw(f'{{"x":{{{GOOD},"more":1}}}}'), EIGHT),
    "a missing field": safetensors(raw('{"x":{"dtype":"F32","shape":[2]}}'), EIGHT),
    "an unknown dtype": safetensors({"x": entry(dtype="F99")}, EIGHT),
    "text after a NUL": safetensors(raw(f'{{"x":{{{GOOD}}}}}\0 more'), EIGHT),
    "text after the header": safetensors(raw(f'{{"x":{{{GOOD}}}}} more'), EIGHT),
    "a space before it": safetensors(raw(f' {{"x":{{{GOOD}}}}}'), EIGHT),
    "a list": safetensors(b"[]"),
    "nothing": safetensors(b""),
    "a number for an array": safetensors({"x": 5}),
    "null for an array": safetensors({"x": None}),
    "metadata that is no object": safetensors({"__metadata__": "x"}),
    "metadata that is a list": safetensors({"__metadata__": ["x"]}),
    "metadata with a number": safetensors({"__metadata__": {"x": 1}}),
    "metadata with an object": safetensors({"__metadata__": {"x": {}}}),
    "duplicate metadata": safetensors(b'{"__metadata__":{"x":"1","x":"2"}}'),
    "bytes that are not UTF-8": safetensors(b'{"\xff":1}'),
    "a header beyond the file": struct.pack("<Q", 100) + b"{}",
    "no length": b"1234",
    "deep objects": safetensors(b'{"a":' * 1000 + b"1" + b"}" * 1000),
}


@pytest.mark.parametrize("what", WRONG_SAFETENSORS)
def test_wrong_safetensors_are_refused(what, tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(WRONG_SAFETENSORS[what])
    with pytest.raises(mx.FileError, match=r"a\.safetensors"):
        mx.load(path)
    with pytest.raises(mx.FileError):
        mx.load(io.BytesIO(WRONG_SAFETENSORS[what]), format="safetensors")


def test_a_sound_header_is_read(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors(raw(f'{{"__metadata__":null,"x":{{{GOOD}}}}}  '), EIGHT))
    assert mx.load(path)["x"].tolist() == [0, 0]


def npy(header, data=EIGHT, version=b"\x01\x00"):
    text = header.encode()
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + length + text + data


WRONG_NPY = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2 1), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': 2, }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999999,999999999999999999), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 65 + "), }",
    "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }",
    "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (2,), }",
    "{'descr': '<f4', 'shape': (2,), }",
    "{'descr': '<f4', 'fortran_order': False 'shape': (2,)}",
    "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': 'xf4', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<O8', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } more",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
    "{'descr': '<f4",
    "",
]


def test_wrong_npy_headers_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    wrong = [npy(text) for text in WRONG_NPY]
    wrong += [npy(good, version=b"\x04\x00"), npy(good, version=b"\x00\x00"), npy(good)[:20], b""]
    wrong += [b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**21) + bytes(1 << 21)]
    wrong += [npy(good, data=bytes(7))]
    for content in wrong:
        path.write_bytes(content)
        with pytest.raises(mx.FileError, match=r"a\.npy"):
            mx.load(path)
        with pytest.raises(mx.FileError):
            mx.load(io.BytesIO(content), format="npy")
    for version in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        path.write_bytes(npy(good, version=version))
        assert mx.load(path).tolist() == [0, 0]


def string(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(s)) + s


def gguf(tensors=(), values=(), data=bytes(64), counts=None):
    head = struct.pack("<4sIQQ", b"GGUF", 3, *(counts or (len(tensors), len(values))))
    head += b"".join(values) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


def tensor(name="x", shape=(2,), kind=0, offset=0, rank=None):
    return (
        string(name)
        + struct.pack(f"<I{len(shape)}Q", len(shape) if rank is None else rank, *shape)
        + struct.pack("<IQ", kind, offset)
    )


def number(key, value):
    return string(key) + struct.pack("<II", 4, value)


WRONG_GGUF = {
    "duplicate keys": gguf(values=[number("a", 1), number("a", 1)]),
    "duplicate tensors": gguf([tensor(), tensor(offset=32)]),
    "names that packing makes": gguf(
        [tensor("x.weight", (32,), 2), tensor("x.scales", (1,), 0, 32)]
    ),
    "overlapping tensors": gguf([tensor(shape=(8,)), tensor("y", offset=16)]),
    "a tensor beyond the file": gguf([tensor(offset=1 << 40)]),
    "an offset that wraps": gguf([tensor(offset=2**64 - 32)]),
    "a product beyond 64 bits": gguf([tensor(shape=(2**40, 2**40, 2**40))]),
    "a huge length": gguf([tensor(shape=(2**64 - 1,))]),
    "many axes": gguf([tensor(shape=(1,) * 9)]),
    "half a block": gguf([tensor(shape=(31,), kind=2)]),
    "an alignment of 0": gguf([tensor()], [number("general.alignment", 0)]),
    "a string beyond the file": gguf(values=[struct.pack("<Q", 1 << 40)]),
    "many values": gguf(counts=(0, 1 << 60)),
    "many tensors": gguf(counts=(1 << 60, 0)),
    "a list beyond the file": gguf(values=[string("a") + struct.pack("<IIQ", 9, 4, 1 << 60)]),
    "a list of lists": gguf(values=[string("a") + struct.pack("<IIQ", 9, 9, 1)]),
    "a name that is not UTF-8": gguf([tensor(b"\xff")]),
    "a value that is not UTF-8": gguf(
        values=[string("a") + struct.pack("<I", 8) + string(b"\xff")]
    ),
}


@pytest.mark.parametrize("what", WRONG_GGUF)
def test_wrong_gguf_files_are_refused(what, tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(WRONG_GGUF[what])
    with pytest.raises(mx.FileError, match=r"a\.gguf"):
        mx.load(path, return_metadata=True)
    with pytest.raises(mx.FileError):
        mx.load(io.BytesIO(WRONG_GGUF[what]), format="gguf", return_metadata=True)


# --- archives


def archive(entries, compress=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compress) as z:
        for name, content in entries:
            z.writestr(name, content)
    return out.getvalue()


TWO = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }")


def overlapping():
    """Two entries of the directory at the bytes of one."""
    content = archive([("x.npy", TWO), ("y.npy", TWO)])
    at = [content.index(b"PK\1\2"), content.rindex(b"PK\1\2")]
    first = content[at[0] + 42 : at[0] + 46]
    return content[: at[1] + 42] + first + content[at[1] + 46 :]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_wrong_archives_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    wrong = [
        archive([("x.npy", TWO + b"more")]),
        archive([("x.npy", TWO + b"more")], zipfile.ZIP_DEFLATED),
        archive([("x.npy", TWO), ("x.npy", TWO)]),
        archive([("x.npy", TWO), ("x", TWO)]),
        archive([("x.txt", b"hello")]),
        archive([("x.npy", TWO[:-1])]),
        archive([("x.npy", TWO)], zipfile.ZIP_BZIP2).replace(b"BZh", b"BZx"),
        archive([("x.npy", TWO)], zipfile.ZIP_BZIP2).replace(b"1AY&SY", b"1AY&SX"),
        overlapping(),
        b"PK\3\4",
        b"",
    ]
    for content in wrong:
        path.write_bytes(content)
        with pytest.raises(mx.FileError, match=r"a\.npz"):
            mx.load(path)
        with pytest.raises(mx.FileError):
            mx.load(io.BytesIO(content), format="npz")
    path.write_bytes(archive([("x.npy", TWO)], zipfile.ZIP_BZIP2))
    assert mx.load(path)["x"].tolist() == [0, 0]


def sound_files():
    out = {}
    x = {"x": mx.arange(6).astype(mx.float32).reshape(2, 3), "y": mx.zeros((), mx.int32)}
    for kind, save in [("npy", lambda f: mx.save(f, x["x"])), ("npz", lambda f: mx.savez(f, **x))]:
        f = io.BytesIO()
        save(f)
        out[kind] = f.getvalue()
    f = io.BytesIO()
    mx.save_safetensors(f, x, {"a": "b"})
    out["safetensors"] = f.getvalue()
    f = io.BytesIO()
    np.savez_compressed(f, **{k: np.array(v) for k, v in x.items()})
    out["npz compressed"] = f.getvalue()
    values = [number("a", 1), string("s") + struct.pack("<I", 8) + string("text")]
    out["gguf"] = gguf([tensor(), tensor("q.weight", (32,), 8, 32)], values, bytes(96))
    return out


@pytest.mark.parametrize("kind", ["npy", "npz", "npz compressed", "safetensors", "gguf"])
def test_flipped_and_missing_bytes_give_a_file_error_or_an_array(kind, tmp_path):
    """No other class of error, from paths and from file objects."""
    sound, rng = sound_files()[kind], random.Random(kind)
    path, form = tmp_path / "a", kind.split()[0]
    refused = 0
    for i in range(150):
        content = bytearray(sound)
        for _ in range(rng.choice([1, 1, 2, 5])):
            content[rng.randrange(len(content))] = rng.choice([0, 255, 32, rng.randrange(256)])
        if i % 4 == 0:
            del content[rng.randrange(len(content)) :]
        path.write_bytes(content)
        for source in (path, io.BytesIO(bytes(content))):
            try:
                loaded = mx.load(source, format=form)
                mx.eval(loaded)
            except mx.FileError:
                refused += 1
    assert refused > 20


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors", "gguf"])
def test_errors_that_a_file_object_raises_are_passed_on(kind):
    class Own(Exception):
        pass

    class Failing(io.BytesIO):
        error = Own("mine")

        def read(self, *n):
            # zipfile takes errors at the end, where it looks for the directory, for no archive.
            if (self.tell() < 20) if kind == "npz" else (self.tell() > 4):
                raise self.error
            return super().read(*n)

    for error in (Own("mine"), OSError(5, "the disk"), KeyboardInterrupt()):
        f = Failing(sound_files()[kind])
        f.error = error
        with pytest.raises(type(error)) as caught:
            mx.load(f, format=kind)
        assert caught.value is error


# --- what is no file


def test_fifos_devices_and_directories_are_refused_at_once(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, pathlib.Path("/dev/zero")):
        for form in (None, "npy", "npz", "safetensors", "gguf"):
            with pytest.raises(mx.FileError, match="not a regular file"):
                mx.load(path, format=form)
        with pytest.raises(mx.FileError, match="not a regular file"):
            mx.import_function(str(path))
    for missing in (tmp_path / "missing", tmp_path / "missing.npz", fifo / "x.npy", "a\0b.npy", ""):
        with pytest.raises(mx.FileError):
            mx.load(missing)


# --- memory: in a process of its own, whose address space is limited


LIMITED = """
import pathlib, sys
import mlx.core as mx
mx.eval(mx.ones(5) + 1)
def peak():
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024
start = peak()
try:
    print(mx.load(sys.argv[1]))
except mx.FileError as e:
    print("FileError")
print(peak() - start)
"""


def growth(path):
    ran = subprocess.run(
        [*PYTHON, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    *said, mb = ran.stdout.split()
    # The address sanitizer keeps freed memory.
    return said, float(mb) if "asan" not in os.environ.get("LD_PRELOAD", "") else 0


def test_an_archive_that_unpacks_to_much_more_than_its_array(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z, z.open("x.npy", "w") as f:
        f.write(TWO)
        for _ in range(100):
            f.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    said, mb = growth(path)
    assert said == ["FileError"] and mb < 30


@pytest.mark.parametrize(
    "text",
    [b'{"a":' * 600_000, b'{"a":{' + b'"b":{},' * 500_000, b"[" * 3_000_000],
    ids=["deep objects", "many objects", "deep lists"],
)
def test_headers_that_would_be_large_trees(text, tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors(text))
    said, mb = growth(path)
    assert said == ["FileError"] and mb < 20
