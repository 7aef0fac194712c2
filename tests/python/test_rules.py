"""The rules of `./dev lint`: each finds a file that breaks it, and the sources keep them."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from dev.rules import check, exceptions, heads, language, names, source, titles, units  # noqa: E402
from dev.rules.exceptions import Entry  # noqa: E402


def lines(number, indent="  "):
    """So many lines of statements."""
    return f"{indent}f();\n" * number


def cpp(text, rule=None):
    """The entries for a C++ file, of one rule where it is named."""
    found = check.in_file("mlx/core/a.cpp", textwrap.dedent(text))
    return [f.entry for f in found if rule in (None, f.entry.rule)]


def python(text, rule=None):
    """The entries for a Python file, of one rule where it is named."""
    found = check.in_file("tests/a.py", textwrap.dedent(text))
    return [f.entry for f in found if rule in (None, f.entry.rule)]


# A function of 81 lines has 79 statements between its first and last line.
FUNCTIONS = {
    "free": ("void f(int x) {{\n{body}}}\n", "f"),
    "of a template": ("template <class T, class U = X<T>>\nvoid g(T x) {{\n{body}}}\n", "g"),
    "of a class": ("class C {{\n public:\n  int h() const override {{\n{body}}}\n}};\n", "h"),
    "constructor": ("C::C(int a) : x_{{a}}, y_(a) {{\n{body}}}\n", "C"),
    "with a default": ("void d(std::vector<int> v = {{}}) {{\n{body}}}\n", "d"),
    "with a result behind": ("auto r(int x) -> std::vector<int> {{\n{body}}}\n", "r"),
    "lambda": ("const auto l = [](int x) {{\n{body}}};\n", "l"),
    "operator": ("bool operator==(const A& a, const B& b) {{\n{body}}}\n", "operator=="),
    "in namespaces": ("namespace a::b {{\nnamespace {{\nint n() {{\n{body}}}\n}}\n}}\n", "n"),
    "with lambdas": ("void w() {{\n  auto x = [&](int i) {{\n{body}  }};\n}}\n", "w"),
    "test": ('TEST_CASE("a case") {{\n{body}}}\n', "TEST_CASE"),
}


@pytest.mark.parametrize("text, name", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_81_lines(text, name):
    inner = 77 if name == "w" else 78 if text.startswith("template") else 79
    head = "// A file.\n"
    assert cpp(head + text.format(body=lines(inner))) == [Entry("function", 81, name)]
    assert cpp(head + text.format(body=lines(inner - 1))) == []


def test_braces_in_texts_and_comments_do_not_count():
    trap = """\
    // A file with { braces.
    #define OPEN {
    void f() {
      char a = '{', b = '\\'', c = '"';
      auto s = "{\\"", r = R"x({ )" {)x";
      int n = 1'000'000; /* { */
    %s}
    """
    text = textwrap.dedent(trap) % lines(76)
    assert cpp(text) == [Entry("function", 81, "f")]
    assert cpp(text.replace("  f();\n", "", 1)) == []
    plain = source.code(text)
    assert plain.count("{") == plain.count("}") == 1 and len(plain) == len(text)


@pytest.mark.parametrize("head", ["class C final : public B<int> {", "struct MLX_API C {"])
def test_classes_of_301_lines(head):
    text = f"// A file.\n{head}\n" + "  int f() { return 1; }\n" * 299 + "};\n"
    assert cpp(text) == [Entry("class", 301, "C")]
    assert cpp(text.replace("  int f() { return 1; }\n", "", 1)) == []


def test_lengths_in_python():
    body = "    f()\n" * 80
    assert python(f'"""A file."""\ndef g():\n{body}') == [Entry("function", 81, "g")]
    doc = '    """Does much.\n\n    In detail.\n    """\n'
    assert python(f'"""A file."""\ndef g():\n{doc}{body}') == [Entry("function", 81, "g")]
    assert python(f'"""A file."""\ndef g():\n{doc}{body[:-8]}') == []
    methods = "    def f(self):\n        pass\n" * 150
    assert python(f'"""A file."""\nclass C:\n{methods}') == [Entry("class", 301, "C")]
    shorter = methods.replace("        pass\n", "", 1).replace("def f(self):", "x = 1", 1)
    assert python(f'"""A file."""\nclass C:\n{shorter}') == []


def test_files_of_601_lines():
    assert cpp("// A line.\n" * 601) == [Entry("file", 601, "a.cpp")]
    assert cpp("// A line.\n" * 600) == []


@pytest.mark.parametrize(
    "path, text, has",
    [
        ("a.cpp", '#include "a.h"\n', False),
        ("a.cuh", "#pragma once\n// A header.\n", False),
        ("a.h", "// A header.\n#pragma once\n", True),
        ("a.def", "/* A table. */\n", True),
        ("mlx/backend/cuda/device/std/bit", "#pragma once\n", False),
        ("a.py", "import x\n", False),
        ("a.py", '#!/usr/bin/env python3\n"""A program."""\n', True),
        ("a.sh", "#!/bin/sh\nls\n", False),
        ("a.sh", "#!/bin/sh\n# A program.\n", True),
        ("CMakeLists.txt", "project(x)\n", False),
        ("a.cmake", "# A part.\n", True),
        ("a.json", "{}", True),
    ],
)
def test_head_comments(path, text, has):
    assert heads.has_head(path, text) is has


@pytest.mark.parametrize(
    "comment, word",
    [
        ("What a kernel reads.", "What"),
        ("The strides. What has none is dense.", "What"),
        ("Errors: those of the launch.", "those"),
        ("Who waits gets the error.", "Who"),
        ("Given to whoever waits.", "whoever"),
        ("Memory that nobody reads.", "nobody"),
        ("A queue of its own.", "of its own"),
        ("Dense but for the last axis.", "but for"),
        ("The thread hears of it.", "hears"),
        ("The block lies in the arena.", "lies"),
        ("Return the value.", "Return"),
        ("It is read once.", "It"),
        ("A block,\n// read by whoever\n// waits.", "whoever"),
    ],
)
def test_language_of_comments(comment, word):
    words = language.beginning(comment.replace("// ", ""))
    for marker in ("//", "///"):
        text = f"// A file.\n\n{marker} {comment.replace('//', marker)}\nint x;\n"
        assert list(language.findings("a.h", text)) == [(3, words, word)]
    assert cpp(f"// A file.\n\n/* {comment.replace('// ', '')} */\n", "language")
    if "\n" not in comment and word != "Return":  # docstrings may begin with an imperative
        assert python(f'"""{comment}"""\n', "language") == [Entry("language", 0, words)]


@pytest.mark.parametrize(
    "comment",
    [
        "The strides of each input.",
        "Returns the value, which is what the caller asked for.",
        "Makes a queue of the stream.",
        "A name such as `what` or `nobody`.",
        "Whether the block is in the arena.",
        "}  // namespace mlx",
        "clang-format off",
    ],
)
def test_comments_that_keep_the_rule(comment):
    assert cpp(f"// A file.\n\n// {comment}\nint x;\n", "language") == []


def test_language_in_python():
    assert python('"""A file."""\nx = 1  # what is read\n') == [
        Entry("language", 0, "what is read")
    ]
    assert python('"""A file."""\nx = "# what"\n') == []
    printed = '"""Return the value.\n\n>>> print("nobody")\nnobody\n"""\n'
    assert python(printed, "language") == []


@pytest.mark.parametrize("name", ["what_is_read", "a_value_that_nobody_reads"])
def test_language_of_the_names_of_tests(name):
    words = name.replace("_", " ")
    assert python(f'"""A file."""\ndef test_{name}():\n    pass\n')[0].name == f"test_{name}"
    assert cpp(f'// A file.\n\nTEST_CASE("{words}") {{\n}}\n') == [Entry("language", 0, words)]
    assert python(f'"""A file."""\ndef {name}():\n    pass\n') == []


def test_titles(tmp_path):
    def git(*arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *names, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def found():
        return [line.split()[1][0] for line in titles.too_long(titles.titles(tmp_path))]

    assert titles.titles(tmp_path) == []
    git("init", "-q", "-b", "main")
    for title in ("u" * 90, "v" * 73):
        git("commit", "-q", "--allow-empty", "-m", title)
    assert found() == ["v"]  # on main the last one
    git("checkout", "-q", "-b", "work")
    for title in ("w" * 73, "x" * 72, "y" * 73, "z"):
        git("commit", "-q", "--allow-empty", "-m", title)
    assert found() == ["y", "w"]
    git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    assert found() == []


def test_list_of_exceptions():
    listed = [Entry("class", 310, "C"), Entry("head", 0, "a.cpp"), Entry("language", 0, "What a b")]
    assert exceptions.parse(exceptions.write(listed)) == sorted(listed)
    found = [check.Finding("a.cpp", "", entry) for entry in listed]
    assert list(check.unexcused(listed, found)) == []
    assert list(check.in_list(listed, found, exceptions.write(listed))) == []
    # A finding without a line, one that is larger than its line, and a second one for a line.
    assert len(list(check.unexcused(listed[1:], found))) == 1
    assert len(list(check.unexcused([Entry("class", 309, "C"), *listed[1:]], found))) == 1
    assert len(list(check.unexcused(listed, found + found[1:2]))) == 1
    # A line without a finding, and one with a larger number than its finding.
    (stale,) = check.in_list(listed, found[1:], None)
    assert "class 310 C: not needed as it is" in stale
    shorter = [check.Finding("a.cpp", "", Entry("class", 305, "C")), *found[1:]]
    assert len(list(check.in_list(listed, shorter, None))) == 1
    fixed = exceptions.needed(listed, [f.entry for f in shorter])
    assert Entry("class", 305, "C") in fixed and len(fixed) == 3


def test_the_list_only_shrinks():
    before = [Entry("class", 310, "C"), Entry("language", 0, "What a b")]
    new = Entry("language", 0, "What c d")
    assert exceptions.grown(before, before[:1]) == []
    assert exceptions.grown(before, [*before, new]) == [new]
    assert exceptions.grown(before, [before[0], new]) == []  # a comment that changed
    assert exceptions.grown(before, [Entry("class", 311, "C")]) == [Entry("class", 311, "C")]
    assert exceptions.grown(before, [*before, before[1]]) == [before[1]]
    assert exceptions.grown(before, [Entry("head", 0, "a.h")]) == [Entry("head", 0, "a.h")]


def test_no_file_beside_a_script_hides_a_standard_module():
    script = names.SCRIPT + ":\n    main()\n"
    found = names.shadowing(
        {
            "tests/a/check.py": script,
            "tests/a/selectors.py": "",
            "tests/b/random.py": "",
            "python/mlx/c/__init__.py": "",
            "python/mlx/c/__main__.py": script,
            "python/mlx/c/types.py": "",
        }
    )
    assert [message.split(":")[0] for message in found] == ["tests/a/selectors.py"]


UNIT = """namespace {
constexpr int kMost = 8, kLeast = 1;
struct Form {
  int size;
};
using Key = std::optional<array>;
template <class T>
T largest(T a) {
  if (a > kMost) return kMost;
}
}  // namespace

namespace core = mlx::core;
int published(int a) { return a; }
#define SAME 1
#define OTHER 1
#define UNSET 1
#undef UNSET
"""


def test_sources_of_a_folder_declare_no_name_twice():
    def names_of(second, folder="mlx/ops"):
        found = units.shared({"mlx/ops/a.cpp": UNIT, f"{folder}/b.cpp": second})
        return sorted(message.split(": ")[1].split(",")[0] for message in found)

    assert names_of(UNIT) == ["Form", "kMost", "largest"]
    assert names_of(UNIT, "mlx/io") == []
    assert names_of("#define OTHER 2\n#define SAME 1\n#define UNSET 2\n") == ["#define OTHER"]
    other = UNIT.replace("kMost", "kFew").replace("Form", "Shape").replace("largest", "least")
    assert names_of(other) == []
    assert names_of(other.replace("optional<array>", "optional<int>")) == ["Key"]


def test_the_sources_keep_the_rules():
    listed = exceptions.parse((ROOT / exceptions.LIST).read_text())
    found = []
    for path in sorted((ROOT / "tools").rglob("*.py")):
        found += check.in_file(path.relative_to(ROOT).as_posix(), path.read_text())
    assert found == []
    assert listed == sorted(listed)


def test_files_that_cannot_be_read(tmp_path):
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    (tmp_path / "a.py").write_text('"""A file."""\n<<<<<<< HEAD\n')
    (tmp_path / "b.cpp").write_bytes(b"// \xff\n")
    assert [f.place for f in check.findings(tmp_path)] == ["a.py", "b.cpp"]
    assert all("cannot be read" in f.message for f in check.findings(tmp_path))
