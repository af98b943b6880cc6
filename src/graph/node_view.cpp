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

Sizes NodeView::input_sizes(size_t i) const {
  const ValueInfo& info = input(i);
  if (info.extent == ValueInfo::Extent::exact) [[likely]]
    return info.shape;
  if (info.extent != ValueInfo::Extent::symbolic) needs_contents(i);
  return info.symbolic->shape;
}

std::optional<Sizes> NodeView::known_sizes(size_t i) const {
  if (!has_input(i) || (symbolic_ && !has_sizes(i))) return {};
  return input_sizes(i);
}

bool NodeView::knows_shape(size_t i) const {
  if (!has_input(i)) return false;
  if (!symbolic_) input_shape(i);
  return inputs_[i]->extent == ValueInfo::Extent::exact;
}

bool NodeView::has_sizes(size_t i) const noexcept {
  return has_input(i) && (inputs_[i]->extent == ValueInfo::Extent::exact || inputs_[i]->extent == ValueInfo::Extent::symbolic);
}

bool NodeView::knows_contents(size_t i) const {
  if (!is_constant(i) && !symbolic_) needs_contents(i);
  return is_constant(i);
}

bool NodeView::may_hold_one(size_t i) const {
  const std::optional<Sizes> sizes = known_sizes(i);
  return !sizes || !differ(sizes->elements(), 1);
}

std::vector<Size> NodeView::sizes(size_t i) const {
  if (!symbolic_ || is_constant(i)) {
    const Ints values = ints(i);
    return {values.begin(), values.end()};
  }
  const ValueInfo& info = input(i);
  if (info.symbolic && info.symbolic->has_contents) return info.symbolic->contents;
  const Size count = input_sizes(i).elements();
  if (!count.is_number() || count.number() > kMostSizes) needs_contents(i);
  return std::vector<Size>(static_cast<size_t>(count.number()), Size::unknown());
}

Size NodeView::size_scalar(size_t i) const {
  const std::vector<Size> values = sizes(i);
  if (values.size() != 1) fail("input {} (\"{}\") should hold one element, it holds {}", i, input_name(i), values.size());
  return values[0];
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

std::string_view NodeView::attribute(const Attribute<Name>& a) const {
  const std::string* value = find<std::string>(a.name);
  return value ? std::string_view(*value) : a.fallback;
}

size_t NodeView::normalize_axis(int64_t axis, size_t rank, std::string_view what) const {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) fail("{} {} is out of range for rank {}", what, axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

namespace {

// Makes `result` what it is broadcast to together with `shape`; false where they do not fit.
bool broadcast(Sizes& result, const Sizes& shape) {
  while (result.rank() < shape.rank()) result.insert(0, 1);
  const size_t more = result.rank() - shape.rank();
  for (size_t i = 0; i < shape.rank(); ++i) {
    Size& dim = result[more + i];
    const Size other = shape[i];
    if (other.is(1) || equal(dim, other)) continue;
    if (dim.is(1)) {
      dim = other;
    } else if (other.is_number()) {
      if (dim.is_number()) return false;
      dim = other;
    } else if (!dim.is_number()) {
      dim = Size::unknown();
    }
  }
  return true;
}

[[noreturn]] void fail_broadcast(const NodeView& node, std::span<const Sizes> shapes) {
  node.fail("shapes {} cannot be broadcast together", shapes);
}

}  // namespace

Sizes broadcast_sizes(const NodeView& node, std::span<const Sizes> shapes) {
  Sizes result;
  for (const Sizes& shape : shapes)
    if (!broadcast(result, shape)) fail_broadcast(node, shapes);
  return result;
}

Shape broadcast_shapes(const NodeView& node, std::span<const Shape> shapes) {
  const std::vector<Sizes> sizes(shapes.begin(), shapes.end());
  return broadcast_sizes(node, sizes).shape();
}

Sizes broadcast_inputs(const NodeView& node) {
  Sizes result;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i) || broadcast(result, node.input_sizes(i))) continue;
    std::vector<Sizes> shapes;
    for (size_t k = 0; k < node.input_count(); ++k)
      if (node.has_input(k)) shapes.push_back(node.input_sizes(k));
    fail_broadcast(node, shapes);
  }
  return result;
}

OutputShape::OutputShape(const Sizes& exact) : shape(exact) {}
OutputShape::OutputShape(const Shape& exact) : shape(exact) {}
OutputShape::OutputShape(std::initializer_list<Size> exact) : shape(exact) {}
OutputShape::OutputShape(const OutputShape& other) = default;
OutputShape& OutputShape::operator=(const OutputShape& other) = default;

Sizes ValueInfo::sizes() const { return extent == Extent::symbolic ? symbolic->shape : Sizes(shape); }
ValueInfo::ValueInfo(const ValueInfo& other) = default;
ValueInfo::ValueInfo(ValueInfo&& other) noexcept = default;
ValueInfo& ValueInfo::operator=(const ValueInfo& other) = default;
ValueInfo& ValueInfo::operator=(ValueInfo&& other) noexcept = default;
ValueInfo::~ValueInfo() = default;

void ValueInfo::set_sizes(const Sizes& sizes) {
  kind = Kind::tensor;
  contents = {};
  symbolic = nullptr;
  extent = sizes.is_static() ? Extent::exact : Extent::symbolic;
  if (extent == Extent::exact)
    shape = sizes.shape();
  else
    symbolic = std::make_shared<SymbolicValue>(SymbolicValue{sizes, {}, false});
}

}  // namespace minnow
