"""Processes connected by TCP, and the launcher: values, bits, disagreement, faults, hosts."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import distributed_cases
import pytest

import mlx.core as mx
from mlx.launch.__main__ import configure, main, parser
from mlx.launch.hosts import LaunchError, parse_hosts, read_hostfile

pytestmark = pytest.mark.anywhere

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MLX_NUM_THREADS": "1"}
START = "import os, sys, time, signal\nimport mlx.core as mx\ndist = mx.distributed\n"
# One write: lines of ranks would mix otherwise.
START += "def print(*a, **k): os.write(1, (' '.join(map(str, a)) + '\\n').encode())\n"
START += "group = dist.init(strict=True)\nrank, size = group.rank(), group.size()\n"


def write(tmp_path, text):
    """A script that begins with a group."""
    script = tmp_path / "script.py"
    script.write_text(START + textwrap.dedent(text))
    return str(script)


def launch(*arguments, timeout=100, **kwargs):
    """Run mlx.launch; its status, and what was written."""
    done = subprocess.run(
        [sys.executable, "-m", "mlx.launch", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**ENV, **kwargs},
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def run(tmp_path, text, size=2, *options, **kwargs):
    """Run a script with a number of ranks."""
    return launch("-n", str(size), *options, write(tmp_path, text), **kwargs)


@pytest.mark.parametrize("size", [2, 4, pytest.param(8, marks=pytest.mark.sampled(0, always=True))])
def test_table(tmp_path, size):
    """Every function, dtype and shape: right, and the bits of threads."""
    text = """
    import distributed_cases
    wrong, bits = distributed_cases.run_all()
    print(rank, bits, *wrong, flush=True)
    """
    code, out, err = run(tmp_path, text, size)
    assert code == 0, err
    threads = mx.distributed.simulate(distributed_cases.run_all, size)
    want = [f"{r} {bits}" for r, (_, bits) in enumerate(threads)]
    assert sorted(out.splitlines()) == want


def test_group(tmp_path):
    text = """
    half = group.split(rank % 2)
    a = dist.all_sum(mx.array([rank]), group=half).item()
    dist.barrier()
    again = dist.init()
    s = dist.status()
    print(rank, size, half.rank(), half.size(), a, again == group, s["engine"], s["failure"])
    """
    code, out, _ = run(tmp_path, text, 4)
    assert code == 0
    assert sorted(out.splitlines()) == [
        "0 4 0 2 2 True ring None",
        "1 4 0 2 4 True ring None",
        "2 4 1 2 2 True ring None",
        "3 4 1 2 4 True ring None",
    ]


DISAGREEMENTS = {
    "kind": ("dist.all_sum(x)", "dist.all_max(x)"),
    "operation": ("dist.all_sum(x)", "dist.all_gather(x)"),
    "dtype": ("dist.all_sum(x)", "dist.all_sum(x.astype(mx.int32))"),
    "count": ("dist.all_sum(x)", "dist.all_sum(mx.ones(9))"),
    "large": ("dist.all_sum(mx.ones(1 << 20))", "dist.all_sum(mx.ones(1 << 19))"),
    "one more": ("mx.array(0)", "dist.all_sum(x)"),
    "order": ("[dist.all_sum(x), dist.all_max(x)]", "[dist.all_max(x), dist.all_sum(x)]"),
    "not evaluated": ("dist.all_sum(x)", "(dist.all_sum(x), mx.array(0))[1]"),
}


def test_disagreement(tmp_path):
    """An error on every rank, never a value: each case with new connections."""
    text = f"""
    cases = {DISAGREEMENTS!r}
    for name, (usual, odd) in cases.items():
        group = dist.init(strict=True)
        x = mx.ones(8)
        mx.eval(dist.all_sum(x))
        try:
            result = eval(odd if rank == 1 else usual)
            mx.eval(result)
            mx.eval(dist.all_sum(x))
            dist.barrier()
            print(name, "no error", flush=True)
        except mx.CommunicationError as e:
            print(name, "error", flush=True)
        if name == list(cases)[-1]:
            break
        dist._clear_backends()
    """
    code, out, err = run(tmp_path, text, 3)
    assert code == 0, err
    lines = out.splitlines()
    assert "no error" not in out
    for name in DISAGREEMENTS:
        assert lines.count(f"{name} error") == 3, out


ENDS = {
    "raises": ("raise LookupError('lost it')", 1, "rank 1 ended: LookupError: lost it (script.py:"),
    "exits": ("sys.exit(7)", 7, "rank 1 ended with status 7"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", 137, "rank 1 was ended by SIGKILL"),
    "leaves": ("os._exit(3)", 3, "rank 1 ended with status 3"),
}


def one_ends(ending):
    """A program in which rank 1 ends among messages."""
    return f"""
    for k in range(20):
        mx.eval(dist.all_sum(mx.ones(1000) * k))
        if rank == 1 and k == 10:
            {ending}
    """


@pytest.mark.parametrize("name", ENDS)
def test_ending_rank(tmp_path, name):
    """The others get an error; the launcher's status and last line are those of the first."""
    ending, status, last = ENDS[name]
    code, _, err = run(tmp_path, one_ends(ending), 3)
    assert code == status, err
    assert err.strip().splitlines()[-1].startswith(f"[mlx.launch] {last}"), err
    assert err.count("CommunicationError") >= 2
    if name == "raises":
        assert err.count("rank 1 ended: LookupError: lost it") >= 3


