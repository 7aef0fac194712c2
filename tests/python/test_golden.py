"""Every call of tests/golden against the recorded result of the published wheel.

A section of docs/differences.md explains each difference, and tests/golden/differences.txt has the
patterns of its calls. Every pattern must match a difference. For rounding differences, a pattern
has a bound: `value up to 1e-6: pattern` is for results whose elements differ by no more than that
part of the largest one.
"""

import functools
import pathlib
import platform
import re

import outcome
import pytest
import record
import second_backend

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = record.families()


@functools.cache
def recorded(family):
    """The records of a family."""
    return record.load(family)


def published():
    """All functions and array members that recorded calls use and the wheel has."""
    return {name for family in FAMILIES for name in recorded(family)["functions"]}


@functools.cache
def explanations():
    """(section, kind, bound, pattern) of the lines of tests/golden/differences.txt."""
    entries, title = [], None
    for line in (ROOT / "tests/golden/differences.txt").read_text().splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line and not line.startswith("# "):
            kind, pattern = line.split(": ", 1)
            kind, _, bound = kind.partition(" up to ")
            entries.append((title, kind, float(bound or "inf"), re.compile(pattern)))
    return entries


def test_every_explanation_is_below_a_title_of_the_page():
    page = (ROOT / "docs/differences.md").read_text()
    titles = set(re.findall(r"^##+ (.*)$", page, flags=re.M))
    assert {title for title, *_ in explanations()} <= titles


# Answers of the device itself: recorded on a machine whose only one is the CPU.
ABOUT_DEVICES = re.compile(
    r"(?<!repr\()mx\.gpu|cuda\.is_available|^repr\(mx\.default_(device|stream)\([\w.]*\)\)$"
)
ABOUT_ANY_GPU = re.compile(r"force_fused=True")  # refused on the CPU alone
ABOUT_CUDA = re.compile(r"__dlpack_device__|fast\.(precompiled_)?cuda_kernel")
ROUNDED = 1e-6  # of the largest element: kernels of a GPU add in an order of their own


def on_gpu():
    """Whether the device under test is a machine's GPU, not a stand-in for one."""
    return second_backend.in_use() is None and mx.default_device() == mx.gpu


def rounding(call):
    """The part of the largest element by which a result may differ without an explanation."""
    # NumPy's own functions have kernels of their own for each kind of processor.
    of_numpy = call.startswith("np.") and platform.machine() != "x86_64"
    return ROUNDED if on_gpu() or of_numpy else 0.0


def applies(call):
    """Whether what was recorded of a call holds on the device under test."""
    if second_backend.in_use() is None and not on_gpu():
        return True
    if ABOUT_DEVICES.search(call) or ABOUT_ANY_GPU.search(call):
        return False
    return not (on_gpu() and ABOUT_CUDA.search(call))


def judge(want, got):
    """None where an outcome agrees with the recorded one, else (kinds, distance, message).

    Kinds name what is different: the classes of an exception raised here, with 'argument' for the
    ValueError or TypeError where the wheel has a RuntimeError, 'returns' where the wheel raises,
    'late' for an error that comes only at evaluation, or what differs between two results. The
    distance is that of two values, else 0.
    """
    if "crash" in want or "hang" in want:
        return None  # whatever this process survives is better
    if got[0] == "raise":
        classes = [c.__name__ for c in type(got[1]).__mro__[:-2]]
        if "raise" not in want:
            return classes, 0.0, f"{classes[0]} at {got[2]} ({got[1]}), recorded {want}"
        if want["raise"] not in classes:
            if want["raise"] == "RuntimeError" and {"ValueError", "TypeError"} & set(classes):
                classes.append("argument")
            return classes, 0.0, f"{classes[0]} ({got[1]}), recorded {want['raise']}"
        if want["at"] == "call" and got[2] == "eval":
            return ["late"], 0.0, f"{classes[0]} only at eval, recorded at call"
        return None
    if "value" not in want:
        return ["returns"], 0.0, f"{got[1]!r}, recorded {want}"
    found = outcome.difference(want["value"], got[1])
    if not found:
        return None
    away = outcome.distance(want["value"], got[1]) if found[0] == "value" else 0.0
    return [found[0]], away, f"{found[1]} (by up to {away:.1e} of the largest)"


