"""`./dev cuda`: the plugin for NVIDIA GPUs, and its checks that need no GPU."""

import os
import shutil
import subprocess
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..builds import BUILD, PACKAGE, build, configure
from ..environment import environment
from ..shell import PYTHON, ROOT, doctest, jobs, logged, no_more, refuse, run as run_program
from ..suites import day, sanitizers, suite

USAGE = """\
  cuda [ARCH]       build the plugin for NVIDIA GPUs beside the engine, and check it without a GPU:
                    its functions are in NVIDIA's libraries, it runs on a driver of the host
                    (half of the tests that compare devices, the other half each second day),
                    the families' table lists the kernels that ran, and NVIDIA's compiler NVRTC
                    takes every kind of program and a sixth of these kernels, another one each day
       --all          runs the whole product of the case lists, and gives NVRTC every kernel
       --kernels [PART]
                      lists the kernels of the families whose names have a part, such as "sort: ",
                      from their table; with --compile, gives them to NVRTC (--arch ARCH)
       --sanitize     the plugin, the driver of the host and the kernels under AddressSanitizer and
                      UndefinedBehaviorSanitizer
"""

# The compiler of kernels, libraries and headers; the driver comes with the machine.
TOOLKIT = (
    "cuda-toolkit[nvrtc,cudart,cublas,cufft,cusolver]==13.0.*",
    "nvidia-cudnn-cu13==9.*",
    "nvidia-nccl-cu13==2.28.*",
)
FOLDER = BUILD / "nvidia"
CORPUS = BUILD / "tests/mlx_cuda_corpus"


def checks(everything: bool = True) -> list[str]:
    """The test files that run on a driver of the host: all, or half of those for all backends."""
    tests = Path("tests/python")
    names = (
        "cuda_checks.py",
        "cuda_convolutions.py",
        "cuda_failures.py",
        "cuda_graphs.py",
        "cuda_kernels.py",
        "cuda_products.py",
        "test_gpu_interop.py",
    )
    agree = sorted(tests.glob("test_devices_agree*.py"))
    files = [tests / name for name in names] + (agree if everything else agree[day() % 2 :: 2])
    return [str(file) for file in files]


def check_headers() -> None:
    """Compiles each header of the rooms of GPUs by itself: where sources share units and a
    precompiled header, another one hides an include that is missing."""
    rooms = ("gpu", "gpu/families", "cuda", "nccl")
    headers = [h for room in rooms for h in sorted(Path("mlx/backend", room).glob("*.h"))]
    folders = (ROOT, ROOT / "mlx/compat/published", ROOT / BUILD / "include")
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    command += [f"-I{folder}" for folder in folders]

    def compiles(header: Path) -> bool:
        text = f'#include "{header}"\n'
        return subprocess.run(command, input=text, text=True, cwd=ROOT).returncode == 0

    with ThreadPoolExecutor(jobs()) as threads:
        bad = [
            h for h, well in zip(headers, threads.map(compiles, headers), strict=True) if not well
        ]
    if bad:
        refuse(f"headers that do not compile by themselves: {', '.join(map(str, bad))}")


def sanitized() -> None:
    """Builds the plugin and the driver with sanitizers and runs the checks on them."""
    build("all", "mlx_cuda_sanitized")
    variables = sanitizers() | PACKAGE | {"MLX_TEST_PLUGIN": f"{ROOT}/build/tests/sanitized"}
    suite(["-n", str(jobs()), "--backend", "cuda-host", *checks()], variables)


def nvidia() -> None:
    """Installs NVIDIA's packages into build/nvidia, once."""
    stamp = FOLDER / ".installed"
    if stamp.is_file() and stamp.read_text().split() == list(TOOLKIT):
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    quiet = ("-q", "--disable-pip-version-check", "--no-compile")
    run_program(PYTHON, "-m", "pip", "install", *quiet, "--target", FOLDER, *TOOLKIT)
    stamp.write_text("\n".join(TOOLKIT) + "\n")


def chosen(name: str, date: int) -> bool:
    """Whether a kernel, by the name of its file, belongs to the sixth of a date."""
    return (zlib.crc32(name.encode()) + date) % 6 == 0


def copied(files: list[Path], folder: Path) -> Path:
    """Copies files into a folder that has no others, and returns it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    return folder


def corpus(architecture: str, began: float, everything: bool) -> None:
    """Looks for the kernels that the checks ran in the families' table, and gives NVRTC the
    corpus, then a part of them."""
    kept = [x for x in (BUILD / "host_kernels").rglob("*") if x.is_file()]
    ran = [x for x in kept if x.stat().st_mtime > began]
    run_program(CORPUS, "--unlisted", copied(ran, BUILD / "cuda-kernels-all"))
    run_program(CORPUS, architecture, str(jobs()))
    part = [x for x in ran if everything or chosen(x.name, day())]
    kernels = copied(part, BUILD / "cuda-kernels")
    run_program(CORPUS, architecture, str(jobs()), f"@{kernels}")


def kernels(arguments: list[str]) -> None:
    """Lists kernels of the families' table; with --compile, gives them to NVRTC."""
    architecture = "sm_90"
    if "--arch" in arguments[:-1]:
        at = arguments.index("--arch")
        architecture = arguments[at + 1]
        del arguments[at : at + 2]
    compiled = "--compile" in arguments
    part, *rest = [x for x in arguments if x != "--compile"] or [""]
    no_more("cuda --kernels", rest, "a part of the names of kernels, --compile, --arch ARCH")
    build("mlx_cuda_corpus")
    if not compiled:
        run_program(CORPUS, "--list", part)
        return
    nvidia()
    found = {"MLX_CUDA_LIBRARY_PATH": f"{ROOT / FOLDER}/nvidia/cu13/lib"}
    run_program(CORPUS, architecture, str(jobs()), f"%{part}", variables=found)


def run(arguments: list[str]) -> int:
    """Builds the plugin and checks it for an architecture, sm_90 by default."""
    accepted = "an architecture such as sm_90, --all, --kernels, or --sanitize"
    environment("test")
    if arguments[:1] == ["--sanitize"]:
        no_more("cuda", arguments[1:], accepted)
        sanitized()
    if arguments[:1] == ["--kernels"]:
        kernels(arguments[1:])
        return 0
    everything = "--all" in arguments
    arguments = [x for x in arguments if x != "--all"]
    no_more("cuda", arguments[1:], accepted)
    doctest()
    nvidia()
    configure(BUILD, "-DMLX_WERROR=ON")
    # A wheel that was made in this folder left a mark that hides folders of this machine from
    # the plugin.
    found = ("-USKBUILD", "-DMLX_CUDA=ON", f"-DMLX_CUDA_PACKAGES={ROOT / FOLDER}")
    logged(BUILD / "configure-cuda.log", ".venv/bin/cmake", "-S", ".", "-B", BUILD, *found)
    build()
    check_headers()
    run_program(PYTHON, "tests/cuda/symbols.py", FOLDER)
    began = time.time()
    options = ["-q", "-n", str(jobs()), "--backend", "cuda-host"]
    more = ["--all"] if everything else []
    run_program(PYTHON, "-m", "pytest", *options, *more, *checks(everything), variables=PACKAGE)
    corpus(arguments[0] if arguments else "sm_90", began, everything)
    return 0
