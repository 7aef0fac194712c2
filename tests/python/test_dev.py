"""The command `./dev`: which programs each of its commands starts, and its environment and builds.

Programs are recorded here, not run. The rules of `./dev lint` are in test_rules.py.
"""

import io
import os
import pathlib
import shlex
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from dev import builds, environment, main, processor, shell, suites, zig  # noqa: E402
from dev.commands import bench, cuda, example, test as test_command  # noqa: E402

PROJECT = (ROOT / "pyproject.toml").read_text()


class Replaced(BaseException):
    """The process became another program, which ended without an error."""


class Started:
    """The programs that were started, as lines, and the variables that they got."""

    def __init__(self):
        self.lines, self.variables, self.failing = [], [], None

    def record(self, command, env):
        line = shlex.join(map(str, command)).replace(str(ROOT), "ROOT")
        self.lines.append(line)
        self.variables.append(env or {})
        return int(self.failing is not None and self.failing in line)

    def run(self, command, env=None, stdout=None, text=False, **_):
        code = self.record(command, env)
        said = "lib/x/zig" if "ziglang" in str(command) else "Said 1.0"
        return subprocess.CompletedProcess(command, code, said if text else said.encode())

    def replace(self, _, command, env):
        self.record(command, env)
        raise Replaced

    def command(self, *arguments):
        """Runs a command of `./dev`; the result is its exit status."""
        try:
            return main.main(list(arguments))
        except Replaced:
            return 0
        except SystemExit as end:
            return end.code


