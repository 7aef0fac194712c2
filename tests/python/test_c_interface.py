"""The C interface: names, headers, programs in C, Rust and Python that stand on it."""

import ctypes
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from installed import header_folders, install, run, tool
from processes import EMULATED, SANITIZED

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/c"
PROGRAMS = ROOT / "tests/c"
LIBRARIES = pathlib.Path(mx.__file__).resolve().parent / "lib"
LIBRARY = LIBRARIES / "libmlxc.so"
LINK = [f"-L{LIBRARIES}", "-lmlxc", "-lm", f"-Wl,-rpath,{LIBRARIES}", "-Wl,--allow-shlib-undefined"]
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]

pytestmark = [pytest.mark.cpu_only("the programs compute on the CPU"), pytest.mark.anywhere]


def headers() -> dict[str, str]:
    """The texts of the headers by name."""
    folders = [folder / "mlx/c" for folder in header_folders()]
    found = {p.stem: p.read_text() for folder in folders for p in sorted(folder.glob("*.h"))}
    return dict(sorted(found.items()))


def compiler(variable: str, name: str) -> str:
    """The compiler, whose programs can run here."""
    if EMULATED:
        pytest.skip("the compiler compiles for this machine, not for the emulated one")
    found = os.environ.get(variable) or shutil.which(name) or pytest.skip(f"no {name}")
    if subprocess.run([found, "--version"], capture_output=True).returncode:
        pytest.skip(f"{found} is there and does not start")
    return found


def compiled(source: pathlib.Path, folder: pathlib.Path, *options: str) -> str:
    """The path of the program."""
    cpp = source.suffix == ".cpp"
    command = compiler("CXX", "c++") if cpp else compiler("CC", "cc")
    standard, link = ("-std=c++17", [*LINK, "-lmlx"]) if cpp else ("-std=c99", LINK)
    if SANITIZED:
        options = (*options, "-fsanitize=address,undefined")
    target = str(folder / source.stem)
    includes = [f"-I{path}" for path in header_folders()]
    run(command, standard, *STRICT, "-g", *options, *includes, str(source), "-o", target, *link)
    return target


def published() -> tuple[list[str], list[str], list[str]]:
    """Prototypes of the functions of mlx-c, its enumerations and structs, names of types and
    constants."""
    functions, types, others = (PROGRAMS / "prototypes.txt").read_text().split("\n\n")
    return functions.splitlines()[1:], types.splitlines(), others.split()


def names() -> list[str]:
    """The functions of mlx-c."""
    return [re.search(r"(\w+)\(", prototype)[1] for prototype in published()[0]]


def test_names_are_exported():
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", str(LIBRARY)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    exported = {line.split()[0] for line in text.splitlines() if line.split()[1] == "T"}
    assert {n for n in exported if "mlx_" in n and not n.startswith("_Z")} == set(names())


def test_names_are_declared():
    texts = "\n".join(headers().values())
    functions, others = names(), published()[2]
    declared = set(re.findall(r"\b(\w+)\(", texts))
    assert not set(functions) - declared
    assert not [n for n in others if not re.search(rf"\b{n}\b", texts)]


def numbers_and_layouts(types: list[str]) -> str:
    """Checks in C: enumerators count from 0, structs are as large as those of mlx-c."""
    checks = []
    for text in types:
        name, body = re.match(r"typedef (?:enum|struct) (\w+)_ (\{.*\})", text).groups()
        if "enum" in text.split("{")[0]:
            enumerators = re.findall(r"MLX_\w+", body)
            checks += [f"{one} == {number}" for number, one in enumerate(enumerators)]
        else:
            checks.append(f"sizeof(struct {body}) == sizeof({name})")
    lines = (f"typedef char check_{k}[({test}) ? 1 : -1];" for k, test in enumerate(checks))
    return "\n".join(lines)


