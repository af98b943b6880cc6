// SPDX-License-Identifier: Apache-2.0
// Rules for Operator::infer_contents that several operators share: elements of shapes and what is computed from them, as sizes.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// Gives an output of known shape these elements.
void set_contents(ValueInfo& output, const std::vector<Size>& elements);
#if MINNOW_SMALL  // no sizes but numbers
inline constexpr std::nullptr_t move_contents = nullptr;
template <Size (*kFunction)(std::span<const Size>)>
inline constexpr std::nullptr_t map_contents = nullptr;
template <Size (*kFunction)(Size, Size)>
inline constexpr std::nullptr_t reduce_contents = nullptr;
#else
/// For an operator that moves elements of input 0, and of inputs that its definition says are like it, to its outputs.
void move_contents(const NodeView& node, std::span<ValueInfo> outputs);
/// For an elementwise operator: `function` gives an element from those of the inputs at its place.
void map_contents(const NodeView& node, std::span<ValueInfo> outputs, Size (*function)(std::span<const Size>));
template <Size (*kFunction)(std::span<const Size>)>
void map_contents(const NodeView& node, std::span<ValueInfo> outputs) {
  map_contents(node, outputs, kFunction);
}
/// For an operator with one output that holds one element: `function` gives it from all elements of input 0.
void reduce_contents(const NodeView& node, std::span<ValueInfo> outputs, Size (*function)(Size, Size));
template <Size (*kFunction)(Size, Size)>
void reduce_contents(const NodeView& node, std::span<ValueInfo> outputs) {
  reduce_contents(node, outputs, kFunction);
}
#endif
/// Whether a value is an integer tensor whose elements may be followed.
bool may_hold_sizes(const ValueInfo& info);

}  // namespace minnow
