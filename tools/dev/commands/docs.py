"""`./dev docs`: the documentation site."""

from ..builds import PACKAGE, build
from ..environment import environment
from ..shell import PYTHON, ROOT, debian, no_more, run as run_program

USAGE = """\
  docs [--check]    build the documentation site into build/docs
       --check        also follow its links and open its pages in a browser
"""


def run(arguments: list[str]) -> int:
    """Builds the site, and checks it where that is asked for."""
    check = arguments[:1] == ["--check"]
    no_more("docs", arguments[check:], "--check")
    environment("docs")
    build("stubs")
    options = ("-q", "-E", "-W", "--keep-going", "-d", "build/docs-cache")
    run_program(".venv/bin/sphinx-build", *options, "docs", "build/docs", variables=PACKAGE)
    print(f"The site: {ROOT}/build/docs/index.html")
    if check:
        debian("/usr/bin/chromium", "chromium", "the site in a browser")
        run_program(PYTHON, "tests/built_site.py", "build/docs")
    return 0
