"""Workers as seen from the command, and how a case is timed in all of them in turns."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import select
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from .registry import Case

FRAMEWORKS = ("mlx", "torch", "jax", "numpy")
SETTLE_S, SETTLE_STEP_S = 1.0, 0.004
SLOW_S = 2.0  # of samples, after which one is enough
THREAD_VARIABLES = (
    "MLX_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)


@dataclasses.dataclass
class Timing:
    """The report of a worker on a case: samples in seconds a call, or why there are none.

    `kind` is `time`, `missing` (shown as –), `slow` (longer than allowed) or `error`.
    """

    kind: str = "time"
    samples: list[float] = dataclasses.field(default_factory=list)
    note: str = ""
    elements: int = 0
    calls: int = 1

    @property
    def seconds(self) -> float | None:
        """The median."""
        return statistics.median(self.samples) if self.samples else None


@dataclasses.dataclass
class Options:
    """How long to measure.

    Attributes:
        rounds: samples of each case, taken in turns.
        sample: seconds one sample should take; short cases are called several times.
        budget: seconds after which a worker gives no further samples of a case.
        fewest: samples it gives all the same, unless they take seconds.
        timeout: seconds one request may take; one that compiles gets four times that.
        threads: how many each worker may use; None leaves it to the framework.
        device: where each worker computes, `cpu` or `gpu`.
    """

    rounds: int = 7
    sample: float = 0.05
    budget: float = 0.5
    fewest: int = 3
    timeout: float = 15
    threads: int | None = None
    device: str = "cpu"


class Failed(Exception):
    """A worker did not answer: `kind` as in Timing."""

    def __init__(self, kind: str, note: str) -> None:
        super().__init__(note)
        self.kind = kind


class Worker:
    """A process that times cases in one framework; started again when it had to be ended."""

    def __init__(self, label: str, framework: str, python: str, options: Options) -> None:
        self.label, self.framework, self.options = label, framework, options
        self.version = ""
        self.compiles: list[str] = []
        self.command = [*shlex.split(python), str(pathlib.Path(__file__).with_name("worker.py"))]
        self.environment = dict(os.environ)
        for name in ("PYTHONPATH", "PYTHONHOME"):
            self.environment.pop(name, None)
        if os.path.abspath(python) == os.path.abspath(sys.executable):
            paths = [os.path.abspath(p) for p in sys.path]
            self.environment["PYTHONPATH"] = os.pathsep.join(paths)
        if options.threads:
            self.environment.update(dict.fromkeys(THREAD_VARIABLES, str(options.threads)))
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process and import the framework in it."""
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in stop
        try:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                env=self.environment,
                text=True,
            )
        except OSError as error:
            raise Failed("error", f"cannot start {self.command[0]}: {error.strerror}") from None
        where = {"threads": self.options.threads, "device": self.options.device}
        reply = self.ask("hello", 60, framework=self.framework, **where)
        if "version" not in reply:
            raise Failed("error", reply.get("error") or reply.get("missing", "no version"))
        self.version, self.compiles = reply["version"], reply["compiles"]

    def ask(self, what: str, timeout: float, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its reply."""
        if self.process is None:
            self.start()
        assert self.process and self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps({"do": what, **request}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.ended() from None
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.stop()
            raise Failed("slow", f"more than {timeout:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise self.ended()
        return json.loads(line)

    def ended(self) -> Failed:
        """The error for a process that ended unasked."""
        assert self.process
        code = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read().strip().splitlines()[-1:] or [""]
        self.stop()
        return Failed("error", f"the process ended with {code}: {last[0][:200]}")

    def stop(self) -> None:
        """End the process."""
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None
            self.errors.close()

    def sample(self, case: Case, calls: int) -> float:
        """Seconds a call of the prepared case, over so many calls."""
        reply = self.ask("run", self.timeout(case.mode == "first"), calls=calls)
        if "seconds" not in reply:
            raise Failed("error", f"while timed: {next(iter(reply.values()))}")
        return reply["seconds"]

    def settle(self) -> None:
        """Wait until no thread of the process computes, for a second at most.

        Threads of some frameworks spin for up to 200 ms after their last work, on cores that the
        next worker needs. Systems other than Linux do not tell, and nothing is waited for.
        """
        if self.process is None:
            return
        end, before = time.perf_counter() + SETTLE_S, running_s(self.process.pid)
        while before is not None and time.perf_counter() < end:
            time.sleep(SETTLE_STEP_S)
            now = running_s(self.process.pid)
            if now is None or now - before < SETTLE_STEP_S / 20:
                return
            before = now

    def timeout(self, compiles: bool) -> float:
        """Seconds that a request may take."""
        return self.options.timeout * (4 if compiles else 1)

    def prepare(self, case: Case, op: dict[str, Any] | None) -> Timing:
        """Make a case ready; the timing has a first sample, or says why there is none."""
        o, timing, compiles = self.options, Timing(), case.mode in (*self.compiles, "first")
        reply = self.ask("prepare", self.timeout(compiles), case=case.name, op=op)
        if "first" not in reply:
            kind = next(iter(reply))
            return Timing(kind, note=reply[kind])
        timing.elements = reply["elements"]
        timing.samples = [reply["first"]]
        if reply["first"] < 2 or compiles:
            timing.samples = [self.sample(case, 1)]
        timing.calls = max(1, min(100_000, math.ceil(o.sample / max(timing.samples[0], 1e-7))))
        if timing.calls > 1:  # one call alone is no fair sample of a short case
            timing.samples = []
        return timing


def running_s(pid: int) -> float | None:
    """Seconds that the live threads of a process have run, or None where Linux does not tell."""
    try:
        threads = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        counts = [(thread / "schedstat").read_text().split()[0] for thread in threads]
    except (OSError, IndexError):
        return None
    return sum(map(int, counts)) * 1e-9


def measure(
    workers: list[Worker], case: Case, op: dict[str, Any] | None, o: Options
) -> dict[str, Timing]:
    """Time one case in all workers, in turns: worker by worker, round by round."""
    timings: dict[str, Timing] = {}
    for worker in workers:
        try:
            timings[worker.label] = worker.prepare(case, op)
        except Failed as failure:
            timings[worker.label] = Timing(failure.kind, note=str(failure))
        if len(workers) > 1:
            worker.settle()
    check_elements(timings)
    active = {w: 0.0 for w in workers if timings[w.label].kind == "time"}
    for worker in active:
        active[worker] = sum(timings[worker.label].samples)
    for _ in range(o.rounds):
        for worker, spent in list(active.items()):
            timing = timings[worker.label]
            if spent > o.budget and len(timing.samples) >= (o.fewest if spent < SLOW_S else 1):
                continue
            start = time.perf_counter()
            try:
                timing.samples.append(worker.sample(case, timing.calls))
            except Failed as failure:
                timings[worker.label] = Timing(failure.kind, note=str(failure))
                del active[worker]
                continue
            active[worker] += time.perf_counter() - start
            if len(active) > 1:
                worker.settle()
    for worker in active:
        with contextlib.suppress(Failed):
            worker.ask("drop", o.timeout)
    return timings


def check_elements(timings: dict[str, Timing]) -> None:
    """A worker whose result has another size than the first one's did other work."""
    sized = [t for t in timings.values() if t.elements]
    for timing in sized[1:]:
        if timing.elements != sized[0].elements:
            timing.kind = "error"
            timing.note = f"{timing.elements} elements, others {sized[0].elements}"
            timing.samples = []
