// SPDX-License-Identifier: Apache-2.0
// Indices into broadcast or strided inputs, from the index into the output. Neighbouring axes that all inputs step through alike become
// one.
#pragma once
#include <string>
#include <vector>

#include "backends/gpu/launches.h"

namespace minnow::gpu {

class Broadcast {
 public:
  /// `prefix` begins the names of its variables, `variable` is the index into the output.
  explicit Broadcast(const Shape& output, std::string prefix = "", std::string variable = "i")
      : dims_(output.dims().begin(), output.dims().end()), prefix_(std::move(prefix)), variable_(std::move(variable)) {}
  /// Over any number of axes.
  explicit Broadcast(std::span<const int64_t> dims, std::string prefix = "", std::string variable = "i")
      : dims_(dims.begin(), dims.end()), prefix_(std::move(prefix)), variable_(std::move(variable)) {}
  /// An input that NumPy's rule broadcasts to the output.
  void add(const Shape& shape) {
    Ints strides(dims_.size(), 0);
    int64_t step = 1;
    for (size_t k = 0; k < shape.rank(); ++k) {
      const size_t from = shape.rank() - 1 - k, to = dims_.size() - 1 - k;
      if (shape[from] != 1) strides[to] = step;
      step *= shape[from];
    }
    add(std::move(strides));
  }
  /// An input with a step for each axis of the output, and an offset, in elements.
  void add(Ints strides, int64_t offset = 0) {
    strides_.push_back(std::move(strides));
    offsets_.push_back(offset);
  }
  /// Call after the inputs, before the rest.
  void finish() {
    std::vector<size_t> kept;  // axes, merged ones under the last of them
    Ints dims;
    std::vector<Ints> strides(strides_.size());
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (dims_[axis] == 1) continue;
      bool merges = !dims.empty();
      for (size_t s = 0; merges && s < strides_.size(); ++s) merges = strides[s].back() == strides_[s][axis] * dims_[axis];
      if (merges) {
        dims.back() *= dims_[axis];
        for (size_t s = 0; s < strides_.size(); ++s) strides[s].back() = strides_[s][axis];
      } else {
        dims.push_back(dims_[axis]);
        for (size_t s = 0; s < strides_.size(); ++s) strides[s].push_back(strides_[s][axis]);
      }
    }
    dims_ = std::move(dims);
    strides_ = std::move(strides);
  }

  /// Further parameters of the kernel, beginning with a comma, and their arguments.
  std::string parameters() const {
    std::string text;
    if (is_plain()) return text;
    for (size_t axis = 1; axis < dims_.size(); ++axis) text += format(", const int {}d{}", prefix_, axis);
    for (size_t s = 0; s < strides_.size(); ++s) {
      if (offsets_[s]) text += format(", const int {}o{}", prefix_, s);
      for (size_t axis = 0; axis < dims_.size(); ++axis)
        if (strides_[s][axis] != 0 && strides_[s][axis] != 1) text += format(", const int {}s{}_{}", prefix_, s, axis);
    }
    return text;
  }
  void append_arguments(std::vector<Given>& given) const {
    if (is_plain()) return;
    for (size_t axis = 1; axis < dims_.size(); ++axis) given.emplace_back(dims_[axis]);
    for (size_t s = 0; s < strides_.size(); ++s) {
      if (offsets_[s]) given.emplace_back(offsets_[s]);
      for (size_t axis = 0; axis < dims_.size(); ++axis)
        if (strides_[s][axis] != 0 && strides_[s][axis] != 1) given.emplace_back(strides_[s][axis]);
    }
  }
  /// Statements that find the coordinates of output element i.
  std::string coordinates() const {
    if (is_plain() || dims_.empty()) return {};
    std::string text = format("  int {}rest = {};\n", prefix_, variable_);
    for (size_t axis = dims_.size() - 1; axis > 0; --axis)
      text += format("  const int {}c{} = {}rest % {}d{};\n  {}rest /= {}d{};\n", prefix_, axis, prefix_, prefix_, axis, prefix_, prefix_,
                     axis);
    return text + format("  const int {}c0 = {}rest;\n", prefix_, prefix_);
  }
  /// The index into input s, an expression.
  std::string index(size_t s) const {
    if (is_plain(s)) return variable_;
    std::string text = offsets_[s] && !is_plain() ? format("{}o{}", prefix_, s) : std::string("0");
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (strides_[s][axis] == 0) continue;
      text += strides_[s][axis] == 1 ? format(" + {}c{}", prefix_, axis) : format(" + {}c{} * {}s{}_{}", prefix_, axis, prefix_, s, axis);
    }
    return text;
  }

 private:
  // The input has the output's elements in their order.
  bool is_plain(size_t s) const {
    if (offsets_[s]) return false;
    return dims_.empty() ? false : dims_.size() == 1 && strides_[s][0] == 1;
  }
  // No coordinates are needed.
  bool is_plain() const {
    for (size_t s = 0; s < strides_.size(); ++s) {
      bool single = offsets_[s] == 0;
      for (const int64_t stride : strides_[s]) single = single && stride == 0;
      if (!is_plain(s) && !single) return false;
    }
    return true;
  }
  Ints dims_;
  std::vector<Ints> strides_;
  Ints offsets_;
  std::string prefix_, variable_;
};

}  // namespace minnow::gpu
