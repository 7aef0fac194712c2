"""The directive `cheader`: the declarations of headers of the C interface, with their comments.

    ```{cheader} array vector
    ```

A header is one of mlx/c, or a section of mlx/c/table.txt.
"""

import pathlib
import sys

from docutils.parsers.rst import Directive
from headers import MAIN, listed, marked

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "mlx" / "c"))

import generate  # noqa: E402


def text_of(name):
    """The text of a header."""
    written = ROOT / "mlx" / "c" / f"{name}.h"
    if written.exists():
        return written.read_text()
    return next(generate.header(s) for s in generate.sections() if s.name == name)


def blocks(text):
    """(comment, declarations) of each group of lines in a header."""
    body = text.partition("#endif\n\n")[2] if "extern" in text else text
    for group in body.split("\n\n"):
        lines = [line for line in group.splitlines() if not line.startswith("#")]
        comment = " ".join(line[3:].strip() for line in lines if line.startswith("///"))
        code = [line for line in lines if not line.startswith(("//", "}  //", 'extern "C"'))]
        shown = "\n".join(code).replace("MLX_C_API ", "").strip()
        if shown and shown != "}":
            yield comment, shown


class CHeader(Directive):
    """The comment at the top of each header, and its declarations."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Paragraphs and literal blocks."""
        out = []
        for name in self.arguments[0].split():
            text = text_of(name)
            about = MAIN.match(text)
            first = about[0].replace("//", "").split() if about else []
            out.append(marked(f"`mlx/c/{name}.h`: " + " ".join(first)))
            for comment, shown in blocks(text):
                out += listed(shown, comment, "c", "top")
        return out


def setup(app):
    """Add the directive."""
    app.add_directive("cheader", CHeader)
    return {"parallel_read_safe": True}
