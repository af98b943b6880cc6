#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it trains networks.
"""minnow.train() and `minnow train`: results, exact resumption, wrong recipes and data, logs."""
import contextlib
import io
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import cv, data, expr, nn
    from minnow._training import _drawing, _events, _recipe, _trainer
except ImportError as error:
    print(error)
    sys.exit(77)


def rings(count=240, seed=1):
    """Points of three classes that no plane divides."""
    random = np.random.default_rng(seed)
    labels = random.integers(3, size=count)
    angles = random.uniform(0, 2 * np.pi, count)
    radius = 1 + labels + random.normal(0, 0.15, count)
    return np.float32(np.stack([radius * np.cos(angles), radius * np.sin(angles)], 1)), labels


def squares(count=120, seed=1):
    """Pictures of three classes: a red, green or blue square."""
    random = np.random.default_rng(seed)
    labels = random.integers(3, size=count)
    pictures = random.integers(60, size=(count, 12, 12, 3), dtype=np.uint8)
    for picture, label in zip(pictures, labels):
        y, x = random.integers(8, size=2)
        picture[y:y + 4, x:x + 4, label] = 220
    return pictures, labels


def interrupt_at(step):
    """A callback as Ctrl-C in this step."""
    def callback(row):
        if row["step"] == step:
            raise KeyboardInterrupt
    return callback


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        x, y = rings()
        np.savez(self.folder / "rings.npz", x=x, y=y)
        pictures, labels = squares()
        np.savez(self.folder / "squares.npz", images=pictures, labels=labels)

    def recipe(self, **changes):
        made = {"model": "mlp", "output": str(self.folder / "out"), "epochs": 3, "batch": 16, "seed": 5, "data": {"train": str(self.folder / "rings.npz"), "validation": 0.25},
                "optimizer": {"name": "adamw", "lr": 0.01}}
        for key, value in changes.items():
            made[key] = {**made.get(key, {}), **value} if isinstance(value, dict) else value
        return made

    def fails(self, kind, words, recipe, **named):
        with self.assertRaisesRegex(kind, words) as caught:
            minnow.train(recipe, **named)
        self.assertNotIn("\n", str(caught.exception).strip())
        self.assertIsInstance(caught.exception, minnow.Error)
        return str(caught.exception)


