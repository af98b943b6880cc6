// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/elementwise_geometry.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

constexpr int64_t kLongRow = 128;  // from here on a block is a piece of one row, and numbers need not be spread over it

}  // namespace

// Neighbouring axes that are one run everywhere become one.
void ElementwiseGeometry::merge() {
  std::vector<int64_t> merged;
  std::vector<Ints> strides(sources.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis] == 1) continue;
    bool joins = !merged.empty();
    for (size_t s = 0; joins && s < sources.size(); ++s) joins = strides[s].back() == sources[s].strides[axis] * axes[axis];
    if (joins)
      merged.back() *= axes[axis];
    else
      merged.push_back(axes[axis]);
    for (size_t s = 0; s < sources.size(); ++s) {
      if (joins)
        strides[s].back() = sources[s].strides[axis];
      else
        strides[s].push_back(sources[s].strides[axis]);
    }
  }
  if (merged.empty()) {
    merged.push_back(1);
    for (Ints& each : strides) each.push_back(0);
  }
  axes = std::move(merged);
  for (size_t s = 0; s < sources.size(); ++s) sources[s].strides = std::move(strides[s]);
  row = axes.back();
  for (size_t i = 0; i + 1 < axes.size(); ++i) rows *= axes[i];
}

std::string ElementwiseGeometry::plain(const NodeView& node) {
  const Shape& y = node.output_shape(0);
  axes.assign(y.begin(), y.end());
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) continue;
    const Shape& shape = node.input_shape(i);
    if (shape.rank() > y.rank()) return format("input {} of shape {} has a higher rank than the output", i, shape);
    Source source;
    source.input = i;
    source.bytes = size_of(node.input_dtype(i)) == 1;
    source.strides.assign(y.rank(), 0);
    int64_t stride = 1;
    for (size_t k = shape.rank(); k-- > 0; stride *= shape[k])
      if (shape[k] != 1) source.strides[y.rank() - shape.rank() + k] = stride;
    sources.push_back(std::move(source));
  }
  merge();
  long_rows = rows == 1 || row >= kLongRow;
  for (Source& source : sources) {
    int64_t dense = row;
    bool whole = source.strides.back() == 1 || row == 1, number = source.strides.back() == 0;
    for (size_t i = axes.size() - 1; !long_rows && i-- > 0; dense *= axes[i]) {
      whole &= source.strides[i] == dense;
      number &= source.strides[i] == 0;
    }
    source.form = number ? ElementwiseForm::scalar : ElementwiseForm::full;
    source.spread = source.bytes || (!number && !whole);
    if (source.spread) source.form = ElementwiseForm::full;
  }
  return {};
}

std::string ElementwiseGeometry::packed(const NodeView& node, int64_t lanes) {
  const Shape& y = node.output_shape(0);
  const int64_t blocks = (y[1] + lanes - 1) / lanes;
  axes = {y[0], blocks, y.product(2, y.rank()) * lanes};
  bool any = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) continue;
    const Shape& shape = node.input_shape(i);
    const DType dtype = node.input_dtype(i);
    const bool bytes = shape == y && (dtype == DType::u8 || dtype == DType::i8);
    if (size_of(dtype) != 4 && !bytes) return format("input {} is {}, which has no packed layout", i, dtype);
    Source source;
    source.input = i;
    if (shape == y) {
      source.strides = {blocks * axes[2], axes[2], 1};
      source.bytes = source.spread = bytes;
      any = true;
    } else if (shape.elements() == 1) {
      source.form = ElementwiseForm::scalar;
      source.strides = {0, 0, 0};
    } else {
      // [C, 1, ..] where it is constant, or [1 or N, C, 1, ..]
      const bool image = shape.rank() == y.rank();
      if (!image && shape.rank() + 1 != y.rank()) return format("input {} of shape {} is not a value per channel", i, shape);
      bool per_channel = shape[image] == y[1];
      for (size_t k = image + size_t{1}; k < shape.rank(); ++k) per_channel &= shape[k] == 1;
      const bool one = !image || shape[0] == 1;
      if (!per_channel || (!node.is_constant(i) && !image)) return format("input {} of shape {} is not a value per channel", i, shape);
      source.form = ElementwiseForm::lanes;
      source.strides = {one ? 0 : blocks * lanes, lanes, 0};
      if (node.is_constant(i)) {
        if (!one) return format("constant input {} differs between images", i);
        source.channels.assign(static_cast<size_t>(blocks * lanes), 0);
        std::memcpy(source.channels.data(), node.contents(i).data(), node.contents(i).bytes());
      }
    }
    sources.push_back(std::move(source));
  }
  if (!any) return "no input has the shape of the output";
  if (std::none_of(sources.begin(), sources.end(), [](const Source& source) { return source.form == ElementwiseForm::lanes; })) {
    merge();
  } else {
    rows = axes[0] * axes[1];
    row = axes[2];
  }
  return {};
}

}  // namespace minnow::cpu
