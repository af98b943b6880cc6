// SPDX-License-Identifier: Apache-2.0
// Properties of every operator, checked over the one list of operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/all.h"

namespace minnow {
namespace {

std::vector<Operator> operators() {
  std::vector<Operator> all;
  for (const Operator* op : all_operators()) all.push_back(*op);
  return all;
}

bool names(std::span<const InputSpec> specs, std::string_view name) {
  return std::any_of(specs.begin(), specs.end(), [&](const InputSpec& spec) { return spec.name == name; });
}

TEST(AllOperators, have_distinct_names) {
  std::set<std::string_view> seen;
  for (const Operator& op : operators()) EXPECT_TRUE(!op.name.empty() && seen.insert(op.name).second) << op.name;
}

TEST(AllOperators, have_a_shape_rule_and_a_meaning) {
  for (const Operator& op : operators()) {
    EXPECT_TRUE(op.infer_shapes || op.infer) << op.name;
    EXPECT_TRUE(op.reference || op.decompose) << op.name;
    EXPECT_GE(op.since, 1) << op.name;
    EXPECT_FALSE(op.outputs.empty()) << op.name;
  }
}

#if MINNOW_DOCS
TEST(AllOperators, are_documented) {
  for (const Operator& op : operators()) {
    EXPECT_FALSE(op.doc.empty()) << op.name;
    for (const AttributeSpec& attribute : op.attributes) EXPECT_FALSE(attribute.doc.empty()) << op.name << ": " << attribute.name;
  }
}
#endif

TEST(AllOperators, name_each_input_output_and_attribute_once) {
  for (const Operator& op : operators()) {
    std::set<std::string_view> inputs, outputs, attributes;
    for (const InputSpec& spec : op.inputs)
      EXPECT_TRUE(!spec.name.empty() && inputs.insert(spec.name).second) << op.name << ": " << spec.name;
    for (const OutputSpec& spec : op.outputs)
      EXPECT_TRUE(!spec.name.empty() && outputs.insert(spec.name).second) << op.name << ": " << spec.name;
    for (const AttributeSpec& spec : op.attributes)
      EXPECT_TRUE(!spec.name.empty() && attributes.insert(spec.name).second) << op.name << ": " << spec.name;
  }
}

TEST(AllOperators, only_the_last_input_or_output_is_variadic) {
  for (const Operator& op : operators()) {
    for (size_t i = 0; i + 1 < op.inputs.size(); ++i) EXPECT_NE(op.inputs[i].arity, Arity::variadic) << op.name;
    for (size_t i = 0; i + 1 < op.outputs.size(); ++i) EXPECT_NE(op.outputs[i].arity, Arity::variadic) << op.name;
  }
}

TEST(AllOperators, inputs_take_some_dtype) {
  for (const Operator& op : operators())
    for (const InputSpec& spec : op.inputs) EXPECT_NE(spec.dtypes, 0u) << op.name << ": " << spec.name;
}

TEST(AllOperators, dtype_rules_name_what_is_there) {
  for (const Operator& op : operators()) {
    for (const InputSpec& spec : op.inputs) EXPECT_TRUE(spec.like.empty() || names(op.inputs, spec.like)) << op.name << ": " << spec.like;
    for (const OutputSpec& spec : op.outputs) {
      const DTypeRule& rule = spec.dtype;
      if (rule.kind == DTypeRule::Kind::same_as) {
        EXPECT_TRUE(names(op.inputs, rule.name)) << op.name << ": " << rule.name;
      } else if (rule.kind == DTypeRule::Kind::attribute) {
        const bool found = std::any_of(op.attributes.begin(), op.attributes.end(),
                                       [&](const AttributeSpec& attribute) { return attribute.name == rule.name; });
        EXPECT_TRUE(found) << op.name << ": " << rule.name;
      } else {
        EXPECT_TRUE(rule.dtype != DType::undefined || op.infer) << op.name;
      }
    }
  }
}

TEST(AllOperators, elementwise_ones_have_one_output) {
  for (const Operator& op : operators()) EXPECT_TRUE(!op.elementwise || (op.outputs.size() == 1 && op.pure)) << op.name;
}

TEST(AllOperators, are_found_by_name) {
  const OperatorSet& set = OperatorSet::builtin();
  EXPECT_EQ(set.list().size(), operators().size());
  for (const Operator& op : operators()) {
    const Operator* found = set.find(op.name);
    ASSERT_NE(found, nullptr) << op.name;
    EXPECT_EQ(found->name, op.name);
  }
  EXPECT_EQ(set.find("NoSuchOperator"), nullptr);
}

}  // namespace
}  // namespace minnow
