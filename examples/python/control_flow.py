# SPDX-License-Identifier: Apache-2.0
"""A loop as a model: python control_flow.py MODEL.minnow

Newton's method for square roots, written as an expression, saved, and loaded as a function of any number of numbers.
"""
import sys

import minnow
from minnow import Var, expr


def improve(root: Var) -> list[Var]:
    return [(root + numbers / root) * 0.5]


def rough(root: Var) -> Var:
    return expr.reduce_max(expr.abs(root * root - numbers), keepdims=0) > 1e-4


numbers = expr.placeholder("numbers", "float32", [None])
(root,) = expr.while_loop(rough, improve, [numbers], most=50)
root.name = "root"
expr.save(root, sys.argv[1])

model = minnow.load(sys.argv[1])
print(model)
for values in ([2.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0]):
    print([round(value, 4) for value in model(minnow.Var(values, "float32")).tolist()])
