"""Ranks as threads of one process: ``mlx.launch --backend threads``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .hosts import LaunchError


def run_threads(words: list[str], size: int, env: dict[str, str]) -> int:
    """Run a script once in each of ``size`` threads; 0, or its exception is raised."""
    import mlx.core as mx

    script = Path(words[0])
    if not script.is_file():
        raise LaunchError(f"{words[0]}: a script is accepted with --backend threads")
    os.environ.update(env)
    sys.argv = words
    sys.path.insert(0, str(script.resolve().parent))
    code = compile(script.read_bytes(), str(script), "exec")

    def rank() -> None:
        exec(code, {"__name__": "__main__", "__file__": str(script)})

    try:
        mx.distributed.simulate(rank, size)
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0
        print(e.code, file=sys.stderr)
        return 1
    return 0
