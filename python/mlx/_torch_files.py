"""Files of ``torch.save``, read without running a program that is in them.

Such a file is an archive: ``data.pkl`` describes an object, ``data/KEY`` are the bytes of a
storage. The description is a pickle, a program that may call any function. The machine here knows
the instructions, functions and classes alone that ``torch.save`` writes for tensors, numbers,
strings and their containers, and refuses every other one. Nothing is imported by a name in a file.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mlx import core as mx

#: How a file becomes one that is read.
ADVICE = "write the file again with torch.save(model.state_dict(), path)"
#: The entries before which an archive has a folder.
OBJECT, SCRIPT, ORDER = "data.pkl", "constants.pkl", "byteorder"


@dataclass(frozen=True, slots=True)
class _Global:
    """A function or class that a file names."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    """The elements that tensors are views of."""

    array: mx.array


class _Mark:
    """The bottom of the items that the next instruction takes."""


MARK = _Mark()
#: The storages of one dtype; a storage without a dtype counts bytes.
STORAGES: dict[str, mx.Dtype] = {
    "torch.BFloat16Storage": mx.bfloat16,
    "torch.BoolStorage": mx.bool_,
    "torch.ByteStorage": mx.uint8,
    "torch.CharStorage": mx.int8,
    "torch.ComplexDoubleStorage": mx.complex128,
    "torch.ComplexFloatStorage": mx.complex64,
    "torch.DoubleStorage": mx.float64,
    "torch.FloatStorage": mx.float32,
    "torch.HalfStorage": mx.float16,
    "torch.IntStorage": mx.int32,
    "torch.LongStorage": mx.int64,
    "torch.ShortStorage": mx.int16,
    "torch.UntypedStorage": mx.uint8,
    "torch.storage.UntypedStorage": mx.uint8,
}
#: dtypes of PyTorch. 8-bit floats are read as bytes, as those of safetensors files are.
DTYPES: dict[str, mx.Dtype] = {
    "torch.bfloat16": mx.bfloat16,
    "torch.bool": mx.bool_,
    "torch.complex128": mx.complex128,
    "torch.complex64": mx.complex64,
    "torch.float16": mx.float16,
    "torch.float32": mx.float32,
    "torch.float64": mx.float64,
    "torch.float8_e4m3fn": mx.uint8,
    "torch.float8_e5m2": mx.uint8,
    "torch.float8_e8m0fnu": mx.uint8,
    "torch.int16": mx.int16,
    "torch.int32": mx.int32,
    "torch.int64": mx.int64,
    "torch.int8": mx.int8,
    "torch.uint16": mx.uint16,
    "torch.uint32": mx.uint32,
    "torch.uint64": mx.uint64,
    "torch.uint8": mx.uint8,
}
#: Classes that stand among the arguments of functions.
TENSORS = {"torch.Tensor", "torch.nn.parameter.Parameter"}


def _kind(value: Any) -> str:
    """The name of a value in messages. Its text may be endless."""
    return value.name if type(value) is _Global else f"a value of type {type(value).__name__}"


def _lengths(what: str, values: Any) -> tuple[int, ...]:
    """The shape or the strides of a tensor."""
    if type(values) is not tuple or not all(type(n) is int for n in values):
        raise ValueError(f"{_kind(values)} as the {what} of a tensor")
    if not all(0 <= n < 1 << 63 for n in values):
        raise ValueError(f"a tensor whose {what} is {values!s:.100}")
    return values


class _Functions:
    """The functions that a file may call, by their names in PyTorch and Python."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.by_name: dict[str, Callable[..., Any]] = {
            "__builtin__.complex": self.to_complex,
            "__builtin__.set": self.to_set,
            "_codecs.encode": self.to_bytes,
            "builtins.complex": self.to_complex,
            "builtins.set": self.to_set,
            "collections.Counter": self.to_dict,
            "collections.OrderedDict": self.to_dict,
            "torch.Size": self.size,
            "torch._tensor._rebuild_from_type_v2": self.of_type,
            "torch._utils._rebuild_parameter": self.parameter,
            "torch._utils._rebuild_parameter_with_state": self.parameter,
            "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v2": self.tensor,
            "torch._utils._rebuild_tensor_v3": self.tensor_of_dtype,
            "torch.device": self.device,
        }

    def __call__(self, what: Any, arguments: Any) -> Any:
        function = self.by_name.get(what.name) if type(what) is _Global else None
        if function is None or type(arguments) is not tuple:
            raise ValueError(f"a call of {_kind(what)}")
        try:
            return function(*arguments)
        except TypeError as e:
            raise ValueError(f"a call of {what.name} with {len(arguments)} arguments") from e

    def to_dict(self, items: Any = ()) -> dict[Any, Any]:
        pairs = list(items.items()) if type(items) is dict else items
        if type(pairs) not in (list, tuple):
            raise ValueError(f"a dict of {_kind(items)}; pairs are accepted")
        if not all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs):
            raise ValueError("a dict of other items than pairs")
        return {_key(key): value for key, value in pairs}

    def to_set(self, items: Any = ()) -> set[Any]:
        if type(items) not in (list, tuple):
            raise ValueError(f"a set of {_kind(items)}; a list is accepted")
        return {_key(item) for item in items}

    def to_bytes(self, text: Any, encoding: Any) -> bytes:
        if type(text) is not str or encoding != "latin1":
            raise ValueError("a call of _codecs.encode with other arguments than bytes have")
        return text.encode("latin1")

    def to_complex(self, real: Any, imaginary: Any) -> complex:
        if type(real) is not float or type(imaginary) is not float:
            raise ValueError("a complex number of other parts than floats")
        return complex(real, imaginary)

    def size(self, lengths: Any) -> tuple[int, ...]:
        return _lengths("shape", lengths)

    def device(self, kind: Any, index: Any = None) -> str:
        if type(kind) is not str or type(index) not in (int, type(None)):
            raise ValueError("a device of another value than a name and a number")
        return kind if index is None else f"{kind}:{index}"

    def tensor(
        self, storage: Any, offset: Any, shape: Any, strides: Any, grad: Any = False,
        hooks: Any = None, bits: Any = None,
    ) -> mx.array:  # fmt: skip
        if type(storage) is not _Storage:
            raise ValueError(f"a tensor of {_kind(storage)}; a storage is accepted")
        return self.view(storage.array, offset, shape, strides, bits)

    def tensor_of_dtype(
        self, storage: Any, offset: Any, shape: Any, strides: Any, grad: Any, hooks: Any,
        dtype: Any, bits: Any = None,
    ) -> mx.array:  # fmt: skip
        if type(storage) is not _Storage or type(dtype) is not mx.Dtype:
            raise ValueError(
                f"a tensor of {_kind(storage)} and {_kind(dtype)}; storage and dtype are accepted"
            )
        elements = storage.array
        if elements.size % dtype.size:
            raise ValueError(f"a storage of {elements.size} bytes as {dtype}")
        return self.view(elements.view(dtype, stream=self.stream), offset, shape, strides, bits)

    def view(
        self, elements: mx.array, offset: Any, shape: Any, strides: Any, bits: Any
    ) -> mx.array:
        """The tensor that a storage, a position, a shape and strides describe."""
        shape, strides = _lengths("shape", shape), _lengths("strides", strides)
        if type(offset) is not int or len(shape) != len(strides):
            raise ValueError(f"a tensor with {len(shape)} lengths and {len(strides)} strides")
        if 0 in shape:
            return mx.zeros(shape, elements.dtype, stream=self.stream)
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if not 0 <= offset <= last < elements.size:
            raise ValueError(f"a tensor of elements {offset} to {last} of {elements.size}")
        a = mx.as_strided(elements, shape, strides, offset, stream=self.stream)
        for name, change in (("conj", mx.conjugate), ("neg", mx.negative)):
            if type(bits) is dict and bits.get(name) is True:
                a = change(a, stream=self.stream)
        return a

    def parameter(self, data: Any, grad: Any, hooks: Any, state: Any = None) -> mx.array:
        if type(data) is not mx.array:
            raise ValueError(f"a parameter of {_kind(data)}; a tensor is accepted")
        return data

    def of_type(self, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
        """A tensor with attributes, which are left out."""
        if type(kind) is not _Global or kind.name not in TENSORS:
            raise ValueError(f"a tensor of the class {_kind(kind)}")
        return self(function, arguments)


def _key(value: Any) -> Any:
    """A key of a dict, or an item of a set. Comparisons of containers may take for ever."""
    if type(value) not in (str, int, float, bool, bytes, type(None)):
        raise ValueError(f"{_kind(value)} as a key; strings and numbers are accepted")
    return value


class _Machine:
    """Runs the instructions of a pickle: a stack, and values by number."""

    def __init__(self, call: Callable[[Any, Any], Any], storage: Callable[[Any], _Storage]) -> None:
        self.call, self.storage = call, storage
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, pickle: bytes) -> Any:
        """The object that a pickle describes."""
        for code, argument, at in pickletools.genops(pickle):
            step = STEPS.get(code.name)
            if step is None:
                raise ValueError(f"the instruction {code.name} at byte {at} of {OBJECT}; {ADVICE}")
            step(self, argument)
        if len(self.stack) != 1 or self.stack[0] is MARK:
            raise ValueError(f"{OBJECT} leaves {len(self.stack)} values; one is accepted")
        return self.stack[0]

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is MARK:
            raise ValueError(f"an instruction of {OBJECT} without its operand")
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        """The items above the last mark."""
        items: list[Any] = []
        while self.stack and self.stack[-1] is not MARK:
            items.append(self.stack.pop())
        if not self.stack:
            raise ValueError(f"an instruction of {OBJECT} without a mark")
        self.stack.pop()
        return items[::-1]

    def top(self, kind: type) -> Any:
        if not self.stack or type(self.stack[-1]) is not kind:
            raise ValueError(
                f"an instruction of {OBJECT} for a {kind.__name__}, which is not there"
            )
        return self.stack[-1]

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def push_tuple(self, n: int) -> None:
        self.push(tuple([self.pop() for _ in range(n)][::-1]))

    def put(self, number: int | None) -> None:
        value = self.pop()
        self.push(value)
        self.memo[len(self.memo) if number is None else number] = value

    def get(self, number: int) -> None:
        if number not in self.memo:
            raise ValueError(f"the value {number} of {OBJECT}, which is not there")
        self.push(self.memo[number])

    def append(self, items: list[Any]) -> None:
        self.top(list).extend(items)

    def set_items(self, items: list[Any]) -> None:
        if len(items) % 2:
            raise ValueError(f"a key of {OBJECT} without a value")
        out = self.top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            out[_key(key)] = value

    def add_items(self, items: list[Any]) -> None:
        self.top(set).update(_key(item) for item in items)

    def push_global(self, module: Any, name: Any) -> None:
        text = f"{module}.{name}"
        if text in DTYPES:
            self.push(DTYPES[text])
        elif text in STORAGES or text in TENSORS or text in KNOWN:
            self.push(_Global(text))
        else:
            raise ValueError(
                f"the global {text:.200}; tensors, numbers, strings and their containers are "
                f"accepted: {ADVICE}"
            )

    def reduce(self) -> None:
        arguments = self.pop()
        self.push(self.call(self.pop(), arguments))

    def build(self) -> None:
        """Attributes of a dict, such as the versions of the layers, are left out."""
        self.pop()
        self.top(dict)


