# SPDX-License-Identifier: Apache-2.0
"""The data of a recipe: data sets for training and validation with their transforms."""
from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy

from minnow import data
from minnow._minnow import InvalidArgument, nearest
from minnow._training import _detection
from minnow._training._recipe import Recipe
from minnow.data import transforms as T

_NAMED = {"mnist": data.MNIST, "fashion-mnist": data.FashionMNIST, "cifar10": data.CIFAR10, "cifar100": data.CIFAR100}
_VALIDATION = ("validation", "val", "valid", "test")


class Inputs(NamedTuple):
    """The data sets of a training."""
    train: Any
    validation: Any  #: None without
    classes: list[str]
    targets: Any  #: of all samples of the data set for training, an array, or None if they are not known before
    collate: Any  #: None for the usual
    standard: tuple[Any, Any] | None  #: mean and std of features, which the network takes as they are in the file
    preprocess: dict[str, Any] | None  #: how a picture becomes an input, for minnow.convert()


def _steps(recipe: Recipe, training: bool, pictures: bool, mean: Any, std: Any) -> Any:
    """The transform of pictures."""
    options, augment = recipe["data"], recipe["augment"]
    size = options["size"]
    pair = (size, size) if isinstance(size, int) else tuple(size) if size is not None else None
    if pair is not None and len(pair) == 1:
        pair = (pair[0], pair[0])
    steps: list[Any] = []
    if training and augment["resized_crop"]:
        if pair is None:
            recipe.fail("augment", "resized_crop needs [data] size")
        scale = (0.08, 1.0) if augment["resized_crop"] is True else tuple(augment["resized_crop"])
        steps.append(T.RandomResizedCrop(pair, scale))  # type: ignore[arg-type]
    elif pair is not None:
        steps.append(T.Resize(pair))
    if training:
        if augment["rotation"] or augment["translate"] or augment["zoom"]:
            moved = augment["translate"] or 0
            steps.append(T.RandomAffine(augment["rotation"] or 0, (moved, moved), tuple(augment["zoom"]) if augment["zoom"] else None, interpolation="bilinear"))
        if augment["crop"]:
            steps.append(_PaddedCrop(augment["crop"]))
        steps += [T.RandomHorizontalFlip()] * augment["flip"] + [T.RandomVerticalFlip()] * augment["vertical_flip"]
        if augment["color"] or augment["hue"]:
            steps.append(T.ColorJitter(*[augment["color"] or 0] * 3, hue=augment["hue"] or 0))
        if augment["grayscale"]:
            steps.append(T.RandomGrayscale(augment["grayscale"]))
    steps.append(T.ToTensor())
    if mean is not None:
        steps.append(T.Normalize(mean, std))
    if training and augment["erase"]:
        steps.append(T.RandomErasing(augment["erase"]))
    return T.Compose(steps)


class _PaddedCrop:
    """A part as large as the picture, of the picture with a border."""

    def __init__(self, padding: int) -> None:
        self.padding = padding

    def __call__(self, picture: Any) -> Any:
        return T.RandomCrop(picture.shape[:2], self.padding)(picture)


def _source(recipe: Recipe, key: str, part: str, classes: Any) -> Any:
    """The data set, without transforms, that a value of [data] names."""
    options = recipe["data"]
    path = options[key]
    if not isinstance(path, (str, os.PathLike)):
        return path
    path = os.fspath(path)
    name, _, folder = path.partition(":")
    classes = classes or options["classes"]
    if name in _NAMED:
        return _NAMED[name](*([folder] if folder else []), train=part == "train")  # type: ignore[arg-type]
    if path.lower().endswith(".csv"):
        return _labelled(recipe, key, data.CSVDataset(path, options["target"], options["features"], image=options["image"], classes=classes, delimiter=options["delimiter"],
                                                      mode=options["mode"]), classes)
    if path.lower().endswith(".npz"):
        from minnow.data._files import _npz
        names = set(_npz(path))
        split = part if options["inputs"] is None and any(one.endswith(f"_{part}") for one in names) else ""
        return _labelled(recipe, key, data.NPZDataset(path, options["inputs"], options["target"], part=split), classes)
    if os.path.isfile(path):
        recipe.fail("data", f"{key} must be a folder, a .csv or .npz file, or one of {', '.join(_NAMED)}; {path} is none of these")
    if not os.path.isdir(path) and os.sep not in path and not os.path.exists(path):
        near = nearest(path, list(_NAMED))
        if near:
            recipe.fail("data", f'{key} "{path}" is neither a folder nor a file{near}')
    inner = os.path.join(path, part)
    if part != "train":
        inner = next((one for one in (os.path.join(path, other) for other in _VALIDATION) if os.path.isdir(one)), inner)
    return data.ImageFolder(inner if os.path.isdir(inner) and os.path.isdir(os.path.join(path, "train")) else path, mode=options["mode"], classes=classes)


