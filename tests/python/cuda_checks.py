"""The plugin for NVIDIA GPUs on a driver of the host: `pytest --backend cuda-host cuda_checks.py`.

test_cuda_plugin.py runs it. The device's memory faults where the host uses it, streams run late,
kernels are the plugin's own, compiled as C++. Programs are few and large: each takes a third of a
second to compile.
"""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import second_backend
from memory_in_use import memory_in_use, settled_memory
from processes import run_program
from test_devices_agree import DTYPES, bits, check, near, values

import mlx.core as mx


@pytest.fixture(autouse=True)
def no_faults():
    """The driver got no foreign address."""
    yield
    mx.synchronize()
    assert second_backend.host_driver().mlx_host_faults() == 0


def test_it_is_the_gpu():
    assert mx.default_device() == mx.Device(mx.gpu)
    info = mx.device_info(mx.gpu)
    assert (info["architecture"], info["device_name"]) == ("sm_90", "host driver")
    assert info["free_memory"] <= info["total_memory"] == 4 << 30


def outputs(f, *arrays):
    """The results of a function on the GPU and on the CPU, evaluated together."""
    both = []
    for device in (mx.gpu, mx.cpu):
        with mx.stream(device):
            out = f(*arrays)
            mx.eval(out)
            both.append(out)
    return both


def agree(f, *arrays):
    for a, b in zip(*outputs(f, *arrays), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert bits(a) == bits(b)


def smooth(x):
    return [
        f(x) for f in (mx.exp, mx.sin, mx.tanh, mx.log1p, mx.erf, mx.rsqrt, mx.arctan, mx.expm1)
    ]


def arithmetic(x, y):
    return [
        x + y,
        x - y,
        x * y,
        mx.maximum(x, y),
        x < y,
        mx.where(x < y, x, y),
        mx.square(x),
        abs(x),
    ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arithmetic_of_every_dtype(dtype):
    f = arithmetic if dtype != mx.bool_ else lambda x, y: [x + y, x * y, x == y, mx.where(x, y, x)]
    agree(f, values(dtype, (300,), 1), values(dtype, (300,), 2))


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64], ids=str)
def test_functions(dtype):
    agree(smooth, abs(values(dtype, (777,))))


def test_casts():
    for dtype in (mx.float64, mx.int64, mx.float16, mx.complex64):
        x = values(dtype, (99,))
        agree(lambda x: [x.astype(t) for t in DTYPES if t != x.dtype], x)


def test_layouts():
    x = values(mx.float32, (4, 6, 5))
    views = [
        lambda x: x.transpose(2, 0, 1)[::-1],
        lambda x: x[:, ::-2, 1:4],
        lambda x: mx.broadcast_to(x[:, :1], x.shape),
        lambda x: x[1, 2, 3],
        lambda x: x[:0],
        lambda x: x.reshape(2, 2, 3, 2, 5).transpose(4, 3, 2, 1, 0),
    ]
    for view in views:
        agree(lambda x, view=view: [view(x) * 2 + 1], x)


def test_numbers_of_elements():
    key = mx.random.key(3)
    for f in (
        lambda s: mx.arange(7, 1000, 3, stream=s) * 2,
        lambda s: mx.linspace(0, 1, 77, stream=s) + 1,
        lambda s: mx.random.randint(0, 1 << 20, (1001,), key=key, stream=s),
        lambda s: mx.random.uniform(shape=(3, 50), key=key, stream=s).T * 2,
        lambda s: mx.random.normal((100,), key=key, stream=s),
    ):
        assert bits(f(mx.gpu)) == bits(f(mx.cpu))


def test_reductions():
    x = values(mx.float32, (70, 1030))
    for axis in (None, 0, 1):
        check(mx.sum, x, axis=axis)
    check(mx.argmax, values(mx.float16, (5, 70)), axis=1)
    check(mx.mean, values(mx.int32, (5, 70)), axis=0)


