"""The benchmark command: its list, its measurements, its file, its workers."""

import ast
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import pytest
from processes import PYTHON

pytestmark = pytest.mark.anywhere

bench = pytest.importorskip("mlx.bench.__main__", exc_type=ModuleNotFoundError)
QUICK = ["--rounds", "2", "--budget", "0.01", "--threads", "1"]


def test_the_list_has_declared_cases_and_those_of_the_table(capsys):
    assert bench.main(["--list"]) == 0
    names = capsys.readouterr().out.split("\n")
    assert "elementwise/add 1K" in names and "op/exp" in names
    assert len(names) == len(set(names)) > 100


def test_functions_that_cases_call_are_there():
    """A function that no framework has would leave its rows without a time, in silence."""
    from mlx.bench.frameworks.mlx import Framework

    cases = pathlib.Path(bench.__file__).parent / "cases"
    nodes = [n for p in cases.glob("*.py") for n in ast.walk(ast.parse(p.read_text()))]
    names = {
        n.attr
        for n in nodes
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "f"
    }
    assert "rsqrt" in names
    assert [name for name in sorted(names) if not hasattr(Framework, name)] == []


def test_rows_so_far_are_reported_when_a_signal_ends_the_cases(tmp_path):
    file = tmp_path / "out.json"
    command = [
        *PYTHON,
        "-m",
        "mlx.bench",
        "--json",
        str(file),
        "--rounds",
        "2",
        "^op/",
        "^formula/",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for _ in range(5):  # versions, titles, rows
            assert run.stdout.readline()
        run.send_signal(signal.SIGTERM)
        printed = run.communicate(timeout=60)[0]
    assert run.returncode == 0, printed
    assert 3 <= len(json.loads(file.read_text())["rows"]) < 60


def test_an_installed_package_has_the_cases_of_the_table(tmp_path, monkeypatch):
    """The table is found among the headers of a package without a source tree."""
    from mlx.bench import definitions, table

    source = definitions.file()
    package = tmp_path / "site-packages" / "mlx"
    headers = package / "include" / "mlx" / "ops"
    headers.mkdir(parents=True)
    monkeypatch.setattr(definitions, "__file__", str(package / "bench" / "definitions.py"))
    assert definitions.file() is None and table.entries() == {}
    (headers / "elementwise.def").write_text(source.read_text())
    assert definitions.file() == headers / "elementwise.def"
    assert {"op/exp", "op/where"} <= set(table.entries())


def test_a_case_is_timed_here_and_in_a_peer(tmp_path, capsys):
    file = tmp_path / "out.json"
    peer = f"mlx:again={shlex.join(PYTHON)}"
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
    ratios = sorted(row["ratios"]["again"] for row in content["rows"])
    assert content["medians"]["again"] == pytest.approx(sum(ratios) / 2)
    assert content["date"].startswith("20")


@pytest.mark.cpu_only("about machines without a GPU")
def test_a_device_that_is_not_there_ends_the_command(capsys):
    assert bench.main(["add 1K$", *QUICK, "--device", "gpu"]) == 1
    assert "not available" in capsys.readouterr().err


def test_a_framework_without_a_gpu_says_so():
    from mlx.bench.frameworks.numpy import Framework
    from mlx.bench.registry import Missing

    Framework(None).use("cpu")
    with pytest.raises(Missing, match="numpy has no gpu here"):
        Framework(None).use("gpu")


def results(ratios):
    """The content of a JSON file with a row for each ratio to one peer."""
    return {
        "versions": {"this": "mlx 1", "torch": "torch <2>"},
        "rows": [{"case": f"op/{i}", "ratios": {"torch": r}} for i, r in enumerate(ratios)],
    }


def test_extreme_ratios_are_rings_at_the_border(tmp_path):
    """One row does not stretch the scale of all others."""
    from mlx.bench import plot

    marks = [
        re.findall(r'cx="([\d.]+)".*opacity="([\d.]+)"', m)
        for m in re.findall("<circle.*<title>op/.*", plot.draw(results([128.0, 9000.0, 1e-9])))
    ]
    (inside, high, low) = (m[0] for m in marks)
    assert inside[0] == high[0] and float(low[0]) < float(high[0])
    assert [m[1] for m in (inside, high, low)] == ["0.85", "0.15", "0.15"]


def test_a_picture_of_a_comparison(tmp_path, capsys):
    """A mark for each ratio, where the scale has it; valid XML."""
    import xml.etree.ElementTree as ET

    source, target = tmp_path / "out.json", tmp_path / "out.svg"
    source.write_text(json.dumps(results([0.5, 1.0, 4.0])))
    assert bench.main(["--from", str(source), "--plot", str(target)]) == 0
    root = ET.parse(target).getroot()
    marks = [e for e in root if e.tag.endswith("circle") and len(e)]
    places = [float(e.get("cx")) for e in marks]
    assert len(places) == 3 and places[2] - places[1] == pytest.approx(
        2 * (places[1] - places[0]), abs=0.5
    )
    assert {e.get("fill-opacity") for e in marks} == {"0.85"}
    texts = [e.text for e in root if e.tag.endswith("text")]
    assert "op/2" in texts and "×1/2" in texts and "torch (torch <2>)" in texts
    with pytest.raises(SystemExit):
        bench.main(["--plot", str(target)])


def test_medians_and_rows_that_move_a_mean():
    """A row over ×100 is named; the median does not follow it."""
    import io

    from mlx.bench.report import Report

    report = Report(["torch"], ["op/0"], io.StringIO())
    report.rows = [
        row | {"mode": "op", "best_peer_ratio": row["ratios"]["torch"]}
        | {"timings": {"this": {"kind": "time"}}}
        for row in results([1.0, 1.0, 1.0, 4096.0])["rows"]
    ]  # fmt: skip
    assert report.means()["torch"] == pytest.approx(8) and report.medians()["torch"] == 1
    report.finish()
    text = report.out.getvalue()
    assert "×8.00   ×1.00  (4 rows)" in text and "×4096  op/3, torch" in text


def test_compiling_is_timed_with_a_new_function_in_every_call(tmp_path, capsys):
    file = tmp_path / "out.json"
    peer = f"mlx:again={shlex.join(PYTHON)}"
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


def test_missing_functions_of_a_framework_are_shown(capsys):
    pytest.importorskip("numpy")
    without = [p for p in sys.path if not (pathlib.Path(p) / "mlx").is_dir()]
    command = f"env PYTHONPATH={os.pathsep.join(without)} {shlex.join(PYTHON)}"
    assert (
        bench.main(["add 1K$", "multiply-adds 4M compiled", *QUICK, "--vs", f"numpy={command}"])
        == 0
    )
    rows = [line for line in capsys.readouterr().out.split("\n") if line.startswith(("el", "fo"))]
    assert len(rows) == 2 and "×" in rows[0]
    assert rows[1].split()[-2:] == ["–", "–"]


def test_a_peer_that_hangs_is_given_up_and_started_again():
    from mlx.bench import registry, run

    worker = run.Worker("this", "mlx", shlex.join(PYTHON), run.Options())
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


def test_threads_that_spin_after_their_work_are_waited_for(monkeypatch):
    from mlx.bench import run

    worker = run.Worker("this", "mlx", shlex.join(PYTHON), run.Options())
    worker.settle()  # no process yet
    counts = [0.0, 0.004, 0.008, 0.0081, 1.0]
    monkeypatch.setattr(run, "running_s", lambda pid: counts.pop(0))
    worker.process = subprocess.Popen([sys.executable, "-c", ""])
    with worker.process:
        worker.settle()
    assert counts == [1.0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="times of threads are Linux's")
def test_the_time_that_threads_have_run():
    from mlx.bench import run

    before = run.running_s(os.getpid())
    while run.running_s(os.getpid()) - before < 0.01:
        pass
    assert run.running_s(2**22 + 1) is None  # no such process


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
    command = [*PYTHON, "-m", "mlx.bench", "--list"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