class Results(InFolder):
    def test_a_classifier(self):
        lines = []
        made = minnow.train(self.recipe(epochs=40, data={"workers": 2}), report=lines.append)
        self.assertGreater(made.metrics["accuracy"], 0.9)
        self.assertEqual((len(made.history), made.confusion.sum(), made.classes), (40, 60, ["0", "1", "2"]))
        self.assertRegex(lines[0], "parameters, 180 samples, 60 to validate, 12 steps an epoch")
        self.assertRegex(lines[1], r"epoch 1/40: loss .* accuracy .* %  validation: loss .* samples/s  \d+ MB")
        x, y = rings()
        for name in ("model.minnow", "model.onnx"):
            model = minnow.load(self.folder / "out" / name)
            found = model(x)
            self.assertEqual(found.shape, (240, 3))
            np.testing.assert_allclose(found.sum(1), 1, rtol=1e-4)
            self.assertGreater((found.argmax(1) == y).mean(), 0.9)
        self.assertEqual(minnow.load(self.folder / "out/model.minnow").labels, ["0", "1", "2"])
        self.assertEqual(cv.imread(self.folder / "out/curves.png").shape[2], 3)
        self.assertEqual(cv.imread(self.folder / "out/confusion.png").shape[2], 3)
        facts = json.loads((self.folder / "out/history.json").read_text())
        self.assertEqual(facts["history"], made.history)
        self.assertEqual(made.metrics["accuracy"], max(row["accuracy"] for row in made.history))

    def test_a_regressor_of_a_csv_file(self):
        random = np.random.default_rng(1)
        rows = random.normal(50, 20, (300, 3))
        target = rows @ [0.5, -1, 0.25] + 3
        (self.folder / "a.csv").write_text("a,b,c,y\n" + "\n".join(",".join(map(str, [*row, y])) for row, y in zip(rows, target)))
        made = minnow.train(self.recipe(model="linear", task="regress", epochs=60, data={"train": str(self.folder / "a.csv")}, optimizer={"lr": 0.3}, schedule={"name": "cosine"}))
        self.assertLess(made.metrics["mae"], 0.1)
        found = minnow.load(self.folder / "out/model.minnow")(np.float32(rows))  # numbers as in the file: the model standardizes them itself
        self.assertLess(np.abs(found[:, 0] - target).mean(), 0.1)

    def test_pictures_in_folders(self):
        pictures, labels = squares(60)
        for part, chosen in (("train", range(45)), ("val", range(45, 60))):
            for i in chosen:
                path = self.folder / "photos" / part / ("red", "green", "blue")[labels[i]] / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                cv.imwrite(path, np.ascontiguousarray(pictures[i][..., ::-1]))
        made = minnow.train(self.recipe(model="cnn", epochs=6, data={"train": str(self.folder / "photos"), "validation": None, "size": 16, "mean": [0.2], "std": [0.3], "workers": 2},
                                        augment={"flip": True, "crop": 2, "color": 0.1}))
        self.assertEqual((made.classes, made.confusion.sum()), (["blue", "green", "red"], 15))
        self.assertGreater(made.metrics["accuracy"], 0.6)
        model = minnow.load(self.folder / "out/model.minnow")
        path = next((self.folder / "photos/val/red").iterdir())
        self.assertEqual([one.label for one in model.classify(cv.imread(path))][0], made.classes[int(made.network(minnow.Var(np.asarray(
            self._prepared(path))[None])).numpy().argmax())])

    @staticmethod
    def _prepared(path):
        T = data.transforms
        return T.Compose([T.Resize((16, 16)), T.ToTensor(), T.Normalize([0.2], [0.3])])(data.read_image(path))

    def test_mixing_and_every_augmentation(self):
        made = minnow.train(self.recipe(model="cnn", epochs=1, data={"train": str(self.folder / "squares.npz"), "size": [14, 12]},
                                        augment={"resized_crop": [0.5, 1.0], "flip": True, "vertical_flip": True, "rotation": 10, "translate": 0.1, "zoom": [0.9, 1.1], "color": 0.2, "hue": 0.05,
                                                 "grayscale": 0.1, "erase": 0.2, "mixup": 0.4, "cutmix": 1.0, "crop": 1}, label_smoothing=0.1))
        self.assertTrue(np.isfinite(made.history[0]["train_loss"]))

    def test_early_stopping_keeps_the_best(self):
        made = minnow.train(self.recipe(epochs=200, stop={"patience": 3}, optimizer={"lr": 0.05}))
        self.assertLess(len(made.history), 200)
        values = [row["accuracy"] for row in made.history]
        self.assertLessEqual(max(values[-3:]), max(values[:-3]))
        self.assertEqual(made.metrics["accuracy"], max(values))

    def test_a_model_of_a_file_with_another_head(self):
        random = np.random.default_rng(3)
        weights = [random.normal(0, 0.7, shape).astype(np.float32) for shape in ((2, 40), (40,), (40, 7), (7,))]
        x = expr.placeholder("points", "float32", [1, 2])
        w = [expr.const(one) for one in weights]
        expr.save([expr.softmax(expr.matmul(expr.tanh(expr.matmul(x, w[0]) + w[1]), w[2]) + w[3], axis=1)], self.folder / "old.onnx", [x])
        made = minnow.train(self.recipe(model=str(self.folder / "old.onnx"), epochs=60, data={"standardize": False}, optimizer={"lr": 0.02}))
        self.assertGreater(made.metrics["accuracy"], 0.85)
        before = {name: np.array(value) for name, value in made.network.named_parameters()}
        self.assertEqual(sorted(value.shape for value in before.values()), [(2, 40), (3,), (40,), (40, 3)])
        frozen = minnow.train(self.recipe(model=str(self.folder / "old.onnx"), output=str(self.folder / "head"), epochs=3, data={"standardize": False}, parameters={"train": ["head.*"]}))
        own = {value.shape: np.array(value) for name, value in frozen.network.named_parameters()}
        np.testing.assert_array_equal(own[2, 40], weights[0])
        self.assertFalse(np.array_equal(before[next(name for name in before if before[name].shape == (2, 40))], weights[0]))
        self.assertEqual(minnow.load(self.folder / "head/model.minnow")(np.zeros((5, 2), np.float32)).shape, (5, 3))

    def test_low_rank_adapters_of_a_model_of_a_file(self):
        random = np.random.default_rng(3)
        weights = [random.normal(0, 0.7, shape).astype(np.float32) for shape in ((2, 40), (40,), (40, 7), (7,))]
        x = expr.placeholder("points", "float32", [1, 2])
        w = [expr.trainable(one, f"w{i}") for i, one in enumerate(weights)]
        expr.save([expr.matmul(expr.tanh(expr.matmul(x, w[0]) + w[1]), w[2]) + w[3]], self.folder / "old.onnx", [x])
        recipe = self.recipe(model=str(self.folder / "old.onnx"), epochs=40, data={"standardize": False}, optimizer={"lr": 0.02}, parameters={"lora": 2})
        lines = []
        made = minnow.train(recipe, report=lines.append)
        self.assertIn("training: 207 parameters", lines[0])  # 2 x 40 + 2 x 2 of adapters, 40 x 3 + 3 of the head
        self.assertGreater(made.metrics["accuracy"], 0.85)
        found = {value.shape: np.array(value) for _, value in made.network.named_parameters()}
        np.testing.assert_array_equal(found[40,], weights[1])
        self.assertFalse(np.allclose(found[2, 40], weights[0]))
        self.assertEqual(np.linalg.matrix_rank(found[2, 40] - weights[0]), 2)
        points, _ = rings()
        logits = np.tanh(points @ found[2, 40] + found[40,]) @ found[40, 3] + found[3,]
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        for name in ("model.minnow", "model.onnx"):
            np.testing.assert_allclose(minnow.load(self.folder / "out" / name)(points), shares, rtol=1e-3, atol=1e-5)
        self.fails(ValueError, "lora is for the model of a file", self.recipe(output=str(self.folder / "other"), parameters={"lora": 2}))

    def test_rounding_in_training(self):
        """[quantization]: the files compute with integers, and answer as the network does."""
        x, y = rings()
        for i, keys in enumerate(({"activations": "ema", "delay": 10}, {"activations": "lsq", "weights": "lsq", "weight_bits": 4}, {"activations": "pact", "per_channel": False, "symmetric": True})):
            base = minnow.train(self.recipe(epochs=30, output=str(self.folder / "base"), resume=False))
            before = {name: np.array(value) for name, value in base.network.state_dict().items()}
            made = minnow.train(self.recipe(model=base.network, epochs=12, output=str(self.folder / f"out{i}"), quantization=keys, optimizer={"lr": 2e-3}, data={"standardize": False}))
            self.assertGreater(made.metrics["accuracy"], 0.85, keys)
            wanted = np.asarray(made.network(x)).argmax(1)
            for name in ("model.minnow", "model.onnx"):
                model = minnow.load(self.folder / f"out{i}" / name)
                self.assertGreater((np.asarray(model(x)).argmax(1) == wanted).mean(), 0.98)
                self.assertGreater((np.asarray(model(x)).argmax(1) == y).mean(), 0.85)
            self.assertIn("minnow.QuantizedMatMul", minnow.tools.inspect(self.folder / f"out{i}/model.onnx").operators)
            for name, value in base.network.state_dict().items():
                np.testing.assert_array_equal(np.asarray(value), before[name])

    def test_pruning_in_training_and_quantization_behind_it(self):
        """[prune]: what is zero stays so in the best network, from the end of the ramp on; [quantize] writes one more file."""
        lines = []
        recipe = self.recipe(epochs=8, prune={"sparsity": 0.75, "pattern": "1x4", "end": 60, "layers": ["*"], "skip": ["*5.weight", "*bias"]},
                             quantize={"method": "minmax", "min_sqnr": -100, "skip": ["Softmax"]}, data={"standardize": False})
        made = minnow.train(recipe, report=lines.append)
        self.assertGreater(made.metrics["accuracy"], 0.6)
        weights = {name: value.numpy() for name, value in made.network.named_parameters() if len(value.shape) == 2}
        self.assertEqual([round(float((one == 0).mean()), 2) for one in weights.values()], [0.75, 0.75, 0])
        groups = weights["3.weight"].reshape(16, 4, 128) == 0
        np.testing.assert_array_equal(groups.all(1), groups.any(1))
        self.assertGreaterEqual(min(row["epoch"] for row in made.history if row["loss"] == made.metrics["loss"]), 5)  # 12 steps an epoch
        self.assertRegex("\n".join(lines), r"pruned: .* % of the weights of 2 layers are zero\nquantized: 3 of 3 layers")
        x, y = rings()
        found = minnow.load(self.folder / "out/quantized.minnow")
        self.assertGreater((found(x).argmax(1) == made.network(minnow.Var(x)).numpy().argmax(1)).mean(), 0.9)
        self.assertEqual(found.labels, ["0", "1", "2"])
        self.assertTrue((self.folder / "out/quantized.minnow").stat().st_size < (self.folder / "out/model.minnow").stat().st_size)
        # A training that stops and goes on has the same zeros.
        for keys in ({"sparsity": 0.75, "end": 60, "method": "movement"}, {"pattern": "1:4", "end": 60}):
            results = []
            for stops in ((), (20, 50)):
                changes = {"output": str(self.folder / f"{keys.get('pattern')}{len(stops)}"), "epochs": 8, "prune": keys, "data": {"standardize": False}}
                for stop in stops:
                    with self.assertRaises(KeyboardInterrupt):
                        minnow.train(self.recipe(**changes), callback=interrupt_at(stop))
                results.append(minnow.train(self.recipe(**changes)))
            for (name, a), (_, b) in zip(results[0].network.named_parameters(), results[1].network.named_parameters()):
                np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)
            self.assertEqual(results[0].history, results[1].history)

    def test_pruning_a_model_of_a_file_that_rounds(self):
        base = minnow.train(self.recipe(epochs=10))
        made = minnow.train(self.recipe(model=self.folder / "out/model.onnx", epochs=4, output=str(self.folder / "fine"), parameters={"head": False}, task="classify",
                                        prune={"pattern": "2:4", "end": 20}, data={"standardize": False}, optimizer={"lr": 2e-3}))
        self.assertGreater(made.metrics["accuracy"], base.metrics["accuracy"] - 0.3)
        zeros = [float((value.numpy() == 0).mean()) for _, value in made.network.named_parameters() if len(value.shape) == 2 and min(value.shape) >= 8]
        self.assertTrue(zeros and all(0.49 < one < 0.51 for one in zeros), zeros)
        rounded = minnow.train(self.recipe(epochs=6, output=str(self.folder / "qat"), prune={"sparsity": 0.5, "pattern": "unstructured", "end": 20}, quantization={"activations": "ema"},
                                           data={"standardize": False}))
        self.assertTrue(any(0.49 < float((value.numpy() == 0).mean()) < 0.51 for _, value in rounded.network.named_parameters() if len(value.shape) == 2))

    def test_a_teacher(self):
        teacher = minnow.train(self.recipe(epochs=40, output=str(self.folder / "teacher"))).network
        x, y = rings()
        for i, keys in enumerate(({"teacher": teacher, "alpha": 1.0}, {"teacher": str(self.folder / "teacher/model.onnx"), "temperature": 2.0})):
            made = minnow.train(self.recipe(epochs=30, output=str(self.folder / f"student{i}"), distillation=keys, data={"standardize": False}, quantization={"activations": "ema", "delay": 25} if i else {}))
            self.assertGreater((np.asarray(made.network(x)).argmax(1) == np.asarray(teacher(x)).argmax(1)).mean(), 0.85)
        network = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))
        made = minnow.train(self.recipe(model=network, epochs=20, output=str(self.folder / "features"), distillation={"teacher": teacher, "features": {"1": "network.2"}, "alpha": 0.5},
                                        data={"standardize": False}))
        self.assertGreater(made.metrics["accuracy"], 0.8)

    def test_own_network_loss_and_data(self):
        x, y = rings()
        network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
        made = minnow.train(model=network, output=self.folder / "own", epochs=30, loss=lambda output, target: nn.functional.cross_entropy(output, target, label_smoothing=0.05),
                            data={"train": data.TensorDataset(x, y), "validation": 0.2}, optimizer={"name": "sgd", "lr": 0.1, "momentum": 0.9})
        self.assertGreater(made.metrics["accuracy"], 0.85)
        self.assertIs(made.network, network)


