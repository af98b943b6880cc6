#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow bench and minnow profile."""
import json
import os
import unittest

from command import F32, I64, CommandTest, TensorProto, helper, np, write_model

BENCH_KEYS = {"min_ms", "median_ms", "p90_ms", "load_ms", "plan_ms", "first_run_ms", "arena_bytes", "weight_bytes", "peak_rss_bytes", "gflops",
              "peak_fraction"}


class Bench(CommandTest):
    def test_json_has_every_figure(self):
        for backend in ("cpu", "reference"):
            with self.subTest(backend):
                facts = self.json("bench", self.dense(), "--threads", "1", "--seconds", "0.05", "--backend", backend)
                self.assertLessEqual(BENCH_KEYS, set(facts))
                self.assertTrue(0 < facts["min_ms"] <= facts["median_ms"] <= facts["p90_ms"])
                self.assertEqual(facts["weight_bytes"], 4 * (12 + 3))
                self.assertGreater(facts["peak_rss_bytes"], 1e6)
                self.assertEqual(facts["threads"], 1)
                if backend == "cpu":
                    self.assertGreater(facts["peak_fraction"], 0)

    def test_text(self):
        text = self.succeeds("bench", self.dense(), "--threads", "1", "--seconds", "0.05").stdout
        for word in ("min ", "median ", "load ", "plan ", "first run ", "arena ", "weights ", "GFLOP/s", "measured peak"):
            self.assertIn(word, text)

    def test_threads_are_those_that_compute(self):
        cores = len(os.sched_getaffinity(0))
        measured = lambda *options: self.json("bench", self.dense(), "--seconds", "0.01", *options)["threads"]
        self.assertEqual(measured("--threads", "64"), min(64, cores))
        self.assertEqual(measured(), cores)
        self.assertEqual(measured("--power", "efficient"), max(1, cores // 2))
        tuned = self.json("tune", self.dense(), "--file", "tuning.txt", "--seconds", "0.05")["threads"]
        self.assertEqual(measured("--tuning", "tuning.txt"), tuned or cores)

    def test_errors_tell_of_open_dimensions(self):
        nodes = [helper.make_node("Conv", ["image", "w"], ["y"])]
        model = write_model(self.folder / "conv.onnx", nodes, [("image", F32, ["n", 1, "h", "w"])], [("y", F32, ["n", 1, "p", "q"])],
                            {"w": np.ones((1, 1, 3, 3), np.float32)})
        told = 'dimensions of input "image" are open and were taken as 1: use --shape image=...'
        for command in (("bench", model, "--seconds", "0.01"), ("profile", model, "--seconds", "0.01"), ("inspect", model, "--plan"),
                        ("tune", model, "--file", "tuning.txt")):
            self.assertIn(told, self.fails(*command))
        self.assertNotIn("were taken", self.fails("bench", model, "--shape", "1x1x2x2"))
        self.json("bench", model, "--seconds", "0.01", "--shape", "1x1x5x5")

    def test_shapes_by_name_and_by_position(self):
        small = self.json("bench", self.dense(), "--seconds", "0.01")
        for shape in ("x=64x4", "64x4", "x=64,4"):
            facts = self.json("bench", self.dense(), "--seconds", "0.01", "--shape", shape)
            self.assertGreater(facts["first_run_ms"], 0)
        self.assertIn("3 dimensions", self.fails("bench", self.dense(), "--shape", "x=1x2x3"))
        self.assertIn('no input "z"', self.fails("bench", self.dense(), "--shape", "z=1x4"))
        self.assertIn("takes 1 input", self.fails("bench", self.dense(), "--shape", "1x4", "--shape", "1x4"))
        self.assertIn("should be f32[batch, 4]", self.fails("bench", self.dense(), "--shape", "x=1x5"))

    def test_long_work_is_silent_without_a_terminal(self):
        result = self.succeeds("bench", self.dense(), "--seconds", "1.3", "--shape", "x=5000x4", "--json")
        json.loads(result.stdout)
        self.assertEqual(result.stderr, "")

    def test_one_symbol_has_one_size(self):
        self.json("bench", self.two_inputs(), "--seconds", "0.01", "--shape", "a=7")

    def test_inputs_that_are_given_are_used(self):
        nodes = [helper.make_node("Gather", ["x", "i"], ["y"])]
        model = write_model(self.folder / "gather.onnx", nodes, [("x", F32, ["n"]), ("i", I64, ["k"])], [("y", F32, ["k"])])
        self.json("bench", model, "--seconds", "0.01", "--shape", "x=2")  # made-up integers are 0 or 1
        i = self.save("i.npy", np.array([5, 6]))
        self.json("bench", model, "--seconds", "0.01", "--shape", "x=8", "--input", f"i={i}")
        self.assertIn("Gather", self.fails("bench", model, "--seconds", "0.01", "--shape", "x=4", "--input", f"i={i}"))

    def test_wrong_options(self):
        for options in (["--seconds", "0"], ["--seconds", "soon"], ["--threads", "-2"], ["--iterations", "3"]):
            with self.subTest(" ".join(options)):
                self.fails("bench", self.dense(), *options)
        self.assertIn("nowhere.minnow", self.fails("bench", "nowhere.minnow"))


class Profile(CommandTest):
    def test_every_node_has_its_time(self):
        facts = self.json("profile", self.dense(), "--seconds", "0.05", "--threads", "1", "--shape", "x=8x4")
        self.assertGreater(facts["sum_of_best_us"], 0)
        for row in facts["nodes"]:
            self.assertGreater(row["runs"], 0)
            self.assertGreaterEqual(row["best_us"], 0)
            self.assertTrue(row["scheme"] and row["op"])
        text = self.succeeds("profile", self.dense(), "--seconds", "0.05").stdout
        self.assertIn("sum of the best times", text)

    def test_a_trace_for_chrome(self):
        self.succeeds("profile", self.dense(), "--seconds", "0.01", "--trace", "trace.json")
        trace = json.loads((self.folder / "trace.json").read_text())
        self.assertTrue(trace["traceEvents"])
        for event in trace["traceEvents"]:
            self.assertEqual(event["ph"], "X")
            self.assertGreaterEqual(event["dur"], 0)
        self.assertIn("nowhere/trace.json", self.fails("profile", self.dense(), "--seconds", "0.01", "--trace", "nowhere/trace.json"))

    def test_nodes_of_a_loop_are_rows_of_their_owner(self):
        body = helper.make_graph([helper.make_node("Identity", ["going"], ["go"]), helper.make_node("Exp", ["h"], ["next"], name="grow")],
                                 "body", [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                                          helper.make_tensor_value_info("h", F32, [4])],
                                 [helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("next", F32, [4])])
        nodes = [helper.make_node("Loop", ["turns", "", "x"], ["y"], name="repeat", body=body)]
        model = write_model(self.folder / "loop.onnx", nodes, [("turns", I64, []), ("x", F32, [4])], [("y", F32, [4])])
        facts = self.json("profile", model, "--seconds", "0.01", "--input", "turns=" + str(self.save("turns.npy", np.array(6))),
                          "--trace", "trace.json")
        bench = self.json("bench", model, "--seconds", "0.01", "--input", "turns=" + str(self.folder / "turns.npy"))
        self.assertGreaterEqual(round(bench["gflops"] * bench["min_ms"] * 1e6), 6 * 4)  # six turns of four elements
        self.assertIn("1 nodes and 1 in subgraphs", self.succeeds("inspect", model).stdout)
        rows = {row["node"]: row for row in facts["nodes"]}
        self.assertEqual((rows["repeat"]["owner"], rows["repeat"]["calls"]), ("", 1))
        self.assertEqual((rows["grow"]["owner"], rows["grow"]["calls"]), ("repeat.body", 6))
        self.assertAlmostEqual(facts["sum_of_best_us"], rows["repeat"]["best_us"])
        events = {event["name"]: event for event in json.loads((self.folder / "trace.json").read_text())["traceEvents"]}
        inner, outer = events["Exp grow"], events["Loop repeat"]
        self.assertEqual(inner["args"]["calls"], 6)
        self.assertGreaterEqual(inner["ts"], outer["ts"] - 1e-6)
        self.assertLessEqual(inner["ts"] + inner["dur"], outer["ts"] + outer["dur"] + 1e-6)
        self.assertIn("repeat.body/grow", self.succeeds("profile", model, "--seconds", "0.01").stdout)

    def test_outputs_that_are_sequences(self):
        node = helper.make_node("SequenceConstruct", ["x", "x"], ["s"], name="both")
        graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", F32, [2])],
                                  [helper.make_tensor_sequence_value_info("s", F32, [2])])
        model = self.folder / "sequence.onnx"
        model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        self.assertGreaterEqual(self.json("bench", model, "--seconds", "0.01")["runs"], 5)
        self.assertEqual(self.json("profile", model, "--seconds", "0.01")["nodes"][0]["node"], "both")

    def test_nodes_behind_a_shape_that_depends_on_data(self):
        nodes = [helper.make_node("NonZero", ["x"], ["p"], name="places"), helper.make_node("Cast", ["p"], ["y"], name="cast", to=F32)]
        model = write_model(self.folder / "places.onnx", nodes, [("x", F32, ["n"])], [("y", F32, [1, None])])
        facts = self.json("profile", model, "--seconds", "0.01", "--shape", "x=9")
        self.assertEqual([row["node"] for row in facts["nodes"]], ["places", "cast"])


if __name__ == "__main__":
    unittest.main()
