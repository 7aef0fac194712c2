"""`./dev fuzz`: readers of files and texts, and the C interface, under libFuzzer and sanitizers."""

import os
import re
import subprocess
from pathlib import Path

from ..builds import PACKAGE, build
from ..environment import environment
from ..shell import PYTHON, debian, merged, no_more, refuse, run as run_program

USAGE = """\
  fuzz SECONDS      each reader of files and texts under libFuzzer and the sanitizers for so long
                    (needs clang); its finds are in build/fuzz/
"""

VERSION = 14  # of Debian's clang
RUNTIME = f"/usr/lib/llvm-{VERSION}/lib/clang/{VERSION}/lib/linux/libclang_rt.fuzzer-x86_64.a"
UNTESTED = "readers of files and texts, by fuzzing"
FORMATS = ("npy", "safetensors", "gguf", "function", "einsum", "signature", "handles", "ranks")
FOLDER = Path("build/fuzz")


def has_clang() -> bool:
    """Whether a clang++ of any version is on the path."""
    folders = (Path(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p)
    names = (file.name for folder in folders if folder.is_dir() for file in folder.iterdir())
    return any(re.fullmatch(r"clang\+\+(-\d+)?", name) for name in names)


def fuzz(format: str, seconds: str) -> None:
    """Runs one reader, from the files that the build writes and the finds of earlier runs."""
    found, log = FOLDER / format, FOLDER / f"{format}.log"
    found.mkdir(parents=True, exist_ok=True)
    limits = (f"-max_total_time={seconds}", "-max_len=4096", "-rss_limit_mb=1500", "-timeout=20")
    variables = {"MLX_FUZZ": format, "MLX_NUM_THREADS": "1", "ASAN_OPTIONS": "detect_leaks=0"}
    command: list[str | Path] = [FOLDER / "fuzz_target", found, FOLDER / "seeds" / format, *limits]
    command.append(f"-artifact_prefix={FOLDER}/found-{format}-")
    with log.open("w") as file:
        done = subprocess.run(command, env=merged(variables), stdout=file, stderr=file)
    lines = log.read_text(errors="replace").splitlines()
    if done.returncode:
        print(*lines[-60:], sep="\n")
        raise SystemExit(1)
    print(*(line for line in lines if line.startswith("Done")), sep="\n")


def run(arguments: list[str]) -> int:
    """Builds the target with clang and runs each reader for so many seconds, 60 by default."""
    seconds = arguments[0] if arguments else "60"
    no_more("fuzz", arguments[1:], "SECONDS")
    if not seconds.isdecimal():
        refuse(f"[fuzz] {seconds} given; accepted: a number of seconds")
    if not has_clang():
        debian(f"/usr/bin/clang++-{VERSION}", f"clang-{VERSION}", UNTESTED)
    if not debian(RUNTIME, f"libclang-rt-{VERSION}-dev", UNTESTED) and not has_clang():
        return 1
    environment("test")
    build()
    run_program("tests/fuzz/build.sh")
    run_program(PYTHON, "tests/fuzz/seeds.py", FOLDER / "seeds", variables=PACKAGE)
    for format in FORMATS:
        print(f"{format}:", flush=True)
        fuzz(format, seconds)
    print("npz:", flush=True)
    run_program(PYTHON, "tests/fuzz/mutate_npz.py", seconds, variables=PACKAGE)
    return 0
