"""Times of all_sum by the engine mpi, beside MPI_Allreduce of the same library called from C.

    python tests/peers/collectives_vs_mpi.py [--ranks 2] [--rounds 5] [--mpicc mpicc]

The library is the one whose mpiexec `mlx.launch --backend mpi` finds; `--mpicc` is a compiler for
it or for one of its ABI. Both run as processes of this machine, in turns. Written are medians over
rounds of the medians within one, in milliseconds, and their ratio; `+` is the difference in
microseconds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from collectives_vs_torch import SIZES, time_mlx_sums, time_of_waiting

import mlx.core as mx
from mlx.launch.mpi import find_mpiexec, is_open_mpi, library_of

PROGRAM = pathlib.Path(__file__).with_name("allreduce.c")


def run_rank():
    """The times of one rank."""
    group = mx.distributed.init(strict=True, backend="mpi")
    result = time_mlx_sums()
    result["waiting"] = time_of_waiting(group.rank(), mx.distributed.barrier)
    if group.rank() == 0:
        print(json.dumps({**result, "library": mx.distributed.status()["library"]}))


def last_line(command, env=None):
    """The JSON that rank 0 of a command writes."""
    done = subprocess.run(
        command, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    lines = [x for x in done.stdout.splitlines() if x.startswith(("[", "{"))]
    return json.loads(lines[-1])


def main():
    """Run the rounds and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return run_rank()
    mpiexec, n = find_mpiexec(), str(options.ranks)
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if library := library_of(mpiexec):  # of one ABI, the launcher's own is loaded
        env["LD_LIBRARY_PATH"] = os.path.dirname(library)
    more = ["--oversubscribe"] if is_open_mpi(mpiexec) else []
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "allreduce")
        subprocess.run([options.mpicc, "-O2", "-o", program, PROGRAM], check=True)
        in_c = [mpiexec, "-n", n, *more, program, *map(str, SIZES.values())]
        launch = [sys.executable, "-m", "mlx.launch", "-n", n, "--backend", "mpi"]
        for _ in range(options.rounds):
            ours.append(last_line([*launch, __file__, "--rank"], {"MLX_NUM_THREADS": "1"}))
            theirs.append(dict(zip(SIZES, last_line(in_c, env), strict=True)))
    print(f"{n} ranks, {options.rounds} rounds, {ours[0]['library']}; milliseconds")
    for name in SIZES:
        a, b = (statistics.median(r[name] for r in rounds) for rounds in (ours, theirs))
        ratios = sorted(x[name] / y[name] for x, y in zip(ours, theirs, strict=True))
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{name:8} {a:10.4f} {b:10.4f}   ratio {statistics.median(ratios):.2f} ({spread})"
              f"   + {1e3 * (a - b):.1f}")  # fmt: skip
    waiting = statistics.median(r["waiting"] for r in ours)
    print(f"processor time of a rank that waits 2 s: {waiting:.1f}")
    return None


if __name__ == "__main__":
    main()
