"""The second backend as tests see it: how it is loaded, and what it counts and does on request."""

import ctypes
import functools
import os
import pathlib

import mlx.core as mx

ALLOCATION, LAUNCH, COPY, PREPARATION = range(4)
ALL_STREAMS = -2


@functools.cache
def library():
    """The loaded library of the second backend."""
    path = pathlib.Path(mx.__file__).resolve().parents[2] / "tests" / "libmlx_fake.so"
    found = ctypes.CDLL(str(path))
    for name in ("buffers", "faults", "launches", "finished", "borrowed"):
        getattr(found, f"mlx_fake_{name}").restype = ctypes.c_int64
    for name in ("to_device", "to_host", "within"):
        getattr(found, f"mlx_fake_bytes_{name}").restype = ctypes.c_int64
    found.mlx_fake_fail.argtypes = [ctypes.c_int, ctypes.c_int64]
    return found


_in_use = None


def in_use():
    """The name of the backend that `use` made the default device, or None."""
    return _in_use


def is_cuda():
    """Whether the default GPU runs the kernels of CUDA, on a GPU or on the host's driver."""
    return _in_use in (None, "cuda-host")


def use(name):
    """Makes a backend the default device."""
    global _in_use
    load(name)
    mx.set_default_device(mx.gpu)
    _in_use = name


def host_places():
    """Folders where a build has the plugin for NVIDIA GPUs and the driver of the host."""
    built = pathlib.Path(mx.__file__).resolve().parents[2]
    places = [built / "python" / "mlx" / "lib", built / "tests"]
    if given := os.environ.get("MLX_TEST_PLUGIN"):  # another build of both
        places.insert(0, pathlib.Path(given))
    return places


def has_host_driver():
    return any((p / "libmlx_host_driver.so").exists() for p in host_places())


def use_host_driver():
    """Makes the plugin for NVIDIA GPUs run on a driver of the host; gives the plugin's path."""
    places = host_places()
    driver = next(p for p in (q / "libmlx_host_driver.so" for q in places) if p.exists())
    os.environ["MLX_CUDA_DRIVER"] = os.environ["MLX_CUDA_NVRTC"] = str(driver)
    os.environ.setdefault("MLX_CUDA_BLAS", str(driver))  # "": the plugin's own products
    os.environ.setdefault("MLX_CUDA_CUDNN", str(driver))  # "": convolutions without the library
    os.environ.setdefault("MLX_CUDA_FFT", str(driver))  # "": transforms by own kernels
    os.environ.setdefault("MLX_CUDA_SOLVER", str(driver))
    os.environ.setdefault("MLX_CUDA_NCCL", str(driver))
    built = pathlib.Path(mx.__file__).resolve().parents[2]
    os.environ.setdefault("MLX_CUDA_CACHE_DIR", str(built / "host_kernels"))
    return next(p / "libmlx_cuda.so" for p in places if (p / "libmlx_cuda.so").exists())


def use_emulated_metal():
    """Makes the backend for Metal run on the emulated device; gives the backend's path."""
    built = pathlib.Path(mx.__file__).resolve().parents[2]
    os.environ.setdefault("MLX_METAL_RUNTIME", str(built / "metal-cpp" / "libmetal_emulated.so"))
    os.environ.setdefault("MLX_EMULATION_CACHE", str(built / "metal_kernels"))
    return built / "tests" / "libmlx_metal.so"


@functools.cache
def metal_library():
    """The loaded backend for Metal."""
    found = ctypes.CDLL(str(use_emulated_metal()))
    found.mlx_metal_borrowed.restype = ctypes.c_char_p
    return found


@functools.cache
def emulated_device():
    """The emulated device of Metal, which `use_emulated_metal` named."""
    found = ctypes.CDLL(os.environ["MLX_METAL_RUNTIME"])
    found.emulated_fail.argtypes = [ctypes.c_long]
    for name in ("commits", "objects"):
        getattr(found, f"emulated_{name}").restype = ctypes.c_long
    return found


def through_the_host():
    """Ops that ran through the CPU since the last call, with "/double" where Metal has no dtype."""
    if _in_use == "metal":
        names = metal_library().mlx_metal_borrowed
    else:
        names = ctypes.CDLL(str(use_host_driver())).mlx_cuda_borrowed
        names.restype = ctypes.c_char_p
    return set(names().decode().split())


def without_kernel():
    """Ops of dtypes that the device has that ran through the CPU since the last call."""
    return {name for name in through_the_host() if "/" not in name}


@functools.cache
def host_driver():
    """The driver of the host, which `use_host_driver` named."""
    found = ctypes.CDLL(os.environ["MLX_CUDA_DRIVER"])
    found.mlx_host_fail.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    for name in (
        "launches",
        "compiled",
        "faults",
        "calls",
        "bytes",
        "streams",
        "contexts",
        "modules",
        "graphs",
        "graph_launches",
    ):
        getattr(found, f"mlx_host_{name}").restype = ctypes.c_int64
    return found


def load(name):
    """Makes a backend the GPU: a name of the test option --backend, or the path of a library."""
    if name in ("fake", "fake-unified"):
        os.environ["MLX_FAKE_MODE"] = "unified" if name == "fake-unified" else "discrete"
        mx._load_test_backend(library()._name)
    elif name == "cuda-host":
        mx._load_test_backend(str(use_host_driver()))
    elif name == "metal":
        mx._load_test_backend(str(use_emulated_metal()))
    else:
        mx._load_test_backend(name)
