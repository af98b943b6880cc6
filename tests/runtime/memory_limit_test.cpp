// SPDX-License-Identifier: Apache-2.0
// SessionOptions::memory_limit counts all memory of runs except weights, inputs, outputs and states.
#include <gmock/gmock.h>
#include <minnow/minnow.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"

namespace minnow {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Session limited_session(std::string_view text, size_t limit, const char* backend = "reference") {
  SessionOptions options;
  options.backends = {backend};
  options.threads = 1;
  options.memory_limit = limit;
  return Session(Model::from_graph(parse_graph(text)), options);
}

/// The error of a run that is over the limit; empty if it is not.
std::string out_of_memory_error(Session& session, std::initializer_list<TensorView> inputs) {
  try {
    session.run(inputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory) << error.what();
    return error.what();
  }
  return {};
}

constexpr size_t kMega = 1000000;

/// A sequence that grows by one tensor at each of `count` nodes.
std::string growing_sequence(int count, std::string_view rest) {
  std::string text = "graph {\n  input x: f32[1]\n  s0 = SequenceEmpty()\n";
  for (int i = 0; i < count; ++i) text += "  s" + std::to_string(i + 1) + " = SequenceInsert(s" + std::to_string(i) + ", x)\n";
  return text + std::string(rest) + "}";
}

// A sequence that no other node reads is moved: with a copy for each node these would be 8 million items, more than a gigabyte.
TEST(MemoryLimit, growing_sequences_take_linear_memory) {
  for (const char* backend : {"reference", "cpu"}) {
    Session session =
        limited_session(growing_sequence(4000, "  y = ConcatFromSequence(s4000) {axis = 0}\n  output y\n"), 40 * kMega, backend);
    for (int run = 0; run < 2; ++run) {
      const std::vector<float> one = {1.5f + static_cast<float>(run)};
      const Tensor y = session.run({Tensor::of_f32({1}, one)})[0];
      ASSERT_EQ(y.shape(), Shape({4000}));
      EXPECT_EQ(y.data<float>()[0], one[0]);
      EXPECT_EQ(y.data<float>()[3999], one[0]);
    }
  }
}

TEST(MemoryLimit, sequences_that_are_read_twice_stay) {
  Session session =
      limited_session(growing_sequence(3,
                                       "  n = SequenceLength(s2)\n  m = SequenceLength(s2)\n  k = SequenceLength(s3)\n  output "
                                       "n\n  output m\n  output k\n  output s1\n"),
                      kMega);
  for (int run = 0; run < 2; ++run) {
    const std::vector<Datum> outputs = session.run_any(std::vector<Datum>{Tensor::of_f32({1}, std::vector<float>{7})});
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(outputs[i].tensor.data<int64_t>()[0], i == 2 ? 3 : 2);
    ASSERT_EQ(outputs[3].items.size(), 1u);
    EXPECT_EQ(outputs[3].items[0].tensor.data<float>()[0], 7);
  }
}

// Taps so far apart that what lies between them would fill no memory, and whose size does not fit 32 bits.
TEST(MemoryLimit, scratch_that_no_memory_holds_is_an_error_however_many_bits_sizes_have) {
  std::string text = "graph {\n  input x: f32[1, 32, 1, 1]\n  const w = f32[32, 32, 2, 2] [1";
  for (int i = 1; i < 32 * 32 * 4; ++i) text += ", 1";
  text += "]\n  y = Conv(x, w) {dilations = [1048576, 1048576], pads = [524288, 524288, 524288, 524288]}\n  output y\n}";
  Session session = limited_session(text, 0, "cpu");
  EXPECT_NE(out_of_memory_error(session, {Tensor(DType::f32, {1, 32, 1, 1})}), "");
}

TEST(MemoryAccount, counts_what_is_allocated_while_it_is_charged) {
  const auto account = std::make_shared<MemoryAccount>(1000);
  Tensor kept;
  {
    const ChargeTo charged(account);
    kept = Tensor(DType::u8, {600});
    EXPECT_EQ(account->used(), 600u);
    EXPECT_THROW(Tensor(DType::u8, {600}), OutOfMemory);
    EXPECT_EQ(account->used(), 600u);
    {
      const ChargeTo nobody;
      Tensor free(DType::u8, {5000});
      Numbers<double> numbers(5000);
    }
    Numbers<double> numbers(50);
    EXPECT_EQ(account->used(), 1000u);
    EXPECT_THROW(numbers.push_back(1), OutOfMemory);
    Numbers<double> moved = std::move(numbers);
    EXPECT_EQ(account->used(), 1000u);
  }
  EXPECT_EQ(account->used(), 600u);
  kept = {};
  EXPECT_EQ(account->used(), 0u);
  EXPECT_FALSE(current_account());
}

TEST(MemoryLimit, what_references_work_on_counts) {
  // 100 000 elements in f64.
  constexpr std::string_view kText = "graph {\n source \"net\"\n input x: f32[n]\n y = Softmax(x) @\"soft\"\n output y\n}";
  const Tensor x(DType::f32, {100000}), less(DType::f32, {1000});
  Session small = limited_session(kText, kMega / 2), large = limited_session(kText, 2 * kMega),
          fast = limited_session(kText, kMega / 2, "cpu");
  EXPECT_THAT(out_of_memory_error(small, {x}),
              AllOf(HasSubstr("node \"soft\" (Softmax)"), HasSubstr("800000 bytes are needed"), HasSubstr("the memory limit is 500000")));
  EXPECT_EQ(out_of_memory_error(small, {less}), "");  // still usable
  EXPECT_THAT(out_of_memory_error(small, {x}), HasSubstr("memory limit"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(out_of_memory_error(large, {x}), "");
    EXPECT_EQ(out_of_memory_error(fast, {x}), "") << "a scheme works in place";
  }
}

TEST(MemoryLimit, index_tables_count) {
  // The output takes 8 MB; for each of its four million columns the tables of linear interpolation have two places and two weights.
  constexpr std::string_view kText = R"(graph {
    input x: f32[1, 1, 1, 2]
    const sizes = i64[4] [1, 1, 1, 2000000]
    y = Resize(x, _, _, sizes) {mode = "linear"}
    output y
  })";
  const Tensor x(DType::f32, {1, 1, 1, 2});
  for (const char* backend : {"cpu", "reference"}) {
    Session small = limited_session(kText, 20 * kMega, backend), large = limited_session(kText, 400 * kMega, backend);
    EXPECT_THAT(out_of_memory_error(small, {x}), HasSubstr("memory limit")) << backend;
    EXPECT_EQ(out_of_memory_error(large, {x}), "") << backend;
  }
}

