"""Writes the texts of kernels in Metal's language: `metal_texts.py TO ROOT FILE...`.

The shared texts are C++20. Metal's language is C++14 without lambda expressions and double, and
pointers and references name an address space. Changed are: literals and the word double, concepts,
lambda expressions, names that are words of Metal's language, constants of namespaces and classes,
references and pointers among parameters, and, in texts of kernels, functions that ask where their
thread is (metal_functions.py). Texts of mlx/backend/metal are taken as they are.
"""

import re
import struct
import sys
from functools import cache
from pathlib import Path

from metal_functions import closing, placed, placed_names, without_lambdas

OWN = "mlx/backend/metal/"
WORDS = ("device", "half", "kernel", "constant", "thread", "fragment", "vertex", "std", "sampler")
KERNELS = "mlx/backend/gpu/kernels/"
# Texts of kernels that Metal has; other texts have instructions of NVIDIA's processors.
TAKEN = (
    *("arguments.h", "attention.cuh", "attention_lanes_vjp.cuh", "axes.cuh", "compact.cuh"),
    *("conv.cuh", "counting.cuh", "delta.cuh", "fft_numbers.cuh", "fft_passes.cuh"),
    *("hadamard.cuh", "index.cuh", "matmul.cuh"),
    *("packed.cuh", "prelude.cuh", "program.cuh", "radix.cuh", "random.cuh"),
    *("reduce.cuh", "reduce_vectors.cuh", "row_unit.cuh", "rows.cuh", "scan.cuh", "scatter.cuh"),
    *("share_updates.cuh", "sort.cuh", "spectrum.cuh"),
)
CONCEPTS = ("Real", "Real32", "Real64", "Integer", "RealOrInteger")
HEX = r"0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+"
DECIMAL = r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+"
NUMBER = re.compile(rf"(?<![\w.])({HEX}|{DECIMAL})([fF]?)(?![\w.])")


def float_text(value: float) -> str:
    """A float32 literal; the largest one, or zero, for what float32 does not hold."""
    if abs(value) > 3.4028234663852886e38:
        return "MLX_INFINITY"
    text = f"{struct.unpack('<f', struct.pack('<f', value))[0]:.9g}"
    return (text if re.search(r"[.e]", text) else text + ".0") + "f"


def literal(match: re.Match[str]) -> str:
    """A floating literal: of a float in decimals; of a double with its bits."""
    text, suffix = match.groups()
    value = float.fromhex(text) if text[:2].lower() == "0x" else float(text)
    if suffix:
        return float_text(value)
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"Literal{{{float_text(value)}, {bits:#018x}ul}}"


def without_comments(text: str) -> str:
    """The text without comments, `}` for each namespace that a comment says to close."""

    def close(match: re.Match[str]) -> str:
        return "}" * (match.group(1).count("::") + 1) + "\n"

    text = re.sub(r"^\}  // namespace ([\w:]+)\n", close, text, flags=re.M)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"\n\s*\n+", "\n", text)


def function_object(name: str, variable: str, parameters: str, body: str, usings: list[str]) -> str:
    """A lambda expression as a class."""
    types, given = [], []
    for n, parameter in enumerate(parameters.split(",")):
        words = parameter.split()
        if words[0] == "auto":
            types.append(f"class A{n}")
            words[0] = f"A{n}"
        given.append(" ".join(words))
    head = f"template <{', '.join(types)}>\n" if types else ""
    return (
        f"template <class {variable}>\nstruct {name} {{\n{head}MLX_FN auto operator()"
        f"({', '.join(given)}) const {{\n{' '.join(usings)}{body[1:]}\n}};\n"
    )


