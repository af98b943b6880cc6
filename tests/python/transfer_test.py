#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training a part of a network: freezing, adapters, cached features and class means."""
import copy
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import expr, nn, optim
except ImportError as error:
    print(error)
    sys.exit(77)


def noise(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Attends(nn.Module):
    def __init__(self):
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


class AttendsToOthers(nn.Module):
    def __init__(self):
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True, kdim=4, vdim=2)

    def forward(self, x):
        return self.attention(x, x[..., :4], x[..., 4:])[0]


class Budget(unittest.TestCase):
    def test_more_memory_trains_more_layers(self):
        x = noise(8, 3, 16, 16)
        chosen, before = [], 0
        for memory in (240_000, 300_000, 450_000, 10_000_000):
            nn.seed(1)
            net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(128, 16), nn.ReLU(), nn.Linear(16, 4))
            loss = lambda x: (net(x) ** 2).mean()  # noqa: E731
            names = nn.train_within(net, memory, loss, x, optimizer="adam", lr=0.01)
            self.assertEqual(names, [name for name, _ in net.named_parameters()])
            optimizer = optim.Adam(net, lr=0.01)
            step = optim.TrainingStep(loss, optimizer)
            step.prepare(x)
            planned = step.arena_bytes
            first = float(step(x))
            self.assertLess(float(step(x)), first)
            self.assertEqual(step.arena_bytes, planned)
            self.assertLessEqual(step.arena_bytes, memory)
            self.assertGreaterEqual(len(names), before)
            before = len(names)
            chosen.append(names)
        self.assertEqual(len(chosen[-1]), 8)
        self.assertLess(len(chosen[0]), 8)
        print([len(names) for names in chosen])
        nn.unfreeze(net)
        with self.assertRaisesRegex(minnow.InvalidArgument, "training 8.weight, 8.bias alone takes [0-9]+ bytes, more than 10"):
            nn.train_within(net, 10, loss, x)
        self.assertEqual(len(net.parameters()), 8)


