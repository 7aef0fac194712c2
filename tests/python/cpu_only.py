"""Which tests `./dev test --device gpu` leaves out, and why: a table of docs/support.md."""

import ast
import pathlib

HERE = pathlib.Path(__file__).parent


def reason_of(node):
    """The reason of a mark `cpu_only` in an expression, or None."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "cpu_only":
            (reason,) = [*call.args, *(k.value for k in call.keywords)]
            return ast.literal_eval(reason)
    return None


def marked(path):
    """(test, reason) of each mark of a file; no test for all of them."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "pytestmark":
            found = [("", node.value)]
        else:
            found = [(node.name, d) for d in getattr(node, "decorator_list", [])]
        for name, expression in found:
            if reason := reason_of(expression):
                yield name, reason


def table():
    """The lines of the table."""
    lines = ["| tests | why not |", "|---|---|"]
    for path in sorted([*HERE.glob("test_*.py"), *HERE.glob("*/test_*.py")]):
        for test, reason in marked(path):
            name = path.relative_to(HERE).as_posix() + (f"::{test}" if test else "")
            lines.append(f"| `{name}` | {reason} |")
    return lines
