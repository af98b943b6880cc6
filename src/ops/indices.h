// SPDX-License-Identifier: Apache-2.0
// Indices into tensors, as the Gather and the Scatter operators read them: data is input 0, indices are input 1.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// An index in [-dim, dim) as [0, dim); fails the run otherwise.
inline int64_t checked_index(const KernelArgs& args, int64_t index, int64_t dim) {
  if (index < -dim || index >= dim) args.fail("index {} is out of range for an axis of {}", index, dim);
  return index < 0 ? index + dim : index;
}

/// Calls body with a zero of the unsigned type that has an element's size: what moves elements looks at nothing else.
template <class F>
void with_bits(size_t size, F body) {
  if (size == 1) return body(uint8_t());
  if (size == 2) return body(uint16_t());
  if (size == 4) return body(uint32_t());
  body(uint64_t());
}

/// Throws InvalidModel where indices that stand for single elements do not lie within data along the axes other than `axis`.
void check_elementwise_indices(const NodeView& node, size_t axis);
/// For each element p of the indices the offset in data of p with its place along `axis` replaced.
Numbers<int64_t> elementwise_offsets(const KernelArgs& args, size_t axis);
/// For each tuple along the last axis of the indices the offset in data of the slice that it names, behind `batch` common axes.
Numbers<int64_t> tuple_offsets(const KernelArgs& args, size_t batch);

}  // namespace minnow
