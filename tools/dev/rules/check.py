"""All rules over all files: the report of `./dev lint` beside the formatters and mypy."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import exceptions, heads, includes, language, lengths, names, titles, units
from .exceptions import Entry


@dataclass(frozen=True)
class Finding:
    """A place against a rule, with the line of the list that would excuse it."""

    place: str
    message: str
    entry: Entry


def files(root: Path) -> list[str]:
    """The files of the working tree that git does not ignore."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.run(
        [*command, "--exclude-standard"], stdout=subprocess.PIPE, text=True, check=True
    )
    names = set(filter(None, listed.stdout.split("\0")))
    return sorted(n for n in names if (root / n).is_file() and not (root / n).is_symlink())


def in_file(path: str, text: str) -> Iterator[Finding]:
    """The findings in one source file."""
    name = path.rpartition("/")[2]
    length = text.count("\n")
    if length > lengths.FILE:
        entry = Entry("file", length, name)
        yield Finding(path, f"{length} lines; accepted: {lengths.FILE}", entry)
    if not heads.has_head(path, text):
        message = "no head comment, which says what the file contains"
        yield Finding(path, message, Entry("head", 0, name))
    for block in lengths.blocks(path, text):
        longest = lengths.FUNCTION if block.kind == "function" else lengths.CLASS
        if block.length > longest:
            message = f"{block.kind} {block.name} has {block.length} lines; accepted: {longest}"
            entry = Entry(block.kind, block.length, block.name)
            yield Finding(f"{path}:{block.line}", message, entry)
    for line, words, excluded in language.findings(path, text):
        message = f'"{excluded}" in "{words} …"; accepted: a named subject, in a noun phrase or '
        message += "with a verb in the third person"
        yield Finding(f"{path}:{line}", message, Entry("language", 0, words))


def findings(root: Path) -> list[Finding]:
    """The findings in all sources."""
    found: list[Finding] = []
    for path in files(root):
        if heads.language(path):
            try:
                found += in_file(path, (root / path).read_text())
            except (SyntaxError, UnicodeError) as error:
                found.append(Finding(path, f"cannot be read: {error}", Entry("read", 0, path)))
    return found


def in_list(listed: list[Entry], found: list[Finding], before: str | None) -> Iterator[str]:
    """A message for each line of the list that is not needed, or was added."""
    kept = Counter(exceptions.needed(listed, [f.entry for f in found]))
    for line in (Counter(listed) - kept).elements():
        yield f"{exceptions.LIST}: {line}: not needed as it is; ./dev lint --fix takes it out"
    if before is not None:
        for line in exceptions.grown(exceptions.parse(before), listed):
            yield f"{exceptions.LIST}: {line}: added; the list only shrinks"


def unexcused(listed: list[Entry], found: list[Finding]) -> Iterator[Finding]:
    """The findings without a line in the list."""
    free = Counter((line.rule, line.name) for line in listed)
    most = {(line.rule, line.name): line.number for line in listed}
    for finding in found:
        key = (finding.entry.rule, finding.entry.name)
        if free[key] > 0 and finding.entry.number <= most[key]:
            free[key] -= 1
        else:
            yield finding


def messages(root: Path, fix: bool = False) -> list[str]:
    """The findings, a line each; `fix` shortens the list of exceptions first."""
    found = findings(root)
    file = root / exceptions.LIST
    listed = exceptions.parse(file.read_text())
    if fix:
        listed = exceptions.needed(listed, [f.entry for f in found])
        file.write_text(exceptions.write(listed))
    texts = [f"{f.place}: {f.message}" for f in unexcused(listed, found)]
    texts += in_list(listed, found, exceptions.earlier(root))
    long = titles.too_long(titles.titles(root))
    texts += [f"{t}: a title over {titles.LONGEST} characters" for t in long]
    scripts = {p: (root / p).read_text() for p in files(root) if p.endswith(".py")}
    texts += names.shadowing(scripts)
    sources = {p: (root / p).read_text() for p in files(root) if p.endswith(".cpp")}
    texts += units.shared(sources)
    table = includes.Table((root / "docs/architecture.md").read_text())
    return texts + list(includes.faults(root, table))