def classes_behind(text: str, stem: str) -> str:
    """Lambda expressions without captures as classes behind the functions that use them, which the
    classes call."""
    found = 0
    # The first one that has none inside.
    start = re.compile(r"\[\]\(([^()]*)\)(?: MLX_INLINED)? (?=\{)")
    inner = lambda m: "[](" not in text[m.end() : closing(text, m.end(), "{}")]  # noqa: E731
    while match := next(filter(inner, start.finditer(text)), None):
        begin, parameters = match.start(), match.group(1)
        end = closing(text, match.end(), "{}")
        top = text.rfind("\ntemplate <", 0, begin) + 1
        variable = re.match(r"template <[^>]*?\b(\w+)(?:, [^>]*)?>", text[top:])
        concept = re.match(r"template <(?:int \w+, )?(?:\w+) (\w+)", text[top:])
        assert variable and concept
        name = f"Lambda_{stem}_{found}"
        found += 1
        usings = re.findall(r"^\s*(using [^;]+;)", text[top:begin], re.M)
        made = function_object(name, concept.group(1), parameters, text[match.end() : end], usings)
        last = text.index("\n}\n", end) + 3
        text = (
            text[:top]
            + f"template <class {concept.group(1)}>\nstruct {name};\n"
            + text[top:begin]
            + f"{name}<{concept.group(1)}>{{}}"
            + text[end:last]
            + made
            + text[last:]
        )
    return text


def constrained(match: re.Match[str]) -> str:
    """A template's parameters with their concepts as a condition at the end."""
    parameters, conditions = [], []
    for parameter in match.group(1).split(", "):
        words = parameter.split()
        if len(words) == 2 and words[0] in CONCEPTS:
            conditions.append(f"{words[0]}<{words[1]}>")
            parameter = f"class {words[1]}"
        parameters.append(parameter)
    if conditions and match.group(3) != "using":
        parameters.append(f"MLX_IF({' && '.join(conditions)})")
    return f"template <{', '.join(parameters)}>{match.group(2)}{match.group(3)}"


def spaces(text: str) -> str:
    """Address spaces of parameters, of constants and of tables."""
    text = re.sub(r"\binline constexpr\b", "constexpr constant", text)
    text = re.sub(r"\bstatic constexpr (?!\w+ \w+\()", "static constexpr constant ", text)
    text = re.sub(r"\bconst T \(&c\)\[N\]", "constant T (&c)[N]", text)
    text = text.replace("const int64_t (&s)[4]", "constant const int64_t (&s)[4]")
    text = re.sub(r"\bconst float\* table", "const constant float* table", text)
    word = r"(?:const )?(?:typename )?[A-Za-z_][\w:]*(?:<[\w, :]*>)?"
    other = r"(?!\s*(?:MLX_DEVICE|MLX_SHARED_SPACE|constant|const constant|return|MLX_THREAD)\b)"
    for declared in (r"[&*](?: \w+)?(?=[,)])", r" ?\(&\w+\)\["):
        text = re.sub(rf"(?<=[(,])(\s*){other}({word}{declared})", r"\1thread \2", text)
    text = re.sub(r"reinterpret_cast<(\w+ ?\(\*\)\[)", r"reinterpret_cast<thread \1", text)
    arguments = r"\w*Arguments|Words<\w+>|Axes|Positions|IndexArgument"
    text = re.sub(rf"\bthread const ({arguments})&", r"constant const \1&", text)
    members = r"^(\s*)const (Axes|\w+Arguments)& (\w+;)"
    text = re.sub(members, r"\1constant const \2& \3", text, flags=re.M)
    return re.sub(r"^(\s*MLX_FN )(\w+)(& operator)", r"\1thread \2\3", text, flags=re.M)


def renamed(match: re.Match[str]) -> str:
    """A line without words of Metal's language."""
    return re.sub(rf"\b({'|'.join(WORDS)})\b", r"mlx_\1", match.group(1))


def in_both(match: re.Match[str]) -> str:
    """The infinity, or the NaN, of a template's type."""
    bits, name = (0x7FF0, "MLX_INFINITY") if match.group(1) == "Inf" else (0x7FF8, "MLX_NAN")
    return f"k{match.group(1)} = T(Literal{{{name}, {bits << 48:#x}ul}});"


def rows(text: str) -> str:
    """Names and arities of elementwise.def."""
    return "".join(f"E({n}, {a})\n" for n, a in re.findall(r"^E\((\w+), (\d)", text, re.M))


@cache
def names_of(path: str) -> frozenset[str]:
    """Names of functions of a text of kernels, and of those that it includes, with a place."""
    text = without_comments(Path(path).read_text())
    return frozenset(placed_names(text, known_names(path))) | known_names(path)


