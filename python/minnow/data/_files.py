# SPDX-License-Identifier: Apache-2.0
"""Data sets in files: folders of pictures, IDX, CIFAR, CSV and NPZ."""
from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import pickle
import zlib
from typing import Any, Callable, Sequence

import numpy

from minnow import cv
from minnow._minnow import Error, FileNotFound, InvalidArgument, InvalidModel, IoError, nearest
from minnow.data._dataset import Dataset, checked

Transform = Callable[[Any], Any]
PathLike = "str | os.PathLike[str]"

#: Suffixes of the pictures that ImageFolder finds.
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".pbm")


def read_image(path: str | os.PathLike[str], mode: str = "RGB") -> Any:
    """A picture of minnow.cv.imread as an array of NumPy: uint8 [height, width, 3] in the order red, green, blue, or [height, width, 1] for the
    mode "L". Raises FileNotFound (a FileNotFoundError), another IoError, or InvalidModel (a ValueError) that names the file."""
    if mode not in ("RGB", "L"):
        raise InvalidArgument(f'the mode of pictures is "RGB" or "L", not {mode!r:.60}')
    try:
        picture = numpy.asarray(cv.imread(path, cv.IMREAD_COLOR_RGB if mode == "RGB" else cv.IMREAD_GRAYSCALE))
    except Error as error:
        text = str(error)
        name = os.fspath(path)
        raise type(error)(text if name in text else f"the picture {name} cannot be read: {text}") from None
    return picture if mode == "RGB" else picture[..., None]


class _Transformed(Dataset):
    """A data set with transforms of the input and of the target."""
    transform: Transform | None
    target_transform: Transform | None

    def _changed(self, sample: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)


class ArrayDataset(_Transformed):
    """Rows of an array with targets, and transforms of both. Raises InvalidArgument (a ValueError) where the lengths differ, InvalidIndex (an
    IndexError) for samples that are not there."""

    def __init__(self, data: Any, targets: Any, transform: Transform | None = None, target_transform: Transform | None = None, *, classes: Sequence[str] = ()) -> None:
        self.data, self.targets = numpy.asarray(data), numpy.asarray(targets)
        if not self.data.ndim or not self.targets.ndim or len(self.data) != len(self.targets):
            raise InvalidArgument(f"each sample needs one target; the data have the shape {self.data.shape}, the targets {self.targets.shape}")
        self.transform, self.target_transform, self.classes = transform, target_transform, list(classes)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        index = checked(index, len(self))
        target = self.targets[index]
        return self._changed(self.data[index], target.item() if self.targets.ndim == 1 else target)

    def _batch(self, indices: Sequence[int]) -> Any:
        many = (lambda rows: rows) if self.transform is None else getattr(self.transform, "_many", None)
        if many is None or self.target_transform is not None or not len(indices):
            return None
        places = numpy.array([checked(i, len(self)) for i in indices])
        rows = many(self.data[places])
        targets = self.targets[places]
        if targets.ndim == 1 and targets.dtype.kind in "iuf":  # as default_collate() makes of numbers of Python
            targets = targets.astype(numpy.float32 if targets.dtype.kind == "f" else numpy.int64)
        return None if rows is None else (rows, targets)


