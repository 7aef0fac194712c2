"""Run the training programs of this directory and show or record what they return.

    <interpreter with the published wheel> tests/programs/record.py

writes losses.json, which tests/python/test_training_programs.py compares with. With `--show`, it is
printed instead; arguments are names of programs.
"""

import importlib
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "losses.json"
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("record", "program_support"))


def run(name: str) -> dict[str, list[float]]:
    """The series of numbers that a program returns."""
    return importlib.import_module(name).run()


def main() -> None:
    """Command line."""
    names = [name for name in sys.argv[1:] if name != "--show"] or PROGRAMS
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        start = time.perf_counter()
        recorded[name] = run(name)
        print(f"{name}: {time.perf_counter() - start:.2f} s", file=sys.stderr)
        if "--show" in sys.argv:
            print(json.dumps({name: recorded[name]}))
    if "--show" not in sys.argv:
        RECORD.write_text(json.dumps(dict(sorted(recorded.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
