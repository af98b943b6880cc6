// SPDX-License-Identifier: Apache-2.0
#include "graph/node_view.h"

#include "base/numeric.h"

namespace minnow {

void NodeView::fail_with(std::string_view pattern, std::span<const FormatArg> args) const {
  throw InvalidModel("{}: {}", where(), format_args(pattern, args));
}
void NodeView::needs_contents(size_t input) { throw NeedsContents{input}; }

Ints NodeView::ints(size_t i) const {
  const Tensor& tensor = contents(i);
  if (is_float(tensor.dtype())) fail("input {} (\"{}\") should hold integers, it is {}", i, input_name(i), tensor.dtype());
  Ints values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

std::vector<double> NodeView::reals(size_t i) const {
  const Tensor& tensor = contents(i);
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

int64_t NodeView::int_scalar(size_t i) const {
  const Ints values = ints(i);
  if (values.size() != 1) fail("input {} (\"{}\") should hold one element, it holds {}", i, input_name(i), values.size());
  return values[0];
}

double NodeView::real_scalar(size_t i) const {
  const std::vector<double> values = reals(i);
  if (values.size() != 1) fail("input {} (\"{}\") should hold one element, it holds {}", i, input_name(i), values.size());
  return values[0];
}

int64_t NodeView::number(std::string_view name, int64_t fallback) const {
  const int64_t* value = find<int64_t>(name);
  return value ? *value : fallback;
}

float NodeView::attribute(const Attribute<float>& a) const {
  const float* value = find<float>(a.name);
  return value ? *value : a.fallback;
}

std::string_view NodeView::attribute(const Attribute<std::string_view>& a) const {
  const std::string* value = find<std::string>(a.name);
  return value ? std::string_view(*value) : a.fallback;
}

size_t NodeView::normalize_axis(int64_t axis, size_t rank, std::string_view what) const {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) fail("{} {} is out of range for rank {}", what, axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

Shape broadcast_shapes(const NodeView& node, std::span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  Shape result = Shape::filled(rank, 1);
  for (const Shape& shape : shapes)
    for (size_t i = 0; i < shape.rank(); ++i) {
      int64_t& dim = result[rank - shape.rank() + i];
      if (dim == 1)
        dim = shape[i];
      else if (shape[i] != 1 && shape[i] != dim)
        node.fail("shapes {} cannot be broadcast together", format("{}", std::vector<Shape>(shapes.begin(), shapes.end())));
    }
  return result;
}

Shape broadcast_inputs(const NodeView& node) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i)) shapes.push_back(node.input_shape(i));
  return broadcast_shapes(node, shapes);
}

}  // namespace minnow
