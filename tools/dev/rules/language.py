"""The language of comments and of the names of tests.

A comment begins with a noun phrase or a verb in the third person and names its subject. Docstrings
may also begin with an imperative.
"""

import re
from collections.abc import Iterator

from .source import Comment, cpp_comments, is_cpp, python_comments

# Subjects without a name, and phrases with a plainer word.
WORDS = (
    *("whoever", "somebody", "nobody", "anybody", "those who"),
    *("but for", "of its own", "hears", "lies"),
)
ANYWHERE = re.compile(rf"\b({'|'.join(WORDS)})\b", re.I)
SUBJECT = re.compile(r"(?:\A|[.;:]\s+)(what|who|those)\b(?!\?)", re.I)
PRONOUNS = "I It He She They We You This These That There"
IMPERATIVES = """
    Add Allocate Answer Append Apply Avoid Build Call Check Choose Clear Combine Compare Compile
    Compute Convert Create Divide Do Don't Drop Ensure Fill Find Get Give Handle Ignore Insert Keep
    Let Load Make Multiply Must Need Parse Pick Put Raise Remove Replace Return Run Save Say Set
    Skip Stop Store Take Tell Throw Try Use Wait Write
"""
BEGINNING = re.compile(rf"\A({'|'.join((PRONOUNS + IMPERATIVES).split())})\b(?!-|\.\w|\()")
PRONOUN = re.compile(rf"\A({'|'.join(PRONOUNS.split())})\b")
# Comments for programs, ends of namespaces, lines between parts.
NOT_WORDS = re.compile(r"\A(namespace\b|noqa|fmt:|type:|ruff|clang-format|mypy|pragma|NOLINT|---)")
QUOTED = re.compile(r"``.*?``|`[^`]*`|\"[^\"]*\"|^[ ]*>>>.*?(?=\n\s*\n|\Z)", re.M | re.S)
NAMES = re.compile(r"(?:^\s*def (test_\w+)|^\s*TEST_CASE\(\"((?:[^\"\\]|\\.)*)\")", re.M)
IN_NAMES = re.compile(r"(?<![a-z])(what|who|whoever|somebody|nobody|anybody|hears|lies)(?![a-z])")


def words_against(comment: Comment) -> str | None:
    """The first words of a comment that the rule excludes; None if there are none."""
    text = QUOTED.sub("x", comment.text)
    if NOT_WORDS.match(text):
        return None
    beginning = PRONOUN if comment.marker == '"""' else BEGINNING
    found = beginning.match(text) or SUBJECT.search(text) or ANYWHERE.search(text)
    return found[1] if found else None


def beginning(text: str) -> str:
    """The first words of a comment, by which the list of exceptions names it."""
    return " ".join(text.split()[:9])


def findings(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    """(line, first words, excluded words) of each comment and name of a test against the rule."""
    comments: list[Comment] = []
    if is_cpp(path):
        comments = cpp_comments(text)
    elif path.endswith(".py"):
        comments = python_comments(text)
    for comment in comments:
        if words := words_against(comment):
            yield comment.line, beginning(comment.text), words
    for found in NAMES.finditer(text):
        name = found[1] or found[2]
        if word := IN_NAMES.search(name):
            yield text.count("\n", 0, found.end()) + 1, beginning(name), word[1]
