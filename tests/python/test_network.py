"""Ranks on two hosts, which are network namespaces of this machine: a cut, loss, silence, resets.

Namespaces need root and the program ip; some cases also nft (the package nftables). Tests that lack
one are skipped, and name it.
"""

import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ranks import ENV, START, launch, torchrun

pytestmark = pytest.mark.anywhere
NUMBERS = itertools.count()


def call(*words):
    """Run a program; its errors are raised."""
    subprocess.run(words, check=True, capture_output=True, text=True)


class Network:
    """Two hosts at a switch. Names of namespaces are those of this process alone."""

    addresses = ("10.231.0.1", "10.231.0.2")

    def __init__(self):
        stem = f"mlx-{os.getpid()}-{next(NUMBERS)}"
        self.hosts = (f"{stem}-a", f"{stem}-b")
        self.switch = f"{stem}-s"

    def __enter__(self):
        if not shutil.which("ip"):
            pytest.skip("no program ip")
        try:
            for name in (*self.hosts, self.switch):
                call("ip", "netns", "add", name)
            call("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        except (OSError, subprocess.CalledProcessError) as e:
            self.__exit__()
            pytest.skip(f"no network namespaces: {getattr(e, 'stderr', '') or e}".strip())
        try:
            self.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def connect(self):
        """Plug the hosts in."""
        for name in (*self.hosts, self.switch):
            call("ip", "-n", name, "link", "set", "dev", "lo", "up")
        call("ip", "-n", self.switch, "link", "set", "dev", "bridge", "up")
        for host, port, address in zip(self.hosts, "ab", self.addresses, strict=True):
            ends = ("netns", host, "type", "veth", "peer", "name", port, "netns", self.switch)
            call("ip", "link", "add", "eth", *ends)
            call("ip", "-n", host, "addr", "add", f"{address}/24", "dev", "eth")
            call("ip", "-n", host, "link", "set", "dev", "eth", "up")
            call("ip", "-n", self.switch, "link", "set", "dev", port, "up", "master", "bridge")

    def __exit__(self, *_):
        for name in (*self.hosts, self.switch):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)

    def start(self, host, *words, **variables):
        """Start a program on a host."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.hosts[host], *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**ENV, **variables},
        )

    def link(self, state):
        """Plug the cable of the second host in or out, which both ends notice."""
        call("ip", "-n", self.switch, "link", "set", "dev", "b", state)

    def silence(self):
        """Let nothing through; no end of a cable notices it."""
        call("ip", "-n", self.switch, "link", "set", "dev", "b", "nomaster")

    def rule(self, text):
        """A rule for the packets that the second host gets."""
        chain = "add table ip mlx; add chain ip mlx c { type filter hook input priority 0; }"
        call("ip", "netns", "exec", self.hosts[1], "nft", f"{chain}; add rule ip mlx c {text}")


@pytest.fixture
def network():
    with Network() as n:
        yield n


PROGRAM = """
print("ready")
for k in range(int(os.environ["MESSAGES"])):
    x = dist.all_sum(mx.full((50_000,), float(k + rank)))
    assert mx.all(x == size * k + sum(range(size))).item()
    time.sleep(0.02)
