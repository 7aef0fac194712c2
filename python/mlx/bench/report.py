"""The table, the ratios and the JSON file."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
from collections.abc import Iterable
from typing import Any, TextIO

from .registry import Case
from .run import Options, Timing

OURS = "this"
#: Ratios beyond this are named below the table: a single one moves a geometric mean.
EXTREME = 100.0


def milliseconds(seconds: float) -> str:
    """Three or four significant digits."""
    value = seconds * 1e3
    return f"{value:.{max(0, min(5, 2 - math.floor(math.log10(max(value, 1e-5)))))}f}"


def cell(timing: Timing | None, ours: float | None = None) -> str:
    """Time in milliseconds, and its ratio to ours."""
    if timing is None or timing.kind == "missing":
        return "–"
    if timing.kind != "time":
        return {"slow": f"({timing.note.removeprefix('more than ')}+)"}.get(timing.kind, "error")
    assert timing.seconds
    ratio = f" {times(timing.seconds / ours):>6}" if ours else ""
    return milliseconds(timing.seconds) + ratio


def times(ratio: float) -> str:
    """A ratio in a few characters."""
    return f"×{ratio:.2f}" if ratio < 10 else f"×{ratio:.0f}"


def mean(ratios: Iterable[float]) -> float | None:
    """The geometric mean."""
    logs = [math.log(r) for r in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else None


class Report:
    """Prints each row as it comes, then the means; keeps all for the JSON file."""

    def __init__(self, peers: list[str], names: Iterable[str], out: TextIO) -> None:
        self.peers, self.out = peers, out
        self.width = max((len(n) for n in names), default=10)
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def line(self, name: str, cells: Iterable[str], best: str) -> None:
        """One line of the table."""
        ours, *peers = cells
        line = f"{name:<{self.width}} {ours:>26} " + " ".join(f"{p:>15}" for p in peers)
        print(line + (f" {best:>7}" if self.peers else ""), file=self.out, flush=True)

    def head(self) -> None:
        """The column titles."""
        ours = f"{'ms':>10} {'GB/s':>7} {'GFLOP/s':>7}"
        self.line("", [ours, *self.peers], "best")

    def add(self, case: Case, timings: dict[str, Timing]) -> None:
        """Keep and print one row."""
        ours = timings[OURS].seconds
        seconds = {p: timings[p].seconds for p in self.peers}
        ratios = {p: s / ours for p, s in seconds.items() if s and ours}
        best = min(ratios.values(), default=None)
        rates = [f"{n / ours / 1e9:.3g}" if n and ours else "" for n in (case.bytes, case.flops)]
        own = f"{cell(timings[OURS]):>10} {rates[0]:>7} {rates[1]:>7}"
        peers = [cell(timings[p], ours) for p in self.peers]
        self.notes += [
            f"{case.name}: {label}: {t.note}" for label, t in timings.items() if t.kind == "error"
        ]
        self.rows.append(
            {
                "case": case.name,
                "mode": case.mode,
                "bytes": case.bytes,
                "flops": case.flops,
                "best_peer_ratio": best,
                "ratios": ratios,
                "timings": {
                    label: {
                        "kind": t.kind,
                        "seconds": t.seconds,
                        "samples": t.samples,
                        "calls_a_sample": t.calls,
                        "note": t.note,
                    }
                    for label, t in timings.items()
                },
            }
        )
        # Kept before it is shown: a signal may end the cases in between.
        self.line(case.name, [own, *peers], times(best) if best else "–")

    def ratios(self, first: bool = False) -> dict[str, list[float]]:
        """Peer time ÷ our time of all rows: the best peer of each, and each peer.

        Rows of first calls stand apart: they would outweigh all others.
        """
        found = [r for r in self.rows if r["best_peer_ratio"] and (r["mode"] == "first") == first]
        ratios = {"best": [r["best_peer_ratio"] for r in found]}
        for peer in self.peers:
            ratios[peer] = [r["ratios"][peer] for r in found if peer in r["ratios"]]
        return ratios

    def medians(self, first: bool = False) -> dict[str, float | None]:
        """Medians of `ratios`."""
        return {k: statistics.median(v) if v else None for k, v in self.ratios(first).items()}

    def extremes(self) -> list[tuple[float, str, str]]:
        """(ratio, case, peer) of the rows whose ratio is far from all others."""
        return [
            (ratio, row["case"], peer)
            for row in self.rows
            for peer, ratio in row["ratios"].items()
            if not 1 / EXTREME < ratio < EXTREME
        ]

    def means(self, first: bool = False) -> dict[str, float | None]:
        """Geometric means of `ratios`."""
        return {label: mean(ratios) for label, ratios in self.ratios(first).items()}

    def finish(self) -> None:
        """Print the means, the rows we lose, and what went wrong."""

        def show(*text: str) -> None:
            print(*text, sep="", file=self.out, flush=True)

        if self.peers:
            show("\npeer time ÷ our time (above 1: we are faster): geometric mean, median")
            for first in (False, True):
                for label, ratios in self.ratios(first).items():
                    if first and not ratios:
                        continue
                    name = "best peer of each row" if label == "best" else label
                    name += ", compiling" if first else ""
                    value = times(mean(ratios) or 0) if ratios else "–"
                    middle = times(statistics.median(ratios)) if ratios else "–"
                    show(f"  {name:<33} {value:>7} {middle:>7}  ({len(ratios)} rows)")
            for ratio, name, peer in self.extremes():
                show(f"  beyond ×{EXTREME:.0f}, in the mean above: {times(ratio)}  {name}, {peer}")
            slower = sorted(
                (r["best_peer_ratio"], r["case"])
                for r in self.rows
                if r["best_peer_ratio"] and r["best_peer_ratio"] < 1
            )
            show(f"rows where a peer is faster: {len(slower)}")
            for ratio, name in slower:
                show(f"  {times(ratio):>7}  {name}")
        absent = [r["case"] for r in self.rows if r["timings"][OURS]["kind"] != "time"]
        if absent:
            show(f"rows without a time of ours: {len(absent)}: ", "; ".join(absent))
        for note in self.notes:
            show("error: ", note)

    def json(self, path: str, versions: dict[str, str], options: Options) -> None:
        """Write everything to a file."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.content(versions, options), file, indent=1, ensure_ascii=False)
            file.write("\n")

    def content(self, versions: dict[str, str], options: Options) -> dict[str, Any]:
        """Everything that is known, for the file and the picture."""
        return {
            "date": datetime.date.today().isoformat(),
            "machine": {
                "processor": processor(),
                "processors": os.cpu_count(),
                "system": platform.platform(),
                "threads": options.threads,
                "device": options.device,
            },
            "versions": versions,
            "rows": self.rows,
            "geometric_means": self.means(),
            "geometric_means_of_first_calls": self.means(first=True),
            "medians": self.medians(),
            "medians_of_first_calls": self.medians(first=True),
        }


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(
                line.split(":")[1].strip() for line in file if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
