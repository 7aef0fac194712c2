"""The benchmark command: its list, its measurements, its file, its workers."""

import json
import os
import subprocess
import sys

import pytest

bench = pytest.importorskip("mlx.bench.__main__", exc_type=ModuleNotFoundError)
QUICK = ["--rounds", "2", "--budget", "0.01", "--threads", "1"]


def test_the_list_has_declared_cases_and_those_of_the_table(capsys):
    assert bench.main(["--list"]) == 0
    names = capsys.readouterr().out.split("\n")
    assert "elementwise/add 1K" in names and "op/exp" in names
    assert len(names) == len(set(names)) > 100


def test_a_case_is_timed_here_and_in_a_peer(tmp_path, capsys):
    file = tmp_path / "out.json"
    peer = f"mlx:again={sys.executable}"
    assert bench.main(["add 1K$", "10,000 kept", *QUICK, "--vs", peer, "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "elementwise/add 1K" in out and "again" in out and "geometric mean" in out
    content = json.loads(file.read_text())
    assert [row["case"] for row in content["rows"]] == [
        "elementwise/add 1K",
        "overhead/10,000 kept a + b, not computed",
    ]
    for row in content["rows"]:
        ours, other = row["timings"]["this"], row["timings"]["again"]
        assert ours["kind"] == other["kind"] == "time"
        assert len(ours["samples"]) >= 1 and 0 < min(ours["samples"]) <= ours["seconds"] < 1
        assert row["ratios"]["again"] == pytest.approx(other["seconds"] / ours["seconds"])
    means = content["geometric_means"]
    assert means["best"] == pytest.approx(means["again"])


def test_compiling_is_timed_with_a_new_function_in_every_call(tmp_path, capsys):
    file = tmp_path / "out.json"
    peer = f"mlx:again={sys.executable}"
    assert bench.main(["^compile/", *QUICK, "--vs", peer, "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "best peer of each row, compiling" in out
    content = json.loads(file.read_text())
    assert len(content["rows"]) == 3
    assert all(t["seconds"] > 1e-5 for row in content["rows"] for t in row["timings"].values())
    assert content["geometric_means"] == {"best": None, "again": None}
    assert content["geometric_means_of_first_calls"]["again"] > 0


def test_a_function_is_compiled_anew_each_time():
    from mlx.bench import registry, worker

    made, traced = [], []

    class Framework:
        forget = staticmethod(lambda: made.append(0))

        @staticmethod
        def compile(function):
            traced.append(function)
            return function

    call = worker.first_calls(Framework(), lambda: made.append(1) or (lambda x: x + 1))
    assert [call(1), call(2)] == [2, 3] and made == [0, 1, 0, 1] and len(set(traced)) == 2
    assert registry.load()["compile/200 ops on 4 numbers and the first call"].mode == "first"


def test_what_a_framework_lacks_is_shown(monkeypatch, capsys):
    pytest.importorskip("numpy")
    monkeypatch.setitem(os.environ, "PYTHONPATH", "")
    command = f"env {sys.executable}"
    assert (
        bench.main(["add 1K$", "multiply-adds 4M compiled", *QUICK, "--vs", f"numpy={command}"])
        == 0
    )
    rows = [line for line in capsys.readouterr().out.split("\n") if line.startswith(("el", "fo"))]
    assert len(rows) == 2 and "×" in rows[0]
    assert rows[1].split()[-2:] == ["–", "–"]


def test_a_peer_that_hangs_is_given_up_and_started_again():
    from mlx.bench import registry, run

    worker = run.Worker("this", "mlx", sys.executable, run.Options())
    try:
        case = registry.load()["elementwise/add 1K"]
        assert worker.prepare(case, None).kind == "time"
        first = worker.process.pid
        with pytest.raises(run.Failed, match="more than"):
            worker.ask("run", 0.05, calls=10**9)
        assert worker.prepare(case, None).kind == "time"
        assert worker.process.pid != first
    finally:
        worker.stop()


@pytest.mark.parametrize(
    "arguments",
    [["--vs", "cobol=python"], ["--vs", "mlx"], ["("], ["no such case"], ["--threads", "0"]],
)
def test_wrong_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        bench.main(arguments)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_a_reader_that_stops_is_no_error():
    """`--list | head` ends without a traceback."""
    command = [sys.executable, "-m", "mlx.bench", "--list"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
