"""The directive `header`: the public declarations of C++ headers, with their comments.

    ```{header} mlx/ops/scan.h mlx/ops/sort.h
    ```

The headers have one form: `///` comments, then the declarations that they are about. Declarations
marked MLX_API, aliases, and the public members of classes are listed; macros that declare several
overloads are expanded.
"""

import pathlib
import re

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACRO = re.compile(r"^#define (MLX_\w+)\((\w+)\)(.*?)(?<!\\)$", re.M | re.S)
CALL = re.compile(r"^(MLX_\w+)\((\w+)\)$", re.M)
CLASS = re.compile(r"^(?:class|struct) (?:MLX_API )?(\w+)(?: : [^{]*)? \{$")
#: The text behind the parameters of a function that is defined in the class.
BODY = re.compile(r"(?<=\))((?: const| noexcept)*) ?(?:\{| ?: \w+\().*")
MAIN = re.compile(r"\A(?:// ?[^\n]*\n)+")


def expanded(text):
    """The text with the calls of its declaring macros replaced."""
    macros = {name: (argument, body) for name, argument, body in MACRO.findall(text)}

    def replace(call):
        argument, body = macros.get(call[1], ("", ""))
        lines = re.sub(rf"\b{argument}\b", call[2], body).replace("\\\n", "\n").splitlines()
        lines = [line.strip() for line in lines if line.strip()]
        return "\n".join(lines) if lines else call[0]

    return CALL.sub(replace, MACRO.sub("", text))


def declaration(text):
    """A declaration on one line, without what only the compiler needs."""
    text = BODY.sub(r"\1", text)
    text = re.sub(r"\b(?:MLX_API|explicit(?:\([^)]*\))?|friend|static constexpr)(?:\s|$)", "", text)
    return re.sub(r"\s+", " ", text).replace("( ", "(").strip().rstrip(";") + ";"


def statements(lines):
    """The declarations in some lines, each as one text."""
    text, depth = "", 0
    for line in lines:
        text += line.partition("///<")[0].strip() + " "
        depth += line.count("(") + line.count("{") - line.count(")") - line.count("}")
        if depth == 0 and re.search(r"[;}]\s*$", line):
            yield text
            text = ""


def items(text):
    """(class, comment, declarations) of the public declarations of a header."""
    inside, public, comment, code = "", True, [], []

    def finished():
        for one in statements(code):
            if (inside and public) or "MLX_API" in one or one.startswith("using "):
                yield declaration(one)

    for line in [*expanded(text).splitlines(), ""]:
        bare = line.strip()
        ends = not bare or bare.startswith(("///", "#", "//", "namespace", "private:", "};"))
        if ends and (code or (not bare and comment)):
            made = list(finished())
            if made and not inside.endswith("Attrs"):
                yield inside, " ".join(comment), made
            comment, code = ([], []) if code or not bare else (comment, code)
        if found := CLASS.match(line):
            if not found[1].endswith("Attrs"):
                yield found[1], " ".join(comment), [f"class {found[1]};"]
            inside, public, comment = found[1], line.startswith("struct"), []
        elif line.startswith("};"):
            inside, public = "", True
        elif bare in ("public:", "private:", "protected:"):
            public = bare == "public:"
        elif bare.startswith("///"):
            comment.append(bare[3:].strip())
        elif not ends:
            code.append(line)


def listed(shown, comment, language, *classes):
    """The nodes of declarations and the comment about them."""
    code = nodes.literal_block(shown, shown, language=language)
    code["classes"].extend(classes)
    return [code, marked(comment, "about")] if comment else [code]


def marked(text, *classes):
    """The paragraph of a comment, with `code` in it."""
    paragraph = nodes.paragraph(classes=list(classes))
    for i, part in enumerate(text.split("`")):
        paragraph += nodes.literal(part, part) if i % 2 else nodes.Text(part)
    return paragraph


class Header(Directive):
    """The comment at the top of each header, and its declarations."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Paragraphs and literal blocks."""
        out = []
        for name in self.arguments[0].split():
            text = (ROOT / name).read_text()
            self.state.document.settings.env.note_dependency(str(ROOT / name))
            about = MAIN.match(text)
            if about:
                out.append(marked(re.sub(r"\s*//\s?", " ", about[0]).strip()))
            for inside, comment, made in items(text[about.end() if about else 0 :]):
                place = "member" if inside and made[0][:5] != "class" else "top"
                out += listed("\n".join(made), comment, "cpp", place)
        return out


def setup(app):
    """Add the directive."""
    app.add_directive("header", Header)
    return {"parallel_read_safe": True}
