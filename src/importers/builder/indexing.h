// SPDX-License-Identifier: Apache-2.0
// Parts of tensors by index: slices, splits, padding, gathering and scattering as TensorFlow, TFLite and MNN define them.
#pragma once
#include "importers/builder/typed_builder.h"

namespace minnow {

/// Bit i speaks of entry i of a strided slice.
struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

/// How rows of one segment are joined.
enum class SegmentJoin : uint8_t { sum, product, largest, smallest };

/// TensorFlow's gather with leading dimensions in common.
Expr gather_batched(TypedBuilder& p, const Expr& x, const Expr& indices, int64_t axis, int64_t batch_dims);
/// begin, end and strides are vectors. Throws Unsupported (a sentence without a place) if the result depends on unknown values.
Expr strided_slice(TypedBuilder& p, const Expr& x, const Expr& begin, const Expr& end, const Ints& strides, const SliceMasks& masks);
/// From `begin`, so many elements of each dimension (vectors); a negative size goes to the end.
Expr slice_sizes(TypedBuilder& p, const Expr& x, const Expr& begin, const Expr& size);
/// Slices of the given sizes along an axis; at most one may be negative and takes the rest. Throws Unsupported (a sentence without a place)
/// if the rest is not known.
Exprs split_sizes(TypedBuilder& p, const Expr& x, Ints sizes, int64_t axis);
Expr pad(TypedBuilder& p, const Expr& x, const Expr& paddings, const Expr& value,
         std::string_view mode = "constant");                              // paddings: [rank, 2]
Expr pad_symmetric(TypedBuilder& p, const Expr& x, const Ints& paddings);  // mirrored with the edge; [rank, 2] in row-major order
Expr one_hot(TypedBuilder& p, const Expr& indices, const Expr& depth, const Expr& on, const Expr& off, int64_t axis);
/// A transpose whose permutation is a vector of known length that a run computes: elements are gathered one by one.
Expr transpose_by(TypedBuilder& p, const Expr& x, const Expr& perm);
Expr reverse(TypedBuilder& p, const Expr& x, const Ints& axes);
/// Rows of `x` with equal ids are joined; rows with negative ids are left out. `count`: i64 of one element.
Expr segment(TypedBuilder& p, const Expr& x, const Expr& ids, const Expr& count, SegmentJoin join);
Expr scatter_nd(TypedBuilder& p, const Expr& indices, const Expr& updates, const Expr& shape);  // sums updates of equal indices
Expr dynamic_update_slice(TypedBuilder& p, const Expr& x, const Expr& update, const Expr& start);

}  // namespace minnow
