"""Processes with a GPU each, connected by NCCL: on a library of the host by NCCL's names.

The collectives' own tests run with real GPUs too: MLX_TEST_NCCL=real, with two ranks on one GPU.
"""

import os

import pytest
from processes import EMULATED, SANITIZED
from ranks import (
    ENDS,
    LATE,
    ONE_STOPS,
    all_disagreements,
    check_disagreements,
    check_end,
    check_stop,
    launch,
    one_ends,
)

import mlx.core as mx
from mlx.launch.__main__ import nccl_variables
from mlx.launch.hosts import Cluster, Host

REAL = os.environ.get("MLX_TEST_NCCL") == "real"
pytestmark = [
    pytest.mark.cpu_only(reason="makes a GPU of its own"),
    pytest.mark.skipif(SANITIZED, reason="kernels run as fibers, which sanitizers do not follow"),
    pytest.mark.skipif(EMULATED, reason="the plugin is compiled for x86-64"),
]

START = """
import os, signal, sys, threading, time; signal.signal(2, signal.default_int_handler)
import mlx.core as mx
dist = mx.distributed
def print(*a, **k): os.write(1, (' '.join(map(str, a)) + '\\n').encode())
# Ranks on one GPU are hosts to NCCL.
os.environ["NCCL_HOSTID"] = "host" + os.environ["MLX_RANK"]
"""
HOST = "import second_backend\nsecond_backend.use('cuda-host')\n"
GROUP = "group = dist.init(strict=True, backend='nccl')\nrank, size = group.rank(), group.size()\n"


def run(tmp_path, text, size=2, *options, begin=GROUP, **env):
    """Run a script with a number of ranks; status, output, errors."""
    lines = text.splitlines()
    indent = min(len(x) - len(x.lstrip()) for x in lines if x.strip())
    script = tmp_path / "script.py"
    body = "\n".join(x[indent:] for x in lines)
    script.write_text(START + ("" if REAL else HOST) + begin + body)
    env.setdefault("MLX_DEVICE", "")
    arguments = ("-n", str(size), "--backend", "nccl", *options, str(script))
    return launch(*arguments, timeout=200, **env)


@pytest.mark.parametrize("size", [2] if REAL else [2, 4])
def test_table(tmp_path, size):
    """Every function, dtype and shape, of arrays on GPUs; the driver of the host has two."""
    devices = 1 if REAL else 2
    text = """
    import distributed_cases
    wrong, bits = distributed_cases.run_all()
    status = dist.status()
    assert status["library"].startswith("NCCL 2."), status
    print(rank, status["engine"], mx.default_device(), *wrong)
    """
    code, out, err = run(tmp_path, text, size, MLX_HOST_DRIVER_DEVICES=str(devices))
    assert code == 0, out + err
    want = [f"{r} nccl Device(gpu, {r % devices})" for r in range(size)]
    assert sorted(out.splitlines()) == want


def test_group(tmp_path):
    """Groups, derivatives, compiled functions, messages, and work in flight at the end."""
    text = """
    half = group.split(rank % 2)
    a = dist.all_sum(mx.array([1.0 * rank]), group=half)
    x = mx.arange(8.0) + rank
    grad = mx.grad(lambda x: (dist.all_sum(x * x) * x).sum())(x)
    step = mx.compile(lambda x: dist.all_sum(x * 2) + 1)
    steps = [step(x + k)[0].item() for k in range(3)]
    sent = dist.send(x, (rank + 1) % size)
    got = dist.recv_like(x, (rank - 1) % size)
    mx.eval(sent, got)
    dist.barrier()
    print(rank, half.size(), a.item(), grad[1].item(), *steps, got[0].item())
    last = dist.all_sum(mx.ones(1000))
    mx.async_eval(last)
    if "second_backend" in globals():
        assert second_backend.host_driver().mlx_host_calls(3) >= 5  # NCCL's calls
    """
    code, out, err = run(tmp_path, text, 2)
    assert code == 0, err
    want = []
    for r in range(2):
        x = 1.0 + r
        grad = (1.0 + 4.0) + 2 * x * x
        want.append(f"{r} 1 {1.0 * r} {grad} 3.0 7.0 11.0 {1.0 - r}")
    assert sorted(out.splitlines()) == want


def test_overlap_of_groups_and_dtypes(tmp_path):
    """Requests that NCCL does not carry go through the host, in order with the others."""
    text = """
    rest = []
    for k in range(5):
        a = dist.all_sum(mx.full((3,), k + rank, dtype=mx.int16))
        b = dist.all_sum(a.astype(mx.float32))
        rest += [dist.all_max(b + rank), dist.all_gather(a)]
    mx.eval(rest)
    print(rank, [r[-1].item() for r in rest])
    """
    code, out, err = run(tmp_path, text, 2)
    assert code == 0, err
    values = [v for k in range(5) for v in (2.0 * (2 * k + 1) + 1, 2 * k + 1)]
    assert sorted(out.splitlines()) == [f"{r} {values}" for r in range(2)]