def test_stopped_rank(tmp_path):
    """A rank that does nothing: the others raise after the timeout, and it is ended."""
    text = """
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    mx.eval(dist.all_sum(mx.ones(3)))
    """
    code, _, err = run(tmp_path, text, 2, "--timeout", "1")
    assert code == 1
    assert "no progress for 1 s" in err and "waiting for rank 1" in err


def test_interrupt(tmp_path):
    """A rank that is interrupted in a message tells the others."""
    # A shell lets what it runs in the background ignore interrupts.
    text = """
    import threading
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 0:
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            mx.eval(dist.all_sum(mx.ones(3)))
        except KeyboardInterrupt:
            print("interrupted")
            open(__file__ + ".over", "w").close()
    else:
        while not os.path.exists(__file__ + ".over"):
            time.sleep(0.01)
        try:
            mx.eval(dist.all_sum(mx.ones(3)))
        except mx.CommunicationError as e:
            print(e)
    """
    code, out, err = run(tmp_path, text)
    assert code == 0, err
    assert "interrupted\n" in out and "rank 0 was interrupted in all_sum of 3 float32" in out


def test_fork(tmp_path):
    text = """
    child = os.fork()
    if child == 0:
        try:
            mx.eval(dist.all_sum(mx.ones(3)))
        except mx.CommunicationError as e:
            print("fork" in str(e), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(dist.all_sum(mx.array(1)).item())
    """
    code, out, err = run(tmp_path, text)
    assert code == 0, err
    assert sorted(out.splitlines()) == ["2", "2", "True", "True"]


def test_again(tmp_path):
    """Groups are left and made again; a message that was posted arrives."""
    text = """
    for k in range(20):
        group = dist.init()
        assert dist.all_sum(mx.array(k)).item() == 2 * k
        dist._clear_backends()
    dist.init()
    if rank == 0:
        mx.eval(dist.send(mx.arange(1 << 21), 1))
    else:
        time.sleep(0.5)
        print(dist.recv((1 << 21,), mx.int32, 0)[-1].item())
    """
    code, out, err = run(tmp_path, text)
    assert code == 0, err
    assert out.strip() == str((1 << 21) - 1)


def test_export(tmp_path):
    """A function with collectives is exported, and communicates where it is imported."""
    text = f"""
    path = {str(tmp_path)!r} + f"/{{rank}}.mlxfn"
    mx.export_function(path, lambda x: dist.all_sum(x * 2) + dist.all_gather(x)[1], mx.ones(3))
    f = mx.import_function(path)
    print(f(mx.ones(3) * (rank + 1))[0].tolist())
    """
    code, out, err = run(tmp_path, text)
    assert code == 0, err
    assert out.splitlines() == ["[7.0, 7.0, 7.0]"] * 2
    with pytest.raises(mx.FileError, match="all_gather gives shape"):  # of two processes
        mx.import_function(str(tmp_path / "0.mlxfn"))


def test_networks(tmp_path):
    """Divided layers and averaged gradients in processes."""
    text = """
    import mlx.nn as nn
    mx.random.seed(1)
    layer = nn.Linear(8, 4)
    x = mx.random.normal((2, 8))
    part = nn.layers.distributed.shard_linear(layer, "sharded-to-all")
    mine = mx.split(x, size, axis=-1)[rank]
    assert mx.allclose(part(mine), layer(x), atol=1e-5)
    grads = nn.average_gradients({"w": mx.array([float(rank)])})
    print(grads["w"].item())
    """
    code, out, err = run(tmp_path, text, 4)
    assert code == 0, err
    assert out.splitlines() == ["1.5"] * 4


# --- the launcher


def test_threads(tmp_path):
    code, out, err = run(
        tmp_path, "print(dist.all_sum(mx.array(1)).item())", 3, "--backend", "threads"
    )
    assert (code, out) == (0, "3\n3\n3\n"), err
    code, _, err = run(tmp_path, "sys.exit(4)", 2, "--backend", "threads")
    assert code == 4, err


def test_output_and_input(tmp_path):
    script = write(tmp_path, "print(sys.stdin.read().strip(), sys.argv[1:], os.environ['A'])")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mlx.launch",
            "-n",
            "2",
            "--tag",
            "--env",
            "A=b c",
            script,
            "-n",
            "x",
        ],
        input="hello",
        capture_output=True,
        text=True,
        timeout=60,
        env=ENV,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{r}] hello ['-n', 'x'] b c" for r in (0, 1)]


