# SPDX-License-Identifier: Apache-2.0
"""Data for training, with torch's names: data sets, loaders that can be resumed, files, and transforms of pictures.

    pictures = data.ImageFolder("photos", data.transforms.Compose([data.transforms.RandomResizedCrop(224), data.transforms.ToTensor()]))
    for images, labels in data.DataLoader(pictures, batch_size=32, shuffle=True, num_workers=2, seed=1): ...

Samples are arrays of NumPy, which this module needs; batches of a loader are Vars.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from minnow import _minnow
from minnow._functions import all_suggesting

if TYPE_CHECKING:
    from minnow.data import transforms as transforms
    from minnow.data._boxes import BoxDataset
    from minnow.data._dataset import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, default_collate, random_split
    from minnow.data._files import (CIFAR10, CIFAR100, IMG_EXTENSIONS, MNIST, ArrayDataset, CSVDataset, FashionMNIST, ImageFolder, NPZDataset, read_idx,
                                    read_image)
    from minnow.data._loader import DataLoader
    from minnow.data._random import seed, stream
    from minnow.data._samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

_PARTS = {"_boxes": ("BoxDataset",),
          "_dataset": ("ConcatDataset", "Dataset", "IterableDataset", "Subset", "TensorDataset", "default_collate", "random_split"),
          "_files": ("ArrayDataset", "CIFAR10", "CIFAR100", "CSVDataset", "FashionMNIST", "IMG_EXTENSIONS", "ImageFolder", "MNIST", "NPZDataset", "read_idx",
                     "read_image"),
          "_loader": ("DataLoader",),
          "_random": ("seed", "stream"),
          "_samplers": ("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler")}


def _load() -> None:
    """All names, with NumPy."""
    try:
        import numpy as _numpy  # noqa: F401
    except ImportError:
        raise ImportError("minnow.data needs NumPy: pip install numpy") from None
    for part, names in _PARTS.items():
        module = importlib.import_module(f"minnow.data.{part}")
        globals().update({name: getattr(module, name) for name in names})
    globals()["transforms"] = importlib.import_module("minnow.data.transforms")
    all_suggesting(globals(), [name for name in __all__ if name != "transforms"])


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'minnow.data' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))
        _load()
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted(__all__)

__all__ = ["ArrayDataset", "BatchSampler", "BoxDataset", "CIFAR10", "CIFAR100", "CSVDataset", "ConcatDataset", "DataLoader", "Dataset", "FashionMNIST",
           "IMG_EXTENSIONS", "ImageFolder", "IterableDataset", "MNIST", "NPZDataset", "RandomSampler", "Sampler", "SequentialSampler", "Subset",
           "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "random_split", "read_idx", "read_image", "seed",
           "stream", "transforms"]
