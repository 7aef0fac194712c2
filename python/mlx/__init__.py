"""Arrays, function transformations and neural networks; see mlx.core, mlx.nn and mlx.optimizers."""

from pkgutil import extend_path
from typing import Any

__path__ = extend_path(__path__, __name__)  # other distributions have packages mlx.…, too
__version__: str


def __getattr__(name: str) -> Any:
    """The version, which is that of mlx.core: importing this package alone loads nothing."""
    if name != "__version__":
        raise AttributeError(f"module 'mlx' has no attribute {name!r}")
    from mlx import core

    return vars(core)["__version__"]
