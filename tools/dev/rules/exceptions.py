"""The list of exceptions, which only shrinks.

A line of exceptions.txt is a rule, a number where the rule has one, and a name: of a class or a
function, of a file without its folder, or the first words of a comment. A finding without a line is
an error. So is a line without a finding, or with a larger number than its finding; `./dev lint
--fix` takes these out. `compare` refuses a list with more lines, or larger numbers, than before.
"""

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LIST = "tools/dev/rules/exceptions.txt"
HEAD = """\
# Findings from before the rules of ./dev lint. This list only shrinks: nothing is added, and a line
# that is no longer needed is an error (./dev lint --fix takes it out).
"""


@dataclass(frozen=True, order=True)
class Entry:
    """A line of the list."""

    rule: str
    number: int  # 0 where the rule has none
    name: str

    def __str__(self) -> str:
        return " ".join([self.rule, *([str(self.number)] if self.number else []), self.name])


NUMBERED = ("file", "function", "class")


def parse(text: str) -> list[Entry]:
    """The lines of a list."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            rule, rest = line.split(" ", 1)
            number, name = rest.split(" ", 1) if rule in NUMBERED else ("0", rest)
            found.append(Entry(rule, int(number), name))
    return found


def write(exceptions: list[Entry]) -> str:
    """The text of a list."""
    return HEAD + "".join(f"{line}\n" for line in sorted(exceptions))


def needed(listed: list[Entry], found: list[Entry]) -> list[Entry]:
    """The lines that findings need, with the numbers of these where they are smaller."""
    kept = []
    open_findings = sorted(found, reverse=True)
    for line in sorted(listed, reverse=True):
        for finding in open_findings:
            if (finding.rule, finding.name) == (
                line.rule,
                line.name,
            ) and finding.number <= line.number:
                open_findings.remove(finding)
                kept.append(finding)
                break
    return kept


def grown(before: list[Entry], now: list[Entry]) -> list[Entry]:
    """The lines by which a list is larger than before: further lines of a rule, larger numbers.

    A name may change.
    """
    numbers = {(line.rule, line.name): line.number for line in before}
    more = [line for line in now if line.number > numbers.get((line.rule, line.name), line.number)]
    room = Counter(line.rule for line in now)
    room.subtract(Counter(line.rule for line in before))
    old = Counter((line.rule, line.name) for line in before)
    for line in now:
        old[line.rule, line.name] -= 1
        if old[line.rule, line.name] < 0 and room[line.rule] > 0:
            room[line.rule] -= 1
            more.append(line)
    return more


def earlier(root: Path) -> str | None:
    """The list before the last change of it; None where there was none, or no history."""

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(root), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout if done.returncode == 0 else None

    committed = git("show", f"HEAD:{LIST}")
    if committed is None or committed != (root / LIST).read_text():
        return committed
    last = (git("log", "-1", "--format=%H", "--", LIST) or "").strip()
    return git("show", f"{last}~:{LIST}") if last else None
