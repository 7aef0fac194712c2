"""Record the public names of the published package's Python modules, into data/names.json.

    python tests/golden/names.py      run it where the published wheel is installed

Of each module below mlx.nn, mlx.optimizers and mlx.utils: its submodules and what the package
itself defines, also what one module imports from another.
"""

import importlib
import json
import pathlib
import pkgutil
import types


def belongs(value):
    """Whether a value comes from the package and not from the standard library."""
    name = value.__name__ if isinstance(value, types.ModuleType) else None
    return (name or getattr(value, "__module__", None) or "").split(".")[0] == "mlx"


def names(module):
    """The public names by module, for a module and all below it."""
    found = {module.__name__: [n for n, v in vars(module).items() if n[0] != "_" and belongs(v)]}
    for below in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not below.name.startswith("_"):
            found |= names(importlib.import_module(f"{module.__name__}.{below.name}"))
    return {name: sorted(values) for name, values in found.items()}


if __name__ == "__main__":
    recorded = {}
    for root in ("mlx.nn", "mlx.optimizers", "mlx.utils"):
        recorded |= names(importlib.import_module(root))
    path = pathlib.Path(__file__).parent / "data" / "names.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")
