"""Function files whose ops get arguments and attributes that do not fit: refused or computed."""

import contextlib
import json
import math
import pathlib
import random
import re
import struct

from cases import families, names
from cases.table import device_array
from test_function_files import checksum, header_of

import mlx.core as mx

STATED = re.compile(
    r"gives shape \(([\d,]*)\) and dtype (\w+) where \(([\d,]*)\) and (\w+) are stated"
)
RESULTS = re.compile(r" has (\d+) results")
DTYPES = ["bool", "int32", "int64", "uint8", "uint32", "float32", "float16", "float64", "complex64"]
NUMBERS = [-(2**31), -2, -1, 0, 1, 2, 3, 5, 31, 2**31 - 1, 2**31, 2**62]
LARGEST = 1 << 16


def steps_of(header):
    """Each step of a file as a separate trace: the types of its inputs, and the step."""
    (trace,) = header["traces"]
    types = list(trace["inputs"])
    for constant in trace["constants"]:
        types.append(
            [constant[0], []] if isinstance(constant, list) else header["arrays"][constant]
        )
    for step in trace["steps"]:
        yield [types[i] for i in step["in"]], step
        types += step["out"]


def single_steps(path):
    """For each op that the case lists use, some of its types of inputs and attributes."""
    found = {}
    for family in names():
        for row in families(family) if family != "elementwise" else ():
            if not row.traced:
                continue
            dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
            given = [device_array(v) for v in row.host_inputs(dtype)]
            mx.export_function(path, row.results, *given)
            data = pathlib.Path(path).read_bytes()
            for inputs, step in steps_of(header_of(data)):
                found.setdefault(step["op"], []).append((inputs, step))
    return data[:16], found


def file_of(prefix, inputs, step, out):
    n = list(range(len(inputs)))
    trace = {"shapeless": False, "bound": "", "inputs": inputs, "keywords": [], "constants": []}
    trace["steps"] = [{**step, "in": n, "out": out}]
    trace["outputs"] = [len(n) + i for i in range(len(out))]
    text = json.dumps({"metadata": "", "arrays": [], "traces": [trace]}).encode()
    text += b" " * (-(24 + len(text)) % 64)
    body = prefix + struct.pack("<Q", len(text)) + text
    return body + checksum(body)


def changed_types(rng, inputs):
    """Other dtypes, ranks and lengths of the inputs."""
    inputs = [[dtype, list(shape)] for dtype, shape in inputs]
    for _ in range(rng.choice([1, 1, 1, 2])):
        given = rng.choice(inputs)
        shape = given[1]
        change = rng.randrange(6)
        if change == 0:
            given[0] = rng.choice(DTYPES)
        elif change == 1:
            given[1] = []
        elif change == 2 and shape:
            del shape[rng.randrange(len(shape))]
        elif change == 3 and shape:
            shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 7])
        elif change == 4:
            shape.insert(rng.randrange(len(shape) + 1), rng.choice([0, 1, 2]))
        else:
            given[1] = [0] * rng.choice([1, 2, 3])
    return inputs


def changed_attributes(rng, step):
    step = json.loads(json.dumps(step))
    attributes = step.get("attrs")
    if not attributes:
        return step
    key = rng.choice(sorted(attributes))
    value = attributes[key]
    if isinstance(value, list):
        for _ in range(rng.choice([1, 2])):
            action = rng.randrange(3)
            if action == 0 or not value:
                value.insert(rng.randrange(len(value) + 1), rng.choice(NUMBERS))
            elif action == 1:
                del value[rng.randrange(len(value))]
            else:
                value[rng.randrange(len(value))] = rng.choice(NUMBERS)
            if not value:
                break
    elif isinstance(value, str):
        attributes[key] = rng.choice(DTYPES)
    else:
        attributes[key] = rng.choice(NUMBERS)
    return step


def imported(path, prefix, inputs, step):
    """The function of one step, whatever types its results have; None if it is refused."""
    out = [["float32", []]] * len(step["out"])
    changed, known = set(), 0  # the error does not number the result, and the first one comes first
    for _ in range(24):
        pathlib.Path(path).write_bytes(file_of(prefix, inputs, step, out))
        try:
            return mx.import_function(path), out
        except mx.FileError as error:
            stated, count = STATED.search(str(error)), RESULTS.search(str(error))
            if count and int(count[1]) < 9:
                out = [["float32", []]] * int(count[1])
                continue
            if not stated:
                return None, None
            made, said = (
                [dtype, [int(n) for n in shape.split(",") if n]]
                for shape, dtype in (stated.group(1, 2), stated.group(3, 4))
            )
            at = next(i for i, o in enumerate(out) if i >= known and o == said)
            known = at + 1 if at in changed else known
            changed.add(at)
            out = [made if i == at else o for i, o in enumerate(out)]
    return None, None


def elements(rng, dtype, shape):
    a = mx.arange(max(1, math.prod(shape)))[: math.prod(shape)].reshape(shape) % rng.choice([2, 7])
    return (a - rng.choice([0, 0, 1])).astype(getattr(mx, dtype if dtype != "bool" else "bool_"))


def exercise(path, prefix, known, rng, count):
    computed = 0
    for _ in range(count):
        inputs, step = rng.choice(known)
        if rng.random() < 0.6:
            inputs = changed_types(rng, inputs)
        if rng.random() < 0.5:
            step = changed_attributes(rng, step)
        call, out = imported(path, prefix, inputs, step)
        if call is None or any(math.prod(s) > LARGEST for _, s in out + inputs):
            continue
        with contextlib.suppress(ValueError, RuntimeError, OverflowError, MemoryError, TypeError):
            mx.eval(call(*(elements(rng, *t) for t in inputs)))
            computed += 1
    return computed


def test_ops_of_files_with_arguments_that_do_not_fit(tmp_path):
    path = str(tmp_path / "f.mlxfn")
    prefix, found = single_steps(path)
    assert len(found) > 50 and "searchsorted" in found
    rng = random.Random(3)
    computed = sum(exercise(path, prefix, found[op], rng, 5) for op in sorted(found))
    assert computed > 40


def test_searchsorted_of_a_scalar_is_refused(tmp_path):
    path = str(tmp_path / "f.mlxfn")
    mx.export_function(path, mx.searchsorted, mx.arange(4.0), mx.array([1.0, 2.0]))
    data = pathlib.Path(path).read_bytes()
    ((inputs, step),) = steps_of(header_of(data))
    for other in ([["float32", []], inputs[1]], [["float32", [3, 4]], inputs[1]]):
        assert imported(path, data[:16], other, step)[0] is None
    other = [inputs[0], ["int32", [2]]]
    assert imported(path, data[:16], other, step)[0] is None
    assert imported(path, data[:16], inputs, step)[0] is not None