# Each group of a process is made at another port, which rank 0 has found to be free.
PORTS = """
    from mlx.launch.hosts import free_ports
    ports = iter(dist.broadcast(mx.array(free_ports(20)), 0).tolist())
"""
CONNECT = "os.environ['NCCL_PORT'] = str(next(ports)); dist.init(strict=True, backend='nccl')"


def test_disagreement(tmp_path):
    """An error on every rank, and never a value."""
    code, out, err = run(tmp_path, PORTS + all_disagreements(CONNECT), 2)
    assert code in (0, 1), err
    check_disagreements(out, err, 2)


@pytest.mark.parametrize("name", ["raises", "is killed"])
def test_ending_rank(tmp_path, name):
    check_end(run(tmp_path, one_ends(ENDS[name][0]), 2), name, 2)


def test_late_rank(tmp_path):
    check_stop(run(tmp_path, ONE_STOPS, 2, "--timeout", str(LATE)))


BROKEN_OFF = """
    x = mx.ones(1000)
    mx.eval(x, dist.all_sum(x))
    if rank == 1:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), {signal})).start()
    try:
        mx.eval(dist.all_sum(x) + 1)
        print("no error")
    except mx.CommunicationError as e:
        print(e)
    # All else goes on.
    print((x + 1).sum().item())
"""


@pytest.mark.skipif(REAL, reason="the library of the host hangs on request")
@pytest.mark.parametrize("why", ["the rank is gone", "time is over"])
def test_broken_off_on_the_device(tmp_path, why):
    """Work that the device has begun, and that does not end."""
    dies = why == "the rank is gone"
    text = BROKEN_OFF.replace("{signal}", "signal.SIGKILL" if dies else "0")
    options = () if dies else ("--timeout", str(LATE))
    code, out, err = run(tmp_path, text, 2, *options, MLX_HOST_NCCL_HANG="2")
    assert (code == 137) if dies else (code in (0, 1)), out + err
    assert "no error" not in out
    assert ("rank 1" if dies else f"no progress for {LATE} s in all_sum of 1000 float32") in out
    assert out.count("2000.0") == (1 if dies else 2)


@pytest.mark.skipif(REAL, reason="calls of the library of the host fail on request")
def test_failing_call(tmp_path):
    """An error of the library is one of every rank."""
    text = """
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 1:
        second_backend.host_driver().mlx_host_fail(3, 1, 1)
    try:
        mx.eval(dist.all_sum(mx.ones(3)))
        mx.eval(dist.all_sum(mx.ones(3)))
        print("no error")
    except mx.CommunicationError as e:
        print(e)
    """
    _, out, err = run(tmp_path, text, 2)
    assert "no error" not in out and "NCCL: unhandled system error" in out, out + err
    # The other rank may see its communicator fail before the error of this one arrives.
    assert out.count("NCCL: ") == 2, out + err


def test_input_that_cannot_be_computed(tmp_path):
    """The error of the rank; the others are told."""
    text = """
    x = mx.linalg.inv(mx.zeros((2, 2)) if rank else mx.eye(2), stream=mx.cpu)
    try:
        mx.eval(dist.all_sum(x))
        mx.eval(dist.all_sum(mx.ones(2)))
        print("no error")
    except RuntimeError as e:
        print(type(e).__name__)
        raise
    """
    code, out, err = run(tmp_path, text, 2)
    assert code != 0 and "no error" not in out, out + err
    assert sorted(out.splitlines()) == ["CommunicationError", "LinAlgError"], out + err


def test_one_gpu_for_two_ranks(tmp_path):
    begin = "del os.environ['NCCL_HOSTID']\n" + GROUP
    code, _, err = run(tmp_path, "    print(rank)", 2, begin=begin)
    assert code != 0 and "ranks 0 and 1 use one GPU (GPU-" in err


MISSING = [
    ({"NCCL_PORT": ""}, "NCCL_PORT not set"),
    ({"MLX_RANK": "2"}, "ranks from 0 to 1"),
    ({"MLX_CUDA_NCCL": "/no/such/libnccl.so"}, "libnccl.so.2 is not found"),
]


@pytest.mark.skipif(REAL, reason="the same anywhere")
@pytest.mark.parametrize("env, text", MISSING)
def test_missing(tmp_path, env, text):
    begin = "import os\nos.environ.update(" + repr(env) + ")\n" + HOST + GROUP
    code, _, err = run(tmp_path, "    print(rank)", 2, begin=begin)
    assert code != 0 and text in err, err


def test_not_available_without_a_gpu():
    assert mx.distributed.is_available("nccl") in (False, REAL)


def test_variables():
    hosts = [Host(name, [ip]) for name, ip in (("a", "10.0.0.1"), ("a", "10.0.0.1"), ("b", "::2"))]
    places = nccl_variables(Cluster(hosts), 5000)
    assert places[2] == {"NCCL_HOST_IP": "10.0.0.1", "NCCL_PORT": "5000", "MLX_LOCAL_RANK": "0"}
    assert [p["MLX_LOCAL_RANK"] for p in places] == ["0", "1", "0"]