def test_ops_without_a_kernel_run_through_the_cpu():
    x = values(mx.float32, (30, 40))
    check(lambda a, stream: mx.linalg.qr(a, stream=stream)[1], x)
    check(lambda a, stream: mx.linalg.tri_inv(a[:, :30], stream=stream), x + 0)


def test_fourier_transforms():
    """With cuFFT's functions, and without the library."""
    x = values(mx.float32, (6, 40)) / 10
    program = f"""
import second_backend, numpy as np, mlx.core as mx
second_backend.use('cuda-host')
x = np.array({x.tolist()}, np.float32)
for axis in (0, 1):
    a = mx.array(x)
    for found, wanted in ((mx.fft.fft(a, axis=axis), np.fft.fft(x, axis=axis)),
                          (mx.fft.irfft(mx.fft.rfft(a, axis=axis), axis=axis), x)):
        assert np.abs(np.array(found) - wanted).max() < 1e-5 * np.abs(wanted).max()
for first in (0, 1):  # real numbers from the second one on are no pairs
    planes = mx.array(x).flatten()[first:193 + first - 1].reshape(2, 8, 12)
    lines = x.ravel()[first:193 + first - 1].reshape(2, 8, 12)
    for name in ('rfft2', 'fft2', 'ifft2'):
        for a, b in ((planes, lines), (planes + 1j, lines + 1j))[: 1 if name == 'rfft2' else 2]:
            found, wanted = getattr(mx.fft, name)(a), getattr(np.fft, name)(b)
            assert np.abs(np.array(found) - wanted).max() < 1e-5 * np.abs(wanted).max()
    found = mx.fft.irfft2(mx.fft.rfft2(planes))
    assert np.abs(np.array(found) - lines).max() < 1e-5 * np.abs(lines).max()
mx.synchronize()
assert second_backend.host_driver().mlx_host_faults() == 0
"""
    from processes import run_program

    for library in (os.environ["MLX_CUDA_FFT"], "/nonexistent/libcufft.so"):
        assert run_program(program, MLX_CUDA_FFT=library)[0] == 0


def test_factors_of_large_matrices():
    """With cuSOLVER's functions, and without the library."""
    program = """
import second_backend, numpy as np, mlx.core as mx
second_backend.use('cuda-host')
x = np.random.default_rng(0).standard_normal((130, 130)).astype(np.float32)
x += 130 * np.eye(130, dtype=np.float32)
a = mx.array(x)
for found, wanted in ((mx.linalg.inv(a), np.linalg.inv(x)),
                      (mx.linalg.cholesky(a @ a.T), np.linalg.cholesky(x @ x.T)),
                      (mx.linalg.qr(a)[1], np.linalg.qr(x)[1])):
    assert np.abs(np.array(found) - wanted).max() < 1e-4 * np.abs(wanted).max()
mx.synchronize()
assert second_backend.host_driver().mlx_host_faults() == 0
"""
    from processes import run_program

    for library in (os.environ["MLX_CUDA_SOLVER"], "/nonexistent/libcusolver.so"):
        assert run_program(program, MLX_CUDA_SOLVER=library)[0] == 0


def test_lines():
    x = values(mx.float32, (3, 1500))
    for f in (mx.sort, mx.argsort, mx.cummax):
        check(f, x, axis=1)
        check(f, x.T[::-1], axis=0)
    near(mx.cumsum, values(mx.float32, (2, 20000)) / 1000, axis=1, bound=4e-6)


def test_layers():
    q, k, v = (values(mx.float32, (2, n, t, 12), t) / 100 for n, t in ((4, 9), (2, 70), (2, 70)))
    rotate = {"traditional": False, "base": 1e4, "scale": 1.0, "offset": 3}
    near(mx.fast.rope, q, dims=8, bound=2e-6, **rotate)
    near(mx.fast.scaled_dot_product_attention, q, k, v, scale=0.3, mask="causal", bound=1e-5)
    x, w = values(mx.float32, (2, 9, 8, 6), 1) / 100, values(mx.float32, (70, 3, 2, 6), 2) / 100
    near(mx.conv2d, x, w, stride=(2, 1), padding=(1, 2), bound=1e-5)
    packed = mx.quantize(v.reshape(-1, 32)[:100], group_size=32, bits=4, stream=mx.cpu)
    for m in (2, 20):
        near(mx.quantized_matmul, values(mx.float32, (m, 32), m) / 100, *packed, group_size=32,
             bits=4, bound=1e-5)  # fmt: skip


