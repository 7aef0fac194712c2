"""A sample of random faults of ranks (random_faults.py)."""

import pathlib
import subprocess
import sys

import pytest
from processes import EMULATED, SANITIZED
from test_launch import ENV

PROGRAM = pathlib.Path(__file__).with_name("random_faults.py")


@pytest.mark.skipif(SANITIZED, reason="the ranks are forked from a process with threads")
@pytest.mark.skipif(EMULATED, reason="the time that ranks have is not enough")
def test_sample():
    """Each case ends with an error on every rank that is left, and no wrong value."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "0", "12"],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENV,
    )
    assert done.returncode == 0, done.stdout + done.stderr
