"""Writes headers and sources of the C interface from table.txt.

python generate.py FOLDER        the headers, into FOLDER/mlx/c, and FOLDER/functions_N.cpp
python generate.py --page FILE   the reference page
"""

import pathlib
import re
import sys
import textwrap
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent

#: The parameters of an argument by its kind, and the engine's value of them.
ARGUMENTS = {
    "array": ("const mlx_array {0}", "in({0})"),
    "array?": ("const mlx_array {0}", "maybe({0})"),
    "arrays": ("const mlx_vector_array {0}", "in({0})"),
    "ints": ("const int* {0}, size_t {0}_num", "ints_in({0}, {0}_num)"),
    "ints?": ("const int* {0}, size_t {0}_num", "maybe_ints_in({0}, {0}_num)"),
    "shape": ("const int* {0}, size_t {0}_num", "shape_in({0}, {0}_num)"),
    "strides": ("const int64_t* {0}, size_t {0}_num", "strides_in({0}, {0}_num)"),
    "words": ("const uint64_t* {0}, size_t {0}_num", "words_in({0}, {0}_num)"),
    "int[2]": ("int {0}_0, int {0}_1", "std::pair({0}_0, {0}_1)"),
    "int[3]": ("int {0}_0, int {0}_1, int {0}_2", "std::tuple({0}_0, {0}_1, {0}_2)"),
    "bool": ("bool {0}", "{0}"),
    "int": ("int {0}", "{0}"),
    "float": ("float {0}", "{0}"),
    "double": ("double {0}", "{0}"),
    "size": ("size_t {0}", "{0}"),
    "uint64": ("uint64_t {0}", "{0}"),
    "address": ("uintptr_t {0}", "{0}"),
    "string": ("const char* {0}", "in({0})"),
    "string?": ("const char* {0}", "maybe({0})"),
    "dtype": ("mlx_dtype {0}", "in({0})"),
    "dtype?": ("mlx_optional_dtype {0}", "in({0})"),
    "int?": ("mlx_optional_int {0}", "in({0})"),
    "float?": ("mlx_optional_float {0}", "in({0})"),
    "norm": ("mlx_fft_norm {0}", "in({0})"),
    "mode": ("mlx_compile_mode {0}", "in({0})"),
    "group?": ("const mlx_distributed_group {0}", "maybe({0})"),
    "function": ("const mlx_closure {0}", "in({0})"),
    "vjp": ("const mlx_closure_custom {0}", "in({0})"),
    "vjp?": ("const mlx_closure_custom {0}", "maybe({0})"),
    "jvp?": ("const mlx_closure_custom_jvp {0}", "maybe({0})"),
    "vmap?": ("const mlx_closure_custom_vmap {0}", "maybe({0})"),
    "stream": ("const mlx_stream {0}", "in({0})"),
}
#: The type that a result is written to by its kind.
RESULTS = {
    "array": "mlx_array*",
    "arrays": "mlx_vector_array*",
    "function": "mlx_closure*",
    "value_and_grad": "mlx_closure_value_and_grad*",
    "size": "size_t*",
    "bool": "bool*",
}


class Function(NamedTuple):
    """A row of the table."""

    name: str
    results: list[str]
    arguments: list[tuple[str, str]]  # kind, name
    call: str  # the engine's function, or an expression with {argument}s

    @property
    def places(self) -> list[str]:
        """The parameters that results are written to."""
        many = len(self.results) > 1
        return [f"res_{k}" if many else "res" for k in range(len(self.results))]

    def prototype(self) -> str:
        """The declaration in C."""
        parameters = [f"{RESULTS[r]} {p}" for r, p in zip(self.results, self.places, strict=True)]
        parameters += [ARGUMENTS[kind][0].format(name) for kind, name in self.arguments]
        return f"int {self.name}({', '.join(parameters) or 'void'})"

    def definition(self) -> str:
        """The function in C++."""
        values = {name: ARGUMENTS[kind][1].format(name) for kind, name in self.arguments}
        if "(" in self.call:
            call = re.sub(r"{(\w+)}", lambda m: values[m[1]], self.call)
        else:
            call = f"core::{self.call}({', '.join(values.values())})"
        if self.results:
            call = f"out({', '.join(self.places)}, {call})"
        return f"{self.prototype()} {{\n  return status(__func__, [&] {{ {call}; }});\n}}\n"


class Section(NamedTuple):
    """A header."""

    name: str
    title: str
    includes: list[str]
    functions: list[Function]


ROW = re.compile(
    r"(?:(?P<results>[\w, ]+?) )?(?P<name>mlx_\w+)\((?P<args>.*?)\)(?: = (?P<call>.*))?"
)


def function(line: str) -> Function:
    """The function of a row."""
    row = ROW.fullmatch(line)
    if not row:
        raise SystemExit(f"[generate] {line!r}; accepted: RESULTS NAME(KIND ARGUMENT, ..) = CALL")
    results = row["results"].split(", ") if row["results"] else []
    pairs = [a.split(" ") for a in row["args"].split(", ") if a]
    call = row["call"] or row["name"].removeprefix("mlx_")
    return Function(row["name"], results, [(kind, name) for kind, name in pairs], call)


def sections() -> list[Section]:
    """The headers of the table."""
    found: list[Section] = []
    for line in (ROOT / "table.txt").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        if head := re.fullmatch(r"\[(\w+)\] (.*?)(?: \| (.*))?", line):
            found.append(Section(head[1], head[2], (head[3] or "").split(), []))
        else:
            found[-1].functions.append(function(line))
    return found


def header(section: Section) -> str:
    """The text of a header."""
    guard = f"MLX_C_{section.name.upper()}_H"
    includes = ["<stdbool.h>", "<stddef.h>", "<stdint.h>"]
    names = sorted({"api.h", *section.includes})
    lines = [f"// {section.title}", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#include {name}" for name in includes] + [""]
    lines += [f'#include "mlx/c/{name}"' for name in names]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for f in section.functions:
        text = f"MLX_C_API {f.prototype()};".replace("const ", "const~")
        wrapped = textwrap.wrap(text, 98, subsequent_indent="    ", break_on_hyphens=False)
        lines += [line.replace("const~", "const ") for line in wrapped]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", f"#endif  // {guard}", ""]
    return "\n".join(lines)


SOURCE = """\
#include "mlx/c/src/convert.h"
#include "mlx/mlx.h"

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {{

{0}
}}  // extern "C"
"""


def source(part: list[Function]) -> str:
    """The text of a source file with these functions."""
    return SOURCE.format("\n".join(f.definition() for f in part))


def write(path: pathlib.Path, text: str) -> None:
    """Writes a file unless it has this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


#: The number of source files: as many as compile at once on a small machine.
PARTS = 2


def main(arguments: list[str]) -> None:
    """Writes the files."""
    folder = pathlib.Path(arguments[0])
    for section in sections():
        write(folder / "mlx" / "c" / f"{section.name}.h", header(section))
    functions = [f for section in sections() for f in section.functions]
    for k in range(PARTS):
        write(folder / f"functions_{k}.cpp", source(functions[k::PARTS]))


if __name__ == "__main__":
    main(sys.argv[1:])
