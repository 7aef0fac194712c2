"""The process that times cases in one framework: one JSON line a request, one a reply.

Run as a script by any interpreter; it needs nothing installed but the framework. Requests:
    {"do": "hello", "framework": NAME, "threads": N or null,
     "device": "cpu" or "gpu"}                        -> {"version": ..., "compiles": modes}
    {"do": "prepare", "case": NAME, "op": entry or null}       -> {"first": s, "elements": n}
    {"do": "run", "calls": n}                                  -> {"seconds": s per call}
    {"do": "drop"}                                             -> {}
A reply may be {"missing": why} or {"error": text} instead.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

PACKAGE = "bench_of_mlx"  # not `mlx.bench`, which would hide the mlx of the interpreter


def load_package() -> None:
    """Import the package this file is part of, under another name."""
    here = pathlib.Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if pathlib.Path(p or ".").resolve() != here]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def part(name: str) -> Any:
    """A module of the package."""
    return importlib.import_module(f"{PACKAGE}.{name}")


class Worker:
    """Answers requests; holds the case that is being timed."""

    def __init__(self) -> None:
        self.framework: Any = None
        self.call: Any = None
        self.warm_up = 0

    def hello(self, framework: str, threads: int | None, device: str) -> dict[str, Any]:
        """Import the framework, on so many threads of the host and on the device."""
        if threads and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        self.framework = part(f"frameworks.{framework}").Framework(threads)
        self.framework.use(device)
        # The second call of a training step has other inputs than the first: the results of the
        # first. Kernels may be compiled for them.
        self.warm_up = 2 if device == "gpu" else 0
        return {"version": self.framework.version, "compiles": self.framework.compiles}

    def prepare(self, case: str, op: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make the inputs of a case and call it for the first time."""
        if op:
            part("table").add_op(op)
        listed, f = part("registry").load()[case], self.framework
        function, args = listed.make(f)
        args = f.ready(args)
        if listed.mode in ("op", "compiled"):
            function = f.op(function) if listed.mode == "op" else f.compile(function)
        if listed.mode == "first":
            function = first_calls(f, function)
        sync = (lambda result: result) if listed.mode == "raw" else f.sync

        def call(calls: int) -> float:
            if calls > 1:  # the first call after a pause wakes threads
                sync(function(*args))
            start = time.perf_counter()
            for _ in range(calls):
                sync(function(*args))
            return (time.perf_counter() - start) / calls

        start = time.perf_counter()
        result = f.sync(function(*args))
        first = time.perf_counter() - start
        for _ in range(self.warm_up if listed.mode != "first" else 0):
            first = call(1)
        elements = sum(f.size(leaf) for leaf in part("registry").arrays(result))
        self.call = call
        return {"first": first, "elements": elements}

    def run(self, calls: int) -> dict[str, Any]:
        """Time some calls of the prepared case."""
        return {"seconds": self.call(calls)}

    def drop(self) -> dict[str, Any]:
        """Forget the case and its arrays."""
        self.call = None
        gc.collect()
        return {}


def first_calls(f: Any, make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiles what `make` gives, anew in every call, and calls it."""

    def call(*args: Any) -> Any:
        f.forget()
        return f.compile(make())(*args)

    return call


def lacking(error: Exception) -> str | None:
    """The function that the framework lacks, if the error says so."""
    if isinstance(error, part("registry").Missing):
        return str(error)
    owner = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and isinstance(owner, type(sys)):
        return f"{owner.__name__}.{error.name}"
    return None


def main() -> None:
    """Answer requests until the input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of a framework is not a reply
    load_package()
    worker = Worker()
    gc.disable()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(worker, request.pop("do"))(**request)
        except Exception as error:
            worker.call = None
            missing = lacking(error)
            text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            reply = {"missing": missing} if missing else {"error": text}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
