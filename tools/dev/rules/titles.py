"""Titles of new commits: at most 72 characters.

New are the commits that the branch main does not have, there or at the origin; on main itself the
last one. Landed commits keep their titles.
"""

import subprocess
from pathlib import Path

LONGEST = 72
MAIN = ("origin/main", "main")


def git(root: Path, *arguments: str) -> list[str]:
    """The lines that git prints; none where it fails, as without a repository."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def titles(root: Path) -> list[str]:
    """The new commits, a hash and a title each."""
    commits = ("rev-parse", "--quiet", "--verify")
    head = git(root, *commits, "HEAD")
    main = [rev for name in MAIN for rev in git(root, *commits, f"{name}^{{commit}}")]
    new = ["-1"] if not main or head[0] in main else ["HEAD", "--not", *main]
    return git(root, "log", "--format=%h %s", *new)


def too_long(lines: list[str]) -> list[str]:
    """The commits whose titles are too long."""
    return [line for line in lines if len(line.partition(" ")[2]) > LONGEST]