def test_prototypes_agree():
    """A program that declares each function again, as mlx-c does, compiles."""
    functions, types, _ = published()
    text = "\n".join(['#include "mlx/c/mlx.h"', *functions, numbers_and_layouts(types)])
    command = [compiler("CC", "cc"), "-std=c99", *STRICT, "-Wno-redundant-decls", "-fsyntax-only"]
    command += [*(f"-I{path}" for path in header_folders()), "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


def test_names_are_on_the_reference_page():
    page = (ROOT / "docs/reference/c.md").read_text()
    listed = " ".join(re.findall(r"{cheader} (.*)", page)).split()
    assert sorted(listed) == sorted(set(headers()) - {"api", "mlx"})


def test_headers_alone():
    """In C99 and in C++, with all warnings."""
    text = [*STRICT, "-fsyntax-only", *(f"-I{path}" for path in header_folders())]
    for name in headers():
        source = f'#include "mlx/c/{name}.h"\ntypedef int used;\n'
        for command, standard, language in (
            (compiler("CC", "cc"), "c99", "c"),
            (compiler("CXX", "c++"), "c++17", "c++"),
        ):
            command = [command, f"-std={standard}", *text, "-x", language, "-"]
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


class Handle(ctypes.Structure):
    """A struct of one pointer."""

    _fields_ = (("ctx", ctypes.c_void_p),)


def simple_functions():
    """Rows of the table whose arguments are arrays and a stream, with Python's function."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "mlx/c/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for section in generate.sections():
        for row in section.functions:
            where = mx
            for part in row.call.split("::"):
                where = getattr(where, part, None)
            kinds = [kind for kind, _ in row.arguments]
            if row.name in ("mlx_sort", "mlx_argsort"):  # Python's take the last axis
                where = functools.partial(where, axis=None)
            if where and row.results == ["array"] and set(kinds) == {"array", "stream"}:
                yield row.name, where, len(kinds) - 1


def test_functions_agree_with_python():
    """In one process, where both are functions of the same library; also what they refuse."""
    library = ctypes.CDLL(str(LIBRARY))
    library.mlx_default_cpu_stream_new.restype = Handle
    library.mlx_array_new_data.restype = Handle
    data = library.mlx_array_data_float32
    data.restype = ctypes.c_void_p
    said: list[str] = []
    handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
    keep = handler(lambda message, _: said.append(message.decode()))
    library.mlx_set_error_handler(keep, None, None)
    stream = library.mlx_default_cpu_stream_new()
    numbers = [[0.5, 0.25, 0.25, 0.75], [0.25, 0.5, 0.75, 0.25], [1.0, 0.0, 0.0, 1.0]]
    shape = (ctypes.c_int * 2)(2, 2)
    given = [library.mlx_array_new_data((ctypes.c_float * 4)(*n), shape, 2, 10) for n in numbers]
    arrays = [mx.array(n).reshape(2, 2) for n in numbers]
    compared = refused = 0
    for name, function, count in simple_functions():
        result = Handle()
        code = getattr(library, name)(ctypes.byref(result), *given[:count], stream)
        try:
            expected = mx.contiguous(function(*arrays[:count], stream=mx.cpu))
        except (ValueError, TypeError):
            assert code == 1, name
            refused += 1
            continue
        assert code == 0, (name, said[-1])
        flat = Handle()
        library.mlx_contiguous(ctypes.byref(flat), result, ctypes.c_bool(False), stream)
        found = ctypes.string_at(data(flat), expected.nbytes)
        assert found == bytes(memoryview(expected.view(mx.uint8))), name
        for handle in (result, flat):
            library.mlx_array_free(handle)
        compared += 1
    library.mlx_set_error_handler(None, None, None)
    assert compared >= 80 and refused > 5


EXPECTED = {
    "arrays": "x: array([0.1, 0.6], dtype=float32)",
    "export": "imported: 1.0000 0.3679 0.0183",
    "files": "gguf: weights of the model line",
    "gradient": "value 21, gradient 3 6 9",
    "metal": "needs a Metal device",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_examples(name, tmp_path):
    program = compiled(EXAMPLES / f"{name}.c", tmp_path)
    assert EXPECTED[name] in run(program, str(tmp_path))


def test_every_example_is_run():
    assert {p.stem for p in EXAMPLES.glob("*.c")} == set(EXPECTED)
    listed = re.search(r"foreach\(example (.*)\)", (EXAMPLES / "CMakeLists.txt").read_text())
    assert set(listed[1].split()) == set(EXPECTED)


def test_interface(tmp_path):
    """Results and errors of each part."""
    assert run(compiled(PROGRAMS / "interface.c", tmp_path)) == "passed\n"


def test_functions_of_files_go_between_languages(tmp_path):
    """C++ and Python call a function that C exports, C and C++ one that Python exports."""
    of_python, of_c = tmp_path / "cube.mlxfn", tmp_path / "bell.mlxfn"
    mx.export_function(str(of_python), lambda x: x**3, mx.zeros(3))
    run(compiled(EXAMPLES / "export.c", tmp_path), str(tmp_path))
    x = mx.array([1.0, 2.0, 3.0])
    expected = {path: mx.import_function(str(path))(x)[0] for path in (of_python, of_c)}
    assert expected[of_python].tolist() == [1, 8, 27]
    assert mx.allclose(expected[of_c], mx.exp(-x * x))
    for language, *options in (("c",), ("cpp", "-std=c++20", "-Wno-pedantic")):
        folder = tmp_path / language
        folder.mkdir()
        program = compiled(PROGRAMS / f"imported.{language}", folder, *options)
        for path, values in expected.items():
            assert run(program, str(path)) == f"1 result: {values}\n"


def test_first_handler_ends_the_program(tmp_path):
    source = tmp_path / "ends.c"
    source.write_text(
        '#include "mlx/c/mlx.h"\nint main(void) { mlx_array_eval(mlx_array_new()); return 0; }\n'
    )
    done = subprocess.run([compiled(source, tmp_path)], capture_output=True, text=True)
    assert done.returncode == 255
    assert done.stderr.startswith("MLX error: [mlx_array] a null handle")


LEAK = '#include "mlx/c/mlx.h"\nint main(void) { return !mlx_array_new_float(2).ctx; }\n'


def test_sequences_leave_nothing(tmp_path):
    """Random sequences of calls with handles of all sorts, watched by AddressSanitizer."""
    watch = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=9", "LD_PRELOAD": ""}
    (tmp_path / "leak.cpp").write_text(LEAK)
    try:
        leak = compiled(tmp_path / "leak.cpp", tmp_path, "-fsanitize=address")
    except AssertionError as error:
        pytest.skip(f"no AddressSanitizer: {error}"[:200])
    if subprocess.run([leak], env=watch, capture_output=True).returncode != 9:
        pytest.skip("leaks are not found here, where processes may not be traced")
    program = compiled(PROGRAMS / "sequences.cpp", tmp_path, "-fsanitize=address")
    assert "1000 sequences, many errors" in run(program, "1000", "7", env=watch)


def test_python_program():
    """ctypes alone trains a line."""
    assert run(sys.executable, str(EXAMPLES / "line.py"), str(LIBRARY)) == "w 3.00, b 1.00\n"


@pytest.mark.skipif(SANITIZED, reason="Rust's programs have no sanitizers")
def test_rust_program(tmp_path):
    rustc = compiler("RUSTC", "rustc")
    target = str(tmp_path / "line")
    link = [option for argument in LINK[3:] for option in ("-C", f"link-arg={argument}")]
    options = ["-L", str(LIBRARIES), "-l", "mlxc", *link]
    run(rustc, "-D", "warnings", *options, str(EXAMPLES / "line.rs"), "-o", target)
    assert run(target) == "w 3.00, b 1.00\n"


@pytest.mark.sampled(0.1, always=True)
def test_package_of_cmake(tmp_path):
    """An installed copy serves find_package(mlxc)."""
    folder = install(tmp_path / "installed")
    config = folder / "mlx/share/cmake/mlx"
    build = str(tmp_path / "build")
    options = ["-S", str(EXAMPLES), "-B", build, f"-Dmlxc_DIR={config}"]
    run(tool("cmake"), *options)
    run(tool("cmake"), "--build", build)
    assert EXPECTED["gradient"] in run(f"{build}/bin/gradient")
    assert not (folder / "mlx/include/mlx/c/src").exists()
