"""Files of PyTorch's torch.save, for mx.load.

Without arguments: writes and reads random trees of tensors, and compares mx.load with torch.load.
``--record`` writes the files of tests/golden/files_of_torch, and their values to expected.json.
"""

import argparse
import collections
import json
import pathlib
import random
import tempfile
import zipfile

import torch

FILES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "files_of_torch"
DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def network():
    """A few layers, with fixed parameters."""
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)
    )


def layouts():
    """Views of one storage, and tensors without elements or axes."""
    a = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    z = torch.tensor([1 + 2j, 3 - 4j])
    return {
        "whole": a,
        "transposed": a.permute(2, 0, 1),
        "slice": a[1, 1:, ::2],
        "expanded": a[0, :1].expand(3, 4),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "conjugate": z.conj(),
        "negative": (z + 0).conj().imag,
        "channels_last": torch.arange(16.0)
        .reshape(1, 2, 2, 4)
        .to(memory_format=torch.channels_last),
        "again": [a, (a[0], a)],
    }


def checkpoint():
    """Parameters, the states of an optimizer and a schedule, and values beside them."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 2, 5])
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    schedule.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": 3, "large": 2**70, "negative": -5, "loss": 0.25, "name": "é", "done": False,
        "none": None, "bytes": b"\x00\xff", "complex": 1 - 2j, "set": {1, 2}, "tuple": (1, "a"),
        "list": [[], {}], "size": torch.Size([2, 3]), "device": torch.device("cpu"),
        "dtype": torch.float16, "long": "x" * 300,
    }  # fmt: skip


def attributes():
    """A tensor and a parameter with attributes of the program."""
    a, p = torch.arange(3), torch.nn.Parameter(torch.ones(2))
    a.note, p.note = "a", "p"
    return [a, p, torch.nn.Parameter(torch.zeros(1), requires_grad=False)]


def dtypes():
    """Numbers of each dtype."""
    out = {}
    for name in DTYPES:
        dtype = getattr(torch, name)
        values = [0, 1, 1, 0] if name == "bool" else [1, 2, 3, 4]
        out[name] = torch.tensor(values).to(dtype)
        if dtype.is_complex:
            out[name] += torch.tensor(0.5j, dtype=dtype)
    out["float8"] = torch.tensor([1.0, -2.0]).to(torch.float8_e4m3fn)
    return out


def described(value):
    """A value as JSON has it."""
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if name.startswith("float8"):
            value, name = value.view(torch.uint8), "uint8"
        if value.dtype.is_complex:
            value = torch.view_as_real(value.resolve_conj())
        value = value.detach().resolve_neg()
        shape = list(value.shape[:-1] if name.startswith("complex") else value.shape)
        return {"dtype": name, "shape": shape, "values": value.tolist()}
    if isinstance(value, dict):
        return {"dict": [[described(k), described(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple | set):
        kind = "tuple" if isinstance(value, tuple) else type(value).__name__
        return {kind: [described(v) for v in value]}
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, bytes | complex | torch.dtype):
        return {"text": str(value).replace("torch.", "")}
    return value


def record():
    """Write the files of the tests."""
    FILES.mkdir(exist_ok=True)
    good = {
        "state": network().state_dict(), "layouts": layouts(), "dtypes": dtypes(),
        "checkpoint": checkpoint(), "attributes": attributes(), "tensor": torch.arange(4.0),
    }  # fmt: skip
    for name, value in good.items():
        torch.save(value, FILES / f"{name}.pt")
    good["protocol4"] = {"set": {1}, "w": torch.ones(2), "bytes": b"ab"}
    torch.save(good["protocol4"], FILES / "protocol4.pt", pickle_protocol=4)
    expected = {name: described(value) for name, value in good.items()}
    (FILES / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    torch.save(network().state_dict(), FILES / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(network(), FILES / "module.pt")
    torch.save(torch.eye(2).to_sparse(), FILES / "sparse.pt")
    torch.save(argparse.Namespace(a=1), FILES / "namespace.pt")
    torch.jit.script(torch.nn.ReLU()).save(str(FILES / "script.pt"))
    print(f"{len(list(FILES.iterdir()))} files in {FILES}")


def random_tensor(source):
    """A tensor of any dtype and layout."""
    dtype = getattr(torch, source.choice(DTYPES))
    shape = [
        source.randint(0 if source.random() < 0.1 else 1, 4) for _ in range(source.randint(0, 4))
    ]
    a = torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)
    if source.random() < 0.5 and a.dim() > 1:
        a = a.permute(*source.sample(range(a.dim()), a.dim()))
    if source.random() < 0.3 and a.dim() > 0:
        a = a[source.randint(0, a.shape[0]) :]
    if source.random() < 0.3 and a.dim() > 0:
        a = a[..., :: source.randint(1, 3)]
    if source.random() < 0.2:
        a = a.unsqueeze(0).expand(3, *a.shape)
    if source.random() < 0.2 and dtype.is_complex:
        a = a.conj()
    return torch.nn.Parameter(a) if source.random() < 0.2 and dtype.is_floating_point else a


def random_tree(source, depth=0):
    """A container, a tensor or a plain value."""
    kind = source.choice(["tensor", "tensor", "plain", "list", "tuple", "dict", "ordered"])
    if kind == "plain":
        return source.choice([None, True, 1, -(2**40), 1.5, "text", b"\xfe", (), [], {}])
    if kind == "tensor" or depth == 3:
        return random_tensor(source)
    items = [random_tree(source, depth + 1) for _ in range(source.randint(0, 4))]
    if kind in ("list", "tuple"):
        return items if kind == "list" else tuple(items)
    pairs = [(source.choice([str(i), i]), item) for i, item in enumerate(items)]
    return dict(pairs) if kind == "dict" else collections.OrderedDict(pairs)


def compare(count):
    """Random trees through both libraries."""
    import numpy as np

    import mlx.core as mx

    def of_array(value):
        if isinstance(value, mx.array):
            name = str(value.dtype).removeprefix("mlx.core.")
            numbers = value.astype(mx.float32) if name == "bfloat16" else value
            numbers = np.array(numbers)
            if name.startswith("complex"):
                numbers = np.stack([numbers.real, numbers.imag], -1)
            return {"dtype": name, "shape": list(value.shape), "values": numbers.tolist()}
        if isinstance(value, dict):
            return {"dict": [[of_array(k), of_array(v)] for k, v in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [of_array(v) for v in value]}
        return described(value)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.pt"
        for seed in range(count):
            source = random.Random(seed)
            tree = random_tree(source)
            torch.save(tree, path, pickle_protocol=source.choice([2, 2, 3, 4, 5]))
            want = described(torch.load(path, weights_only=False))
            for file in (path, path.open("rb")):
                got = of_array(mx.load(file))
                assert json.dumps(got) == json.dumps(want), f"seed {seed}: {got} is not {want}"
            assert zipfile.is_zipfile(path)
    print(f"{count} random trees are equal")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the files of the tests")
    parser.add_argument("--count", type=int, default=1000, help="random trees; 1000 by default")
    options = parser.parse_args()
    if options.record:
        record()
    else:
        compare(options.count)
