"""The command line: `python -m mlx.bench --help`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

from . import plot, registry, run, table
from .report import OURS, Report


def parser() -> argparse.ArgumentParser:
    """The options."""
    p = argparse.ArgumentParser(
        prog="mlx-bench",
        description="Time operations, formulas and training steps, here and in other frameworks.",
    )
    p.add_argument(
        "pattern",
        nargs="*",
        help="regular expressions; cases whose name contains a match of any are run "
        "(default: all but op/, one case for each elementwise operation, and, unless --device is "
        "gpu, large/)",
    )
    p.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    p.add_argument("--json", metavar="FILE", help="write all samples to a file")
    p.add_argument(
        "--plot", metavar="FILE", help="draw the ratios to other frameworks (SVG); needs --vs"
    )
    p.add_argument(
        "--from", metavar="FILE", dest="source", help="draw what --json wrote; nothing is timed"
    )
    p.add_argument(
        "--vs",
        metavar="NAME[:LABEL]=PYTHON",
        action="append",
        default=[],
        help=f"also time framework NAME ({', '.join(run.FRAMEWORKS)}) in the interpreter PYTHON, "
        "which may be a command with arguments; may be given several times",
    )
    p.add_argument(
        "--device",
        choices=["cpu", "gpu"],
        default="cpu",
        help="where each framework computes (%(default)s)",
    )
    p.add_argument("--threads", type=int, metavar="N", help="threads of each framework")
    d = run.Options()
    p.add_argument(
        "--rounds", type=int, default=d.rounds, help="samples of each case (%(default)s)"
    )
    p.add_argument(
        "--budget",
        type=float,
        default=d.budget,
        metavar="S",
        help="seconds after which no more samples of a case are taken (%(default)s)",
    )
    p.add_argument(
        "--timeout",
        type=float,
        default=d.timeout,
        metavar="S",
        help="seconds a call may take before the cell is given up (%(default)s)",
    )
    return p


def peers(specs: list[str], options: run.Options) -> list[run.Worker]:
    """The workers that --vs asks for."""
    workers: list[run.Worker] = []
    for spec in specs:
        name, equals, python = spec.partition("=")
        framework, _, label = name.partition(":")
        label = label or framework
        if not equals or not python or framework not in run.FRAMEWORKS:
            known = ", ".join(run.FRAMEWORKS)
            raise ValueError(f"--vs {spec}: expected NAME[:LABEL]=PYTHON with NAME one of {known}")
        if label == OURS or label in [w.label for w in workers]:
            raise ValueError(f"--vs {spec}: the label {label} is taken; give another one")
        workers.append(run.Worker(label, framework, python, options))
    return workers


def chosen(
    patterns: list[str], everything: bool, device: str
) -> tuple[list[registry.Case], dict[str, dict[str, Any]]]:
    """The cases to run, and the table's entries of those made from it."""
    cases = registry.load()
    ops: dict[str, dict[str, Any]] = {}
    if patterns or everything:
        ops = table.entries()
        for entry in ops.values():
            table.add_op(entry)
    if not patterns:
        listed = [c for c in cases.values() if c.default and (device == "gpu" or not c.large)]
        return (list(cases.values()) if everything else listed), ops
    compiled = [re.compile(p) for p in patterns]
    return [c for c in cases.values() if any(p.search(c.name) for p in compiled)], ops


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    try:
        status = command(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has seen enough; nothing is to be flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def command(arguments: list[str] | None) -> int:
    """Parses the arguments, measures and reports."""
    p = parser()
    args = p.parse_args(arguments)
    if args.rounds < 1 or (args.threads is not None and args.threads < 1):
        p.error("--rounds and --threads must be 1 or more")
    if args.source or (args.plot and not args.vs):
        if not args.plot or not args.source:
            p.error("--plot needs times of others: --vs, or --from a file of --json")
        return draw(args.source, args.plot)
    options = run.Options(args.rounds, budget=args.budget, timeout=args.timeout)
    options.threads, options.device = args.threads, args.device
    try:
        cases, ops = chosen(args.pattern, args.list, args.device)
        workers = [run.Worker(OURS, "mlx", sys.executable, options), *peers(args.vs, options)]
    except (ValueError, re.error) as error:
        p.error(str(error))
    if args.list:
        print("\n".join(c.name for c in cases))
        return 0
    if not cases:
        p.error("no case matches; --list shows all")
    with contextlib.ExitStack() as stack:
        for worker in workers:
            stack.callback(worker.stop)
            try:
                worker.start()
            except run.Failed as failure:
                print(f"{worker.label}: {failure}", file=sys.stderr)
                return 1
        versions = {w.label: f"{w.framework} {w.version}" for w in workers}
        said = ", ".join(f"{label}: {version}" for label, version in versions.items())
        print(said + (" on the GPU" if args.device == "gpu" else ""))
        report = Report([w.label for w in workers[1:]], [c.name for c in cases], sys.stdout)
        report.head()
        with may_end_early():
            for case in cases:
                report.add(case, run.measure(workers, case, ops.get(case.name), options))
    report.finish()
    if args.json:
        report.json(args.json, versions, options)
    if args.plot:
        write(args.plot, plot.draw(report.content(versions, options)))
    return 0


@contextlib.contextmanager
def may_end_early() -> Iterator[None]:
    """Let Ctrl-C, and SIGTERM as of timeout(1), end the cases: the rows so far are reported."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def draw(source: str, target: str) -> int:
    """Draw the times in a file."""
    with open(source, encoding="utf-8") as file:
        write(target, plot.draw(json.load(file)))
    return 0


def write(path: str, text: str) -> None:
    """Write a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    raise SystemExit(main())
