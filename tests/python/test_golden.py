"""Every call of tests/golden against what the published wheel did with it.

What differs must be explained in docs/differences.md, and every explanation must explain something.
"""

import functools
import pathlib
import re

import outcome
import pytest
import record

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = record.families()


@functools.cache
def recorded(family):
    """What stands recorded of a family."""
    return record.load(family)


def published():
    """All functions and array members that recorded calls use and the wheel has."""
    return {name for family in FAMILIES for name in recorded(family)["functions"]}


@functools.cache
def explanations():
    """(identifier, kind, pattern) of every line in a ```calls block of docs/differences.md."""
    entries, title = [], None
    text = (ROOT / "docs/differences.md").read_text()
    for part in re.split(r"^(##+ [^\n]*|```calls\n.*?^```)$", text, flags=re.M | re.S):
        if part.startswith("##"):
            title = part.lstrip("# ")
        elif part.startswith("```calls"):
            for line in part.splitlines()[1:-1]:
                kind, pattern = line.split(": ", 1)
                entries.append((title, kind, re.compile(pattern)))
    return entries


def judge(want, got):
    """None where an outcome agrees with the recorded one, else (kinds, message).

    Kinds name what is different: the classes of an exception raised here, with 'argument' for the
    ValueError or TypeError where the wheel has a RuntimeError, 'returns' where the wheel raises,
    'late' for an error that comes only at evaluation, or what differs between two results.
    """
    if "crash" in want or "hang" in want:
        return None  # whatever this process survives is better
    if got[0] == "raise":
        classes = [c.__name__ for c in type(got[1]).__mro__[:-2]]
        if "raise" not in want:
            return classes, f"{classes[0]} at {got[2]} ({got[1]}), recorded {want}"
        if want["raise"] not in classes:
            if want["raise"] == "RuntimeError" and {"ValueError", "TypeError"} & set(classes):
                classes.append("argument")
            return classes, f"{classes[0]} ({got[1]}), recorded {want['raise']}"
        if want["at"] == "call" and got[2] == "eval":
            return ["late"], f"{classes[0]} only at eval, recorded at call"
        return None
    if "value" not in want:
        return ["returns"], f"{got[1]!r}, recorded {want}"
    found = outcome.difference(want["value"], got[1])
    return found and ([found[0]], found[1])


@functools.cache
def judged(family):
    """(call, kinds, message, index of the explanation or None) of every difference in a family."""
    found = []
    for call, want in recorded(family)["calls"]:
        different = judge(want, outcome.run(call))
        if different:
            reason = next(
                (
                    n
                    for n, (_, kind, pattern) in enumerate(explanations())
                    if kind in different[0] and pattern.search(call)
                ),
                None,
            )
            found.append((call, *different, reason))
    return found


def report(lines, limit=60):
    """A readable failure out of many lines."""
    more = [f"... and {len(lines) - limit} more"] if len(lines) > limit else []
    return "\n".join([f"{len(lines)} failures", *lines[:limit], *more])


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_calls_are_the_calls_of_the_table(family):
    calls = [call for call, _ in recorded(family)["calls"]]
    assert calls == record.table(family)[0], f"run tests/golden/record.py {family}"


def test_no_function_is_missing():
    assert not [name for name in sorted(published()) if outcome.is_missing(name)]


def test_every_published_name_is_called():
    called = {
        n for f in FAMILIES for call in record.table(f)[0] for n in outcome.functions_of(call)
    }
    names = (ROOT / "tests/golden/data/names.txt").read_text().split()
    members = {n.removeprefix("array.") for n in called}
    missing = [n for n in names if n not in called and n.removeprefix("array.") not in members]
    assert len(names) > 400 and not missing, report(missing)


@pytest.mark.parametrize("family", FAMILIES)
def test_golden(family):
    unexplained = [
        f"{call}\n    {message}" for call, _, message, reason in judged(family) if reason is None
    ]
    assert not unexplained, report(unexplained)


def test_every_explanation_explains_something():
    used = {reason for family in FAMILIES for *_, reason in judged(family)}
    idle = [f"{t}: {k}: {p.pattern}" for n, (t, k, p) in enumerate(explanations()) if n not in used]
    assert not idle, report(idle)


def test_explanations_are_narrow():
    """A pattern matches few calls more than those that differ, or it would hide new ones."""
    differing = {call: reason for family in FAMILIES for call, *_, reason in judged(family)}
    agreeing = [
        call
        for family in FAMILIES
        for call, _ in recorded(family)["calls"]
        if call not in differing
    ]
    wide = []
    for n, (title, kind, pattern) in enumerate(explanations()):
        needed = sum(reason == n for reason in differing.values())
        more = sum(pattern.search(call) is not None for call in agreeing)
        if more > 7 * needed + 10:
            wide.append(f"{title}: {kind}: {pattern.pattern} ({needed} differ, {more} do not)")
    assert not wide, report(wide)


def test_state_is_left_as_found():
    """The calls above change printing options and devices; later tests rely on the defaults."""
    assert repr(mx.array(1 / 3)) == "array(0.333333, dtype=float32)"