@pytest.fixture
def started(tmp_path, monkeypatch):
    """An empty repository with an environment and recorded programs."""
    recorder = Started()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", recorder.run)
    monkeypatch.setattr(os, "execvpe", recorder.replace)
    monkeypatch.setattr(shell, "debian", lambda *_: True)
    for module in ("emulated", "commands.fuzz", "commands.docs"):
        monkeypatch.setattr(f"dev.{module}.debian", lambda *_: True)
    monkeypatch.setenv("MLX_BUILD_JOBS", "3")
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    (tmp_path / ".venv/lib/python3.x/site-packages/pip").mkdir(parents=True)
    for name in ("test_a.py", "test_b.py", "test_c.py", "nn/test_d.py", "test_devices_agree.py"):
        (tmp_path / "tests/python" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests/python" / name).touch()
    (tmp_path / "build/tests").mkdir(parents=True)
    (tmp_path / "build/tests/mlx_tests").touch()
    return recorder


NINJA = ".venv/bin/ninja -C {} -j 3"
PYTEST = ".venv/bin/python -m pytest"
ALL = f"{PYTEST} -n 3 --dist loadfile tests/python"
# Arguments, the folder of the build, the programs that follow it, variables of the last program.
ROWS = [
    ("build", "build", [], {"CXX": "c++"}),
    ("build core stubs", "build core stubs", [], {}),
    ("test", "build", ["build/tests/mlx_tests --no-intro", ALL], {"PYTHONPATH": "build/python"}),
    (
        "test --all --huge --seed 5 --backend fake -k 'a or b'",
        "build",
        [f"{ALL} --all --huge --seed 5 --backend fake -k 'a or b'"],
        {},
    ),
    (
        "test --third 2 --backend fake",
        "build",
        [f"{PYTEST} tests/python/test_b.py tests/python/nn/test_d.py --backend fake"],
        {},
    ),
    ("test --device gpu", "build", [f"{ALL} --device gpu"], {}),
    ("test tests/python/test_a.py", "build", [f"{PYTEST} tests/python/test_a.py"], {}),
    ("test --exhaustive exp", "build exhaustive_math", ["build/tests/exhaustive_math exp"], {}),
    (
        "test --sanitize --third 2 -x",
        "build/sanitize core mlxc mlx_fake",
        [".venv/bin/python -m pytest tests/python/test_b.py tests/python/nn/test_d.py -x"],
        {"PYTHONPATH": "build/sanitize/python", "LD_PRELOAD": "Said 1.0 Said 1.0"},
    ),
    ("test --sanitize", "build/sanitize core mlxc mlx_fake", [ALL], {}),
    (
        "test --sanitize",
        "build core mlx_metal metal_emulated_sanitized",
        [f"{PYTEST} --backend metal -n 3 tests/python/metal_sanitized.py"],
        {},
    ),
    (
        "test --threads '-tc=threads*'",
        "build/threads mlx_tests mlx_cuda",
        [
            "ROOT/build/threads/tests/mlx_tests --minimal '-tc=threads*'",
            ".venv/bin/python -m mlx.launch -n 3 ROOT/build/threads/tests/mlx_tests --minimal "
            "'-tc=ranks of a launch*'",
        ],
        {"MLX_TEST_BACKEND": f"{ROOT}/build/threads/tests/libmlx_cuda.so"},
    ),
    ("test --clang", "build/clang", ["build/clang/tests/mlx_tests --no-intro", ALL], {}),
    ("test --clang -k x", "build/clang", [f"{ALL} -k x"], {}),
    ("test --accelerate tests/python/test_a.py", "build/accelerate core", [], {}),
    ("bench --rounds 2", "build", [".venv/bin/python -m mlx.bench --rounds 2"], {}),
    ("bench --nodes plans", "build mlx_bench_nodes", ["build/tests/mlx_bench_nodes plans"], {}),
    ("docs", "build stubs", [], {"PYTHONPATH": "build/python"}),
    ("docs --check", "build stubs", [".venv/bin/python tests/built_site.py build/docs"], {}),
    (
        "wheel --macos",
        "build/macos core mlxc mlx_metal",
        [".venv/bin/python tests/apple/check_wheel.py"],
        {},
    ),
    ("support", "build", [".venv/bin/python tests/support.py"], {}),
    ("python -m mlx", "build", [".venv/bin/python -m mlx"], {"PYTHONPATH": "build/python"}),
    ("demo --quick", "build stubs", [".venv/bin/python examples/digits/train.py --quick"], {}),
    (
        "cuda",
        "build",
        [
            "build/tests/mlx_cuda_corpus --unlisted build/cuda-kernels-all",
            "build/tests/mlx_cuda_corpus sm_90 3 @build/cuda-kernels",
        ],
        {},
    ),
    ("cuda sm_80", "build", ["build/tests/mlx_cuda_corpus sm_80 3"], {}),
    ("cuda --sanitize", "build all mlx_cuda_sanitized", [], {"PYTHONPATH": "build/python"}),
]  # fmt: skip


NAMES = [f"{row[0]}: {row[1]}" for row in ROWS]


@pytest.mark.parametrize("arguments, built, lines, variables", ROWS, ids=NAMES)
def test_programs_of_a_command(started, arguments, built, lines, variables):
    assert started.command(*shlex.split(arguments)) == 0
    folder, *targets = built.split()
    ninja = started.lines.index(" ".join([NINJA.format(folder), *targets]))
    for line in lines:
        assert line in started.lines[ninja:], started.lines
    assert variables.items() <= started.variables[-1].items()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("nosuch", "[dev] no command nosuch; there are: demo, example, test, wheel, docs, build"),
        ("lint --fox", "[lint] --fox given; accepted: --fix"),
        ("docs --check x", "[docs] x given; accepted: --check"),
        ("test -x --sanitize", "[test] --sanitize after other arguments"),
        ("test --sanitize --third", "[test] --third without a number"),
        ("test --sanitize --third 4", "[test] --third 4 given; accepted: 1, 2, 3, today, tomorrow"),
        ("test --sixth 7", "[test] --sixth 7 given; accepted: 1, 2, 3, 4, 5, 6, today, tomorrow"),
        ("wheel --this-processor x", "[wheel] x given; accepted: --this-processor alone"),
        ("test --wheel x", "[test --wheel] x given; accepted: no arguments"),
        ("fuzz long", "[fuzz] long given; accepted: a number of seconds"),
        ("example nosuch", "[example] no example nosuch; there are:"),
    ],
)
def test_refused_arguments(started, capsys, arguments, message):
    assert started.command(*arguments.split()) == 2
    assert message in capsys.readouterr().err
    assert not started.lines


