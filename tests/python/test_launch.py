"""Processes connected by TCP, and the launcher: values, bits, disagreement, faults, hosts."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import distributed_cases
import pytest
from ranks import (
    ENDS,
    ENV,
    LATE,
    ONE_STOPS,
    all_disagreements,
    check_disagreements,
    check_end,
    check_stop,
    ended_in_time,
    free_port,
    has_ended,
    kill_launcher,
    launch,
    one_ends,
    run,
    write,
)

import mlx.core as mx
from mlx.launch.__main__ import configure, main, parser
from mlx.launch.hosts import LaunchError, parse_hosts, read_hostfile

pytestmark = [pytest.mark.anywhere, pytest.mark.processes]


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
    import pickle
    same = [pickle.loads(pickle.dumps(g)) == g for g in (group, half)]
    names = [(g["name"], g["rank"], g["ranks"], g["messages"]) for g in s["groups"]]
    print(rank, same, names)
    """
    code, out, err = run(tmp_path, text, 4)
    assert code == 0, err
    world = lambda r: f"('world', {r}, [0, 1, 2, 3], 2)"  # noqa: E731
    assert sorted(out.splitlines()) == [
        "0 4 0 2 2 True ring None",
        f"0 [True, True] [{world(0)}, ('world/1:0', 0, [0, 2], 1)]",
        "1 4 0 2 4 True ring None",
        f"1 [True, True] [{world(1)}, ('world/1:1', 0, [1, 3], 1)]",
        "2 4 1 2 2 True ring None",
        f"2 [True, True] [{world(2)}, ('world/1:0', 1, [0, 2], 1)]",
        "3 4 1 2 4 True ring None",
        f"3 [True, True] [{world(3)}, ('world/1:1', 1, [1, 3], 1)]",
    ]


def test_no_call_of_init(tmp_path):
    """A collective makes the group, too: of several threads at once, and with last words."""
    script = tmp_path / "script.py"
    script.write_text("""
import os, threading, time
import mlx.core as mx
if os.environ["MLX_RANK"] == "1":
    time.sleep(0.5)  # the threads of rank 0 wait for it
sizes = []
def ask():
    sizes.append(mx.distributed.init().size())
    mx.distributed.status()
threads = [threading.Thread(target=ask) for _ in range(3)]
[t.start() for t in threads]
ask()
[t.join() for t in threads]
assert sizes == [2] * 4, sizes
mx.distributed._clear_backends()
x = mx.distributed.all_sum(mx.array(1))
if mx.distributed.status()["rank"] == 1:
    raise LookupError("lost it")
mx.eval(x)
""")
    code, _, err = launch("-n", "2", str(script))
    assert code == 1
    assert "[all_sum] rank 1 ended: LookupError: lost it (script.py:" in err, err


def test_verbose_ring(tmp_path):
    """Ranks write whom they call, where they listen, and when all are connected."""
    code, _, err = run(tmp_path, "", 3, MLX_RING_VERBOSE="1")
    assert code == 0, err
    told = sorted(line.rsplit(":", 1)[0] for line in err.splitlines() if "[mlx] rank" in line)
    calls = ["0 listens at", "1 calls rank 0 at", "1 listens at"]
    calls += ["2 calls rank 0 at", "2 calls rank 1 at"]
    want = [f"[mlx] rank {c} 127.0.0.1" for c in calls]
    assert told == sorted(want + [f"[mlx] rank {r} is connected to all others" for r in range(3)])


def test_disagreement(tmp_path):
    """An error on every rank, never a value."""
    code, out, err = run(tmp_path, all_disagreements(), 3)
    assert code in (0, 1), err
    check_disagreements(out, err, 3)


@pytest.mark.parametrize("name", ENDS)
def test_ending_rank(tmp_path, name):
    result = run(tmp_path, one_ends(ENDS[name][0]), 3)
    check_end(result, name, 3)
    if name == "raises":
        assert result[2].count("rank 1 ended: LookupError: lost it") >= 3


