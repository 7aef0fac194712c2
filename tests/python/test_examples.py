"""The examples: each program runs in a short form, and its figures are plausible.

A program is a file below examples/ whose head comment names `./dev example NAME`. It has a function
`main` that takes arguments and returns the figures that it prints at its end.
"""

import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NAME = re.compile(r"^ +\./dev example (\S+)", re.M)
PROGRAMS = {
    name[1]: path
    for path in sorted(EXAMPLES.rglob("*.py"))
    if (name := NAME.search(path.read_text().split('"""')[1]))
}

pytestmark = [pytest.mark.cpu_only("the examples show what the CPU computes"), pytest.mark.anywhere]

#: Conditions on the figures of the short form.
EXPECTED = {
    "clusters": lambda f: f["last"] < f["first"] and f["error"] < f["plain"],
    "data_parallel": lambda f: f["difference"] < 1e-3 and f["last loss"] < f["first loss"],
    "diffusion": lambda f: f["noise"] > 0.1 and f["last loss"] < f["first loss"],
    "exported": lambda f: f["accuracy"] > 0.8 and f["difference"] < 1e-6,
    "gaussian_process": lambda f: f["accepted"] > 0.5 and 0.1 < f["noise"] < 0.5,
    "graph": lambda f: f["accuracy"] > f["plain"] > 0.25,
    "language_model": lambda f: (
        f["last loss"] < 0.8 * f["first loss"]
        and f["perplexity"] < 60
        and abs(f["with 4 bits"] / f["perplexity"] - 1) < 0.2
    ),
    "language_model/lora": lambda f: (
        f["adapted"] < f["before"] and abs(f["merged"] / f["adapted"] - 1) < 1e-3
    ),
    "language_model/serve": lambda f: (
        f["same"] == f["requests"] == 9
        and f["largest batch"] == 8
        and f["status of an empty prompt"] == 400
    ),
    "physics": lambda f: f["last loss"] < f["first loss"],
    "resnet": lambda f: f["last loss"] < f["first loss"],
    "tensor_parallel": lambda f: (
        f["texts"] == 1 and f["share"] < 0.3 and f["last loss"] < f["first loss"]
    ),
    "vae": lambda f: f["last loss"] < f["first loss"],
}


@pytest.fixture
def load(monkeypatch):
    """Imports a program as Python does when it runs it: its folder comes first.

    Several folders have a `data` and a `model`; modules of other programs are set aside.
    """
    for path in EXAMPLES.rglob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    before = set(sys.modules)

    def load(name):
        path = PROGRAMS[name]
        monkeypatch.syspath_prepend(str(path.parent))
        return importlib.import_module(path.stem)

    yield load
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and pathlib.Path(file).is_relative_to(EXAMPLES):
            del sys.modules[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, load, tmp_path, capsys):
    """The short form runs, prints its figures, and writes nothing elsewhere."""
    figures = load(name).main(["--quick", "--output", str(tmp_path)])
    assert EXPECTED[name](figures), figures
    assert capsys.readouterr().out.strip()
    pictures = list(tmp_path.glob("*.png"))
    assert all(picture.stat().st_size > 1000 for picture in pictures)


def test_batches_of_processes():
    """The loader's batches are the same ones with any number of processes."""
    program = [sys.executable, str(EXAMPLES / "by_hand" / "loader.py")]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
    alone, shared = (line.split(": ")[1] for line in done.stdout.splitlines())
    assert alone == shared and alone.count(",") == 4


def test_names():
    """The name in the head comment is that of the file, and every example has a page."""
    assert len(PROGRAMS) >= len(EXPECTED) > 3
    for name, path in PROGRAMS.items():
        assert path in (EXAMPLES / f"{name}.py", EXAMPLES / name / "train.py")
    pages = "".join(p.read_text() for p in sorted((ROOT / "docs" / "examples").glob("*.md")))
    assert [name for name in PROGRAMS if f"./dev example {name}\n" not in pages] == []


def test_pictures():
    """Pictures of the pages are small."""
    pictures = list((ROOT / "docs" / "examples").glob("*.png"))
    assert [p.name for p in pictures if p.stat().st_size > 60_000] == []


def test_language_model_goes_on(load, tmp_path):
    """After a stop the losses are those of a run without one."""
    train = load("language_model")
    tokens, _ = sys.modules["data"].sources(20_000)

    def losses(until, path, resume=False):
        mx.random.seed(99 if resume else 3)
        trainer = train.Trainer(sys.modules["model"].Transformer(**train.SMALL), 12)
        if resume:
            trainer.load(path)
        trainer.train(tokens, until, path, every=3)
        return trainer.losses

    whole = losses(12, tmp_path / "whole.safetensors")
    part = losses(7, tmp_path / "part.safetensors")
    assert part == whole[:7]
    assert losses(12, tmp_path / "part.safetensors", resume=True) == whole
