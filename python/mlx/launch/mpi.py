"""Ranks started by a launcher of MPI: ``mlx.launch --backend mpi``."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .guard import ending_with_parent
from .hosts import Host, LaunchError


def find_mpiexec() -> str:
    """The ``mpiexec`` of a package beside this Python, or the one on the path."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.is_file() else shutil.which("mpiexec") or shutil.which("mpirun")
    if not found:
        raise LaunchError("no mpiexec; a package of MPI has one, such as mpich of PyPI")
    return found


def is_open_mpi(mpiexec: str) -> bool:
    """Whether the launcher takes the options of Open MPI; others take Hydra's."""
    done = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    return any(name in text for name in ("Open MPI", "OpenRTE", "prte", "PRRTE"))


def library_of(mpiexec: str) -> str | None:
    """The library of a package of MPI, in the folder ``lib`` beside the launcher's."""
    folder = Path(mpiexec).resolve().parent.parent / "lib"
    for name in ("libmpi_abi.so.1", "libmpi.so.40", "libmpi.so.12"):
        if (folder / name).is_file():
            return str(folder / name)
    return None


def mpi_command(
    mpiexec: str, hosts: list[Host], env: dict[str, str], extra: list[str], open_mpi: bool
) -> list[str]:
    """The launcher and its options."""
    command = [mpiexec, "-n", str(len(hosts))]
    if not all(h.local for h in hosts):
        names = ",".join(h.name for h in hosts)
        command += ["--host", names] if open_mpi else ["-hosts", names]
    elif open_mpi and len(hosts) > (os.cpu_count() or 1):
        command.append("--oversubscribe")
    for name, value in env.items():
        command += ["-x", f"{name}={value}"] if open_mpi else ["-genv", name, value]
    return command + [word for text in extra for word in shlex.split(text)]


def run_mpi(
    hosts: list[Host], arguments: list[str], env: dict[str, str], extra: list[str], cwd: str
) -> int:
    """Start the ranks; the status of the launcher of MPI."""
    mpiexec = find_mpiexec()
    open_mpi = is_open_mpi(mpiexec)
    own = dict(os.environ)
    if "MLX_MPI_LIBNAME" not in {**own, **env} and (library := library_of(mpiexec)):
        env = {**env, "MLX_MPI_LIBNAME": library}
    if open_mpi and os.geteuid() == 0:
        print("[mlx.launch] Open MPI is allowed to run as root", file=sys.stderr)
        own.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory(prefix="mlx-launch-") as notes:
        command = mpi_command(mpiexec, hosts, {**env, "MLX_LAUNCH_NOTES": notes}, extra, open_mpi)
        status = subprocess.run(
            [*command, *arguments],
            env=own,
            cwd=cwd,
            check=False,
            preexec_fn=ending_with_parent(),
        ).returncode
        if status:
            texts = [p.read_text(errors="replace").strip() for p in sorted(Path(notes).iterdir())]
            reason = next(filter(None, texts), f"mpiexec ended with status {status}")
            print(f"[mlx.launch] {reason}", file=sys.stderr)
    return 128 - status if status < 0 else status
