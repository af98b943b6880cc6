// SPDX-License-Identifier: Apache-2.0
// Kernels that can compute an image by bands of rows, so that neither their input nor their output has to be whole.
#pragma once
#include "backends/backend.h"

namespace minnow {

/// A kernel whose output 0 is an image made row by row from rows of the image that is input 0, f32, and of constants. The planner asks for
/// that once the kernel is prepared; after cut_rows it is never run whole.
class BandKernel : public Kernel {
 public:
  /// Output row r is computed from the input's rows [r * stride - pad, r * stride - pad + extent), as far as there are such.
  struct Reading {
    bool by_rows;    // else it can only be run whole
    bool from_ring;  // the input may be a ring of rows
    size_t stride, extent, pad;
  };
  virtual Reading reading() const noexcept = 0;
  /// Gets ready for run_rows. `input`, `output`: for how many rows there is memory, row r being at the place of row r % input, or
  /// r % output; SIZE_MAX: for all.
  virtual void cut_rows(size_t input, size_t output) = 0;
  /// Computes the rows [first, end) of one image. `add` (null: nothing is added) is a whole image; `context` has the scratch and the
  /// threads.
  virtual void run_rows(RunContext& context, const float* x, const float* add, float* y, size_t first, size_t end) noexcept = 0;
};

}  // namespace minnow