def test_selection_and_counting():
    m = values(mx.bool_, (50, 70))
    x, u = values(mx.float32, (50, 70, 2), 1), values(mx.float32, (3500, 2), 2)
    check(mx.argwhere, m)

    def written(x):
        x[m] = u
        return x

    agree(lambda x: [written(x + 0)], x)
    with mx.stream(mx.gpu):
        found = x[m]
    assert np.array_equal(np.array(found), np.array(x)[np.array(m)])
    at = values(mx.uint8, (3500,))
    check(mx.bincount, at)
    check(mx.bincount, at, weights=u[:, 0], length=256)
    check(lambda x, stream: mx.histogram(x, 20, stream=stream)[0], u)
    bad = mx.bincount(at, length=9)
    with pytest.raises(IndexError, match="from 0 to 8 are accepted"):
        mx.eval(bad)


def test_read_write_in_place_read_again():
    a = mx.arange(1000.0) + 0
    mx.eval(a)
    for k in range(6):
        assert a.tolist() == [float(i + k) for i in range(1000)]
        a = a + 1
        mx.eval(a)
    a[3] = -1
    assert a[2:5].tolist() == [8.0, -1.0, 10.0]
    view = np.asarray(a)
    view[7] = 100
    assert (a + 1)[7].item() == 101


def test_large_copies():
    x = np.arange(100_000, dtype=np.float32)
    a = mx.array(x) + 1
    assert (np.array(a) == x + 1).all()
    assert a[77_777].item() == 77_778


def test_streams_and_threads():
    streams = [mx.new_stream(mx.gpu) for _ in range(3)]
    x = mx.arange(1000.0) + 0
    for k in range(30):
        x = mx.add(x, 1, stream=streams[k % 3])
        if k % 7 == 0:
            mx.async_eval(x)
    x = mx.sort(x, stream=mx.cpu) + 1
    assert x.tolist() == [float(i + 31) for i in range(1000)]

    wrong = []

    def work(seed):
        for k in range(20):
            a = mx.full((500,), float(seed + k)) + 1
            if a.sum().item() != 500 * (seed + k + 1):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(100 * t,)) for t in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_memory_figures():
    before = memory_in_use()
    a = mx.zeros((1 << 18,)) + 1
    mx.eval(a)
    assert mx.get_active_memory() - before >= 1 << 20
    del a
    assert settled_memory() == before or mx.get_cache_memory() == 0


def test_a_worker_of_the_benchmarks_computes_on_the_gpu():
    from mlx.bench.worker import Worker, load_package

    load_package()
    worker = Worker()
    before, precision = mx.default_device(), mx.get_matmul_precision()
    try:
        worker.hello("mlx", None, "gpu")
        launches = second_backend.host_driver().mlx_host_launches()
        assert worker.prepare("elementwise/add 1K")["elements"] == 1024
        assert worker.run(3)["seconds"] > 0
        assert second_backend.host_driver().mlx_host_launches() >= launches + 4
    finally:
        mx.set_default_device(before)
        mx.set_matmul_precision(precision)


def test_damaged_files_of_the_cache_compile_anew():
    folder = pathlib.Path(os.environ["MLX_CUDA_CACHE_DIR"])
    program = "import second_backend, mlx.core as mx\nsecond_backend.use('cuda-host')\n" + (
        "assert (mx.arange(5.0) * 3 + 0.125).tolist()[1] == 3.125\n"
    )
    from processes import run_program

    def run():
        return run_program(program, MLX_CUDA_CACHE_DIR=str(own))

    own = folder / "damaged"
    assert run()[0] == 0
    files = sorted(own.iterdir())
    assert files
    for damage in (b"", b"mlxcub01", files[0].read_bytes()[:-1], files[0].read_bytes() + b"x"):
        for f in files:
            f.write_bytes(damage)
        assert run()[0] == 0, run()
    for f in own.iterdir():
        f.unlink()
    own.rmdir()


