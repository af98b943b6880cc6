// SPDX-License-Identifier: Apache-2.0
// Callbacks may read and replace inputs before a node, and outputs after it.
#include "runtime/node_event.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "graph/expr.h"
#include "graph/graph.h"
#include "support/operators.h"

namespace minnow {
namespace {

using test::floats;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

Tensor row(std::vector<float> values) { return Tensor::of_f32({static_cast<int64_t>(values.size())}, values); }

SessionOptions on_one_thread(const char* backend) {
  SessionOptions options;
  options.backends = {backend};
  options.threads = 1;
  return options;
}
Session session_of(std::string_view text, const char* backend = "cpu") {
  return Session(Model::from_graph(parse_graph(text)), on_one_thread(backend));
}

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return {};
}

// x is read by three nodes; `a` and `b` may be computed in the memory of what they read.
constexpr std::string_view kSiblings = R"(graph {
  input x: f32[3]
  const two = f32[] 2
  h = Mul(x, two)
  a = Relu(h)
  b = Abs(a)
  c = Sub(h, b)
  d = Add(b, b)
  output a
  output c
  output d
})";

TEST(NodeEvent, inputs_are_read_before_a_node) {
  for (const char* backend : {"cpu", "reference"}) {
    Session session = session_of(kSiblings, backend);
    std::vector<std::string> seen;
    session.set_callbacks(
        [&](NodeEvent& event) {
          std::string line = std::string(event.op());
          for (size_t i = 0; i < event.input_count(); ++i) {
            line += " " + std::string(event.input_name(i)) + ":";
            for (float v : floats(event.input(i))) line += std::to_string(static_cast<int>(v)) + ",";
          }
          seen.push_back(line + " -> " + std::string(event.output_name(0)));
          return true;
        },
        {});
    session.run({row({1, -2, 3})});
    EXPECT_THAT(seen, ElementsAre("Mul x:1,-2,3, two:2, -> h", "Relu h:2,-4,6, -> a", "Abs a:2,0,6, -> b", "Sub h:2,-4,6, b:2,0,6, -> c",
                                  "Add b:2,0,6, b:2,0,6, -> d"));
  }
}

TEST(NodeEvent, a_replaced_input_is_seen_by_that_node_alone) {
  for (const char* backend : {"cpu", "reference"}) {
    Session session = session_of(kSiblings, backend);
    const std::vector<float> x = {1, -2, 3};
    const Tensor input = row(x);
    session.set_callbacks(
        [&](NodeEvent& event) {
          if (event.op() == "Mul") event.replace_input(0, row({10, 20, -30}));  // memory of the caller's
          if (event.op() == "Relu") event.replace_input(0, row({7, -7, 8}));    // of the arena, written in place perhaps
          if (event.op() == "Add") {
            event.replace_input(1, row({9, 9, 9}));
            event.replace_input(1, row({100, 200, 300}));  // the last one counts
            EXPECT_EQ(floats(event.input(1)), (std::vector<float>{100, 200, 300}));
            EXPECT_EQ(floats(event.input(0)), (std::vector<float>{7, 0, 8}));  // the same tensor, the other input
          }
          return true;
        },
        {});
    for (int i = 0; i < 2; ++i) {
      const std::vector<Tensor> outputs = session.run({input});
      EXPECT_THAT(floats(outputs[0]), ElementsAre(7, 0, 8));
      EXPECT_THAT(floats(outputs[1]), ElementsAre(20 - 7, 40 - 0, -60 - 8)) << "h itself is as it was";
      EXPECT_THAT(floats(outputs[2]), ElementsAre(107, 200, 308));
    }
    EXPECT_EQ(floats(input), x);
    session.set_callbacks({}, {});
    EXPECT_THAT(floats(session.run({input})[2]), ElementsAre(4, 0, 12)) << "nothing is left of it";
  }
}

TEST(NodeEvent, a_replaced_output_is_seen_by_all_that_follow) {
  for (const char* backend : {"cpu", "reference"}) {
    Session session = session_of(kSiblings, backend);
    session.set_callbacks({}, [&](NodeEvent& event) {
      if (event.output_name(0) == "b") event.replace_output(0, row({1, 2, 3}));
      return true;
    });
    const std::vector<Tensor> outputs = session.run({row({1, -2, 3})});
    EXPECT_THAT(floats(outputs[0]), ElementsAre(2, 0, 6));
    EXPECT_THAT(floats(outputs[1]), ElementsAre(1, -6, 3));
    EXPECT_THAT(floats(outputs[2]), ElementsAre(2, 4, 6));
  }
}

