# SPDX-License-Identifier: Apache-2.0
"""Random streams of samples. A stream depends on the seed, the pass, the sample's number in the pass and the place of the call, and therefore
not on workers: Philox counters, Salmon et al. 2011."""
from __future__ import annotations

import contextlib
import os
import threading
from typing import Iterator

import numpy


class _Current(threading.local):
    """The key of the sample that this thread prepares, and how many streams it took."""
    key: tuple[int, int, int] | None = None
    place = 0


_current = _Current()
_MASK = (1 << 64) - 1
_OUTSIDE, _BATCHES = _MASK, 1 << 63


class _Outside:
    """Streams of calls outside of a loader."""
    lock = threading.Lock()
    seed = int.from_bytes(os.urandom(8), "little")
    taken = 0


def seed(value: int) -> None:
    """Begin the random streams of transforms that are called outside of a DataLoader anew, and the seeds of loaders that are given none.
    Never fails."""
    with _Outside.lock:
        _Outside.seed, _Outside.taken = int(value) & _MASK, 0


def stream() -> numpy.random.Generator:
    """The next random stream: inside a DataLoader that of the sample, so that a transform draws the same numbers whatever the number of workers;
    outside one that continues from seed(). Take one for each call of a transform. Never fails."""
    key = _current.key
    if key is None:
        with _Outside.lock:
            number, _Outside.taken = _Outside.taken, _Outside.taken + 1
        return numpy.random.Generator(numpy.random.Philox(key=numpy.array([_Outside.seed, _OUTSIDE], numpy.uint64), counter=[0, 0, number, 0]))
    place = _current.place
    _current.place += 1
    return numpy.random.Generator(numpy.random.Philox(key=numpy.array(key[:2], numpy.uint64), counter=[0, 0, key[2], place]))


def fresh_seed() -> int:
    return int(stream().integers(1 << 63))


def order_stream(seed: int, epoch: int) -> numpy.random.Generator:
    """The stream from which the order of a pass is drawn."""
    return numpy.random.Generator(numpy.random.Philox(key=numpy.array([seed & _MASK, epoch], numpy.uint64), counter=[0, 0, 0, 1 << 63]))


@contextlib.contextmanager
def of_sample(seed: int, epoch: int, number: int, batch: bool = False) -> Iterator[None]:
    """Inside, stream() gives the streams of this sample of a pass (or of this batch)."""
    before = _current.key, _current.place
    _current.key, _current.place = (seed & _MASK, epoch | (_BATCHES if batch else 0), number), 0
    try:
        yield
    finally:
        _current.key, _current.place = before