def _labelled(recipe: Recipe, key: str, dataset: Any, classes: Any) -> Any:
    """The data set of a file, whose labels of classes are numbers from 0, one for each sample."""
    if recipe[""]["task"] != "classify":
        return dataset
    targets = dataset.targets
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = dataset.targets = targets[:, 0]
    if targets.dtype.kind == "S":
        targets = dataset.targets = numpy.char.decode(targets, "utf-8", "replace")
    text, of_csv = targets.dtype.kind == "U", isinstance(dataset, data.CSVDataset)
    if targets.ndim != 1 or dataset.classes or not (text or of_csv and targets.dtype.kind in "iu"):
        return dataset
    labels = [str(one) for one in targets.tolist()]
    names = [str(one) for one in (classes if classes is not None else numpy.unique(targets).tolist())]
    places = {name: i for i, name in enumerate(names)}
    for i, label in enumerate(labels):
        if label not in places:
            recipe.fail("data", f'{key}: sample {i} has the class "{label}", which is none of {", ".join(names[:20])}{" ..." if len(names) > 20 else ""}')
    dataset.classes, dataset.targets = names, numpy.array([places[label] for label in labels], numpy.int64)
    return dataset


def _has_part(recipe: Recipe, part: str) -> bool:
    """Whether [data] train names both parts."""
    path = recipe["data"]["train"]
    if not isinstance(path, (str, os.PathLike)):
        return False
    path = os.fspath(path)
    if path.partition(":")[0] in _NAMED:
        return True
    if path.lower().endswith(".npz"):
        from minnow.data._files import _npz
        return recipe["data"]["inputs"] is None and any(f"x_{part}" == one or one.endswith(f"_{part}") for one in _npz(path))
    return os.path.isdir(os.path.join(path, "train")) and any(os.path.isdir(os.path.join(path, one)) for one in _VALIDATION)


class _With(data.Dataset):
    """Some samples of a data set, with a transform."""

    def __init__(self, dataset: Any, places: Any, transform: Any) -> None:
        self.dataset, self.places, self.transform = dataset, places, transform

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Any:
        sample = self.dataset[int(self.places[index])]
        return sample if self.transform is None else (self.transform(sample[0]), *sample[1:])

    def _batch(self, indices: Any) -> Any:
        many = (lambda rows: rows) if self.transform is None else getattr(self.transform, "_many", None)
        made = self.dataset._batch([int(self.places[i]) for i in indices]) if many is not None and isinstance(self.dataset, data.Dataset) else None
        if made is None or many is None:
            return None
        rows = many(made[0])
        return None if rows is None else (rows, *made[1:])


def targets_of(dataset: Any) -> Any:
    """The targets of all samples, an array, or None if they are not known before."""
    found = getattr(dataset, "targets", None)
    if found is not None:
        return numpy.asarray(found)
    return dataset.tensors[1] if isinstance(dataset, data.TensorDataset) and len(dataset.tensors) > 1 else None


def _is_picture(sample: Any) -> bool:
    return isinstance(sample, numpy.ndarray) and sample.dtype == numpy.uint8 and (sample.ndim == 2 or sample.ndim == 3 and sample.shape[2] in (1, 3, 4))


