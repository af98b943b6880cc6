// SPDX-License-Identifier: Apache-2.0
#include "ops/indices.h"

namespace minnow {

void check_elementwise_indices(const NodeView& node, size_t axis) {
  const Shape &data = node.input_shape(0), &indices = node.input_shape(1);
  bool fits = data.rank() == indices.rank();
  for (size_t i = 0; fits && i < data.rank(); ++i) fits = i == axis || indices[i] <= data[i];
  if (!fits) node.fail("indices of shape {} do not lie within data of shape {} along the axes other than {}", indices, data, axis);
}

Numbers<int64_t> elementwise_offsets(const KernelArgs& args, size_t axis) {
  const Shape &data = args.input(0).shape(), &indices = args.input(1).shape();
  Numbers<int64_t> offsets = args.ints(1);
  Ints strides = row_major_strides(data);
  const int64_t dim = data[axis], stride = strides[axis];
  strides[axis] = 0;
  size_t k = 0;
  for_each_index(indices, [&](std::span<const int64_t> place) {
    int64_t offset = checked_index(args, offsets[k], dim) * stride;
    for (size_t i = 0; i < place.size(); ++i) offset += place[i] * strides[i];
    offsets[k++] = offset;
  });
  return offsets;
}

Numbers<int64_t> tuple_offsets(const KernelArgs& args, size_t batch) {
  const Shape &data = args.input(0).shape(), &indices = args.input(1).shape();
  const Numbers<int64_t> tuples = args.ints(1);
  const Ints strides = row_major_strides(data);
  const size_t depth = static_cast<size_t>(indices.back());
  // A tuple of no indices names the whole: the number of tuples comes from the shape alone.
  const int64_t count = indices.product(0, indices.rank() - 1), batches = indices.product(0, batch),
                batch_stride = data.product(batch, data.rank());
  Numbers<int64_t> offsets(static_cast<size_t>(count));
  const int64_t per_batch = batches ? count / batches : 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t offset = k / per_batch * batch_stride;
    for (size_t i = 0; i < depth; ++i)
      offset += checked_index(args, tuples[static_cast<size_t>(k) * depth + i], data[batch + i]) * strides[batch + i];
    offsets[static_cast<size_t>(k)] = offset;
  }
  return offsets;
}

}  // namespace minnow
