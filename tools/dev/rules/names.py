"""Names of Python files. Python searches the folder of a script before the standard library."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

SCRIPT = 'if __name__ == "__main__"'


def shadowing(texts: Mapping[str, str]) -> Iterator[str]:
    """A message for each file beside a script that a standard module's import would find."""
    paths = [PurePosixPath(path) for path in texts]
    packages = {path.parent for path in paths if path.name == "__init__.py"}
    scripts = {path.parent for path in paths if SCRIPT in texts[str(path)]}
    for path in paths:
        if path.parent in scripts - packages and path.stem in sys.stdlib_module_names:
            yield f"{path}: the name of a standard module, which scripts beside it would not find"
