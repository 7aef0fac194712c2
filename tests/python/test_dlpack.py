"""DLPack with consumers and producers made by ctypes: flags, layouts, lifetimes, devices, threads.

NumPy and the frameworks of test_frameworks.py each use a part of the protocol; these use all of it.
"""

import ctypes
import gc
import itertools
import threading

import numpy as np
import pytest

import mlx.core as mx


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


NAMES = {Managed: b"dltensor", Versioned: b"dltensor_versioned"}
new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
READ_ONLY, COPIED = 1, 2


class Producer:
    """A NumPy array offered through DLPack, and how often its consumers released it."""

    def __init__(self, x, versioned=True, flags=0, device=(1, 0), **changes):
        self.x, self.versioned, self.flags, self.device = x, versioned, flags, device
        self.changes, self.released, self.kept = changes, 0, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if not self.versioned and keywords:
            raise TypeError("unexpected keyword")
        x, kind = self.x, Versioned if self.versioned else Managed
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[x.dtype.kind]
        axes = ctypes.c_int64 * max(x.ndim, 1)
        managed = kind()
        t = managed.tensor
        t.data, (t.device_type, t.device_index) = x.ctypes.data, self.device
        t.ndim, t.code, t.bits, t.lanes = x.ndim, code, 8 * x.itemsize, 1
        t.shape, t.strides = axes(*x.shape), axes(*(s // x.itemsize for s in x.strides))
        for name, value in self.changes.items():
            setattr(t, name, value)
        if self.versioned:
            managed.major, managed.flags = 1, self.flags

        def release(_):
            self.released += 1

        managed.deleter = Deleter(release)
        self.kept.append(managed)
        return new_capsule(ctypes.addressof(managed), NAMES[kind], None)


def settle():
    """Releases what was deferred to a thread with the lock of Python."""
    mx.eval(mx.zeros(1) + 1)


LAYOUTS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T,
    "strided": lambda x: x[:, ::2],
    "reversed": lambda x: x[::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:1], (5, 4)),
    "scalar": lambda x: x[1, 2],
    "empty": lambda x: x[:0],
}
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_import(layout, versioned):
    for dtype in DTYPES:
        x = LAYOUTS[layout](np.arange(12).reshape(3, 4).astype(dtype))
        x = np.asarray(x) if layout != "scalar" else np.array(x)
        producer = Producer(x, versioned)
        want = np.asarray(mx.array(x))
        for read in (mx.array, mx.asarray, mx.from_dlpack):
            a = read(producer)
            assert a.shape == x.shape and np.array_equal(np.asarray(a), want)
        del a
        settle()
        # Copies do not consume the capsule: it is left to its destructor, which this one lacks.
        assert producer.released == 0
        if dtype not in ("f8", "c16"):
            shared = mx.from_dlpack(producer, copy=False)
            assert np.array_equal(np.asarray(shared), x)
            later = shared * 1
            del shared
            assert np.array_equal(np.asarray(later), want)
            del later
            settle()
            assert producer.released == 1


def test_strides_may_be_missing():
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for copy in (None, False):
        a = mx.from_dlpack(Producer(x, strides=None), copy=copy)
        assert a.tolist() == x.tolist()


def test_the_offset_counts_bytes():
    x = np.arange(6, dtype=np.int32)
    for copy in (None, False):
        a = mx.from_dlpack(Producer(x[:4], byte_offset=8), copy=copy)
        assert a.tolist() == [2, 3, 4, 5]


def test_shared_memory_is_that_of_the_producer():
    x = np.zeros((2, 3), np.float32)
    a = mx.from_dlpack(Producer(x), copy=False)
    x[1, 2] = 7
    assert a[1, 2].item() == 7
    b = a + 0
    mx.eval(b)
    x[1, 2] = 8
    assert b[1, 2].item() == 7 and a[1, 2].item() == 8
    a[0, 0] = 5
    assert x[0, 0] == 0 and a[0, 0].item() == 5


