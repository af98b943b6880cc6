# SPDX-License-Identifier: Apache-2.0
"""An operator written in Python: python custom_operator.py MODEL.minnow

The model has a "snake", x + sin(a x)^2 / a (Ziyin, Hartwig, Ueda 2020, arXiv:2006.08195), which the file keeps by name; whoever loads it
has to have it too.
"""
import sys
from typing import Any

import minnow
import numpy
from minnow import expr


@expr.custom_operator("com.example.Snake")
def snake(x: Any, *, a: float = 1.0) -> Any:
    return x + numpy.sin(a * x) ** 2 / a


x = expr.placeholder("x", "float32", [None, 2])
hidden = expr.op("com.example.Snake", [x @ minnow.Var([[1.0, -1.0], [0.5, 2.0]], "float32")], a=2.0)
result = expr.reduce_sum(hidden, [1], keepdims=0)
result.name = "result"
expr.save(result, sys.argv[1])

model = minnow.load(sys.argv[1])
print([round(value, 4) for value in model(minnow.Var([[0.0, 0.0], [1.0, 2.0]], "float32")).tolist()])