class Resumption(InFolder):
    PROGRAM = """
import json, os, signal, sys
import minnow
recipe, kill = json.loads(sys.argv[1]), int(sys.argv[2])
def callback(row):
    if row["step"] == kill:
        os.kill(os.getpid(), signal.SIGKILL)
minnow.train(recipe, callback=callback)
"""

    def train(self, recipe, kill=0):
        return subprocess.run([sys.executable, "-c", self.PROGRAM, json.dumps(recipe), str(kill)], capture_output=True, text=True)

    def state(self, folder):
        with np.load(folder / "checkpoint.npz") as file:
            return {name: file[name] for name in file.files if name != "facts"}, json.loads((folder / "history.json").read_text())

    def finished(self, name, recipe, kills=()):
        """Trains in a folder of this name; the process is killed after each step of `kills`, and a new one goes on."""
        for kill in kills:
            killed = self.train({**recipe, "output": str(self.folder / name)}, kill)
            self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
        done = self.train({**recipe, "output": str(self.folder / name)})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return self.folder / name

    def expect_same(self, folder, straight):
        """All arrays of the checkpoint (weights, states of the optimizer, buffers), the history and the files of the model, to the bit. Returns
        the number of arrays."""
        (found, history), (wanted, straight_history) = self.state(folder), self.state(straight)
        self.assertEqual(found.keys(), wanted.keys())
        for name in wanted:
            np.testing.assert_array_equal(found[name], wanted[name], name)
        self.assertEqual(history, straight_history)
        models = [path.name for path in straight.iterdir() if path.suffix in (".minnow", ".onnx")]
        self.assertIn("model.minnow", models)
        for name in models:
            self.assertEqual((folder / name).read_bytes(), (straight / name).read_bytes(), name)
        return len(wanted)

    def test_killed_and_resumed_to_the_bit(self):
        recipe = self.recipe(model="cnn", epochs=5, batch=5, data={"train": str(self.folder / "squares.npz"), "validation": 1 / 6}, augment={"flip": True, "crop": 2, "erase": 0.5, "mixup": 0.3},
                             schedule={"name": "cosine", "warm_up": 10}, checkpoint={"steps": 10})  # 100 training samples: 20 steps an epoch, 100 in all
        straight = self.finished("straight", recipe)
        self.assertEqual(self.state(straight)[1]["steps"], 100)
        for workers, kills in ((0, [50]), (2, [50]), (3, [3, 40, 71])):
            recipe["data"]["workers"] = workers
            self.expect_same(self.finished(f"killed{workers}", recipe, kills), straight)

    def test_dropout_draws_the_same_numbers(self):
        x, y = rings(60)
        def network():
            nn.seed(1)
            return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 3))
        results = []
        for stops in ([], [7], [1, 2, 9]):
            folder = self.folder / f"d{len(stops)}"
            for stop in [*stops, 0]:
                def callback(row):
                    if row["step"] == stop:
                        raise KeyboardInterrupt
                with contextlib.suppress(KeyboardInterrupt):
                    minnow.train(model=network(), output=folder, epochs=2, batch=10, data={"train": data.TensorDataset(x, y)}, callback=callback)
            results.append(self.state(folder)[0])
        for other in results[1:]:
            for name in results[0]:
                np.testing.assert_array_equal(other[name], results[0][name], name)

    def test_ctrl_c_saves(self):
        def callback(row):
            if row["step"] == 5:
                raise KeyboardInterrupt
        lines = []
        with self.assertRaises(KeyboardInterrupt):
            minnow.train(self.recipe(), callback=callback, report=lines.append)
        self.assertIn("interrupted after step 5", lines[-1])
        minnow.train(self.recipe(), report=lines.append)
        self.assertTrue(any("resumed at step 5" in line for line in lines))

    def test_another_recipe_in_the_folder(self):
        minnow.train(self.recipe(epochs=1))
        before = (self.folder / "out/checkpoint.npz").read_bytes()
        self.fails(ValueError, "holds a training with another batch .16, now 8.; choose another output", self.recipe(batch=8))
        self.fails(ValueError, "with another lr", self.recipe(optimizer={"lr": 0.5}))
        self.assertEqual((self.folder / "out/checkpoint.npz").read_bytes(), before)
        self.assertEqual(len(minnow.train(self.recipe(epochs=2)).history), 2)  # longer: it goes on
        self.assertEqual(len(minnow.train(self.recipe(batch=8, resume=False)).history), 3)
        self.assertTrue((self.folder / "out/checkpoint.npz.before").exists())
        for length in (0, 10, 200, 3000):
            (self.folder / "out/checkpoint.npz").write_bytes(before[:length])
            self.fails(ValueError, "the checkpoint is damaged", self.recipe())


