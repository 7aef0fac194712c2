"""The check of instruction set objects finds initialisers and shared functions."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check", ROOT / "cmake/check_isa_objects.py")
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)

SOUND = """
inline constexpr int kShared[] = {1, 2, 3};
namespace mlx::core::cpu::avx2 {
template <class T> T twice(T x) { return x + x; }
float use(float x, int i) { return twice(x) + kShared[i]; }
const int& table() { static const int once = kShared[use(1, 2) > 0]; return once; }
}
"""
FAULTY = {
    "a weak function": ("inline float f(float x) { return x; } auto* g = &f;", "_Z1ff is shared"),
    "a template of everybody's": (
        "template <class T> T f(T x) { return x; } template float f(float);",
        "_Z1fIfET_S0_ is shared",
    ),
    "a variable that changes": ("inline int changes = 3; int* p = &changes;", "changes is shared"),
    "another instruction set's": (
        "namespace mlx::core::cpu::avx512 { inline int f(int x) { return x; } auto* g = &f; }",
        "avx5121fEi is shared",
    ),
    "an initialiser": ("int f(); int value = f();", ".init_array"),
}


def compiled(tmp_path, source):
    path = tmp_path / "source.cpp"
    path.write_text(source)
    command = [shutil.which("c++"), "-std=c++20", "-O0", "-c", path, "-o", tmp_path / "object.o"]
    subprocess.run(command, check=True)
    return str(tmp_path / "object.o")


def test_sound_objects_pass(tmp_path, capsys):
    assert not check.main("readelf", "avx2", compiled(tmp_path, SOUND))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fault", FAULTY)
def test_faults_are_found(fault, tmp_path, capsys):
    source, message = FAULTY[fault]
    sound = compiled(tmp_path, SOUND)
    (tmp_path / "sound.o").write_bytes(pathlib.Path(sound).read_bytes())
    assert check.main("readelf", "avx2", str(tmp_path / "sound.o"), compiled(tmp_path, source))
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and f"{tmp_path}/object.o" in error


def test_no_objects_is_a_fault(capsys):
    assert check.main("readelf", "avx2") and "no objects" in capsys.readouterr().err
