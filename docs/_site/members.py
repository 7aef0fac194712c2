"""The directives `functions` and `classes`: reference entries from signatures and docstrings.

    ```{functions} mlx.core
    exp log
    ```

A name may be left out: `rest` in place of names stands for all that no page names.
"""

import importlib
import inspect
import pathlib
import re
import typing

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.inspect import signature, stringify_signature

SECTION = re.compile(r"(Args|Returns|Raises|Examples?|Notes?|Source):(.*)")
ITEM = re.compile(r"(\*{0,2}\w+(?:\.\w+)*)(?: \([^)]*\))?: ?(.*)")


def is_bound(f):
    """Whether it is a function of the extension module, which has its signatures as text."""
    return hasattr(f, "__nb_signature__")


def bound_signatures(f):
    """The signatures of a function of the extension module."""
    return [s.removeprefix("def ").partition("(")[2] for s, *_ in f.__nb_signature__]


def signatures(f, name, method=False):
    """Declarations of a function or class, one for each way to call it."""
    if is_bound(f):
        made = [f"{name}({s}" for s in bound_signatures(f)]
        return [re.sub(r"\(self(?:, /)?(?:, )?", "(", s, count=1) for s in made] if method else made
    try:
        sig = signature(f, bound_method=method)
    except (TypeError, ValueError):
        return [f"{name}()"]
    return [name + stringify_signature(sig, unqualified_typehints=True)]


def text_of(f):
    """The docstring without declarations, and whether it is plain text and not reStructuredText."""
    if is_bound(f):
        docs = [inspect.cleandoc(d) for _, d, *_ in f.__nb_signature__ if d]
        return "\n\n".join(dict.fromkeys(docs)), True
    return inspect.cleandoc(f.__doc__ or ""), not getattr(f, "__module__", "").startswith(
        ("mlx.nn", "mlx.optimizers", "mlx.utils", "mlx.extension")
    )


