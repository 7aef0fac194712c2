"""Memory of NVIDIA GPUs shared with other libraries: DLPack and the CUDA array interface.

Consumers and producers made by ctypes use the driver itself, the machine's or that of the host.
Tests named after PyTorch and CuPy run where they are installed and see the GPU.
"""

import ctypes
import gc
import importlib.util
import os

import numpy as np
import pytest
from memory_in_use import settled_memory
from test_devices_agree import DTYPES, bits, values
from test_dlpack import NAMES, Managed, Versioned, new_capsule, pointer_of

import mlx.core as mx

pytestmark = pytest.mark.gpu_only
CUDA = 2
NARROW = {mx.float64: mx.float32, mx.complex128: mx.complex64}


@pytest.fixture(scope="module")
def shares(request):
    """Whether the device under test shares its memory: a test's stand-in for a device may not."""
    return not (request.config.getoption("--backend") or "").startswith("fake")


class Driver:
    """The driver's functions that another library would call."""

    def __init__(self):
        self.calls = ctypes.CDLL(os.environ.get("MLX_CUDA_DRIVER", "libcuda.so.1"))
        context = ctypes.c_void_p()
        assert self.calls.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.calls.cuCtxSetCurrent(context) == 0
        self.stream, self.sources = ctypes.c_void_p(), []
        assert self.calls.cuStreamCreate(ctypes.byref(self.stream), 1) == 0

    def allocate(self, count):
        """Memory of the device."""
        address = ctypes.c_uint64()
        assert self.calls.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(count)) == 0
        return address.value

    def free(self, address):
        """The end of it."""
        assert self.calls.cuMemFree_v2(ctypes.c_uint64(address)) == 0

    def write(self, address, x):
        """An array's bytes to the device, on the stream, without waiting."""
        assert x.flags.c_contiguous
        self.sources.append(x)
        assert self.calls.cuMemcpyHtoDAsync_v2(
            ctypes.c_uint64(address), x.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(x.nbytes), self.stream) == 0  # fmt: skip

    def read(self, address, count):
        """Bytes of the device, once the stream's work is over."""
        out = np.empty(count, np.uint8)
        assert self.calls.cuMemcpyDtoHAsync_v2(
            out.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(address),
            ctypes.c_size_t(count), self.stream) == 0  # fmt: skip
        self.wait()
        return out

    def wait(self):
        """Until the stream's work is over."""
        assert self.calls.cuStreamSynchronize(self.stream) == 0
        self.sources.clear()

    def wait_before(self, stream):
        """Makes work on another stream come after this one's."""
        event = ctypes.c_void_p()
        assert self.calls.cuEventCreate(ctypes.byref(event), 2) == 0
        assert self.calls.cuEventRecord(event, self.stream) == 0
        assert self.calls.cuStreamWaitEvent(ctypes.c_void_p(stream), event, 0) == 0


@pytest.fixture(scope="module")
def driver(shares):
    """The driver, or None for a device that shares nothing."""
    return Driver() if shares else None


