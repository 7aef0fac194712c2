"""Record the results of the published wheel for every call of calls/, into data/.

    <interpreter with the published wheel> tests/golden/record.py [family ...]
    <any interpreter with mlx> tests/golden/record.py --show REGEX [family ...]

Run by hand, when calls are added.  Each family runs in a worker process, replaced when a call
kills it or never returns (recorded as "crash" and "hang").  Everything is run twice with different
fillings of fresh memory: a result that differs is recorded as "undefined", as are calls that a
table lists under UNDEFINED, because the wheel reads or writes outside of arrays there; these never
run.
"""

import argparse
import importlib
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import outcome  # noqa: E402

SECONDS = 20


def families():
    """Names of the tables of calls."""
    return sorted(p.stem for p in (HERE / "calls").glob("*.py") if not p.stem.startswith("_"))


def table(family):
    """Calls of a family without repetitions, and the set of those whose result is undefined."""
    module = importlib.import_module("calls." + family)
    undefined = list(getattr(module, "UNDEFINED", ()))
    return list(dict.fromkeys([*module.CALLS, *undefined])), set(undefined)


def work(calls, pipe):
    """Worker: run calls as they come, answer with their outcomes."""
    while True:
        call = pipe.recv()
        got = outcome.run(call)
        if got[0] == "raise":
            answer = {"raise": type(got[1]).__name__, "at": got[2]}, []
        else:
            blob = []
            answer = {"value": outcome.pack(got[1], blob)}, blob
        pipe.send(answer)


def start():
    """A fresh worker process and the pipe to it."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=work, args=((), there), daemon=True
    )
    process.start()
    there.close()
    return process, here


def run_all(calls, undefined):
    """Outcomes of all calls but those known as undefined, surviving the death of the worker."""
    outcomes, worker = [], None
    for call in calls:
        if call in undefined:
            outcomes.append(({"undefined": True}, []))
            continue
        process, pipe = worker = worker or start()
        try:
            pipe.send(call)
            if pipe.poll(SECONDS):
                outcomes.append(pipe.recv())
                continue
            outcomes.append(({"hang": SECONDS}, []))
        except (EOFError, ConnectionError):
            outcomes.append(({"crash": process.exitcode or 1}, []))
        process.kill()
        process.join()
        worker = None
    if worker:
        worker[0].kill()
    return outcomes


def run_filled(family, fill):
    """Outcomes of a family in a process whose fresh memory holds `fill` in every byte."""
    env = dict(os.environ, MALLOC_PERTURB_=str(fill), PYTHONHASHSEED="0")
    out = subprocess.run(
        [sys.executable, __file__, "--run", family], env=env, stdout=subprocess.PIPE
    )
    return pickle.loads(out.stdout)


def record(family):
    """Record one family and write its file."""
    calls, _ = table(family)
    first, second = run_filled(family, 85), run_filled(family, 170)
    records, blobs, counts = [], [], {}
    for call, one, two in zip(calls, first, second, strict=True):
        if one != two and "crash" not in one[0]:
            one = {"undefined": True}, []
        kind = next(iter(one[0]))
        counts[kind] = counts.get(kind, 0) + 1
        if kind in ("crash", "hang", "undefined"):
            print(f"  {kind}: {call}")
        records.append([call, one[0]])
        blobs += one[1]
    names = sorted({n for call in calls for n in outcome.functions_of(call)})
    meta = {"functions": [n for n in names if not outcome.is_missing(n)], "calls": records}
    text = io.BytesIO()
    np.savez_compressed(
        text,
        meta=np.frombuffer(json.dumps(meta, separators=(",", ":")).encode(), "uint8"),
        data=np.frombuffer(b"".join(blobs), "uint8"),
    )
    path = HERE / "data" / f"{family}.npz"
    path.write_bytes(text.getvalue())
    print(f"{family}: {len(calls)} calls, {counts}, {path.stat().st_size} bytes")


def load(family):
    """The records of a family: {"functions": names in the wheel, "calls": [call, result]}.

    Results are {"value": host tree}, {"raise": class name, "at": stage}, {"crash": ...}, ...
    """
    with np.load(HERE / "data" / f"{family}.npz") as file:
        meta, data = json.loads(file["meta"].tobytes()), io.BytesIO(file["data"].tobytes())
    for entry in meta["calls"]:
        if "value" in entry[1]:
            entry[1] = {"value": outcome.unpack(entry[1]["value"], data.read)}
    return meta


def names():
    """Public names of mlx.core, of its submodules and of arrays."""
    import mlx.core as mx

    found = [n for n in dir(mx) if not n.startswith("_")]
    modules = [n for n in found if type(getattr(mx, n)).__name__ == "module"]
    found += [f"{m}.{n}" for m in modules for n in dir(getattr(mx, m)) if not n.startswith("_")]
    found += [f"array.{n}" for n in dir(mx.array) if not n.startswith("_")]
    return [n for n in found if n not in modules]


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", nargs="*")
    parser.add_argument("--show", metavar="REGEX", help="print what stands recorded instead")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        output = os.dup(1)
        os.dup2(2, 1)  # whatever the library prints must not mix with the answer
        calls, undefined = table(args.run)
        outcomes = pickle.dumps(run_all(calls, undefined))
        with os.fdopen(output, "wb") as stream:
            stream.write(outcomes)
        return
    if args.show:
        for family in args.family or families():
            for call, result in load(family)["calls"]:
                if re.search(args.show, f"{call} => {result}"):
                    print(f"{call}  =>  {result}")
        return
    for family in args.family or families():
        record(family)
    (HERE / "data/names.txt").write_text("\n".join(sorted(names())) + "\n")


if __name__ == "__main__":
    main()
