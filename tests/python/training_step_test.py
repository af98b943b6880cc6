#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.optim.TrainingStep: the same updates as gradients and an optimizer one after the other; batches, buffers, states and faults."""
import unittest

import numpy as np

import minnow
from minnow import expr, nn, optim


def network():
    """Parameters, and a loss with logits beside it."""
    random = np.random.default_rng(0)
    sizes = [12, 16, 5]
    parameters = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        parameters[f"w{i}"] = expr.trainable((random.standard_normal((a, b)) / np.sqrt(a)).astype("float32"))
        parameters[f"b{i}"] = expr.trainable(np.zeros(b, "float32"))

    def loss(batch):
        hidden = expr.tanh(batch["x"] @ parameters["w0"] + parameters["b0"])
        logits = hidden @ parameters["w1"] + parameters["b1"]
        return -(expr.log_softmax(logits) * batch["y"]).sum() / batch["x"].shape[0], {"logits": logits}

    return parameters, loss


def batch_of(count, seed=1):
    random = np.random.default_rng(seed)
    return {"x": random.standard_normal((count, 12)).astype("float32"), "y": np.eye(5, dtype="float32")[random.integers(0, 5, count)]}


class Steps(unittest.TestCase):
    def test_equal_gradients_and_an_optimizer(self):
        for name, options in (("sgd", {"lr": 0.1, "momentum": 0.9}), ("adamw", {}), ("adamw", {"clip_norm": 0.5}), ("lion", {"accumulate": 2}),
                              ("sgd", {"sharpness": 0.05}), ("lbfgs", {}), ("muon", {"average": 0.9})):
            with self.subTest(name, **options):
                ours, loss = network()
                theirs, other_loss = network()
                step, other = optim.TrainingStep(loss, optim.create(name, ours, **options)), optim.create(name, theirs, **options)
                for i in range(5):
                    batch = batch_of(8 if i < 3 else 3, seed=i)
                    value, more = step(batch)
                    expected, expected_more = other_loss({key: minnow.Var(array) for key, array in batch.items()})
                    other.step(minnow._minnow.gradients(expected, list(theirs.values())))
                    self.assertEqual(float(value), float(expected))
                    np.testing.assert_array_equal(more["logits"], expected_more["logits"])
                    for key in ours:
                        np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
                self.assertEqual(step.optimizer.steps, other.steps)

    def test_lower_the_loss(self):
        parameters, loss = network()
        step, batch = optim.TrainingStep(loss, optim.AdamW(parameters, lr=0.01)), batch_of(16)
        losses = [float(step(batch)[0]) for _ in range(100)]
        self.assertLess(losses[-1], 0.3 * losses[0])
        self.assertGreater(step.arena_bytes, 0)

    def test_what_would_stay_as_it_was_recorded_is_an_error(self):
        w = expr.trainable(np.eye(2) * 2.0)
        x = np.ones((2, 2))
        step = lambda f: optim.TrainingStep(lambda x: (w * x).sum() + f(), optim.SGD([w], lr=0.01))(x)
        numpy = minnow.numpy
        for f in (lambda: numpy.linalg.det(w), lambda: w[w > 0].sum(), lambda: numpy.linalg.svd(minnow.stop_gradient(w))[1].sum(), lambda: numpy.histogram(w, range=(0, 1))[0].sum()):
            with self.assertRaisesRegex(minnow.Error, "a training step records its loss once"):
                step(f)
        for f in (lambda: float(w[0, 0]), lambda: w.tolist()[0][0], lambda: np.asarray(w)[0, 0], lambda: 1.0 if w[0, 0] > 0 else 0.0, lambda: int(w[0, 0])):
            with self.assertRaisesRegex(TypeError, "a training step records its loss once"):
                step(f)
        np.testing.assert_array_equal(w, np.eye(2) * 2.0)
        self.assertAlmostEqual(float(step(lambda: (w * numpy.zeros_like(w)).sum() + len(repr(w)) * 0 + numpy.linalg.det(minnow.Var(x)) + w.shape[0])), 6.0)

    def test_sophia_estimates_the_curvature(self):
        def run(drawn):
            w = expr.trainable([3.0, -1.0])
            step = optim.TrainingStep(lambda x: (x * w ** 4).sum(), optim.Sophia({"w": w}, beta2=0.0, curvature_every=2), curvature=(lambda x: (x * w).sum()) if drawn else None)
            for i in range(3):
                before = np.array(w)
                step(np.array([1.0, 2.0 + i]))
            return before, step.state_dict()["w.h"]
        before, h = run(False)  # the Hessian is diagonal: Hutchinson's estimate is exact
        np.testing.assert_allclose(h, 12 * before ** 2 * [1, 4], rtol=1e-6)
        np.testing.assert_allclose(run(True)[1], [2 * 1, 2 * 16], rtol=1e-6)

    def test_go_on_from_a_state(self):
        def run(steps, state=None, values=None):
            parameters, loss = network()
            if values:
                for name, value in values.items():
                    parameters[name].assign(value)
            step = optim.TrainingStep(lambda batch: (loss(batch)[0], minnow._minnow.optim.random_key()), optim.AdamW(parameters), seed=3)
            if state:
                step.load_state_dict(state)
            keys = [step(batch_of(4, seed=i))[1].tolist() for i in steps]
            return {name: minnow.Var(np.array(value)) for name, value in parameters.items()}, step.state_dict(), keys

        whole, _, keys = run(range(6))
        values, state, first = run(range(3))
        self.assertEqual(int(state["training_step.calls"]), 3)
        resumed, _, second = run(range(3, 6), state, values)
        self.assertEqual(first + second, keys)
        self.assertEqual(len({tuple(key) for key in keys}), 6)
        for name, value in whole.items():
            np.testing.assert_array_equal(resumed[name], value)
        with self.assertRaisesRegex(minnow.InvalidArgument, "training_step.calls"):
            run([], optim.AdamW(network()[0]).state_dict())

    def test_buffers(self):
        w, mean = expr.trainable(np.ones(2, "float32")), minnow.Var(np.zeros(2, "float32"))

        def loss(x):
            minnow._minnow.optim.update_buffer(mean, 0.5 * minnow._minnow.optim.read_buffer(mean) + 0.5 * x)
            return (w * x).sum()

        step = optim.TrainingStep(loss, optim.SGD({"w": w}, lr=0.5))
        for _ in range(2):
            step(np.array([2, 4], "float32"))
        self.assertEqual(mean.tolist(), [1.5, 3.0])
        self.assertEqual(w.tolist(), [-1.0, -3.0])

    def test_layers(self):
        nn.seed(1)
        network = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(4 * 4 * 4, 3))
        network.train()
        x = np.random.default_rng(0).standard_normal((8, 2, 6, 6)).astype("float32")
        target = np.arange(8) % 3
        criterion, norm = nn.CrossEntropyLoss(), network[1]
        step = optim.TrainingStep(lambda x, target: (criterion(network(x), target), network[3](x)), optim.SGD(network, lr=0.1))
        seen = network[0](minnow.Var(x))
        mean = np.array(seen).mean(axis=(0, 2, 3))
        first, dropped = step(x, target)
        np.testing.assert_allclose(norm.running_mean, 0.1 * mean, rtol=1e-4)
        self.assertEqual(int(norm.num_batches_tracked), 1)
        _, again = step(x, target)
        self.assertEqual(int(norm.num_batches_tracked), 2)
        self.assertFalse(np.array_equal(dropped, again))
        for _ in range(60):
            last, _ = step(x, target)
        self.assertLess(float(last), 0.7 * float(first))
        network.eval()
        self.assertEqual(network(minnow.Var(x)).shape, (8, 3))
        self.assertEqual(int(norm.num_batches_tracked), 62)

    def test_less_memory(self):
        def trained(memory):
            nn.seed(1)
            network = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1))])
            network.train()
            step = optim.TrainingStep(lambda x: (network(x) ** 2).mean(), optim.AdamW(network), memory=memory)
            x = np.random.default_rng(0).standard_normal((256, 32)).astype("float32")
            losses = [float(step(x)) for _ in range(3)]
            return losses, step.arena_bytes
        losses, whole = trained(0)
        fewer, part = trained(whole // 2)
        self.assertEqual(losses, fewer)
        self.assertLessEqual(part, whole // 2)
        with self.assertRaisesRegex(minnow.Error, "although activations are computed again"):
            trained(1000)

    def test_faults_lose_nothing(self):
        parameters, loss = network()
        step, batch = optim.TrainingStep(loss, optim.AdamW(parameters)), batch_of(4)
        step(batch)
        before = {name: np.array(value) for name, value in parameters.items()}
        batch["x"][0, 0] = np.nan
        with self.assertRaisesRegex(minnow.InvalidArgument, "the loss is nan in step 2, and nothing was updated.*array 0 of the batch"):
            step(batch)
        for name, value in parameters.items():
            np.testing.assert_array_equal(value, before[name])
        for bad, kind, sentence in (
                (lambda batch: 3, minnow.InvalidType, "a Var of one float, not int"),
                (lambda batch: loss(batch)[1]["logits"], minnow.InvalidArgument, "a loss of one element"),
                (lambda batch: (parameters["w0"] * 2).sum(), minnow.InvalidArgument, 'does not depend on the parameters "b0", "w1", "b1".*freeze them'),
                (lambda batch: sum(minnow.numpy.round(w).sum() for w in parameters.values()), minnow.InvalidArgument, "by operators that have derivatives: Round has none; leave them"),
                (lambda batch: 1 / 0, ZeroDivisionError, "division")):
            with self.assertRaisesRegex(kind, sentence):
                optim.TrainingStep(bad, optim.AdamW(parameters))(batch_of(4))
        with self.assertRaisesRegex(minnow.InvalidType, "ndarray; a training step updates Vars"):
            optim.TrainingStep(loss, optim.AdamW({"w": np.zeros(2)}))
        with self.assertRaisesRegex(minnow.InvalidArgument, '"w" is no parameter'):
            optim.TrainingStep(loss, optim.AdamW({"w": minnow.Var([1.0])}))


class OnDevice(unittest.TestCase):
    def setUp(self):
        try:
            with expr.scope(backend="opencl"):
                pass
        except minnow.Error as error:
            self.skipTest(str(error))

    def test_parameters_stay_there_until_they_are_read(self):
        for options in ({"name": "adamw"}, {"name": "sgd", "momentum": 0.9, "nesterov": True, "clip_norm": 0.5}, {"name": "muon"}):
            with self.subTest(**options):
                ours, loss = network()
                theirs, other_loss = network()
                here = optim.TrainingStep(loss, optim.create(options["name"], ours, lr=0.05, **{key: value for key, value in options.items() if key != "name"}))
                there = optim.TrainingStep(other_loss, optim.create(options["name"], theirs, lr=0.05, **{key: value for key, value in options.items() if key != "name"}))
                for i in range(4):
                    value, more = here(batch_of(8, i))
                    with expr.scope(backend="opencl"):
                        other, others = there(batch_of(8, i))
                    np.testing.assert_allclose(float(other), float(value), rtol=1e-5)
                    np.testing.assert_allclose(others["logits"].numpy(), more["logits"].numpy(), rtol=1e-4, atol=1e-5)
                    if i == 1:  # the state goes to a step on the processor and comes back
                        there.load_state_dict({name: np.array(state) for name, state in there.state_dict().items()})
                        theirs["w0"].assign(minnow.Var(theirs["w0"].numpy() * 1))
                self.assertEqual((there.device, here.device), ("" if options["name"] == "muon" else "opencl", ""))
                self.assertEqual("whole tensors" in there.why_not_on_device, options["name"] == "muon")
                for name in ours:
                    np.testing.assert_allclose(theirs[name].numpy(), ours[name].numpy(), rtol=1e-4, atol=1e-5)
                for name, state in here.state_dict().items():
                    np.testing.assert_allclose(there.state_dict()[name].numpy(), state.numpy(), rtol=1e-4, atol=1e-5)

    def test_running_statistics_stay_there_too(self):
        found = []
        for backend in ("cpu", "opencl"):
            nn.seed(0)
            # A bias before the normalization has a gradient of rounding errors alone, which AdamW would make whole steps of.
            net = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(4 * 4 * 4, 3))
            criterion = nn.CrossEntropyLoss()
            step = optim.TrainingStep(lambda x, y: criterion(net(x), y), optim.AdamW(net, lr=0.01))  # noqa: B023
            x = np.random.default_rng(0).standard_normal((6, 1, 6, 6)).astype("float32")
            with expr.scope(backend=backend):
                losses = [float(step(x, np.arange(6) % 3)) for _ in range(3)]
            net.eval()
            found.append((losses, net(x).numpy(), [value.numpy() for _, value in net.named_buffers()]))
        np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-4)
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-3, atol=1e-4)
        for one, other in zip(found[0][2], found[1][2]):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
