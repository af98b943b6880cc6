# SPDX-License-Identifier: Apache-2.0
"""Samplers: the order in which a loader takes samples, the same for the same seed and pass."""
from __future__ import annotations

from typing import Any, Iterable, Iterator, Sequence, Sized

import numpy

from minnow._minnow import InvalidArgument
from minnow.data import _random
from minnow.data._dataset import seed_of


class Sampler:
    """An order of samples: a derived class defines __iter__() and __len__(). A loader calls set_epoch(epoch) before each pass and expects the same
    order for the same epoch. Never fails by itself."""
    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the pass whose order __iter__() gives. Never fails."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")


class SequentialSampler(Sampler):
    """0, 1, 2 ... Never fails."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order of all samples, or with `replacement` random samples; num_samples: how many, by default as many as there are. Raises
    InvalidArgument (a ValueError) for an empty data set, and for more samples than there are without replacement.

    >>> sampler = data.RandomSampler(range(5), seed=3)
    >>> sorted(sampler) == list(range(5)) and list(sampler) == list(sampler)
    True
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None, *, seed: int | None = None) -> None:
        self.data_source, self.replacement, self.seed = data_source, replacement, seed_of(seed, generator)
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if not len(data_source):
            raise InvalidArgument("the data set is empty; a random order takes one sample or more")
        if self.num_samples < 1 or not replacement and self.num_samples > len(data_source):
            raise InvalidArgument(f"num_samples is {self.num_samples}; the data set has {len(data_source)} samples")

    def __iter__(self) -> Iterator[int]:
        random = _random.order_stream(self.seed, self.epoch)
        count = len(self.data_source)
        order = random.integers(count, size=self.num_samples) if self.replacement else random.permutation(count)[:self.num_samples]
        return iter(order.tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These samples in random order. Never fails."""

    def __init__(self, indices: Sequence[int], generator: Any = None, *, seed: int | None = None) -> None:
        self.indices, self.seed = indices, seed_of(seed, generator)

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in _random.order_stream(self.seed, self.epoch).permutation(len(self.indices)).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """num_samples samples, each drawn in proportion to its weight. Raises InvalidArgument (a ValueError) for negative weights and none above 0."""

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None, *, seed: int | None = None) -> None:
        self.weights = numpy.asarray(weights, numpy.float64)
        self.num_samples, self.replacement, self.seed = num_samples, replacement, seed_of(seed, generator)
        positive = int((self.weights > 0).sum())
        if self.weights.ndim != 1 or not numpy.isfinite(self.weights).all() or (self.weights < 0).any() or not positive:
            raise InvalidArgument("weights are a list of finite numbers from 0, one of them above 0")
        if num_samples < 1 or not replacement and num_samples > positive:
            raise InvalidArgument(f"num_samples is {num_samples}; {positive} samples have a weight above 0")

    def __iter__(self) -> Iterator[int]:
        random = _random.order_stream(self.seed, self.epoch)
        return iter(random.choice(len(self.weights), self.num_samples, self.replacement, self.weights / self.weights.sum()).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size samples in a sampler's order; drop_last leaves a shorter last one out. Raises InvalidArgument (a ValueError) for a batch
    size below 1.

    >>> list(data.BatchSampler(data.SequentialSampler(range(5)), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise InvalidArgument(f"batch_size is an integer from 1, not {batch_size!r:.60}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def set_epoch(self, epoch: int) -> None:
        """Choose the pass whose order __iter__() gives. Never fails."""
        self.epoch = epoch
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


__all__ = ["Sampler", "SequentialSampler", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "BatchSampler"]