# Families with many calls are tests of several parts: a device compiles kernels for each call.
PARTS = {"elementwise": 8, "reduce": 2}


@functools.cache
def judged_part(family, part):
    """`judged` of a part of the calls: neighbours in the table."""
    calls, parts = recorded(family)["calls"], PARTS.get(family, 1)
    found = []
    for call, want in calls[len(calls) * part // parts : len(calls) * (part + 1) // parts]:
        if not applies(call):
            continue
        different = judge(want, outcome.run(call))
        if different:
            reason = next(
                (
                    n
                    for n, (_, kind, bound, pattern) in enumerate(explanations())
                    if kind in different[0] and different[1] <= bound and pattern.search(call)
                ),
                None,
            )
            found.append((call, *different, reason))
    return found


def judged(family):
    """(call, kinds, distance, message, number of the explanation or None) of what differs."""
    return [found for part in range(PARTS.get(family, 1)) for found in judged_part(family, part)]


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


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize(
    "family, part",
    [
        pytest.param(family, part, id=f"{family}-{part}" if family in PARTS else family)
        for family in FAMILIES
        for part in range(PARTS.get(family, 1))
    ],
)
def test_golden(family, part):
    unexplained = [
        f"{call}\n    {message}"
        for call, kinds, away, message, reason in judged_part(family, part)
        if reason is None and not (kinds == ["value"] and 0 < away <= rounding(call))
    ]
    assert not unexplained, report(unexplained)


@pytest.mark.cpu_only("explanations are of the results of the CPU")
def test_every_explanation_explains_something():
    used = {reason for family in FAMILIES for *_, reason in judged(family)}
    idle = [
        f"{t}: {k}: {p.pattern}" for n, (t, k, _, p) in enumerate(explanations()) if n not in used
    ]
    assert not idle, report(idle)


@pytest.mark.cpu_only("explanations are of the results of the CPU")
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
    for n, (title, kind, _, pattern) in enumerate(explanations()):
        needed = sum(reason == n for reason in differing.values())
        more = sum(pattern.search(call) is not None for call in agreeing)
        if more > 7 * needed + 10:
            wide.append(f"{title}: {kind}: {pattern.pattern} ({needed} differ, {more} do not)")
    assert not wide, report(wide)


@pytest.mark.cpu_only("explanations are of the results of the CPU")
def test_bounds_are_near_the_errors():
    """A bound is at most ten times what was found, and what looks like rounding has one."""
    found = {}
    for family in FAMILIES:
        for _, kinds, away, _, reason in judged(family):
            if "value" in kinds and reason is not None:
                found[reason] = max(found.get(reason, 0.0), away)
    wrong = []
    for n, largest in found.items():
        title, _, bound, pattern = explanations()[n]
        if bound > 10 * largest if bound < float("inf") else 0 < largest < 0.003:
            wrong.append(f"{title}: up to {bound}, found {largest:.1e}: {pattern.pattern}")
    assert not wrong, report(wrong)


def test_few_calls_are_about_devices():
    about = [c for f in FAMILIES for c, _ in recorded(f)["calls"] if ABOUT_DEVICES.search(c)]
    assert 0 < len(about) <= 12, report(about)


def test_a_result_beyond_its_bound_is_not_explained(monkeypatch):
    bounds = sorted(b for *_, b, _ in explanations() if b < float("inf"))
    assert len(bounds) > 8 and bounds[0] > 0
    monkeypatch.setattr(outcome, "distance", lambda want, got: 0.2)
    judged_part.cache_clear()
    try:
        family = next(f for f in FAMILIES if f.startswith("fast"))
        failing = [call for call, *_, reason in judged(family) if reason is None]
        assert any("mx.fast.rope(x(bf16" in call for call in failing)
    finally:
        judged_part.cache_clear()


def test_state_is_left_as_found():
    """The calls above change printing options and devices; later tests rely on the defaults."""
    assert repr(mx.array(1 / 3)) == "array(0.333333, dtype=float32)"
