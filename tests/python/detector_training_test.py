#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it trains networks.
"""minnow.train() of detectors: results, exact resumption, wrong boxes."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import cv, data, expr
except ImportError as error:
    print(error)
    sys.exit(77)


def shapes(folder, count, seed, size=64):
    """Pictures of squares, rings and bars that minnow.cv draws, with boxes.csv."""
    random = np.random.default_rng(seed)
    rows = ["image,x1,y1,x2,y2,class"]
    (folder / "images").mkdir(parents=True)
    for i in range(count):
        picture = random.integers(70, size=(size, size, 3), dtype=np.uint8)
        taken = []
        for _ in range(int(random.integers(1, 4))):
            kind = ("square", "ring", "bar")[random.integers(3)]
            wide = int(random.integers(12, 22))
            high = wide if kind != "bar" else wide // 2
            x, y = (int(random.integers(1, size - 1 - side)) for side in (wide, high))
            if any(x < x2 and x1 < x + wide and y < y2 and y1 < y + high for x1, y1, x2, y2 in taken):
                continue
            taken.append((x, y, x + wide, y + high))
            color = tuple(int(one) for one in random.integers(150, 256, 3))
            if kind == "ring":
                cv.circle(picture, (x + wide // 2, y + wide // 2), wide // 2 - 1, color, 3)
            else:
                cv.rectangle(picture, (x, y), (x + wide - 1, y + high - 1), color, -1)
            rows.append(f"{i}.png,{x},{y},{x + wide},{y + high},{kind}")
        if not taken:
            rows.append(f"{i}.png,,,,,")
        cv.imwrite(folder / "images" / f"{i}.png", picture)
    (folder / "boxes.csv").write_text("\n".join(rows) + "\n")


class Detectors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        shapes(self.folder / "shapes", 200, 1)

    def detector(self, **changes):
        made = {"model": "cnn", "task": "detect", "output": str(self.folder / "out"), "epochs": 15, "batch": 16, "seed": 5,
                "data": {"train": str(self.folder / "shapes"), "validation": 0.2}, "optimizer": {"name": "adamw", "lr": 0.004}, "schedule": {"name": "one_cycle"},
                "augment": {"flip": True, "vertical_flip": True, "color": 0.2}}
        return {**made, **{key: {**made["data"], **value} if key == "data" else value for key, value in changes.items()}}

    def fails(self, kind, words, recipe):
        with self.assertRaisesRegex(kind, words) as caught:
            minnow.train(recipe)
        self.assertNotIn("\n", str(caught.exception).strip())
        self.assertIsInstance(caught.exception, minnow.Error)

    def test_shapes(self):
        lines = []
        made = minnow.train(self.detector(), report=lines.append)
        self.assertGreater(made.metrics["mAP"], 0.9, lines)
        self.assertEqual(made.classes, ["bar", "ring", "square"])
        self.assertRegex(lines[1], r"validation: loss .* mAP [\d.]+ %")
        self.assertEqual(cv.imread(self.folder / "out/curves.png").shape, (340, 920, 3))
        dataset = data.BoxDataset(self.folder / "shapes")
        for name in ("model.minnow", "model.onnx"):
            model = minnow.load(self.folder / "out" / name)
            right = 0
            for i in range(20):
                picture, true = dataset[i]
                boxes, scores = (np.asarray(one)[0] for one in model(data.transforms.ToTensor()(picture)[None]))
                kept = np.asarray(cv.dnn.nms(boxes, scores.max(1), 0.5, 0.3, scores.argmax(1).astype("int32"))).astype(int)
                right += sum(any(np.abs(boxes[k] - one[:4]).max() < 4 and scores[k].argmax() == one[4] for k in kept) for one in true)
            self.assertGreater(right / sum(len(dataset[i][1]) for i in range(20)), 0.8)
        self.assertEqual(minnow.load(self.folder / "out/model.minnow").labels, made.classes)

    def test_resumed_to_the_bit(self):
        results = []
        for stop in (0, 5):
            def callback(row):
                if row["step"] == stop:
                    raise KeyboardInterrupt
            recipe = self.detector(output=str(self.folder / f"o{stop}"), epochs=2, data={"train": str(self.folder / "shapes"), "validation": 0.5, "workers": 2 if stop else 0, "size": 32})
            if stop:
                with self.assertRaises(KeyboardInterrupt):
                    minnow.train(recipe, callback=callback)
            minnow.train(recipe)
            results.append((self.folder / f"o{stop}" / "model.minnow").read_bytes())
        self.assertEqual(results[0], results[1])

    def test_a_backbone_of_a_file_and_a_file_as_cocos(self):
        x = expr.placeholder("x", "float32", [1, 3, 64, 64])
        random = np.random.default_rng(3)
        y = x
        for channels, after in ((3, 12), (12, 24), (24, 32)):
            y = expr.relu(expr.conv(y, expr.const(random.normal(0, (2 / channels / 9) ** 0.5, (after, channels, 3, 3)).astype("float32")), pads=[1, 1, 1, 1], strides=[2, 2]))
        y = expr.matmul(expr.reshape(expr.reduce_mean(y, [2, 3], keepdims=0), minnow.Var([0, -1])), expr.const(random.normal(0, 0.1, (32, 5)).astype("float32")))
        expr.save([y], self.folder / "old.onnx", [x])
        dataset = data.BoxDataset(self.folder / "shapes")
        (self.folder / "shapes/annotations.json").write_text(json.dumps({
            "images": [{"id": i, "file_name": Path(path).name} for i, (path, _) in enumerate(dataset.samples)],
            "categories": [{"id": 7 + i, "name": name} for i, name in enumerate(dataset.classes)],
            "annotations": [{"image_id": i, "category_id": 7 + int(kind), "bbox": [float(a), float(b), float(c - a), float(d - b)]}
                            for i, (_, boxes) in enumerate(dataset.samples) for a, b, c, d, kind in boxes]}))
        same = data.BoxDataset(self.folder / "shapes/annotations.json")
        self.assertEqual(same.classes, dataset.classes)
        for (path, boxes), (other, others) in zip(dataset.samples, same.samples):
            self.assertEqual(path, other)
            np.testing.assert_array_equal(boxes, others)
        made = minnow.train(self.detector(model=str(self.folder / "old.onnx"), epochs=6, data={"train": str(self.folder / "shapes/annotations.json"), "validation": 0.2}))
        self.assertLess(made.history[-1]["loss"], made.history[0]["loss"])
        self.assertEqual(len(made.network.points), 64)

    def test_wrong_boxes(self):
        path = self.folder / "shapes/boxes.csv"
        good = path.read_text()
        first = good.split("\n")[1]
        for words, text in (('no column "x2".*x1', good.replace("x2", "xx2", 1)), ("line 2 has 2 columns", good.replace(first, "0.png,3")), ("line 2 must have numbers in x1, y1, x2 and y2, not a, 2, 3, 4", good.replace(first, "0.png,a,2,3,4,bar")),
                            ("line 2 has a box from .5, 2. to .5, 4., which has no area", good.replace(first, "0.png,5,2,5,4,bar")), ("no area", good.replace(first, "0.png,nan,2,5,4,bar")),
                            ("line 2 names no image", good.replace(first, ",1,2,5,4,bar")), ("the file lists no pictures", good.split("\n")[0]), ('no column "image"', "")):
            path.write_text(text)
            self.fails(ValueError, words, self.detector())
        path.write_text(good)
        self.fails(ValueError, 'the class "square", which|has the class', self.detector(data={"train": str(path), "classes": ["bar", "ring"]}))
        self.fails(ValueError, 'rotation is not for the task "detect"', self.detector(augment={"rotation": 5}))
        self.fails(ValueError, "gives no features of a picture", self.detector(model="mlp"))
        self.fails(ValueError, "loss is not for the task detect", self.detector(loss="focal"))
        self.fails(ValueError, "metric must be one of loss, mAP", self.detector(stop={"metric": "accuracy"}))
        (self.folder / "shapes/images/3.png").unlink()
        self.fails(FileNotFoundError, "3.png is not there", self.detector(data={"train": str(path), "validation": None}))
        for text in ("{", "[]", '{"images": [], "categories": [], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]}', '{"images": []}'):
            (self.folder / "shapes/wrong.json").write_text(text)
            self.fails(ValueError, "wrong.json", self.detector(data={"train": str(self.folder / "shapes/wrong.json")}))
        path.unlink()
        self.fails(ValueError, "neither boxes.csv nor annotations.json", self.detector())


if __name__ == "__main__":
    unittest.main()
