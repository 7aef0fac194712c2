"""Recorded calls with randomly changed arguments must not crash the process.

The calls run in another process. A call may return anything, or raise an exception that Python or
mlx.core defines for bad arguments; it may not crash, hang or raise anything else.
"""

import ast
import pathlib
import random

import cases
import outcome
import pytest
import record
from processes import SANITIZED, run_program

pytestmark = pytest.mark.anywhere

SECONDS = 100 if SANITIZED else 20
INTS = [0, 1, -1, 2, 3, -3, 5, 7, 100, -100, -(2**31), 2**62, 2**63 - 1, -(2**63)]
FLOATS = ["0.0", "-1.5", "nan", "inf", "1e300", "7"]
ARRAYS = [
    "A(1.0)", "mx.zeros((0,))", "mx.zeros((0, 3))", "mx.ones((2, 3))", "mx.arange(6)", "None",
    "mx.ones((3, 3)).T[::-1]", "mx.zeros((2, 0, 3), mx.int8)", "mx.full((4,), nan)",
    "A([1, -7, 9])", "mx.ones((2, 3, 4, 5), mx.bfloat16)", "mx.ones((3,), mx.complex64)",
    "A([True, False])", "mx.broadcast_to(A(2.0), (2, 3))", "A([], mx.int32)",
    "mx.ones((2, 2), mx.float64)", "A(3, mx.uint64)", "mx.ones((1,) * 7)",
]  # fmt: skip
MAKERS = {"array", "ones", "zeros", "arange", "reshape", "astype", "full", "normal", "uniform", "x"}
# Functions that leave the process in another state, or have another meaning for changed names.
EXCLUDED = ("save", "load", "export", "set_", "compile", "seed", "np.", "**")


class Mutation(ast.NodeTransformer):
    """Replaces constants and made arrays, and drops last arguments, with a probability."""

    def __init__(self, rng, share):
        self.rng, self.share = rng, share

    def expression(self, choices):
        return ast.parse(self.rng.choice(choices), mode="eval").body

    def visit_Constant(self, node):
        if self.rng.random() >= self.share:
            return node
        if isinstance(node.value, bool):
            return ast.Constant(not node.value)
        if isinstance(node.value, int):
            return ast.Constant(self.rng.choice(INTS))
        return self.expression(FLOATS) if isinstance(node.value, float) else node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in MAKERS and self.rng.random() < self.share / 2:
            return self.expression(ARRAYS)
        if node.args and self.rng.random() < self.share / 5:
            node.args.pop()
        return node


def mutated(count, seed):
    """`count` changed calls."""
    rng = random.Random(seed)
    calls = [call for family in record.families() for call, _ in record.load(family)["calls"]]
    calls = [call for call in calls if not any(word in call for word in EXCLUDED)]
    for _ in range(count):
        tree = Mutation(rng, rng.choice([0.1, 0.3, 0.6])).visit(ast.parse(rng.choice(calls)))
        yield ast.unparse(tree)


def expected(error):
    """Whether the exception is one that says what is wrong with an argument."""
    classes = (TypeError, ValueError, IndexError, OverflowError, AttributeError, MemoryError)
    return isinstance(error, (*classes, NotImplementedError, BufferError, ZeroDivisionError))


def run_all(count, seed):
    """Run in the child: say each call before it is made, and what was wrong with it."""
    import resource
    import signal

    mapped = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = mapped + 2**33  # AddressSanitizer has mapped terabytes already
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for call in mutated(count, seed):
        print("call", call, flush=True)
        signal.alarm(SECONDS)  # its default action ends the process
        result = outcome.run(call)
        signal.alarm(0)
        if result[0] == "raise" and not expected(result[1]):
            print("odd", type(result[1]).__name__, result[1], flush=True)


def test_no_call_ends_the_process():
    everything = cases.chosen("mutated", 0)
    count, seed = (20000, 2) if everything else (800, cases.selection.SEED)
    code, out, err = run_program(
        f"import test_mutated_calls; test_mutated_calls.run_all({count}, {seed})", timeout=None
    )
    lines = out.splitlines()
    assert code == 0, f"{code} after {lines[-1:]}\n{err[-2000:]}"
    odd = [f"{lines[i - 1]}\n    {line}" for i, line in enumerate(lines) if line.startswith("odd ")]
    assert not odd, "\n".join(odd[:40])
    assert sum(line.startswith("call ") for line in lines) == count
