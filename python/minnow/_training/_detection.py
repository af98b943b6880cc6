# SPDX-License-Identifier: Apache-2.0
"""The task detect: a head without anchors on the features of a backbone, its loss, and the mean average precision.

Each cell of the features says how likely each class is, and how far the sides of its object are from the cell's middle. Source: Tian et al. 2019,
"FCOS: Fully convolutional one-stage object detection"; Lin et al. 2017, "Focal loss for dense object detection"; Rezatofighi et al. 2019,
"Generalized intersection over union".
"""
from __future__ import annotations

import math
import os
from typing import Any, Sequence

import numpy

from minnow import cv, data, expr, nn
from minnow._minnow import InvalidArgument, Unsupported, Var
from minnow._training._recipe import Recipe
from minnow.data import transforms as T
from minnow.data._boxes import BOX_FILES, BoxDataset
from minnow.nn import functional  # type: ignore[attr-defined]
from minnow.nn.functional import op  # type: ignore[attr-defined]

_BINS = 1000  # of scores, where precision and recall are counted


class Samples(data.Dataset):
    """Some samples of pictures with boxes: pictures of one size as float32, boxes in its pixels, padded to the same number by the class -1."""

    def __init__(self, dataset: Any, places: Any, recipe: Recipe, most: int, training: bool) -> None:
        self.dataset, self.places, self.most = dataset, places, most
        options, augment = recipe["data"], recipe["augment"]
        size = options["size"]
        pair = [size, size] if isinstance(size, int) else list(size) * (2 // len(size)) if size is not None else None
        self._resize = None if pair is None else T.Resize(tuple(pair))
        self._flips = tuple(bool(training and augment[key]) for key in ("flip", "vertical_flip"))
        self._color: list[Any] = []
        if training and (augment["color"] or augment["hue"]):
            self._color.append(T.ColorJitter(*[augment["color"] or 0] * 3, hue=augment["hue"] or 0))
        if training and augment["grayscale"]:
            self._color.append(T.RandomGrayscale(augment["grayscale"]))
        self._last = T.Compose([T.ToTensor(), *([T.Normalize(options["mean"], options["std"])] if options["mean"] is not None else [])])

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Any:
        picture, given = self.dataset[int(self.places[index])]
        given = numpy.asarray(given, numpy.float32).reshape(-1, 5)
        boxes = numpy.full((self.most, 5), -1, numpy.float32)
        boxes[:len(given)] = given[:self.most]
        height, width = picture.shape[:2]
        if self._resize is not None:
            picture = self._resize(picture)
        own = boxes[:len(given)]
        own[:, 0:4:2] *= picture.shape[1] / width
        own[:, 1:4:2] *= picture.shape[0] / height
        for flips, axis in zip(self._flips, (1, 0)):
            if flips and data.stream().random() < 0.5:
                picture = numpy.flip(picture, axis)
                first = 1 - axis
                own[:, [first, first + 2]] = picture.shape[axis] - own[:, [first + 2, first]]
        for step in self._color:
            picture = step(picture)
        return self._last(numpy.ascontiguousarray(picture)), boxes


def make(recipe: Recipe) -> tuple[Any, Any, list[str], dict[str, Any]]:
    """Samples for training and for validation or None, the classes, and how a picture becomes an input."""
    options, augment = recipe["data"], recipe["augment"]
    for key, value in augment.items():
        if value and key not in ("flip", "vertical_flip", "color", "hue", "grayscale"):
            recipe.fail("augment", f'{key} is not for the task "detect"; flip, vertical_flip, color, hue and grayscale are')
    if (options["mean"] is None) != (options["std"] is None):
        recipe.fail("data", "needs mean and std together, or neither")

    def source(path: Any, part: str, classes: Any) -> Any:
        if not isinstance(path, (str, os.PathLike)):
            return path
        inner = [os.path.join(path, one) for one in (("train",) if part == "train" else ("validation", "val", "valid", "test")) if os.path.isdir(os.path.join(path, one))]
        return BoxDataset(inner[0] if inner and not any(os.path.isfile(os.path.join(path, one)) for one in BOX_FILES) else path, classes=classes, mode=options["mode"])

    train = source(options["train"], "train", options["classes"])
    classes = list(getattr(train, "classes", None) or options["classes"] or ())
    if not classes:
        recipe.fail("data", "needs classes, a list of names, since the data set does not say them")
    places, other, other_places, validation = numpy.arange(len(train)), None, numpy.arange(0), options["validation"]
    if validation is None and isinstance(options["train"], (str, os.PathLike)) and os.path.isdir(os.path.join(options["train"], "train")):
        validation = options["train"]
    if isinstance(validation, (int, float)):
        held = max(1, int(round(len(train) * validation)))
        if held >= len(train):
            recipe.fail("data", f"validation takes {held} of {len(train)} samples and leaves none for training")
        order = data.random_split(data.TensorDataset(places), [len(train) - held, held], seed=recipe[""]["seed"])
        places, other_places, other = numpy.sort(order[0].indices), numpy.sort(order[1].indices), train
    elif validation is not None:
        other = source(validation, "validation", classes)
        other_places = numpy.arange(len(other))
    if not len(places) or (other is not None and not len(other_places)):
        recipe.fail("data", "train and validation need at least one sample each")
    most = 1
    for dataset in (train, other):
        for i in range(len(dataset) if dataset is not None else 0):
            boxes = dataset.samples[i][1] if isinstance(dataset, BoxDataset) else numpy.asarray(dataset[i][1], numpy.float32)
            if boxes.size and (boxes.ndim != 2 or boxes.shape[1] != 5):
                recipe.fail("data", f"sample {i} has boxes of the shape {list(boxes.shape)}; a box has four sides and a class")
            if boxes.size and not ((boxes[:, 4] >= 0) & (boxes[:, 4] < len(classes))).all():
                recipe.fail("data", f"sample {i} has a box of the class {int(boxes[:, 4].max())}; there are {len(classes)} classes, from 0")
            most = max(most, len(boxes))
    preprocess: dict[str, Any] = {"color": "rgb" if options["mode"] == "RGB" else "gray", "divide": 255.0, "interpolation": "antialias"}
    if options["mean"] is not None:
        preprocess.update(mean=list(map(float, options["mean"])), std=list(map(float, options["std"])))
    return Samples(train, places, recipe, most, True), None if other is None else Samples(other, other_places, recipe, most, False), classes, preprocess


def features(channels: int) -> nn.Module:
    """The backbone "cnn": 64 channels for each 8 x 8 pixels."""
    layers: list[Any] = []
    for after, stride in ((16, 2), (32, 2), (64, 2), (64, 1)):
        layers += [nn.Conv2d(channels, after, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        channels = after
    return nn.Sequential(*layers)


class Detector(nn.Module):
    """A backbone, and a head that gives float32 [n, cells, 4 + classes] for its cells: logarithms of the distances to the sides, in cells, and
    logits of the classes."""

    def __init__(self, backbone: nn.Module, shape: Sequence[int], classes: int) -> None:
        self.backbone = backbone
        backbone.eval()
        try:
            made = backbone(Var(numpy.zeros((1, *shape), numpy.float32)))
        finally:
            backbone.train()
        if len(made.shape) != 4 or min(made.shape[2:]) < 2:
            raise InvalidArgument(f"the features of a detector are [n, channels, height, width] with 2 x 2 cells at least; the backbone gives {list(made.shape)}")
        _, channels, rows, columns = made.shape
        self._classes, self._size = classes, (int(shape[2]), int(shape[1]))
        self._strides = shape[2] / columns, shape[1] / rows
        y, x = numpy.mgrid[:rows, :columns] + 0.5
        self.points = Var(numpy.stack([x, y], 2).reshape(-1, 2).astype(numpy.float32))
        self.head = nn.Sequential(nn.Conv2d(channels, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 4 + classes, 1))
        bias = numpy.zeros(4 + classes, numpy.float32)
        bias[4:] = -math.log(99)  # objects are rare: probabilities begin at 0.01
        dict(self.head.named_parameters())["4.bias"].assign(Var(bias))

    def forward(self, x: Any) -> Any:
        y = self.head(self.backbone(x if isinstance(x, Var) else Var(x)))
        return expr.transpose(expr.reshape(y, Var(numpy.array([0, 4 + self._classes, -1]))), perm=[0, 2, 1])

    def grid(self) -> tuple[Any, tuple[float, float]]:
        """The middles of the cells, in cells, and a cell's width and height in pixels."""
        return numpy.asarray(self.points), self._strides

    def boxes(self, output: Any) -> tuple[Any, Any]:
        """Boxes, [n, cells, 4], left, top, right, bottom in pixels, and scores of the classes, [n, cells, classes], of what forward() gave."""
        sides = expr.exp(output[:, :, :4])
        width, height = self._strides
        scale = Var(numpy.float32([width, height]))
        first, second = (self.points - sides[:, :, :2]) * scale, (self.points + sides[:, :, 2:]) * scale
        return expr.concat([first, second], axis=-1), functional.sigmoid(output[:, :, 4:])


class Detect:
    """Boxes with a class each."""
    best = ("mAP", 1)

    def __init__(self, classes: Sequence[str], network: Detector | None = None) -> None:
        self.classes, self.outputs, self.network = list(classes), len(classes), network

    def check(self, targets: Any, where: str) -> None:
        """Boxes are checked when the data set is made."""

    def encode(self, boxes: Any) -> Any:
        """The right answers of cells, float32 [n, cells, 4 + classes + 1], for boxes [n, most, 5]: distances to the sides in cells, the class, and
        whether there is an object. An object takes the cells in its middle; of several objects the smallest."""
        assert self.network is not None
        points, (width, height) = self.network.grid()
        made = numpy.zeros((len(boxes), len(points), 5 + self.outputs), numpy.float32)
        scale = numpy.float32([width, height, width, height])
        for own, target in zip(boxes, made):
            own = own[own[:, 4] >= 0]
            order = numpy.argsort(-(own[:, 2] - own[:, 0]) * (own[:, 3] - own[:, 1]), kind="stable")
            for *sides, kind in own[order]:
                box = numpy.asarray(sides, numpy.float32) / scale
                middle = (box[:2] + box[2:]) / 2
                distances = numpy.concatenate([points - box[:2], box[2:] - points], 1)
                away = numpy.abs(points - middle).max(1)
                inside = (away < 1.5) & (distances.min(1) > 0)
                inside[numpy.argmin(away)] = True
                target[inside] = 0
                target[inside, :4] = numpy.maximum(distances[inside], 0.05)
                target[inside, 4 + int(kind)] = 1
                target[inside, -1] = 1
        return made

    def loss(self, output: Any, target: Any) -> Any:
        """Focal loss of the classes plus 2 (1 - GIoU) of the boxes, for each cell with an object."""
        there = target[:, :, -1]
        count = op("Max", there.sum(), Var(1.0, "float32"))
        kinds = functional.focal_loss(output[:, :, 4:], target[:, :, 4:-1], reduction="sum")
        found, true = expr.exp(output[:, :, :4]), target[:, :, :4]
        less, more = op("Min", found, true), op("Max", found, true)

        def area(x: Any) -> Any:
            return (x[:, :, 0] + x[:, :, 2]) * (x[:, :, 1] + x[:, :, 3])

        common, around = area(less), area(more)
        union = area(found) + area(true) - common
        overlap = common / (union + 1e-6) - (around - union) / (around + 1e-6)
        return (kinds + ((1.0 - overlap) * there).sum() * 2.0) / count

    def measure(self, output: Any, target: Any) -> dict[str, Any]:
        """Sums over a batch."""
        return {"count": float(len(output))}

    def evaluate(self, output: Any, target: Any) -> dict[str, Any]:
        """The loss, and for each class the objects, and right and wrong boxes by score."""
        assert self.network is not None
        sums: dict[str, Any] = self.measure(output, target)
        sums["loss"] = float(self.loss(Var(output), Var(self.encode(target)))) * len(output)
        sums["objects"] = numpy.zeros(self.outputs)
        sums["right"], sums["wrong"] = numpy.zeros((self.outputs, _BINS)), numpy.zeros((self.outputs, _BINS))
        boxes, scores = (one.numpy() for one in self.network.boxes(Var(output)))
        for own, chances, true in zip(boxes, scores, target):
            true = true[true[:, 4] >= 0]
            sums["objects"] += numpy.bincount(true[:, 4].astype(int), minlength=self.outputs)
            for box, score, kind in zip(*detections(own, chances, 0.01)):
                same = true[:, 4] == kind
                overlaps = numpy.where(same, _overlaps(box, true[:, :4]), 0) if len(true) else numpy.zeros(0)
                hit = len(overlaps) and overlaps.max() >= 0.5
                if hit:
                    true[numpy.argmax(overlaps), 4] = -2  # each object is found once
                sums["right" if hit else "wrong"][int(kind), min(int(score * _BINS), _BINS - 1)] += 1
        return sums

    def metrics(self, sums: dict[str, Any]) -> dict[str, float]:
        """loss, and of validation mAP, the mean average precision at an overlap of 0.5 (0 to 1): the area under precision over recall, where
        precision is the best at this recall or more (Everingham et al. 2010, "The Pascal visual object classes challenge")."""
        made = {"loss": sums["loss"] / sums["count"]}
        if "objects" not in sums:
            return made
        values = []
        for objects, right, wrong in zip(sums["objects"], sums["right"], sums["wrong"]):
            if not objects:
                continue
            hits, all_ = numpy.cumsum(right[::-1]), numpy.cumsum((right + wrong)[::-1])
            precision = numpy.maximum.accumulate((hits / numpy.maximum(all_, 1))[::-1])[::-1]
            values.append(float((numpy.diff(hits / objects, prepend=0) * precision).sum()))
        return {**made, "mAP": sum(values) / max(1, len(values))}


def _overlaps(box: Any, others: Any) -> Any:
    """Common area over the area of both."""
    sides = numpy.maximum(numpy.minimum(box[2:], others[:, 2:]) - numpy.maximum(box[:2], others[:, :2]), 0)
    common = sides[:, 0] * sides[:, 1]
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1]) + (box[2] - box[0]) * (box[3] - box[1])
    return common / numpy.maximum(areas - common, 1e-9)


def detections(boxes: Any, scores: Any, least: float) -> tuple[Any, Any, Any]:
    """Boxes, scores and classes, best first, of one picture's cells."""
    kinds = scores.argmax(1).astype(numpy.int32)
    best = numpy.ascontiguousarray(scores.max(1))
    kept = numpy.asarray(cv.dnn.nms(numpy.ascontiguousarray(boxes), best, 0.5, least, kinds, 100)).astype(int)
    return boxes[kept], best[kept], kinds[kept]


def build(model: Any, shape: Sequence[int], classes: int, head: bool | str, seed: int) -> Detector:
    """The network of a recipe: a head on the features of a backbone."""
    from minnow._training import _networks
    nn.seed(seed)  # type: ignore[attr-defined]
    if isinstance(model, str) and model == "cnn":
        return Detector(features(int(shape[0])), shape, classes)
    if isinstance(model, str) and model in _networks.BUILT_IN:
        raise InvalidArgument(f'"{model}" gives no features of a picture; the task detect takes "cnn", a file, or a module')
    if isinstance(model, Detector):
        return model
    backbone = _networks.build(model, shape, None, head, seed, True)
    if isinstance(backbone, nn.Module):
        return Detector(backbone, shape, classes)
    raise Unsupported("a detector needs a module as its backbone")
