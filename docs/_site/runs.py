"""The directive `run`: a program and what it prints, found by running it when the site is built.
Where it needs environment variables, the command line is shown above it.

```{run}
:env: MLX_DEBUG=plan
import mlx.core as mx
```
"""

import os
import re
import shlex
import subprocess
import sys
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

#: Patterns that differ between machines and runs.
HIDDEN = re.compile(re.escape(os.getcwd()) + r"/?")


class Run(Directive):
    """A Python program, or with `:shell:` a command, and its output."""

    has_content = True
    option_spec: ClassVar = {
        "env": directives.unchanged,
        "shell": directives.flag,
        "output-only": directives.flag,
    }

    def run(self):
        """Two literal blocks."""
        text = "\n".join(self.content)
        environment = {
            **os.environ,
            **dict(v.split("=", 1) for v in self.options.get("env", "").split()),
        }
        if "shell" in self.options:
            words = shlex.split(text)
            command = [sys.executable if w == "python" else w for w in words]
        else:
            command = [sys.executable, "-c", text]
        done = subprocess.run(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            raise self.error(f"the program fails:\n{text}\n{done.stdout}")
        out = nodes.literal_block(done.stdout.rstrip(), HIDDEN.sub("", done.stdout.rstrip()))
        out["language"] = "text"
        out["classes"].append("output")
        if "output-only" in self.options:
            return [out]
        source = nodes.literal_block(text, text)
        source["language"] = "console" if "shell" in self.options else "python"
        if "env" not in self.options:
            return [source, out]
        line = f"$ {self.options['env']} {'' if 'shell' in self.options else 'python program.py'}"
        started = nodes.literal_block(line.rstrip(), line.rstrip())
        started["language"] = "console"
        return [started, source, out]


def setup(app):
    """Adds the directive."""
    app.add_directive("run", Run)
    return {"parallel_read_safe": True}
