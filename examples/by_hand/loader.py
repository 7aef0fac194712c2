"""Batches that processes prepare: the same ones in the same order, with any number of processes.

python examples/by_hand/loader.py

The order of an epoch depends on a seed and the epoch's number, and the random part of a sample on
these and the sample's number. So a run can stop and go on, and the number of processes changes
nothing.
"""

import multiprocessing
from collections.abc import Iterator

import numpy as np

import mlx.core as mx

SEED, SAMPLES, SIZE = 7, 40, 8
DATA = np.random.default_rng(0).normal(size=(SAMPLES, 16)).astype(np.float32)

Job = tuple[int, list[int]]


def prepare(job: Job) -> np.ndarray:
    """A batch, with noise: the slow work of a program, such as decoding, belongs here."""
    epoch, numbers = job
    noise = [np.random.default_rng([SEED, epoch, n]).normal(size=16) for n in numbers]
    return DATA[numbers] + 0.1 * np.array(noise, np.float32)


def batches(epoch: int, processes: int) -> Iterator[mx.array]:
    """The batches of an epoch, which processes prepare ahead of their use."""
    order = np.random.default_rng([SEED, epoch]).permutation(SAMPLES).tolist()
    jobs = [(epoch, order[i : i + SIZE]) for i in range(0, SAMPLES, SIZE)]
    if processes == 0:
        yield from map(mx.array, map(prepare, jobs))
        return
    # Children start anew, without threads and arrays of this process, and send NumPy arrays.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from map(mx.array, pool.imap(prepare, jobs))


def main() -> None:
    """Print the sum of each batch of an epoch, by one process and by two."""
    for processes in (0, 2):
        sums = [round(x.sum().item(), 4) for x in batches(epoch=3, processes=processes)]
        print(f"{processes} more processes: {sums}")


if __name__ == "__main__":
    main()