class Freezing(unittest.TestCase):
    def test_names(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        self.assertEqual(nn.freeze(net, ["0.*", "1.bias"]), ["0.weight", "0.bias", "1.bias"])
        self.assertEqual([name for name, _ in net.named_parameters()], ["1.weight", "2.weight", "2.bias"])
        self.assertEqual([name for name, _ in net.named_buffers()], ["1.running_mean", "1.running_var", "1.num_batches_tracked"])
        self.assertEqual(len(net.state_dict()), 9)
        self.assertEqual(nn.unfreeze(net, "0.w*"), ["0.weight"])
        nn.unfreeze(net)
        self.assertEqual(len(net.parameters()), 6)
        self.assertEqual(nn.train_biases_only(net), ["0.bias", "1.bias", "2.bias"])
        with self.assertRaisesRegex(ValueError, r"no parameter 'head.\*'; it has 0.weight"):
            nn.freeze(net, "head.*")

    def test_frozen_layers_stay(self):
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        nn.freeze(net, "0.*")
        before = {name: value.tolist() for name, value in net.state_dict().items()}
        optim.TrainingStep(lambda x: nn.functional.mse_loss(net(x), np.ones((5, 2), np.float32)), optim.SGD(net, lr=0.5))(minnow.Var(noise(5, 3)))
        changed = [name for name, value in net.state_dict().items() if value.tolist() != before[name]]
        self.assertEqual(changed, ["2.weight", "2.bias"])


class Adapters(unittest.TestCase):
    cases = [(lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), (4, 6)), (lambda: nn.Sequential(nn.Conv2d(4, 6, 3, padding=1, groups=2)), (2, 4, 5, 5)),
             (lambda: nn.Sequential(nn.ConvTranspose1d(4, 6, 3, stride=2)), (2, 4, 5)), (lambda: Attends(), (2, 4, 6)),
             (lambda: AttendsToOthers(), (2, 4, 6))]

    def test_training_merging_and_files(self):
        for make, shape in self.cases:
            nn.seed(1)
            net, x = make().eval(), noise(*shape)
            plain, before = np.array(net(x)), {name: value.tolist() for name, value in net.state_dict().items()}
            layers = nn.lora(net, rank=2, alpha=4)
            np.testing.assert_array_equal(np.array(net(x)), plain)  # B is zero
            self.assertTrue(all(".lora." in name for name, _ in net.named_parameters()))
            goal = noise(*plain.shape, seed=2)
            step = optim.TrainingStep(lambda x: nn.functional.mse_loss(net(x), goal), optim.Adam(net, lr=0.05))
            losses = [float(step(minnow.Var(x))) for _ in range(10)]
            self.assertLess(losses[-1], losses[0])
            self.assertEqual({name: value.tolist() for name, value in net.state_dict().items() if ".lora." not in name}, before)
            adapted = np.array(net(x))
            nn.merge_lora(net)
            np.testing.assert_allclose(np.array(net(x)), adapted, atol=1e-5)
            with tempfile.TemporaryDirectory() as folder:  # a file of the plain network
                net.save(Path(folder) / "merged")
                other = make().eval()
                other.load(Path(folder) / "merged")
                np.testing.assert_array_equal(np.array(other(x)), np.array(net(x)))
            nn.unmerge_lora(net)
            self.assertEqual({name: value.tolist() for name, value in net.state_dict().items() if ".lora." not in name}, before)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "adapter.safetensors"
                nn.save_lora(net, path)
                self.assertEqual(set(nn.load_file(path)), {f"{name}.lora.{part}" for name in layers for part in "ab"})
                other = make().eval()
                other.load_state_dict({name: np.array(value, np.float32) for name, value in before.items()})
                self.assertEqual(nn.load_lora(other, path), layers)
                np.testing.assert_array_equal(np.array(other(x)), adapted)
            nn.remove_lora(net)
            np.testing.assert_array_equal(np.array(net(x)), plain)
            self.assertEqual([name for name, _ in net.named_parameters()], list(before))

    def test_every_projection_of_an_attention_has_an_adapter(self):
        net = AttendsToOthers()
        self.assertEqual(nn.lora(net, rank=2, pattern="attention"), ["attention.q_proj", "attention.k_proj", "attention.v_proj"])
        self.assertEqual([value.shape for value in net.parameters()], [(1, 2, 6), (1, 6, 2), (1, 2, 4), (1, 6, 2), (1, 2, 2), (1, 6, 2)])

    def test_models_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))
            expr.save(plain(expr.placeholder("x", "float32", [None, 1, 4, 4])), f"{folder}/net.onnx")
            net, x = minnow.load_trainable(f"{folder}/net.onnx"), noise(5, 1, 4, 4)
            names, before = [name for name, _ in net.named_parameters()], np.array(net(x))
            frozen = next(name for name, value in net.named_parameters() if value.shape == (3,))
            nn.freeze(net, frozen)
            weights = [name for name, value in net.named_parameters() if len(value.shape) > 1]
            net = nn.Sequential(net)
            self.assertEqual(nn.lora(net, rank=2, alpha=4), [f"0.{name}" for name in weights])
            step = optim.TrainingStep(lambda x: (net(x) ** 2).mean(), optim.Adam(net, lr=0.1))
            self.assertGreater(float(step(x)), float(step(x)))
            state = {name: np.array(value) for name, value in net.state_dict().items()}
            adapted = np.array(net(x))
            other = minnow.load_trainable(f"{folder}/net.onnx")  # by the formula
            other.load_state_dict({name: state[f"0.{name}"] + (2 * (state[f"0.{name}.lora.b"] @ state[f"0.{name}.lora.a"]).reshape(state[f"0.{name}"].shape) if name in weights else 0)
                                   for name in names})
            np.testing.assert_allclose(np.array(other(x)), adapted, atol=1e-5)
            self.assertGreater(np.abs(adapted - before).max(), 1e-3)
            nn.save_lora(net, f"{folder}/adapter")
            again = copy.deepcopy(net)
            nn.merge_lora(net)
            self.assertEqual(list(net.state_dict()), [f"0.{name}" for name in names])
            np.testing.assert_allclose(np.array(net(x)), adapted, atol=1e-5)
            nn.unmerge_lora(net)
            nn.remove_lora(net)
            np.testing.assert_array_equal(np.array(net(x)), before)
            self.assertEqual([name for name, _ in net.named_parameters()], [f"0.{name}" for name in names if name != frozen])
            np.testing.assert_array_equal(np.array(again(x)), adapted)  # a copy has weights and adapters of its own
            fresh = nn.Sequential(minnow.load_trainable(f"{folder}/net.onnx"))
            nn.load_lora(fresh, f"{folder}/adapter")
            np.testing.assert_array_equal(np.array(fresh(x)), adapted)

    def test_errors(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        for wrong, text in ((lambda: nn.lora(net, 0), "rank"), (lambda: nn.lora(net, pattern="1"), "no Linear"), (lambda: nn.merge_lora(net), "no adapters")):
            with self.assertRaisesRegex(ValueError, text):
                wrong()
        nn.lora(net)
        with self.assertRaisesRegex(ValueError, "already"):
            nn.lora(net)
        with tempfile.TemporaryDirectory() as folder:
            nn.save_lora(net, Path(folder) / "a")
            with self.assertRaisesRegex(ValueError, 'no layer "0"'):
                nn.load_lora(nn.Sequential(nn.ReLU()), Path(folder) / "a")
            with self.assertRaisesRegex(ValueError, "does not fit"):
                nn.load_lora(nn.Sequential(nn.Linear(4, 4)), Path(folder) / "a")


class ClassMeans(unittest.TestCase):
    def test_a_class_from_five_pictures(self):
        nn.seed(0)
        features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU()).eval()
        random = np.random.default_rng(0)

        def pictures(kind, count):
            made = random.normal(size=(count, 1, 8, 8)).astype(np.float32) * 0.3
            made[:, 0, :, ::2] += kind == "columns"
            made[:, 0, ::2, :] += kind == "rows"
            return made

        head = nn.NearestClassMean(features)
        for kind in ("columns", "rows"):
            head.learn(kind, pictures(kind, 5))
        found = head.classify(pictures("rows", 20)) + head.classify(pictures("columns", 20))
        self.assertGreaterEqual(sum(a == b for a, b in zip(found, ["rows"] * 20 + ["columns"] * 20)), 38)
        head.learn("rows", pictures("rows", 5))
        with tempfile.TemporaryDirectory() as folder:
            head.save(Path(folder) / "head")
            other = nn.NearestClassMean(features)
            other.load(Path(folder) / "head")
        x = pictures("rows", 3)
        np.testing.assert_allclose(np.array(other(x)), np.array(head(x)), rtol=1e-6)
        head.forget("rows")
        self.assertEqual(head.names, ["columns"])
        with self.assertRaisesRegex(ValueError, "no class"):
            head.forget("row")
        with self.assertRaisesRegex(ValueError, "no class was learned"):
            nn.NearestClassMean()(noise(2, 3))

    def test_features_of_a_frozen_part(self):
        calls = []

        class Part(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(4, 3)
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                calls.append(x.shape[0])
                return self.drop(self.layer(x))

        part, data = Part(), [(noise(4, seed=i), i) for i in range(10)]
        expected = np.array(part.eval()(np.stack([x for x, _ in data])))
        part.train()
        for limit in (1 << 30, 8):
            calls.clear()
            cached = nn.CachedFeatures(part, data, batch_size=4, memory_limit=limit)
            self.assertEqual((calls, len(cached), cached[7][1], cached.on_disk), ([4, 4, 2], 10, 7, limit == 8))
            np.testing.assert_allclose(np.stack([row for row, _ in (cached[i] for i in range(10))]), expected, rtol=1e-5)
            self.assertTrue(part.drop.training)
        with tempfile.TemporaryDirectory() as folder:
            calls.clear()
            for _ in range(2):
                cached = nn.CachedFeatures(part, data, path=Path(folder) / "features.npy")
                np.testing.assert_allclose(cached[3][0], expected[3], rtol=1e-5)
            self.assertEqual(calls, [10, 10, 10])  # two samples, and the features
            part.layer.weight.assign(noise(3, 4))
            nn.CachedFeatures(part, data, path=Path(folder) / "features.npy")
            self.assertEqual(calls, [10] * 5)
            calls.clear()
            for key in ("a", "a", "b"):
                nn.CachedFeatures(part, data, path=Path(folder) / "features.npy", key=key)
            self.assertEqual(calls, [10, 10])

    def test_other_functions_and_inputs_have_other_features(self):
        data = [noise(4, seed=i) for i in range(50)]
        with tempfile.TemporaryDirectory() as folder:
            for factor in (1, 2):
                for inputs in (data, [3 * x for x in data]):
                    cached = nn.CachedFeatures(lambda x: x * factor, inputs, path=Path(folder) / "features.npy")  # noqa: B023
                    np.testing.assert_allclose(np.stack([cached[i] for i in range(50)]), factor * np.stack(inputs), rtol=1e-6)

    def test_no_features_of_an_empty_data_set(self):
        part = nn.Linear(4, 3)
        with self.assertRaisesRegex(ValueError, "empty"):
            nn.CachedFeatures(part, [])


if __name__ == "__main__":
    unittest.main()
