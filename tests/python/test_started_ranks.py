"""Processes that find each other by variables, whatever has started them."""

import contextlib
import json
import socket
import subprocess
import sys
import time

import pytest
from ranks import ENV, alone, free_port, launch, slurm, torchrun, write

pytestmark = pytest.mark.anywhere

INIT = "import mlx.core as mx\ntry:\n    print(mx.distributed.init(strict={}).size())\n"
INIT += "except Exception as e:\n    print(type(e).__name__, e)"
# Contents of a hostfile or None, variables, what is printed with strict and without.
VARIABLES = [
    (None, {"MLX_RANK": "0"}, "ExecutionError", "1"),
    (None, {"MLX_HOSTFILE": "/no/such/file"}, "MLX_RANK not set", "MLX_RANK is not"),
    (None, {"MLX_HOSTFILE": "/no/such/file", "MLX_RANK": "0"}, "cannot be read", "cannot be read"),
    ("{", {"MLX_RANK": "0"}, "no list", "no list"),
    ("[3]", {"MLX_RANK": "0"}, "no list of addresses", "no list of addresses"),
    ('[["127.0.0.1"]]', {"MLX_RANK": "0"}, "address:port", "address:port"),
    ('[["127.0.0.1:1"]]', {"MLX_RANK": "two"}, "MLX_RANK = 'two'", "MLX_RANK = 'two'"),
    ('[["127.0.0.1:1"]]', {"MLX_RANK": "1"}, "ranks from 0 to 0", "ranks from 0 to 0"),
    ('[["127.0.0.1:1"]]', {"MLX_RANK": "0"}, "1", "1"),
    ('[["127.0.0.1:1"]]', {"MLX_RANK": "0", "MLX_WORLD_SIZE": "2"}, "WORLD_SIZE", "WORLD_SIZE"),
    ('[["no.such.name.invalid:1"], ["127.0.0.1:1"]]', {"MLX_RANK": "0"}, "no.such", "no.such"),
    (None, {"RANK": "0"}, "nothing has launched", "1"),
    (None, {"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR not set", "and MASTER_ADDR is not"),
    (None, torchrun(0, 2, "9999", WORLD_SIZE=""), "WORLD_SIZE not set", "and WORLD_SIZE is not"),
    (None, torchrun(2, 2, "9999"), "ranks from 0 to 1", "ranks from 0 to 1"),
    (None, torchrun(0, 0, "9999"), "WORLD_SIZE = 0", "WORLD_SIZE = 0"),
    (None, torchrun(0, 2, "high"), "MASTER_PORT = 'high'", "MASTER_PORT = 'high'"),
    (None, torchrun(0, 2, "65535"), "port 65536", "port 65536"),
    (None, torchrun(0, 1, "9999"), "1", "1"),
    (None, slurm(0, 4, "localhost", SLURM_STEP_ID=""), "nothing has launched", "1"),
    (None, slurm(0, 1, "localhost"), "1", "1"),
    (None, slurm(4, 4, "localhost"), "ranks from 0 to 3", "ranks from 0 to 3"),
    (None, slurm(1, 2, "n[07-09,12].invalid,a"), "n07.invalid:21237", "n07.invalid:21237"),
    (None, slurm(1, 2, "r[2,4]n[3-4].invalid"), "r2n3.invalid", "r2n3.invalid"),
    (None, slurm(1, 2, "a.invalid", MLX_DISTRIBUTED_PORT="7"), "a.invalid:7", "a.invalid:7"),
]


@pytest.mark.parametrize("case", VARIABLES)
def test_variables(tmp_path, case):
    content, variables, strict, lenient = case
    if content is not None:
        path = tmp_path / "hosts.json"
        path.write_text(content)
        variables = {**variables, "MLX_HOSTFILE": str(path)}
    for flag, text in ((True, strict), (False, lenient)):
        code, out = alone(INIT.format(flag), **variables)
        assert code == 0 and text in out, out


OTHERS = {
    "torchrun": lambda rank, port: torchrun(rank, 3, port),
    "torchrun inside of a job": lambda rank, port: {
        **torchrun(rank, 3, port, OMPI_COMM_WORLD_SIZE="2"),
        **slurm(0, 2, "no.such.name.invalid"),
    },
    "srun": lambda rank, port: slurm(rank, 3, "localhost,b[1-2]", MLX_DISTRIBUTED_PORT=port),
    "srun with PMI and no library": lambda rank, port: slurm(
        rank, 3, "localhost", MLX_DISTRIBUTED_PORT=port, PMI_SIZE="3", MLX_MPI_LIBNAME="no.so"
    ),
    "mlx.launch inside of a job": lambda rank, port: slurm(0, 2, "no.such.name.invalid"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_launchers(tmp_path, name):
    """Processes that another launcher starts find each other by its variables."""
    text = "print(rank, size, dist.status()['engine'], dist.all_sum(mx.array(rank)).item())"
    script, port = write(tmp_path, text), str(free_port())
    if name == "mlx.launch inside of a job":
        code, out, err = launch("-n", "3", script, **OTHERS[name](0, port))
        assert code == 0, err
        lines = out.splitlines()
    else:
        ranks = [
            subprocess.Popen(
                [sys.executable, script],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**ENV, "MLX_DEVICE": "cpu", **OTHERS[name](rank, port)},
            )
            for rank in range(3)
        ]
        lines = [r.communicate(timeout=60)[0].strip() for r in ranks]
    assert sorted(lines) == [f"{r} 3 ring 3" for r in range(3)]


def test_ranks_do_not_meet(tmp_path):
    """A rank that is missing, one that is there twice, another hostfile, and a stranger."""
    port = free_port()
    path, other = tmp_path / "hosts.json", tmp_path / "other.json"
    path.write_text(json.dumps([[f"127.0.0.1:{port}"], [f"127.0.0.1:{port + 1}"]]))
    other.write_text(json.dumps([[f"127.0.0.1:{port}"], [f"127.0.0.1:{port + 2}"]]))
    settings = {"MLX_HOSTFILE": str(path), "MLX_DISTRIBUTED_TIMEOUT": "1"}
    for r in "01":
        _, out = alone(INIT.format(True), MLX_RANK=r, **settings)
        assert "CommunicationError" in out and f"for rank {1 - int(r)}" in out
    settings["MLX_DISTRIBUTED_TIMEOUT"] = "20"
    start = lambda **v: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", INIT.format(True)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**ENV, **settings, **v},
    )
    first = start(MLX_RANK="0")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")  # a stranger
            break
        time.sleep(0.05)
    twice = start(MLX_RANK="0")
    assert "cannot listen" in twice.communicate(timeout=30)[0]
    wrong = start(MLX_RANK="1", MLX_HOSTFILE=str(other))
    assert "another hostfile" in wrong.communicate(timeout=30)[0]
    assert "another hostfile" in first.communicate(timeout=30)[0]


ORPHAN = """
import os, sys, time
from mlx.launch.guard import ending_with_parent
request, own = ending_with_parent(), os.getpid()
if os.fork() == 0:
    while os.getppid() == own:
        time.sleep(0.001)
    print("begins", flush=True)
    request()
    print("goes on", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a request to Linux")
def test_parent_that_has_ended():
    """A process whose parent ended before the request ends at once."""
    assert alone(ORPHAN) == (0, "begins\n")
