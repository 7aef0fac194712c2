"""Test runs take another sample of the combinations each day, and print which."""

import datetime
import pathlib
import subprocess

import pytest
from cases import selection
from processes import PYTHON

HERE = pathlib.Path(__file__).parent
NAMES = [f"matrix row {n} grad compiled" for n in range(3000)]


@pytest.fixture
def days(monkeypatch):
    """A function that gives what is chosen with a seed."""
    monkeypatch.setattr(selection, "EVERYTHING", False)

    def chosen(seed, share):
        monkeypatch.setattr(selection, "SEED", seed)
        return {n for n in NAMES if selection.chosen(n, share)}

    return chosen


@pytest.mark.parametrize("share", [0.02, 0.15, 0.3, 0.4, 0.6])
def test_successive_days_cover_everything(days, share):
    today = datetime.date.today().toordinal()
    needed = -int(-1 // share)
    parts = [days(today + n, share) for n in range(needed)]
    assert set().union(*parts) == set(NAMES)
    for part in parts:
        assert 0.6 * share < len(part) / len(NAMES) < 1.4 * share
    assert parts[0] != parts[1] and parts[0] == days(today, share)


def test_a_seed_is_given_or_the_date(monkeypatch):
    monkeypatch.delenv("MLX_TEST_SEED", raising=False)
    assert selection.seed_of() == datetime.date.today().toordinal()
    monkeypatch.setenv("MLX_TEST_SEED", "12")
    assert selection.seed_of() == 12 and selection.seed_of(0) == 0
    monkeypatch.setenv("MLX_TEST_SEED", "tuesday")
    with pytest.raises(ValueError, match="tuesday"):
        selection.seed_of()


def test_a_run_says_its_seed():
    command = [*PYTHON, "-m", "pytest", "--collect-only", "--seed", "77", __file__]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert "seed 77" in done.stdout.splitlines()[0], done.stdout + done.stderr