def test_read_only_memory_is_copied():
    x = np.zeros(3, np.float32)
    producer = Producer(x, flags=READ_ONLY)
    for copy in (None, True):
        a = mx.from_dlpack(producer, copy=copy)
        np.asarray(a)[0] = 1
        assert x[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        mx.from_dlpack(producer, copy=False)


# A device that is not here: CUDA's, or where there is one ROCm's.
FOREIGN = 10 if "compute_capability_major" in mx.device_info() else 2
REFUSED = {
    f"device {FOREIGN}": {"device": (FOREIGN, 0)},
    "code 4 with 8 bits": {"code": 4, "bits": 8},
    "4 lanes": {"lanes": 4},
    "code 10": {"code": 10, "bits": 8},
    "-1 axes": {"ndim": -1},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_foreign_tensors_that_are_refused(reason):
    for versioned, copy in itertools.product((False, True), (None, True, False)):
        producer = Producer(np.zeros(3, np.float32), versioned, **REFUSED[reason])
        with pytest.raises(ValueError, match=reason):
            mx.from_dlpack(producer, copy=copy)


UNKNOWN = [(5, 32), (2, 8), (7, 8), (10, 8), (13, 8), (2, 128), (0, 128), (2, 32, 4), (3, 64)]


@pytest.mark.parametrize("kind", UNKNOWN, ids=str)
def test_types_without_a_dtype_are_refused(kind):
    """complex32, float8 and others: the elements are never misinterpreted."""
    changes = dict(zip(("code", "bits", "lanes"), kind, strict=False))
    for versioned, copy in itertools.product((False, True), (None, True, False)):
        with pytest.raises(ValueError, match="DLPack code"):
            mx.from_dlpack(Producer(np.zeros(4, np.complex128), versioned, **changes), copy=copy)


def export(a, versioned=True, **keywords):
    """The structure in a capsule of an array, and the capsule."""
    kind = Versioned if versioned else Managed
    capsule = a.__dlpack__(max_version=(1, 0) if versioned else None, **keywords)
    return kind.from_address(pointer_of(capsule, NAMES[kind])), capsule


@pytest.mark.parametrize("versioned", [False, True])
def test_export(versioned):
    a = mx.arange(12).reshape(3, 4)
    for b, strides in ((a, [4, 1]), (a.T, [1, 4]), (a[:, ::2], [4, 2])):
        managed, capsule = export(b, versioned)
        t = managed.tensor
        assert (t.device_type, t.code, t.bits, t.lanes) == (1, 0, 32, 1)
        assert t.shape[: t.ndim] == list(b.shape) and t.strides[: t.ndim] == strides
        assert t.byte_offset == 0
        assert not versioned or (managed.major, managed.flags) == (1, 0)
        first = ctypes.c_int32.from_address(t.data).value
        assert first == b[0, 0].item()
        del capsule
    managed, capsule = export(mx.array([1.5, 2], mx.bfloat16), versioned)
    assert capsule and (managed.tensor.code, managed.tensor.bits) == (4, 16)


@pytest.mark.parametrize("versioned", [False, True])
def test_negative_strides_are_not_exported(versioned):
    a = mx.arange(6).reshape(2, 3)
    for b in (a[::-1], a[:, ::-1], a[::-1, ::-1].T):
        managed, capsule = export(b, versioned)
        t = managed.tensor
        assert min(t.strides[: t.ndim]) > 0
        address = ctypes.addressof((ctypes.c_int32 * 6).from_address(t.data))
        got = np.ctypeslib.as_array((ctypes.c_int32 * 6).from_address(address)).reshape(b.shape)
        assert got.tolist() == b.tolist()
        del capsule, managed
        assert np.from_dlpack(b).tolist() == b.tolist()
        with pytest.raises(BufferError, match="negative strides"):
            b.__dlpack__(copy=False)


def test_flags_of_exports():
    a = mx.arange(3.0)

    def flags(b, **keywords):
        managed, capsule = export(b, **keywords)
        assert capsule  # holds the structure
        return managed.flags

    assert flags(a) == 0 and flags(a, copy=True) == COPIED and flags(a[::-1]) == COPIED
    assert flags(mx.broadcast_to(a, (4, 3))) == READ_ONLY
    assert not np.from_dlpack(mx.broadcast_to(a, (4, 3))).flags.writeable


def test_exports_keep_their_memory():
    a = mx.random.uniform(shape=(100,))
    want = a.tolist()
    managed, capsule = export(a)
    del a
    gc.collect()
    mx.eval([mx.zeros(100) + i for i in range(10)])
    memory = (ctypes.c_float * 100).from_address(managed.tensor.data)
    assert list(memory) == want
    del capsule


def test_other_devices_are_refused():
    with pytest.raises(BufferError, match="CPU"):
        mx.zeros(3).__dlpack__(dl_device=(FOREIGN, 0))
    assert mx.zeros(3).__dlpack__(dl_device=(1, 0))


@pytest.mark.parametrize("name", ["dl_device", "max_version"])
def test_other_pairs_are_refused(name):
    for pair in ("11", ("1", 0), (1,), (1.0, 0), 1, {1: 0, 2: 0}):
        with pytest.raises(TypeError, match=name):
            mx.zeros(3).__dlpack__(**{name: pair})
    assert mx.zeros(3).__dlpack__(**{name: [1, 0]})


def test_threads():
    """Arrays go out and come back while other threads do the same and release theirs."""
    faults, kept = [], []

    def work(seed):
        for i in range(60):
            x = np.full((20, 30), seed + i, np.float32)
            producer = Producer(x, versioned=i % 2 == 0)
            kept.append(producer)  # its code releases the memory
            a = mx.from_dlpack(producer, copy=False)
            b = a + np.from_dlpack(mx.full((20, 30), i))
            mx.async_eval(b)
            del a, x
            if b[3, 4].item() != seed + 2 * i or b.sum().item() != 600 * (seed + 2 * i):
                faults.append((seed, i))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert faults == []
