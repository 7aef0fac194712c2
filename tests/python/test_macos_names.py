"""The lists of names that libraries for macOS may ask for, and the check of them."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("names", ROOT / "tests/apple/names.py")
names = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(names)

LISTS = {names.SYSTEM: {"_close", "_open"}, names.ACCELERATE: {"_sgemm"}}
ASKED = {
    (None, "_PyList_New"),
    (names.ENGINE, "_eval"),
    (names.SYSTEM, "_close"),
    (names.SYSTEM, "_open"),
    (names.ACCELERATE, "_sgemm"),
}


@pytest.mark.parametrize(
    "more, fewer, complaint",
    [
        (set(), set(), None),
        ({(None, "__PyObject_New")}, set(), None),
        ({(None, "_memcpy")}, set(), "_memcpy is asked of no library, and is no name of Python's"),
        ({(names.ENGINE, "_plan")}, set(), "_plan is asked of the engine, which has no such name"),
        ({(names.SYSTEM, "_new")}, set(), f"_new is not in the list of {names.SYSTEM}"),
        ({("/usr/lib/libz.dylib", "_a")}, set(), "_a is not in the list of /usr/lib/libz.dylib"),
        (set(), {(names.SYSTEM, "_open")}, f"_open of the list of {names.SYSTEM} is not asked for"),
        (set(), {(names.ACCELERATE, "_sgemm")}, None),
    ],
)
def test_check_names(more, fewer, complaint):
    said = list(names.check_names((ASKED | more) - fewer, LISTS, {"_eval"}))
    assert said == ([] if complaint is None else [complaint])


@pytest.mark.parametrize("file", names.LISTS.values(), ids=lambda file: file.name)
def test_lists_are_sorted_and_name_each_once(file):
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines))
    # The only name without an underscore is the loader's.
    assert all(re.fullmatch(r"_[\w$.]+|dyld_stub_binder", line) for line in lines)


def test_no_name_is_of_two_libraries():
    lists = [names.listed(file) for file in names.LISTS.values()]
    assert len(set().union(*lists)) == sum(map(len, lists))


def test_stand_in_for_accelerate_has_its_names():
    """The routines of the tests on Linux are those named to the linker for macOS."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("needs a C++ compiler, whose preprocessor writes the names out")
    source = ROOT / "tests/apple/accelerate.cpp"
    done = subprocess.run(
        [compiler, "-E", "-P", source], capture_output=True, text=True, check=True
    )
    defined = {"_" + name for name in re.findall(r"void (\w+\$NEWLAPACK)\(", done.stdout)}
    assert defined == names.listed(names.LISTS[names.ACCELERATE])