def test_a_failing_program_ends_the_command(started, capsys):
    for failing, status in (("-m pip", 1), ("cmake", 1), ("ninja -C", 1), ("mlx_tests", 1)):
        started.failing = failing
        assert started.command("test") == status
        assert failing in started.lines[-1]
    started.failing = "ninja -C"
    capsys.readouterr()
    assert started.command("support") == 1
    assert capsys.readouterr().out == "Said 1.0"  # the output of a quiet build


def test_script():
    """`dev` itself: it starts in its folder, for any name by which it is called."""
    done = subprocess.run(
        [f"{ROOT}/dev", "nosuch"], cwd="/", capture_output=True, text=True, env={"PATH": os.defpath}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("[dev] no command nosuch; there are: demo,")


def test_usage_names_every_command(capsys):
    assert main.main([]) == 0
    printed = capsys.readouterr().out
    starts = [
        line.split()[0] for line in printed.splitlines() if line[:3].strip() and line[0] == " "
    ]
    assert starts == list(main.COMMANDS)
    modules = {p.stem for p in (ROOT / "tools/dev/commands").glob("[a-z]*.py")}
    assert modules == set(main.COMMANDS)
    assert all(way in printed for way in test_command.WAYS)


def test_environment_stamp(started):
    """Packages are installed once per change of the requirements of their group."""
    pip = ".venv/bin/python -m pip install -q --no-compile --disable-pip-version-check -r"
    environment.environment("test")
    assert started.lines == [f"{pip} .venv/requirements.txt"]
    environment.environment("test")
    assert len(started.lines) == 1
    project = pathlib.Path("pyproject.toml")
    project.write_text(PROJECT.replace('lint = ["ruff"', 'lint = ["flake8"'))
    environment.environment("test")
    assert len(started.lines) == 1
    project.write_text(PROJECT.replace('test = ["pytest"', 'test = ["pytest>=8"'))
    environment.environment("test")
    assert len(started.lines) == 2
    assert "pytest>=8" in pathlib.Path(".venv/requirements.txt").read_text()
    pathlib.Path(".venv/bin/python").unlink()
    python = sys.executable.replace(str(ROOT), "ROOT")
    environment.environment("test")
    assert started.lines[2:] == [f"{python} -m venv --clear .venv", started.lines[0]]


def test_a_failed_installation_leaves_no_stamp(started):
    started.failing = "-m pip"
    for _ in range(2):
        with pytest.raises(SystemExit):
            environment.environment("test")
    assert len(started.lines) == 2


def test_half_an_environment_is_removed(started, capsys):
    """Python without ensurepip leaves one; with it, the next call makes a whole one."""
    pip = next(pathlib.Path(".venv/lib").glob("python3*/site-packages/pip"))
    pip.rmdir()
    started.failing = "-m venv"
    assert started.command("build") == 2
    assert "apt install python3-venv" in capsys.readouterr().err
    assert not pathlib.Path(".venv").exists() and len(started.lines) == 1


def test_no_package_index(tmp_path, monkeypatch, capsys):
    """One line, and not the lines of pip."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.py").write_text("import sys; sys.exit('NewConnectionError: none')")
    monkeypatch.setattr(environment, "PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SystemExit):
        environment.install("a")
    said = capsys.readouterr().err
    assert said == "[dev] the package index cannot be reached; pip needs it for the first build\n"


def test_a_folder_that_cannot_be_written(started, monkeypatch, capsys):
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: mode != os.W_OK and access(p, mode))
    assert started.command("build") == 2 and not started.lines
    assert "is not writable" in capsys.readouterr().err


def test_demo_of_a_wheel(started, capsys):
    """No compiler runs; the arguments after the file are the program's."""
    pathlib.Path("mlx.whl").touch()
    assert started.command("demo", "--wheel", "mlx.whl", "--quick") == 0
    assert "--force-reinstall --no-deps mlx.whl" in started.lines[-2]
    assert started.lines[-1] == ".venv/bin/python examples/digits/train.py --quick"
    assert not any("cmake" in line for line in started.lines)
    assert started.command("demo", "--wheel", "no.whl") == 2
    assert "[demo] --wheel no.whl given" in capsys.readouterr().err


def test_requirements_are_those_of_the_project():
    tomllib = pytest.importorskip("tomllib")  # newer than Python 3.10
    project = tomllib.loads(PROJECT)
    needed = project["build-system"]["requires"]
    assert environment.requirements("build", ROOT / "pyproject.toml") == needed
    for group, names in project["project"]["optional-dependencies"].items():
        assert environment.requirements(group, ROOT / "pyproject.toml") == needed + names
    with pytest.raises(SystemExit, match="no list nosuch"):
        environment.requirements("nosuch", ROOT / "pyproject.toml")


def test_builds_are_configured_once_per_change(started, monkeypatch):
    folder = pathlib.Path("build")

    def configured(*options):
        started.lines.clear()
        builds.configure(folder, *options)
        (folder / "build.ninja").touch()
        return bool(started.lines)

    os.utime("pyproject.toml", (1, 1))
    assert [configured("-DA=1"), configured("-DA=1"), configured("-DA=2")] == [True, False, True]
    future = time.time() + 60
    os.utime("pyproject.toml", (future, future))
    assert configured("-DA=2")
    os.utime("pyproject.toml", (1, 1))
    (folder / "CMakeCache.txt").write_text("DOCTEST_INCLUDE:PATH=DOCTEST_INCLUDE-NOTFOUND\n")
    monkeypatch.setattr(builds, "DOCTEST", pathlib.Path("doctest.h"))
    assert not configured("-DA=2")
    builds.DOCTEST.touch()
    assert configured("-DA=2")


def test_interrupted(started, monkeypatch, capsys):
    """Ctrl-C ends a command with the status of shells, without a traceback."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    assert started.command("build") == 130
    said = capsys.readouterr()
    assert said.err == "[dev] build was interrupted; the same command continues it\n"
    assert not pathlib.Path(".venv").exists() or environment.whole()


def test_an_environment_that_was_interrupted_is_removed(tmp_path):
    """Half of one, with a folder of pip, would count as a whole one; nothing of venv is printed."""
    (tmp_path / "venv.py").write_text(
        "import os, pathlib, signal, time\n"
        "pathlib.Path('.venv/lib/python3/site-packages/pip').mkdir(parents=True)\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(60)\n"
    )
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dev.main import main\n"
        "sys.exit(main(['build']))\n"
    )
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    variables = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'tools'}"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 130 and not (tmp_path / ".venv").exists()
    assert done.stderr == "[dev] build was interrupted; the same command continues it\n"


def test_beat(tmp_path):
    log = tmp_path / ".ninja_log"
    said = io.StringIO()
    with builds.Beat(log, said, 0.05):
        time.sleep(0.4)
    assert said.getvalue().count("still compiling after 0:00") >= 2
    said = io.StringIO()
    with builds.Beat(log, said, 0.3):
        for _ in range(40):
            log.write_text("x")
            time.sleep(0.02)
    assert said.getvalue() == ""


@pytest.mark.parametrize("given, jobs", [("7", 7), ("", shell.processors())])
def test_jobs(monkeypatch, given, jobs):
    monkeypatch.setenv("MLX_BUILD_JOBS", given)
    assert shell.jobs() == jobs


@pytest.mark.parametrize("given", ["0", "-1", "many"])
def test_jobs_that_are_no_number(monkeypatch, capsys, given):
    monkeypatch.setenv("MLX_BUILD_JOBS", given)
    with pytest.raises(SystemExit):
        shell.jobs()
    assert f"MLX_BUILD_JOBS={given}; accepted" in capsys.readouterr().err


def test_sixths_of_kernels():
    """Each kernel belongs to one of six dates, whatever its file is called."""
    names = ["mlx-cache-bytes", *(f"{n:032x}" for n in range(300))]
    parts = [[name for name in names if cuda.chosen(name, date)] for date in range(6)]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert all(parts)


@pytest.mark.parametrize("option, count", suites.PARTS.items())
def test_parts_of_files(monkeypatch, option, count):
    monkeypatch.chdir(ROOT)
    parts = [suites.part_of_files(option, str(k + 1)) for k in range(count)]
    every = [str(p) for p in pathlib.Path("tests/python").rglob("test_*.py")]
    assert sorted(file for part in parts for file in part) == sorted(every)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    days = [parts.index(suites.part_of_files(option, day)) for day in ("today", "tomorrow")]
    assert days[1] == (days[0] + 1) % count


def test_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = [name for name, _ in example.examples()]
    assert {"clusters", "language_model/lora"} <= set(names)
    assert all(example.program(name) for name in names)


def test_programs_of_zig_keep_their_time(tmp_path):
    file = tmp_path / "zig" / "c++"
    zig.write(file, "#!/bin/sh\necho one\n")
    os.utime(file, (1, 1))
    zig.write(file, "#!/bin/sh\necho one\n")
    assert file.stat().st_mtime == 1
    zig.write(file, "#!/bin/sh\necho two\n")
    assert subprocess.run([file], capture_output=True, text=True).stdout == "two\n"


def test_file_of_a_processor():
    assert bench.file_name("Intel(R) Xeon(R) @ 2.8GHz") == "intel-r-xeon-r-2-8ghz.json"


@pytest.mark.parametrize(
    ("machine", "flags", "isa"),
    [
        ("x86_64", " ".join(processor.EXTENSIONS.values()), "avx512"),
        ("x86_64", processor.EXTENSIONS["avx2"] + " avx512f", "avx2"),
        ("x86_64", "sse4_2", "v2"),
        ("aarch64", "asimd", "neon"),
    ],
)
def test_instruction_set(started, tmp_path, monkeypatch, machine, flags, isa):
    """Builds for one processor name the widest set that the system lists whole."""
    cpu = tmp_path / "cpuinfo"
    cpu.write_text(f"processor : 0\nflags : {flags}\nbugs : none\n")
    monkeypatch.setattr(processor, "CPU", cpu)
    monkeypatch.setattr(processor.platform, "machine", lambda: machine)
    assert processor.only_this() == f"-DMLX_ONLY_ISA={isa}"
    assert started.command("wheel", "--this-processor") == 0
    assert f"--config-settings=cmake.define.MLX_ONLY_ISA={isa} " in started.lines[-1]
    assert started.command("test", "--sanitize") == 0
    assert started.variables[-1]["MLX_TEST_ISA"] == isa
    assert any(f" -DMLX_ONLY_ISA={isa}" in line for line in started.lines)


def test_instruction_set_of_a_system_that_does_not_say(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "CPU", tmp_path / "none")
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    assert processor.instruction_set() == "v2"


def test_tag_of_a_wheel(started, tmp_path):
    """A build with the plugin asks for newer libraries than manylinux_2_28 has."""
    for plugin, tag in (("OFF", "manylinux_2_28_x86_64"), ("ON", "auto")):
        pathlib.Path("build/CMakeCache.txt").write_text(f"MLX_CUDA:BOOL={plugin}\n")
        assert started.command("wheel", "python3.12") == 0
        assert f"auditwheel repair -z 9 --plat {tag} " in started.lines[-1]
