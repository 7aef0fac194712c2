"""The limit of 64 axes, for every function that makes arrays; objects whose __init__ never ran."""

import io
import struct
import subprocess
import sys

import numpy as np
import pytest
from cases.selection import chosen
from processes import PYTHON

import mlx.core as mx

MOST = 64
FAR = 100_000


def npy_with_axes(n):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {(1,) * n}, }}".encode()
    head += b" " * ((64 - (12 + len(head) + 1) % 64) % 64) + b"\n"
    return io.BytesIO(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + b"\x07")


def with_axes(n):
    """Functions that make an array with n axes, by name."""
    ones = (1,) * n
    x = mx.array([3.0])
    most = mx.ones((1,) * MOST)
    return {
        "zeros": lambda: mx.zeros(ones),
        "ones": lambda: mx.ones(ones),
        "full": lambda: mx.full(ones, 7),
        "reshape": lambda: x.reshape(ones),
        "reshape of a number": lambda: mx.reshape(mx.array(1.0), ones),
        "unflatten": lambda: mx.unflatten(x, 0, ones),
        "expand_dims": lambda: mx.expand_dims(x, list(range(n - 1))),
        "broadcast_to": lambda: mx.broadcast_to(x, ones),
        "broadcast_to of a number": lambda: mx.broadcast_to(mx.array(2.0), ones),
        "as_strided": lambda: mx.as_strided(x, ones, (1,) * n),
        "indexing": lambda: x[(None,) * (n - 1)],
        "indexing by an array": lambda: x[(None,) * (n - 1) + (mx.array([0]),)],
        "random": lambda: mx.random.uniform(shape=ones),
        "random int": lambda: mx.random.randint(0, 5, ones),
        "tile": lambda: mx.tile(x, ones),
        "take": lambda: mx.take(x, mx.zeros(ones, mx.int32)),
        "npy": lambda: mx.load(npy_with_axes(n), format="npy"),
        "one more": lambda: one_more(most, n),
        "add": lambda: x + mx.ones(ones),
        "vmap": lambda: mx.vmap(lambda a: a.reshape(ones[1:]))(x),
        "compiled": lambda: mx.compile(lambda a: a.reshape(ones))(x),
    }


def one_more(most, n):
    """Up to the bound there is nothing to add to."""
    return mx.stack([most, most]) if n > MOST else most


NAMES = list(with_axes(1))


@pytest.mark.parametrize("name", NAMES)
def test_up_to_64_axes_are_accepted(name):
    a = with_axes(MOST)[name]()
    assert a.ndim == MOST
    assert str(a).startswith("array([[[")
    assert len(repr(a.tolist())) > 2 * MOST
    assert np.array(a).ndim == MOST
    assert mx.exp(a.astype(mx.float32)).sum().shape == ()


@pytest.mark.parametrize("n", [MOST + 1, FAR])
@pytest.mark.parametrize("name", NAMES)
def test_more_axes_are_refused(name, n):
    with pytest.raises(ValueError, match=r"\d+ axes; up to 64") as e:
        with_axes(n)[name]()
    assert len(str(e.value)) < 400


@pytest.mark.parametrize(
    "grow",
    [
        lambda a: mx.stack([a, a]),
        lambda a: mx.stack([a] * 2, axis=-1),
        lambda a: mx.expand_dims(a, 0),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: mx.array([a, a]),
        lambda a: mx.broadcast_to(a, (3, *a.shape)),
        lambda a: mx.unflatten(a, 0, (1, 1)),
        lambda a: a.reshape(*a.shape, 1),
        lambda a: mx.tensordot(a, a, 0),
        lambda a: mx.tile(a, (2,) * 65),
        lambda a: mx.meshgrid(*[mx.zeros(1)] * 65)[0],
        lambda a: mx.vmap(lambda x: x)(a.reshape(1, *a.shape)),
        lambda a: mx.vmap(lambda x: a + x)(mx.zeros(2)),
        lambda a: mx.atleast_3d(a)[None],
        lambda a: mx.repeat(a, 2, axis=0)[:, None],
        lambda a: mx.random.split(mx.random.key(0)).reshape((2,) + (1,) * 63 + (2,)),
        lambda a: a.at[None].add(1),
        lambda a: mx.sum(a)[(None,) * 65],
    ],
)
def test_an_axis_more_is_refused(grow):
    with pytest.raises(ValueError, match="axes"):
        grow(mx.ones((1,) * MOST))


class Tensor:
    """Offers an array of many axes through DLPack."""

    def __init__(self, n):
        self.n = n

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        return capsule_with_axes(self.n)


def capsule_with_axes(n):
    import ctypes

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
            ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
            ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
            ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ]  # fmt: skip

    data = ctypes.c_float(5)
    shape = (ctypes.c_int64 * max(n, 1))(*[1] * max(n, 1))
    t = Tensor(
        ctypes.addressof(data), 1, 0, n, 2, 32, 1, ctypes.addressof(shape), None, 0, None,
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda p: None),
    )  # fmt: skip
    KEPT.append((data, shape, t))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(t), b"dltensor", None)


