#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First and second derivatives of 100 composite functions against torch's, stored by scripts/make_composite_answers.py."""
import json
import sys
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import _minnow, expr
except ImportError as error:
    print(error)
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent))
from composite_cases import CASES, case  # noqa: E402


def reduce(op, x, axis, keep=1):
    return expr.op(op, [x, minnow.Var([axis])], keepdims=keep)


def recurrent(x, p):
    return expr.scan(lambda h, row: (lambda n: (n, n))(expr.tanh(row + h @ p["w"])), [p["b"] * 0.0], [x])[1]


def conv(x, weights, pads):
    return expr.op("Conv", [expr.unsqueeze(x, [0]), weights], pads=pads)


STEPS = {
    "tanh": lambda x, p: expr.tanh(x),
    "sigmoid": lambda x, p: expr.sigmoid(x),
    "softplus": lambda x, p: expr.softplus(x),
    "exp": lambda x, p: expr.exp(x * x * -1.0),
    "sin": lambda x, p: expr.sin(x * 2.0),
    "gelu": lambda x, p: expr.gelu(x),
    "softmax": lambda x, p: expr.softmax(x, axis=1),
    "log_softmax": lambda x, p: expr.log_softmax(x, axis=0),
    "layer_norm": lambda x, p: expr.op("LayerNormalization", [x, p["b"] + 1.0, p["b"]], epsilon=2.0 ** -7),
    "cumsum": lambda x, p: expr.op("CumSum", [x, minnow.Var(1)]),
    "matmul": lambda x, p: x @ p["w"],
    "bias": lambda x, p: x + p["b"],
    "square": lambda x, p: x * x - x,
    "root": lambda x, p: expr.sqrt(x * x + 1.0),
    "log": lambda x, p: expr.log(x * x + 1.0),
    "conv": lambda x, p: expr.squeeze(conv(x, p["k"], [1, 1]), [0]),
    "transposed": lambda x, p: expr.reshape(expr.transpose(x, perm=[1, 0]), [3, 4]) * x,
    "slices": lambda x, p: expr.op("Concat", [x[:, 2:], x[:, :2] * 2.0], axis=1),
    "pad": lambda x, p: expr.op("Pad", [x, minnow.Var([0, 1, 0, 1])])[:, :4] + x,
    "where": lambda x, p: expr.op("Where", [x > 0.1, x * x, x * 0.5]),
    "centered": lambda x, p: x - reduce("ReduceMean", x, 0),
    "logsumexp": lambda x, p: x - reduce("ReduceLogSumExp", x, 1),
    "gather": lambda x, p: expr.op("Gather", [x, minnow.Var([2, 0, 0])]) * x,
    "pooled": lambda x, p: expr.squeeze(expr.op("AveragePool", [expr.unsqueeze(x, [0])], kernel_shape=[3], pads=[1, 1], count_include_pad=1), [0]) + x,
    "largest": lambda x, p: x * reduce("ReduceMax", x, 1),
    "einsum": lambda x, p: expr.op("Einsum", [x, p["w"]], equation="ij,kj->ik"),
    "product": lambda x, p: x * reduce("ReduceProd", p["w"][:3, :] * 0.5 + 1.0, 0, 0),
    "normalized": lambda x, p: x / expr.sqrt(reduce("ReduceSum", x * x, 1) + 0.5),
    "recurrent": recurrent,
}


def derivatives(steps, arrays, weights, answer):
    """The loss of a case, and (found, torch's) for its first derivatives and for its second ones."""
    p = {name: expr.trainable(minnow.Var(value)) for name, value in arrays.items()}
    x = p["x"]
    for step in steps:
        x = STEPS[step](x, p)
    loss = (x * minnow.Var(weights)).sum()
    names = [name for name in p if answer["first"][name] is not None]
    first = _minnow.gradients(loss, [p[name] for name in names])
    others = [name for name in ("x", "w") if answer["second"][name] is not None]
    second = _minnow.gradients((first[0] * first[0]).sum(), [p[name] for name in others]) if others else []
    _minnow.evaluate([loss, *first, *second])
    return (float(loss), [(np.ravel(x), np.array(answer["first"][name])) for x, name in zip(first, names)],
            [(np.ravel(x), np.array(answer["second"][name])) for x, name in zip(second, others)])


def answered_cases():
    """(seed, steps, arrays, weights, torch's answer) of each case."""
    for seed, answer in enumerate(json.loads((Path(__file__).parent / "composite_answers.json").read_text())):
        yield seed, *case(seed), answer


class CompositeGradients(unittest.TestCase):
    def test_agree_with_torch(self):
        seed = -1
        for seed, steps, arrays, weights, answer in answered_cases():
            with self.subTest(seed=seed, steps=steps):
                loss, first, second = derivatives(steps, arrays, weights, answer)
                np.testing.assert_allclose(loss, answer["loss"], rtol=1e-9)
                for found, expected in first + second:
                    largest = max(1.0, np.abs(expected).max())
                    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * largest)
        self.assertEqual(seed + 1, CASES)


if __name__ == "__main__":
    unittest.main()
