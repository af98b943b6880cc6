#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow inspect."""
import unittest

from command import F32, CommandTest, helper, np, write_model


class Inspect(CommandTest):
    def test_what_a_model_consists_of(self):
        self.succeeds("convert", self.dense(), "plain.minnow", "--optimize", "none")
        facts = self.json("inspect", "plain.minnow", "--shape", "x=5x4")
        self.assertEqual(facts["inputs"], [{"name": "x", "type": "f32[batch, 4]", "dtype": "f32", "shape": ["batch", 4]}])
        self.assertEqual(facts["outputs"], [{"name": "y", "type": "f32[batch, 3]", "dtype": "f32", "shape": ["batch", 3]}])
        self.assertEqual(facts["operators"], {"Add": 1, "Dropout": 1, "MatMul": 1, "Relu": 1})
        self.assertEqual(facts["parameters"], 15)
        self.assertEqual(facts["weight_bytes"], 60)
        self.assertGreaterEqual(facts["flops"], 2 * 5 * 4 * 3)
        text = self.succeeds("inspect", "plain.minnow").stdout
        for word in ("input  x: f32[batch, 4]", "output y: f32[batch, 3]", "15 parameters", "GFLOP", "1  MatMul"):
            self.assertIn(word, text)

    def test_the_plan(self):
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=[3, 3])]
        model = write_model(self.folder / "conv.onnx", nodes, [("x", F32, [1, 3, 8, 8])], [("y", F32, [1, 4, 6, 6])],
                            {"w": np.ones((4, 3, 3, 3), np.float32)})
        facts = self.json("inspect", model, "--plan", "--threads", "1")
        plan = facts["plan"]
        self.assertGreaterEqual(plan["arena_bytes"], 0)
        self.assertFalse(plan["cut"])
        for row in plan["steps"]:
            self.assertTrue(row["scheme"])
            self.assertLessEqual({"node", "op", "scheme", "backend", "layout", "bytes", "estimate_us", "refused"}, set(row))
        self.assertTrue(any(row["refused"] for row in plan["steps"]))
        text = self.succeeds("inspect", model, "--plan").stdout
        self.assertIn("plan: arena", text)
        self.assertIn("      not conv.", text)  # schemes that were refused, with the reason

    def test_long_names_lose_their_middle(self):
        names = [f"encoder/block_{i}/größe/{'attention/' * 6}product_{i}" for i in range(3)]
        nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"], name=name) for i, name in enumerate(names)]
        model = write_model(self.folder / "long.onnx", nodes, [("x0", F32, [2, 3])], [("x3", F32, [2, 3])], {"w": np.ones((3, 3), np.float32)})
        rows = [line for line in self.succeeds("inspect", model, "--plan").stdout.splitlines() if "..." in line]
        self.assertEqual(len(rows), 3)
        for i, row in enumerate(rows):
            self.assertRegex(row, rf"^  encoder/block_.*\.\.\..*product_{i} ")

    def test_the_graph_as_text(self):
        text = self.succeeds("inspect", self.dense(), "--text").stdout
        self.assertIn("Relu", text)
        facts = self.json("inspect", self.dense(), "--text")
        self.assertEqual((facts["text"], facts["parameters"]), (text, 15))

    def test_dtypes_and_dimensions_as_values(self):
        """Unknown facts are null: an open dimension without a name, a shape without a rank, the dtype of a sequence."""
        from onnx import TensorProto
        sequence = helper.make_value_info("s", helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None)))
        nodes = [helper.make_node("SequenceConstruct", ["x", "z"], ["s"]), helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["n", None, 3]), helper.make_tensor_value_info("z", F32, None)],
                                  [sequence, helper.make_tensor_value_info("y", TensorProto.INT64, ["n", None, 3])])
        (self.folder / "s.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        facts = self.json("inspect", "s.onnx")
        rows = {row["name"]: (row["dtype"], row["shape"]) for row in facts["inputs"] + facts["outputs"]}
        self.assertEqual(rows, {"x": ("f32", ["n", None, 3]), "z": ("f32", None), "s": (None, None), "y": ("i64", ["n", None, 3])})

    def test_errors(self):
        self.assertIn("nowhere.onnx", self.fails("inspect", "nowhere.onnx"))
        self.assertIn("should be", self.fails("inspect", self.dense(), "--plan", "--shape", "x=1x9"))
        self.assertIn("should be", self.fails("inspect", self.dense(), "--shape", "x=1x9"))  # also without a plan
        (self.folder / "cut.minnow").write_bytes(b"\x89MNW\r\n\x1a\n")
        self.assertIn("cut.minnow", self.fails("inspect", "cut.minnow"))


if __name__ == "__main__":
    unittest.main()