TEST(NodeEvent, what_cannot_be_done_is_an_error_that_names_the_node) {
  auto graph = parse_graph(R"(graph {
    source "net"
    input x: f32[1, 2, 2]
    input shape: i64[1]
    const w = f32[2, 2] [1, 2, 3, 4]
    const edge = f32[] 3
    m = MatMul(x, w)
    r = Reshape(m, shape)
    y = Clip(r, _, edge)
    output y
  })");
  Session session(Model::from_graph(std::move(graph)), on_one_thread("cpu"));
  std::vector<std::string> before, after;
  const auto note = [](std::vector<std::string>& notes, const std::function<void()>& call) { notes.push_back(complaint(call)); };
  session.set_callbacks(
      [&](NodeEvent& event) {
        if (event.op() == "MatMul") {
          EXPECT_THAT(floats(event.input(1)), ElementsAre(1, 2, 3, 4)) << "constants can be read";
          note(before, [&] { event.replace_input(1, Tensor(DType::f32, {2, 2})); });
          note(before, [&] { event.replace_input(0, Tensor(DType::f32, {1, 2, 3})); });
          note(before, [&] { event.replace_input(0, TensorView(DType::f32, {1, 2, 2}, nullptr)); });
          note(before, [&] { event.input(2); });
          note(before, [&] { event.output(0); });
          note(before, [&] { event.replace_output(0, Tensor(DType::f32, {1, 2, 2})); });
        }
        if (event.op() == "Reshape") note(before, [&] { event.replace_input(1, Tensor(DType::i64, {1})); });
        if (event.op() == "Clip") note(before, [&] { event.input(1); });
        return true;
      },
      [&](NodeEvent& event) {
        if (event.op() == "MatMul") {
          note(after, [&] { event.input(0); });
          note(after, [&] { event.replace_input(0, Tensor(DType::f32, {1, 2, 2})); });
          note(after, [&] { event.output(1); });
          note(after, [&] { event.replace_output(0, Tensor(DType::f64, {1, 2, 2})); });
        }
        return true;
      });
  const Tensor x = Tensor::of_f32({1, 2, 2}, std::vector<float>{1, 0, 0, 1});
  EXPECT_THAT(floats(session.run({x, Tensor::of_i64({1}, std::vector<int64_t>{4})})[0]), ElementsAre(1, 2, 3, 3));
  EXPECT_THAT(before, ElementsAre(HasSubstr("(MatMul): input 1 is constant, it cannot be replaced"),
                                  HasSubstr("input 0 is f32[1, 2, 2], it cannot be replaced by f32[1, 2, 3]"), HasSubstr("has no data"),
                                  HasSubstr("has no input 2"), HasSubstr("outputs can be read and replaced after the node"),
                                  HasSubstr("outputs can be read and replaced after the node"),
                                  HasSubstr("(Reshape): input 1 holds what a shape depends on, it cannot be replaced"),
                                  HasSubstr("(Clip): has no input 1")));
  EXPECT_THAT(after, ElementsAre(HasSubstr("inputs can be read and replaced before the node"),
                                 HasSubstr("inputs can be read and replaced before the node"), HasSubstr("has no output 1"),
                                 HasSubstr("output 0 is f32[1, 2, 2], it cannot be replaced by f64[1, 2, 2]")));
}

