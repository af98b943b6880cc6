// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files of reductions.
#pragma once
#include <string>
#include <vector>

#include "numpy/numpy.h"

namespace minnow::numpy {

/// x as [outer, count, inner], reduced along the middle.
struct Block {
  int64_t outer = 1, count = 1, inner = 1;
};
inline Block block_of(const Shape& shape, int64_t first, int64_t last) {
  Block block;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    (axis < first ? block.outer : axis < last ? block.count : block.inner) *= shape[i];
  }
  return block;
}

/// The mean ("mean"), the sum of squared distances from it over count - ddof ("var") or the root of that ("std") along the middle of
/// `block`, of real elements, summed in f64. `result`: f32 or f64.
Tensor moment(const std::string& name, const Tensor& x, const Shape& shape, const Block& block, double ddof, DType result);
/// Sums of real elements along the middle of `block`, in f64; those of integers of up to 32 bits are exact.
std::vector<double> sums_of(const Tensor& x, const Block& block);
/// Whether all elements along the middle of `block` are not zero, or with `any` one of them; looks no further than needed.
Tensor any_all(bool any, const Tensor& x, const Shape& shape, const Block& block);

}  // namespace minnow::numpy
