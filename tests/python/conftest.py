"""Options of the test run, the default device, and what is shared by all tests."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "python")]


def pytest_addoption(parser):
    """Options beyond pytest's own."""
    group = parser.getgroup("mlx")
    group.addoption("--all", action="store_true", help="run every combination, not a chosen part")
    group.addoption(
        "--seed", type=int, help="which part is chosen: default MLX_TEST_SEED, or the date's"
    )
    group.addoption("--huge", action="store_true", help="run the tests that need 12 GB")
    group.addoption(
        "--backend", metavar="NAME", help="run on a second backend: 'fake' or the path of a library"
    )


def pytest_configure(config):
    """Load the second backend, if asked for, and make it the default device."""
    config.addinivalue_line("markers", "huge: arrays of more than 2^31 elements (--huge)")
    config.addinivalue_line("markers", "second_backend: also runs on a second backend (--backend)")
    from cases import selection

    selection.EVERYTHING = config.getoption("--all")
    selection.SEED = selection.seed_of(config.getoption("--seed"))
    backend = config.getoption("--backend")
    if backend:
        import mlx.core as mx

        path = pathlib.Path(backend)
        if not path.exists():
            found = sorted(TESTS.parent.glob(f"build*/**/libmlx_{backend}.so"))
            if not found:
                raise pytest.UsageError(
                    f"--backend: no {backend}, and no libmlx_{backend}.so in build*/"
                )
            path = found[-1]
        mx._load_test_backend(str(path))
        mx.set_default_device(mx.gpu)


def pytest_sessionstart(session):
    """Say what repeats this run; a header of pytest's is not shown with -q."""
    from cases import selection

    what = "everything" if selection.EVERYTHING else f"seed {selection.SEED}"
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.write_line(f"Cases: {what} (--seed {selection.SEED} chooses the same ones)")


def pytest_collection_modifyitems(config, items):
    """On a second backend run what it is there to prove: core, transformations and errors."""
    if not config.getoption("--huge"):
        items[:] = [item for item in items if not item.get_closest_marker("huge")]
    if config.getoption("--backend"):
        items[:] = [item for item in items if item.get_closest_marker("second_backend")]


@pytest.fixture
def backend(request):
    """Name of the backend under test, None for the CPU."""
    return request.config.getoption("--backend")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """A directory with an installed `mlx` in it."""
    from installed import install

    return install(tmp_path_factory.mktemp("prefix"))
