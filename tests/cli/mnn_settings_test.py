#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow quantize with the JSON files of MNN's tools."""
import json
import struct
import unittest
import zlib

from command import F32, I64, CommandTest, helper, np, write_model


def png(pixels):
    """RGB bytes [height, width, 3] as a PNG file."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Settings(CommandTest):
    def setUp(self):
        super().setUp()
        if "does not quantize" in self.minnow("quantize", "x.onnx", "y.minnow").stderr:
            self.skipTest("a build without MINNOW_COMPRESS")
        random = self.random = np.random.default_rng(5)
        draw = lambda *shape: (random.standard_normal(shape) / 4).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "a"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("Conv", ["r", "b"], ["y"], name="second")]
        self.model = write_model(self.folder / "net.onnx", nodes, [("x", F32, [1, 3, 12, 12])], [("y", F32, None)], {"a": draw(8, 3, 3, 3), "b": draw(6, 8, 1, 1)})

    def write(self, content, name="quant.json"):
        (self.folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    def pictures(self):
        (self.folder / "pictures").mkdir()
        for i in range(5):
            (self.folder / "pictures" / f"{i}.png").write_bytes(png(self.random.integers(0, 256, (15, 20, 3), np.uint8)))

    def test_pictures(self):
        self.pictures()
        settings = {"format": "BGR", "mean": [103.94, 116.78, 123.68], "normal": [0.017, 0.018, 0.019], "width": 12, "height": 12, "path": "pictures/", "used_image_num": 4,
                    "feature_quantize_method": "ADMM", "weight_quantize_method": "ADMM", "skip_quant_op_names": ["second"], "quant_bits": 8, "feature_clamp_value": 127,
                    "weight_clamp_value": 127, "batch_size": 2, "debug": False, "model": "net.mnn"}
        answer = self.json("quantize", self.model, "a.minnow", "--recipe", self.write(settings))
        self.assertEqual(answer["samples"], 4)
        self.assertEqual(answer["layers"][1]["stays_f32"], "the options skip it")
        self.json("quantize", self.model, "b.minnow", "-c", "pictures", "--color", "bgr", "--mean", "103.94,116.78,123.68", "--scale", "0.017,0.018,0.019", "--size", "12x12",
                  "--samples", 4, "--method", "admm", "--weights", "mse", "--skip", "second")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())
        # Options of the command line come first; the defaults are those of MNN's tool.
        self.write({"path": str(self.folder / "pictures"), "width": 12, "height": 12})
        self.json("quantize", self.model, "a.minnow", "--recipe", "quant.json", "--method", "minmax", "--samples", 3)
        self.json("quantize", self.model, "b.minnow", "-c", "pictures", "--color", "bgr", "--size", "12x12", "--samples", 3, "--method", "minmax", "--weights", "minmax")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())

    def test_a_path_beside_the_file(self):
        self.pictures()
        (self.folder / "sub").mkdir()
        self.write({"path": "../pictures", "width": 12, "height": 12}, "sub/quant.json")
        self.assertEqual(self.json("quantize", self.model, "a.minnow", "--recipe", "sub/quant.json")["samples"], 5)

    def test_sequences(self):
        w = self.random.standard_normal((16, 4)).astype(np.float32)
        model = write_model(self.folder / "two.onnx", [helper.make_node("Gather", ["t", "i"], ["e"]), helper.make_node("Add", ["e", "x"], ["s"]), helper.make_node("MatMul", ["s", "w"], ["y"])],
                            [("x", F32, ["n", 16]), ("i", I64, ["n"])], [("y", F32, None)], {"w": w, "t": self.random.standard_normal((9, 16)).astype(np.float32)})
        x, i = self.random.standard_normal((3, 2, 16)).astype(np.float32), self.random.integers(0, 9, (3, 2))
        for k in range(3):
            folder = self.folder / "inputs" / f"input_{k}"
            folder.mkdir(parents=True)
            (folder / "x.txt").write_text("\n".join(map(repr, map(float, x[k].ravel()))))
            (folder / "i.txt").write_text(" ".join(map(str, i[k])) + "\n")
            (folder / "input.json").write_text(json.dumps({"inputs": [{"name": "i", "shape": [2]}, {"name": "x", "shape": [2, 16]}], "outputs": ["y"]}))
        self.write({"input_type": "sequence", "path": "inputs", "feature_quantize_method": "EMA", "used_sample_num": 2})
        self.assertEqual(self.json("quantize", model, "a.minnow", "--recipe", "quant.json")["samples"], 2)
        np.savez(self.folder / "in.npz", x=x[:2], i=i[:2])
        self.json("quantize", model, "b.minnow", "-c", "in.npz", "--method", "moving-average", "--weights", "minmax")
        self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())
        for name, content, words in (("x.txt", "1 2 3", "holds 3 numbers"), ("x.txt", "1 two", "number 1 cannot be read"), ("input.json", "{}", 'no list "inputs"'),
                                     ("input.json", '{"inputs": [{"name": "z", "shape": [2]}]}', 'no input "z"'), ("input.json", '{"inputs": [{"name": "x", "shape": [-2]}]}', "shape"),
                                     ("input.json", '{"inputs": [{"name": "i", "shape": [2]}]}', 'no array for input "x"')):
            path = self.folder / "inputs" / "input_0" / name
            before = path.read_text()
            path.write_text(content)
            self.assertIn(words, self.fails("quantize", model, "c.minnow", "--recipe", "quant.json"), content)
            path.write_text(before)

    def test_compression_parameters(self):
        w = (self.random.standard_normal((128, 32)) / 8).astype(np.float32)
        v = (self.random.standard_normal((32, 16)) / 8).astype(np.float32)
        u = (self.random.standard_normal((16, 16)) / 8).astype(np.float32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="one"), helper.make_node("MatMul", ["h", "v"], ["g"], name="two"), helper.make_node("MatMul", ["g", "u"], ["y"], name="three")]
        model = write_model(self.folder / "m.onnx", nodes, [("x", F32, ["n", 128])], [("y", F32, None)], {"w": w, "v": v, "u": u})
        layer = lambda name, bits, camel: ({"opName": name, "weight": [{"name": name, "bits": bits, "asymmetric": True, "blockSize": 32}]} if camel else
                                           {"op_name": name, "weight": [{"name": name, "bits": bits, "asymmetric": True, "block_size": 32}]})
        for camel in (False, True):
            self.write({"version": "0.0.0", "algo": [{"type": "QUANTIZE" if camel else 0, "quantParams" if camel else "quant_params":
                                                      {"layer": [layer("one", 4, camel), layer("two", 8, camel), layer("three", 0, camel)]}}]})
            answer = self.json("quantize", model, "a.minnow", "--recipe", "quant.json")
            self.assertEqual([row.get("weight_bits") for row in answer["layers"]], [4, 8, None])
            self.json("quantize", model, "b.minnow", "--weights-only", "rtn", "--bits-for", "one=4", "--bits-for", "two=8", "--bits-for", "three=0", "--block-size", 32)
            self.assertEqual((self.folder / "a.minnow").read_bytes(), (self.folder / "b.minnow").read_bytes())
            self.json("quantize", model, "a.minnow", "--recipe", "quant.json", "--weights-only", "hqq")

    def test_wrong_files(self):
        self.pictures()
        good = {"path": "pictures", "width": 12, "height": 12}
        layer = {"op_name": "first", "weight": [{"name": "w", "bits": 4}]}
        of = lambda *layers: {"algo": [{"quant_params": {"layer": list(layers)}}]}
        before = self.model.read_bytes()
        cases = ["", "{", "[]", "3", "null", {}, {**good, "path": 3}, {**good, "path": "nowhere"}, {**good, "format": "YUV"}, {**good, "mean": []}, {**good, "mean": ["a"]}, {**good, "mean": [1] * 5},
                 {**good, "normal": 0.017}, {**good, "width": "12"}, {**good, "width": -1}, {**good, "height": 1e30}, {**good, "used_image_num": -1}, {**good, "feature_quantize_method": "MAGIC"},
                 {**good, "weight_quantize_method": "KL"}, {**good, "quant_bits": 9}, {**good, "quant_bits": 2.5}, {**good, "feature_clamp_value": 300}, {**good, "weight_clamp_value": 100},
                 {**good, "skip_quant_op_names": "first"}, {**good, "skip_quant_op_names": ["nobody"]}, {**good, "input_type": "video"}, {**good, "widht": 3}, {"algo": 3}, {"algo": []}, {"algo": [{}]},
                 {"algo": [{"type": "PRUNE"}]}, of(), of({}), of({"weight": [{"bits": 4}]}), of({"op_name": "first", "weight": [{"bits": 40}]}), of({"op_name": "first", "weight": [{"bits": 7}]}),
                 of({"op_name": "nobody", "weight": [{"bits": 4}]}), of(layer, layer), of({**layer, "input": [{"name": "x"}]}), of({"op_name": "first", "weight": [{"bits": 4, "block_size": 48}]}),
                 of({"op_name": "first", "weight": [{"bits": 4, "asymmetric": 3}]})]
        for case in cases:
            self.write(case)
            result = self.minnow("quantize", self.model, "out.minnow", "--recipe", "quant.json")
            self.assertIn(result.returncode, (1, 2), case)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"\Aminnow: [^\n]{10,}\n\Z", case)
            self.assertFalse((self.folder / "out.minnow").exists(), case)
        self.assertEqual(before, self.model.read_bytes())


if __name__ == "__main__":
    unittest.main()
