"""Code for one instruction set must not run, or be linked, where another is in use.

usage: check_isa_objects.py READELF ISA OBJECT...

An object compiled for AVX-512 may have no initialiser, which would run wherever the library is
loaded, and no weak symbol outside of its instruction set's namespace, which the linker might pick
for all. Constants may be shared: they have no instructions. Prints what is wrong and exits
with 1.
"""

import subprocess
import sys

INITIALISERS = (".init_array", ".preinit_array", ".ctors")


def faults(readelf, isa, objects):
    """One line for each initialiser and each shared symbol."""
    namespace = f"3mlx4core3cpu{len(isa)}{isa}"  # as symbols spell it
    command = [readelf, "--file-header", "--sections", "--symbols", "--wide", *objects]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    name, sections = objects[0], {}
    for line in text.splitlines():
        words = line.replace("[ ", "[").split()
        if line.startswith("File: "):
            name, sections = line.removeprefix("File: "), {}
        elif len(words) > 2 and words[0].startswith("["):
            sections[words[0].strip("[]")] = words[1]
            if words[1].startswith(INITIALISERS):
                yield f"{name}: initialisers run when the library is loaded ({words[1]})"
        elif len(words) == 8 and words[4] in ("WEAK", "UNIQUE") and words[6] != "UND":
            constant = words[3] == "OBJECT" and sections[words[6]].startswith(".rodata")
            if namespace not in words[7] and not constant:
                yield f"{name}: {words[7]} is shared with other instruction sets"


def main(readelf, isa, *objects):
    objects = [o for o in objects if o.endswith(".o")]  # a precompiled header is none
    found = list(faults(readelf, isa, objects)) if objects else [f"no objects of {isa} given"]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
