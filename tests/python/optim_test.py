#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.optim: optimizers over arrays and Vars, groups, schedules, states, and optimizers that are written in Python."""
import math
import os
import sys
import threading
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import expr, nn, optim
except ImportError as error:
    print(error)
    sys.exit(77)

SHAPES = {"layer.weight": (4, 6), "layer.bias": (4,), "conv.weight": (3, 2, 2, 2), "out.bias": (1,)}


def noise(tensor, step, count):
    """As scripts/make_optimizer_answers.py makes it."""
    x = (np.arange(count, dtype=np.uint64) * 104729 + tensor * 7919 + step * 1299709 + 12345) & 0xffffffff
    for shift, factor in ((16, 0x85ebca6b), (13, 0xc2b2ae35), (16, 1)):
        x = ((x ^ (x >> shift)) * factor) & 0xffffffff
    return (x >> 16).astype(np.float64) / 32768 - 1


def weights(dtype="float64"):
    return {name: noise(i, 1000, math.prod(shape)).reshape(shape).astype(dtype) for i, (name, shape) in enumerate(SHAPES.items())}


def gradients(step, dtype="float64"):
    return {name: (0.5 * noise(i, step, math.prod(shape)) + 0.25 * noise(i, 2000, math.prod(shape))).reshape(shape).astype(dtype) for i, (name, shape) in enumerate(SHAPES.items())}


def value(text):
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("["):
        return [float(x) for x in text[1:-1].split(",")]
    return float(text) if any(c in text for c in ".en") else int(text)


def cases():
    """Those of tests/train/answers.txt whose gradients do not depend on the weights."""
    found = []
    for line in (Path(os.environ["MINNOW_SOURCE_DIR"]) / "tests/train/answers.txt").read_text().splitlines():
        word, *rest = line.split()
        if word == "case":
            found.append({"name": rest[0], "settings": {}, "options": {}, "answers": {}})
        elif word == "optimizer":
            found[-1]["optimizer"] = rest[0]
        elif word == "set":
            found[-1]["settings"][rest[0]] = value(rest[1])
        elif word == "group":
            found[-1]["options"].setdefault("groups", {}).setdefault(rest[0], {})[rest[1]] = value(rest[2])
        elif word == "schedule":
            found[-1]["options"]["schedule"] = optim.schedule(rest[0], **{key: value(text) for key, text in zip(rest[1::2], rest[2::2])})
        elif word == "answer":
            found[-1]["answers"][rest[0]] = np.array([float(x) for x in rest[1:]])
        elif word in ("clip_norm", "clip_value", "clip_adaptive", "accumulate"):
            found[-1]["options"][word] = value(rest[0])
        elif word != "#":
            found[-1]["special"] = True
    return [case for case in found if "special" not in case]


