"""Files of PyTorch's torch.save: their values, and the programs in them that do not run.

The files of tests/golden/files_of_torch were written by PyTorch (tests/peers/torch_files.py), as
were the values in expected.json. The others are written here.
"""

import io
import json
import pathlib
import pickle
import random
import struct
import sys
import zipfile

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

pytestmark = pytest.mark.anywhere

FILES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "files_of_torch"
EXPECTED = json.loads((FILES / "expected.json").read_text())


def described(value):
    """A value as expected.json has it."""
    if isinstance(value, mx.array):
        name = str(value.dtype).removeprefix("mlx.core.")
        numbers = value.astype(mx.float32) if name == "bfloat16" else value
        if name.startswith("complex"):
            numbers = mx.stack([value.real, value.imag], -1)
        return {"dtype": name, "shape": list(value.shape), "values": numbers.tolist()}
    if isinstance(value, dict):
        return {"dict": [[described(k), described(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple | set):
        return {type(value).__name__: [described(v) for v in value]}
    if isinstance(value, bytes | complex | mx.Dtype):
        return {"text": str(value).removeprefix("mlx.core.")}
    return value


def archive(program, storages=(), order=b"little", folder="net", method=zipfile.ZIP_STORED):
    """The bytes of a file: a pickle, and the bytes of the storages 0, 1, ….."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out:
        out.writestr(f"{folder}/data.pkl", program)
        if order is not None:
            out.writestr(f"{folder}/byteorder", order)
        for key, data in enumerate(storages):
            out.writestr(f"{folder}/data/{key}", data)
    return file.getvalue()


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def name(s):
    module, _, attribute = s.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def number(n):
    return b"J" + struct.pack("<i", n)


def numbers(values):
    return b"(" + b"".join(number(n) for n in values) + b"t"


def storage(kind="torch.FloatStorage", key="0", count=4):
    return b"(" + text("storage") + name(kind) + text(key) + text("cpu") + number(count) + b"tQ"


def tensor(stored=None, offset=0, shape=(4,), strides=(1,), more=b"\x89N"):
    """A call that makes a tensor of a storage."""
    arguments = (stored or storage()) + number(offset) + numbers(shape) + numbers(strides) + more
    return name("torch._utils._rebuild_tensor_v2") + b"(" + arguments + b"tR"


def program(body):
    return b"\x80\x02" + body + b"."


NUMBERS = np.arange(4, dtype="<f4").tobytes()


@pytest.mark.parametrize("which", EXPECTED)
def test_values(which, tmp_path):
    """The values of PyTorch's own files, by path and as file objects, under any name."""
    path = FILES / f"{which}.pt"
    assert described(mx.load(path)) == EXPECTED[which]
    assert described(mx.load(str(path), stream=mx.cpu)) == EXPECTED[which]
    with path.open("rb") as file:
        assert described(mx.load(file)) == EXPECTED[which]
    other = tmp_path / "pytorch_model.bin"
    other.write_bytes(path.read_bytes())
    assert described(mx.load(other)) == described(mx.load(other, format="pt")) == EXPECTED[which]


def test_parameters_of_a_network():
    """Names and parameters of a state dict are those of the layers here."""
    weights = mx.load(FILES / "state.pt")
    weights = {f"layers.{k}": v for k, v in weights.items() if not k.endswith("tracked")}
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Linear(4, 2))
    model.load_weights(list(weights.items()))
    for key, value in tree_flatten(model.parameters()):
        assert mx.array_equal(value, weights[key]).item()


def test_tensors_are_read_when_they_are_used(tmp_path):
    """A file that changes in between is an error that names the entry."""
    path = tmp_path / "net.pt"
    path.write_bytes(archive(program(tensor()), [NUMBERS]))
    a, b = mx.load(path), mx.load(path)
    assert a.tolist() == [0, 1, 2, 3]
    path.write_bytes(b"")
    with pytest.raises(mx.FileError, match=r"net\.pt"):
        mx.eval(b)
    assert a.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "int16"])
