#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow quantize --weights-only beside NumPy versions of its methods, and ONNX Runtime."""
import unittest

from command import F32, I64, CommandTest, helper, np, onnx, write_model

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def unpacked(stream, bits, count):
    """Numbers of a stream of bits, the lowest first, along the last axis."""
    places = np.unpackbits(stream, axis=-1, bitorder="little")[..., :count * bits].reshape(*stream.shape[:-1], count, bits)
    return (places << np.arange(bits)).sum(-1)


def half(x):
    return np.float32(np.float16(x))


def grid(block, bits, symmetric):
    """Scale and zero point from the extremes, for rows of a block."""
    most, middle = (1 << bits) - 1, 1 << (bits - 1)
    low, high = block.min(-1), block.max(-1)
    if symmetric:
        return half(np.where(-low > high, low, high) / np.float32(-middle)), np.full_like(low, middle)
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    scale = half((high - low) / np.float32(most))
    return scale, np.where(scale > 0, np.clip(np.rint(-low / np.where(scale > 0, scale, 1)), 0, most), 0).astype(np.float32)


def nearest(w, scale, zero, bits):
    return np.where(scale == 0, zero, np.clip(np.rint(w / np.where(scale == 0, 1, scale) + zero), 0, (1 << bits) - 1))


def rounded(rows, bits, block, symmetric):
    """Round to nearest: what the weights become."""
    result = np.empty_like(rows)
    for begin in range(0, rows.shape[1], block):
        part = rows[:, begin:begin + block]
        scale, zero = (each[:, None] for each in grid(part, bits, symmetric))
        result[:, begin:begin + block] = scale * (nearest(part, scale, zero, bits) - zero)
    return result


def gptq(rows, gram, bits, block, symmetric):
    """The method as its paper gives it, in f64, one column after the other."""
    w, n = rows.astype(np.float64), rows.shape[1]
    root = np.linalg.cholesky(np.linalg.inv(gram + 0.01 * np.diag(gram).mean() * np.eye(n))).T
    result = np.empty_like(rows)
    for i in range(n):
        if i % block == 0:
            scale, zero = grid(w[:, i:i + block].astype(np.float32), bits, symmetric)
        result[:, i] = scale * (nearest(w[:, i].astype(np.float32), scale, zero, bits) - zero)
        w[:, i + 1:] -= np.outer((w[:, i] - result[:, i]) / root[i, i], root[i, i + 1:])
    return result


def hqq(rows, bits, block):
    """Zero points by half-quadratic steps, in f64."""
    result = np.empty_like(rows)
    power, most = 0.7, (1 << bits) - 1
    for begin in range(0, rows.shape[1], block):
        for row in range(rows.shape[0]):
            w = rows[row, begin:begin + block]
            scale, zero = grid(w, bits, False)
            number = lambda zero: scale * (nearest(w, scale, np.float32(zero), bits) - zero)
            cost = lambda zero: (np.abs(w - number(zero)).astype(np.float64) ** power).sum()
            best, least, beta = zero, cost(zero), 10.0
            for _ in range(20):
                residual = (w - number(zero)) / scale
                size = np.abs(residual)
                with np.errstate(divide="ignore"):
                    outlier = np.sign(residual) * np.where(size > (1 / beta) ** (1 / (2 - power)), np.maximum(size - size ** (power - 1) / beta, 0), 0)
                zero = half(np.clip((nearest(w, scale, np.float32(zero), bits) - (w - scale * outlier) / scale).mean(), 0, most))
                if cost(zero) >= least:
                    break
                best, least, beta = zero, cost(zero), beta * 1.01
            result[row, begin:begin + block] = number(best)
    return result