def test_files_of_others_stay_in_the_folder_of_the_cache(tmp_path):
    """Beyond its limit the cache removes what it has written, and nothing else."""
    from processes import run_program

    others = {"notes.txt": b"x" * 4096, "0" * 32: b"y" * 4096, "a" * 32 + ".tar": b"z" * 4096}
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    program = "import second_backend, mlx.core as mx\nsecond_backend.use('cuda-host')\n" + (
        "assert (mx.arange(5.0) * 3 + 0.140625).tolist()[1] == 3.140625\n"
    )
    limits = {"MLX_CUDA_CACHE_DIR": str(tmp_path), "MLX_CUDA_CACHE_BYTES": "1"}
    assert run_program(program, **limits)[0] == 0
    left = {f.name: f.read_bytes() for f in tmp_path.iterdir()}
    left.pop("mlx-cache-bytes")
    assert left == others


def test_the_folder_of_the_cache_is_looked_through_when_it_is_full(tmp_path):
    """Not for each process or kernel: a file has the bytes of the others."""
    from processes import run_program

    old, count = tmp_path / ("0" * 32), tmp_path / "mlx-cache-bytes"
    program = "import second_backend, mlx.core as mx\nsecond_backend.use('cuda-host')\n" + (
        "assert mx.FUNCTION(mx.zeros(5) + 0).tolist()[1] >= 0\n"
    )
    limits = {"MLX_CUDA_CACHE_DIR": str(tmp_path), "MLX_CUDA_CACHE_BYTES": str(10 << 20)}
    for function, counted, stays in (("sin", 100, True), ("cos", 10 << 20, False),
                                     ("exp", None, False), ("tanh", "?", False)):  # fmt: skip
        old.write_bytes(b"mlxcub01" + bytes(20 << 20))
        os.utime(old, (1, 1))
        if counted:
            count.write_text(str(counted))
        elif count.exists():
            count.unlink()
        assert run_program(program.replace("FUNCTION", function), **limits)[0] == 0
        assert old.exists() == stays, function
        new = sum(f.stat().st_size for f in tmp_path.iterdir() if f not in (old, count))
        assert 0 < int(count.read_text()) <= new + 100


def test_a_folder_that_others_write_to_is_no_cache(tmp_path):
    """Code in such a folder is not trusted, and none is written there."""
    from processes import run_program

    tmp_path.chmod(0o770)
    program = "import second_backend, mlx.core as mx\nsecond_backend.use('cuda-host')\n" + (
        "assert (mx.arange(5.0) * 3 + 0.140625).tolist()[1] == 3.140625\n"
    )
    assert run_program(program, MLX_CUDA_CACHE_DIR=str(tmp_path))[0] == 0
    assert not list(tmp_path.iterdir())


def test_threads_give_their_streams_back():
    """Streams of threads that ended serve again, on the device too."""
    driver = second_backend.host_driver()

    def work():
        assert (mx.arange(3.0) + 1).tolist() == [1, 2, 3]
        assert (mx.ones((4, 4)) @ mx.ones((4, 4))).sum().item() == 64

    def one_by_one(n):
        for _ in range(n):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    one_by_one(2)
    streams, number = driver.mlx_host_streams(), mx.new_stream(mx.gpu).index
    one_by_one(60)
    for _ in range(200):
        if driver.mlx_host_streams() <= streams + 3:
            break
        time.sleep(0.01)
        mx.synchronize()
    assert driver.mlx_host_streams() <= streams + 3
    assert mx.new_stream(mx.gpu).index <= number + 4


