"""Writes a C++ source that holds text files: `embed.py OUT ROOT FILE...`, names from ROOT on.

Files below a folder `std` stand for standard headers, and are named as those are.
"""

import pathlib
import sys

out, root, *files = sys.argv[1:]
parts = [
    '#include "mlx/backend/cuda/sources.h"\n',
    "namespace mlx::core::cuda {\n",
    "extern const EmbeddedSource embedded_sources[] = {",
]
for file in files:
    path = pathlib.Path(file)
    name = path.name if path.parent.name == "std" else path.relative_to(root).as_posix()
    parts.append(f'{{"{name}", R"source({path.read_text()})source"}},')
parts += [
    "};",
    f"extern const int embedded_count = {len(files)};",
    "}  // namespace mlx::core::cuda\n",
]
pathlib.Path(out).write_text("\n".join(parts))