def test_nothing_is_left(tmp_path):
    """Processes that ranks started end with them."""
    text = """
    import subprocess
    child = subprocess.Popen(["sleep", "100"])
    print(child.pid, flush=True)
    dist.barrier()
    if rank == 0:
        raise ValueError("over")
    dist.barrier()
    """
    code, out, _ = run(tmp_path, text)
    assert code == 1
    for pid in out.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), 0)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            assert state == "Z"


def test_signal(tmp_path):
    """A launcher that is told to end ends its ranks."""
    script = write(tmp_path, "print('ready', flush=True)\ntime.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-m", "mlx.launch", "-n", "2", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        stdin=subprocess.DEVNULL,
    )
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert "SIGTERM" in err


def test_restarts(tmp_path):
    text = f"""
    path = {str(tmp_path)!r} + f"/{{rank}}"
    first = not os.path.exists(path)
    open(path, "w").close()
    dist.barrier()
    if first and rank == 1:
        raise ValueError("once")
    print(dist.all_sum(mx.array(1)).item(), flush=True)
    """
    code, out, err = run(tmp_path, text, 2, "--restarts", "1")
    assert code == 0, err
    assert out.splitlines()[-2:] == ["2", "2"]


def test_remote(tmp_path):
    """The command for another machine, by a program in the place of ssh that runs it here."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    hostfile = tmp_path / "hosts.json"
    hosts = [{"ssh": name, "ips": ["127.0.0.1"]} for name in ("one", "two")]
    hostfile.write_text(json.dumps({"backend": "ring", "envs": ["A=b c"], "hosts": hosts}))
    script = write(tmp_path, "print(dist.all_sum(mx.array(1)).item(), os.environ['A'])")
    code, out, err = launch(
        "--hostfile",
        str(hostfile),
        "-p",
        str(free_port()),
        "--env",
        f"PYTHONPATH={ENV['PYTHONPATH']}",
        script,
        PATH=f"{ssh.parent}{os.pathsep}{os.environ['PATH']}",
    )
    assert code == 0, err
    assert out.splitlines() == ["2 b c"] * 2


def free_port():
    """A port with a free one behind it, as far as can be known."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return min(s.getsockname()[1], 65000)


def test_port_taken(tmp_path, capsys):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = str(s.getsockname()[1])
        assert main(["-p", port, write(tmp_path, "")]) == 2
    assert f"port {port} of 127.0.0.1" in capsys.readouterr().err


REFUSED = [
    ([], "no script"),
    (["no_such_script.py"], "no script and no program"),
    (["--backend", "jaccl", "x.py"], "macOS"),
    (["--backend", "smoke", "x.py"], "smoke"),
    (["-n", "0", "x.py"], "numbers from 1"),
    (["--env", "A", "x.py"], "NAME=VALUE"),
    (["--timeout", "-1", "x.py"], "seconds"),
    (["--hosts", "a,,b", "x.py"], "names"),
    (["--hostfile", "no_such_file.json", "x.py"], "No such file"),
    (["-p", "70000", sys.executable], "65535"),
]


@pytest.mark.parametrize("arguments, text", REFUSED)
def test_refused(arguments, text, capsys):
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"hosts": 3}', '[{"ips": ["1.2.3.4"]}]', "[3]"])
def test_bad_hostfiles(tmp_path, text):
    path = tmp_path / "hosts.json"
    path.write_text(text)
    with pytest.raises(LaunchError, match="hostfile"):
        read_hostfile(str(path))


def test_hosts():
    hosts = parse_hosts("a,localhost", 2)
    assert [(h.name, h.ips, h.local) for h in hosts] == [
        ("a", ["a"], False),
        ("a", ["a"], False),
        ("localhost", ["127.0.0.1"], True),
        ("localhost", ["127.0.0.1"], True),
    ]
    args = parser().parse_args(["-n", "2", "--hosts", "a", "script.py", "-n", "3"])
    assert args.repeat_hosts == 2 and args.command == ["script.py", "-n", "3"]


def test_config(tmp_path, capsys):
    path = tmp_path / "hosts.json"
    assert configure(["--hosts", "localhost", "--env", "A=1", "--hostfile", str(path)]) == 0
    data = json.loads(path.read_text())
    assert data["backend"] == "ring" and data["envs"] == ["A=1"]
    assert data["hosts"] == [{"ssh": "localhost", "ips": ["127.0.0.1"]}]
    assert read_hostfile(str(path)).backend == "ring"
    assert configure(["--over", "thunderbolt"]) == 2
    assert "macOS" in capsys.readouterr().err


# --- processes without a launcher


def alone(text, **variables):
    """Run a program; its output and errors."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        env={**ENV, **variables},
    )
    return done.returncode, done.stdout + done.stderr


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
