"""Arrays, function transformations and neural networks; see mlx.core, mlx.nn and mlx.optimizers."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing and pkgutil would take as long to import as the engine
if TYPE_CHECKING:
    from typing import Any

# Other distributions have packages mlx.…, too.
__path__ += [
    folder
    for folder in dict.fromkeys(os.path.join(entry or os.getcwd(), __name__) for entry in sys.path)
    if folder not in __path__ and os.path.isdir(folder)
]
__version__: str


def __getattr__(name: str) -> Any:
    """The version, which is that of mlx.core: importing this package alone loads nothing."""
    if name != "__version__":
        raise AttributeError(f"module 'mlx' has no attribute {name!r}")
    from mlx import core

    return vars(core)["__version__"]