def make(recipe: Recipe) -> Inputs:
    """The data sets that the recipe describes. Raises their errors, and InvalidArgument for an empty one."""
    if recipe[""]["task"] == "detect":
        train, validation_, names, prepared = _detection.make(recipe)
        return Inputs(train, validation_, names, None, None, None, prepared)
    options, augment, seed = recipe["data"], recipe["augment"], recipe[""]["seed"]
    source = _source(recipe, "train", "train", None)
    count = len(source)
    if not count:
        recipe.fail("data", "train has no samples")
    classes = list(getattr(source, "classes", []) or [])
    validation = options["validation"]
    places: Any = numpy.arange(count)
    other, other_places = None, numpy.arange(0)
    if validation is None and _has_part(recipe, "test"):
        options["validation"] = options["train"]
        other = _source(recipe, "validation", "test", classes or None)
        options["validation"] = None
    elif isinstance(validation, (int, float)) and validation:
        held = max(1, int(round(count * validation)))
        if held >= count:
            recipe.fail("data", f"validation takes {held} of {count} samples and leaves none for training")
        order = data.random_split(data.TensorDataset(numpy.arange(count)), [count - held, held], seed=seed)
        places, other_places = numpy.sort(order[0].indices), numpy.sort(order[1].indices)
        other = source
    elif validation is not None and not isinstance(validation, (int, float)):
        other = _source(recipe, "validation", "test", classes or None)
    if other is not None and other is not source:
        other_places = numpy.arange(len(other))
        if not len(other_places):
            recipe.fail("data", "validation has no samples")
    targets = targets_of(source)
    sample = source[int(places[0])]
    if not isinstance(sample, (tuple, list)) or len(sample) < 2:
        recipe.fail("data", "a sample must be a pair of input and target")
    pictures = _is_picture(sample[0])
    mean, std = options["mean"], options["std"]
    if (mean is None) != (std is None):
        recipe.fail("data", "needs mean and std together, or neither")
    standard, preprocess = None, None
    train_steps: Any = None
    other_steps: Any = None
    if pictures:
        channels = sample[0].shape[2] if sample[0].ndim == 3 else 1
        for name, numbers in (("mean", mean), ("std", std)):
            if numbers is not None and len(numbers) not in (1, channels):
                recipe.fail("data", f"{name} has {len(numbers)} numbers for pictures of {channels} channels")
        if std is not None and not all(one > 0 for one in std):
            recipe.fail("data", "std must have numbers above 0")
        try:
            train_steps, other_steps = (_steps(recipe, training, True, mean, std) for training in (True, False))
        except InvalidArgument as error:
            recipe.fail("augment", str(error)) if not str(error).startswith(recipe.name) else _raise(error)
        preprocess = {"color": "rgb" if channels == 3 else "gray", "divide": 255.0, "interpolation": "antialias"}
        if mean is not None:
            preprocess.update(mean=list(map(float, mean)), std=list(map(float, std)))
    else:
        for key, value in augment.items():
            if value and key not in ("mixup", "cutmix"):
                recipe.fail("augment", f"{key} is for pictures; the samples are {getattr(sample[0], 'dtype', type(sample[0]).__name__)} {list(getattr(sample[0], 'shape', ()))}")
        if options["size"] is not None:
            recipe.fail("data", f"size is for pictures; the samples have the shape {list(getattr(sample[0], 'shape', ()))}")
        rows = getattr(source, "data", None)
        if isinstance(rows, numpy.ndarray) and rows.dtype.kind in "iuf":
            if not numpy.isfinite(rows).all():
                wrong = int(numpy.flatnonzero(~numpy.isfinite(rows.reshape(len(rows), -1)).all(1))[0])
                recipe.fail("data", f"sample {wrong} has a number that is not finite")
            if rows.dtype != numpy.float32:
                train_steps = other_steps = _AsFloats()
            if options["standardize"] and rows.ndim == 2:
                chosen = rows[places].astype(numpy.float64)
                spread = chosen.std(0)
                standard = (chosen.mean(0), numpy.where(spread > 0, spread, 1))
    collate = None
    if augment["mixup"] or augment["cutmix"]:
        if recipe[""]["task"] != "classify":
            recipe.fail("augment", 'mixup and cutmix are for the task "classify" alone')
        kinds = [(kind, augment[key]) for kind, key in ((T.Mixup, "mixup"), (T.CutMix, "cutmix")) if augment[key]]
        count_of = len(classes) or (int(targets.max()) + 1 if targets is not None else 0)
        collate = _Mixing([kind(alpha, num_classes=count_of) for kind, alpha in kinds])
    return Inputs(_With(source, places, train_steps), None if other is None else _With(other, other_places, other_steps), classes, targets, collate, standard, preprocess)


def _raise(error: Exception) -> None:
    raise error


class _AsFloats:
    """Numbers as float32."""

    def __call__(self, rows: Any) -> Any:
        return numpy.asarray(rows, numpy.float32)

    _many = __call__


class _Mixing:
    """Collates, and mixes by one of several ways."""

    def __init__(self, ways: list[Any]) -> None:
        self.ways = ways

    def __call__(self, samples: Any) -> Any:
        way = self.ways[int(data.stream().integers(len(self.ways)))] if len(self.ways) > 1 else self.ways[0]
        return way(*data.default_collate(samples)[:2])
