"""Making many calls from one template."""

import itertools
import re

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
ALL = ["b8", *INTS, *FLOATS, "c64"]
FEW = ["b8", "u8", "i32", "f16", "f32", "c64"]


def expand(template, **choices):
    """Every filling of the {names} of a template; a name that stands in no choice is left alone."""
    names = [n for n in choices if "{" + n + "}" in template]
    values = [choices[n].split() if isinstance(choices[n], str) else choices[n] for n in names]

    def fill(combination):
        chosen = dict(zip(names, map(str, combination), strict=True))
        return re.sub(r"\{(\w+)\}", lambda m: chosen.get(m.group(1), m.group(0)), template)

    return [fill(combination) for combination in itertools.product(*values)]


def lines(text):
    """The non-empty lines of a block of calls."""
    return [line.strip() for line in text.splitlines() if line.strip()]