def test_unused_kernels_are_unloaded():
    """A module that a plan or work in flight holds stays; results of reloaded kernels are right."""
    program = """
import second_backend, mlx.core as mx
second_backend.use("cuda-host")
driver = second_backend.host_driver()
x = mx.arange(5.0)
kept = mx.compile(lambda v: mx.sin(v) * 2.5)
first = kept(x).tolist()
waiting = []
for n in range(24):
    y = x
    for bit in range(5):
        y = abs(y) if n >> bit & 1 else -y
    expected = list(range(5))
    for bit in range(5):
        expected = [abs(v) if n >> bit & 1 else -v for v in expected]
    assert y.tolist() == expected, n
    waiting.append(mx.square(y) + n)
    mx.async_eval(waiting[-1])
    assert driver.mlx_host_modules() <= 12, driver.mlx_host_modules()
for n, y in enumerate(waiting):
    assert y.tolist() == [v * v + n for v in range(5)]
assert kept(x).tolist() == first
assert driver.mlx_host_faults() == 0
"""
    code, _, error = run_program(program, MLX_CUDA_MODULES="4")
    assert code == 0, error


def test_two_devices():
    """Each device has its context: streams, events and kernels of one are none of the other's."""
    from processes import run_program

    program = """
import second_backend, mlx.core as mx
second_backend.use("cuda-host")
first, second = mx.Device(mx.gpu, 0), mx.Device(mx.gpu, 1)
assert mx.device_count(mx.gpu) == 2
x = mx.arange(12.0).reshape(3, 4)
for _ in range(3):
    a = mx.matmul(x, x.T, stream=first)
    b = mx.exp(mx.matmul(x, x.T, stream=second) * 0, stream=second)
    c = mx.add(a, b, stream=second)
    d = mx.sum(mx.multiply(c, a, stream=first), stream=second)
    assert d.item() == sum((v + 1) * v for row in a.tolist() for v in row)
    assert mx.fft.fft(x, stream=second).shape == (3, 4)
mx.synchronize(mx.default_stream(first)), mx.synchronize(mx.default_stream(second))
assert second_backend.host_driver().mlx_host_faults() == 0
"""
    ran = run_program(program, MLX_HOST_DRIVER_DEVICES="2")
    assert ran == (0, "", ""), ran


def test_freeing_takes_the_same_time_at_a_small_limit_of_the_cache():
    """Freed blocks that the cache does not keep are not looked for among those that it has."""

    def seconds(n):
        arrays = [mx.full((300,), float(k)) + 0 for k in range(n)]
        mx.eval(arrays)
        earlier = mx.set_cache_limit(0)
        began = time.perf_counter()
        del arrays
        gc.collect()
        took = time.perf_counter() - began
        mx.set_cache_limit(earlier)
        return took

    seconds(100)
    few, many = min(seconds(500) for _ in range(3)), min(seconds(4000) for _ in range(3))
    assert many < 8 * few * 4 + 0.01


def test_a_forked_child_has_the_cpu():
    assert (mx.arange(3.0) + 1).tolist() == [1, 2, 3]
    child = os.fork()
    if child == 0:
        try:
            try:
                mx.eval(mx.add(mx.ones((2,)), 1, stream=mx.gpu))
                os._exit(1)
            except RuntimeError as e:
                if "forked" not in str(e):
                    os._exit(2)
            if mx.default_device() != mx.Device(mx.cpu):
                os._exit(3)
            os._exit(0 if mx.add(mx.ones((2,)), 1).sum().item() == 4 else 3)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_stream_alone_opens_no_device():
    """Also where it is given back: at the end of a program the driver may be gone by then."""
    program = """
import mlx.core as mx
import second_backend
mx.set_default_device(mx.gpu)
mx.default_stream(mx.gpu)
mx.clear_streams()
print(second_backend.host_driver().mlx_host_contexts())
"""
    code, out, error = run_program(program)
    assert (code, out) == (0, "0\n"), error


BESIDE = pathlib.Path(mx.__file__).parent / "lib" / "libmlx_cuda.so"


@pytest.mark.skipif(not BESIDE.exists(), reason="the package was built without the plugin")
def test_the_first_question_about_nccl_loads_the_plugin():
    """Nothing else did before in that process."""
    program = "import mlx.core as mx; print(mx.distributed.is_available('nccl'))"
    environment = os.environ | {"MLX_DEVICE": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == "True\n", done.stderr
