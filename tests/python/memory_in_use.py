"""Bytes that arrays hold, measured so that a difference of two figures belongs to one test."""

import gc

import mlx.core as mx


def memory_in_use():
    """Bytes held once running work is over and the garbage of earlier tests is freed.

    Garbage that is collected between two figures of a test would count against the second one.
    """
    gc.collect()
    mx.synchronize()
    return mx.get_active_memory()


def settled_memory():
    """The same, with the cache of freed buffers emptied."""
    memory_in_use()
    mx.clear_cache()
    return mx.get_active_memory()
