"""`./dev test --sanitize` and `--threads`: tests under the compiler's sanitizers."""

from pathlib import Path

from .builds import BUILD, PACKAGE, build, compile, configure
from .environment import environment
from .processor import instruction_set, only_this
from .shell import PYTHON, ROOT, Environment, doctest, jobs, run
from .suites import PARTS, pytest_command, sanitizers, suite, take_part

ON_PLUGIN = (
    "threads evaluate the same*",
    "threads start*",
    "*of another thread*",
    "threads use*",
)  # others take minutes there
ON_RANKS = "-tc=ranks of a launch*"


def kernels_of_metal() -> None:
    """Kernels on Metal's emulated device, both with sanitizers, on the engine of build/."""
    build("core", "mlx_metal", "metal_emulated_sanitized")
    device = f"{ROOT / BUILD}/metal-cpp/sanitized/libmetal_emulated.so"
    variables = sanitizers() | PACKAGE | {"MLX_METAL_RUNTIME": device}
    tests = ("--backend", "metal", "-n", str(min(jobs(), 4)), "tests/python/metal_sanitized.py")
    run(*pytest_command(tests), variables=variables)


def addresses(arguments: list[str]) -> int:
    """The Python tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    whole = not arguments or arguments[0] in PARTS
    arguments = take_part(arguments)
    environment("test")
    if whole:
        kernels_of_metal()
    folder = BUILD / "sanitize"
    configure(folder, "-DMLX_SANITIZE=address,undefined", only_this())
    compile(folder, "core", "mlxc", "mlx_fake")  # not the stubs: they import it
    variables = sanitizers("max_allocation_size_mb=8192")
    variables |= {"PYTHONPATH": f"{folder}/python", "MLX_TEST_ISA": instruction_set()}
    suite(arguments, variables)


def on_plugin(tests: Path) -> Environment:
    """The variables that put the C++ tests on the plugin, with a driver of the host."""
    host = str(tests / "libmlx_host_driver.so")
    libraries = ("DRIVER", "NVRTC", "BLAS", "FFT")
    variables = {f"MLX_CUDA_{name}": host for name in libraries}
    variables["MLX_TEST_BACKEND"] = str(tests / "libmlx_cuda.so")
    variables["MLX_CUDA_CACHE_DIR"] = f"{ROOT}/build/threads/kernels"
    return variables


def threads(arguments: list[str]) -> int:
    """The C++ tests under ThreadSanitizer, then some of them as processes and on the plugin."""
    environment("test")
    doctest()
    folder = BUILD / "threads"
    configure(folder, "-DMLX_SANITIZE=thread", only_this())
    compile(folder, "mlx_tests", "mlx_cuda")
    tests = ROOT / folder / "tests"
    known = ROOT / "tests/cpp/thread_sanitizer.txt"
    settings = f"exitcode=66 history_size=4 second_deadlock_stack=1 suppressions={known}"
    options = {"TSAN_OPTIONS": settings}
    run(tests / "mlx_tests", "--minimal", *arguments, variables=options)
    print("Processes that a launcher starts, connected by TCP:", flush=True)
    launch = (PYTHON, "-m", "mlx.launch", "-n", "3", tests / "mlx_tests", "--minimal", ON_RANKS)
    run(*launch, variables=options | {"PYTHONPATH": str(ROOT / "python")})
    print("Threads on the plugin for NVIDIA GPUs, with a driver of the host:")
    chosen = "-tc=" + ",".join(ON_PLUGIN)
    run(tests / "mlx_tests", "--minimal", chosen, variables=options | on_plugin(tests))
    return 0
