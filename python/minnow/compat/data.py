# SPDX-License-Identifier: Apache-2.0
"""MNN.data: data sets and loaders with MNN's interface."""
from __future__ import annotations

from typing import Any

from minnow import expr
from minnow._minnow import InvalidArgument
from minnow.compat._values import as_mnn, own


class Dataset:
    """A data set: __getitem__(index) gives a pair of lists, the inputs and the targets of a sample, and __len__() how many there are."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")


class DataLoader:
    """Batches of a data set. next() gives the lists of inputs and of targets of the next batch; reset() begins anew, in another order with
    shuffle. num_workers is accepted; samples are made on the thread that calls."""

    def __init__(self, dataset: Any, batch_size: int, shuffle: bool = True, num_workers: int = 0) -> None:
        from minnow import data  # needs NumPy
        self._dataset = dataset
        self._loader = data.DataLoader(dataset, batch_size, shuffle, collate_fn=lambda samples: samples)
        self._pass = iter(self._loader)

    @property
    def iter_number(self) -> int:
        """The number of batches of a pass."""
        return len(self._loader)

    @property
    def size(self) -> int:
        """The number of samples."""
        return len(self._dataset)

    def reset(self) -> None:
        """Begin a new pass."""
        self._pass = iter(self._loader)

    def next(self) -> tuple[list[Any], list[Any]]:
        """The next batch. Raises InvalidArgument (a ValueError) after the last one."""
        samples = next(self._pass, None)
        if samples is None:
            raise InvalidArgument("the pass over the data is at its end; reset() begins another")
        made = []
        for part in (0, 1):
            columns = zip(*[sample[part] for sample in samples])
            made.append([as_mnn(expr.concat([expr.unsqueeze(own(value), [0]) for value in column], axis=0)) for column in columns])
        return made[0], made[1]


__all__ = ["DataLoader", "Dataset"]