@cache
def known_names(path: str) -> frozenset[str]:
    """The same of the texts that it includes."""
    included = re.findall(rf'#include "{KERNELS}(\w+\.cuh)"', Path(path).read_text())
    return frozenset().union(*(names_of(str(Path(path).with_name(n))) for n in included))


def with_places(text: str, file: str) -> str:
    """A text of kernels without lambda expressions, and with the thread's place."""
    known, names = known_names(file), names_of(file)
    text = without_lambdas(text, Path(file).stem, names)
    return placed(text, names - known, names)


def translated(path: str, text: str, file: str) -> str:
    """A shared text in Metal's language."""
    if path.endswith(".def"):
        return rows(text)
    text = without_comments(text)
    text = re.sub(r"^#pragma once\n", "", text, flags=re.M)
    text = re.sub(r"^#include <[^>]*>\n", "", text, flags=re.M)
    text = re.sub(r"template <class \w+>\nconcept \w+ = [^;{]*(?:\{[^}]*\})?[^;]*;\n", "", text)
    ours = path.startswith(KERNELS)
    text = with_places(text, file) if ours else classes_behind(text, Path(path).stem)
    text = re.sub(r"template <([^>\n]*)>([\s\\]+)(\w+)", constrained, text)
    text = re.sub(r"\[\[unlikely\]\] ?", "", text).replace("GCC unroll", "unroll")
    text = NUMBER.sub(literal, text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)([uU]?)(?:ll|LL)\b", lambda m: m[1] + m[2] + "l", text)
    if path.endswith("arguments.h"):  # which lie in the constant space, where classes cannot
        text = re.sub(r"^  double (\w[\w, ]*;)", r"  uint64_t \1", text, flags=re.M)
    doubles = "eps|log_base|scale|sign" + ("|alpha|beta" if path.endswith("matmul.cuh") else "")
    text = re.sub(rf"\bp\.({doubles})\b", r"double_of(p.\1)", text)
    text = re.sub(r"\bdouble\b", "Double", text)
    text = re.sub(r"__builtin_bit_cast\(([^,()]+), ", r"bit_cast<\1>(", text)
    text = re.sub(r"\bk(Inf|Nan) = (__builtin_\w+\([^;]*);", in_both, text)
    text = text.replace("__builtin_inff()", "MLX_INFINITY").replace('__builtin_nanf("")', "MLX_NAN")
    text = re.sub(r"\bstatic_assert\(([^;]*)\);", r'static_assert(\1, "");', text)
    text = re.sub(r"(?:::|__builtin_)(?=(?:float|double)_function\()", "mlx_math::", text)
    text = re.sub(r"(?<!\w)::(fmaf?|sqrt|fabsf|rintf)\(", r"mlx_math::\1(", text)
    text = re.sub(r"__builtin_(?=[a-z]\w*\()", "mlx_math::", text)
    text = re.sub(r"^(?!#include)(.*)$", renamed, text, flags=re.M)
    text = re.sub(
        r"^((?:inline )?)namespace (\w+(?:::\w+)+) \{",
        lambda m: " ".join(f"namespace {n} {{" for n in m[2].split("::")),
        text,
        flags=re.M,
    )
    return spaces(text)


def main(to: str, root: str, files: list[str]) -> None:
    """Writes the table of texts."""
    out = ['#include "mlx/backend/metal/sources.h"\n', "namespace mlx::core::metal {\n"]
    table = []
    for n, file in enumerate(files):
        path = Path(file).relative_to(root).as_posix()
        if path.startswith(KERNELS) and path.removeprefix(KERNELS) not in TAKEN:
            continue
        text = Path(file).read_text()
        if not path.startswith(OWN):
            text = translated(path, text, file)
        parts = [text[k : k + 8000] for k in range(0, len(text), 8000)] or [""]
        literals = "\n".join(f'R"mlx_text({part})mlx_text"' for part in parts)
        out.append(f"static const char text_{n}[] =\n{literals};\n")
        table.append(f'    {{"{path}", text_{n}}},\n')
    out.append(f"const Source sources[] = {{\n{''.join(table)}}};\n")
    out.append(f"const int source_count = {len(table)};\n}}\n")
    Path(to).write_text("".join(out))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
