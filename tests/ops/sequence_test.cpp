// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/error.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

// The nodes read a (2 elements), b (3 elements) and the sequence [a, b]; they make y.
std::vector<Datum> run(const std::string& nodes, const std::vector<Datum>& more = {}, const std::string& inputs = {}) {
  const auto graph =
      parse_graph("graph {\n input a: f32[2]\n input b: f32[3]\n" + inputs + "const first = i64[] 0\nconst last = i32[] -1\n" +
                  "const far = i64[] 2\n list = SequenceConstruct(a, b)\n" + nodes + "\n output y\n}");
  infer_types(OperatorSet::builtin(), *graph);
  std::vector<Datum> given = {pattern({2}), pattern({3})};
  given.insert(given.end(), more.begin(), more.end());
  return evaluate(OperatorSet::builtin(), *graph, given);
}
std::string error_in(const std::string& nodes) {
  try {
    run(nodes);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
std::vector<int64_t> lengths(const Datum& sequence) {
  std::vector<int64_t> list;
  for (const Datum& item : sequence.items) list.push_back(item.tensor.elements());
  return list;
}

TEST(Sequence, at_erase_insert_length) {
  EXPECT_TRUE(near(run("y = SequenceAt(list, last)")[0].tensor, {3}, {-0.5, 1.25, 0.25}));
  EXPECT_EQ(lengths(run("y = SequenceErase(list)")[0]), (std::vector<int64_t>{2}));
  EXPECT_EQ(lengths(run("y = SequenceErase(list, first)")[0]), (std::vector<int64_t>{3}));
  EXPECT_EQ(lengths(run("y = SequenceInsert(list, a)")[0]), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(lengths(run("y = SequenceInsert(list, a, last)")[0]), (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(lengths(run("y = SequenceInsert(list, a, far)")[0]), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_TRUE(near(run("y = SequenceLength(list)")[0].tensor, {}, {2}));
  EXPECT_EQ(run("y = SequenceEmpty()")[0].element, DType::f32);
}

TEST(Sequence, a_changed_sequence_leaves_the_first_alone) {
  EXPECT_EQ(lengths(run("z = SequenceErase(list)\n y = Identity(list)")[0]), (std::vector<int64_t>{2, 3}));
}

TEST(Sequence, refuses) {
  EXPECT_THAT(error_in("y = SequenceAt(list, far)"), HasSubstr("position 2 is out of range for a sequence of 2 tensors"));
  EXPECT_THAT(error_in("e = SequenceEmpty()\n y = SequenceErase(e)"), HasSubstr("empty sequence"));
  EXPECT_THAT(error_in("e = SequenceEmpty() {dtype = 7}\n y = SequenceInsert(e, a)"), HasSubstr("is f32, it should be i64"));
  EXPECT_THAT(error_in("y = Relu(list)"), HasSubstr("is a sequence, which the operator does not take"));
  EXPECT_THAT(error_in("y = SequenceLength(a)"), HasSubstr("is a tensor, which the operator does not take"));
  EXPECT_THAT(error_in("y = SequenceEmpty() {dtype = 8}"), HasSubstr("no dtype that is supported"));
}

TEST(SplitToSequence, sizes_numbers_and_slices) {
  EXPECT_EQ(lengths(run("const s = i64[] 2\n y = SplitToSequence(b, s)")[0]), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(lengths(run("const s = i32[3] [0, 2, 1]\n y = SplitToSequence(b, s)")[0]), (std::vector<int64_t>{0, 2, 1}));
  const std::vector<Datum> slices = run("y = SplitToSequence(b) {keepdims = 0}");
  ASSERT_EQ(slices[0].items.size(), 3u);
  EXPECT_TRUE(near(slices[0].items[1].tensor, {}, {1.25}));
  EXPECT_TRUE(near(run("y = SplitToSequence(b)")[0].items[2].tensor, {1}, {0.25}));
  EXPECT_THAT(error_in("const s = i64[2] [1, 1]\n y = SplitToSequence(b, s)"), HasSubstr("an axis of 3 cannot be split into sizes [1, 1]"));
  EXPECT_THAT(error_in("const s = i64[] 0\n y = SplitToSequence(b, s)"), HasSubstr("parts of 0 elements"));
}

TEST(ConcatFromSequence, joins_and_stacks) {
  EXPECT_TRUE(near(run("y = ConcatFromSequence(list) {axis = -1}")[0].tensor, {5}, {-0.5, 1.25, -0.5, 1.25, 0.25}));
  EXPECT_TRUE(near(run("l = SequenceConstruct(a, a)\n y = ConcatFromSequence(l) {axis = -1, new_axis = 1}")[0].tensor, {2, 2},
                   {-0.5, -0.5, 1.25, 1.25}));
  EXPECT_THAT(error_in("y = ConcatFromSequence(list) {axis = 0, new_axis = 1}"), HasSubstr("cannot be joined"));
  EXPECT_THAT(error_in("y = ConcatFromSequence(list) {axis = 1}"), HasSubstr("axis 1 is out of range"));
  EXPECT_THAT(error_in("e = SequenceEmpty()\n y = ConcatFromSequence(e) {axis = 0}"), HasSubstr("empty sequence"));
}

TEST(Optional, holds_something_or_nothing) {
  EXPECT_TRUE(near(run("o = Optional(a)\n y = OptionalGetElement(o)")[0].tensor, {2}, {-0.5, 1.25}));
  EXPECT_EQ(lengths(run("o = Optional(list)\n y = OptionalGetElement(o)")[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(near(run("o = Optional(a)\n y = OptionalHasElement(o)")[0].tensor, {}, {1}));
  EXPECT_TRUE(near(run("o = Optional() {type = type(f32)}\n y = OptionalHasElement(o)")[0].tensor, {}, {0}));
  EXPECT_TRUE(near(run("y = OptionalHasElement()")[0].tensor, {}, {0}));
  EXPECT_TRUE(near(run("y = OptionalHasElement(list)")[0].tensor, {}, {1}));
  EXPECT_THAT(error_in("o = Optional() {type = type(f32)}\n y = OptionalGetElement(o)"), HasSubstr("the optional is empty"));
  EXPECT_THAT(error_in("o = Optional() {type = type(seq(f32))}\n y = OptionalGetElement(o)"), HasSubstr("the optional is empty"));
  EXPECT_TRUE(near(run("y = OptionalHasElement(o)", {Datum()}, "input o: optional(f32)\n")[0].tensor, {}, {0}));
}

}  // namespace
}  // namespace minnow::test
