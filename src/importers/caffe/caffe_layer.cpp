// SPDX-License-Identifier: Apache-2.0
#include "importers/caffe/caffe_layer.h"

#include "base/saturating.h"

namespace minnow::caffe {

Expr CaffeLayer::bottom(size_t i) const {
  if (i >= bottoms.size()) fail("bottom {} is missing", i);
  return bottoms[i];
}

const Blob& CaffeLayer::blob(size_t i) const {
  if (i >= blob_count()) {
    if (blob_count() == 0) fail("has no weights in the caffemodel");
    fail("should have {} blobs of weights, the caffemodel has {}", i + 1, blob_count());
  }
  return (*blobs_)[i];
}

Expr CaffeLayer::weights(size_t i, Ints shape) const {
  const Blob& from = blob(i);
  int64_t known = 1;
  for (int64_t size : shape) known = clamped_product({known, size < 0 ? 1 : size});
  const int64_t count = static_cast<int64_t>(from.values.size());
  for (int64_t& size : shape)
    if (size < 0) size = known ? count / known : 0;
  if (Shape(shape).elements() != count)
    fail("blob {} should have shape {}, the caffemodel has one of shape {} with {} numbers", i, shape, from.shape, count);
  return p.constant(Tensor::of_f32(Shape(shape), from.values));
}

int64_t CaffeLayer::rank() const {
  const int64_t count = p.rank(bottom());
  if (count < 0) refuse("a blob of unknown rank is not supported");
  return count;
}
int64_t CaffeLayer::size(const Expr& x, int64_t axis) const {
  const int64_t dim = p.dim(x, axis);
  if (dim < 0) refuse("dimension {} of its input is not known", axis);
  return dim;
}
Expr CaffeLayer::along(const Expr& x, int64_t axis) const {
  Ints axes;
  for (int64_t i = axis + p.rank(x); i < rank(); ++i) axes.push_back(i - axis);
  if (x.value()->constant()) {
    Ints shape = *p.shape(x);
    shape.resize(shape.size() + axes.size(), 1);
    return p.reshape(x, shape);
  }
  return p.unsqueeze(x, axes);
}

}  // namespace minnow::caffe
