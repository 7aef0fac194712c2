"""The hot loops for 64-bit Arm hold vector instructions, and call nothing.

usage: loops.py FOLDER    the folder of the objects that are compiled for NEON

An emulator tells nothing about speed, so the instructions of a few loops are counted: all of a row
have to be in one innermost loop of the function. Prints the missing ones and exits with 1.
"""

import pathlib
import re
import subprocess
import sys

OBJDUMP = "aarch64-linux-gnu-objdump"
# File, function, and how many instructions of each kind its loop has at least.
LOOPS = [
    ("elementwise_float32", r"light<.*bodies::add, 2, .*Float32, false>", {"fadd v.4s": 4}),
    ("elementwise_float32", r"heavy_loop<.*bodies::exp, 1, .*Float32>", {"fmla v.4s": 4}),
    ("reduce_sum", r"Kernel<.*Sum<float, float> >::long_row<false>", {"fadd v.4s": 16}),
    ("reduce_sum", r"Kernel<.*Sum<signed char, unsigned int> >::short_block", {"saddw v.4s": 8}),
    ("softmax", r"Kernels<.*Float32>::sum_exp\(", {"fmla v.4s": 4, "fadd v.4s": 1}),
    ("gemm", r"register_tile<.*MultiplyFloats, 8, 3>", {"fmla v.4s": 24}),
]
BRANCH = re.compile(r"^(b|b\.\w+|cbn?z|tbn?z)$")


def functions(path):
    """The instructions of each function: address, mnemonic, operands."""
    command = [OBJDUMP, "-dC", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, name = {}, None
    for line in text.splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            name = head[1]
            found[name] = []
        elif row := re.match(r"^ *([0-9a-f]+):\t(\S+)\t?(.*)$", line):
            found[name].append((int(row[1], 16), row[2], row[3]))
    return found


def innermost_loops(code):
    """The instructions from each target of a branch back to that branch; no loops around loops."""
    places = {address: i for i, (address, _, _) in enumerate(code)}
    spans = set()
    for i, (_, mnemonic, operands) in enumerate(code):
        target = re.search(r"\b([0-9a-f]+) <", operands)
        if BRANCH.match(mnemonic) and target and places.get(int(target[1], 16), i + 1) <= i:
            spans.add((places[int(target[1], 16)], i))
    for begin, end in sorted(spans):
        if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in spans):
            yield code[begin : end + 1]


def kind(mnemonic, operands):
    """The mnemonic and the lanes of the first register: "fmla v.4s"."""
    register = re.match(r"v\d+(\.\w+)", operands)
    return f"{mnemonic} v{register[1]}" if register else mnemonic


def holds(loop, wanted):
    kinds = [kind(mnemonic, operands) for _, mnemonic, operands in loop]
    return "bl" not in kinds and all(kinds.count(k) >= n for k, n in wanted.items())


def faults(folder):
    """One line for each row that no loop meets."""
    for file, name, wanted in LOOPS:
        of = {k: v for k, v in functions(folder / f"{file}.cpp.o").items() if re.search(name, k)}
        if not of:
            yield f"{file}: no function {name}"
        elif not any(holds(loop, wanted) for code in of.values() for loop in innermost_loops(code)):
            yield f"{file}: no loop of {name} has {wanted} and no call"


def main(folder):
    found = list(faults(pathlib.Path(folder)))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
