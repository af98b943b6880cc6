// SPDX-License-Identifier: Apache-2.0
// The tables that the compiler makes agree with the definitions, and refer only to constants.
#include "ops/operator_table.h"

#include <gtest/gtest.h>

namespace minnow {
namespace {

Shapes shape_rule(const NodeView&) { return {}; }
void types(const NodeView&, std::span<ValueInfo>) {}
void reference(const NodeView&, KernelArgs&) {}
Exprs parts(const NodeView&, GraphBuilder&, const Exprs&) { return {}; }
Exprs gradient(const GradientContext&) { return {}; }
double operations(const NodeView&) { return 1; }

constexpr Attribute<float> kReal{"real", -0.1f, "a real"};
constexpr Attribute<int64_t> kInteger{"integer", -3, "an integer"};
constexpr Attribute<Name> kText{"text", "NOTSET", ""};

constexpr List<Operator> definitions() {
  return {
      {.name = "Everything",
       .since = 200,
       .doc = "Bytes above 127: \xc3\xa4.",
       .inputs = {{"a", kAny, Arity::required, kAnyKind}, {.name = "b", .dtypes = kFloats, .arity = kVariadic, .like = "a"}},
       .outputs = {{"x", same_as("a")}, {"y", fixed(DType::boolean), kOptional}, {"z", from_attribute("to", DType::f32), kVariadic}},
       .attributes = {kReal, kInteger, kText, required("needed", AttributeKind::graph, "a graph"), optional("to", AttributeKind::type)},
       .infer_shapes = shape_rule,
       .infer = types,
       .reference = reference,
       .decompose = parts,
       .gradient = gradient,
       .operations = operations,
       .pure = false,
       .shape_only = true,
       .elementwise = true},
      {.name = "Little", .outputs = {{"y", fixed(DType::i64)}}, .decompose = parts},
  };
}

void expect_equal(const Operator& a, const Operator& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.since, b.since);
  EXPECT_EQ(a.doc, b.doc);
  EXPECT_EQ(a.infer_shapes, b.infer_shapes);
  EXPECT_EQ(a.infer, b.infer);
  EXPECT_EQ(a.reference, b.reference);
  EXPECT_EQ(a.decompose, b.decompose);
  EXPECT_EQ(a.gradient, b.gradient);
  EXPECT_EQ(a.operations, b.operations);
  EXPECT_EQ(a.pure, b.pure);
  EXPECT_EQ(a.shape_only, b.shape_only);
  EXPECT_EQ(a.elementwise, b.elementwise);
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    EXPECT_EQ(a.inputs[i].name, b.inputs[i].name);
    EXPECT_EQ(a.inputs[i].dtypes, b.inputs[i].dtypes);
    EXPECT_EQ(a.inputs[i].arity, b.inputs[i].arity);
    EXPECT_EQ(a.inputs[i].kinds, b.inputs[i].kinds);
    EXPECT_EQ(a.inputs[i].like, b.inputs[i].like);
  }
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].name, b.outputs[i].name);
    EXPECT_EQ(a.outputs[i].arity, b.outputs[i].arity);
    EXPECT_EQ(a.outputs[i].dtype.kind, b.outputs[i].dtype.kind);
    EXPECT_EQ(a.outputs[i].dtype.name, b.outputs[i].dtype.name);
    EXPECT_EQ(a.outputs[i].dtype.dtype, b.outputs[i].dtype.dtype);
  }
  ASSERT_EQ(a.attributes.size(), b.attributes.size());
  for (size_t i = 0; i < a.attributes.size(); ++i) {
    EXPECT_EQ(a.attributes[i].name, b.attributes[i].name);
    EXPECT_EQ(a.attributes[i].kind, b.attributes[i].kind);
    EXPECT_EQ(a.attributes[i].required, b.attributes[i].required);
    EXPECT_EQ(a.attributes[i].doc, b.attributes[i].doc);
    EXPECT_EQ(a.attributes[i].has_default, b.attributes[i].has_default);
    EXPECT_EQ(a.attributes[i].default_number, b.attributes[i].default_number);
    EXPECT_EQ(a.attributes[i].default_text, b.attributes[i].default_text);
  }
}

TEST(OperatorTable, holds_what_the_definitions_say) {
  const std::span<const Operator> table = operator_table<definitions>();
  const List<Operator> expected = definitions();
  ASSERT_EQ(table.size(), expected.size());
  for (size_t i = 0; i < table.size(); ++i) expect_equal(table[i], expected[i]);
}

TEST(OperatorTable, operators_refer_to_one_array_of_inputs) {
  const std::span<const Operator> table = operator_table<definitions>();
  EXPECT_EQ(table[0].inputs.end(), table[1].inputs.begin());
  const Operator copy = table[0];  // refers to it, too
  EXPECT_EQ(copy.inputs.begin(), table[0].inputs.begin());
}

TEST(List, owns_what_it_is_made_of) {
  List<int> list{1, 2};
  const List<int> before = list;
  list.append({3, 4, 5});
  list[0] = 7;
  EXPECT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0], 1);
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()), (std::vector<int>{7, 2, 3, 4, 5}));
  list = before;
  EXPECT_EQ(list.back(), 2);
  list = List<int>();
  EXPECT_TRUE(list.empty());
}

TEST(List, appending_to_one_that_refers_to_items_leaves_these_alone) {
  static constexpr int kItems[] = {1, 2};
  List<int> list = List<int>::of(kItems);
  EXPECT_EQ(list.begin(), kItems);
  list.append({3});
  EXPECT_NE(list.begin(), kItems);
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()), (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace minnow
