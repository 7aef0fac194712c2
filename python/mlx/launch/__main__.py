"""The command lines ``mlx.launch`` and ``mlx.distributed_config``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from .guard import Guard
from .hosts import DEFAULT_PORT, Cluster, LaunchError, addresses, parse_hosts, read_hostfile
from .mpi import run_mpi
from .processes import Command, Job

BACKENDS = ("ring", "mpi", "nccl", "threads")
# The first bytes of ELF and Mach-O files.
COMPILED = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
# Names that launchers of other systems have, and why they are refused.
REFUSED = {
    "jaccl": "JACCL needs Thunderbolt and macOS; ring connects processes by TCP",
}


def parser() -> argparse.ArgumentParser:
    """The options of ``mlx.launch``."""
    p = argparse.ArgumentParser(
        prog="mlx.launch", description="Start a program as several processes that work together."
    )
    p.add_argument(
        "--print-python", action="store_true", help="print the path of this Python and stop"
    )
    p.add_argument("--verbose", action="store_true", help="print what is started")
    p.add_argument("--hosts", default="127.0.0.1", help="names or addresses, commas between them")
    p.add_argument(
        "-n", "--repeat-hosts", type=int, default=1, metavar="N", help="ranks for each host"
    )
    p.add_argument("--hostfile", help="a JSON file with the hosts")
    p.add_argument(
        "--backend",
        help="ring (by TCP, the default), mpi, nccl (GPUs), or threads (of one process)",
    )
    p.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for all ranks"
    )
    p.add_argument(
        "--mpi-arg", action="append", default=[], metavar="ARG", help="an option for mpiexec"
    )
    p.add_argument(
        "--connections-per-ip", type=int, default=1, metavar="N", help="ports for each address"
    )
    p.add_argument(
        "-p", "--starting-port", type=int, help="the first port; the others follow (default: free)"
    )
    p.add_argument("--cwd", help="the directory that ranks run in (default: this one)")
    p.add_argument(
        "--nccl-port", type=int, help="the port of rank 0 with --backend nccl (default: free)"
    )
    p.add_argument("--python", default=sys.executable, help="the Python that runs a script")
    p.add_argument("--tag", action="store_true", help="print the rank before each line")
    p.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="the time without progress after which communication fails",
    )
    p.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="start again after a failure"
    )
    p.add_argument("command", nargs=argparse.REMAINDER, help="a script or program, its arguments")
    return p


def is_compiled(file: Path) -> bool:
    """Whether a file is a program in the format of Linux or macOS, and no script."""
    if not file.is_file() or not os.access(file, os.X_OK):
        return False
    with file.open("rb") as f:
        return f.read(4) in COMPILED


def command_of(args: argparse.Namespace, words: list[str]) -> list[str]:
    """The command of each rank: a script by Python, a compiled program, or one on the path."""
    cwd = Path(args.cwd or ".")
    if words[0] == "-m":
        return [args.python, *words]
    script = cwd / words[0]
    if is_compiled(script):
        return [str(script.resolve()), *words[1:]]
    if script.is_file():
        return [args.python, str(script.resolve()), *words[1:]]
    if program := shutil.which(words[0]):
        return [program, *words[1:]]
    raise LaunchError(f"{words[0]}: no script and no program of that name")


def cluster_of(args: argparse.Namespace) -> Cluster:
    """The hosts, and the backend that is asked for."""
    if args.repeat_hosts < 1 or args.connections_per_ip < 1:
        raise LaunchError("-n and --connections-per-ip: numbers from 1 are accepted")
    if args.hostfile:
        cluster = read_hostfile(args.hostfile)
    else:
        cluster = Cluster(parse_hosts(args.hosts, args.repeat_hosts))
    backend = args.backend or cluster.backend or "ring"
    if backend not in BACKENDS:
        raise LaunchError(
            REFUSED.get(backend, f"--backend {backend}: {', '.join(BACKENDS)} are there")
        )
    cluster.backend = backend
    return cluster


def variables(args: argparse.Namespace, cluster: Cluster) -> dict[str, str]:
    """The variables that all ranks get."""
    env = {}
    for pair in [*cluster.envs, *args.env]:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise LaunchError(f"--env {pair}: NAME=VALUE is accepted")
        env[name] = value
    if args.timeout is not None:
        if not args.timeout > 0:
            raise LaunchError("--timeout: a number of seconds is accepted")
        env["MLX_DISTRIBUTED_TIMEOUT"] = str(args.timeout)
    return env


def launch(args: argparse.Namespace) -> int:
    """Start the ranks; the status that the launcher ends with."""
    words = [w for k, w in enumerate(args.command) if w != "--" or k]
    if not words:
        raise LaunchError("no script; mlx.launch -n 2 script.py starts two ranks of it")
    cluster = cluster_of(args)
    env = variables(args, cluster)
    if cluster.backend == "threads":
        from .threads import run_threads

        return run_threads(words, len(cluster.hosts), env)
    arguments = command_of(args, words)
    if cluster.backend == "mpi":
        return run_mpi(
            cluster.hosts, arguments, env, args.mpi_arg, os.path.abspath(args.cwd or ".")
        )
    status = 0
    with contextlib.closing(Guard()) as guard:
        for _ in range(args.restarts + 1):
            status, stopped = launch_once(args, cluster, arguments, env, guard)
            if status == 0 or stopped:
                break
    return status


def nccl_variables(cluster: Cluster, port: int | None) -> list[dict[str, str]]:
    """For each rank the variables by which it finds rank 0, and its number on its machine."""
    hosts = cluster.hosts
    first = addresses(hosts[:1], port, 1)[0][0]
    if port is None and not all(h.local for h in hosts):
        first = f"{hosts[0].ips[0]}:{DEFAULT_PORT}"
    ip, _, number = first.rpartition(":")
    seen: dict[str, int] = {}
    result = []
    for host in hosts:
        local = seen[host.name] = seen.get(host.name, -1) + 1
        result.append(
            {"NCCL_HOST_IP": ip, "NCCL_PORT": number, "MLX_LOCAL_RANK": str(local)},
        )
    return result


def launch_once(
    args: argparse.Namespace,
    cluster: Cluster,
    arguments: list[str],
    env: dict[str, str],
    guard: Guard,
) -> tuple[int, bool]:
    """Start all ranks and wait: the status, and whether a signal has stopped the launch."""
    nccl = cluster.backend == "nccl"
    text, places = "", nccl_variables(cluster, args.nccl_port) if nccl else []
    if not nccl:
        text = json.dumps(addresses(cluster.hosts, args.starting_port, args.connections_per_ip))
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="mlx-launch-") as folder:
        if not nccl:
            hostfile = Path(folder) / "hosts.json"
            hostfile.write_text(text)
            places = [{"MLX_HOSTFILE": str(hostfile)}] * len(cluster.hosts)
        commands = [
            Command(
                host,
                arguments,
                {
                    **env,
                    "MLX_RANK": str(rank),
                    "MLX_WORLD_SIZE": str(len(cluster.hosts)),
                    **places[rank],
                    "MLX_DISTRIBUTED_TOKEN": token,
                    "MLX_LAUNCH_NOTES": folder,
                },
                os.path.abspath(args.cwd or "."),
                text,
                args.verbose,
            )
            for rank, host in enumerate(cluster.hosts)
        ]
        job = Job(commands, Path(folder), args.tag, guard)
        return job.run(), job.stop is not None


def main(argv: list[str] | None = None) -> int:
    """Run ``mlx.launch``."""
    args = parser().parse_args(argv)
    if args.print_python:
        print(sys.executable)
        return 0
    try:
        return launch(args)
    except LaunchError as e:
        print(f"[mlx.launch] {e}", file=sys.stderr)
        return 2


def configure(argv: list[str] | None = None) -> int:
    """Run ``mlx.distributed_config``: write a hostfile."""
    p = argparse.ArgumentParser(
        prog="mlx.distributed_config", description="Write a hostfile for mlx.launch."
    )
    p.add_argument("--hosts", default="127.0.0.1", help="names or addresses, commas between them")
    p.add_argument("--hostfile", "--output-hostfile", "--output", help="the file to write")
    p.add_argument("--over", default="ethernet", help="ethernet")
    p.add_argument("--backend", default="ring", help="ring, mpi or nccl")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument(
        "--ignore-unreachable", action="store_true", help="leave out hosts without an address"
    )
    p.add_argument("--verbose", action="store_true", help="print the addresses that were found")
    args = p.parse_args(argv)
    try:
        text = json.dumps(configuration(args), indent=2)
    except LaunchError as e:
        print(f"[mlx.distributed_config] {e}", file=sys.stderr)
        return 2
    if args.hostfile:
        Path(args.hostfile).write_text(text + "\n")
    else:
        print(text)
    return 0


def configuration(args: argparse.Namespace) -> dict[str, Any]:
    """The content of the hostfile."""
    if args.over != "ethernet":
        raise LaunchError(f"--over {args.over}: ethernet is accepted; Thunderbolt needs macOS")
    if args.backend not in ("ring", "mpi", "nccl"):
        raise LaunchError(
            REFUSED.get(args.backend, f"--backend {args.backend}: ring, mpi and nccl are accepted")
        )
    hosts = []
    for host in parse_hosts(args.hosts, 1):
        try:
            found = socket.getaddrinfo(host.ips[0], None, type=socket.SOCK_STREAM)
        except OSError as e:
            if not args.ignore_unreachable:
                raise LaunchError(f"host {host.name}: {e.strerror}") from None
            print(
                f"[mlx.distributed_config] {host.name} is left out: {e.strerror}", file=sys.stderr
            )
            continue
        address = str(found[0][4][0])
        if args.verbose:
            print(f"[mlx.distributed_config] {host.name}: {address}", file=sys.stderr)
        hosts.append({"ssh": host.name, "ips": [address]})
    if not hosts:
        raise LaunchError("--hosts: none has an address")
    return {"backend": args.backend, "envs": args.env, "hosts": hosts}


if __name__ == "__main__":
    raise SystemExit(main())
