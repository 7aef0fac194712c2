"""Includes follow the table of docs/architecture.md, and the check finds violations."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("includes", ROOT / "tests/includes.py")
includes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(includes)

TABLE = """
| area | contains | includes |
|---|---|---|
| `mlx/core` | arrays | |
| `mlx/ops` | operations | `mlx/core`, `mlx/io/stream.h` |
| `mlx/io` | files | `mlx/core` |
| `mlx/backend/cpu` | kernels | `mlx/backend/cpu/isa` |
| `mlx/backend/cpu/isa` | inner loops | |
| `mlx/*.h` | what applications include | `mlx/ops` |
| `python/src` | bindings | `mlx/*.h` |
"""


def tree(root, files):
    """The folders of TABLE with these files and what they include."""
    sound = {
        "mlx/core/array.h": "<vector>",
        "mlx/io/stream.h": '"mlx/core/array.h"',
        "mlx/ops/add.h": '"mlx/core/array.h"',
        "mlx/backend/cpu/add.cpp": '"mlx/backend/cpu/isa/add.h"',
        "mlx/backend/cpu/isa/add.h": "<stdint.h>",
        "mlx/ops.h": '"mlx/ops/add.h"',
        "python/src/bind.cpp": '"mlx/ops.h"',
    }
    for path, included in {**sound, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"#include {included}\n")
    return list(includes.faults(root, includes.Table(TABLE)))


def test_the_engine_keeps_to_its_table():
    table = includes.Table((ROOT / "docs/architecture.md").read_text())
    assert len(table.reads) > 12
    assert not list(includes.faults(ROOT, table))


def test_what_the_table_allows(tmp_path):
    files = {
        "mlx/ops/a.cpp": '"mlx/io/stream.h"',
        "mlx/ops/b.cpp": "<mlx/core/array.h>",
        "mlx/core/ops.cpp": '"mlx/ops.h"',
        "mlx/backend/cpu/isa/add.cpp": "<stddef.h>\nsize_t n;",
        "mlx/core/size.cpp": "<vector>\nsize_t n;",
    }
    assert not tree(tmp_path, files)


@pytest.mark.parametrize(
    "path, included",
    [
        ("mlx/core/array.cpp", '"mlx/ops/add.h"'),
        ("mlx/core/array.cpp", "<mlx/ops/add.h>"),
        ("mlx/core/array.cpp", '"../ops/add.h"'),
        ("mlx/ops/add.cpp", '"mlx/io/io.h"'),
        ("mlx/ops/add.cpp", '"mlx/ops.h"'),
        ("mlx/backend/cpu/isa/add.cpp", '"mlx/backend/cpu/kernel.h"'),
        ("mlx/backend/cpu/isa/add.cpp", "<vector>"),
        ("mlx/backend/cpu/isa/add.cpp", "<stdint.h>\nsize_t n;"),
        ("python/src/add.cpp", '"mlx/ops/add.h"'),
        ("mlx/gpu/add.cpp", "<vector>"),
    ],
)
def test_what_it_does_not(tmp_path, path, included):
    (found,) = tree(tmp_path, {path: included})
    assert found.startswith(path)


def test_names_of_nothing(tmp_path):
    assert not tree(tmp_path, {})
    table = includes.Table(TABLE + "| `mlx/gpu` | kernels | `mlx/core/gone.h` |")
    missing = ["docs/architecture.md: there is no mlx/gpu"]
    missing += ["docs/architecture.md: there is no mlx/core/gone.h"]
    assert list(includes.faults(tmp_path, table)) == missing
