// SPDX-License-Identifier: Apache-2.0
// The rules behind infer_dims: what each operator makes of dimensions that are formulas.
#pragma once
#include <algorithm>
#include <vector>

#include "passes/infer_dims.h"
#include "passes/rewrite.h"

namespace minnow {

class DimRules {
 public:
  DimRules(const OperatorSet& operators, SizeTable& table, Node& node) : operators_(operators), table_(table), node_(node) {}

  /// Sets the dimensions of the node's outputs.
  void run();

 private:
  using Unsure = std::vector<std::optional<Size>>;  // sizes, where they are known

  // Where all shapes are fixed the operator itself knows best.
  bool exact(const Operator& op);
  std::optional<Unsure> rule(const Operator* op, size_t output);

  std::optional<Sizes> in(size_t i) const { return sizes_of(node_.input(i), table_); }
  int64_t integer(std::string_view name, int64_t fallback) const { return int_attribute(node_, name, fallback); }
  static Unsure sure(const Sizes& sizes) { return Unsure(sizes.begin(), sizes.end()); }
  static std::optional<Unsure> maybe(const std::optional<Sizes>& sizes) { return sizes ? std::optional(sure(*sizes)) : std::nullopt; }
  static Unsure unknown(size_t rank) { return Unsure(rank); }
  bool is_op(std::initializer_list<std::string_view> list) const { return std::find(list.begin(), list.end(), node_.op()) != list.end(); }

  std::optional<Unsure> broadcast(size_t first, size_t last);
  // What both branches of an If agree on.
  std::optional<Unsure> branches(size_t output);
  // Sequences: the dimensions of their tensors, and what is taken from them.
  void set_elements();
  std::optional<Unsure> element_of(const Value* sequence);
  std::optional<Unsure> from_sequence();

  // infer_dims_layers.cpp: operators that compute.
  // What windows make of the dimensions from 2 on.
  std::optional<Size> windows(const Size& input, size_t axis, size_t spatial, int64_t kernel, bool ceil);
  std::optional<Unsure> conv(size_t x_at, size_t w_at);
  std::optional<Unsure> conv_transpose();
  std::optional<Unsure> pool();
  std::optional<Unsure> global_pool();
  std::optional<Unsure> matmul(size_t a_at, size_t b_at);
  std::optional<Unsure> einsum();
  std::optional<Unsure> attention();
  std::optional<Unsure> dft();
  std::optional<Unsure> stft();
  std::optional<Unsure> roi_align();
  std::optional<Unsure> resize();
  std::optional<Unsure> reduce(size_t axes_at);
  std::optional<Unsure> argmax();
  Unsure without(const Sizes& x, const std::vector<bool>& reduced) const;
  std::optional<Unsure> top_k();
  std::optional<Unsure> recurrent(size_t output);
  std::optional<Unsure> space();

  // infer_dims_movement.cpp: operators that move elements.
  std::optional<Unsure> transpose();
  std::optional<Unsure> concat();
  std::optional<Unsure> split(size_t output);
  std::optional<Unsure> channel_shuffle(size_t output);
  std::optional<Unsure> reshape();
  std::optional<Unsure> flatten();
  // The axes of input `i`, as a set; nothing where they are not known.
  std::optional<std::vector<bool>> axes(size_t i, size_t rank) const;
  std::optional<Unsure> squeeze();
  std::optional<Unsure> unsqueeze();
  std::optional<Unsure> expand();
  std::optional<Unsure> tile();
  std::optional<Unsure> gather();
  std::optional<Unsure> slice();
  static std::optional<Size> sliced(const Size& size, int64_t start, int64_t end, int64_t step);
  std::optional<Unsure> pad();
  std::optional<Unsure> compress();
  std::optional<Unsure> col2im();
  std::optional<Unsure> gather_nd();
  std::optional<Unsure> constant_of_shape();
  std::optional<Unsure> shape_length();

  const OperatorSet& operators_;
  SizeTable& table_;
  Node& node_;
};

}  // namespace minnow