def test_the_other_byte_order(dtype):
    """Files of machines with the other order of bytes."""
    kinds = {"float32": "Float", "int64": "Long", "complex64": "ComplexFloat", "int16": "Short"}
    stored = storage(f"torch.{kinds[dtype]}Storage")
    values = np.array([1, -2, 3, 258]).astype(dtype)
    data = values.astype(values.dtype.newbyteorder(">")).tobytes()
    a = mx.load(io.BytesIO(archive(program(tensor(stored)), [data], b"big")))
    assert a.tolist() == values.tolist() and a.dtype == getattr(mx, dtype)


def test_files_without_an_order_are_little():
    """PyTorch writes the order since version 2.1."""
    assert mx.load(io.BytesIO(archive(program(tensor()), [NUMBERS], None))).tolist() == [0, 1, 2, 3]


BYTES = storage("torch.storage.UntypedStorage", count=16)
WRONG = {
    "a function of the system": (name("posix.system") + text("true") + b"\x85R", r"posix\.system"),
    "a class of the program": (name("__main__.Net") + b")\x81", r"__main__\.Net.*state_dict"),
    "a function in two parts": (text("os") + text("system") + b"\x93", r"os\.system"),
    "a function of builtins": (name("builtins.eval") + text("1") + b"\x85R", r"builtins\.eval"),
    "an attribute of a function": (
        name("torch._utils._rebuild_tensor_v2") + b"}" + text("__defaults__") + b")sb",
        "an instruction",
    ),
    "attributes of a list": (b"]}b", "dict"),
    "an instruction of protocol 0": (b"I5\n", "the instruction INT"),
    "an extension": (b"\x82\x01", "the instruction EXT1"),
    "an object": (b"(" + name("torch.Size") + b"o", "the instruction OBJ"),
    "a call of an array": (tensor() + b")R", "a call of a value of type array"),
    "a call of a class": (name("torch.Tensor") + b")R", r"a call of torch\.Tensor"),
    "no arguments": (name("torch.Size") + b")R", r"torch\.Size with 0 arguments"),
    "a list of arguments": (name("torch.Size") + b"]R", r"a call of torch\.Size"),
    "a shape of text": (name("torch.Size") + text("a") + b"\x85R", "shape"),
    "a tensor of a number": (tensor(number(3)), "a storage is accepted"),
    "elements beyond the storage": (tensor(shape=(5,)), "elements 0 to 4 of 4"),
    "an offset beyond it": (tensor(offset=4, shape=(1,)), "elements 4 to 4 of 4"),
    "a stride beyond it": (tensor(shape=(2,), strides=(4,)), "elements 0 to 4 of 4"),
    "a negative offset": (tensor(offset=-1), "elements -1 to 2 of 4"),
    "a negative length": (tensor(shape=(-1,)), r"shape is \(-1,\)"),
    "a negative stride": (tensor(strides=(-1,)), r"strides is \(-1,\)"),
    "a stride too few": (tensor(shape=(2, 2)), "2 lengths and 1 strides"),
    "65 axes": (tensor(shape=(1,) * 65, strides=(1,) * 65), "axes"),
    "a missing storage": (tensor(storage(key="7")), "no entry data/7"),
    "a path as key": (tensor(storage(key="../data.pkl")), "data"),
    "a storage of another length": (tensor(storage(count=3)), "16 bytes; 3 elements"),
    "a huge storage": (tensor(storage(count=2**31 - 1)), "16 bytes"),
    "a negative storage": (tensor(storage(count=-4)), "storage"),
    "a storage with two classes": (
        tensor() + tensor(storage("torch.IntStorage")) + b"\x86", "IntStorage and as"
    ),
    "a storage of numbers for quantization": (tensor(storage("torch.QInt8Storage")), "QInt8"),
    "a storage of no storage's class": (tensor(storage("torch.Size")), r"torch\.Size"),
    "a reference to text": (text("0") + b"Q", "a reference to a value of type str"),
    "a storage alone": (storage(), "a storage outside of a tensor"),
    "a function alone": (name("torch.Size") + b"\x85", r"torch\.Size outside of a tensor"),
    "a list as key": (b"}]Ns", "a key"),
    "a tuple as key": (b"})Ns", "a key"),
    "a key without a value": (b"}(Nu", "without a value"),
    "items of a number": (number(1) + b"(Ne", "for a list"),
    "a set of lists": (b"\x8f(]\x90", "a key"),
    "no mark": (b"Nt", "without a mark"),
    "no operand": (b"\x85", "without its operand"),
    "a mark as operand": (b"(\x85", "without its operand"),
    "a value that was not kept": (b"h\x05", "the value 5"),
    "a mark as result": (b"(", "leaves 1 values"),
    "two results": (b"NN", "leaves 2 values"),
    "no result": (b"", "leaves 0 values"),
    "an unknown instruction": (b"\xff", "unknown"),
    "a string that ends early": (b"X\xff\xff\xff\x7fab", "remain"),
    "a dict of numbers": (
        name("collections.OrderedDict") + b"(K\x01K\x02t\x85R", "other items than pairs"
    ),
    "text that is no bytes": (
        name("_codecs.encode") + text("\u20ac") + text("latin1") + b"\x86R", "decode"
    ),
    "another encoding": (name("_codecs.encode") + text("a") + text("rot13") + b"\x86R", "encode"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_programs_are_refused(what, tmp_path):
    """FileError with the name of the file; nothing is imported or called."""
    body, message = WRONG[what]
    path = tmp_path / "net.pt"
    path.write_bytes(archive(program(body), [NUMBERS]))
    with pytest.raises(mx.FileError, match=message) as error:
        mx.load(path)
    assert str(error.value).startswith(f"[load] {path}: ")
    with pytest.raises(mx.FileError, match=message):
        mx.load(io.BytesIO(archive(program(body), [NUMBERS])))


def test_no_module_is_imported(tmp_path, monkeypatch):
    """Also none whose name a function that is known could have."""
    (tmp_path / "hidden_module.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for body in (name("hidden_module.f"), text("hidden_module") + text("f") + b"\x93"):
        with pytest.raises(mx.FileError, match=r"the global hidden_module\.f"):
            mx.load(io.BytesIO(archive(program(body))))
    assert "hidden_module" not in sys.modules


class Runs:
    """An object whose pickle calls a function."""

    def __reduce__(self):
        return pytest.fail, ("a program of the file ran",)


@pytest.mark.parametrize("protocol", range(6))
def test_programs_do_not_run(protocol):
    """A pickle of each protocol that would call a function."""
    for value in (Runs(), {"model": Runs()}, [Runs()]):
        with pytest.raises(mx.FileError):
            mx.load(io.BytesIO(archive(pickle.dumps(value, protocol))))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_values_of_each_protocol(protocol):
    """Containers, numbers and strings as pickle itself writes them."""
    same = ["a", 1]
    value = {
        "a": [1, -1, 255, 65535, 2**31, -(2**100), 0.5, True, False, None],
        "strings": ["é" * 300, b"\xff" * 300],
        "b": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), 3: {1: {2: {}}}, None: {"x", "y"},
        "same": [same, same], "f": {1.5: 1j}, "long": list(range(2000)),
    }  # fmt: skip
    out = mx.load(io.BytesIO(archive(pickle.dumps(value, protocol))))
    assert out == value and list(out) == list(value) and out["same"][0] is out["same"][1]


def test_structures_that_take_for_ever_to_compare():
    """Nested tuples as keys would recurse; lists that double print endlessly."""
    deep = b")" + b"\x85" * 1_000_000
    for body in (b"}" + deep + b"Ns", deep + b"Q", deep + b")R", tensor(deep)):
        with pytest.raises(mx.FileError):
            mx.load(io.BytesIO(archive(program(body))))
    double = b"]" + b"q\x00h\x00\x86" * 60
    with pytest.raises(mx.FileError):
        mx.load(io.BytesIO(archive(program(tensor(double)))))
    assert len(mx.load(io.BytesIO(archive(program(double))))) == 2
    ring = mx.load(io.BytesIO(archive(program(b"]q\x00h\x00a"))))
    assert ring[0] is ring


def test_a_number_of_a_value_takes_no_memory():
    """Values are kept by numbers, and a table of that length is not made."""
    body = b"Nr\xff\xff\xff\x7fj\xff\xff\xff\x7f\x86"
    assert mx.load(io.BytesIO(archive(program(body)))) == (None, None)


REFUSED = {
    "legacy.pt": r"is no archive.*since PyTorch 1\.6.*torch\.save\(model\.state_dict\(\), path\)",
    "module.pt": r"the global torch\.nn\.modules\.container\.Sequential; tensors.*state_dict",
    "script.pt": r"a program of torch\.jit\.save; write the file again",
    "sparse.pt": r"the global torch\._utils\._rebuild_sparse_tensor",
    "namespace.pt": r"the global argparse\.Namespace",
}


@pytest.mark.parametrize("which", REFUSED)
def test_other_files_of_pytorch_are_refused(which, tmp_path):
    """With the name of what is not read, and how a file is written that is."""
    with pytest.raises(mx.FileError, match=REFUSED[which]):
        mx.load(FILES / which)
    (tmp_path / "pytorch_model.bin").write_bytes((FILES / which).read_bytes())
    with pytest.raises(mx.FileError, match=REFUSED[which]):
        mx.load(tmp_path / "pytorch_model.bin")
    with (FILES / which).open("rb") as file, pytest.raises(mx.FileError, match=REFUSED[which]):
        mx.load(file)


def test_wrong_archives_are_refused(tmp_path):
    """Other byte orders, compressed or missing entries, no archive at all, metadata."""
    good, path = program(tensor()), tmp_path / "net.pth"
    wrong = {
        "the byte order": archive(good, [NUMBERS], b"middle"),
        "compressed": archive(good, [NUMBERS], method=zipfile.ZIP_DEFLATED),
        "of bytes, in the byte order big": archive(program(tensor(BYTES)), [NUMBERS], b"big"),
        "no entry data/0": archive(good),
        "16 elements|has": archive(good, [NUMBERS[:-1]]),
        "is no archive": pickle.dumps([1]),
        "no archive": b"",
        "net.pth": archive(good, [NUMBERS])[:-30],
    }
    for message, content in wrong.items():
        path.write_bytes(content)
        with pytest.raises(mx.FileError, match=message):
            mx.load(path)
    two = io.BytesIO(archive(good, [NUMBERS]))
    with zipfile.ZipFile(two, "a") as out:
        out.writestr("other/data.pkl", good)
    two.seek(0)
    with pytest.raises(mx.FileError, match=r"2 entries data\.pkl"):
        mx.load(two)
    npz = io.BytesIO()
    mx.savez(npz, a=mx.ones(2))
    npz.seek(0)
    with pytest.raises(mx.FileError, match=r"0 entries data\.pkl"):
        mx.load(npz, format="pt")
    with pytest.raises(ValueError, match="metadata of the format pt"):
        mx.load(FILES / "state.pt", format="pt", return_metadata=True)
    with pytest.raises(ValueError, match="npy, npz, safetensors, gguf and pt are accepted"):
        mx.load(FILES / "state.pt", format="pth")


def arrays_in(value, seen):
    """All arrays of a tree that may contain itself."""
    if isinstance(value, mx.array):
        yield value
    elif isinstance(value, dict | list | tuple) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(item, seen)


def mutated(data, source):
    """Some bytes changed, left out, doubled or exchanged."""
    data = bytearray(data)
    for _ in range(source.randint(1, 3)):
        i, n = source.randrange(len(data)), source.randint(1, 8)
        match source.randrange(4):
            case 0:
                data[i] = source.choice([source.randrange(256), data[i] ^ 1 << source.randrange(8)])
            case 1:
                del data[i : i + n]
            case 2:
                data[i:i] = data[i : i + n]
            case _:
                j = source.randrange(len(data))
                data[i : i + n] = data[j : j + n]
        data = data or bytearray(b".")
    return bytes(data)


@pytest.mark.parametrize("which", ["state", "layouts", "checkpoint", "protocol4", "attributes"])
def test_mutated_files_are_read_or_refused(which, tmp_path):
    """A FileError or arrays that can be computed; no other error."""
    content = (FILES / f"{which}.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as whole:
        entries = [(info.filename, whole.read(info)) for info in whole.infolist()]
    source, path, refused = random.Random(which), tmp_path / "net.pt", 0
    for round_ in range(400):
        if round_ % 4 == 0:
            path.write_bytes(mutated(content, source))
        else:
            with zipfile.ZipFile(path, "w") as out:
                for entry, data in entries:
                    program_ = entry.endswith("data.pkl")
                    out.writestr(entry, mutated(data, source) if program_ else data)
        try:
            arrays = [a for a in arrays_in(mx.load(path), set()) if a.size < 1 << 20]
            mx.eval(arrays)
        except mx.FileError as e:
            refused += "net.pt" in str(e)
    assert 100 < refused <= 400
