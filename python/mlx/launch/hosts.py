"""Hosts of a launch: from the command line, or from a file; and the file that ranks read."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFAULT_PORT = 32323
LOWEST_PORT = 10_000  # that is chosen; known services have lower ones


@dataclass
class Host:
    """One rank: where it is started, and the addresses at which the others find it."""

    name: str
    ips: list[str]

    @property
    def local(self) -> bool:
        """Whether it is this machine."""
        return self.name in ("127.0.0.1", "localhost", "::1", socket.gethostname())


@dataclass
class Cluster:
    """The content of a hostfile."""

    hosts: list[Host]
    backend: str | None = None
    envs: list[str] = field(default_factory=list)


class LaunchError(Exception):
    """A launch that cannot begin; the text says why."""


def parse_hosts(text: str, repeat: int) -> list[Host]:
    """The hosts of ``--hosts a,b``, each ``repeat`` times."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise LaunchError(f"--hosts {text}: names with commas between them are accepted")
    return [Host(name, [_address(name)]) for name in names for _ in range(repeat)]


def _address(name: str) -> str:
    """The address that ranks connect to."""
    return "127.0.0.1" if name == "localhost" else name


def read_hostfile(path: str) -> Cluster:
    """Read a file with a list of hosts, or an object that has one.

    A host is ``{"ssh": name, "ips": [address, …]}``; an object may also have ``backend`` and
    ``envs``, a list of ``NAME=value``.
    """
    try:
        data: Any = json.loads(Path(path).read_text())
    except OSError as e:
        raise LaunchError(f"--hostfile {path}: {e.strerror}") from None
    except ValueError as e:
        raise LaunchError(f"--hostfile {path} is no JSON: {e}") from None
    cluster = Cluster([])
    if isinstance(data, dict):
        cluster.backend = data.get("backend")
        cluster.envs = list(data.get("envs", []))
        data = data.get("hosts")
    if not isinstance(data, list) or not data:
        raise LaunchError(f"--hostfile {path} has no list of hosts")
    for entry in data:
        if not isinstance(entry, dict) or not isinstance(entry.get("ssh"), str):
            raise LaunchError(f'--hostfile {path}: a host without "ssh": {json.dumps(entry)}')
        ips = entry.get("ips") or [_address(entry["ssh"])]
        cluster.hosts.append(Host(entry["ssh"], list(ips)))
    return cluster


def addresses(hosts: list[Host], port: int | None, per_ip: int) -> list[list[str]]:
    """For each rank the ``address:port`` at which it listens.

    Without ``port``, ranks of one machine get ports that are free, and others ports from
    32323 on.
    """
    local = all(h.local for h in hosts)
    count = sum(len(h.ips) for h in hosts) * per_ip
    if port is None and local:
        ports = free_ports(count)
    else:
        first = DEFAULT_PORT if port is None else port
        if not 0 < first <= 65536 - count:
            raise LaunchError(f"--starting-port {first}: {count} ports up to 65535 are needed")
        ports = list(range(first, first + count))
    result = []
    for host in hosts:
        own = []
        for ip in host.ips:
            for _ in range(per_ip):
                at = ports.pop(0)
                if host.local:
                    _check_port(ip, at)
                own.append(f"[{ip}]:{at}" if ":" in ip else f"{ip}:{at}")
        result.append(own)
    return result


def free_ports(count: int) -> list[int]:
    """Ports of this machine that are free.

    They are below the ports that the system gives to connections, and chosen at random: a port
    that the system names could be given away again before a rank listens there.
    """
    chosen: list[int] = []
    for port in random.SystemRandom().sample(range(LOWEST_PORT, _first_of_system()), 20_000):
        if len(chosen) == count:
            break
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", port))
            chosen.append(port)
    if len(chosen) < count:
        raise LaunchError(f"{len(chosen)} of {count} ports are free; --starting-port names others")
    return chosen


def _first_of_system() -> int:
    """The first port that the system gives to connections; Linux tells it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        if (first := int(text.split()[0])) >= LOWEST_PORT + 20_000:
            return first
    return 32_768


def _check_port(ip: str, port: int) -> None:
    """Raise where something listens at the port already."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((ip, port))
        except OSError as e:
            reason = os.strerror(e.errno) if e.errno else str(e)
            raise LaunchError(f"port {port} of {ip}: {reason}; --starting-port names others") from e
