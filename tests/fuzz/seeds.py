"""Write the files that fuzzing starts from: python tests/fuzz/seeds.py FOLDER

A folder for each format, with small files of every dtype and every feature of the format, written
with the build that is to be fuzzed; and one for each kind of text that is parsed.
"""

import pathlib
import random
import re
import struct
import sys

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "golden")]

import cases  # noqa: E402
from cases.table import device_array  # noqa: E402

DTYPES = "bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64"
SHAPES = [(), (0,), (3,), (2, 3), (1, 2, 2)]
FOLDERS = ("npy", "safetensors", "gguf", "function", "einsum", "signature", "handles", "ranks")
GGUF_BLOCKS = {2: 18, 3: 20, 8: 34, 6: 22, 7: 24, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210}


def arrays():
    """Small arrays by name, of every dtype and several shapes."""
    for dtype in [*DTYPES.split(), "complex64"]:
        for shape in SHAPES:
            name = dtype + "x".join(map(str, shape))
            yield name, mx.ones(shape).astype(getattr(mx, dtype))


def write_arrays(folder):
    """Files of .npy and safetensors."""
    made = dict(arrays())
    for name, a in made.items():
        mx.save(folder / "npy" / name, a)
        mx.save_safetensors(folder / "safetensors" / name, {"x": a})
    mx.save_safetensors(folder / "safetensors" / "many", made, {"format": "mlx", "note": "ä"})
    mx.save_safetensors(folder / "safetensors" / "none", {})
    text = b"{'descr': '>f4', 'fortran_order': True, 'shape': (2, 1), }\n"
    for version in (1, 2, 3):
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        head = b"\x93NUMPY" + bytes([version, 0]) + length
        (folder / "npy" / f"version{version}").write_bytes(head + text + bytes(8))


def write_gguf(folder):
    """Files of GGUF: plain tensors, metadata, a file for each block format."""
    plain = {n: a for n, a in arrays() if n.startswith(("int8", "int32", "float16", "float32"))}
    values = {"text": "ä", "list": ["a", ""], "n": mx.array(3), "v": mx.array([1.5, 2.5])}
    mx.save_gguf(folder / "gguf" / "plain", plain, values)
    mx.save_gguf(folder / "gguf" / "none", {}, {"general.alignment": mx.array(64, mx.uint32)})
    for kind, size in GGUF_BLOCKS.items():
        length = 32 if size < 40 else 256
        head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + struct.pack("<Q", 8) + b"t.weight"
        head += struct.pack("<IQQIQ", 2, length, 2, kind, 0)
        content = head + bytes(-len(head) % 32) + bytes(range(2 * size % 251)) + bytes(2 * size)
        (folder / "gguf" / f"type{kind}").write_bytes(content)


def write_functions(folder):
    """A function file for each row of the case lists that is small."""
    for family in cases.names():
        for i, row in enumerate(cases.families(family)):
            if not row.traced or (family == "elementwise" and i % 10):
                continue
            dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
            given = [device_array(v) for v in row.host_inputs(dtype)]
            path = folder / "function" / f"{family}{i}"
            mx.export_function(str(path), row.results, *given)
            if path.stat().st_size > 4096:
                path.unlink()


EINSUMS = r"""
23,34\nij,jk->ik; 23,34\nij,jk; 33\nii; 33\nii->i; 23\nij->ji; 2,3\ni,j->ij; 234,2345\nbij,bijk->bk;
,\n,; 23,3\n ij , j -> i; 223,234\n...ij,...jk->...ik; 322,12\n...ab,...b; 2322\n...ii->i...;
222,222\nabc,cba->; 21,23\nij,ij->j; 2,2,2,2,2,2,2,2,2\na,a,b,b,c,c,d,d,e->e; 03,32\nij,jk->ik;
99,99\nij,jk->ik; 92\nij->j; 23\nij->ijj; 23\nij->k; 23\ni; 23,34\nij;
23\nij->i->j; 23\ni.j; 23\n......
"""

SIGNATURES = """
f(); f(a, /); f(a: int = 0, *, b: str = ')'); f(a: str = ' = ', b: str = ",");
f(*a: array, **b) -> None
f(a:= None); f(a: = 1); f(a,, b); f(a, a); f(*, *); f(/); f(a, /, /); f(**a, b); f(*a = 1);
f(a: x = )
f(a; f a); f(a: list[int); f(a: '); f(a: int)]
"""


def write_texts(folder):
    """Subscripts with the lengths of axes, and the signatures of functions and methods."""
    for i, text in enumerate(EINSUMS.replace("\n", "").split(";")):
        (folder / "einsum" / str(i)).write_text(text.strip(" ").replace("\\n", "\n"))
    for i, text in enumerate(re.split("[;\n]", SIGNATURES)):
        (folder / "signature" / str(i)).write_text(text.strip())
    bound = [*vars(mx).items(), *vars(mx.linalg).items(), *vars(mx.array).items()]
    for name, function in bound:
        for i, (text, *_) in enumerate(getattr(function, "__nb_signature__", ())):
            (folder / "signature" / f"{name}{i}").write_text(text.removeprefix("def "))


HOSTFILES = ['[["10.0.0.1:5000"], ["[::1]:1", "a:65535"]]', '{"hosts": []}', "[[]]", '[["a:0"]]']
HEADER = "<IBBHIiQQqQI76s"  # as in mlx/distributed/order.h
MAGIC = 0x6D6C7802


def write_ranks(folder):
    """Hostfiles, headers of two ranks with each kind and several dtypes, and last words."""
    for i, text in enumerate(HOSTFILES):
        (folder / "ranks" / f"hosts{i}").write_text(text)
    for kind in range(12):
        pair = [
            struct.pack(HEADER, MAGIC, kind, kind + k, 2, 0, -1, 7, 9, 100, 400, k, b"train.py:3")
            for k in range(2)
        ]
        (folder / "ranks" / str(kind)).write_bytes(b"".join(pair))
    for kind, text in enumerate((b"", b"", b"[all_sum] lost", b"rank 1 ended")):
        words = b"w" + struct.pack("<II", kind, len(text)) + text
        (folder / "ranks" / f"words{kind}").write_bytes(words)


def main():
    """Write all of them."""
    folder = pathlib.Path(sys.argv[1])
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_arrays(folder)
    write_gguf(folder)
    write_texts(folder)
    write_functions(folder)
    write_ranks(folder)
    for seed in range(8):  # sequences of calls are any bytes
        numbers = random.Random(seed)
        (folder / "handles" / str(seed)).write_bytes(numbers.randbytes(300))


if __name__ == "__main__":
    main()
