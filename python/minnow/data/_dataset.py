# SPDX-License-Identifier: Apache-2.0
"""Data sets: what has a length and samples by number, and what can only be iterated over."""
from __future__ import annotations

import bisect
from typing import Any, Iterable, Iterator, Sequence

import numpy

from minnow._minnow import InvalidArgument, InvalidIndex, Var
from minnow.data import _random


class Dataset:
    """Samples by number. A derived class defines __getitem__(index), which several threads may call at once, and __len__(); as in torch also
    __getitems__(indices), which gives a list of samples. A sample is an array, a number, or a tuple, list or dict of these. Raises
    NotImplementedError for methods that are not defined."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])

    def _batch(self, indices: Sequence[int]) -> Any:
        """The samples of these numbers as one batch of arrays; None if they have to be collated one by one."""
        return None


class IterableDataset(Dataset):
    """Samples one after another: a derived class defines __iter__(). It has no length and no order but its own. With state_dict() and
    load_state_dict() a loader resumes it directly; otherwise the loader draws the samples anew and drops those it had. Raises
    NotImplementedError for methods that are not defined."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


def checked(index: int, length: int) -> int:
    """The index from 0 on."""
    if not -length <= index < length:
        raise InvalidIndex(f"there is no sample {index}; the data set has {length}")
    return index + length if index < 0 else index


class TensorDataset(Dataset):
    """The rows of arrays with the same first dimension; a sample is a tuple with a row of each. Raises InvalidArgument (a ValueError) where the
    first dimensions differ, InvalidIndex (an IndexError) for samples that are not there.

    >>> pairs = data.TensorDataset(np.arange(6).reshape(3, 2), np.array([0, 1, 0]))
    >>> len(pairs), pairs[1][0].tolist(), int(pairs[1][1])
    (3, [2, 3], 1)
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise InvalidArgument("a TensorDataset takes one array or more")
        self.tensors: tuple[Any, ...] = tuple(numpy.asarray(tensor) for tensor in tensors)
        for i, tensor in enumerate(self.tensors):
            if not tensor.ndim or len(tensor) != len(self.tensors[0]):
                raise InvalidArgument(f"the arrays have rows for the same samples; array 0 has the shape {self.tensors[0].shape}, array {i} {tensor.shape}")

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        index = checked(index, len(self))
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def _batch(self, indices: Sequence[int]) -> Any:
        places = numpy.asarray(indices, numpy.int64)
        if places.size and not (-len(self) <= places.min() and places.max() < len(self)):
            raise InvalidIndex(f"there is no sample {int(places.max())}; the data set has {len(self)}")
        return tuple(tensor[places] for tensor in self.tensors)


class Subset(Dataset):
    """The samples of a data set with these numbers, in this order. Raises InvalidIndex (an IndexError) for samples that are not there."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[checked(index, len(self))])]

    def __len__(self) -> int:
        return len(self.indices)

    def _batch(self, indices: Sequence[int]) -> Any:
        return _batch_of(self.dataset, [int(self.indices[checked(i, len(self))]) for i in indices])


class ConcatDataset(Dataset):
    """Data sets one after another. Raises InvalidArgument (a ValueError) for none and for one without a length, InvalidIndex (an IndexError) for
    samples that are not there."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets or any(isinstance(one, IterableDataset) for one in self.datasets):
            raise InvalidArgument("a ConcatDataset takes one data set or more, each with a length")
        self.cumulative_sizes: list[int] = []
        for one in self.datasets:
            self.cumulative_sizes.append(len(one) + (self.cumulative_sizes[-1] if self.cumulative_sizes else 0))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        index = checked(index, len(self))
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


def random_split(dataset: Dataset, lengths: Sequence[int | float], *, seed: int | None = None, generator: numpy.random.Generator | None = None) -> list[Subset]:
    """Parts of a data set with these numbers of samples, or these shares, which add up to 1, in random order. The first parts get the samples
    that rounding leaves. seed, or a generator of NumPy from which it is drawn: by default from data.seed(). Raises InvalidArgument (a ValueError)
    where the lengths do not add up to the data set's.

    >>> [len(part) for part in data.random_split(data.TensorDataset(np.arange(10)), [0.75, 0.25], seed=1)]
    [8, 2]
    """
    count = len(dataset)
    sizes = [int(length) for length in lengths]
    if abs(sum(lengths) - 1) < 1e-6 and not all(isinstance(length, int) for length in lengths):
        sizes = [int(count * share + 1e-9) for share in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != count or any(size < 0 for size in sizes):
        raise InvalidArgument(f"the lengths {list(lengths)} add up to {sum(sizes)}; the data set has {count} samples")
    order = _random.order_stream(seed_of(seed, generator), 0).permutation(count).tolist()
    ends = numpy.cumsum([0, *sizes])
    return [Subset(dataset, order[begin:end]) for begin, end in zip(ends[:-1], ends[1:])]


def seed_of(seed: int | None, generator: Any) -> int:
    """The seed that is given, or one from the generator, or from data.seed()."""
    if seed is not None:
        return int(seed)
    if generator is None:
        return _random.fresh_seed()
    return int(generator.integers(1 << 63)) if hasattr(generator, "integers") else int(generator)


def _batch_of(dataset: Any, indices: Sequence[int]) -> Any:
    """One batch of arrays, if the data set gives that."""
    return dataset._batch(indices) if isinstance(dataset, Dataset) else None


def default_collate(samples: Sequence[Any]) -> Any:
    """One batch of samples: arrays are stacked, numbers become arrays (int64, float32, bool), texts a list, tuples, lists and dicts are collated
    by element. The arrays are NumPy's. Raises InvalidArgument (a ValueError) where samples differ in shape or form.

    >>> data.default_collate([(np.zeros(2), 3), (np.ones(2), 4)])
    (array([[0., 0.],
           [1., 1.]]), array([3, 4]))
    """
    first = samples[0]
    if isinstance(first, (numpy.ndarray, numpy.generic, Var)):
        arrays = [numpy.asarray(sample) for sample in samples]
        for i, array in enumerate(arrays):
            if array.shape != arrays[0].shape:
                raise InvalidArgument(f"samples 0 and {i} of a batch have the shapes {arrays[0].shape} and {array.shape}; a transform such as Resize makes them equal, or size in [data] of a recipe")
        return numpy.stack(arrays)
    if isinstance(first, bool):
        return numpy.array(samples, numpy.bool_)
    if isinstance(first, int):
        return numpy.array(samples, numpy.int64)
    if isinstance(first, float):
        return numpy.array(samples, numpy.float32)
    if isinstance(first, (str, bytes)) or first is None:
        return list(samples)
    if isinstance(first, dict):
        if any(sample.keys() != first.keys() for sample in samples):
            raise InvalidArgument("the samples of a batch are dicts with different keys")
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in samples):
            raise InvalidArgument("the samples of a batch are tuples of different lengths")
        parts = [default_collate(part) for part in zip(*samples)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    raise InvalidArgument(f"a sample is an array, a number, a text, or a tuple, list or dict of these, not {type(first).__name__}; collate_fn may take others")


__all__ = ["Dataset", "IterableDataset", "TensorDataset", "Subset", "ConcatDataset", "random_split", "default_collate"]