TEST(NodeEvent, packed_inputs_are_plain_to_callbacks) {
  // Channels that are no multiple of any vector length.
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2, 5, 6, 6})));
  Tensor first(DType::f32, {7, 5, 3, 3}), second(DType::f32, {3, 7, 3, 3});
  for (Tensor* weight : {&first, &second})
    for (int64_t i = 0; i < weight->elements(); ++i) weight->writable().data<float>()[i] = static_cast<float>(i % 11) / 8 - 0.5f;
  b.set_stem("one");
  const Expr h = b.op("Conv", {x, b.constant(first)});
  b.set_stem("two");
  graph->add_output(*b.op("Conv", {h, b.constant(second)}).value());
  const Model model = Model::from_graph(std::move(graph));
  Tensor image(DType::f32, {2, 5, 6, 6}), other(DType::f32, {2, 7, 4, 4});
  for (int64_t i = 0; i < image.elements(); ++i) image.writable().data<float>()[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < other.elements(); ++i) other.writable().data<float>()[i] = static_cast<float>(i % 17) - 8;
  std::vector<std::vector<float>> read, results;
  for (const char* backend : {"reference", "cpu"}) {
    Session session(model, on_one_thread(backend));
    int convolutions = 0;
    session.set_callbacks(
        [&](NodeEvent& event) {
          if (event.op() != "Conv" || ++convolutions != 2) return true;
          const Tensor given = event.input(0);
          EXPECT_EQ(given.shape(), (Shape{2, 7, 4, 4}));
          read.push_back(floats(given));
          event.replace_input(0, other);
          EXPECT_EQ(floats(event.input(0)), floats(other));
          return true;
        },
        {});
    results.push_back(floats(session.run({image})[0]));
  }
  ASSERT_EQ(read.size(), 2u);
  for (size_t i = 0; i < read[0].size(); ++i) EXPECT_NEAR(read[0][i], read[1][i], 1e-3);
  for (size_t i = 0; i < results[0].size(); ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-2);
}

TEST(NodeEvent, parts_of_a_whole_keep_to_themselves) {
  // Concat finds its inputs in the memory of its output, Split leaves its outputs in that of its input.
  constexpr std::string_view kText = R"(graph {
    input x: f32[4]
    p, q = Split(x) {axis = 0, num_outputs = 2}
    a = Neg(p)
    b = Abs(q)
    whole = Concat(a, b) {axis = 0}
    z = Relu(whole)
    left, right = Split(z) {axis = 0, num_outputs = 2}
    l = Neg(left)
    r = Sqrt(right)
    output l
    output r
    output z
  })";
  for (const char* backend : {"cpu", "reference"}) {
    Session session = session_of(kText, backend);
    int splits = 0;
    session.set_callbacks(
        [&](NodeEvent& event) {
          if (event.op() == "Concat") event.replace_input(1, row({16, 25}));
          if (event.op() == "Split" && ++splits == 2) event.replace_input(0, row({1, 2, 36, 49}));
          return true;
        },
        [&](NodeEvent& event) {
          if (event.op() == "Split" && splits == 2) event.replace_output(0, row({5, 6}));
          return true;
        });
    const std::vector<Tensor> outputs = session.run({row({-1, -2, 3, 4})});
    EXPECT_THAT(floats(outputs[0]), ElementsAre(-5, -6)) << backend;
    EXPECT_THAT(floats(outputs[1]), ElementsAre(FloatEq(6), FloatEq(7))) << backend;  // 32-bit ARM has no exact roots of vectors
    EXPECT_THAT(floats(outputs[2]), ElementsAre(1, 2, 16, 25)) << backend;
  }
}

TEST(NodeEvent, items_of_sequences_stay_what_they_are) {
  auto graph = parse_graph(R"(graph {
    input s: seq(f32)
    const i = i64[] 0
    t = SequenceAt(s, i)
    y = Neg(t)
    output y
    output s
  })");
  Session session(Model::from_graph(std::move(graph)), on_one_thread("cpu"));
  std::string sequence;
  session.set_callbacks(
      [&](NodeEvent& event) {
        if (event.op() == "SequenceAt") sequence = complaint([&] { event.input(0); });
        return true;
      },
      [&](NodeEvent& event) {
        if (event.op() == "SequenceAt") event.replace_output(0, row({8, 9}));
        return true;
      });
  const Tensor item = row({1, 2});
  const Datum given[] = {Datum::sequence(DType::f32, {item})};
  const std::vector<Datum> outputs = session.run_any(given);
  EXPECT_THAT(floats(outputs[0].tensor), ElementsAre(-8, -9));
  EXPECT_THAT(floats(item), ElementsAre(1, 2));
  EXPECT_THAT(sequence, HasSubstr("input 0 is a sequence or an optional, callbacks see tensors"));
}

TEST(NodeEvent, shapes_behind_a_cut_follow_what_was_replaced) {
  Session session = session_of(R"(graph {
    input x: f32[4]
    p = NonZero(x)
    y = Cast(p) {to = 1}
    output y
  })");
  session.set_callbacks(
      [](NodeEvent& event) {
        if (event.op() == "NonZero") event.replace_input(0, row({0, 0, 5, 0}));
        return true;
      },
      {});
  EXPECT_THAT(floats(session.run({row({1, 1, 1, 1})})[0]), ElementsAre(2));
}

}  // namespace
}  // namespace minnow