class Optimizers(unittest.TestCase):
    def test_answers_of_torch_and_optax(self):
        count = 0
        for case in cases():
            with self.subTest(case["name"]):
                parameters = weights()
                optimizer = optim.create(case["optimizer"], parameters, **case["settings"], **case["options"])
                for step in range(100):
                    optimizer.step(gradients(step))
                for name, answers in case["answers"].items():
                    np.testing.assert_allclose(parameters[name].ravel(), answers, rtol=1e-12, atol=1e-12)
                count += 1
        self.assertGreater(count, 60)

    def test_vars_arrays_and_modules_give_the_same(self):
        class Net(nn.Module):
            def __init__(self):
                self.w = expr.trainable(minnow.Var(weights("float32")["layer.weight"]), "w")

            def forward(self, x):
                return x @ self.w

        net, array = Net(), weights("float32")["layer.weight"].copy()
        before, doubled = array.copy(), net.w * 2
        doubled.evaluate()
        of_module, of_array = optim.AdamW(net, lr=0.1), optim.AdamW([array], lr=0.1)
        for step in range(5):
            gradient = gradients(step, "float32")["layer.weight"]
            of_module.step({"w": minnow.Var(gradient)})
            of_array.step([gradient])
        np.testing.assert_array_equal(net.w.numpy(), array)
        self.assertFalse(np.array_equal(array, before))
        self.assertEqual(list(of_module.parameters), ["w"])

    def test_a_parameter_without_a_gradient_stays(self):
        a, b = np.ones(3, "float32"), np.ones(3, "float32")
        optimizer = optim.SGD({"a": a, "b": b}, lr=0.5)
        optimizer.step({"a": [1, 1, 1]})
        self.assertEqual((a.tolist(), b.tolist()), ([0.5] * 3, [1.0] * 3))
        optimizer.step([None, np.ones(3, "float32")])
        self.assertEqual((a.tolist(), b.tolist()), ([0.5] * 3, [0.5] * 3))
        self.assertEqual(optimizer.steps, 2)

    def test_states_go_on(self):
        options = {"lr": 0.01, "clip_norm": 0.5, "average": 0.9, "schedule": optim.schedule("cosine", steps=20)}
        whole, parts = weights(), weights()
        one, first = optim.NAdam(whole, **options), optim.NAdam(parts, **options)
        for step in range(20):
            one.step(gradients(step))
        for step in range(10):
            first.step(gradients(step))
        second = optim.NAdam(parts, **options)
        second.load_state_dict({name: x.numpy() for name, x in first.state_dict().items()})
        for step in range(10, 20):
            second.step(gradients(step))
        for name in whole:
            np.testing.assert_array_equal(whole[name], parts[name])
            np.testing.assert_array_equal(one.averages()[name].numpy(), second.averages()[name].numpy())
        self.assertEqual(one.gradient_norm, second.gradient_norm)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'the state has no "layer.weight.m"'):
            second.load_state_dict({})

    def test_schedules(self):
        both = optim.sequential([optim.schedule("warm_up", steps=4), optim.lambda_schedule(lambda t: 1 / (1 + t))], [4])
        w = np.zeros(1)
        optimizer = optim.SGD([w], lr=1.0, schedule=both)
        factors = []
        for _ in range(7):
            factors.append(optimizer.factor)
            optimizer.step([[1.0]])
        self.assertEqual(factors, [0, 0.25, 0.5, 0.75, 1, 1 / 2, 1 / 3])
        self.assertAlmostEqual(w[0], -sum(factors))
        self.assertEqual(optim.chained([both, both])(2), 0.25)
        optimizer = optim.SGD([w], schedule=optim.schedule("plateau", factor=0.5, patience=0))
        for loss in (1.0, 2.0):
            optimizer.observe(loss)
        self.assertEqual(optimizer.factor, 0.5)

        def wrong(t):
            raise KeyError("no factor")
        with self.assertRaisesRegex(KeyError, "no factor"):
            optim.SGD([w], schedule=optim.lambda_schedule(wrong)).step([[1.0]])

    def test_another_backend_computes_the_same(self):
        made = []
        for backend in ("", "reference", "cpu"):
            w, g = np.linspace(-1, 1, 7, dtype="float32"), np.float32([1, -1, 0, 2, -3, 0.5, 0])
            optimizer = optim.AdamW([w], lr=0.1, weight_decay=0.1, clip_norm=1.0, backend=backend)
            for _ in range(5):
                optimizer.step([g])
            made.append(w)
        for other in made[1:]:
            np.testing.assert_allclose(made[0], other, rtol=1e-6, atol=1e-7)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no backend "abacus"'):
            optim.SGD([np.zeros(1)], lr=0.1, backend="abacus")
        with self.assertRaisesRegex(NotImplementedError, "looks at whole tensors"):
            optim.create("muon", [np.zeros((2, 2))], backend="reference")

    def test_settings_change(self):
        w = np.zeros(1)
        optimizer = optim.SGD([w], lr=1.0)
        optimizer.step([[1.0]])
        optimizer.set(lr=0.0)
        optimizer.step([[1.0]])
        self.assertEqual(w[0], -1)

    def test_groups_that_fit_no_parameter(self):
        with self.assertRaisesRegex(ValueError, r'groups has "hed[.]\*", which fits no parameter; there are head.weight'):
            optim.SGD({"head.weight": np.zeros(2)}, groups={"hed.*": {"lr": 1}})
        optim.SGD({"head.weight[0]": np.zeros(2)}, groups={"*[0]": {"lr": 1}})

    def test_averaged_weights_of_schedule_free(self):
        w = np.zeros(3, "float32")
        optimizer = optim.ScheduleFree([w], lr=0.1, adam=False)
        for _ in range(5):
            optimizer.step([[1.0, 1.0, 1.0]])
        training = w.copy()
        optimizer.evaluate()
        self.assertFalse(np.array_equal(w, training))
        optimizer.evaluate(False)
        np.testing.assert_allclose(w, training, rtol=1e-6)

    def test_costs(self):
        compute, memory = optim.Adam({"w": np.zeros(10 ** 6, "float32")}).cost()
        self.assertAlmostEqual(memory, 8, delta=0.01)
        self.assertGreater(compute, 10)
        self.assertLess(compute, 30)

    def test_optimizers_written_in_python(self):
        @optim.register("com.example.Momentum", settings={"mass": 0.9}, states=["m"], operations=4)
        def momentum(weights, gradient, states, settings):
            """m = mass m + g; w -= a m"""
            states["m"][...] = settings["mass"] * states["m"] + gradient
            weights -= settings["lr"] * states["m"]

        ours, theirs = weights(), weights()
        options = {"lr": 0.1, "groups": {"*.bias": {"lr": 0.01}}, "clip_norm": 1.0, "schedule": optim.schedule("cosine", steps=10)}
        own, sgd = optim.create("com.example.Momentum", ours, **options), optim.SGD(theirs, momentum=0.9, **options)
        for step in range(10):
            own.step(gradients(step))
            sgd.step(gradients(step))
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12)
        self.assertIn("com.example.Momentum", optim.names())
        self.assertIn("layer.weight.m", own.state_dict())
        self.assertEqual(optim.describe("com.example.Momentum")[0], "m = mass m + g; w -= a m")

        @optim.register("com.example.Wrong")
        def wrong(weights, gradient, states, settings):
            raise ValueError("not today")
        with self.assertRaisesRegex(minnow.InvalidArgument, 'parameter "0": ValueError: not today'):
            optim.create("com.example.Wrong", [np.zeros(2)]).step([np.zeros(2)])
        with self.assertRaisesRegex(minnow.InvalidArgument, "is an optimizer of Minnow"):
            optim.register("adam")(wrong)

    def test_a_line_search_computes_the_loss_again(self):
        w, v = expr.trainable(np.array([3.0, -2.0])), expr.trainable(np.array([0.5]))
        calls = []

        def loss():
            calls.append(None)
            if len(calls) == 40:
                raise KeyError("enough")
            return ((w - 1) ** 4).sum() + (w * v).sum() ** 2

        optimizer = optim.LBFGS({"w": w, "v": v}, line_search=True)
        found = [optimizer.minimize(loss) for _ in range(5)]
        self.assertEqual(found, sorted(found, reverse=True))
        self.assertLess(found[-1], found[0] / 50)
        self.assertEqual(optimizer.steps, 5)
        self.assertGreater(len(calls), 9)
        with self.assertRaisesRegex(ValueError, "call on_minimize"):
            optimizer.step([np.zeros(2), np.zeros(1)])
        with self.assertRaises(KeyError):
            for _ in range(40):
                before = w.tolist()
                optimizer.minimize(loss)
        self.assertEqual(w.tolist(), before)
        plain = optim.SGD([w], lr=0.1)
        at = w.tolist()
        plain.minimize(lambda: (w * 2).sum())
        np.testing.assert_allclose(w.tolist(), np.array(at) - 0.2)

    def test_torchs_forms_of_parameters(self):
        net, a, b = nn.Linear(3, 2), np.zeros(2), np.zeros(2)
        self.assertEqual(list(optim.SGD(net.named_parameters(), 0.1).parameters), ["weight", "bias"])
        optimizer = optim.SGD([{"params": [a], "lr": 0.1}, {"params": b}], 1.0)
        optimizer.step([np.ones(2)] * 2)
        np.testing.assert_allclose([a, b], [[-0.1] * 2, [-1.0] * 2])
        mixed = optim.AdamW([{"params": net.parameters()}, {"params": nn.Linear(2, 2).named_parameters(), "weight_decay": 0.0}], lr=0.1)
        self.assertEqual(list(mixed.parameters), ["0", "1", "weight", "bias"])

    def test_muon_on_any_number_of_threads(self):
        random = np.random.default_rng(3)
        start, gradient = (random.normal(size=(70, 130)).astype("float32") for _ in range(2))
        made = []
        for threads in (1, 2):
            w, bias = start.copy(), np.zeros(3, "float32")
            optimizer = optim.Muon([w, bias], lr=0.1, weight_decay=0.0, momentum=0.0, nesterov=False, threads=threads)
            optimizer.step([gradient, np.ones(3, "float32")])
            made.append(w)
        np.testing.assert_array_equal(*made)
        x = gradient.astype("float64") / np.linalg.norm(gradient)  # by the formula in f64
        for _ in range(5):
            g = x @ x.T
            x = 3.4445 * x + (-4.7750 * g + 2.0315 * g @ g) @ x
        np.testing.assert_allclose(made[0], start - 0.1 * x, atol=1e-5)

    def test_errors(self):
        w = np.zeros((2, 3), "float32")
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no optimizer "adamm"; the nearest are "adam"'):
            optim.create("adamm", [w])
        for none in ([], {}, minnow.nn.ReLU()):
            with self.assertRaisesRegex(minnow.InvalidArgument, "an optimizer needs parameters, there are none"):
                optim.SGD(none)
        with self.assertRaisesRegex(minnow.Unsupported, 'optimizer "sgd": parameter "0" is int32; parameters are float32 or float64'):
            optim.SGD([np.zeros(3, "int32")])
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no setting "momentun"; the nearest are "momentum"'):
            optim.SGD([w], momentun=0.9)
        with self.assertRaisesRegex(minnow.InvalidArgument, '"adam": there is no setting "betas"; here it is beta1 and beta2'):
            optim.Adam([w], betas=(0.9, 0.99))
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no setting "learning_rate"; here it is lr'):
            optim.SGD([{"params": [w], "learning_rate": 0.1}])
        with self.assertRaisesRegex(minnow.InvalidType, 'group 0 of the parameters is a dict with "params"'):
            optim.SGD([{"parameters": [w]}])
        with self.assertRaisesRegex(minnow.InvalidType, "lr takes a number"):
            optim.SGD([w], lr=object())
        with self.assertRaisesRegex(minnow.InvalidArgument, "there are 1 parameters, 2 gradients are given"):
            optim.SGD([w]).step([w, w])
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no parameter "v"'):
            optim.SGD({"w": w}).step({"v": w})
        with self.assertRaisesRegex(minnow.InvalidArgument, r'"0" is f32\[2, 3\], its gradient f32\[3, 2\]'):
            optim.SGD([w]).step([w.T])
        for bad in (w.T, [1.0], bytes(8)):
            with self.assertRaisesRegex(minnow.InvalidType, 'parameter "0" is'):
                optim.SGD([bad]).step([np.zeros(np.shape(bad) or 8, "float32")])
        frozen = np.zeros(2)
        frozen.flags.writeable = False
        with self.assertRaises(minnow.InvalidType):
            optim.SGD([frozen]).step([frozen])
        with self.assertRaisesRegex(minnow.InvalidArgument, 'there is no schedule "cosinus"'):
            optim.schedule("cosinus")
        with self.assertRaises(OSError):
            optim.load("/nowhere.so")

    def test_threads_take_turns(self):
        w = np.zeros(1000, "float64")
        optimizer = optim.SGD([w], lr=1.0)
        ones = [np.ones(1000)]
        threads = [threading.Thread(target=lambda: [optimizer.step(ones) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(w.tolist()), {-200.0})

    def test_every_class_documents_its_settings(self):
        for kind in optim.Optimizer.__subclasses__():
            if kind.__module__ == "minnow.optim" and kind.__name__ in optim.__all__:
                self.assertIn("lr=", kind.__doc__, kind)
        built_in = {name for name in optim.names() if "." not in name}
        self.assertEqual(built_in, {kind._name for kind in optim.Optimizer.__subclasses__() if kind.__name__ in optim.__all__} | set())


if __name__ == "__main__":
    unittest.main()