def escaped(text):
    """Plain text with `code` as reStructuredText."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        f"``{p.strip('`')}``"
        if p.startswith("`")
        else re.sub(r"([*|\\])|(?<=\w)_(?=\W|$)", r"\\\g<0>", p)
        for p in parts
    )


def bars_escaped(text):
    """ReStructuredText whose bars outside of code are no substitutions."""
    parts = re.split(r"(``.*?``)", text)
    return "".join(p if p.startswith("``") else p.replace("|", "\\|") for p in parts)


def blocks(lines):
    """Paragraphs and indented blocks: lists of lines."""
    group = []
    for line in [*lines, ""]:
        if line.strip():
            group.append(line)
        elif group:
            yield group
            group = []


def body(lines, convert):
    """Paragraphs; indented text and dialogues are code."""
    out = []
    for group in blocks(lines):
        if group[0].startswith((" ", ">>>")):
            text = inspect.cleandoc("\n".join(group)).splitlines()
            language = "python" if text[0].startswith(">>>") else "text"
            out += [f".. code-block:: {language}", "", *("   " + t for t in text), ""]
        else:
            out += [*(convert(line) for line in group), ""]
    return out


def fields(name, lines, convert):
    """The field list of a section."""
    text = inspect.cleandoc("\n".join(lines)).splitlines()
    if name == "Returns":
        return [":returns: " + convert(" ".join(t.strip() for t in text)), ""]
    kind, out = ("param" if name == "Args" else "raises"), []
    for line in text:
        item = None if line.startswith(" ") else ITEM.match(line)
        if item:
            out.append(f":{kind} {item[1].replace('*', chr(92) + '*')}: {convert(item[2])}")
        elif out:
            out[-1] += " " + convert(line.strip())
    return [*out, ""]


def formatted(text, plain):
    """A docstring as lines of reStructuredText."""
    convert = escaped if plain else bars_escaped
    sections = [("", [])]
    for line in text.splitlines():
        head = SECTION.fullmatch(line)
        if head:
            sections.append((head[1], [head[2].strip()] if head[2].strip() else []))
        elif line and not line.startswith(" ") and sections[-1][0]:
            sections.append(("", [line]))
        else:
            sections[-1][1].append(line)
    out = []
    for name, lines in sections:
        if name in ("Args", "Raises", "Returns"):
            out += fields(name, lines, convert)
        elif name.startswith("Example"):
            code = inspect.cleandoc("\n".join(lines)).splitlines()
            out += [".. code-block:: python", "", *("   " + t for t in code), ""]
        elif name:
            out += [f"**{name}.** " + convert(" ".join(t.strip() for t in lines)), ""]
        else:
            out += body(lines, convert)
    return out


def declared(kind, sigs, content):
    """A directive of the Python domain."""
    head = f".. py:{kind}:: "
    lines = [head + sigs[0], *(" " * len(head) + s for s in sigs[1:])]
    return [*lines, "", *("   " + t for t in content), ""]


def about_value(value):
    """A constant, a dtype or a category of dtypes in words."""
    kind = type(value).__name__
    if kind == "Dtype":
        return f"A dtype; an element takes {8 * value.size} bits of memory."
    if kind == "DtypeCategory":
        return "A category of dtypes, for `issubdtype` and `isdtype`."
    if value is None:
        return "None: as an index, a new axis of length 1."
    return f"The number {value!r}." if kind == "float" else inspect.getdoc(value) or f"`{value!r}`"


def function_entry(module, name):
    """The entry of a function of a module."""
    f = getattr(module, name)
    if isinstance(f, type):
        return class_entry(module, name, False)
    if not callable(f):
        return declared("data", [name], [about_value(f).replace("`", "``")])
    return declared("function", signatures(f, name), formatted(*text_of(f)))


def members_of(cls):
    """Public methods and properties of a class, but those that it inherits from dict."""
    for name in sorted(dir(cls)):
        if name.startswith("_") or name in dir(dict):
            continue
        member = inspect.getattr_static(cls, name)
        if type(member).__module__ == "mlx._names":
            continue
        if not any(name in vars(base) for base in cls.__mro__[1:] if base is not object):
            yield name, member


def class_entry(module, name, members=True):
    """The entry of a class."""
    cls = getattr(module, name)
    text, plain = text_of(cls)
    content = formatted(text, plain)
    for key, member in members_of(cls) if members else ():
        function = getattr(member, "__func__", member)
        if is_bound(function) or inspect.isfunction(function):
            of = formatted(*text_of(function))
            content += declared("method", signatures(function, key, function is member), of)
        elif isinstance(member, property) or hasattr(member, "__get__"):
            content += declared("property", [key], formatted(*text_of(member)))
    sigs = [name]
    if members or not is_bound(cls):
        made = getattr(cls, "__init__", None)
        if is_bound(made) or inspect.isfunction(made):
            sigs = signatures(made, name, True)
    return declared("class", [re.sub(r" -> None$", "", s) for s in sigs], content)


def public(module):
    """Names of the functions of a module, then of its classes."""
    names = [
        n
        for n, v in sorted(vars(module).items())
        if not n.startswith("_") and callable(v) and not isinstance(v, typing.TypeVar)
    ]
    return sorted(names, key=lambda n: isinstance(getattr(module, n), type))


def named(module):
    """The names that the pages of the reference list for a module."""
    pages = pathlib.Path(__file__).parents[1].glob("reference/*.md")
    found = []
    for page in pages:
        for text in re.findall(
            rf"```{{(?:functions|classes)}} {re.escape(module)}\n(.*?)```", page.read_text(), re.S
        ):
            found += text.split()
    return set(found)


class Members(Directive):
    """Entries of functions, or with `classes` of classes with their methods."""

    has_content = True
    required_arguments = 1
    entry = staticmethod(function_entry)

    def run(self):
        """The nodes of all names."""
        where = self.arguments[0]
        module = importlib.import_module(where) if "." not in where[4:] else _module(where)
        names = " ".join(self.content).split()
        if names == ["rest"]:
            names = [n for n in public(module) if n not in named(where)]
        lines = ["````{eval-rst}", f".. py:currentmodule:: {where}", ""]
        for name in names:
            lines += self.entry(module, name)
        lines.append("````")
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, source=where), self.content_offset, node)
        return node.children


def _module(where):
    """A module by its name; modules of the extension are its attributes."""
    try:
        return importlib.import_module(where)
    except ImportError:
        parent, _, name = where.rpartition(".")
        return getattr(importlib.import_module(parent), name)


class Classes(Members):
    """Entries of classes with their methods."""

    entry = staticmethod(class_entry)


def setup(app):
    """Adds the directives."""
    app.add_directive("functions", Members)
    app.add_directive("classes", Classes)
    return {"parallel_read_safe": True}