def test_stopped_rank(tmp_path):
    check_stop(run(tmp_path, ONE_STOPS, 2, "--timeout", str(LATE)))


@pytest.mark.skipif(sys.platform != "linux", reason="threads are looked up in /proc")
def test_interrupt(tmp_path):
    """A rank that is interrupted in a message tells the others."""
    # A shell lets what it runs in the background ignore interrupts.
    text = """
    import threading
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from blocked import interrupt_when_blocked
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 0:
        interrupt_when_blocked()
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
    """Groups are left and made again, old connections are closed; a posted message arrives."""
    text = """
    files = []
    for k in range(20):
        group = dist.init()
        assert dist.all_sum(mx.array(k)).item() == 2 * k
        if sys.platform == "linux":
            files.append(len(os.listdir("/proc/self/fd")))
        dist._clear_backends()
    assert not files or files[-1] <= files[0] + 8, files
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


def test_no_memory_for_a_result(tmp_path):
    """Nothing has been sent then: the rank is late, and goes on with more memory."""
    text = """
    mx.set_default_device(mx.cpu)
    x = mx.ones(1 << 20)
    mx.eval(x, dist.all_sum(mx.ones(3)))
    y = dist.all_sum(x)
    if rank == 1:
        mx.clear_cache()
        ceiling = mx.set_memory_ceiling(mx.get_active_memory() + 1000)
        try:
            mx.eval(y)
        except MemoryError:
            print("no memory")
        mx.set_memory_ceiling(ceiling)
    print(mx.array_equal(y, x * 2).item(), dist.status()["failure"])
    """
    code, out, err = run(tmp_path, text)
    assert code == 0, err
    assert sorted(out.splitlines()) == ["True None", "True None", "no memory"]


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
    assert all(map(has_ended, out.split()))


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


KILLED = """
import subprocess
child = subprocess.Popen(["sleep", "1000"])
if rank == 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), child.pid, flush=True)
if rank == 2:
    os.kill(os.getpid(), signal.SIGSTOP)
while True:
    time.sleep(100)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("options", [(), ("--tag",)])
def test_killed_launcher(tmp_path, options):
    """Ranks, and what they started, end with a launcher that cannot end them itself."""
    pids = kill_launcher(write(tmp_path, KILLED), *options)
    assert len(pids) == 6
    assert ended_in_time(pids)


@pytest.mark.parametrize("end", ["raise ValueError('once')", "os.kill(os.getpid(), 9)"])
def test_restarts(tmp_path, end):
    """All ranks start again after a failure, also after one by a signal."""
    text = f"""
    path = {str(tmp_path)!r} + f"/{{rank}}"
    first = not os.path.exists(path)
    open(path, "w").close()
    dist.barrier()
    if first and rank == 1:
        {end}
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


def test_compiled_program(tmp_path, capfd):
    """A compiled program is run as it is, by its path; a script that is executable, by Python."""
    program = tmp_path / "print"
    program.write_bytes(pathlib.Path("/bin/echo").read_bytes())
    script = tmp_path / "script"
    script.write_text("#!/bin/false\nprint('a script')\n")
    for file in (program, script):
        file.chmod(0o755)
    assert main(["-n", "2", str(program), "a program"]) == 0
    assert main([str(script)]) == 0
    assert capfd.readouterr().out.splitlines() == ["a program", "a program", "a script"]


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
    unknown = ["--hosts", "no.such.name.invalid,localhost"]
    assert configure(unknown) == 2
    assert "no.such.name.invalid" in capsys.readouterr().err
    assert configure(["--ignore-unreachable", *unknown]) == 0
    out, err = capsys.readouterr()
    assert [host["ssh"] for host in json.loads(out)["hosts"]] == ["localhost"]
    assert "no.such.name.invalid is left out" in err
    assert configure(["--ignore-unreachable", "--hosts", "no.such.name.invalid"]) == 2
