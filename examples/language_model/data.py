"""Python's own standard library as text: bytes are the tokens."""

import pathlib
import sysconfig

import numpy as np

import mlx.core as mx

VOCABULARY = 256


def sources(limit: int = 2_000_000) -> tuple[mx.array, mx.array]:
    """The library's modules, at most `limit` bytes: a part to train on, and the last twentieth."""
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    text = b"\n".join(path.read_bytes() for path in sorted(library.glob("*.py")))
    return split(text[:limit])


def prose(limit: int = 600_000) -> tuple[mx.array, mx.array]:
    """The text of `help()`: English about Python, for a model that has seen only programs."""
    from pydoc_data.topics import topics

    return split("\n".join(topics[name] for name in sorted(topics)).encode()[:limit])


def split(text: bytes) -> tuple[mx.array, mx.array]:
    """Bytes as arrays of tokens: nineteen twentieths, and the rest."""
    tokens = np.frombuffer(text, np.uint8)
    start = len(tokens) * 19 // 20
    return mx.array(tokens[:start]), mx.array(tokens[start:])


def windows(tokens: mx.array, rows: int, length: int) -> tuple[mx.array, mx.array]:
    """Random pieces `(rows, length)` and, for each byte, the one that follows it."""
    starts = mx.random.randint(0, tokens.size - length, (rows, 1))
    pieces = tokens[starts + mx.arange(length + 1)]
    return pieces[:, :-1], pieces[:, 1:]
