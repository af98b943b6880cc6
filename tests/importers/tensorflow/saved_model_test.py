#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SavedModel folders, made by TensorFlow and computed by it and by Minnow."""
import unittest

from support import InFolder, run_minnow

import keras
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Module(tf.Module):
    """Two signatures, a table of rows, several results."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(3)
        self.weights = tf.Variable(random.standard_normal((4, 3)).astype(np.float32))
        self.rows = tf.Variable(random.standard_normal((10, 4)).astype(np.float32))
        self.half = tf.Variable(tf.cast(random.standard_normal(3), tf.bfloat16))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="ids"), tf.TensorSpec([], tf.float32, name="scale")])
    def look_up(self, ids, scale):
        return {"rows": tf.matmul(tf.gather(self.rows, ids), self.weights) * scale, "bias": tf.cast(self.half, tf.float32)}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def back(self, x):
        return {"y": tf.matmul(x, self.weights, transpose_b=True)}


class SavedModel(InFolder):
    def setUp(self):
        super().setUp()
        keras.utils.set_random_seed(1)
        v1.enable_control_flow_v2()
        self.model = self.folder / "model"

    def converted_outputs(self, feeds, *options):
        """Outputs by name, of the converted model."""
        result = run_minnow("convert", self.model, self.folder / "model.minnow", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.outputs(self.folder / "model.minnow", feeds)

    def compare_keras(self, model, *shapes):
        model.export(self.model, verbose=False)
        self.compare_signature(model, *shapes)
        self.model = self.folder / "saved"  # its variables are found through copies of them
        tf.saved_model.save(model, self.model)
        self.compare_signature(model, *shapes)

    def compare_signature(self, model, *shapes):
        signature = tf.saved_model.load(self.model).signatures["serving_default"]
        for shape in shapes:
            x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
            name = next(iter(signature.structured_input_signature[1]))
            expected = signature(**{name: tf.constant(x)})
            actual = self.converted_outputs({name: x})
            self.keep(self.model, {name: x}, expected)
            self.assertEqual(sorted(actual), sorted(expected))
            for key in expected:
                np.testing.assert_allclose(actual[key], expected[key].numpy(), rtol=1e-4, atol=1e-5)

    def assert_no_loops(self):
        shown = run_minnow("inspect", self.folder / "model.minnow").stdout
        self.assertNotIn("Loop", shown)

    def test_images(self):
        x = keras.Input((16, 16, 3), name="x")
        h = keras.layers.BatchNormalization()(keras.layers.Conv2D(8, 3, strides=2, padding="same")(x))
        h = keras.layers.GlobalAveragePooling2D()(keras.layers.DepthwiseConv2D(3)(keras.layers.ReLU()(h)))
        self.compare_keras(keras.Model(x, keras.layers.Dense(4, activation="softmax")(h)), (1, 16, 16, 3), (3, 16, 16, 3))

    def test_recurrent_layers(self):
        x = keras.Input((None, 6), name="x")
        h = keras.layers.GRU(4)(keras.layers.LSTM(5, return_sequences=True)(x))
        self.compare_keras(keras.Model(x, keras.layers.Dense(3)(h)), (1, 1, 6), (2, 7, 6))
        self.assert_no_loops()

    def test_recurrent_layers_of_both_directions(self):
        x = keras.Input((9, 6), name="x")
        h = keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True))(x)
        h = keras.layers.GRU(4, reset_after=False, go_backwards=True, return_sequences=True)(h)
        self.compare_keras(keras.Model(x, keras.layers.SimpleRNN(3)(h)), (2, 9, 6))
        self.assert_no_loops()

    def test_lookup_tables(self):
        def table(keys, values, default, kind=tf.int64):
            return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(keys, kind), tf.constant(values)), default)

        low, high = -2**63, 2**63 - 1
        tables = {"far": table([5, -7, 900, low], [1.5, 2.5, -3.0, 8.0], -1.0), "near": table([3, 1, 2], [30, 10, 20], 7, tf.int32),
                  "ends": table([high, 40, low + 1, -40, 1000], np.int64([1, 2, 3, 4, 5]), -9), "one": table([-6], [4.0], 0.5),
                  "many": table(np.arange(700) ** 2, np.arange(700, dtype=np.float32), -1.0)}

        class Tables(tf.Module):
            def __init__(self):
                super().__init__()
                self.tables = list(tables.values())

            @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int64, name="x")])
            def look_up(self, x):
                found = {name: each.lookup(tf.cast(x, each.key_dtype)) for name, each in tables.items()}
                found["size"] = tables["far"].size()
                found["branch"] = tf.cond(x[0, 0] > 0, lambda: tables["ends"].lookup(x + 1), lambda: tables["far"].size() + x)
                return found

        module = Tables()
        tf.saved_model.save(module, self.model, signatures={"serving_default": module.look_up})
        x = np.int64([[5, 1], [-7, 2], [900, 3], [39, 40], [high, low], [low + 1, high - 1], [-6, 0], [489, 484], [699 ** 2, 699 ** 2 + 1], [-40, 1000], [4, -5]])
        for feed in (x, x[1:]):
            expected, actual = module.look_up(tf.constant(feed)), self.converted_outputs({"x": feed})
            self.keep(self.model, {"x": feed}, expected)
            self.assertEqual(sorted(actual), sorted(expected))
            for key, value in expected.items():
                np.testing.assert_array_equal(actual[key], value.numpy(), key)

    def test_tables_of_texts_are_refused(self):
        class Texts(tf.Module):
            def __init__(self):
                super().__init__()
                self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant(["a", "b"])), "?")

            @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="x")])
            def look_up(self, x):
                return {"y": tf.strings.length(self.table.lookup(x))}

        module = Texts()
        tf.saved_model.save(module, self.model, signatures={"serving_default": module.look_up})
        result = run_minnow("convert", self.model, self.folder / "model.minnow")
        self.assertEqual(result.returncode, 1)
        self.assertIn("(HashTableV2): ", result.stderr)

    def test_lookup_tables_of_frozen_graphs(self):
        graph = tf.Graph()
        with graph.as_default(), v1.Session() as session:
            x = v1.placeholder(tf.int64, [None], "x")
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([4, 9], tf.int64), tf.constant([0.5, 0.25])), -1.0)
            y = tf.identity(table.lookup(x), name="y")
            session.run(v1.tables_initializer())
            feed = np.int64([9, 4, 5])
            expected = session.run(y, {x: feed})
            (self.folder / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
        self.model = self.folder / "frozen.pb"
        self.keep(self.model, {"x": feed}, {"y": expected})
        np.testing.assert_array_equal(self.converted_outputs({"x": feed})["y"], expected)

    def test_variables_kept_in_parts(self):
        graph = tf.Graph()
        with graph.as_default():
            x = v1.placeholder(tf.float32, [None, 150], name="x")
            with v1.variable_scope("a", partitioner=v1.fixed_size_partitioner(3), use_resource=False):
                y = v1.matmul(x, v1.get_variable("w", [150, 6], initializer=v1.random_normal_initializer(seed=2)))
            with v1.variable_scope("b", partitioner=v1.fixed_size_partitioner(2), use_resource=True):
                rows = v1.get_variable("w", [7, 4], initializer=v1.random_normal_initializer(seed=3))
                found = v1.nn.embedding_lookup(rows, v1.cast(v1.abs(y[:, 0]), tf.int32) % 7)
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                feeds = {"x": np.random.default_rng(1).standard_normal((5, 150)).astype(np.float32)}
                expected = session.run({"y": y, "rows": found}, {x: feeds["x"]})
                v1.saved_model.simple_save(session, str(self.model), {"x": x}, {"y": y, "rows": found})
        self.keep(self.model, feeds, expected)
        actual = self.converted_outputs(feeds)
        for key, value in expected.items():
            np.testing.assert_allclose(actual[key], value, rtol=1e-4, atol=1e-4)

    def test_signatures_and_variables(self):
        module = Module()
        tf.saved_model.save(module, self.model, signatures={"serving_default": module.look_up, "back": module.back})
        feeds = {"ids": np.array([3, 0, 9], np.int32), "scale": np.float32(0.5)}
        expected, actual = module.look_up(*map(tf.constant, feeds.values())), self.converted_outputs(feeds)
        self.keep(self.model, feeds, {key: expected[key] for key in actual})
        self.assertEqual(sorted(actual), ["bias", "rows"])
        for key in actual:
            np.testing.assert_allclose(actual[key], expected[key].numpy(), rtol=1e-5, atol=1e-6)
        x = np.ones((2, 3), np.float32)
        np.testing.assert_allclose(self.converted_outputs({"x": x}, "--signature", "back")["y"], module.back(tf.constant(x))["y"], rtol=1e-5, atol=1e-6)
        result = run_minnow("inspect", self.model)  # every command takes the folder
        self.assertIn("output rows: f32[?, 3]", result.stdout)
        result = run_minnow("convert", self.model, self.folder / "no.minnow", "--signature", "sideways")
        self.assertEqual(result.returncode, 1)
        self.assertIn('no signature "sideways"; there are "back", "serving_default"', result.stderr)

    def test_the_first_generation(self):
        v1.disable_control_flow_v2()
        graph = tf.Graph()
        with graph.as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 4], "x")
            w = v1.get_variable("w", initializer=np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32), use_resource=False)
            b = v1.get_variable("b", initializer=np.ones(3, np.float32), use_resource=True)
            _, y = v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + b), [tf.constant(0), tf.matmul(x, w)])
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(self.model), {"x": x}, {"y": y})
            feed = np.random.default_rng(4).standard_normal((2, 4)).astype(np.float32)
            expected = session.run(y, {x: feed})
            self.keep(self.model, {"x": feed}, {"y": expected})
            np.testing.assert_allclose(self.converted_outputs({"x": feed})["y"], expected, rtol=1e-5, atol=1e-5)

    def test_damaged_files_give_an_error(self):
        module = Module()
        tf.saved_model.save(module, self.model, signatures={"serving_default": module.look_up})
        for name in ("variables.index", "variables.data-00000-of-00001"):
            path = self.model / "variables" / name
            whole = path.read_bytes()
            for at in range(0, len(whole), max(1, len(whole) // 60)):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
                result = run_minnow("convert", self.model, self.folder / "model.minnow")
                self.assertIn(result.returncode, (0, 1), result.stderr)
                path.write_bytes(whole[:at])
                result = run_minnow("convert", self.model, self.folder / "model.minnow")
                self.assertIn(result.returncode, (0, 1), result.stderr)
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
            path.write_bytes(whole)
        (self.model / "variables" / "variables.index").unlink()
        result = run_minnow("convert", self.model, self.folder / "model.minnow")
        self.assertIn("its value is not in the file, nor in a checkpoint beside it", result.stderr)


if __name__ == "__main__":
    unittest.main()
