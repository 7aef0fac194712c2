"""Processes connected by a library of MPI: skipped where no launcher of MPI is there."""

import pathlib
import shutil
import subprocess
import sys

import distributed_cases
import pytest
from ranks import DISAGREEMENTS, ENV, alone, ended_in_time, kill_launcher, run, write

import mlx.core as mx
from mlx.launch.hosts import Host, LaunchError
from mlx.launch.mpi import find_mpiexec, is_open_mpi, library_of, mpi_command

pytestmark = pytest.mark.anywhere


def missing():
    """The reason for which MPI cannot be tested here, or None."""
    try:
        mpiexec = find_mpiexec()
    except LaunchError as e:
        return str(e)
    code = "import mlx.core as mx; print(mx.distributed.is_available('mpi'))"
    library = library_of(mpiexec)
    env = {**ENV, **({"MLX_MPI_LIBNAME": library} if library else {})}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    return None if done.stdout.strip() == "True" else "no library of MPI can be opened"


REASON = missing()
needs_mpi = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def run_mpi(tmp_path, text, size=2):
    """Run a script with a number of ranks of MPI."""
    return run(tmp_path, text, size, "--backend", "mpi", timeout=100)


WAITING = "print(os.getpid(), flush=True)\nwhile True:\n    time.sleep(100)"


@needs_mpi
@pytest.mark.parametrize("size", [2, 4, pytest.param(8, marks=pytest.mark.sampled(0, always=True))])
def test_table(tmp_path, size):
    """Every function, dtype and shape: right, and the bits of threads."""
    text = """
    import distributed_cases
    wrong, bits = distributed_cases.run_all()
    status = dist.status()
    assert "MPI" in status["library"], status
    print(rank, bits, status["engine"], *wrong)
    """
    code, out, err = run_mpi(tmp_path, text, size)
    assert code == 0, err
    threads = mx.distributed.simulate(distributed_cases.run_all, size)
    assert sorted(out.splitlines()) == [f"{r} {bits} mpi" for r, (_, bits) in enumerate(threads)]


@needs_mpi
@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_disagreement(tmp_path, name):
    """An error on every rank, never a value, and a status that is not 0."""
    usual, odd = DISAGREEMENTS[name]
    text = f"""
    x = mx.ones(8)
    mx.eval(dist.all_sum(x))
    try:
        mx.eval({odd} if rank == 1 else {usual})
        mx.eval(dist.all_sum(x))
        dist.barrier()
        print("no error")
    except mx.CommunicationError:
        print("error")
        raise
    """
    code, out, err = run_mpi(tmp_path, text, 3)
    assert code != 0, err
    # Launchers write lines of their own.
    assert out.splitlines().count("error") == 3 and "no error" not in out, out + err


@needs_mpi
def test_failing_rank(tmp_path):
    """Ranks that compute when another fails raise their own error at the next message."""
    text = """
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 1:
        raise LookupError("lost it")
    if rank == 0:
        time.sleep(1)
    mx.eval(dist.all_sum(mx.ones(3)))
    """
    code, _, err = run_mpi(tmp_path, text, 3)
    assert code != 0
    assert err.count("rank 1 ended: LookupError: lost it (script.py:") >= 3, err
    last = err.strip().splitlines()[-1].lstrip("\0 ")
    assert last.startswith("[mlx.launch] rank 1 ended: LookupError: lost it"), err