class Producer:
    """A NumPy array in memory of the device, offered through DLPack."""

    def __init__(self, driver, x, strides=None, device=(CUDA, 0), versioned=True):
        self.driver, self.x, self.device, self.versioned = driver, x, device, versioned
        self.address = driver.allocate(max(x.nbytes, 1))
        driver.write(self.address, x)
        self.shape = x.shape
        self.strides = strides or [s // x.itemsize for s in x.strides]
        self.offset, self.streams, self.released, self.kept = 0, [], 0, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        if stream is not None:
            self.driver.wait_before(stream)
        kind = Versioned if self.versioned else Managed
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[self.x.dtype.kind]
        m = kind()
        if self.versioned:
            m.major = 1
        n = len(self.shape)
        m.tensor.data, m.tensor.ndim = self.address, n
        m.tensor.device_type, m.tensor.device_index = self.device
        m.tensor.code, m.tensor.bits, m.tensor.lanes = code, 8 * self.x.itemsize, 1
        m.tensor.shape = (ctypes.c_int64 * n)(*self.shape)
        m.tensor.strides = (ctypes.c_int64 * n)(*self.strides)
        m.tensor.byte_offset = self.offset

        def release(_):
            self.released += 1

        m.deleter = type(m.deleter)(release)
        self.kept.append(m)
        return new_capsule(ctypes.addressof(m), NAMES[kind], None)


def tensor_of(capsule, kind=Versioned):
    """The tensor in a capsule that was not consumed."""
    return kind.from_address(pointer_of(capsule, NAMES[kind])).tensor


def test_the_device_of_arrays(shares):
    a = mx.arange(4.0) + 1
    assert a.__dlpack_device__() == ((CUDA, 0) if shares else (1, 0))
    assert hasattr(a, "__cuda_array_interface__") == shares
    with mx.stream(mx.cpu):
        assert (mx.arange(4.0) + 1).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", [Versioned, Managed])
def test_exports_are_the_memory(dtype, kind, driver):
    if not driver:
        return
    a = values(dtype, (6, 5))
    want = np.array(a.view(mx.uint8)).tobytes()
    version = (1, 0) if kind is Versioned else None
    capsule = a.__dlpack__(stream=1, max_version=version)
    t = tensor_of(capsule, kind)
    assert (t.device_type, t.device_index, t.ndim) == (CUDA, 0, 2)
    assert (list(t.shape[:2]), list(t.strides[:2])) == ([6, 5], [5, 1])
    assert driver.read(t.data + t.byte_offset, len(want)).tobytes() == want
    if dtype in (mx.float64, mx.complex128):  # these are narrowed, which takes a copy
        again, a = mx.from_dlpack(capsule), a.astype(NARROW[dtype], stream=mx.cpu)
    else:
        again = mx.from_dlpack(capsule, copy=False)
        second = again.__dlpack__(stream=2, max_version=(1, 0))
        assert tensor_of(second).data == t.data
    assert bits(again) == bits(a)


def test_views_and_scalars(driver):
    if not driver:
        return
    a = mx.arange(24.0).reshape(4, 6) + 0
    capsule = a.T[2:].__dlpack__(stream=1, max_version=(1, 0))  # whose tensor ends with it
    t = tensor_of(capsule)
    assert list(t.shape[:2]) == [4, 4]
    first = driver.read(t.data + t.byte_offset, 4).view(np.float32)[0]
    assert first == 2
    capsule = mx.array(3.5).__dlpack__(stream=1, max_version=(1, 0))
    t = tensor_of(capsule)
    assert t.ndim == 0 and driver.read(t.data, 4).view(np.float32)[0] == 3.5
    backwards = a[:, ::-1].__dlpack__(stream=1, max_version=(1, 0))
    t = tensor_of(backwards)
    assert driver.read(t.data, 8).view(np.float32).tolist() == [5, 4]
    with pytest.raises(BufferError, match="negative"):
        a[:, ::-1].__dlpack__(stream=1, copy=False)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(CUDA, 99))
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(8, 0))


def test_consumers_write_and_memory_stays(driver):
    if not driver:
        return
    before = settled_memory()
    a = mx.zeros((1000,)) + 1
    capsule = a.__dlpack__(stream=1, max_version=(1, 0))
    t = tensor_of(capsule)
    driver.write(t.data, np.arange(1000, dtype=np.float32))
    driver.wait()
    assert (a + 1).tolist() == [float(i + 1) for i in range(1000)]
    copied = a.__dlpack__(stream=1, max_version=(1, 0), copy=True)
    assert tensor_of(copied).data != t.data
    b = a * 2
    a = None  # the capsule keeps the memory
    mx.eval(b)
    for _ in range(5):
        mx.eval(mx.zeros((1000,)) + 7)
    assert driver.read(t.data, 4000).view(np.float32).tolist() == list(range(1000))
    del capsule, copied, b
    assert settled_memory() == before


def test_the_host_reads_the_memory_of_a_device(driver):
    if not driver:
        return
    a = mx.zeros((8,)) + 1
    capsule = a.__dlpack__(stream=1, max_version=(1, 0))
    view = np.asarray(a)  # other memory: the device's is in use
    assert view.tolist() == [1] * 8
    driver.write(tensor_of(capsule).data, np.full(8, 5, np.float32))
    driver.wait()
    assert a.tolist() == [5] * 8 and np.from_dlpack(a).tolist() == [5] * 8
    # And the other way round.
    b = mx.zeros((8,)) + 1
    view = np.asarray(b)
    capsule = b.__dlpack__(stream=1, max_version=(1, 0))
    view[0] = 9
    assert b.tolist()[0] == 9
    assert driver.read(tensor_of(capsule).data, 4).view(np.float32)[0] == 1
    with pytest.raises(BufferError, match="copy"):
        b.__dlpack__(stream=1, copy=False)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("copy", [False, True, None])
