"""The rule of includes: the table of docs/architecture.md, and violations of it."""

import pathlib
import sys

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from dev.rules import includes  # noqa: E402

TABLE = """
| area | contains | includes |
|---|---|---|
| `mlx/core` | arrays | |
| `mlx/ops` | operations | `mlx/core`, `mlx/io/stream.h` |
| `mlx/io` | files | `mlx/core` |
| `mlx/backend/cpu` | kernels | `mlx/backend/cpu/isa` |
| `mlx/backend/cpu/isa` | inner loops | |
| `mlx/compat/published` | what applications include | `mlx/ops` |
| `python/src` | bindings | `mlx/compat/published` |
"""


def tree(root, files):
    """The folders of TABLE with these files and what they include."""
    sound = {
        "mlx/core/array.h": "<vector>",
        "mlx/io/stream.h": '"mlx/core/array.h"',
        "mlx/ops/add.h": '"mlx/core/array.h"',
        "mlx/backend/cpu/add.cpp": '"mlx/backend/cpu/isa/add.h"',
        "mlx/backend/cpu/isa/add.h": "<stdint.h>",
        "mlx/compat/published/mlx/ops.h": '"mlx/ops/add.h"',
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


def test_allowed_includes(tmp_path):
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
def test_refused_includes(tmp_path, path, included):
    (found,) = tree(tmp_path, {path: included})
    assert found.startswith(path)


def test_names_of_nothing(tmp_path):
    assert not tree(tmp_path, {})
    table = includes.Table(TABLE + "| `mlx/gpu` | kernels | `mlx/core/gone.h` |")
    missing = ["docs/architecture.md: there is no mlx/gpu"]
    missing += ["docs/architecture.md: there is no mlx/core/gone.h"]
    assert list(includes.faults(tmp_path, table)) == missing
