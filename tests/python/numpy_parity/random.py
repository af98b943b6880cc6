# SPDX-License-Identifier: Apache-2.0
"""numpy.random: the same streams."""
import zlib

import numpy as N

from numpy_parity.cases import add, CASES


def random_streams():
    sizes = (None, 1, 5, (2, 3), (0,), 1000)

    def drawn(name):
        def call(m, seed, arguments, options):
            g = m.random.default_rng(seed)
            g.random(3)
            return getattr(g, name)(*arguments, **options), g.random()
        return call

    def one(name, *arguments, seed=7, tolerance=1e-12, **options):
        CASES.append(("random.Generator." + name, drawn(name), (seed, arguments, options), {}, tolerance))
    for seed in (0, 1, 12345, 2 ** 40, [1, 2, 3], 2 ** 200 + 5):
        one("random", 4, seed=seed)
        one("standard_normal", 4, seed=seed)
        add("random.SeedSequence", lambda m, seed: [m.random.SeedSequence(seed).generate_state(5), m.random.SeedSequence(seed).generate_state(3, "uint64"), m.random.SeedSequence(seed).pool,
                                                    m.random.SeedSequence(seed).spawn(2)[1].generate_state(4)], seed)
        add("random.PCG64", lambda m, seed: [m.random.PCG64(seed).random_raw(5), m.random.PCG64(seed).advance(10 ** 20).random_raw(2), m.random.PCG64(seed).jumped().random_raw(2)], seed)
    for size in sizes:
        for name, parameters in (("random", ()), ("standard_normal", ()), ("standard_exponential", ()), ("uniform", (-2, 5)), ("normal", (1.5, 2.0)), ("lognormal", (0.5, 0.3)),
                                 ("exponential", (2.5,)), ("standard_gamma", (2.5,)), ("standard_gamma", (0.5,)), ("gamma", (3.0, 2.0)), ("beta", (2.0, 3.0)), ("beta", (0.5, 0.5)), ("chisquare", (3.0,)),
                                 ("noncentral_chisquare", (3.0, 1.5)), ("noncentral_chisquare", (0.5, 1.5)), ("f", (3.0, 4.0)), ("noncentral_f", (3.0, 4.0, 1.0)), ("standard_t", (4.0,)), ("standard_cauchy", ()), ("pareto", (3.0,)),
                                 ("weibull", (1.5,)), ("power", (2.5,)), ("laplace", (0.5, 2.0)), ("gumbel", (0.5, 2.0)), ("logistic", (0.5, 2.0)), ("rayleigh", (2.0,)), ("wald", (1.0, 2.0)),
                                 ("triangular", (0.0, 1.0, 4.0)), ("vonmises", (0.5, 2.0)), ("vonmises", (0.5, 1e-9)), ("binomial", (10, 0.3)), ("binomial", (100, 0.5)), ("binomial", (1000, 0.9)), ("poisson", (3.0,)),
                                 ("poisson", (50.0,)), ("negative_binomial", (5, 0.4)), ("geometric", (0.1,)), ("geometric", (0.6,)), ("logseries", (0.7,)), ("zipf", (2.5,)),
                                 ("hypergeometric", (20, 30, 10)), ("hypergeometric", (20, 30, 25)), ("hypergeometric", (2000, 3000, 1500))):
            one(name, *parameters, size=size)
        for name in ("random", "standard_normal", "standard_exponential"):
            one(name, size, "float32")
        one("standard_exponential", size, method="inv")
        one("standard_gamma", 2.0, size, "float32")
        for dtype, high in (("bool", 2), ("uint8", 200), ("int8", 100), ("uint16", 60000), ("int32", 10), ("uint32", 2 ** 32), ("int64", 5), ("int64", 2 ** 40), ("uint64", 2 ** 64), ("int64", 2 ** 63)):
            one("integers", 0, high, size, dtype)
        one("integers", -5, 5, size, endpoint=True)
        one("multinomial", 20, [0.2, 0.3, 0.5], size)
        one("dirichlet", [1.0, 2.0, 3.0], size)
        one("dirichlet", [0.05, 0.02, 0.03], size)
        one("choice", 10, size)
        one("choice", 10, size, p=[0.1] * 10)
        one("multivariate_normal", [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], size, method="cholesky")
    for name, arguments in (("standard_normal", ()), ("standard_exponential", ()), ("standard_gamma", (2.3,)), ("standard_gamma", (0.4,))):
        for dtype in ("float64", "float32"):  # to the last bit, long enough to meet the borders of the layers in single precision
            add("random.Generator." + name, lambda m, name, arguments, dtype: zlib.crc32(getattr(m.random.default_rng(11), name)(*arguments, size=300000, dtype=dtype).tobytes()), name, arguments, dtype)
    for low in ([1, 2, 3], [[1], [2]]):
        one("integers", low, [10, 20, 30])
        one("normal", low, [1.0, 2.0, 3.0])
        one("uniform", low, 9)
    for n, size in ((10, 3), (10, 10), (100, 5), (20000, 5), (20000, 5000), (5, 9)):
        one("choice", n, size, replace=False)
        one("choice", n, size, replace=False, shuffle=False)
    one("choice", 6, 3, replace=False, p=[0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    one("choice", 5, p=[0.5, 0.6, 0, 0, 0])
    one("bytes", 7)
    one("permutation", 10)
    add("random.Generator.permutation", lambda m, x: m.random.default_rng(3).permutation(x), N.arange(12).reshape(4, 3))
    add("random.Generator.permutation", lambda m, x: m.random.default_rng(3).permutation(x, axis=1), N.arange(12).reshape(4, 3))

    def shuffled(m, x, axis):
        m.random.default_rng(3).shuffle(x, axis)
        return x
    for axis in (0, 1):
        add("random.Generator.shuffle", shuffled, N.arange(12).reshape(4, 3), axis)
    add("random.Generator.shuffle", shuffled, list(range(8)), 0)
    for axis in (None, 0, 1):
        add("random.Generator.permuted", lambda m, x, axis: m.random.default_rng(3).permuted(x, axis=axis), N.arange(12).reshape(4, 3), axis)
    for name, arguments in (("normal", (0, -1)), ("poisson", (-1,)), ("binomial", (5, 1.5)), ("integers", (5, 5)), ("integers", (0, 300, 4, "uint8")), ("gamma", (-1,)), ("beta", (0, 1)), ("zipf", (1,)),
                            ("uniform", (5, 1)), ("triangular", (3, 2, 1)), ("hypergeometric", (1, 2, 9)), ("geometric", (0,)), ("random", (3, "int64"))):
        one(name, *arguments)

    def old(name):
        def call(m, seed, arguments, options):
            m.random.seed(seed)
            return getattr(m.random, name)(*arguments, **options), m.random.random()
        return call
    for seed in (0, 42, [1, 2, 3]):
        for name, arguments in (("rand", (3, 2)), ("randn", (5,)), ("randint", (0, 10, 6)), ("randint", (5,)), ("randint", (0, 2 ** 40, 4)), ("random_sample", (3,)), ("random", ((2, 2),)), ("uniform", (1, 3, 4)), ("normal", (1, 2, 5)),
                                ("standard_normal", (3,)), ("exponential", (2.0, 4)), ("standard_exponential", (3,)), ("lognormal", (0.1, 0.5, 3)), ("permutation", (8,)), ("choice", (5, 3)), ("choice", (9, 4, False)),
                                ("choice", (4, 6, True, [0.1, 0.2, 0.3, 0.4]))):
            CASES.append(("random." + name, old(name), (seed, arguments, {}), {}, 1e-12))
