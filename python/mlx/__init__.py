"""Arrays, function transformations and neural networks; see mlx.core, mlx.nn and mlx.optimizers."""

from typing import Any

__version__: str


def __getattr__(name: str) -> Any:
    """The version, which is that of mlx.core: importing this package alone loads nothing."""
    if name != "__version__":
        raise AttributeError(f"module 'mlx' has no attribute {name!r}")
    from mlx import core

    return vars(core)["__version__"]
