// SPDX-License-Identifier: Apache-2.0
// Products of row-major matrices: y[m, n] = after(clamp(a[m, k] b[k, n] + bias[n] + add[m, n])).
#pragma once
#include <algorithm>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "base/saturating.h"

namespace minnow::cpu {

class MatMul {
 public:
  struct Shape {
    size_t m, k, n;
    bool transpose_a = false, transpose_b = false;  // stored as [k, m], [n, k]
  };
  struct Options {
    size_t threads = 1;
    size_t l2 = 1 << 20;  // bytes
    const LowPrecisionKernels* low_precision =
        nullptr;  // factors are rounded to 16 bits; a is not transposed, b as low_precision_weights makes them along k
    // The depth of a slice of k, if b is read for several blocks of rows: a panel of b and a block of a then fit L2 (4096x4096x4096: 1.9 s
    // -> 1.2 s). Deeper slices gain nothing, shallower ones access y more often. SIZE_MAX: all of k, for a b that pack_b() has not packed.
    size_t depth = 1024;
    // Not 0: b is not packed by pack_b() but made panel by panel, by Arguments::make_b, in slices that begin at multiples of this.
    size_t made_step = 0;
  };
  /// Makes `count` rows of a panel of b, from row `begin` on: to[row][lanes of the panel], which has room for a multiple of made_step.
  struct MakeB {
    void (*make)(const void* from, size_t panel, size_t begin, size_t count, float* to) noexcept;
    const void* from;
  };
  struct Arguments {
    const float* a;
    const float* b;     // as pack_b wrote it
    const float* bias;  // as pack_bias wrote it, or null
    const float* add;   // like y, or null
    float* y;
    std::atomic<bool>* overflowed = nullptr;  // see Tile
    MakeB make_b = {};                        // in place of b
    bool goes_on = false;                     // sums begin with y, in place of the bias
  };
  MatMul(const Kernels& kernels, const Shape& shape, const Options& options, const Epilogue& epilogue);

  /// The number of slices of b along k. It follows from the number of rows and determines the result of pack_b().
  size_t slices() const noexcept { return slices_; }
  size_t packed_b_floats() const noexcept { return product_of({vectors_, lanes_, shape_.k}); }
  /// The whole of b is `panels()` panels, which may be packed at the same time. Every element is multiplied by `factor`.
  size_t panels() const noexcept;
  void pack_b(size_t panel, const float* b, float factor, float* out) const noexcept;
  /// `k` rows of a panel alone, from row `begin` on, as make_b has to make them.
  void pack_b(size_t panel, size_t begin, size_t k, const float* b, float factor, float* out) const noexcept;
  size_t bias_floats() const noexcept { return vectors_ * lanes_; }
  void pack_bias(const float* bias, float factor, float* out) const noexcept;

  size_t units() const noexcept { return blocks_ * chunks_; }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// `before`: the unit of the same product that ran in this scratch before, if any.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

 private:
  void pack_a(size_t first, size_t rows, const float* a, float* out) const noexcept;
  // Where a slice of k begins; slices_ is the end.
  size_t slice_begin(size_t slice) const noexcept { return std::min(shape_.k, share(ceil_div(shape_.k, step()), slices_, slice) * step()); }
  Shape shape_;  // in low precision, k counts pairs
  const LowPrecisionKernels* low_precision_;
  const TileKernels* tile_;
  size_t a_columns_;
  Epilogue epilogue_;
  const Kernels* kernels_;
  size_t lanes_, vectors_;
  size_t blocks_ = 1, chunks_ = 1;                                 // of rows; of panels
  size_t slices_ = 1;                                              // of k, multiplied one after another
  size_t step_;                                                    // Options::made_step
  size_t made_ = 0;                                                // floats of scratch before those of a, for a panel that is made
  size_t step() const noexcept { return step_ ? step_ : lanes_; }  // slices begin at multiples of it
  size_t scratch_floats_;
};

}  // namespace minnow::cpu
