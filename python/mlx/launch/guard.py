"""A process that ends what a launcher has started, if the launcher is killed.

Its input is a pipe whose other end only the launcher has. A line is the id of a process group that
was started, or ``-`` when all of them are over. Where the input ends in between, the launcher is
gone. This file is run as a program, and imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

# Seconds between the request to end and the end by force.
PATIENCE = 1.0


class Guard:
    """Such a process, as the launcher has it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _tell(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it was killed itself
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def watch(self, group: int) -> None:
        """Name a process group that is to end with the launcher."""
        self._tell(str(group))

    def forget(self) -> None:
        """Forget all process groups: the launcher has ended them."""
        self._tell("-")

    def close(self) -> None:
        """End the guard."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


def ending_with_parent() -> Callable[[], None] | None:
    """A function for a new process, before it runs its program: the system then ends it with its
    parent, which is this process. None where the system cannot do that.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def request() -> None:
        pr_set_pdeathsig = 1
        prctl(pr_set_pdeathsig, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it has ended before the request
            os.kill(os.getpid(), signal.SIGKILL)

    return request


def main() -> None:
    """Wait for the launcher's end."""
    groups: list[int] = []
    for line in sys.stdin:
        if line == "-\n":
            groups.clear()
        else:
            groups.append(int(line))
    for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGKILL):
        for group in groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        if groups and number == signal.SIGCONT:  # a stopped process gets no other signal
            time.sleep(PATIENCE)


if __name__ == "__main__":
    main()