class Optimizers(InFolder):
    def arrays(self, name, folder="out"):
        with np.load(self.folder / folder / name) as file:
            return {key: file[key] for key in file.files}

    def test_sharpness_climbs_and_descends_by_the_same_batch(self):
        """11 steps an epoch, an odd number; the answer is NumPy's: the gradient of a linear regression by hand."""
        random = np.random.default_rng(3)
        x = random.normal(size=(88, 3)).astype("float32")
        y = (x @ [1.0, -2.0, 0.5] + 0.1 * random.normal(size=88)).astype("float32")
        seen = []

        class Net(nn.Module):
            def __init__(self):
                self.weight = expr.trainable(np.zeros((3, 1), "float32"))

            def forward(self, inputs):
                return inputs @ self.weight

        class Pairs(data.Dataset):
            def __len__(self):
                return len(x)

            def __getitem__(self, index):
                seen.append(index)
                return x[index], y[index]

        recipe = {"model": Net, "task": "regress", "output": str(self.folder / "out"), "epochs": 1, "batch": 8, "data": {"train": Pairs(), "standardize": False},
                  "optimizer": {"name": "sgd", "lr": 0.1, "sharpness": 0.05}}
        minnow.train(recipe)
        order, w = seen[-88:], np.zeros(3)
        batches = [order[i:i + 8] for i in range(0, 88, 8)]
        gradient = lambda w, rows: 2 * x[rows].T @ (x[rows] @ w - y[rows]) / len(rows)
        for rows in batches:
            g = gradient(w, rows)
            w = w - 0.1 * gradient(w + 0.05 * g / (np.linalg.norm(g) + 1e-12), rows)
        stored = self.arrays("checkpoint.npz")
        np.testing.assert_allclose(stored["parameter/weight"][:, 0], w, atol=1e-5)
        np.testing.assert_array_equal(self.arrays("best.npz")["parameter/weight"], stored["parameter/weight"])

    def test_averages_are_the_result(self):
        options = {"name": "sgd", "lr": 0.3, "average": 0.9}
        made = minnow.train(self.recipe(epochs=1, optimizer=options))
        stored, best = self.arrays("checkpoint.npz"), self.arrays("best.npz")
        for name, value in made.network.named_parameters():
            average = stored[f"optimizer/{name}.average"]
            np.testing.assert_array_equal(best[f"parameter/{name}"], average)
            np.testing.assert_array_equal(value, average)
            self.assertTrue((stored[f"parameter/{name}"] != average).any())
        x = rings()[0][:20]
        given = np.asarray(minnow.load(str(self.folder / "out/model.minnow"))(x))
        made.network.eval()
        logits = np.asarray(made.network(minnow.Var(x)), "float64")
        np.testing.assert_allclose(given, np.exp(logits) / np.exp(logits).sum(1, keepdims=True), rtol=1e-4, atol=1e-6)
        # Resumed to the bit: the weights that train on are in the checkpoint.
        minnow.train(self.recipe(epochs=2, optimizer=options))
        minnow.train(self.recipe(epochs=2, optimizer=options, output=str(self.folder / "whole")))
        one, other = self.arrays("checkpoint.npz"), self.arrays("checkpoint.npz", "whole")
        for name in one:
            if name != "facts":
                np.testing.assert_array_equal(one[name], other[name], name)

    def test_schedules_count_steps_of_the_optimizer(self):
        for accumulate in (1, 4):
            output = str(self.folder / f"out{accumulate}")
            recipe = self.recipe(epochs=4, output=output, optimizer={"name": "sgd", "lr": 0.1, "accumulate": accumulate}, schedule={"name": "cosine", "warm_up": 3})
            training = _trainer.Training(_recipe.Recipe(recipe), lambda text: None, False, None)
            training.run()
            self.assertEqual(training.optimizer.steps, 48 // accumulate)
            self.assertAlmostEqual(training.optimizer.factor, 0.0)

    def test_schedules_of_schedules(self):
        for schedule, ending in (({"name": "sequential", "milestones": [12], "schedules": [{"name": "warm_up", "steps": 12}, {"name": "cosine"}]}, 0),
                                 ({"name": "chained", "schedules": [{"name": "linear", "start": 1, "end": 0.5}, {"name": "constant", "factor": 0.5, "steps": 100}]}, 0.25)):
            training = _trainer.Training(_recipe.Recipe(self.recipe(schedule=schedule)), lambda text: None, False, None)
            training.run()
            self.assertAlmostEqual(training.optimizer.factor, ending)
            (self.folder / "out/checkpoint.npz").unlink()
        for words, schedule in (("sequential needs schedules, a list of tables with a name each", {"name": "sequential"}), ("takes 1 milestones", {"name": "sequential", "schedules": [{"name": "cosine"}] * 2}),
                                ('sequential has no "milestone"; there are', {"name": "sequential", "milestone": [1], "schedules": [{"name": "cosine"}]}),
                                ("milestones is a list of integers", {"name": "sequential", "milestones": 3, "schedules": [{"name": "cosine"}]})):
            self.fails(ValueError, "\\[schedule\\] .*" + words, self.recipe(schedule=schedule))

    def test_gradients_that_are_not_finite_replace_no_checkpoint(self):
        class Loss:
            def __call__(self, output, target):
                zero = output.sum() * 0.0
                return nn.functional.cross_entropy(output, target) + minnow.numpy.sqrt(zero * zero) * 0.0

        for options in ({}, {"clip_norm": 1.0}):
            text = self.fails(minnow.InvalidArgument, 'finite.* resume = "changed"', self.recipe(loss=Loss(), resume=False, optimizer={"lr": 0.01, **options}))
            self.assertRegex(text, r"step [12]")
            self.assertTrue(all(np.isfinite(value).all() for name, value in self.arrays("checkpoint.npz").items() if name.startswith("parameter")))
            self.assertRegex(text, 'the gradient of the parameter "[^"]+" is not')
        # One step an epoch: nothing is written at its end.
        self.fails(minnow.InvalidArgument, 'the loss of step 1 is finite, but the gradient of the parameter "[^"]+" is not', self.recipe(loss=Loss(), resume=False, batch=1000))

    def test_sophia_learns(self):
        for task in ({}, {"loss": "focal"}):
            made = minnow.train(self.recipe(optimizer={"name": "sophia", "lr": 0.01, "curvature_every": 2}, resume=False, epochs=8, **task))
            self.assertLess(made.history[-1]["train_loss"], made.history[0]["train_loss"])

    def test_going_on_with_another_rate(self):
        self.fails(minnow.InvalidArgument, 'resume = "changed"', self.recipe(optimizer={"name": "sgd", "lr": 1e18}))
        self.fails(ValueError, 'with another lr .*or resume = "changed"', self.recipe(optimizer={"name": "sgd", "lr": 0.01}))
        lines = []
        made = minnow.train(self.recipe(optimizer={"name": "sgd", "lr": 0.01, "clip_norm": 1.0}, resume="changed"), report=lines.append)
        self.assertEqual(len(made.history), 3)
        self.assertIn("lr was 1e+18, and is 0.01 from here on", lines)
        self.fails(ValueError, "with another batch", self.recipe(batch=8, resume="changed", optimizer={"name": "sgd", "lr": 0.01, "clip_norm": 1.0}))

    def test_settings_without_effect_are_errors(self):
        self.fails(ValueError, r'groups has "hed[.]\*", which fits no parameter; there are ', self.recipe(optimizer={"groups": {"hed.*": {"lr": 1}}}))


class Tables(InFolder):
    def trained(self, path, **changes):
        return minnow.train({"model": "linear", "output": str(self.folder / "out"), "epochs": 1, "resume": False, "data": {"train": str(path), "validation": 0.25}, **changes})

    def test_delimiters_are_found(self):
        for delimiter in ",;\t|":
            path = self.folder / "table.csv"
            path.write_text(delimiter.join("abc") + "\n" + "\n".join(delimiter.join((str(i % 7), str(i % 5), "xy"[i % 2])) for i in range(40)))
            made = self.trained(path)
            self.assertEqual(made.classes, ["x", "y"])
            self.assertEqual(dict(made.network.named_parameters())[next(iter(dict(made.network.named_parameters())))].size % 2, 0)
            self.assertEqual(len(data.CSVDataset(path).features), 2)
        self.assertEqual(data.CSVDataset(path, delimiter=",").features, [])

    def test_labels(self):
        x = np.random.default_rng(0).normal(size=(40, 2)).astype("float32")
        path = self.folder / "table.csv"
        path.write_text("a,b,kind\n" + "\n".join(f"{a},{b},{1 + i % 3}" for i, (a, b) in enumerate(x)))
        self.assertEqual(self.trained(path).classes, ["1", "2", "3"])
        self.assertEqual(data.CSVDataset(path).targets[:4].tolist(), [1, 2, 3, 1])  # numbers elsewhere
        other = self.folder / "other.csv"
        other.write_text("a,b,kind\n1,2,4\n")
        self.fails(ValueError, 'line 2 has the class "4", which is none of 1, 2, 3', self.recipe(resume=False, data={"train": str(path), "validation": str(other)}))
        path = self.folder / "table.npz"
        for labels, classes in ((np.array(list("pqr"))[np.arange(40) % 3], ["p", "q", "r"]), (np.arange(40)[:, None] % 2, ["0", "1"]), (np.array([[b"u"], [b"v"]] * 20, "S1"), ["u", "v"])):
            np.savez(path, x=x, y=labels)
            made = self.trained(path)
            self.assertEqual((made.classes, made.confusion.sum()), (classes, 10))

    def test_short_batches_are_left_out(self):
        lines = []
        for drop, steps in ((False, 12), (True, 11)):  # 180 samples
            minnow.train(self.recipe(epochs=1, resume=False, batch=16, data={"drop_last": drop}), report=lines.append)
            self.assertIn(f"{steps} steps an epoch", lines.pop(0))
            lines.clear()


class OnDevice(InFolder):
    def test_a_backend_trains_and_the_processor_goes_on(self):
        try:
            with expr.scope(backend="opencl"):
                pass
        except minnow.Error as error:
            self.skipTest(str(error))
        lines = []
        here = minnow.train(self.recipe(epochs=2))
        recipe = self.recipe(epochs=2, output=str(self.folder / "there"), backend="opencl")
        with self.assertRaises(KeyboardInterrupt):
            minnow.train(recipe, callback=interrupt_at(5), report=lines.append)
        self.assertIn("parameters and the optimizer's state stay on opencl", lines)
        there = minnow.train({**recipe, "backend": "cpu"})  # from the same checkpoint
        for (name, one), (_, other) in zip(here.network.named_parameters(), there.network.named_parameters()):
            np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-3, atol=1e-4, err_msg=name)
        lines.clear()
        minnow.train({**recipe, "resume": False, "epochs": 1, "optimizer": {"name": "lamb"}}, report=lines.append)
        self.assertIn('parameters are updated by the processor: optimizer "lamb" looks at whole tensors', lines)

    def test_wrong_backends(self):
        self.fails(minnow.Error, 'the recipe: backend: .*"cudda"', self.recipe(backend="cudda"))
        self.assertFalse((self.folder / "out").exists())


