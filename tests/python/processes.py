"""Programs that tests run in a Python of their own, on the backend under test."""

import os
import subprocess
import sys

import second_backend


def run_program(text, *arguments, timeout=120, **settings):
    """Run a program with environment variables; its exit code, and what it wrote."""
    start = ""
    if name := second_backend.in_use():
        start = f"import second_backend; second_backend.use({name!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + text, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.returncode, done.stdout, done.stderr
