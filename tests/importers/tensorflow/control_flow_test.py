#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops, branches and lists of both generations, made by TensorFlow and computed by it and by Minnow for several inputs."""
import unittest

from support import InFolder

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

v1 = tf.compat.v1


class ControlFlow(InFolder):
    def compare(self, expected, feeds, outputs):
        self.keep(self.folder / "net.pb", feeds, dict(zip(outputs, expected)))
        for backend in ("cpu", "reference"):
            actual = self.outputs(self.folder / "net.pb", feeds, "--backend", backend)
            for name, b in zip(outputs, expected):
                self.assertEqual(actual[name].shape, b.shape, name)
                np.testing.assert_allclose(actual[name], b, rtol=1e-4, atol=1e-4, err_msg=name)

    def first_generation(self, build, *all_feeds):
        """`build` gives named outputs; with control flow of the first generation."""
        v1.disable_control_flow_v2()
        v1.disable_tensor_equality()
        graph = tf.Graph()
        with graph.as_default():
            outputs = [tensor.op.name for tensor in build()]
            (self.folder / "net.pb").write_bytes(graph.as_graph_def().SerializeToString())
            for feeds in all_feeds:
                with v1.Session() as session:
                    self.compare(session.run([f"{name}:0" for name in outputs], {f"{name}:0": array for name, array in feeds.items()}), feeds, outputs)

    def second_generation(self, function, signature, *all_feeds):
        """A function of tensors, which gives a list; frozen with its loops as functions."""
        v1.enable_control_flow_v2()
        concrete = tf.function(function, input_signature=signature).get_concrete_function()
        frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
        (self.folder / "net.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
        names = [tensor.op.name for tensor in frozen.outputs]
        for feeds in all_feeds:
            self.compare([np.asarray(x) for x in concrete(**{name: tf.constant(array) for name, array in feeds.items()})], feeds, names)

    def test_a_loop_whose_length_is_an_input(self):
        def build():
            x, n = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.int32, [], "n")
            _, y = v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5 + 1.0), [tf.constant(0), x])
            return [tf.identity(y, "y")]
        self.first_generation(build, *({"x": np.ones((2, 3), np.float32), "n": np.int32(n)} for n in (0, 1, 7)))

    def test_branches_in_a_loop_in_a_branch(self):
        def build():
            x, n = v1.placeholder(tf.float32, [None], "x"), v1.placeholder(tf.int32, [], "n")
            def step(i, y):
                return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: y * 2.0, lambda: v1.cond(i > 2, lambda: y - 1.0, lambda: y + 10.0))
            def loop():
                return v1.while_loop(lambda i, y: i < n, step, [tf.constant(0), x])[1]
            return [tf.identity(v1.cond(tf.reduce_sum(x) > 0, loop, lambda: -x), "y")]
        self.first_generation(build, *({"x": np.full(3, sign, np.float32), "n": np.int32(n)} for sign in (1, -1) for n in (0, 5)))

    def test_a_loop_in_a_loop(self):
        def build():
            x = v1.placeholder(tf.float32, [2], "x")
            def outer(i, y):
                _, y = v1.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + tf.cast(i, tf.float32)), [tf.constant(0), y])
                return i + 1, y
            return [tf.identity(v1.while_loop(lambda i, y: i < 4, outer, [tf.constant(0), x])[1], "y")]
        self.first_generation(build, {"x": np.zeros(2, np.float32)})

    def test_several_results_of_one_condition(self):
        def build():
            x = v1.placeholder(tf.float32, [2], "x")
            a, b = v1.cond(x[0] > x[1], lambda: (x + 1.0, tf.reduce_sum(x)), lambda: (x * 2.0, tf.constant(5.0)))
            return [tf.identity(a, "a"), tf.identity(b, "b")]
        self.first_generation(build, {"x": np.array([1, 2], np.float32)}, {"x": np.array([2, 1], np.float32)})

    def test_arrays_that_are_written_and_stacked(self):
        def build():
            x = v1.placeholder(tf.float32, [None, 4], "x")
            count = tf.shape(x)[0]
            rows = tf.TensorArray(tf.float32, size=count).unstack(x)
            made = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
            def step(i, sums, made):
                sums = sums + rows.read(i)
                return i + 1, sums, made.write(i, sums)
            _, sums, made = v1.while_loop(lambda i, *_: i < count, step, [tf.constant(0), tf.zeros(4), made])
            return [tf.identity(sums, "sums"), tf.identity(made.stack(), "all"), tf.identity(made.gather([1, 0]), "two")]
        self.first_generation(build, *({"x": np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)} for n in (2, 5)))

    def test_dynamic_rnn(self):
        def build():
            x = v1.placeholder(tf.float32, [None, None, 3], "x")
            w = tf.constant(np.random.default_rng(1).standard_normal((3 + 5, 5)).astype(np.float32))
            turned = tf.transpose(x, [1, 0, 2])
            steps = tf.shape(turned)[0]
            rows = tf.TensorArray(tf.float32, size=steps).unstack(turned)
            made = tf.TensorArray(tf.float32, size=steps)
            def step(t, h, made):
                h = tf.tanh(tf.matmul(tf.concat([rows.read(t), h], 1), w))
                return t + 1, h, made.write(t, h)
            start = tf.zeros([tf.shape(x)[0], 5])
            _, h, made = v1.while_loop(lambda t, *_: t < steps, step, [tf.constant(0), start, made])
            return [tf.identity(h, "h"), tf.transpose(made.stack(), [1, 0, 2], "y")]
        self.first_generation(build, *({"x": np.random.default_rng(7).standard_normal((2, n, 3)).astype(np.float32)} for n in (1, 6)))

    def test_lists_of_the_second_generation(self):
        def function(x):
            made = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=[4])
            y = tf.zeros([4])
            for i in tf.range(tf.shape(x)[0]):
                y = y * 0.5 + x[i]
                made = made.write(i, y)
            pushed = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[4])
            for i in tf.range(3):
                pushed = pushed.write(i, y * tf.cast(i, tf.float32))
            return [made.stack(), y, pushed.stack()]
        self.second_generation(function, [tf.TensorSpec([None, 4], tf.float32, name="x")],
                               *({"x": np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)} for n in (1, 3)))

    def test_cases(self):
        def function(x, n):
            return [tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: tf.reduce_sum(x) + x])]
        self.second_generation(function, [tf.TensorSpec([2], tf.float32, name="x"), tf.TensorSpec([], tf.int32, name="n")],
                               *({"x": np.array([1, 2], np.float32), "n": np.int32(n)} for n in (0, 1, 2, 9, -1)))

    def test_a_loop_until_something_is_reached(self):
        def function(x):
            while tf.reduce_max(tf.abs(x)) < 100.0:
                x = x * x + 1.0 if tf.reduce_sum(x) > 0 else x - 1.0
            return [x]
        self.second_generation(function, [tf.TensorSpec([None], tf.float32, name="x")], {"x": np.array([0.5, 0.25], np.float32)},
                               {"x": np.array([-3], np.float32)}, {"x": np.array([500], np.float32)})


if __name__ == "__main__":
    unittest.main()