class ImageFolder(_Transformed):
    """Pictures in a folder with a folder for each class: root/cat/1.jpg, root/dog/a/b.png. A sample is (picture, number of the class), a picture
    an array of NumPy, uint8 [height, width, 3], red, green, blue, or [height, width, 1] with mode="L"; `classes` has the names in order,
    `samples` the (path, number) pairs.

    loader: reads a picture instead of read_image(); is_valid_file: chooses files instead of `extensions`; classes: these folders in this order.
    Raises FileNotFound (a FileNotFoundError) for a folder that is not there, InvalidArgument (a ValueError) for one without classes and, unless
    allow_empty, for a class without pictures; a sample raises InvalidModel (a ValueError) naming a file that is damaged.
    """

    def __init__(self, root: str | os.PathLike[str], transform: Transform | None = None, target_transform: Transform | None = None,
                 loader: Callable[[str], Any] | None = None, is_valid_file: Callable[[str], bool] | None = None, allow_empty: bool = False, *,
                 mode: str = "RGB", extensions: Sequence[str] = IMG_EXTENSIONS, classes: Sequence[str] | None = None) -> None:
        self.root = os.fspath(root)
        self.transform, self.target_transform, self.mode = transform, target_transform, mode
        self.loader = loader or (lambda path: read_image(path, self.mode))
        found = _folders(self.root)
        if not found:
            raise InvalidArgument(f"the folder {self.root} has no folders; pictures lie in a folder for each class")
        for name in classes or ():
            if name not in found:
                raise InvalidArgument(f'the folder {self.root} has no folder of the class "{name}"{nearest(name, found)}')
        for name in found if classes is not None else ():
            if name not in (classes or ()):
                raise InvalidArgument(f'the folder {self.root} has the class "{name}", which is none of {", ".join(classes or ())}')
        self.classes = list(found if classes is None else classes)
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        valid = is_valid_file or (lambda path: path.lower().endswith(tuple(extensions)))
        self.samples: list[tuple[str, int]] = []
        for name, number in self.class_to_idx.items():
            before = len(self.samples)
            for folder, folders, names in os.walk(os.path.join(self.root, name), followlinks=True):
                folders.sort()
                self.samples += [(path, number) for path in (os.path.join(folder, file) for file in sorted(names)) if valid(path)]
            if len(self.samples) == before and not allow_empty:
                raise InvalidArgument(f"the folder {os.path.join(self.root, name)} has no pictures ({', '.join(extensions)})")
        self.targets = [number for _, number in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, number = self.samples[checked(index, len(self))]
        return self._changed(self.loader(path), number)


def missing(path: str, text: str) -> FileNotFound:
    """The error for a missing file."""
    error = FileNotFound(text)
    error.errno, error.filename = errno.ENOENT, path
    return error


def _folders(root: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    except FileNotFoundError:
        raise missing(root, f"the folder {root} is not there") from None
    except OSError as error:
        raise IoError(f"the folder {root} cannot be read: {error.strerror}") from None


def _file(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The content of a file, unpacked if it is gzip's, at most `most` bytes and one more."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            source: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            if most < 0:
                return bytes(source.read())
            parts, left = [], most + 1
            while left and (part := source.read(min(left, 1 << 24))):  # a length in a damaged file takes no memory that the file does not fill
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
    except FileNotFoundError:
        raise missing(name, f"the file {name} is not there") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidModel(f"{name}: the packed data are damaged: {error}") from None
    except OSError as error:
        raise IoError(f"the file {name} cannot be read: {error.strerror or error}") from None


_IDX = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str | os.PathLike[str]) -> Any:
    """The array in an IDX file, the format of MNIST (yann.lecun.com/exdb/mnist), plain or packed by gzip, as an array of NumPy. Raises FileNotFound
    (a FileNotFoundError), or InvalidModel (a ValueError) for a damaged file."""
    name = os.fspath(path)
    head = _file(name, 4 + 4 * 8)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX or not 1 <= head[3] <= 8 or len(head) < 4 + 4 * head[3]:
        raise InvalidModel(f"{name}: the file is not in the IDX format")
    dtype = numpy.dtype(_IDX[head[2]])
    shape = tuple(int.from_bytes(head[4 + 4 * i:8 + 4 * i], "big") for i in range(head[3]))
    begin, size = 4 + 4 * head[3], dtype.itemsize
    for dim in shape:
        size *= dim
    data = _file(name, begin + size)
    if len(data) != begin + size:
        raise InvalidModel(f"{name}: the header says {' x '.join(map(str, shape))} numbers of {dtype.itemsize} bytes, the file has {'more' if len(data) > begin + size else f'{len(data) - begin} bytes'}")
    return numpy.frombuffer(data, dtype, offset=begin).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _beside(root: str, folders: Sequence[str], names: Sequence[str]) -> str:
    """The first of these files that is there."""
    for folder in folders:
        for name in names:
            path = os.path.join(root, folder, name)
            if os.path.isfile(path):
                return path
    raise missing(os.path.join(root, names[0]), f"the folder {root} has no {names[0]}")


class MNIST(ArrayDataset):
    """Handwritten digits in the IDX files of MNIST, plain or .gz, in `root` or root/MNIST/raw: uint8 [28, 28] and the digit. train: the 60,000
    samples for training, or the 10,000 for testing. Nothing is downloaded. Raises FileNotFound (a FileNotFoundError) for missing files, InvalidModel
    (a ValueError) for damaged ones."""
    classes = [str(i) for i in range(10)]
    _folders: Sequence[str] = ("", "MNIST/raw")

    def __init__(self, root: str | os.PathLike[str], train: bool = True, transform: Transform | None = None, target_transform: Transform | None = None) -> None:
        begin = "train" if train else "t10k"
        files = [_beside(os.fspath(root), self._folders, [f"{begin}-{kind}-ubyte{end}" for end in ("", ".gz")]) for kind in ("images-idx3", "labels-idx1")]
        images, labels = map(read_idx, files)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise InvalidModel(f"{files[0]}: pictures of shape {images.shape} do not go with labels of shape {labels.shape}")
        _in_range(files[1], labels, len(self.classes))
        super().__init__(images, labels.astype(numpy.int64), transform, target_transform, classes=type(self).classes)


def _in_range(name: str, labels: Any, count: int) -> None:
    if labels.size and not (0 <= int(labels.min()) and int(labels.max()) < count):
        wrong = int(numpy.flatnonzero((labels < 0) | (labels >= count))[0])
        raise InvalidModel(f"{name}: sample {wrong} has the label {int(labels[wrong])}; there are {count} classes, from 0")


class FashionMNIST(MNIST):
    """Articles of clothing, in the files of MNIST, in `root` or root/FashionMNIST/raw; by default where Debian's package dataset-fashion-mnist
    installs them. Raises what MNIST raises."""
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
    _folders = ("", "FashionMNIST/raw")

    def __init__(self, root: str | os.PathLike[str] = "/usr/share/datasets/fashion-mnist", train: bool = True, transform: Transform | None = None,
                 target_transform: Transform | None = None) -> None:
        super().__init__(root, train, transform, target_transform)


class _StoredDtype:
    """A dtype in a pickle."""

    def __init__(self, code: Any = "", *_: Any) -> None:
        self.code = code.decode() if isinstance(code, bytes) else str(code)

    def __setstate__(self, state: Any) -> None:
        pass


class _StoredArray:
    """An array in a pickle."""
    state: tuple[Any, ...] = ()

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode("latin1")


class _Restricted(pickle.Unpickler):
    """Reads dicts, lists, numbers, texts and arrays of bytes, by stand-ins for the few names that these need; any other name is an error, so that a
    file runs no code."""
    _names: dict[tuple[str, str], Any] = {("_reconstruct", "multiarray"): lambda *_: _StoredArray(), ("ndarray", "numpy"): _StoredArray,
                                          ("dtype", "numpy"): _StoredDtype, ("encode", "_codecs"): _encoded}

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            module = "multiarray"
        if (name, module) not in self._names:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which such a file does not need")
        return self._names[name, module]


def _unpickled(path: str) -> dict[bytes, Any]:
    try:
        made = _Restricted(io.BytesIO(_file(path)), encoding="bytes").load()
        return {key if isinstance(key, bytes) else str(key).encode(): value for key, value in made.items()}
    except Error:
        raise
    except Exception as error:
        raise InvalidModel(f"{path}: the file is not one of CIFAR's: {error}") from None


def _cifar_rows(path: str, labels: Sequence[bytes]) -> tuple[Any, Any]:
    """The pictures [n, 3072] and the labels in a file of either form."""
    if not path.endswith(".bin"):
        made = _unpickled(path)
        stored, numbers = made.get(b"data"), made.get(labels[-1])
        if not isinstance(stored, _StoredArray) or not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise InvalidModel(f"{path}: a file of CIFAR has an array, data, and a list, {labels[-1].decode()}")
        try:
            _, shape, dtype, turned, data = stored.state
            rows = numpy.frombuffer(data, numpy.uint8).reshape(shape)
            fits = dtype.code in ("u1", "uint8") and not turned and rows.shape == (len(numbers), 3072)
        except (TypeError, ValueError, AttributeError):
            fits = False
        if not fits:
            raise InvalidModel(f"{path}: the array of a file of CIFAR is uint8 [{len(numbers)}, 3072]")
        return rows, numpy.array(numbers, numpy.int64)
    data = _file(path)
    size = 3072 + len(labels)
    if not data or len(data) % size:
        raise InvalidModel(f"{path}: a file of CIFAR has records of {size} bytes, this one {len(data)} bytes")
    rows = numpy.frombuffer(data, numpy.uint8).reshape(-1, size)
    return rows[:, len(labels):], rows[:, len(labels) - 1].astype(numpy.int64)


class CIFAR10(ArrayDataset):
    """Pictures of ten classes, uint8 [32, 32, 3], from the files of CIFAR-10, unpacked, in `root`: the binary form (cifar-10-batches-bin) or that for
    Python (cifar-10-batches-py), which is read without running what a pickle may contain. Nothing is downloaded. Raises FileNotFound (a
    FileNotFoundError) for missing files, InvalidModel (a ValueError) for damaged ones."""
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    _folders: Sequence[str] = ("", "cifar-10-batches-bin", "cifar-10-batches-py")
    _files = {True: [f"data_batch_{i}" for i in range(1, 6)], False: ["test_batch"]}
    _labels: Sequence[bytes] = (b"labels",)

    def __init__(self, root: str | os.PathLike[str], train: bool = True, transform: Transform | None = None, target_transform: Transform | None = None) -> None:
        parts = []
        for name in self._files[bool(train)]:
            path = _beside(os.fspath(root), self._folders, [name + ".bin", name])
            parts.append(_cifar_rows(path, self._labels))
            _in_range(path, parts[-1][1], len(self.classes))
        pictures = numpy.concatenate([rows for rows, _ in parts]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        super().__init__(numpy.ascontiguousarray(pictures), numpy.concatenate([labels for _, labels in parts]), transform, target_transform, classes=type(self).classes)


class CIFAR100(CIFAR10):
    """Pictures of a hundred classes; see CIFAR10. Raises what CIFAR10 raises."""
    classes = ("apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle caterpillar cattle chair "
               "chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard "
               "lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear "
               "pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail "
               "snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe "
               "whale willow_tree wolf woman worm").split()
    _folders = ("", "cifar-100-binary", "cifar-100-python")
    _files = {True: ["train"], False: ["test"]}
    _labels = (b"coarse_labels", b"fine_labels")


class NPZDataset(ArrayDataset):
    """Arrays of a .npz file: rows of the array `data` with targets of the array `targets`, by default those named x, data, images or inputs, and y,
    targets or labels (after an underscore, too: x_train with part="train"). Objects are not read. Raises FileNotFound (a FileNotFoundError),
    InvalidModel (a ValueError) for a damaged file, InvalidArgument (a ValueError) for arrays that are not there or do not fit."""

    def __init__(self, path: str | os.PathLike[str], data: str | None = None, targets: str | None = None, transform: Transform | None = None,
                 target_transform: Transform | None = None, *, part: str = "") -> None:
        name = os.fspath(path)
        arrays = _npz(name)
        chosen = []
        for what, given, usual in (("data", data, ("x", "data", "images", "inputs", "X")), ("targets", targets, ("y", "targets", "labels", "target", "label"))):
            names = [given] if given is not None else [f"{one}_{part}" if part else one for one in usual]
            key = next((one for one in names if one in arrays), None)
            if key is None:
                raise InvalidArgument(f'{name} has no array "{names[0]}"; it has {", ".join(sorted(arrays)) or "none"}; choose one of them for the {what}')
            chosen.append(arrays[key])
        if not chosen[0].ndim or not chosen[1].ndim or len(chosen[0]) != len(chosen[1]):
            raise InvalidArgument(f"{name}: each sample needs one target; the data have the shape {chosen[0].shape}, the targets {chosen[1].shape}")
        super().__init__(*chosen, transform, target_transform)


def _npz(name: str) -> dict[str, Any]:
    import zipfile
    try:
        with zipfile.ZipFile(name):
            pass
        with numpy.load(name, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except FileNotFoundError:
        raise missing(name, f"the file {name} is not there") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, AttributeError, TypeError, SyntaxError, NotImplementedError) as error:
        raise InvalidModel(f"{name}: the file cannot be read: {error}") from None
    except OSError as error:
        raise IoError(f"the file {name} cannot be read: {error.strerror or error}") from None


def _delimiter(text: str) -> str:
    """The character between the names of the first line: a comma, or the most frequent of some others if there is none."""
    first = next((line for line in text.splitlines() if line), "")
    if "," in first:
        return ","
    return max(";\t|", key=first.count) if any(one in first for one in ";\t|") else ","


class CSVDataset(_Transformed):
    """Rows of a CSV file with a line of names at its top. A sample is (features, target): float32 [n] of the columns `features`, by default all but
    the target's, or with `image` the picture whose path, from the file's folder on, is in that column; the target is the column `target`, by
    default the last one. If it holds texts, or with classes=, it is the number of the class, whose names `classes` has; integers stay integers,
    other numbers are floats. delimiter: between columns, by default the one of `,`, `;`, tab and `|` that is in the first line. Raises FileNotFound (a FileNotFoundError), InvalidArgument (a ValueError) that names column and line.
    """

    def __init__(self, path: str | os.PathLike[str], target: str | None = None, features: Sequence[str] | None = None, transform: Transform | None = None,
                 target_transform: Transform | None = None, *, image: str | None = None, classes: Sequence[str] | None = None, delimiter: str | None = None,
                 mode: str = "RGB") -> None:
        self.path, self.transform, self.target_transform, self.mode = os.fspath(path), transform, target_transform, mode
        try:
            text = _file(self.path).decode("utf-8-sig")
            delimiter = delimiter if delimiter is not None else _delimiter(text)
            rows = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidArgument(f"{self.path}: the file is not valid CSV: {error}") from None
        if len(rows) < 2:
            raise InvalidArgument(f"{self.path}: there are no rows below the line of names")
        names = [name.strip() for name in rows.pop(0)[1]]
        for number, row in rows:
            if len(row) != len(names):
                raise InvalidArgument(f"{self.path}: line {number} has {len(row)} columns, the line of names {len(names)}")
        target = names[-1] if target is None else target
        chosen = [image] if image is not None else list(features) if features is not None else [name for name in names if name != target]
        for name in (target, *chosen):
            if name not in names:
                raise InvalidArgument(f'{self.path}: there is no column "{name}"{nearest(str(name), names)}')
        self.features = chosen
        if image is not None:
            folder = os.path.dirname(self.path)
            self.data: Any = [os.path.join(folder, row[names.index(image)].strip()) for _, row in rows]
        else:
            self.data = numpy.array([[self._number(row[names.index(name)], name, number) for name in chosen] for number, row in rows], numpy.float32)
        self._image = image is not None
        cells = [(number, row[names.index(target)].strip()) for number, row in rows]
        self.classes, self.targets = self._targets(cells, target, classes)

    def _number(self, cell: str, name: str, line: int) -> float:
        try:
            value = float(cell)
        except ValueError:
            value = float("nan")
        if not numpy.isfinite(value):
            raise InvalidArgument(f'{self.path}: line {line} has {cell!r:.40} in the column "{name}", which is no finite number')
        return value

    def _targets(self, cells: list[tuple[int, str]], name: str, classes: Sequence[str] | None) -> tuple[list[str], Any]:
        for number, cell in cells:
            if not cell:
                raise InvalidArgument(f'{self.path}: line {number} has nothing in the column "{name}"')
        if classes is None:
            for kind in (int, float):
                try:
                    numbers = [kind(cell) for _, cell in cells]
                except ValueError:
                    continue
                if all(map(numpy.isfinite, numbers)):
                    return [], numpy.array(numbers, numpy.int64 if kind is int else numpy.float32)
            classes = sorted({cell for _, cell in cells})
        places = {str(one): i for i, one in enumerate(classes)}
        for number, cell in cells:
            if cell not in places:
                raise InvalidArgument(f'{self.path}: line {number} has the class "{cell}", which is none of {", ".join(places)}')
        return list(map(str, classes)), numpy.array([places[cell] for _, cell in cells], numpy.int64)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        index = checked(index, len(self))
        return self._changed(read_image(self.data[index], self.mode) if self._image else self.data[index], self.targets[index].item())


__all__ = ["ArrayDataset", "ImageFolder", "MNIST", "FashionMNIST", "CIFAR10", "CIFAR100", "NPZDataset", "CSVDataset", "IMG_EXTENSIONS", "read_idx", "read_image"]