KEPT = []


@pytest.mark.parametrize("copy", [None, True, False])
def test_axes_of_foreign_tensors(copy):
    assert mx.from_dlpack(Tensor(MOST), copy=copy).shape == (1,) * MOST
    for n in (MOST + 1, FAR, -1):
        with pytest.raises(ValueError, match="axes"):
            mx.from_dlpack(Tensor(n), copy=copy)


def test_nested_lists():
    nested = 1.0
    for _ in range(MOST):
        nested = [nested]
    assert mx.array(nested).ndim == MOST
    with pytest.raises(ValueError, match="64"):
        mx.array([nested])
    inner = mx.ones((1,) * 40)
    for _ in range(24):
        inner = [inner]
    assert mx.array(inner).ndim == MOST
    with pytest.raises(ValueError, match="axes"):
        mx.array([inner])


def test_print_options_are_bounded():
    for set_options in (mx.set_printoptions, mx.printoptions, mx.PrintOptions):
        with pytest.raises(ValueError, match="precision"):
            set_options(precision=10**8)
    options = mx.PrintOptions(3)
    with pytest.raises(ValueError, match="precision"):
        options.precision = 10**8
    with mx.printoptions(precision=1000):
        assert len(str(mx.array(0.1))) > 1000
    assert mx.get_printoptions().precision == -1


def bound_classes():
    """Every class of the engine, by name."""
    modules = [mx, mx.linalg, mx.random, mx.fast, mx.fft, mx.distributed]
    kinds = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    kinds |= {type(v) for m in modules for v in vars(m).values()}
    kinds |= {type(mx.random.state), type(mx.array(1).at), type(iter(mx.zeros(2)))}
    return {c.__name__: c for c in kinds if c.__module__.startswith("mlx")}


TOUCH = """
import sys
sys.path[:0] = {path!r}
import test_limits
cls = test_limits.bound_classes()[{name!r}]
test_limits.touch(cls)
print("survived")
"""


def touch(cls):
    """Uses an instance whose __init__ never ran in every way that the class offers."""
    try:
        x = cls.__new__(cls)
    except TypeError:
        return
    uses = [repr, str, hash, len, iter, bool, bytes, memoryview]
    uses += [lambda x: x == x, lambda x: x + 1, lambda x: x[0], lambda x: x(1), lambda x: x()]
    uses += [lambda x: x.__enter__(), lambda x: x.__exit__(None, None, None)]
    uses += [lambda x: mx.zeros(2, x), lambda x: mx.zeros(2, stream=x), lambda x: mx.array(x)]
    uses += [lambda x: mx.ones(2).astype(x), lambda x: mx.issubdtype(x, mx.floating), mx.finfo]
    uses += [mx.default_stream, mx.set_default_device, mx.synchronize, mx.eval, mx.stream]
    uses += [lambda x: mx.result_type(x), lambda x: mx.save("/dev/null", x), mx.distributed.all_sum]
    uses += [lambda x: mx.distributed.all_sum(mx.ones(2), group=x)]
    for use in uses:
        attempt(use, x)
    for name in dir(cls):
        if name in ("__class__", "__new__", "__init__", "__del__", "__subclasshook__"):
            continue
        member = getattr(cls, name, None)
        attempt(lambda x, n=name: getattr(x, n), x)
        if callable(member):
            for args in ((), (1,), (x,), (1, 2), ("a",), (None, None, None)):
                attempt(lambda x, n=name, a=args: getattr(x, n)(*a), x)


def attempt(use, x):
    """Runs a use of which only an exception is known."""
    try:
        use(x)
    except (Exception, KeyboardInterrupt):
        return


@pytest.mark.cpu_only("the bindings' own checks, in a process for each class")
def test_objects_that_were_never_made():
    path = [p for p in sys.path if p]
    failures = []
    for name in sorted(bound_classes()):
        if not chosen(name, 0.25):
            continue
        code = TOUCH.format(path=path, name=name)
        done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True)
        if done.returncode or "survived" not in done.stdout:
            failures.append(f"{name}: {done.returncode} {done.stderr[-300:]}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(
    "use",
    [
        lambda: mx.zeros(2, mx.Dtype.__new__(mx.Dtype)),
        lambda: mx.ones(2).astype(mx.Dtype.__new__(mx.Dtype)),
        lambda: type(mx.debug_nans(False)).__new__(type(mx.debug_nans(False))).__enter__(),
        lambda: mx.exp(mx.ones(2), stream=mx.Stream.__new__(mx.Stream)),
        lambda: mx.exp(mx.ones(2), stream=mx.Device.__new__(mx.Device)),
    ],
)
def test_instances_without_init_are_type_errors(use):
    with pytest.raises(TypeError):
        use()