TEST(MemoryLimit, what_comes_after_a_cut_counts) {
  // Both parts fit alone: 0.4 MB of coordinates, and behind them 2 x 0.4 MB.
  constexpr std::string_view kText = R"(graph {
    source "net"
    input x: f32[n]
    p = NonZero(x)
    q = Neg(p)
    r = Mul(q, p)
    s = Add(r, q)
    y = ReduceMax(s)
    output y
  })";
  Tensor x(DType::f32, {50000});
  for (int64_t i = 0; i < 50000; ++i) x.writable().data<float>()[i] = 1;
  const Tensor zeros(DType::f32, {50000});
  Session small = limited_session(kText, kMega, "cpu"), large = limited_session(kText, 4 * kMega, "cpu");
  EXPECT_THAT(out_of_memory_error(small, {x}), HasSubstr("memory limit"));
  EXPECT_EQ(out_of_memory_error(small, {zeros}), "") << "the same shape, with nothing behind the cut";
  EXPECT_THAT(out_of_memory_error(small, {x}), HasSubstr("memory limit"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out_of_memory_error(large, {x}), "");
}

TEST(MemoryLimit, what_loops_gather_counts) {
  constexpr std::string_view kText = R"(graph {
    source "net"
    input turns: i64[]
    input x: f32[1000]
    last, all = Loop(turns, _, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input h: f32[1000]
      go = Identity(going)
      next = Abs(h)
      out = Identity(next)
      output go
      output next
      output out
    }} @"loop"
    y = ReduceMax(all)
    output y
    output last
  })";
  const Tensor x(DType::f32, {1000});
  Session session = limited_session(kText, kMega, "cpu");
  EXPECT_EQ(out_of_memory_error(session, {Tensor::scalar_i64(20), x}), "");
  EXPECT_THAT(out_of_memory_error(session, {Tensor::scalar_i64(1000), x}),
              AllOf(HasSubstr("node \"loop\" (Loop)"), HasSubstr("memory limit is 1000000")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out_of_memory_error(session, {Tensor::scalar_i64(20), x}), "");
}