def test_imports(copy, versioned, driver):
    if not driver:
        return
    x = np.arange(60, dtype=np.float32).reshape(5, 12)
    share = not copy
    p = Producer(driver, x, versioned=versioned)
    a = mx.from_dlpack(p, copy=copy)
    assert p.streams[0] > 2  # another stream, which then comes after the producer's
    assert (a * 2).tolist() == (x * 2).tolist()
    driver.write(p.address, x + 100)
    driver.wait()
    assert a.tolist() == (x + 100 if share else x).tolist()
    b = mx.sum(a)
    del a
    assert b.item() == (x + 100 if share else x).sum()
    del b
    settled_memory()
    mx.zeros(1) + 1
    assert p.released == 1


def test_imports_of_layouts_and_dtypes(driver):
    if not driver:
        return
    for dtype in ("bool", "uint8", "int8", "int16", "uint32", "int64", "float16", "float32",
                  "complex64"):  # fmt: skip
        x = (np.arange(24) % 5).astype(dtype).reshape(4, 6)
        for share in (True, False):
            p = Producer(driver, x)
            a = mx.from_dlpack(p, copy=not share)
            assert np.array(a).dtype == x.dtype and (np.array(a) == x).all()
    x = np.arange(24, dtype=np.float64)
    assert mx.from_dlpack(Producer(driver, x)).dtype == mx.float32
    assert mx.array(Producer(driver, x), mx.float64).dtype == mx.float64
    with pytest.raises(ValueError, match="dtype"):
        mx.from_dlpack(Producer(driver, x), copy=False).tolist()
        mx.asarray(Producer(driver, x), mx.float32, copy=False)
    p = Producer(driver, np.arange(24, dtype=np.int32))
    p.shape, p.strides, p.offset = (3, 4), [-8, 2], 17 * 4
    want = np.array([[17 - 8 * i + 2 * j for j in range(4)] for i in range(3)])
    assert np.array(mx.from_dlpack(p, copy=False) + 0).tolist() == want.tolist()
    p = Producer(driver, np.full(4, 3, np.uint8))
    p.x = p.x.view(bool)
    assert mx.from_dlpack(p).tolist() == [True] * 4
    with pytest.raises(ValueError, match="bool"):
        mx.from_dlpack(p, copy=False)
    p = Producer(driver, np.zeros((0, 3), np.float32))
    assert mx.from_dlpack(p).shape == (0, 3)


def test_imports_that_are_refused(driver):
    if not driver:
        return
    x = np.zeros(4, np.float32)
    for device in ((CUDA, 99), (8, 0), (14, 0)):
        p = Producer(driver, x, device=device)
        with pytest.raises(ValueError, match="DLPack device"):
            mx.from_dlpack(p)
    p = Producer(driver, np.zeros(16, np.uint8))
    p.x, p.shape, p.strides, p.offset = x, (2,), [1], 2
    with pytest.raises(ValueError, match="aligned"):
        mx.from_dlpack(p, copy=False)


def test_memory_goes_back_after_the_last_kernel(driver):
    if not driver:
        return
    x = np.ones(50_000, np.float32)
    p = Producer(driver, x)
    a = mx.from_dlpack(p, copy=False)
    total = a
    for _ in range(30):
        total = total + a
    mx.async_eval(total)
    del a
    assert total.sum().item() == 31 * 50_000
    del total
    settled_memory()
    mx.zeros(1) + 1
    assert p.released == 1


class Interface:
    """The CUDA array interface of memory of the device, and nothing else."""

    def __init__(self, address, x, **changes):
        self.told = {
            "shape": x.shape, "typestr": x.dtype.str, "data": (address, False), "version": 3,
        } | changes  # fmt: skip

    @property
    def __cuda_array_interface__(self):
        return self.told


