#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.data: data sets, loaders that are resumed exactly, files of data, and transforms."""
import gzip
import json
import os
import pickle
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import cv, data
    from minnow.data import transforms as T
except ImportError as error:
    print(error)
    sys.exit(77)


class Noisy(data.Dataset):
    """Samples that draw two random streams."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index % 3 == 0:
            time.sleep(0.001)  # threads finish in another order
        return np.float32([index, data.stream().random(), data.stream().random()]), index


class Counting(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return ((i, data.stream().random()) for i in range(self.count))


class Keeping(Counting):
    """One that has a position of its own."""
    place = 0

    def __iter__(self):
        while self.place < self.count:
            self.place += 1
            yield self.place, data.stream().random()
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def flat(batches):
    return [[np.asarray(part).tolist() for part in batch] for batch in batches]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fails(self, kind, words, function, *arguments, **named):
        with self.assertRaisesRegex(kind, words) as caught:
            function(*arguments, **named)
        self.assertNotIn("\n", str(caught.exception))
        self.assertIsInstance(caught.exception, minnow.Error)
        return str(caught.exception)


class Datasets(InFolder):
    def test_tensors(self):
        pairs = data.TensorDataset(np.arange(6).reshape(3, 2), minnow.Var([0, 1, 2]))
        self.assertEqual(len(pairs), 3)
        self.assertEqual([part.tolist() for part in pairs[-1]], [[4, 5], 2])
        self.fails(IndexError, "no sample 3; the data set has 3", lambda: pairs[3])
        self.fails(ValueError, "same samples", data.TensorDataset, np.zeros(3), np.zeros(4))
        self.fails(ValueError, "one array or more", data.TensorDataset)

    def test_parts(self):
        numbers = data.TensorDataset(np.arange(10))
        part = data.Subset(numbers, [3, 1, 7])
        self.assertEqual([int(part[i][0]) for i in range(3)], [3, 1, 7])
        both = part + numbers
        self.assertEqual((len(both), int(both[2][0]), int(both[3][0]), int(both[-1][0])), (13, 7, 0, 9))
        parts = data.random_split(numbers, [7, 3], seed=5)
        self.assertEqual(sorted(int(part[i][0]) for part in parts for i in range(len(part))), list(range(10)))
        self.assertEqual([list(part.indices) for part in parts], [list(part.indices) for part in data.random_split(numbers, [0.7, 0.3], seed=5)])
        self.fails(ValueError, "add up to 11; the data set has 10", data.random_split, numbers, [7, 4])

    def test_collating(self):
        from collections import namedtuple
        Pair = namedtuple("Pair", "x y")
        made = data.default_collate([{"a": 1.5, "b": Pair(np.zeros(2), "u"), "c": True}, {"a": 2, "b": Pair(np.ones(2), "v"), "c": False}])
        self.assertEqual((made["a"].dtype, made["a"].tolist(), made["b"].x.shape, made["b"].y, made["c"].dtype), (np.float32, [1.5, 2], (2, 2), ["u", "v"], bool))
        self.fails(ValueError, r"samples 0 and 1 of a batch have the shapes \(2,\) and \(3,\)", data.default_collate, [np.zeros(2), np.zeros(3)])
        self.fails(ValueError, "different lengths", data.default_collate, [(1, 2), (1,)])
        self.fails(ValueError, "different keys", data.default_collate, [{"a": 1}, {"b": 1}])
        self.fails(ValueError, "not object", data.default_collate, [object()])


class Loaders(InFolder):
    def test_order_and_form(self):
        loader = data.DataLoader(data.TensorDataset(np.arange(10, dtype=np.float32), np.arange(10)), batch_size=4)
        batches = list(loader)
        self.assertEqual([batch[0].shape for batch in batches], [(4,), (4,), (2,)])
        self.assertIsInstance(batches[0], tuple)
        self.assertIsInstance(batches[0][0], minnow.Var)
        self.assertEqual((batches[0][0].dtype, batches[0][1].dtype), ("float32", "int64"))
        self.assertEqual(len(data.DataLoader(loader.dataset, 4, drop_last=True)), 2)
        self.assertEqual(len(list(data.DataLoader(loader.dataset, 4, drop_last=True))), 2)
        singles = list(data.DataLoader(loader.dataset, batch_size=None))
        self.assertEqual((len(singles), singles[3][1].item()), (10, 3))
        batched = data.DataLoader(loader.dataset, batch_sampler=[[1, 2], [0]])
        self.assertEqual([batch[1].tolist() for batch in batched], [[1, 2], [0]])
        self.assertEqual([list(batch) for batch in data.DataLoader([5, 6, 7], 2, collate_fn=lambda rows: rows)], [[5, 6], [7]])

    def test_passes_differ_and_repeat(self):
        numbers = data.TensorDataset(np.arange(50))
        loader, other = (data.DataLoader(numbers, 50, shuffle=True, seed=9) for _ in range(2))
        passes = [[batch[0].tolist() for batch in loader] for _ in range(3)]
        self.assertNotEqual(passes[0], passes[1])
        self.assertEqual(passes, [[batch[0].tolist() for batch in other] for _ in range(3)])
        self.assertNotEqual(passes[0], [batch[0].tolist() for batch in data.DataLoader(numbers, 50, shuffle=True, seed=10)])
        generator = lambda: np.random.default_rng(4)  # noqa: E731
        self.assertEqual(*([batch[0].tolist() for batch in data.DataLoader(numbers, 50, shuffle=True, generator=generator())] for _ in range(2)))
        data.seed(1)
        first = [batch[0].tolist() for batch in data.DataLoader(numbers, 50, shuffle=True)]
        data.seed(1)
        self.assertEqual(first, [batch[0].tolist() for batch in data.DataLoader(numbers, 50, shuffle=True)])

    def test_workers_change_nothing(self):
        wanted = None
        for workers in (0, 1, 3):
            loader = data.DataLoader(Noisy(23), 4, shuffle=True, num_workers=workers, seed=2)
            found = [flat(loader) for _ in range(2)]
            wanted = wanted or found
            self.assertEqual(found, wanted)
        # The samples' streams do not depend on the size of batches either.
        rows = lambda batches: [row for batch in batches for row in batch[0]]  # noqa: E731
        self.assertEqual(rows(wanted[0]), rows(flat(data.DataLoader(Noisy(23), 7, shuffle=True, seed=2))))

    def test_resumed_exactly(self):
        for kind, count in ((Noisy, 23), (Counting, 23), (Keeping, 23)):
            shuffle = {} if issubclass(kind, data.IterableDataset) else {"shuffle": True}
            straight = data.DataLoader(kind(count), 4, seed=7, **shuffle)
            wanted = [flat(straight) for _ in range(3)]
            for workers in (0, 2):
                for stop in (0, 1, 5, 6, 8, 12, 17):
                    first = data.DataLoader(kind(count), 4, num_workers=workers, seed=7, **shuffle)
                    seen, done = [], False
                    while not done and stop:
                        for batch in first:
                            seen += flat([batch])
                            done = len(seen) == stop
                            if done:
                                break
                    state = json.loads(json.dumps(first.state_dict()))
                    second = data.DataLoader(kind(count), 4, num_workers=2 - workers, **shuffle)
                    second.load_state_dict(state)
                    while second.epoch < 3:
                        seen += flat(second)
                    self.assertEqual(seen, sum(wanted, []), (kind, workers, stop))

    def test_a_pass_that_is_left_early_is_over(self):
        numbers = []
        loader = data.DataLoader(data.TensorDataset(np.arange(8)), 2, num_workers=2, worker_init_fn=numbers.append, pin_memory=True, persistent_workers=True)
        self.assertEqual(len(list(loader)), 4)
        self.assertEqual(sorted(numbers), [0, 1])
        loader = data.DataLoader(data.TensorDataset(np.arange(8)), 2, num_workers=2)
        for batch in loader:
            break
        self.assertEqual((loader.epoch, loader.state_dict()["batches"]), (0, 1))
        self.assertEqual([batch[0].tolist() for batch in loader], [[0, 1], [2, 3], [4, 5], [6, 7]])
        self.assertEqual((loader.epoch, loader.state_dict()["batches"]), (2, 0))

    def test_errors_lose_nothing(self):
        class Fails(data.Dataset):
            broken = True

            def __len__(self):
                return 10

            def __getitem__(self, index):
                if index == 5 and self.broken:
                    raise minnow.InvalidModel("the picture 5.png cannot be read: it is cut off")
                return index

        for workers in (0, 2):
            loader = data.DataLoader(Fails(), 2, num_workers=workers)
            seen = []
            with self.assertRaisesRegex(minnow.InvalidModel, "5.png"):
                for batch in loader:
                    seen.append(batch.tolist())
            self.assertEqual((seen, loader.state_dict()["batches"]), ([[0, 1], [2, 3]], 2))
            loader.dataset.broken = False
            self.assertEqual([batch.tolist() for batch in loader], [[4, 5], [6, 7], [8, 9]])

    def test_threads_end(self):
        before = threading.active_count()
        for _ in range(3):
            for batch in data.DataLoader(Noisy(40), 4, num_workers=3):
                break
        del batch
        for _ in range(100):
            if threading.active_count() <= before:
                break
            time.sleep(0.02)
        self.assertLessEqual(threading.active_count(), before)

    def test_workers_run_beside_each_other(self):
        class Slow(data.Dataset):
            def __len__(self):
                return 16

            def __getitem__(self, index):
                time.sleep(0.02)
                return index

        start = time.perf_counter()
        list(data.DataLoader(Slow(), 1, num_workers=8))
        self.assertLess(time.perf_counter() - start, 0.25)  # one after another: 0.32

    def test_samplers(self):
        weights = data.WeightedRandomSampler([0, 1, 0, 3], 400, seed=1)
        counts = np.bincount(list(weights), minlength=4)
        self.assertEqual((counts[0], counts[2]), (0, 0))
        self.assertLess(abs(counts[3] - 300), 50)
        self.assertEqual(sorted(data.SubsetRandomSampler([4, 2, 9], seed=1)), [2, 4, 9])
        sampler = data.RandomSampler(range(10), replacement=True, num_samples=30, seed=1)
        self.assertEqual((len(list(sampler)), len(sampler)), (30, 30))
        loader = data.DataLoader(data.TensorDataset(np.arange(4)), 8, sampler=data.WeightedRandomSampler([1, 1, 1, 1], 8, seed=3))
        first, second = [flat(loader) for _ in range(2)]
        self.assertNotEqual(first, second)
        for words, function in (("weights are", lambda: data.WeightedRandomSampler([-1, 2], 3)), ("num_samples", lambda: data.WeightedRandomSampler([0, 2], 2, False)),
                                ("empty", lambda: data.RandomSampler([])), ("num_samples is 5", lambda: data.RandomSampler(range(3), num_samples=5)),
                                ("batch_size", lambda: data.BatchSampler([1], 0))):
            self.fails(ValueError, words, function)

    def test_wrong_arguments(self):
        numbers = data.TensorDataset(np.arange(4))
        for words, named in (("num_workers is an integer from 0, not -1", {"num_workers": -1}), ("prefetch_factor is an integer from 1", {"prefetch_factor": 0}),
                             ("batch_size is None or", {"batch_size": 0}), ("exclude each other", {"shuffle": True, "sampler": [1]}),
                             ("takes the place", {"batch_sampler": [[1]], "batch_size": 2}), ("batch_size", {"batch_size": 2.0})):
            self.fails(ValueError, words, data.DataLoader, numbers, **named)
        self.fails(ValueError, "its own order", data.DataLoader, Counting(3), shuffle=True)
        self.fails(TypeError, "this is int", data.DataLoader, 3)
        loader = data.DataLoader(numbers, 2)
        self.fails(ValueError, "4 samples in batches of 2, this loader has 4 in batches of 3", data.DataLoader(numbers, 3).load_state_dict, loader.state_dict())
        self.fails(ValueError, "the state of a loader has", loader.load_state_dict, {"epoch": 1})


def idx(array, code):
    return bytes([0, 0, code, array.ndim]) + b"".join(dim.to_bytes(4, "big") for dim in array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


class Files(InFolder):
    def pictures(self, mode=1):
        for name, count in (("cat", 3), ("dog", 2)):
            (self.folder / "root" / name / "more").mkdir(parents=True)
            for i in range(count):
                picture = np.full((6 + i, 8, 3), 40 * i, np.uint8)
                picture[..., 2] = 200 if name == "cat" else 0  # red
                cv.imwrite(self.folder / "root" / name / ("more" if i == 1 else ".") / f"{i}.png", picture)
        (self.folder / "root" / "cat" / "notes.txt").write_text("no picture")
        return self.folder / "root"

    def test_image_folder(self):
        root = self.pictures()
        folder = data.ImageFolder(root)
        self.assertEqual((folder.classes, len(folder), folder.targets), (["cat", "dog"], 5, [0, 0, 0, 1, 1]))
        picture, label = folder[0]
        self.assertEqual((picture.shape, picture.dtype, picture[0, 0].tolist(), label), ((6, 8, 3), np.uint8, [200, 0, 0], 0))
        self.assertEqual(data.ImageFolder(root, mode="L")[0][0].shape, (6, 8, 1))
        prepared = data.ImageFolder(root, T.Compose([T.Resize((4, 4)), T.ToTensor()]), target_transform=lambda label: 1 - label)
        images, labels = next(iter(data.DataLoader(prepared, 5, num_workers=2)))
        self.assertEqual((images.shape, images.dtype, labels.tolist()), ((5, 3, 4, 4), "float32", [1, 1, 1, 0, 0]))
        self.assertEqual(data.ImageFolder(root, classes=["dog", "cat"]).targets, [0, 0, 1, 1, 1])

    def test_image_folder_errors(self):
        root = self.pictures()
        self.fails(FileNotFoundError, "nowhere is not there", data.ImageFolder, self.folder / "nowhere")
        with self.assertRaises(FileNotFoundError) as caught:
            data.read_idx(self.folder / "nothing")
        self.assertEqual((caught.exception.errno, caught.exception.filename), (2, str(self.folder / "nothing")))
        self.fails(ValueError, "has no folders", data.ImageFolder, root / "dog" / "more")
        self.fails(ValueError, 'no folder of the class "dogs".*dog', data.ImageFolder, root, classes=["cat", "dogs"])
        self.fails(ValueError, 'the class "dog", which is none of cat', data.ImageFolder, root, classes=["cat"])
        (root / "emu").mkdir()
        self.fails(ValueError, "emu has no pictures", data.ImageFolder, root)
        self.assertEqual(len(data.ImageFolder(root, allow_empty=True).classes), 3)
        (root / "emu" / "0.png").write_bytes((root / "cat" / "0.png").read_bytes()[:40])
        damaged = data.ImageFolder(root)
        self.fails(ValueError, "emu/0.png", lambda: damaged[5])
        (root / "emu" / "0.png").write_bytes(b"")
        self.fails(minnow.Error, "emu/0.png", lambda: damaged[5])
        (root / "emu" / "0.png").unlink()
        self.fails(FileNotFoundError, "emu/0.png", lambda: damaged[5])

    def test_idx(self):
        for array, code in ((np.arange(24, dtype=np.uint8).reshape(2, 3, 4), 8), (np.int8([-1, 2]), 9), (np.int16([[300, -4]]), 11), (np.int32([1 << 20]), 12),
                            (np.float32([1.5]), 13), (np.float64([[2.5]]), 14)):
            (self.folder / "a").write_bytes(idx(array, code))
            with gzip.open(self.folder / "a.gz", "wb") as file:
                file.write(idx(array, code))
            for name in ("a", "a.gz"):
                read = data.read_idx(self.folder / name)
                np.testing.assert_array_equal(read, array)
                self.assertEqual(read.dtype, array.dtype)
        whole = idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4), 8)
        for wrong in (b"", b"\0\0\x08", b"P5 3 3", whole[:-1], whole + b"\0", bytes([0, 0, 7]) + whole[3:], whole[:4] + b"\xff" * 12, whole[:3] + b"\x09" + whole[4:]):
            (self.folder / "a").write_bytes(wrong)
            self.fails(ValueError, "a: ", data.read_idx, self.folder / "a")
        (self.folder / "a").write_bytes((self.folder / "a.gz").read_bytes()[:-9])
        self.fails(ValueError, "a: ", data.read_idx, self.folder / "a")
        self.fails(FileNotFoundError, "b is not there", data.read_idx, self.folder / "b")

    def test_mnist(self):
        pictures, labels = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28), np.uint8([3, 9, 0])
        (self.folder / "t10k-images-idx3-ubyte").write_bytes(idx(pictures, 8))
        with gzip.open(self.folder / "t10k-labels-idx1-ubyte.gz", "wb") as file:
            file.write(idx(labels, 8))
        digits = data.MNIST(self.folder, train=False, transform=T.Compose([T.ToTensor(), T.Normalize([0.5], [0.5])]))
        images, targets = next(iter(data.DataLoader(digits, 3)))
        self.assertEqual((images.shape, targets.tolist(), targets.dtype), ((3, 1, 28, 28), [3, 9, 0], "int64"))
        np.testing.assert_allclose(images.numpy()[:, 0], (pictures / np.float32(255) - 0.5) / 0.5, atol=1e-6)
        np.testing.assert_array_equal(images.numpy()[1], digits[1][0])  # as one by one
        self.fails(FileNotFoundError, "no train-images-idx3-ubyte", data.MNIST, self.folder)
        (self.folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.uint8([3, 10, 0]), 8)))
        self.fails(ValueError, "sample 1 has the label 10; there are 10 classes", data.MNIST, self.folder, False)
        (self.folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.uint8([3, 1]), 8)))
        self.fails(ValueError, "do not go with labels", data.MNIST, self.folder, False)

    def test_cifar(self):
        random = np.random.default_rng(1)
        rows, labels = random.integers(256, size=(4, 3072), dtype=np.uint8), [3, 9, 0, 1]
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "test_batch.bin").write_bytes(b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels, rows)))
        (self.folder / "py" / "cifar-10-batches-py").mkdir(parents=True)
        stored = self.folder / "py" / "cifar-10-batches-py" / "test_batch"
        stored.write_bytes(pickle.dumps({"data": rows, "labels": labels, "batch_label": "x"}, protocol=2))
        for root in ("bin", "py"):
            read = data.CIFAR10(self.folder / root, train=False)
            self.assertEqual((read.data.shape, read.targets.tolist(), read.classes[3]), ((4, 32, 32, 3), labels, "cat"))
            np.testing.assert_array_equal(read[1][0][5, 7], rows[1].reshape(3, 32, 32)[:, 5, 7])
        (self.folder / "bin" / "train.bin").write_bytes(b"".join(bytes([1, 90 + label]) + row.tobytes() for label, row in zip(labels, rows)))
        self.assertEqual(data.CIFAR100(self.folder / "bin").targets.tolist(), [93, 99, 90, 91])
        self.assertEqual(len(data.CIFAR100.classes), 100)

        class Bomb:
            def __reduce__(self):
                return os.mkdir, (str(bomb),)

        bomb = self.folder / "exploded"
        for wrong in (pickle.dumps(Bomb()), pickle.dumps({"data": Bomb(), "labels": labels}), b"", b"\x80\x02.", pickle.dumps({"data": rows[:3], "labels": labels}),
                      pickle.dumps({"data": rows.astype(np.int16), "labels": labels}), pickle.dumps({"labels": labels}), pickle.dumps(7),
                      pickle.dumps({"data": rows, "labels": "abcd"}), pickle.dumps({"data": rows, "labels": [3, 9, 0, -1]}), stored.read_bytes()[:2000]):
            stored.write_bytes(wrong)
            self.fails(ValueError, "test_batch", data.CIFAR10, self.folder / "py", False)
        self.assertFalse(bomb.exists())
        (self.folder / "bin" / "test_batch.bin").write_bytes(b"\0" * 3000)
        self.fails(ValueError, "records of 3073 bytes", data.CIFAR10, self.folder / "bin", False)

    def test_npz(self):
        path = self.folder / "a.npz"
        np.savez(path, x_train=np.zeros((4, 2)), y_train=np.arange(4), x_test=np.ones((2, 2)), y_test=np.arange(2))
        self.assertEqual(len(data.NPZDataset(path, part="train")), 4)
        self.assertEqual(data.NPZDataset(path, "x_test", "y_test")[1][0].tolist(), [1, 1])
        self.fails(ValueError, 'no array "x"; it has x_test, x_train', data.NPZDataset, path)
        self.fails(ValueError, "each sample needs one target", data.NPZDataset, path, "x_train", "y_test")
        np.savez(path, x=np.array([{}], object), y=np.zeros(1))
        self.fails(ValueError, "a.npz: the file cannot be read", data.NPZDataset, path)
        np.save(self.folder / "b.npy", np.zeros(3))
        self.fails(ValueError, "b.npy: the file cannot be read", data.NPZDataset, self.folder / "b.npy")
        np.savez(path, x=np.zeros((40, 2)), y=np.arange(40))
        whole = path.read_bytes()
        for length in (0, 1, 30, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.fails(ValueError, "a.npz: the file cannot be read", data.NPZDataset, path)
        self.fails(FileNotFoundError, "b.npz is not there", data.NPZDataset, self.folder / "b.npz")

    def test_csv(self):
        path = self.folder / "a.csv"
        path.write_text("\ufefflength, width,kind\n1,2.5,rose\n3,4,tulip\n\n5,6e1,rose\n", encoding="utf-8")
        flowers = data.CSVDataset(path)
        self.assertEqual((flowers.classes, flowers.features, flowers.targets.tolist(), flowers[1][0].tolist()), (["rose", "tulip"], ["length", "width"], [0, 1, 0], [3, 4]))
        self.assertEqual(data.CSVDataset(path, "width", ["length"]).targets.dtype, np.float32)
        self.assertEqual(data.CSVDataset(path, "length", ["width"]).targets.tolist(), [1, 3, 5])
        self.assertEqual(data.CSVDataset(path, classes=["tulip", "rose"]).targets.tolist(), [1, 0, 1])
        self.fails(ValueError, 'no column "knd".*kind', data.CSVDataset, path, "knd")
        self.fails(ValueError, 'line 2 has \'rose\' in the column "kind"', data.CSVDataset, path, "width")
        self.fails(ValueError, 'line 3 has the class "tulip"', data.CSVDataset, path, classes=["rose"])
        for text, words in (("", "no rows"), ("a,b\n", "no rows"), ("a,b\n1\n", "line 2 has 1 columns"), ("a,b\n1,2\nx,2\n", "line 3 has 'x'"),
                            ("a,b\n1,\n", 'line 2 has nothing in the column "b"'), ("a,b\nnan,1\n", "no finite number"), ('a,b\n"1,2\n', "not valid CSV")):
            path.write_text(text)
            self.fails(ValueError, words, data.CSVDataset, path)
        path.write_bytes(b"a,b\n\xff\xfe,1\n")
        self.fails(ValueError, "not valid CSV", data.CSVDataset, path)
        cv.imwrite(self.folder / "p.png", np.zeros((3, 4, 3), np.uint8))
        path.write_text("file,age\np.png,31.5\nq.png,2\n")
        people = data.CSVDataset(path, image="file")
        self.assertEqual((people[0][0].shape, people[0][1]), ((3, 4, 3), 31.5))
        self.fails(FileNotFoundError, "q.png", lambda: people[1])


class Transforms(InFolder):
    def setUp(self):
        super().setUp()
        self.picture = np.random.default_rng(1).integers(256, size=(20, 30, 3), dtype=np.uint8)

    def test_shapes_and_dtypes(self):
        for shape in ((20, 30), (20, 30, 1), (20, 30, 3)):
            for dtype in (np.uint8, np.float32):
                picture = np.random.default_rng(1).random(shape)
                picture = (picture * 255).astype(dtype) if dtype == np.uint8 else picture.astype(dtype)
                for transform, size in ((T.Resize(10), (10, 15)), (T.Resize((7, 9)), (7, 9)), (T.CenterCrop(8), (8, 8)), (T.CenterCrop((25, 40)), (25, 40)), (T.Pad(2), (24, 34)),
                                        (T.Pad((1, 2, 3, 4), padding_mode="edge"), (26, 34)), (T.RandomCrop(16, 4), (16, 16)), (T.RandomCrop(40, pad_if_needed=True), (40, 40)),
                                        (T.RandomResizedCrop(12), (12, 12)), (T.RandomHorizontalFlip(1), (20, 30)), (T.RandomVerticalFlip(1), (20, 30)),
                                        (T.RandomRotation(30), (20, 30)), (T.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5, "bilinear"), (20, 30)),
                                        (T.ColorJitter(0.4, 0.4, 0.4, 0.1), (20, 30)), (T.GaussianBlur(3), (20, 30)), (T.RandomGrayscale(1), (20, 30)), (T.RandomApply([T.Pad(1)], 1), (22, 32)),
                                        (T.RandomChoice([T.Pad(1)]), (22, 32)), (T.Lambda(lambda x: x), (20, 30))):
                    made = np.asarray(transform(picture))
                    self.assertEqual((made.shape[:2], made.dtype, made.ndim), (size, dtype, len(shape)), type(transform))
                self.assertEqual(T.Grayscale()(picture).shape, (20, 30, 1))
                tensor = T.ToTensor()(picture)
                self.assertEqual((tensor.shape, tensor.dtype), (((shape[2] if len(shape) == 3 else 1), 20, 30), np.float32))
                self.assertEqual(T.RandomErasing(1)(tensor).shape, tensor.shape)

    def test_values(self):
        np.testing.assert_array_equal(T.RandomHorizontalFlip(1)(self.picture), self.picture[:, ::-1])
        np.testing.assert_array_equal(T.RandomVerticalFlip(1)(self.picture), self.picture[::-1])
        np.testing.assert_array_equal(T.CenterCrop((10, 10))(self.picture), self.picture[5:15, 10:20])
        np.testing.assert_array_equal(T.RandomRotation((90, 90))(self.picture[:, 5:25]), np.rot90(self.picture[:, 5:25]))
        np.testing.assert_array_equal(T.RandomAffine(0)(self.picture), self.picture)
        np.testing.assert_allclose(T.ToTensor()(self.picture)[1], self.picture[..., 1] / 255, atol=1e-7)
        gray = T.Grayscale()(self.picture)[..., 0].astype(int)
        self.assertLessEqual(np.abs(gray - cv.cvtColor(self.picture, cv.COLOR_RGB2GRAY).astype(int)).max(), 1)
        brighter = T.ColorJitter(brightness=(1.5, 1.5))(self.picture)
        np.testing.assert_allclose(brighter, np.minimum(self.picture * 1.5, 255), atol=0.51)
        self.assertLessEqual(np.abs(T.ColorJitter(hue=(0.001, 0.001))(self.picture).astype(int) - self.picture).max(), 6)  # 0 of 180 steps
        erased = T.RandomErasing(1, value=7)(np.zeros((2, 16, 16), np.float32))
        self.assertEqual(set(np.unique(erased)), {0, 7})

    def test_streams_do_not_depend_on_other_transforms(self):
        """A transform draws from a stream of its own: the crop is the same whether or not the flip before it draws a number or an array."""
        class Greedy(T.RandomHorizontalFlip):
            def __call__(self, picture):
                data.stream().random(100)
                return picture

        pictures = np.stack([self.picture] * 6)
        made = [flat(data.DataLoader(data.ArrayDataset(pictures, np.arange(6), T.Compose([first, T.RandomCrop(8)])), 2, seed=3)) for first in (T.RandomHorizontalFlip(0), Greedy())]
        self.assertEqual(*made)

    def test_statistics(self):
        pictures = np.zeros((400, 4, 4), np.uint8)
        pictures[:, :, 0] = 1
        flipped = [batch[0].numpy() for batch in data.DataLoader(data.ArrayDataset(pictures, np.arange(400), T.RandomHorizontalFlip()), 400, seed=1)][0]
        self.assertLess(abs(int((flipped[:, 0, 0] == 0).sum()) - 200), 50)

    def test_mixing(self):
        pictures, labels = np.arange(4 * 3 * 8 * 8, dtype=np.float32).reshape(4, 3, 8, 8), np.array([0, 1, 2, 3])
        for kind in (T.Mixup, T.CutMix):
            mix = kind(num_classes=4)
            made = [[part.numpy() for part in batch] for workers in (0, 2)
                    for batch in data.DataLoader(data.ArrayDataset(pictures, labels), 4, num_workers=workers, seed=5, collate_fn=lambda rows: mix(*data.default_collate(rows)))]
            np.testing.assert_array_equal(made[0][0], made[1][0])
            self.assertEqual(made[0][1].shape, (4, 4))
            np.testing.assert_allclose(made[0][1].sum(1), 1, rtol=1e-6)
            self.fails(ValueError, "the label 4 is none of the 4 classes", mix, pictures, labels + 1)

    def test_wrong_arguments(self):
        for words, function in (("size", lambda: T.Resize(0)), ("size", lambda: T.CenterCrop((1, 2, 3))), ("interpolation is one of", lambda: T.Resize(3, "cubic")),
                                ("p is a number", lambda: T.RandomHorizontalFlip(2)), ("scale is a pair", lambda: T.RandomResizedCrop(3, (1, 0.5))), ("hue", lambda: T.ColorJitter(hue=0.6)),
                                ("brightness", lambda: T.ColorJitter(-1)), ("std is not 0", lambda: T.Normalize([0.5], [0])), ("padding is 1", lambda: T.Pad(-1)), ("odd", lambda: T.GaussianBlur(4)),
                                ("num_output", lambda: T.Grayscale(2)), ("alpha", lambda: T.Mixup(0, num_classes=3)), ("one transform", lambda: T.RandomChoice([])),
                                ("20 x 30 pixels; RandomCrop takes 25 x 25", lambda: T.RandomCrop(25)(self.picture)), ("floats", lambda: T.Normalize([0, 0, 0], [1, 1, 1])(self.picture)),
                                ("RandomErasing takes", lambda: T.RandomErasing()(self.picture)), ("a picture is an array", lambda: T.Resize(3)(np.zeros(4)))):
            self.fails(ValueError, words, function)


if __name__ == "__main__":
    unittest.main()