print("well")
"""


def for_a_second(network):
    network.link("down")
    time.sleep(1)
    network.link("up")


# Each fault, seconds of patience, and the text of each rank's error: empty where they go on.
FAULTS = {
    "cut for a second": (for_a_second, 30, ""),
    "cut": (lambda n: n.link("down"), 5, "no progress for 5 s|lost rank"),
    "silence": (lambda n: n.silence(), 5, "no progress for 5 s|lost rank"),
    # The system's own patience with a host that does not answer is 25 s.
    "silence without a timeout": (lambda n: n.silence(), 600, "lost rank"),
    "loss": (lambda n: n.rule("numgen random mod 20 == 0 drop"), 60, ""),
    "loss of all": (lambda n: n.rule("ip protocol tcp drop"), 5, "no progress for 5 s|lost rank"),
    "reset": (lambda n: n.rule("ip protocol tcp reject with tcp reset"), 6, "lost rank"),
}
NEEDS_NFT = ("loss", "loss of all", "reset")


def start_ranks(network, tmp_path, patience, messages):
    """One rank on the first host, two on the second."""
    places = [(0, 5001), (1, 5001), (1, 5002)]
    hostfile, script = tmp_path / "hosts.json", tmp_path / "script.py"
    rows = ", ".join(f'["{network.addresses[h]}:{port}"]' for h, port in places)
    hostfile.write_text(f"[{rows}]")
    script.write_text(START + PROGRAM)
    settings = {"MLX_HOSTFILE": str(hostfile), "MLX_DISTRIBUTED_TIMEOUT": str(patience)}
    settings["MESSAGES"] = str(messages)
    return [
        network.start(host, sys.executable, str(script), MLX_RANK=str(rank), **settings)
        for rank, (host, _) in enumerate(places)
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_fault(network, tmp_path, name):
    """Every rank gets an error, or all go on with right values; none waits."""
    if name in NEEDS_NFT and not shutil.which("nft"):
        pytest.skip("no program nft")
    fault, patience, text = FAULTS[name]
    # Where they do not go on, the fault is what ends them, however late it comes.
    ranks = start_ranks(network, tmp_path, patience, 10_000 if text else 100)
    try:
        assert [r.stdout.readline() for r in ranks] == ["ready\n"] * 3
        fault(network)
        outputs = [r.communicate(timeout=90)[0] for r in ranks]
    finally:
        for r in ranks:
            r.kill()
    codes = [r.returncode for r in ranks]
    if not text:
        assert codes == [0] * 3 and outputs == ["well\n"] * 3, outputs
        return
    assert 0 not in codes, outputs
    for output in outputs:
        assert "CommunicationError" in output and "well" not in output
    assert any(t in output for t in text.split("|") for output in outputs), outputs


def write_ssh(network, folder):
    """A program in the place of ssh that runs a command on one of the hosts."""
    folder.mkdir()
    ssh = folder / "ssh"
    cases = "".join(
        f"{address}) space={host};;\n"
        for address, host in zip(network.addresses, network.hosts, strict=True)
    )
    ssh.write_text(
        "#!/bin/sh\nfor word; do\ncase $word in\n" + cases + "esac\nlast=$word\ndone\n"
        'exec ip netns exec "$space" sh -c "$last"\n'
    )
    ssh.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_launcher(network, tmp_path):
    """mlx.launch starts ranks on both hosts, which find each other at the hosts' addresses."""
    script = tmp_path / "script.py"
    script.write_text(START + "print(rank, dist.all_sum(mx.array(rank)).item())")
    code, out, err = launch(
        "--hosts",
        ",".join(network.addresses),
        "-n",
        "2",
        "--env",
        f"PYTHONPATH={ENV['PYTHONPATH']}",
        str(script),
        PATH=write_ssh(network, tmp_path / "bin"),
    )
    assert code == 0, err
    assert sorted(out.split("\n")[:4]) == [f"{r} 6" for r in range(4)]


def test_own_name_of_the_first_host(network, tmp_path):
    """A host that takes its own name for 127.0.1.1, as some systems do, is found by the other."""
    for name, address in zip(network.hosts, ("127.0.1.1", network.addresses[0]), strict=True):
        folder = Path("/etc/netns", name)
        folder.mkdir(parents=True)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{address} first-host\n")
    script = tmp_path / "script.py"
    script.write_text(START + "print(rank, dist.all_sum(mx.array(rank)).item())")
    ranks = []
    for rank in range(4):
        place = torchrun(rank, 4, "29500", MASTER_ADDR="first-host", MLX_DISTRIBUTED_TIMEOUT="30")
        ranks.append(network.start(rank // 2, sys.executable, str(script), **place))
    outputs = [r.communicate(timeout=60)[0] for r in ranks]
    assert outputs == [f"{r} 6\n" for r in range(4)]