KNOWN = set(_Functions(None).by_name)
#: The instructions of the protocols 2 to 5 that build containers, numbers and strings.
STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda m, _: None),
    **dict.fromkeys(
        (
            "BINFLOAT", "BININT", "BININT1", "BININT2", "LONG1", "LONG4",
            "BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE",
            "BINBYTES", "BINBYTES8", "SHORT_BINBYTES",
        ),
        _Machine.push,
    ),
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "MARK": lambda m, _: m.push(MARK),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_SET": lambda m, _: m.push(set()),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "TUPLE": lambda m, _: m.push(tuple(m.pop_mark())),
    "TUPLE1": lambda m, _: m.push_tuple(1),
    "TUPLE2": lambda m, _: m.push_tuple(2),
    "TUPLE3": lambda m, _: m.push_tuple(3),
    "FROZENSET": lambda m, _: m.push(frozenset(_key(item) for item in m.pop_mark())),
    "APPEND": lambda m, _: m.append([m.pop()]),
    "APPENDS": lambda m, _: m.append(m.pop_mark()),
    "SETITEM": lambda m, _: m.set_items([m.pop(), m.pop()][::-1]),
    "SETITEMS": lambda m, _: m.set_items(m.pop_mark()),
    "ADDITEMS": lambda m, _: m.add_items(m.pop_mark()),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "GLOBAL": lambda m, text: m.push_global(*text.split(" ", 1)),
    "STACK_GLOBAL": lambda m, _: m.push_global(*[m.pop(), m.pop()][::-1]),
    "BINPERSID": lambda m, _: m.push(m.storage(m.pop())),
    "REDUCE": lambda m, _: m.reduce(),
    "BUILD": lambda m, _: m.build(),
}  # fmt: skip


