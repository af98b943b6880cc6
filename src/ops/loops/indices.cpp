// SPDX-License-Identifier: Apache-2.0
#include "ops/indices.h"

namespace minnow {

void check_elementwise_indices(const NodeView& node, size_t axis) {
  const Sizes data = node.input_sizes(0);
  const auto indices = node.known_sizes(1);
  bool fits = !indices || data.rank() == indices->rank();
  for (size_t i = 0; indices && fits && i < data.rank(); ++i) fits = i == axis || !less(data[i], (*indices)[i]);
  if (!fits) node.fail("indices of shape {} do not lie within data of shape {} along the axes other than {}", *indices, data, axis);
}

Numbers<int64_t> elementwise_offsets(const KernelArgs& args, size_t axis) {
  const Shape &data = args.input(0).shape(), &indices = args.input(1).shape();
  const bool wide = args.input(1).dtype() == DType::i64;
  const int64_t* i64s = wide ? args.input(1).data<int64_t>() : nullptr;
  const int32_t* i32s = wide ? nullptr : args.input(1).data<int32_t>();
  Numbers<int64_t> offsets(static_cast<size_t>(indices.elements()));
  Ints strides = row_major_strides(data);
  const int64_t dim = data[axis], stride = strides[axis], length = indices.back();
  strides[axis] = 0;
  const int64_t step = strides.back();
  int64_t place = 0;
  for_each_index(Shape(indices.dims().first(indices.rank() - 1)), [&](std::span<const int64_t> index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    for (const int64_t end = place + length; place < end; ++place, at += step)
      offsets[static_cast<size_t>(place)] = checked_index(args, wide ? i64s[place] : i32s[place], dim) * stride + at;
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
  const int64_t* tuple = tuples.data();
  for (int64_t k = 0; k < count; ++k)
    for (size_t i = 0; i < depth; ++i)
      offsets[static_cast<size_t>(k)] += checked_index(args, *tuple++, data[batch + i]) * strides[batch + i];
  const int64_t per_batch = batches ? count / batches : 0;
  for (int64_t b = 1; b < batches; ++b)
    for (int64_t k = b * per_batch; k < (b + 1) * per_batch; ++k) offsets[static_cast<size_t>(k)] += b * batch_stride;
  return offsets;
}

}  // namespace minnow