class Faults(InFolder):
    def test_wrong_recipes(self):
        """Every key with wrong values, in every table; the folder with an earlier training stays as it is."""
        minnow.train(self.recipe(epochs=1))
        folder = self.folder / "out"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        tried = 0
        wrong = [-1, 0.5, "nonsense", True, [], [1, "a"], {"a": 1}, 1e400, ""]
        for table, keys in _recipe.KEYS.items():
            for key, (default, check) in keys.items():
                for value in wrong:
                    if check(value) is None or value == default:
                        continue
                    recipe = self.recipe(**({} if not table else {table: {key: value}}))
                    if not table:
                        recipe[key] = value
                    self.fails(ValueError, rf"{key} must be ", recipe)
                    tried += 1
            self.fails(ValueError, f'{"." if not table else table}.* no key "lrr"' if table not in ("optimizer", "schedule", "quantize") else "lrr", self.recipe(**({"lrr": 1} if not table else {table: {"lrr": 1}})))
            if table:
                recipe = self.recipe()
                recipe[table] = 3
                self.fails(ValueError, rf"\[{table}\] must be a table", recipe)
            tried += 2
        for words, changes in (('"adamx".*adam', {"optimizer": {"name": "adamx"}}), ('"cosin"', {"schedule": {"name": "cosin"}}), ("gamma", {"schedule": {"name": "step", "gama": 0.5}}),
                               ('neither a file nor a built-in network.*lenet', {"model": "lenett"}), ('"conv.*" fits no parameter|which fits no parameter', {"parameters": {"train": ["conv*"]}}),
                               ("leaves no parameter", {"parameters": {"freeze": ["*"]}}), ("metric must be one of", {"stop": {"metric": "f1"}}), ('the loss "mse" is for the task "regress", not "classify"', {"loss": "mse"}),
                               ('the loss "focal" is for the task "classify"', {"task": "regress", "loss": "focal"}), ("rotation is for pictures", {"augment": {"rotation": 5}}), ("size is for pictures", {"data": {"size": 8}}),
                               ("needs mean and std together", {"data": {"mean": [1.0]}}), ("leaves none for training", {"data": {"validation": 0.999}}), ('no array "foo"', {"data": {"inputs": "foo"}}),
                               ("at least 12 x 12 pixels", {"model": "lenet"}), ("is not there", {"data": {"train": str(self.folder / "nowhere")}}), ("fashion-mnist", {"data": {"train": "fashion-mnst"}}), (r'\[quantization\] needs "activations"', {"quantization": {"weight_bits": 4}}),
                               (r"\[quantization\] delay goes with", {"quantization": {"activations": "lsq", "delay": 1}}), (r"delay must be less than epochs", {"quantization": {"activations": "ema", "delay": 3}}),
                               (r"\[quantization\] skip: the model has no", {"quantization": {"activations": "ema", "skip": ["nobody"]}}),
                               (r'\[prune\] needs "sparsity"', {"prune": {"end": 5}}), (r"\[prune\] .*none of 1x4", {"prune": {"pattern": "5x5", "sparsity": 0.5}}),
                               (r"\[prune\] end must be at most 36", {"prune": {"sparsity": 0.5, "end": 100}}), (r"\[prune\] has no key \"sparsty\"", {"prune": {"sparsty": 0.5}}),
                               (r'\[prune\] skip has "nobody"', {"prune": {"sparsity": 0.5, "skip": ["nobody"]}}), (r"\[prune\] .*2:4 has 0.5", {"prune": {"sparsity": 0.8, "pattern": "2:4"}}),
                               (r"\[quantize\] .*mehtod", {"quantize": {"mehtod": "mse"}}), (r"\[quantize\] palette_bits and weights_only", {"quantize": {"palette_bits": 4, "weights_only": "rtn"}}),
                               (r"\[quantize\] cannot go with \[quantization\]", {"quantize": {}, "quantization": {"activations": "ema"}}),
                               (r'\[distillation\] needs "teacher"', {"distillation": {"alpha": 0.5}}), (r'there is no file "nowhere', {"distillation": {"teacher": "nowhere.onnx"}}),
                               (r'features: the student has no module or value "x"', {"distillation": {"teacher": nn.Linear(2, 3), "features": {"x": "0"}}}),
                               (r"a table of names", {"distillation": {"teacher": nn.Linear(2, 3), "features": {"x": 1}}})):
            self.fails(minnow.Error, words, self.recipe(**changes))
            tried += 1
        for key in ("model", "data"):
            recipe = self.recipe()
            del recipe[key]
            self.fails(ValueError, "needs", recipe)
            tried += 1
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, before)
        print("wrong recipes:", tried)
        self.assertGreaterEqual(tried, 250)

    def test_wrong_toml(self):
        path = self.folder / "recipe.toml"
        good = f'model = "mlp"\nepochs = 1\n[data]\ntrain = "{self.folder}/rings.npz"\n'
        tried = 0
        for text in [good[:length] for length in range(3, len(good) - 3, 7)] + ["[", "a", "model = ", good + good, good.replace('"', "'", 1), "\0", "model = 1979-05-27\n"]:
            path.write_text(text)
            try:
                import tomllib
                tomllib.loads(text)
            except Exception:
                self.fails(ValueError, "the file is not valid TOML", path)
            else:
                self.fails(minnow.Error, "", path)
            tried += 1
        path.write_bytes(b"model = '\xff'")
        self.fails(ValueError, "the file is not valid TOML", path)
        self.fails(FileNotFoundError, "is not there", self.folder / "none.toml")
        self.fails(TypeError, "a recipe is", 3)
        print("wrong TOML files:", tried + 3)

    def test_wrong_data(self):
        """Data sets of every kind, damaged."""
        x, y = rings(40)
        path = self.folder / "a.npz"
        tried = 0
        for words, arrays in (("sample 7 has the label -1", {"x": x, "y": np.where(np.arange(40) == 7, -1, y)}), ("not integers", {"x": x, "y": y + 0.5}), ("each sample needs one target", {"x": x, "y": y[:9]}),
                              ("no samples", {"x": x[:0], "y": y[:0]}), ("one class", {"x": x, "y": y * 0}), ("sample 3 has a number that is not finite", {"x": np.where(np.arange(40)[:, None] == 3, np.nan, x), "y": y}),
                              ("integers, one for each sample", {"x": x, "y": np.stack([y, y], 1)}), ('no array "x"', {"z": x, "y": y})):
            np.savez(path, **arrays)
            self.fails(minnow.Error, words, self.recipe(data={"train": str(path)}))
            tried += 1
        np.savez(path, x=x, y=np.where(np.arange(40) == 30, 3, y))
        self.fails(ValueError, "sample 30 has the label 3; there are 3 classes", self.recipe(data={"train": str(path), "classes": ["a", "b", "c"]}))
        np.savez(path, x=x, y=y)
        whole = path.read_bytes()
        for length in range(0, len(whole), max(1, len(whole) // 30)):
            path.write_bytes(whole[:length])
            self.fails(ValueError, "cannot be read", self.recipe(data={"train": str(path)}))
            tried += 1
        csv = self.folder / "a.csv"
        good = "a,b,kind\n" + "".join(f"{i},{i * 2},{'xy'[i % 2]}\n" for i in range(20))
        csv.write_text(good)
        minnow.train(self.recipe(output=str(self.folder / "good"), epochs=1, data={"train": str(csv)}))
        for text in ("", "\n", good.replace("5,10,", "5,"), good.replace("5,10,", "5,ten,"), good.replace("5,10,y", "5,10,"), good.replace("5,10,", "nan,10,"), good.replace("5,10,", "1e999,10,"), good.replace('5,10,', '5,"10,'),
                     good[:9], good.replace("y\n", "x\n")):
            csv.write_text(text)
            self.fails(ValueError, "", self.recipe(data={"train": str(csv)}))
            tried += 1
        folder = self.folder / "photos"
        (folder / "cat").mkdir(parents=True)
        pictures = {"train": str(folder), "validation": None, "size": 12}
        self.fails(ValueError, "cat has no pictures", self.recipe(model="cnn", data=pictures))
        cv.imwrite(folder / "cat" / "a.png", np.zeros((12, 12, 3), np.uint8))
        self.fails(ValueError, "there is one class, cat", self.recipe(model="cnn", data=pictures))
        self.fails(ValueError, "has no folders", self.recipe(model="cnn", data={**pictures, "train": str(folder / "cat")}))
        (folder / "text.txt").write_text("x")
        self.fails(ValueError, "none of these", self.recipe(model="cnn", data={**pictures, "train": str(folder / "text.txt")}))
        (folder / "dog").mkdir()
        whole = bytes(cv.imencode(".png", np.random.default_rng(1).integers(256, size=(12, 12, 3), dtype=np.uint8))[1].tolist())
        for length in range(0, len(whole) - 12, 12):
            (folder / "dog" / "b.png").write_bytes(whole[:length])
            text = self.fails(minnow.Error, "b.png", self.recipe(model="cnn", output=str(self.folder / f"o{length}"), epochs=1, data=pictures))
            tried += 1
        print("wrong data sets:", tried + 5)
        self.assertGreaterEqual(tried, 70)

    def test_a_picture_that_breaks_on_the_way_loses_nothing(self):
        pictures, labels = squares(24)
        for i, (picture, label) in enumerate(zip(pictures, labels)):
            path = self.folder / "photos" / str(label) / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv.imwrite(path, picture)
        recipe = self.recipe(model="cnn", epochs=2, batch=4, data={"train": str(self.folder / "photos"), "validation": None, "size": 12, "workers": 2})
        minnow.train(recipe)
        wanted = (self.folder / "out/model.minnow").read_bytes()
        recipe["output"] = str(self.folder / "again")
        broken = self.folder / "photos" / str(labels[20]) / "20.png"
        whole = broken.read_bytes()

        def callback(row):
            if row["step"] == 6:
                broken.write_bytes(whole[:30])

        self.fails(minnow.Error, "20.png", recipe, callback=callback)
        broken.write_bytes(whole)
        lines = []
        minnow.train(recipe, report=lines.append)
        self.assertRegex(lines[0], r"resumed at step ([6-9]|1\d):")
        self.assertEqual((self.folder / "again/model.minnow").read_bytes(), wanted)

    def test_not_finite(self):
        self.fails(minnow.InvalidArgument, r"the loss is (nan|inf|-inf) in step \d+, and nothing was updated; the first value that is not finite is the (result of|parameter)",
                   self.recipe(optimizer={"name": "sgd", "lr": 1e18}, epochs=20))

        class Poisoned(data.TensorDataset):
            poison = True

            def __getitem__(self, index):
                x, y = super().__getitem__(index)
                return (x * np.float32("nan") if index == 33 and self.poison else x), y

            _batch = data.Dataset._batch

        x, y = rings(64)
        dataset = Poisoned(x, y)
        recipe = {**self.recipe(output=str(self.folder / "p"), batch=8), "data": {"train": dataset}}
        text = self.fails(minnow.InvalidArgument, "the first value that is not finite is array 0 of the batch", recipe)
        step = int(text.split("in step ")[1].split(",")[0]) - 1  # the error counts from 1; so many are done
        self.assertGreaterEqual(step, 0)
        dataset.poison = False
        lines = []
        minnow.train(recipe, report=lines.append)
        if step:
            self.assertIn(f"resumed at step {step}:", lines[0])


class Logs(InFolder):
    def records(self, path):
        """The events in a file, as (step, {name: value})."""
        blob, found = path.read_bytes(), []
        while blob:
            (length,) = struct.unpack("<Q", blob[:8])
            for part, crc in ((blob[:8], blob[8:12]), (blob[12:12 + length], blob[12 + length:16 + length])):
                self.assertEqual(_events._masked(part), crc)
            found.append(self.fields(blob[12:12 + length]))
            blob = blob[16 + length:]
        return found

    def fields(self, blob):
        made = []
        while blob:
            number, kind, blob = blob[0] >> 3, blob[0] & 7, blob[1:]
            if kind == 1:
                value, blob = struct.unpack("<d", blob[:8])[0], blob[8:]
            elif kind == 5:
                value, blob = struct.unpack("<f", blob[:4])[0], blob[4:]
            else:
                value = shift = 0
                while True:
                    byte, blob = blob[0], blob[1:]
                    value |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                if kind == 2:
                    value, blob = blob[:value], blob[value:]
            made.append((number, value))
        return made

    def test_checksum(self):
        self.assertEqual(_events.crc32c(b"123456789"), 0xE3069283)

    def test_log(self):
        made = minnow.train(self.recipe(epochs=2))
        path, = (self.folder / "out").glob("events.out.tfevents.*")
        events = self.records(path)
        self.assertIn((3, b"brain.Event:2"), events[0])
        values = {}
        for event in events[1:]:
            event = dict(event)
            for _, value in self.fields(event[5]):
                name, number = (one for _, one in self.fields(value))
                values.setdefault(name.decode(), []).append((event.get(2, 0), number))
        self.assertEqual([step for step, _ in values["validation/accuracy"]], [12, 24])
        np.testing.assert_allclose([value for _, value in values["train/loss"]], [row["train_loss"] for row in made.history], rtol=1e-6)
        minnow.train(self.recipe(epochs=3))
        second = sorted((self.folder / "out").glob("events.out.tfevents.*"), key=lambda path: path.name[-1])[1]
        self.assertIn((7, b"\x08\x01"), self.records(second)[1])  # resumed: a session that starts at step 24
        self.assertEqual(dict(self.records(second)[1])[2], 24)

    def test_drawings(self):
        picture = _drawing.curves({"loss": {"training": [(1, 2.0), (2, 1.0), (3, float("nan"))], "validation": [(1, 2.5)]}, "accuracy": {"training": []}})
        self.assertEqual(picture.shape, (340, 920, 3))
        self.assertLess(picture[:, :460].min(), 100)
        for count in (2, 10, 50, 120):
            matrix = np.random.default_rng(1).integers(50, size=(count, count))
            self.assertEqual(_drawing.confusion(matrix, [f"class {i}" for i in range(count)]).ndim, 3)
        self.assertEqual(_drawing.text_of_confusion(np.array([[3, 0], [1, 12]]), ["cat", "dog"]).split(), ["0", "1", "0", "cat", "3", ".", "1", "dog", "1", "12"])


class Command(InFolder):
    def minnow(self, *arguments, **options):
        return subprocess.run([sys.executable, "-m", "minnow", "train", *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, **options)

    def test_train(self):
        (self.folder / "recipe.toml").write_text('model = "mlp"\noutput = "out"\nepochs = 2\n\n[data]\ntrain = "rings.npz"\nvalidation = 0.25\n\n[optimizer]\nname = "adamw"\nlr = 0.01\ngroups."*.bias" = {weight_decay = 0}\n')
        result = self.minnow("recipe.toml")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?s)\Atraining: .*epoch 1/2.*epoch 2/2.*best: epoch \d with loss .*model.minnow\n\Z")
        self.assertTrue((self.folder / "out/model.minnow").exists())
        result = self.minnow("recipe.toml", "--epochs", "3", "--output", "out")
        self.assertRegex(result.stdout, "resumed at step 12(.|\n)*epoch 3/3")
        self.assertEqual(self.minnow("recipe.toml", "--restart", "--quiet").stdout, "")

    def test_errors(self):
        for words, status, arguments in (("train needs RECIPE", 2, []), ('"b" is too many', 2, ["a", "b"]), ('train has no option "--lr"', 2, ["--lr", "3"]), ("--epochs needs a value", 2, ["a", "--epochs"]),
                                         ("--epochs", 2, ["a", "--epochs", "x"]), ("--epochs", 2, ["a", "--epochs", "0"]), ("minnow: the recipe none.toml is not there", 1, ["none.toml"])):
            result = self.minnow(*arguments)
            self.assertEqual((result.returncode, result.stdout), (status, ""))
            self.assertIn(words, result.stderr)
            self.assertNotIn("Traceback", result.stderr)
        self.assertIn("RECIPE", self.minnow("--help").stdout)

    def test_the_command_without_python_hands_over(self):
        command = Path(os.environ.get("MINNOW_BUILD_DIR", "")) / "bin" / "minnow"
        if not command.exists():
            self.skipTest("the command is not built")
        (self.folder / "recipe.toml").write_text('model = "mlp"\noutput = "out"\nepochs = 1\n\n[data]\ntrain = "rings.npz"\nvalidation = 0.25\n')
        (self.folder / "bin").mkdir()
        (self.folder / "minnow").mkdir()  # is not taken for the package
        def run(*arguments):
            return subprocess.run([command, "train", *arguments], capture_output=True, text=True, cwd=self.folder, env={**os.environ, "PATH": str(self.folder / "bin")})
        result = run("recipe.toml")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"\Aminnow: training needs the Python package, and python3 cannot be started: .*; install Python and the package minnow\n\Z")
        python = self.folder / "bin" / "python3"
        for before, status, out, words in (("-S -I", 1, "\\A\\Z", "minnow: training needs the Python package, which .* does not have .*; install it with: .* -m pip install minnow\n"),
                                           ("", 0, r"(?s)training: .*epoch 2/2.*model.minnow\n", r"\A\Z")):
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {before} "$@"\n')
            python.chmod(0o755)
            result = run("recipe.toml", "--epochs=2", "--restart")
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertRegex(result.stdout, out)
            self.assertRegex(result.stderr, words)


if __name__ == "__main__":
    unittest.main()