class _Archive:
    """The entries of a file, and the storages that were asked for."""

    def __init__(self, zip: zipfile.ZipFile, read: Callable[..., mx.array]) -> None:
        self.zip, self.read = zip, read
        self.storages: dict[str, tuple[_Global, _Storage]] = {}
        self.names = set(zip.namelist())
        folders = [n[: -len(OBJECT)] for n in self.names if n.endswith("/" + OBJECT)]
        if len(folders) != 1:
            raise ValueError(f"an archive with {len(folders)} entries {OBJECT}; one is accepted")
        self.folder = folders[0]
        if self.folder + SCRIPT in self.names:
            raise ValueError(f"a program of torch.jit.save; {ADVICE}")
        order = self.bytes(ORDER) if self.folder + ORDER in self.names else b"little"
        if order not in (b"little", b"big"):
            raise ValueError(f"the byte order {order!r:.100}; little and big are accepted")
        self.swapped = order == b"big"

    def entry(self, name: str) -> zipfile.ZipInfo:
        if self.folder + name not in self.names:
            raise ValueError(f"no entry {name}")
        info = self.zip.getinfo(self.folder + name)
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"the entry {name} is compressed; entries of torch.save are not")
        return info

    def bytes(self, name: str) -> bytes:
        return self.zip.read(self.entry(name))

    def storage(self, told: Any) -> _Storage:
        """The elements that ("storage", its class, its key, its device, their number) names."""
        if type(told) is not tuple or len(told) != 5 or told[0] != "storage":
            raise ValueError(f"a reference to {_kind(told)}; storages are accepted")
        kind, key, count = told[1], told[2], told[4]
        if type(kind) is not _Global or kind.name not in STORAGES:
            raise ValueError(f"a storage of the class {_kind(kind)}")
        if type(key) is not str or type(count) is not int or count < 0:
            raise ValueError(
                f"a storage with {_kind(key)} as its key and {_kind(count)} as its length"
            )
        if key in self.storages:
            known, storage = self.storages[key]
            if known != kind or storage.array.size != count:
                raise ValueError(f"the storage {key} as {kind.name} and as {known.name}")
            return storage
        dtype = STORAGES[kind.name]
        if self.swapped and kind.name.endswith("UntypedStorage"):
            raise ValueError(f"the storage {key} of bytes, in the byte order big; {ADVICE}")
        info = self.entry(f"data/{key}")
        if info.file_size != count * dtype.size:
            raise ValueError(
                f"the entry data/{key} has {info.file_size} bytes; {count} elements of {dtype} "
                f"have {count * dtype.size}"
            )
        storage = _Storage(self.read(info, dtype, count, self.swapped))
        self.storages[key] = kind, storage
        return storage


def _check_values(result: Any) -> None:
    """Refuse what has no meaning outside of a file: storages, functions and classes."""
    seen: set[int] = set()
    rest = [result]
    while rest:
        value = rest.pop()
        if type(value) in (_Storage, _Global):
            what = "a storage" if type(value) is _Storage else _kind(value)
            raise ValueError(f"{what} outside of a tensor; {ADVICE}")
        if type(value) in (dict, list, tuple) and id(value) not in seen:
            seen.add(id(value))
            items: Iterable[Any] = value.values() if type(value) is dict else value
            rest.extend(items)


def load(zip: zipfile.ZipFile, read: Callable[..., mx.array], stream: Any = None) -> Any:
    """Return the object in an archive of ``torch.save``.

    ``read(entry, dtype, count, swapped)`` gives the elements in an entry. A damaged file raises a
    ValueError, or what ``zipfile`` and ``pickletools`` raise.
    """
    archive = _Archive(zip, read)
    machine = _Machine(_Functions(stream), archive.storage)
    result = machine.run(archive.bytes(OBJECT))
    _check_values(result)
    return result
