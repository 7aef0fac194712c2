"""Makes the wheel for macOS from a cross build: `wheel.py HOST_BUILD MACOS_BUILD FOLDER`.

The package's files are installed by CMake, its metadata is what the build backend writes, and the
type stubs are those of the host's build, since the extension cannot be imported here.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from scikit_build_core.build import prepare_metadata_for_build_wheel

PLATFORM = "macosx_14_0_arm64"


def take_stubs(host, built):
    """Copies the host's type stubs to where CMake installs them from."""
    shutil.copytree(host / "python/mlx/core", built / "python/mlx/core", dirs_exist_ok=True)
    shutil.copy(host / "python/mlx/py.typed", built / "python/mlx/py.typed")


def write_tag(info):
    """Names the interpreter that compiled and the platform, in the place of the host's."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    file = info / "WHEEL"
    kept = [
        line
        for line in file.read_text().splitlines()
        if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))
    ]
    tag = f"{python}-{python}-{PLATFORM}"
    file.write_text("\n".join([*kept, "Root-Is-Purelib: false", f"Tag: {tag}", ""]))


def main():
    """Install into a folder, add the metadata, pack."""
    host, built, target = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    take_stubs(host, built)
    with tempfile.TemporaryDirectory() as name:
        stage = pathlib.Path(name)
        subprocess.run(["cmake", "--install", built, "--prefix", stage], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        write_tag(stage / prepare_metadata_for_build_wheel(name, {"build-dir": str(host)}))
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", stage, "-d", target], check=True)


if __name__ == "__main__":
    main()
