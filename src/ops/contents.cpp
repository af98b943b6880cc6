// SPDX-License-Identifier: Apache-2.0
#include "ops/contents.h"

#include <algorithm>

#include "base/numeric.h"
#include "ops/evaluate.h"

namespace minnow {

constexpr DTypes kFollowed = kIndex | kBool;

bool may_hold_sizes(const ValueInfo& info) {
  return info.kind == ValueInfo::Kind::tensor && info.extent == ValueInfo::Extent::exact && contains(kFollowed, info.dtype) &&
         info.shape.elements() <= kMostSizes;
}

void set_contents(ValueInfo& output, const std::vector<Size>& elements) {
  MINNOW_CHECK(static_cast<int64_t>(elements.size()) == output.shape.elements(), "contents have an element for each place");
  if (!std::all_of(elements.begin(), elements.end(), [](Size element) { return element.is_number(); })) {
    output.symbolic = std::make_shared<SymbolicValue>(SymbolicValue{output.shape, elements, true});
    return;
  }
  Ints numbers;
  for (const Size element : elements) numbers.push_back(element.number());
  output.contents = Tensor(output.dtype, output.shape);
  narrow(output.dtype, numbers.data(), numbers.size(), output.contents.writable().data());
}

#if !MINNOW_SMALL

namespace {

/// Elements move as numbers of their own: 0 stands for 0, which is what operators fill with.
class Places {
 public:
  Tensor write(const ValueInfo& info, const std::vector<Size>& elements) {
    Ints places;
    for (const Size element : elements) {
      places.push_back(element.is(0) ? 0 : static_cast<int64_t>(elements_.size()));
      if (!element.is(0)) elements_.push_back(element);
    }
    return Tensor::of_i64(info.shape, places);
  }
  std::vector<Size> read(const Tensor& tensor) const {
    std::vector<Size> elements;
    const int64_t* places = tensor.data<int64_t>();
    for (int64_t i = 0; i < tensor.elements(); ++i) elements.push_back(elements_[static_cast<size_t>(places[i])]);
    return elements;
  }

 private:
  std::vector<Size> elements_{Size(0)};
};

bool is_like_first(const Operator& op, size_t i) {
  const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
  return &spec == &op.inputs[0] || spec.like == op.inputs[0].name;
}

}  // namespace

void move_contents(const NodeView& node, std::span<ValueInfo> outputs) {
  const Operator& op = *node.definition();
  Places places;
  std::vector<Datum> given;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) {
      given.emplace_back();
    } else if (!is_like_first(op, i)) {
      given.emplace_back(node.contents(i));
    } else {
      if (!may_hold_sizes(node.input(i))) return;
      given.emplace_back(places.write(node.input(i), node.sizes(i)));
    }
  }
  const std::vector<Datum> moved = evaluate(OperatorSet::builtin(), node.node(), given);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.has_output(i) && may_hold_sizes(outputs[i])) set_contents(outputs[i], places.read(moved[i].tensor));
}

void map_contents(const NodeView& node, std::span<ValueInfo> outputs, Size (*function)(std::span<const Size>)) {
  const size_t count = static_cast<size_t>(outputs[0].shape.elements());
  std::vector<std::vector<Size>> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i) || !may_hold_sizes(node.input(i))) return;
    inputs.push_back(node.sizes(i));
    if (inputs.back().size() != count && inputs.back().size() != 1) return;  // broadcast along some axes
  }
  std::vector<Size> elements;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Size> arguments;
    for (const std::vector<Size>& input : inputs) arguments.push_back(input[input.size() == 1 ? 0 : i]);
    elements.push_back(function(arguments));
  }
  set_contents(outputs[0], elements);
}

void reduce_contents(const NodeView& node, std::span<ValueInfo> outputs, Size (*function)(Size, Size)) {
  if (!may_hold_sizes(node.input(0)) || outputs[0].shape.elements() != 1) return;
  const std::vector<Size> elements = node.sizes(0);
  if (elements.empty()) return;
  Size result = elements[0];
  for (size_t i = 1; i < elements.size(); ++i) result = function(result, elements[i]);
  set_contents(outputs[0], {result});
}

#endif

}  // namespace minnow
