# SPDX-License-Identifier: Apache-2.0
"""Pictures with boxes, for detectors."""
from __future__ import annotations

import csv
import io
import json
import os
from typing import Any, Sequence

import numpy

from minnow._minnow import InvalidArgument, nearest
from minnow.data._dataset import checked
from minnow.data._files import Transform, _file, _Transformed, missing, read_image

#: Names of the file that a folder keeps its boxes in.
BOX_FILES = ("boxes.csv", "annotations.json")


class BoxDataset(_Transformed):
    """Pictures with boxes of objects. A sample is (picture, boxes): a picture as ImageFolder gives it, and float32 [n, 5], for each object the left,
    top, right and bottom side in pixels and the number of its class, whose names `classes` has.

    path: a CSV file with the columns image, x1, y1, x2, y2 and class, a row for each object, and one with an empty rest for a picture without
    any; or a JSON file as COCO's, with lists "images" (id, file_name), "categories" (id, name) and "annotations" (image_id, category_id, bbox of
    left, top, width and height); or a folder with such a file named boxes.csv or annotations.json. Pictures lie beside the file, or in its folder
    "images". classes: these in this order. Raises FileNotFound (a FileNotFoundError), and InvalidArgument (a ValueError) that names the line or the
    number of the annotation; a sample raises InvalidModel (a ValueError) naming a file that is damaged.
    """

    def __init__(self, path: str | os.PathLike[str], transform: Transform | None = None, target_transform: Transform | None = None, *,
                 classes: Sequence[str] | None = None, mode: str = "RGB") -> None:
        self.path, self.transform, self.target_transform, self.mode = os.fspath(path), transform, target_transform, mode
        if os.path.isdir(self.path):
            found = [os.path.join(self.path, name) for name in BOX_FILES if os.path.isfile(os.path.join(self.path, name))]
            if not found:
                raise InvalidArgument(f"the folder {self.path} has neither {' nor '.join(BOX_FILES)}")
            self.path = found[0]
        rows, named = (self._json if self.path.lower().endswith(".json") else self._csv)()
        known = list(classes) if classes is not None else named if named is not None else sorted({row[6] for row in rows if row[6] is not None})
        places = {name: i for i, name in enumerate(known)}
        boxes: dict[str, list[list[float]]] = {}
        for where, image, x1, y1, x2, y2, name in rows:
            own = boxes.setdefault(image, [])
            if name is None:
                continue
            if name not in places:
                raise InvalidArgument(f'{self.path}: {where} has the class "{name}", which is none of {", ".join(known)}')
            if not numpy.isfinite([x1, y1, x2, y2]).all() or not (x2 > x1 and y2 > y1):
                raise InvalidArgument(f"{self.path}: {where} has a box from ({x1:g}, {y1:g}) to ({x2:g}, {y2:g}), which has no area")
            own.append([x1, y1, x2, y2, places[name]])
        if not boxes:
            raise InvalidArgument(f"{self.path}: the file lists no pictures")
        self.classes = known
        folder = os.path.dirname(self.path)
        self.samples = [(self._picture(folder, image), numpy.array(own, numpy.float32).reshape(-1, 5)) for image, own in boxes.items()]

    @staticmethod
    def _picture(folder: str, name: str) -> str:
        inner = os.path.join(folder, "images", name)
        return inner if os.path.exists(inner) else os.path.join(folder, name)

    def _csv(self) -> tuple[list[Any], None]:
        try:
            lines = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(_file(self.path).decode("utf-8-sig"), newline=""), strict=True), 1) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidArgument(f"{self.path}: the file is not valid CSV: {error}") from None
        names = [name.strip() for name in lines.pop(0)[1]] if lines else []
        wanted = ("image", "x1", "y1", "x2", "y2", "class")
        for name in wanted:
            if name not in names:
                raise InvalidArgument(f'{self.path}: there is no column "{name}"{nearest(name, names)}; boxes have {", ".join(wanted)}')
        rows: list[Any] = []
        for number, row in lines:
            if len(row) != len(names):
                raise InvalidArgument(f"{self.path}: line {number} has {len(row)} columns, the line of names {len(names)}")
            image, *sides, kind = (row[names.index(name)].strip() for name in wanted)
            if not image:
                raise InvalidArgument(f"{self.path}: line {number} names no image")
            if not any((*sides, kind)):
                rows.append((f"line {number}", image, 0, 0, 0, 0, None))
                continue
            try:
                numbers = [float(side) for side in sides]
            except ValueError:
                raise InvalidArgument(f"{self.path}: line {number} must have numbers in x1, y1, x2 and y2, not {', '.join(sides)}") from None
            rows.append((f"line {number}", image, *numbers, kind))
        return rows, None

    def _json(self) -> tuple[list[Any], list[str]]:
        try:
            given = json.loads(_file(self.path).decode("utf-8-sig"))
            images = {one["id"]: str(one["file_name"]) for one in given["images"]}
            kinds = {one["id"]: str(one["name"]) for one in given["categories"]}
            rows: list[Any] = [(f"image {name}", name, 0, 0, 0, 0, None) for name in images.values()]
            for number, one in enumerate(given["annotations"]):
                left, top, width, height = (float(side) for side in one["bbox"])
                if one["image_id"] not in images or one["category_id"] not in kinds:
                    raise InvalidArgument(f"{self.path}: annotation {number} belongs to an image or a category that is not there")
                rows.append((f"annotation {number}", images[one["image_id"]], left, top, left + width, top + height, kinds[one["category_id"]]))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise InvalidArgument(f"{self.path}: the file is not valid JSON: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f'{self.path}: the file needs the lists "images", "categories" and "annotations" in the format of COCO') from None
        return rows, list(kinds.values())

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, boxes = self.samples[checked(index, len(self))]
        if not os.path.exists(path):
            raise missing(path, f"{self.path}: the picture {path} is not there")
        return self._changed(read_image(path, self.mode), boxes)


__all__ = ["BOX_FILES", "BoxDataset"]