@needs_mpi
@pytest.mark.parametrize("ending", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_ending_rank(tmp_path, ending):
    text = f"""
    mx.eval(dist.all_sum(mx.ones(3)))
    if rank == 1:
        {ending}
    mx.eval(dist.all_sum(mx.ones(3)))
    print("no error")
    """
    code, out, _ = run_mpi(tmp_path, text, 3)
    assert code != 0 and "no error" not in out


@needs_mpi
def test_late_rank(tmp_path):
    text = """
    if rank == 1:
        time.sleep(60)  # MPI ends it
    mx.eval(dist.all_sum(mx.ones(3)))
    """
    code, _, err = run(tmp_path, text, 2, "--backend", "mpi", "--timeout", "1")
    assert code != 0 and "no progress for 1 s" in err


@needs_mpi
def test_group(tmp_path):
    """Groups, large messages in a circle, work in flight at the end."""
    text = """
    half = group.split(rank % 2)
    a = dist.all_sum(mx.array([rank]), group=half).item()
    x = mx.full((1 << 20,), float(rank))
    sent = dist.send(x, (rank + 1) % size)
    got = dist.recv_like(x, (rank - 1) % size)
    mx.eval(sent, got)
    dist.barrier()
    print(rank, a, got[5].item())
    if rank == 0:
        mx.eval(dist.send(x, 1))
    elif rank == 1:
        time.sleep(0.3)
        mx.eval(dist.recv_like(x, 0))
    """
    code, out, err = run_mpi(tmp_path, text, 4)
    assert code == 0, err
    lines = [f"{r} {2 + 2 * (r % 2)} {float((r - 1) % 4)}" for r in range(4)]
    assert sorted(out.splitlines()) == lines


@needs_mpi
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_killed_launcher(tmp_path):
    """The launcher of MPI is told to end, and ends the ranks."""
    pids = kill_launcher(write(tmp_path, WAITING), "--backend", "mpi")
    assert len(pids) == 3
    assert ended_in_time(pids)


FAILING = """
import mlx.core as mx
try:
    mx.distributed.init(strict=True, backend="mpi")
    mx.eval(mx.distributed.all_sum(mx.ones(3)))
except mx.ExecutionError as e:
    print(type(e).__name__, e, flush=True)
"""
INIT_MPI = """
import mlx.core as mx
try:
    print(mx.distributed.init(strict={}, backend="mpi").size())
except mx.ExecutionError as e:
    print(type(e).__name__, e)
"""
CANNOT_INIT = "ExecutionError [init] MPI"
IN_A_MESSAGE = "CommunicationError [distributed] MPI: it was asked to fail"
# The call that fails or another setting, the error, the status: 41 is MPI_Abort's.
FAILURES = [
    *(
        ({"FAILING_MPI": name}, f"{CANNOT_INIT}_{name}: it was asked to fail (Failing MPI 1.0)", 0)
        for name in ("Init_thread", "Comm_rank", "Comm_size", "Comm_dup", "Comm_set_errhandler")
    ),
    ({"FAILING_MPI_THREADS": "1"}, f"{CANNOT_INIT} without support for threads: Failing MPI", 0),
    ({"FAILING_MPI": "Irecv"}, IN_A_MESSAGE, 0),
    ({"FAILING_MPI": "Isend"}, IN_A_MESSAGE, 41),
    ({"FAILING_MPI": "Test"}, IN_A_MESSAGE, 41),
    ({"MLX_DISTRIBUTED_TIMEOUT": "0.2"}, "CommunicationError [all_sum] no progress", 41),
    ({"MPI_OVER": "1"}, "ExecutionError [init] MPI has ended in this process", 0),
    ({"OLD": "1"}, f"{CANNOT_INIT}: the library has no MPI_Cancel", 0),
    ({"MLX_MPI_LIBNAME": "/no/such/libmpi.so"}, f"{CANNOT_INIT}: /no/such/libmpi.so", 0),
]


def compiled(folder, *options):
    """A library by the names of MPI, in which messages never arrive."""
    library = folder / "libmpi.so"
    source = pathlib.Path(__file__).with_name("failing_mpi.c")
    subprocess.run(["cc", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    return str(library)


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler of C")
@pytest.mark.parametrize("settings, text, status", FAILURES)
def test_failing_call(tmp_path, settings, text, status):
    """Every error of a library of MPI is one of the program; no message is waited for in vain."""
    library = compiled(tmp_path, *(["-DOLD"] if "OLD" in settings else []))
    code, out = alone(FAILING, **{"MLX_MPI_LIBNAME": library, **settings})
    assert text in out and code == status, out


# Variables of launchers, and the outcome with `strict` and without.
NOT_LAUNCHED = "ExecutionError [init] no launcher of MPI has started this process"
SINGLE = [
    ({}, NOT_LAUNCHED, "1"),
    ({"OMPI_COMM_WORLD_SIZE": "1"}, "1", "1"),
    ({"PMI_SIZE": "1"}, "1", "1"),
    ({"PMI_SIZE": "3"}, "the launcher started 3 ranks", "the launcher started 3 ranks"),
]


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler of C")
@pytest.mark.parametrize("variables, strict, lenient", SINGLE)
def test_single_rank(tmp_path, variables, strict, lenient):
    """One rank is a group where a launcher started one, and an error with `strict` elsewhere."""
    settings = {"MLX_MPI_LIBNAME": compiled(tmp_path), "MPI_RANKS": "1", **variables}
    for flag, text in ((True, strict), (False, lenient)):
        code, out = alone(INIT_MPI.format(flag), **settings)
        assert code == 0 and out.startswith(("ExecutionError [init] ", "1\n")) and text in out, out


def test_commands():
    """Options of Open MPI and of Hydra."""
    here, there = Host("localhost", []), Host("node", [])
    hydra = mpi_command("mpiexec", [here, here], {"A": "1"}, ["-bind-to core"], False)
    assert hydra == ["mpiexec", "-n", "2", "-genv", "A", "1", "-bind-to", "core"]
    command = mpi_command("mpirun", [here, there], {"A": "1"}, [], True)
    assert command == ["mpirun", "-n", "2", "--host", "localhost,node", "-x", "A=1"]
    assert not is_open_mpi("true")
