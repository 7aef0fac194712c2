"""Check the built documentation site: its links, and its pages in a browser.

    python tests/built_site.py build/docs        (./dev docs --check)

Every local link has a target, and nothing is fetched from elsewhere. In headless Chromium pages
load without messages in the console, the navigation of the first page leads to pages with a
heading, and the search finds functions and guides.
"""

import concurrent.futures
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

#: Results of searches, by query: the start of the address of a result.
SEARCHES = {
    "softmax": "reference/reductions.html#mlx.core.softmax",
    "checkpoint": "guides/training.html",
    "MLX_NUM_THREADS": "reference/environment.html",
}


class Page(html.parser.HTMLParser):
    """The anchors, links and sources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.headings = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note what a tag refers to."""
        named = dict(attrs)
        self.anchors |= {named[k] for k in ("id", "name") if named.get(k)}
        self.headings += tag == "h1"
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif tag in ("script", "img", "link", "source") and named.get("rel") != "canonical":
            self.sources += [named[k] for k in ("src", "href") if named.get(k)]


def targets(folder: pathlib.Path) -> list[str]:
    """Faults of links and sources."""
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        for link in page.links + page.sources:
            scheme, _, rest, _, anchor = urllib.parse.urlsplit(link)
            if scheme or link.startswith("//"):
                if link in page.sources and scheme != "data":
                    wrong.append(f"{path}: fetched from elsewhere: {link}")
                continue
            to = (path.parent / urllib.parse.unquote(rest)).resolve() if rest else path.resolve()
            known = pages.get(to)
            if not to.exists():
                wrong.append(f"{path}: no file for {link}")
            elif anchor and known and urllib.parse.unquote(anchor) not in known.anchors:
                wrong.append(f"{path}: no place for {link}")
    if len(pages) < 50:
        wrong.append(f"{len(pages)} pages; at least 50 are expected")
    return wrong


def opened(browser: str, address: str) -> tuple[str, list[str]]:
    """A page after its scripts have run, and the messages of its console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-sync", "--enable-logging=stderr"),
                *(f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom"),
                address,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    return done.stdout, re.findall(r"CONSOLE\S* (.*)", done.stderr)


def browsed(folder: pathlib.Path, browser: str) -> list[str]:
    """Faults in a browser."""
    root = folder.resolve().as_uri()
    text, messages = opened(browser, f"{root}/index.html")
    wrong = [f"index.html: {m}" for m in messages]
    navigation = re.search(r'<div class="sidebar-tree">.*?</aside>', text, re.S)
    links = Page(navigation[0]).links if navigation else []
    local = sorted({link.partition("#")[0] for link in links if "adr/" not in link} - {""})
    if len(local) < 30:
        wrong.append(f"the navigation has {len(local)} pages; at least 30 are expected")
    chosen = [f"{root}/{link}" for link in local[::4]]
    chosen += [f"{root}/search.html?q={urllib.parse.quote(q)}" for q in SEARCHES]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for address, (text, messages) in zip(
            chosen, pool.map(lambda a: opened(browser, a), chosen), strict=True
        ):
            wrong += [f"{address}: {m}" for m in messages]
            page = Page(text)
            query = urllib.parse.unquote(address.partition("?q=")[2])
            if not query and not page.headings:
                wrong.append(f"{address}: no heading")
            if query and not any(SEARCHES[query] in link for link in page.links):
                wrong.append(f"the search for {query!r} does not find {SEARCHES[query]}")
    return wrong


def main() -> None:
    """Check the site and print what is wrong."""
    folder = pathlib.Path(sys.argv[1])
    wrong = targets(folder)
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser:
        wrong += browsed(folder, browser)
    print("\n".join(wrong[:50]))
    print(f"{'Links and browser' if browser else 'Links'}: {len(wrong)} errors")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
