#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/numerics/numpy_answers.h: numbers that NumPy's generators draw, which tests/numerics/generator_test.cpp expects."""
from pathlib import Path

import numpy as np

SEED, COUNT = 20240607, 8
# name, parameters: each way that a distribution is computed has a row.
DRAWS = [
    ("random", ()), ("uniform", (-3.0, 5.5)), ("standard_normal", ()), ("normal", (10.0, 0.25)), ("lognormal", (0.5, 1.5)),
    ("standard_exponential", ()), ("exponential", (2.5,)), ("standard_gamma", (0.0,)), ("standard_gamma", (0.3,)), ("standard_gamma", (1.0,)),
    ("standard_gamma", (7.5,)), ("gamma", (2.0, 3.0)), ("beta", (0.5, 0.7)), ("beta", (2.0, 5.0)), ("chisquare", (3.0,)),
    ("noncentral_chisquare", (0.5, 1.0)), ("noncentral_chisquare", (4.0, 2.0)), ("f", (5.0, 7.0)), ("noncentral_f", (3.0, 4.0, 1.5)),
    ("standard_t", (4.0,)), ("standard_cauchy", ()), ("pareto", (3.0,)), ("weibull", (0.0,)), ("weibull", (1.5,)), ("power", (2.5,)),
    ("laplace", (1.0, 2.0)), ("gumbel", (0.5, 2.0)), ("logistic", (-1.0, 0.5)), ("rayleigh", (2.0,)), ("wald", (2.0, 3.0)),
    ("triangular", (-1.0, 0.5, 3.0)), ("vonmises", (0.3, 1e-9)), ("vonmises", (0.3, 4.0)), ("vonmises", (0.3, 1e6)),
    ("binomial", (0.0, 0.5)), ("binomial", (20.0, 0.3)), ("binomial", (1000.0, 0.4)), ("binomial", (1000.0, 0.9)), ("poisson", (0.0,)), ("poisson", (3.5,)),
    ("poisson", (500.0,)), ("negative_binomial", (5.0, 0.4)), ("geometric", (0.05,)), ("geometric", (0.7,)), ("logseries", (0.6,)),
    ("zipf", (2.5,)), ("hypergeometric", (10.0, 15.0, 5.0)), ("hypergeometric", (300.0, 500.0, 100.0)),
]
SINGLE = [("random", ()), ("standard_normal", ()), ("standard_exponential", ()), ("standard_gamma", (0.3,)), ("standard_gamma", (4.5,))]
INTEGERS = [("boolean", "bool", 0, 2), ("u8", "uint8", 3, 200), ("i8", "int8", -128, 128), ("u16", "uint16", 0, 1000), ("i16", "int16", -300, 40),
            ("u32", "uint32", 0, 1 << 32), ("i32", "int32", -7, 12), ("u64", "uint64", 5, 1 << 62), ("i64", "int64", -(1 << 63), (1 << 63) - 1),
            ("i64", "int64", 0, 10), ("i64", "int64", 4, 5)]


def listed(values):
    return "{" + ", ".join(values) + "}"


def call(generator, name, parameters, **options):
    whole = ("binomial", "hypergeometric")
    given = [int(p) if name in whole and p == int(p) and (name != "binomial" or i == 0) else p for i, p in enumerate(parameters)]
    return getattr(generator, name)(*given, size=COUNT, **options)


def main():
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// Written by scripts/make_numerics_answers.py with NumPy {np.__version__}.", "#pragma once",
             "#include <minnow/tensor.h>", "", "#include <vector>", "", "namespace minnow::numerics::answers {", "", "// clang-format off",
             f"inline constexpr uint64_t kSeed = {SEED};", f"inline constexpr int64_t kCount = {COUNT};",
             "struct Draws { const char* name; std::vector<double> parameters, values; };", "inline const Draws kDraws[] = {"]
    for name, parameters in DRAWS:
        values = call(np.random.default_rng(SEED), name, parameters)
        lines.append(f'  {{"{name}", {listed([float(p).hex() for p in parameters])}, {listed([float(v).hex() for v in values])}}},')
    lines += ["};", "inline const Draws kSingle[] = {"]
    for name, parameters in SINGLE:
        values = call(np.random.default_rng(SEED), name, parameters, dtype="float32")
        lines.append(f'  {{"{name}", {listed([float(p).hex() for p in parameters])}, {listed([float(v).hex() for v in values])}}},')
    lines += ["};", "struct Integers { DType dtype; int64_t low, high; std::vector<int64_t> values; };", "inline const Integers kIntegers[] = {"]

    def number(value):
        return "INT64_MIN" if value == -(1 << 63) else str(value)

    for ours, theirs, low, high in INTEGERS:
        values = np.random.default_rng(SEED).integers(low, high, COUNT, dtype=theirs)
        lines.append(f"  {{DType::{ours}, {number(low)}, {number(high)}, {listed([number(int(v)) for v in values])}}},")
    order = np.random.default_rng(SEED).permutation(12)
    wide = np.random.default_rng((1 << 40) + 3).random(3)
    chosen = [np.random.default_rng(SEED).choice(1000, 6, replace=False), np.random.default_rng(SEED).choice(20000, 1000, replace=False)[:6]]
    counts = np.random.default_rng(SEED).multinomial(50, [0.2, 0.3, 0.1, 0.4], size=3).reshape(-1)
    state = np.random.RandomState(7)
    lines += ["};", f"inline const std::vector<int64_t> kPermutation = {listed(map(str, order))};",
              f"// of the seed 2^40 + 3", f"inline const std::vector<double> kWideSeed = {listed([float(v).hex() for v in wide])};",
              "// choice(1000, 6, replace=False)", f"inline const std::vector<int64_t> kChosen = {listed(map(str, chosen[0]))};",
              "// choice(20000, 1000, replace=False)[:6]", f"inline const std::vector<int64_t> kChosenOfMany = {listed(map(str, chosen[1]))};",
              "// multinomial(50, [0.2, 0.3, 0.1, 0.4], size=3)", f"inline const std::vector<int64_t> kCounts = {listed(map(str, counts))};",
              "// RandomState(7): randn(3), random_sample(3), then from a new one randint(-5, 1000, 4)",
              f"inline const std::vector<double> kOldNormal = {listed([float(v).hex() for v in state.randn(3)])};",
              f"inline const std::vector<double> kOldUniform = {listed([float(v).hex() for v in state.random_sample(3)])};",
              f"inline const std::vector<int64_t> kOldIntegers = {listed([str(v) for v in np.random.RandomState(7).randint(-5, 1000, 4)])};",
              "// clang-format on", "", "}  // namespace minnow::numerics::answers", ""]
    (Path(__file__).resolve().parent.parent / "tests/numerics/numpy_answers.h").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
