# SPDX-License-Identifier: Apache-2.0
"""Composite functions for gradients: the same steps by minnow (tests/python/composite_gradients_test.py) and by torch
(scripts/make_composite_answers.py). A case is a seed: it chooses the steps and the numbers."""
import numpy as np

STEPS = ["tanh", "sigmoid", "softplus", "exp", "sin", "gelu", "softmax", "log_softmax", "layer_norm", "cumsum", "matmul", "bias", "square", "root",
         "log", "conv", "transposed", "slices", "pad", "where", "centered", "logsumexp", "gather", "pooled", "largest", "einsum", "product",
         "normalized", "recurrent"]
CASES = 100
LENGTH = 6


def case(seed):
    """The names of the steps, and arrays by name."""
    random = np.random.default_rng(seed)
    steps = [STEPS[seed % len(STEPS)]] + [STEPS[i] for i in random.integers(0, len(STEPS), LENGTH - 1)]
    shapes = {"x": (3, 4), "w": (4, 4), "b": (4,), "k": (3, 3, 3)}
    arrays = {name: random.normal(size=shape) * 0.6 for name, shape in shapes.items()}
    return steps, arrays, random.normal(size=(3, 4))


def digest(values):
    """Numbers as text that gives the same double back, in a list."""
    return [float(f"{value:.13g}") for value in np.asarray(values, "float64").ravel()]