class WeightsOnly(CommandTest):
    def setUp(self):
        super().setUp()
        if "does not quantize" in self.minnow("quantize", "x.onnx", "y.minnow").stderr:
            self.skipTest("a build without MINNOW_COMPRESS")
        random = self.random = np.random.default_rng(5)
        self.w = (random.standard_t(4, (200, 96)) / 15).astype(np.float32)
        self.v = (random.standard_normal((50, 96)) / 10).astype(np.float32)
        self.b = random.standard_normal(50).astype(np.float32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["r"]),
                 helper.make_node("Gemm", ["r", "v", "b"], ["y"], name="last", transB=1)]
        self.model = write_model(self.folder / "net.onnx", nodes, [("x", F32, ["n", 200])], [("y", F32, ["n", 50])], {"w": self.w, "v": self.v, "b": self.b})
        # Inputs depend on each other, and a few are large.
        self.x = (random.standard_normal((512, 60)) @ random.standard_normal((60, 200)) * np.exp(random.standard_normal(200))).astype(np.float32)
        np.savez(self.folder / "x.npz", x=self.x)

    def quantized(self, *options, name="q.onnx"):
        return self.json("quantize", self.model, name, "--weights-only", *options)

    def products(self, name="q.onnx"):
        """The weights that the products of a file compute with."""
        graph = onnx.load(self.folder / name).graph
        constants = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
        found = []
        for node in graph.node:
            if node.op_type != "MatMulNBits":
                continue
            of = {each.name: each.i for each in node.attribute}
            bits, block = of["bits"], of["block_size"]
            numbers = unpacked(constants[node.input[1]], bits, block).astype(np.float32)
            scales = constants[node.input[2]].reshape(of["N"], -1, 1)
            zeros = np.float32(1 << (bits - 1))
            if len(node.input) > 3 and node.input[3]:
                zeros = constants[node.input[3]]
                zeros = (unpacked(zeros.reshape(of["N"], -1), bits, scales.shape[1]) if zeros.dtype == np.uint8 else zeros).reshape(scales.shape)
            found.append(((numbers - zeros.astype(np.float32)) * scales).reshape(of["N"], -1)[:, :of["K"]])
        return found

    def output(self, model, x):
        np.save(self.folder / "in.npy", x)
        row = self.json("run", model, "--input", "x=in.npy", "--output-dir", "out")["outputs"][0]
        return np.load(self.folder / row["file"])

    def plain(self, x, first, last):
        return np.maximum(x @ first.T, 0) @ last.T + self.b

    def test_round_to_nearest(self):
        for bits in (2, 3, 4, 5, 6, 8):
            for block in (16, 64, 256):
                for symmetric in ("false", "true"):
                    self.quantized("rtn", "--bits", bits, "--block-size", block, "--symmetric", symmetric, "--weights", "minmax")
                    first, last = self.products()
                    np.testing.assert_array_equal(first, rounded(self.w.T.copy(), bits, block, symmetric == "true"))
                    np.testing.assert_array_equal(last, rounded(self.v, bits, block, symmetric == "true"))

    def test_narrower_grids_cost_less(self):
        for bits in (2, 4):
            errors = {}
            for weights in ("minmax", "mse"):
                self.quantized("rtn", "--bits", bits, "--weights", weights)
                errors[weights] = ((self.products()[0] - self.w.T) ** 2).sum()
            self.assertLess(errors["mse"], 0.97 * errors["minmax"])

    def test_gptq(self):
        gram = self.x.astype(np.float64).T @ self.x
        error = lambda rows: np.einsum("ci,ik,ck", rows - self.w.T, gram, rows - self.w.T)
        for bits, block, symmetric in ((4, 32, False), (3, 64, True), (2, 256, False)):
            self.quantized("gptq", "--bits", bits, "--block-size", block, "--symmetric", str(symmetric).lower(), "--weights", "minmax", "-c", "x.npz")
            ours, theirs = self.products()[0], gptq(self.w.T.copy(), gram, bits, block, symmetric)
            # A weight at the edge between two integers may fall to either side, and those behind it follow.
            self.assertGreater((np.abs(ours - theirs) < 1e-6).mean(), 0.98, (bits, block))
            self.assertLess(abs(error(ours) / error(theirs) - 1), 0.02)
            self.assertLess(error(ours), 0.7 * error(rounded(self.w.T.copy(), bits, block, symmetric)))

    def test_hqq(self):
        power = lambda rows: (np.abs(rows - self.w.T).astype(np.float64) ** 0.7).sum()
        for bits, block in ((4, 64), (3, 32), (2, 16)):
            self.quantized("hqq", "--bits", bits, "--block-size", block)
            ours, theirs, nearest_ones = self.products()[0], hqq(self.w.T.copy(), bits, block), rounded(self.w.T.copy(), bits, block, False)
            self.assertLess(power(ours), power(nearest_ones))
            self.assertLess(abs(power(ours) / power(theirs) - 1), 0.005)
            gram = self.x.astype(np.float64).T @ self.x
            error = lambda rows: np.einsum("ci,ik,ck", rows - self.w.T, gram, rows - self.w.T)
            self.assertLess(error(ours), error(nearest_ones))

    def test_awq(self):
        # One layer alone: the output is the layer's.
        model = write_model(self.folder / "one.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F32, ["n", 200])], [("y", F32, ["n", 96])], {"w": self.w})
        wanted = self.x @ self.w
        for bits in (3, 4):
            self.json("quantize", model, "a.minnow", "--weights-only", "awq", "--bits", bits, "--weights", "minmax", "-c", "x.npz")
            ours = ((self.output("a.minnow", self.x) - wanted) ** 2).sum()
            magnitudes = np.abs(self.x).mean(0)
            errors = []
            for power in np.arange(20) / 20:
                factors = (magnitudes / magnitudes.max()) ** power
                factors = (factors / np.sqrt(factors.min() * factors.max())).astype(np.float32)
                errors.append((((rounded(self.w.T * factors, bits, 64, False) / factors - self.w.T) @ self.x.T) ** 2).sum())
            self.assertLess(min(errors), 0.8 * errors[0])
            self.assertLess(ours, 1.1 * min(errors))  # 64 of 96 columns choose the power

    def test_factors_fold_into_a_normalization(self):
        random = self.random
        gamma, beta = np.exp(random.standard_normal(200)).astype(np.float32), random.standard_normal(200).astype(np.float32)
        nodes = [helper.make_node("LayerNormalization", ["x", "gamma", "beta"], ["n"]), helper.make_node("MatMul", ["n", "w"], ["a"]),
                 helper.make_node("MatMul", ["n", "u"], ["b"]), helper.make_node("Add", ["a", "b"], ["y"])]
        model = write_model(self.folder / "norm.onnx", nodes, [("x", F32, ["n", 200])], [("y", F32, ["n", 96])],
                            {"w": self.w, "u": self.w[::-1].copy(), "gamma": gamma, "beta": beta})
        answers = {method: self.json("quantize", model, "q.onnx", "--weights-only", method, "--bits", 3, "-c", "x.npz") for method in ("rtn", "awq")}
        self.assertNotIn("Mul", {node.op_type for node in onnx.load(self.folder / "q.onnx").graph.node})
        self.assertGreater(answers["awq"]["outputs"][0]["sqnr_db"], answers["rtn"]["outputs"][0]["sqnr_db"] + 0.5)

    def test_report_and_sizes(self):
        before = self.model.read_bytes()
        answer = self.json("quantize", self.model, "q.minnow", "--weights-only", "gptq", "-c", "x.npz", "--html", "report.html")
        self.assertEqual([(layer["node"], layer["weight_bits"]) for layer in answer["layers"]], [("first", 4), ("last", 4)])
        # 4 blocks of 64 numbers with scales of 16 bits, zero points of 4.
        self.assertEqual(answer["layers"][0]["bytes_after"], 96 * (4 * (32 + 2) + 2))
        self.assertEqual(answer["layers"][0]["operations"], 2 * 96 * 200)
        for layer in answer["layers"]:
            self.assertGreater(layer["weights"]["sqnr_db"], 10)
            self.assertGreater(layer["sqnr_db"], 15)
        self.assertIn("<svg", (self.folder / "report.html").read_text())
        wanted, got = self.plain(self.x[:16], self.w.T, self.v), self.output("q.minnow", self.x[:16])
        self.assertAlmostEqual(10 * np.log10((wanted ** 2).sum() / ((wanted - got) ** 2).sum()), answer["outputs"][0]["sqnr_db"], delta=0.1)
        answer = self.json("quantize", self.model, "q.minnow", "--weights-only", "rtn")
        self.assertNotIn("sqnr_db", answer["layers"][0])
        self.assertEqual((answer["samples"], answer["outputs"]), (0, []))
        table = self.succeeds("quantize", self.model, "q.minnow", "--weights-only", "rtn", "--bits", 3, "--skip", "last").stdout
        self.assertRegex(table, r"(?m)^first +(MatMul|Gemm) +- +- +- +3 +\d+\.\d ")
        self.assertRegex(table, r"(?m)^last +Gemm +- +f32: the options skip it$")
        self.assertRegex(table, "1 of 2 layers have weights in blocks")
        self.assertEqual(before, self.model.read_bytes())

    def test_same_bytes(self):
        (self.folder / "recipe.toml").write_text('calibration = "x.npz"\nweights_only = "awq"\nweight_bits = 3\nblock_size = 32\nsymmetric = true\n')
        for name in ("a.minnow", "b.minnow", "a.onnx", "b.onnx"):
            self.succeeds("quantize", self.model, name, "--recipe", "recipe.toml")
        for kind in ("minnow", "onnx"):
            self.assertEqual((self.folder / f"a.{kind}").read_bytes(), (self.folder / f"b.{kind}").read_bytes())

    @unittest.skipUnless(onnxruntime, "ONNX Runtime is not installed")
    def test_onnx_runtime_gives_the_same(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        run = lambda name, feeds: onnxruntime.InferenceSession(str(self.folder / name), options).run(None, feeds)[0]
        random = self.random
        table = random.standard_normal((70, 100)).astype(np.float32)
        conv = random.standard_normal((24, 3, 3, 3)).astype(np.float32)
        others = {
            "table": ([helper.make_node("Gather", ["t", "x"], ["e"]), helper.make_node("Relu", ["e"], ["y"])], [("x", I64, ["n", 3])], {"t": table},
                      random.integers(-70, 70, (5, 3))),
            "conv": ([helper.make_node("Conv", ["x", "c"], ["y"], pads=[1, 1, 1, 1])], [("x", F32, ["n", 3, 9, 9])], {"c": conv},
                     random.standard_normal((2, 3, 9, 9)).astype(np.float32))}
        for bits in (2, 3, 4, 5, 6, 8):
            for method in ("rtn", "hqq"):
                for symmetric in ("false", "true"):
                    for name in ("q.onnx", "q.minnow"):
                        self.quantized(method, "--bits", bits, "--symmetric", symmetric, name=name)
                    wanted = self.plain(self.x[:9], *self.products())
                    for got in (self.output("q.minnow", self.x[:9]), run("q.onnx", {"x": self.x[:9]})):
                        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-3 * np.abs(wanted).max(), err_msg=f"{bits} bits, {method}")
                    for kind, (nodes, inputs, constants, x) in others.items():
                        model = write_model(self.folder / f"{kind}.onnx", nodes, inputs, [("y", F32, None)], constants)
                        for name in ("q.onnx", "q.minnow"):
                            answer = self.json("quantize", model, name, "--weights-only", method, "--bits", bits, "--symmetric", symmetric)
                            self.assertEqual(answer["layers"][0]["weight_bits"], bits, kind)
                        theirs = run("q.onnx", {"x": x})
                        np.testing.assert_allclose(self.output("q.minnow", x), theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max(), err_msg=f"{kind}, {bits} bits")
                        if bits == 8:
                            f32 = run(f"{kind}.onnx", {"x": x})
                            self.assertLess(np.abs(f32 - theirs).max(), 0.05 * np.abs(f32).max())

    def test_errors(self):
        for options, words in ((("gptq",), "--calibration"), (("awq", "--data-free", "-c", "x.npz"), "leave out --calibration"), (("best",), "none of rtn, hqq, gptq, awq"),
                               (("rtn", "--bits", "7"), "not 7"), (("rtn", "--bits", "1"), "not from 2 to 8"), (("rtn", "--block-size", "48"), "none of 16, 32"),
                               (("rtn", "--symmetric", "perhaps"), "neither true nor false"), (("rtn", "--skip", "nobody"), "no node or operator"),
                               (("rtn", "--min-sqnr", "3"), "need samples"), (("rtn", "--max-size", "2MB"), "evaluation or calibration samples")):
            self.assertIn(words, self.fails("quantize", self.model, "q.minnow", "--weights-only", *options))
            self.assertFalse((self.folder / "q.minnow").exists())
        relu = write_model(self.folder / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", F32, [3])], [("y", F32, [3])])
        self.assertIn("no layer has weights that can be stored in blocks", self.fails("quantize", relu, "q.minnow", "--weights-only", "rtn"))


if __name__ == "__main__":
    unittest.main()
