"""The engine on a second backend, whose memory is not the host's and whose streams run late.

The checks are in second_backend_checks.py; a process for each mode runs them all.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest
from processes import PYTHON

PROGRAM = pathlib.Path(__file__).with_name("second_backend_checks.py")
pytestmark = pytest.mark.cpu_only("makes a GPU of its own")
NAMES = re.findall(r"^@check\ndef (\w+)", PROGRAM.read_text(), re.M)


@pytest.fixture(scope="module", params=["fake", "fake-unified"])
def results(request):
    """The outcome of each check in one mode."""
    run = subprocess.run(
        [*PYTHON, str(PROGRAM), request.param],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    )
    return dict(json.loads(line) for line in run.stdout.splitlines()), run


@pytest.mark.parametrize("name", NAMES)
def test_second_backend(results, name):
    errors, run = results
    if name not in errors:
        pytest.fail(f"the process ended with {run.returncode} before it came here\n{run.stderr}")
    if errors[name]:
        pytest.fail(errors[name])
    assert run.returncode == 0, run.stderr
