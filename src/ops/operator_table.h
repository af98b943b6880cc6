// SPDX-License-Identifier: Apache-2.0
// The operators of one file as constant arrays. A file writes its operators in a constexpr function:
//
//   constexpr List<Operator> definitions() { return {{.name = "Det", ...}}; }
//   std::span<const Operator> determinant_operators() { return operator_table<definitions>(); }
//
// The compiler evaluates the function. The library holds the arrays, and no code that builds them.
#pragma once
#include <array>

#include "base/selected.h"
#include "ops/operator.h"

namespace minnow {

/// A definition with another trait, for rows that a function makes.
constexpr Operator with(Operator op, bool Operator::*trait, bool value = true) {
  op.*trait = value;
  return op;
}

/// The operators that a build keeps, of those that a file defines.
constexpr List<Operator> selected(const List<Operator>& definitions) {
  List<Operator> kept;
  for (const Operator& op : definitions)
    if (is_selected(op.name)) kept.append({op});
  return kept;
}

/// An array of the items of a list. Not every T can be made without arguments.
template <size_t kCount, class T>
constexpr std::array<T, kCount> array_of(const List<T>& list) {
  return [&]<size_t... i>(std::index_sequence<i...>) { return std::array<T, kCount>{list[i]...}; }
  (std::make_index_sequence<kCount>());
}

/// The inputs, outputs or attributes of all operators in a row.
template <class T>
constexpr List<T> joined(const List<Operator>& definitions, List<T> Operator::*member) {
  List<T> all;
  for (const Operator& op : definitions) all.append(op.*member);
  return all;
}
template <auto kDefinitions, auto kMember>
constexpr auto joined_array() {
  constexpr size_t kCount = joined(selected(kDefinitions()), kMember).size();
  return array_of<kCount>(joined(selected(kDefinitions()), kMember));
}

/// Holds a table that is never destroyed: what gcc's undefined-behaviour sanitizer makes of the destructor is no constant expression.
template <class T>
union Lasting {
  constexpr explicit Lasting(const T& table) : table(table) {}
  constexpr ~Lasting() {}
  T table;
};

template <auto kDefinitions>
std::span<const Operator> operator_table() {
  static constexpr auto kInputs = joined_array<kDefinitions, &Operator::inputs>();
  static constexpr auto kOutputs = joined_array<kDefinitions, &Operator::outputs>();
  static constexpr auto kAttributes = joined_array<kDefinitions, &Operator::attributes>();
  static constexpr Lasting kOperators{[] {
    constexpr size_t kCount = selected(kDefinitions()).size();
    List<Operator> list = selected(kDefinitions());
    const auto* input = kInputs.data();
    const auto* output = kOutputs.data();
    const auto* attribute = kAttributes.data();
    for (size_t i = 0; i < kCount; ++i) {
      Operator& op = list[i];
      const size_t inputs = op.inputs.size(), outputs = op.outputs.size(), attributes = op.attributes.size();
      op.inputs = List<InputSpec>::of({input, inputs});
      op.outputs = List<OutputSpec>::of({output, outputs});
      op.attributes = List<AttributeSpec>::of({attribute, attributes});
      input += inputs, output += outputs, attribute += attributes;
    }
    return array_of<kCount>(list);
  }()};
  return kOperators.table;
}

}  // namespace minnow