def test_the_cuda_array_interface(driver):
    if not driver:
        return
    a = mx.arange(12.0).reshape(3, 4) + 1
    told = a.__cuda_array_interface__
    assert (told["shape"], told["typestr"], told["version"]) == ((3, 4), "<f4", 3)
    assert told["strides"] is None and told["stream"] is None
    assert a.T.__cuda_array_interface__["strides"] == (4, 16)
    address, read_only = told["data"]
    assert not read_only
    a[0, 0] = 99  # a new value for `a`; the memory that was given out stays
    gc.collect()
    mx.eval(mx.zeros((3, 4)) + 3)
    got = driver.read(address, 48).view(np.float32)
    assert got.tolist() == [float(i + 1) for i in range(12)]
    assert not hasattr(a.astype(mx.bfloat16), "__cuda_array_interface__")
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    memory = driver.allocate(x.nbytes)
    driver.write(memory, x)
    given = Interface(memory, x, stream=driver.stream.value)
    assert mx.array(given).tolist() == x.tolist()
    assert mx.array(given, mx.float32).dtype == mx.float32
    across = Interface(memory, x.T, strides=x.T.strides)
    assert mx.asarray(across).tolist() == x.T.tolist()
    with pytest.raises(ValueError, match="mask"):
        mx.array(Interface(memory, x, mask=given))
    with pytest.raises(TypeError, match="U4"):
        mx.array(Interface(memory, x, typestr="<U4"))
    driver.free(memory)


def test_transformations(driver):
    """Values leave under derivatives with a warning, and not where there are none yet."""
    if not driver:
        return

    def f(x):
        return (x.__dlpack__(stream=1), x.sum())[1]

    with pytest.warns(UserWarning, match="has no derivative"):
        mx.grad(f)(mx.ones((3,)))
    for transform in (mx.vmap, mx.compile):
        with pytest.raises(ValueError, match="transformation"):
            transform(f)(mx.ones((3,)))


def frameworks():
    """PyTorch and CuPy, where they see the GPU."""
    found = {}
    if os.environ.get("MLX_CUDA_DRIVER"):
        return found  # the driver of the host is not theirs
    for name in ("torch", "cupy"):
        if importlib.util.find_spec(name):
            module = importlib.import_module(name)
            if name != "torch" or module.cuda.is_available():
                found[name] = module
    return found


def test_pytorch(driver):
    torch = frameworks().get("torch")
    if not torch:
        return
    for dtype in ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "complex64"):
        t = (torch.arange(24, device="cuda") % 3).reshape(4, 6).to(getattr(torch, dtype))
        a = mx.from_dlpack(t, copy=False)
        back = torch.from_dlpack(a)
        assert back.data_ptr() == t.data_ptr() and back.dtype == t.dtype
        assert torch.equal(torch.from_dlpack(mx.from_dlpack(t.T)), t.T)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(50):
            big = torch.ones(4096, 4096, device="cuda")
            t = (big @ big)[:64, :64] * 2
            assert (mx.from_dlpack(t, copy=False) + 1).sum().item() == 64 * 64 * 8193
            x = mx.zeros((64, 64)) + 3
            assert (torch.from_dlpack(x * 2) + t).sum().item() == 64 * 64 * 8198
            del x
    w = torch.ones(5, device="cuda", requires_grad=True)
    (w * torch.from_dlpack(mx.arange(5.0) + 0)).sum().backward()
    assert w.grad.tolist() == [0, 1, 2, 3, 4]
    assert torch.as_tensor(mx.arange(3) + 1, device="cuda").tolist() == [1, 2, 3]


def test_cupy(driver):
    cupy = frameworks().get("cupy")
    if not cupy:
        return
    a = mx.arange(12.0).reshape(3, 4) + 1
    c = cupy.from_dlpack(a)
    assert (c.get() == np.array(a)).all()
    c += 1
    cupy.cuda.get_current_stream().synchronize()
    assert a[0, 0].item() == 2
    assert (cupy.asarray(a).get() == np.array(a)).all()
    assert (np.array(mx.array(c.T * 2)) == c.T.get() * 2).all()
    assert (np.array(mx.from_dlpack(c, copy=False) * 2) == c.get() * 2).all()


def test_jax(driver):
    if os.environ.get("MLX_CUDA_DRIVER") or not importlib.util.find_spec("jax"):
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return
    for dtype in ("bool", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"):
        j = (jnp.arange(24) % 3).reshape(4, 6).astype(dtype)
        a = mx.from_dlpack(j)
        assert str(a.dtype).rsplit(".", 1)[-1].strip("_") == dtype and a.tolist() == j.tolist()
        back = jnp.from_dlpack(a + a if dtype != "bool" else a | a)
        assert back.devices() == j.devices()
        assert back.tolist() == (j + j if dtype != "bool" else j).tolist()
    x = mx.random.normal((64, 64))
    product = jax.jit(lambda a: a @ a.T)(jnp.from_dlpack(x))
    want = np.array(x) @ np.array(x).T
    assert np.abs(np.array(mx.from_dlpack(product) - 0) - want).max() < 0.2  # TF32 by default
