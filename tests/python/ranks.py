"""Programs that tests start as several ranks, and checks of their ends."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from mlx.launch.hosts import free_ports

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


def all_disagreements(connect="dist.init(strict=True)"):
    """A program that runs each case on new connections, and tells how it ended."""
    return f"""
    for k, (name, (usual, odd)) in enumerate({DISAGREEMENTS!r}.items()):
        if k:
            dist._clear_backends()
            {connect}
        x = mx.ones(8)
        mx.eval(dist.all_sum(x))
        try:
            mx.eval(eval(odd if rank == 1 else usual))
            mx.eval(dist.all_sum(x))
            dist.barrier()
            print(name, "no error")
        except mx.CommunicationError:
            print(name, "error")
    """


def check_disagreements(out, err, size):
    """Every case is an error on every rank."""
    assert "no error" not in out
    for name in DISAGREEMENTS:
        assert out.splitlines().count(f"{name} error") == size, out + err


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


def check_end(result, name, size):
    """The others have an error; the launcher's status and last line are those of the first."""
    code, _, err = result
    _, status, last = ENDS[name]
    assert code == status, err
    assert err.strip().splitlines()[-1].startswith(f"[mlx.launch] {last}"), err
    assert err.count("CommunicationError") >= size - 1


ONE_STOPS = """
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    mx.eval(dist.all_sum(mx.ones(3)))
"""


# Seconds without progress in tests of late ranks. Ranks also wait so long for each other at the
# start, and a busy machine starts one much later than another.
LATE = 4


def check_stop(result):
    """The other rank has raised after the timeout, and the stopped one was ended."""
    code, out, err = result
    assert code == 1, out + err
    assert f"no progress for {LATE} s" in err and "waiting for rank 1" in err, err


def has_ended(pid):
    """Whether a process is over."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def ended_in_time(pids, seconds=60):
    """Whether processes are over, soon."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not all(map(has_ended, pids)):
        time.sleep(0.02)
    return all(map(has_ended, pids))


def kill_launcher(script, *options):
    """Kill a launcher with SIGKILL when three ranks have written their ids; these ids."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mlx.launch", "-n", "3", *options, script],
        stdout=subprocess.PIPE,
        text=True,
        env=ENV,
        stdin=subprocess.DEVNULL,
    )
    lines = [process.stdout.readline() for _ in range(3)]
    process.kill()
    process.wait()
    process.stdout.close()
    return [int(word) for line in lines for word in line.split() if word.isdigit()]


def free_port():
    """A port that is free, as most probably the next one is."""
    return free_ports(1)[0]


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


def torchrun(rank, size, port, **others):
    """The variables of a process that torchrun starts."""
    place = {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    return {**place, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **others}


def slurm(rank, size, nodes, **others):
    """The variables of a task that srun starts."""
    place = {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size), "SLURM_LOCALID": str(rank)}
    job = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "5", "SLURM_STEP_NODELIST": nodes}
    return {**place, **job, "SLURM_STEP_NUM_TASKS": str(size), **others}
