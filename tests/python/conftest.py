"""Options of the test run, the default device, and what is shared by all tests."""

import multiprocessing
import os
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "python")]
# Here, not by processes.py: it imports the package, and options below set the device first.
if emulator := os.environ.get("MLX_TEST_PYTHON"):
    sys.executable = emulator
    multiprocessing.set_executable(emulator)


def pytest_addoption(parser):
    """Options beyond pytest's own."""
    group = parser.getgroup("mlx")
    group.addoption("--all", action="store_true", help="run every combination, not a chosen part")
    group.addoption(
        "--seed", type=int, help="which part is chosen: default MLX_TEST_SEED, or the date's"
    )
    group.addoption("--huge", action="store_true", help="run the tests that need 12 GB")
    group.addoption(
        "--backend",
        metavar="NAME",
        help="run on a second backend: 'fake', whose memory the host cannot read, 'fake-unified', "
        "whose memory it can, 'cuda-host', the plugin for NVIDIA GPUs on a driver of the host, "
        "'metal', the backend for Metal on an emulated device, or the path of a library",
    )
    group.addoption("--device", choices=["cpu", "gpu"], help="run on this machine's GPU")


def pytest_configure(config):
    """Load the second backend, if asked for, and make it the default device."""
    config.addinivalue_line("markers", "huge: arrays of more than 2^31 elements (--huge)")
    config.addinivalue_line("markers", "cpu_only(reason): about the CPU; not run on a GPU")
    config.addinivalue_line("markers", "gpu_only: compares a GPU with the CPU; run on a GPU")
    config.addinivalue_line(
        "markers",
        "anywhere: the same on all instruction sets and devices; not run for a chosen one",
    )
    config.addinivalue_line("markers", "processes: starts processes that work together")
    config.addinivalue_line(
        "markers",
        "sampled(share, always=False): slow; a share chosen by the seed, on a GPU or always",
    )
    from cases import selection

    selection.EVERYTHING = config.getoption("--all")
    selection.SEED = selection.seed_of(config.getoption("--seed"))
    if config.getoption("--device") == "gpu":
        import mlx.core as mx

        mx.set_default_device(mx.gpu)
    else:
        os.environ["MLX_DEVICE"] = "cpu"  # also where there is a GPU, and in programs of tests
    if backend := config.getoption("--backend"):
        import second_backend

        second_backend.use(backend)


def pytest_sessionstart(session):
    """Say what repeats this run; a header of pytest's is not shown with -q."""
    from cases import selection

    import mlx.core as mx

    mx.default_stream(mx.default_device())  # number 0, whichever test is first
    what = "everything" if selection.EVERYTHING else f"seed {selection.SEED}"
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter:  # not in the processes of pytest-xdist
        reporter.write_line(f"Cases: {what} (--seed {selection.SEED} chooses the same ones)")


def pytest_collection_modifyitems(config, items):
    """Leaves out tests that are not about the backend or instruction set, and some slow ones."""
    from cases.selection import chosen

    on_gpu = config.getoption("--backend") or config.getoption("--device") == "gpu"
    left_out = ["cpu_only" if on_gpu else "gpu_only"]
    if not config.getoption("--huge"):
        left_out.append("huge")
    if on_gpu or "MLX_CPU_ISA" in os.environ:
        left_out.append("anywhere")

    def runs(item):
        if any(map(item.get_closest_marker, left_out)):
            return False
        sampled = item.get_closest_marker("sampled")
        if not sampled or not (on_gpu or sampled.kwargs.get("always")):
            return True
        return chosen(item.nodeid, *sampled.args)

    out = [item for item in items if not runs(item)]
    items[:] = [item for item in items if runs(item)]
    if out:
        config.hook.pytest_deselected(items=out)


@pytest.fixture(autouse=True)
def defaults_stay():
    """A test that changes the default device, its stream or the precision changes later ones."""
    import mlx.core as mx

    device, precision = mx.default_device(), mx.get_matmul_precision()
    stream = mx.default_stream(device)
    yield
    changed = mx.default_device(), mx.default_stream(device), mx.get_matmul_precision()
    mx.set_default_device(device)
    mx.set_default_stream(stream)
    mx.set_matmul_precision(precision)
    assert changed == (device, stream, precision)


def runs_through_the_cpu(test):
    """Ops without a kernel for Metal in a test that compares devices."""
    ops = {"cholesky", "inverse", "qr", "solve"}
    return ops | {"gated_delta_update"} if "rules[300" in test else ops  # too wide a row


@pytest.fixture(autouse=True)
def kernels_of_metal(request):
    """In tests that compare devices, the backend for Metal computes by kernels."""
    yield
    import second_backend

    if second_backend.in_use() == "metal" and request.node.get_closest_marker("gpu_only"):
        assert second_backend.without_kernel() <= runs_through_the_cpu(request.node.name)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Writes beside or after the second backend's buffers fail the run."""
    if (session.config.getoption("--backend") or "").startswith("fake"):
        import second_backend

        if faults := second_backend.library().mlx_fake_faults():
            print(f"\n{faults} writes to memory that is not the writer's: see above")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def backend(request):
    """Name of the backend under test, None for the CPU."""
    device = request.config.getoption("--device")
    return request.config.getoption("--backend") or (device if device == "gpu" else None)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """A directory with an installed `mlx` in it."""
    from installed import install

    return install(tmp_path_factory.mktemp("prefix"))
