# SPDX-License-Identifier: Apache-2.0
"""DataLoader: batches of a data set, prepared ahead by threads, in an order that can be saved and resumed."""
from __future__ import annotations

import collections
import itertools
from typing import Any, Callable, Iterable, Iterator, Mapping

import numpy

from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow.data import _random
from minnow.data._dataset import IterableDataset, _batch_of, default_collate, seed_of
from minnow.data._samplers import BatchSampler, RandomSampler, SequentialSampler

Collate = Callable[[Any], Any]


def _as_vars(batch: Any) -> Any:
    """The batch with Vars for arrays of NumPy, over the same memory."""
    if isinstance(batch, numpy.ndarray):
        return Var(batch) if batch.dtype.kind in "biufc" else batch
    if isinstance(batch, dict):
        return {key: _as_vars(item) for key, item in batch.items()}
    if isinstance(batch, (tuple, list)):
        items = [_as_vars(item) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    return batch


class DataLoader:
    """Batches of a data set. Each `for batch in loader` is a pass over it.

    batch_size: samples in a batch; None gives single samples as they are. shuffle: random order, another one in each pass. sampler: the order,
    anything that iterates over numbers of samples; batch_sampler: lists of numbers, instead of batch_size, shuffle, sampler and drop_last.
    num_workers: threads that prepare batches ahead, prefetch_factor batches each (2); 0 prepares each when it is asked for. Decoding and
    the functions of minnow.cv release the GIL. drop_last: without a shorter last batch. collate_fn: makes a batch of a list of samples
    (default_collate); arrays of NumPy in its result become Vars over the same memory. seed, or a generator of NumPy that it is drawn from: of the
    order, and of the random streams of transforms; batches do not depend on num_workers. worker_init_fn: called in each thread with its number
    before its first batch. pin_memory, persistent_workers: accepted, and ignored.

    state_dict() is the position after the last batch that was given out; a loader that loads it goes on with the next one, to the bit, with any
    number of workers. An IterableDataset is read by one thread.

    Raises InvalidArgument (a ValueError) for arguments that exclude each other, and in the pass the errors of the data set; the loader then stays
    before the failed batch.

    >>> loader = data.DataLoader(data.TensorDataset(np.arange(5.0)), batch_size=2, shuffle=True, seed=1)
    >>> whole = [batch[0].tolist() for batch in loader]
    >>> len(loader), sorted(sum(whole, []))
    (3, [0.0, 1.0, 2.0, 3.0, 4.0])
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[int] | None = None,
                 batch_sampler: Iterable[Any] | None = None, num_workers: int = 0, collate_fn: Collate | None = None, drop_last: bool = False, *,
                 prefetch_factor: int | None = None, generator: Any = None, seed: int | None = None, worker_init_fn: Callable[[int], Any] | None = None,
                 pin_memory: bool = False, persistent_workers: bool = False) -> None:
        self.dataset, self.num_workers, self.drop_last = dataset, num_workers, drop_last
        self.seed = seed_of(seed, generator)
        self._iterable = isinstance(dataset, IterableDataset)
        for name, value, least in (("num_workers", num_workers, 0), ("prefetch_factor", 2 if prefetch_factor is None else prefetch_factor, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidArgument(f"{name} is an integer from {least}, not {value!r:.60}")
        if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
            raise InvalidArgument(f"batch_size is None or an integer from 1, not {batch_size!r:.60}")
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise InvalidArgument("an IterableDataset has its own order; leave shuffle, sampler and batch_sampler out")
        if sampler is not None and shuffle:
            raise InvalidArgument("shuffle and sampler exclude each other")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise InvalidArgument("batch_sampler takes the place of batch_size, shuffle, sampler and drop_last")
        if not self._iterable and not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
            raise InvalidType(f"a data set has __getitem__() and __len__(), or is an IterableDataset; this is {type(dataset).__name__}")
        self.prefetch_factor, self.worker_init_fn = prefetch_factor or 2, worker_init_fn
        self.batch_size = None if batch_sampler is not None else batch_size
        self.sampler: Any = sampler
        if sampler is None and not self._iterable and batch_sampler is None:
            self.sampler = RandomSampler(dataset, seed=self.seed) if shuffle else SequentialSampler(dataset)
        self._single = batch_size is None and batch_sampler is None
        self.batch_sampler: Any = batch_sampler
        if batch_sampler is None and not self._single and not self._iterable:
            self.batch_sampler = BatchSampler(self.sampler, batch_size or 1, drop_last)
        self.collate_fn: Collate = collate_fn or ((lambda sample: sample) if self._single else default_collate)
        self._whole = collate_fn is None and not self._single  # the data set may make a batch at once
        self._epoch = self._batches = 0
        self._goes_on = True  # the next pass continues at the position
        self._inner: Any = None  # the state of an IterableDataset
        self._pass: object = None  # a mark of the pass under way, which it has, too

    def __len__(self) -> int:
        if self._iterable:
            raise InvalidType("an IterableDataset has no length")
        return len(self.sampler if self._single else self.batch_sampler)

    @property
    def epoch(self) -> int:
        """The number of the pass that is under way, or comes next, from 0."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass be this one. Never fails."""
        self._epoch, self._batches, self._goes_on, self._inner, self._pass = epoch, 0, True, None, None

    def __iter__(self) -> Iterator[Any]:
        if not self._goes_on:  # an earlier pass ended before its last batch
            self.set_epoch(self._epoch + 1)
        self._goes_on = False
        return _Pass(self)

    def _order(self) -> Any:
        return self.sampler if self._single else self.batch_sampler

    def _described(self) -> list[Any]:
        """The facts that have to be equal where a position is resumed."""
        return [None if self._iterable else len(self.dataset), self.batch_size, bool(self.drop_last)]

    def state_dict(self) -> dict[str, Any]:
        """The position: the pass, how many of its batches were given out, and the seed; numbers and lists alone. Never fails."""
        state = {"seed": self.seed, "epoch": self._epoch, "batches": self._batches, "data": self._described()}
        if isinstance(getattr(self.sampler, "seed", None), int):
            state["sampler"] = self.sampler.seed
        if self._inner is not None:
            state["dataset"] = self._inner
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a position. Raises InvalidArgument (a ValueError), and changes nothing, if the state is that of another data set or batch
        size."""
        try:
            seed, epoch, batches, described = int(state["seed"]), int(state["epoch"]), int(state["batches"]), list(state["data"])
        except (KeyError, TypeError, ValueError):
            raise InvalidArgument("the state of a loader has seed, epoch, batches and data") from None
        if described != self._described():
            raise InvalidArgument(f"the position belongs to a data set of {described[0]} samples in batches of {described[1]}, "
                                  f"this loader has {self._described()[0]} in batches of {self._described()[1]}; drop_last has to be equal, too")
        self.set_epoch(epoch)
        self._batches, self.seed, self._inner = batches, seed, state.get("dataset")
        if "sampler" in state and hasattr(self.sampler, "seed"):
            self.sampler.seed = int(state["sampler"])


def _samples(loader: DataLoader, epoch: int, first: int, indices: Any) -> Any:
    """A batch: the samples of these numbers, of which the first is number `first` of the pass."""
    dataset, seed = loader.dataset, loader.seed
    if loader._single:
        with _random.of_sample(seed, epoch, first):
            return loader.collate_fn(dataset[indices])
    indices = list(indices)
    if loader._whole:
        made = _batch_of(dataset, indices)
        if made is not None:
            return made
    if hasattr(dataset, "__getitems__"):
        with _random.of_sample(seed, epoch, first):
            rows = dataset.__getitems__(indices)
    else:
        rows = []
        for i, index in enumerate(indices):
            with _random.of_sample(seed, epoch, first + i):
                rows.append(dataset[index])
    with _random.of_sample(seed, epoch, first, batch=True):
        return loader.collate_fn(rows)


def _numbered(loader: DataLoader) -> Iterator[Callable[[], Any]]:
    """A job for each batch that is left of the pass, which gives the batch, and None."""
    epoch, skipped, number = loader._epoch, loader._batches, 0
    order = loader._order()
    if hasattr(order, "set_epoch"):
        order.set_epoch(epoch)
    for place, indices in enumerate(order):
        first = number
        number += 1 if loader._single else len(indices)
        if place >= skipped:
            yield lambda first=first, indices=indices: (_samples(loader, epoch, first, indices), None)  # type: ignore[misc]


def _stream(loader: DataLoader) -> Iterator[Callable[[], Any]]:
    """A job, to be called again and again, which gives the next batch of an IterableDataset and the data set's state after it."""
    epoch, dataset, size = loader._epoch, loader.dataset, loader.batch_size or 1
    if hasattr(dataset, "set_epoch"):
        dataset.set_epoch(epoch)
    skip = number = loader._batches * size
    keeps = hasattr(dataset, "state_dict") and hasattr(dataset, "load_state_dict")
    ended = False
    if keeps and loader._inner is not None:
        dataset.load_state_dict(loader._inner["state"])
        skip, ended = 0, bool(loader._inner["ended"])
    source = iter(()) if ended else iter(dataset)

    def draw() -> Any:
        nonlocal number, skip, ended
        rows: list[Any] = []
        for i in itertools.count(number - skip):  # the samples before the position are drawn again
            if len(rows) == size or ended:
                break
            with _random.of_sample(loader.seed, epoch, i):
                try:
                    row = next(source)
                except StopIteration:
                    ended = True
                    break
            if skip:
                skip -= 1
            else:
                rows.append(row)
        first, number = number, number + len(rows)
        state = {"state": dataset.state_dict(), "ended": ended} if keeps else None
        if not rows or len(rows) < size and loader.drop_last:
            return _END, None
        if loader._single:
            return loader.collate_fn(rows[0]), state
        with _random.of_sample(loader.seed, epoch, first, batch=True):
            return loader.collate_fn(rows), state

    while not ended:
        yield draw


class _Pass:
    """The rest of one pass over the data."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._mark = loader._pass = object()
        self._left = _stream(loader) if loader._iterable else _numbered(loader)
        self._jobs: collections.deque[Any] = collections.deque()
        self._threads: Any = None
        if loader.num_workers:
            from concurrent.futures import ThreadPoolExecutor
            begin, numbers = loader.worker_init_fn, itertools.count()
            self._threads = ThreadPoolExecutor(1 if loader._iterable else loader.num_workers, "minnow-data",
                                               None if begin is None else lambda: begin(next(numbers)))
        self._ahead = loader.num_workers * loader.prefetch_factor

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        loader = self._loader
        try:
            if self._threads is None:
                job = next(self._left, None)
                batch, state = (_END, None) if job is None else job()
            else:
                while len(self._jobs) < self._ahead:
                    job = next(self._left, None)
                    if job is None:
                        break
                    self._jobs.append(self._threads.submit(job))
                batch, state = self._jobs.popleft().result() if self._jobs else (_END, None)
        except BaseException:
            if loader._pass is self._mark:
                loader._goes_on = True
            self.close()
            raise
        if batch is _END:
            self.close()
            if loader._pass is self._mark:
                loader.set_epoch(loader._epoch + 1)
            raise StopIteration
        if loader._pass is self._mark:
            loader._batches += 1
            loader._inner = state
        return _as_vars(batch)

    def close(self) -> None:
        """End the pass and its threads."""
        self._left = iter(())
        self._jobs.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def __del__(self) -> None:
        if getattr(self, "_threads", None) is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


_END = object()

__all__ = ["DataLoader"]