TEST(MemoryLimit, what_fits_alone_fits_after_other_shapes) {
  // Dynamic outputs, whose memory a session keeps until the next run of their plan: two thirds of the limit each.
  constexpr std::string_view kText = R"(graph {
    source "net"
    input s: seq(f32)
    input k: i64[n]
    const i = i64[] 0
    t = SequenceAt(s, i)
    u = Neg(t)
    y = ReduceMax(u)
    output y
  })";
  SessionOptions options;
  options.backends = {"cpu"};
  options.threads = 1;
  options.memory_limit = kMega;
  Session session(Model::from_graph(parse_graph(kText)), options);
  for (int64_t turn = 0; turn < 12; ++turn) {
    const Datum inputs[] = {Datum::sequence(DType::f32, {Tensor(DType::f32, {150000 + turn % 3})}), Tensor(DType::i64, {turn % 4})};
    EXPECT_NO_THROW(session.run_any(inputs)) << turn;
  }
  const Datum large[] = {Datum::sequence(DType::f32, {Tensor(DType::f32, {300000})}), Tensor(DType::i64, {1})};
  EXPECT_THROW(session.run_any(large), Error);
}

TEST(MemoryLimit, inputs_outputs_weights_and_sequences_of_the_caller_do_not_count) {
  constexpr std::string_view kText = R"(graph {
    source "net"
    input x: f32[400000]
    y = Neg(x)
    output y
  })";
  Session session = limited_session(kText, kMega / 10, "cpu");
  const Tensor x(DType::f32, {400000});
  std::vector<std::vector<Tensor>> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(session.run({x}));
  Session sequences = limited_session("graph {\n input x: f32[1000]\n s = SequenceConstruct(x, x)\n output s\n}", kMega / 50, "cpu");
  const Datum given[] = {Tensor(DType::f32, {1000})};
  std::vector<std::vector<Datum>> all;
  for (int i = 0; i < 20; ++i) all.push_back(sequences.run_any(given));
}

TEST(MemoryLimit, the_arenas_of_loops_are_the_sessions_too) {
  constexpr std::string_view kText = R"(graph {
    source "net"
    input x: f32[1000]
    const turns = i64[] 3
    y = Loop(turns, _, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input h: f32[1000]
      go = Identity(going)
      a = Exp(h)
      b = Sin(h)
      next = Mul(a, b)
      output go
      output next
    }}
    output y
  })";
  Session session = limited_session(kText, 0);
  EXPECT_EQ(out_of_memory_error(session, {Tensor(DType::f32, {1000})}), "");
  EXPECT_GE(session.arena_bytes(), 4000u);
}

TEST(MemoryLimit, callbacks_may_copy_what_they_like) {
  Session session = limited_session("graph {\n input x: f32[1000]\n y = Neg(x)\n output y\n}", 1000, "cpu");
  std::vector<Tensor> copies;
  session.set_callbacks(
      [&](NodeEvent& event) {
        copies.push_back(event.input(0));
        event.replace_input(0, copies.back());
        return true;
      },
      [&](NodeEvent& event) {
        copies.push_back(event.output(0));
        return true;
      });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out_of_memory_error(session, {Tensor(DType::f32, {1000})}), "");
}

}  // namespace
}  // namespace minnow
