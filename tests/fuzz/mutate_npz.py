"""Mutate .npz archives for some seconds: python tests/fuzz/mutate_npz.py SECONDS

The reader of archives is Python's zipfile and a part of the bindings, so libFuzzer does not see it:
this driver changes bytes of small archives without guidance. Anything but arrays or FileError stops
it; the archive is then in build/fuzz.
"""

import io
import os
import pathlib
import random
import sys
import time
import warnings

import mlx.core as mx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tests" / "golden")]

from test_damaged_files import sound_files  # noqa: E402

EDGES = [
    b"\0",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\1\0\0\0",
    b"PK\1\2",
    b"PK\3\4",
    b"PK\5\6",
]


def mutated(rng, content):
    """A copy with bytes changed, removed, repeated and replaced by edge values."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(content))
        change = rng.randrange(5)
        if change == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            edge = rng.choice(EDGES)
            content[at : at + len(edge)] = edge
        elif change == 2:
            content[at] = rng.randrange(256)
        elif change == 3:
            del content[at : at + rng.randrange(1, 20)]
        else:
            content[at:at] = content[at : at + rng.randrange(1, 60)]
        if not content:
            break
    return bytes(content)


def main():
    """Run until the time is over."""
    warnings.simplefilter("ignore")
    seeds = [content for kind, content in sound_files().items() if kind.startswith("npz")]
    seed = int(time.time())
    rng, end, runs, read = random.Random(seed), time.time() + float(sys.argv[1]), 0, 0
    descriptor = os.memfd_create("a")
    path = f"/proc/self/fd/{descriptor}"
    while time.time() < end:
        content = mutated(rng, rng.choice(seeds))
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)
        for source in (path, io.BytesIO(content)):
            try:
                mx.eval(mx.load(source, format="npz"))
                read += 1
            except mx.FileError:
                pass
            except BaseException:
                found = ROOT / "build" / "fuzz" / f"found-npz-{seed}-{runs}"
                found.write_bytes(content)
                print(f"See {found}")
                raise
            runs += 1
    print(f"Done {runs} runs, of which {read} read the archive")


if __name__ == "__main__":
    main()
