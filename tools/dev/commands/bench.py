"""`./dev bench`: the benchmarks of the package and of the engine."""

import re
from pathlib import Path

from ..builds import PACKAGE, build
from ..shell import PYTHON, output, processors, replace, run as run_program

USAGE = """\
  bench [ARGS]      the benchmark command (python -m mlx.bench)
       --store [ARGS] the whole comparison (ARGS name the others, as --vs torch=PYTHON), stored in
                      this machine's file in benchmarks/results, which the documentation shows
       --nodes [PART] what nodes, derivatives, traces, calls and plans cost in C++
"""

RESULTS = Path("benchmarks/results")


def file_name(processor: str) -> str:
    """The name of the file for a processor: its letters and digits."""
    return re.sub("[^a-z0-9]+", "-", processor.lower()).strip("-") + ".json"


def store(arguments: list[str]) -> None:
    """Writes the comparison with others to this machine's file."""
    build(quiet=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    ask = "from mlx.bench.report import processor; print(processor())"
    file = RESULTS / file_name(output(PYTHON, "-c", ask, variables=PACKAGE))
    measured = ("--threads", str(processors()), "--rounds", "5", "--budget", "0.3")
    options = (*measured, "--timeout", "10", "--json", file)
    run_program(PYTHON, "-m", "mlx.bench", *options, *arguments, variables=PACKAGE)
    print(f"Stored in {file}; ./dev docs shows it on the page on speed.")


def run(arguments: list[str]) -> int:
    """Measures in Python, or in C++ with --nodes."""
    first = arguments[0] if arguments else ""
    if first == "--store":
        store(arguments[1:])
        return 0
    if first == "--nodes":
        build("mlx_bench_nodes", quiet=True)
        replace("build/tests/mlx_bench_nodes", *arguments[1:])
    build(quiet=True)
    replace(PYTHON, "-m", "mlx.bench", *arguments, variables=PACKAGE)
