"""Ranks as processes: started, watched, and ended with the first that fails."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from .guard import Guard, ending_with_parent
from .hosts import Host

# Seconds that the others have to end by themselves and print why, and after a signal.
PATIENCE = 3.0
AFTER_SIGNAL = 1.5


@dataclass
class Command:
    """The command of one rank, its host, and its variables beside the ones of the launcher."""

    host: Host
    arguments: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    hostfile: str  # its text, for other machines; empty: there is none
    verbose: bool = False

    def start(self, stdout: int | None) -> subprocess.Popen[bytes]:
        """Start it in a new process group."""
        if self.host.local:
            arguments, env = list(self.arguments), {**os.environ, **self.env}
        else:
            arguments, env = ["ssh", "-tt", "-o", "LogLevel=QUIET", self.host.name], None
            arguments.append(self.remote())
        if self.verbose:
            print("[mlx.launch]", shlex.join(arguments), file=sys.stderr)
        return subprocess.Popen(
            arguments,
            env=env,
            cwd=self.cwd if self.host.local else None,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=None if stdout is None else subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ending_with_parent(),
        )

    def remote(self) -> str:
        """The line for the shell of another machine, which writes the hostfile for itself."""
        env = {k: v for k, v in self.env.items() if k not in ("MLX_HOSTFILE", "MLX_LAUNCH_NOTES")}
        values = " ".join(f"{k}={shlex.quote(v)}" for k, v in env.items())
        if not self.hostfile:
            return f"cd {shlex.quote(self.cwd)} && env {values} {shlex.join(self.arguments)}"
        return (
            f"cd {shlex.quote(self.cwd)} && f=$(mktemp) && trap 'rm -f \"$f\"' EXIT && "
            f'printf %s {shlex.quote(self.hostfile)} > "$f" && '
            f'env MLX_HOSTFILE="$f" {values} {shlex.join(self.arguments)}'
        )


@dataclass
class Rank:
    """A running rank."""

    number: int
    process: subprocess.Popen[bytes]
    ended: float | None = None
    signalled: bool = False  # by the launcher
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether it has ended otherwise than with status 0."""
        return self.process.poll() not in (None, 0)

    def signal(self, number: int) -> None:
        """Send a signal to the rank and what it started."""
        self.signalled |= self.process.poll() is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def status_of(code: int) -> int:
    """The status of a shell for a process that ended so."""
    return 128 - code if code < 0 else code


def reason_of(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with status {code}"
    return f"was ended by {signal.Signals(-code).name}"


class Job:
    """All ranks of a launch."""

    def __init__(self, commands: Sequence[Command], notes: Path, tag: bool, guard: Guard) -> None:
        self.notes = notes
        self.guard = guard
        self.stop: int | None = None  # the signal that the launcher got
        self.ranks: list[Rank] = []
        self.written = threading.Lock()
        try:
            for k, command in enumerate(commands):
                process = command.start(subprocess.PIPE if tag else None)
                self.ranks.append(Rank(k, process))
                guard.watch(process.pid)
            # Processes are started while there is no other thread.
            for rank in self.ranks if tag else []:
                self._copy_lines(rank)
        except BaseException:
            self._end(signal.SIGKILL)
            raise

    def run(self) -> int:
        """Wait for all; the status of the first that failed."""
        threading.Thread(target=self._copy_input, daemon=True).start()
        with self._signals():
            self._wait(lambda: self.stop is not None or any(r.failed for r in self.ranks))
            if self.stop is not None:
                self._end(self.stop)
            elif any(r.failed for r in self.ranks):
                self._wait(lambda: False, PATIENCE)
                self._end(signal.SIGTERM)
        for rank in self.ranks:
            # Processes that a rank left behind in its group end, too.
            rank.signal(signal.SIGKILL)
            for thread in rank.threads:
                thread.join(timeout=1)
        self.guard.forget()
        return self._report()

    def _wait(self, until: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until all have ended, or a condition holds; True where all have ended."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            for rank in self.ranks:
                if rank.ended is None and rank.process.poll() is not None:
                    rank.ended = time.monotonic()
            if all(r.ended is not None for r in self.ranks):
                return True
            if until() or (end is not None and time.monotonic() > end):
                return False
            time.sleep(0.01)

    def _end(self, first: int) -> None:
        """End what still runs: by a signal, then by force."""
        numbers = [first, signal.SIGTERM, signal.SIGKILL]
        for number in dict.fromkeys(numbers):
            for rank in self.ranks:
                if rank.process.poll() is None:
                    rank.signal(number)
                    rank.signal(signal.SIGCONT)  # a stopped one gets no other
            if self._wait(lambda: False, AFTER_SIGNAL):
                return

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals to the launcher are noted; ranks get them from it."""

        def note(number: int, _: FrameType | None) -> None:
            self.stop = number

        names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {n: signal.signal(n, note) for n in names}
        try:
            yield
        finally:
            for n, handler in before.items():
                signal.signal(n, handler)

    def _report(self) -> int:
        if self.stop is not None:
            print(f"[mlx.launch] ended by {signal.Signals(self.stop).name}", file=sys.stderr)
            return 128 + self.stop
        failed = [r for r in self.ranks if r.process.returncode != 0]
        if not failed:
            return 0
        # Ranks whose communication failed are not the first, if there is another.
        own = [r for r in failed if self._note(r) is not None and not r.signalled]
        silent = [r for r in failed if not self._has_note(r) and not r.signalled]
        first = min(own or silent or failed, key=lambda r: r.ended or 0)
        if own and silent:
            first = min(own + silent, key=lambda r: r.ended or 0)
        code = first.process.returncode
        note = self._note(first)
        text = note or f"rank {first.number} {reason_of(code)}"
        print(f"[mlx.launch] {text}", file=sys.stderr)
        return status_of(code)

    def _has_note(self, rank: Rank) -> bool:
        return (self.notes / str(rank.number)).exists()

    def _note(self, rank: Rank) -> str | None:
        """The last words of a rank that an exception ended, if it was not one of communication."""
        with contextlib.suppress(OSError):
            text = (self.notes / str(rank.number)).read_text(errors="replace")
            return text.strip() or None
        return None

    def _copy_input(self) -> None:
        """Give what the launcher reads to all ranks."""
        pipes: list[IO[bytes]] = [r.process.stdin for r in self.ranks if r.process.stdin]
        try:
            descriptor = sys.stdin.fileno()
        except (OSError, ValueError, AttributeError):
            descriptor = None
        while descriptor is not None:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                break
            if not data:
                break
            for pipe in pipes:
                with contextlib.suppress(OSError, ValueError):
                    pipe.write(data)
                    pipe.flush()
        for pipe in pipes:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()

    def _copy_lines(self, rank: Rank) -> None:
        """Print what a rank writes, with its number before each line."""

        def copy() -> None:
            assert rank.process.stdout is not None
            for line in rank.process.stdout:
                with self.written:
                    end = b"" if line.endswith(b"\n") else b"\n"
                    sys.stdout.buffer.write(f"[{rank.number}] ".encode() + line + end)
                    sys.stdout.buffer.flush()

        thread = threading.Thread(target=copy, daemon=True)
        thread.start()
        rank.threads.append(thread)
