// SPDX-License-Identifier: Apache-2.0
// Row tiling: kernels that follow one another compute an image a few rows at a time, so that the images between them are never whole.
#pragma once
#include <memory>
#include <span>

#include "backends/backend.h"

namespace minnow {

/// A kernel that computes its output 0, an f32 image, row by row. It reads rows of input 0, also an f32 image, and constants. After
/// cut_rows the kernel is run by run_rows alone.
class RowKernel : public Kernel {
 public:
  /// Output row r is computed from the input's rows [r * stride - pad, r * stride - pad + extent), as far as these exist.
  struct Reading {
    bool by_rows;    // else the kernel computes whole images only
    bool from_ring;  // the input may be a ring of rows
    size_t stride, extent, pad;
  };
  RowKernel* by_rows() noexcept final { return this; }
  virtual Reading reading() const noexcept = 0;
  /// Prepares for run_rows(). `input` and `output`: the numbers of rows in memory. Row r is stored as row r % input, or r % output, of an
  /// image. SIZE_MAX: the whole image is in memory.
  virtual void cut_rows(size_t input, size_t output) = 0;
  /// Computes the rows [first, end) of one image. `add` (null: nothing is added) is a whole image; `context` has the scratch and the
  /// threads.
  virtual void run_rows(RunContext& context, const float* x, const float* add, float* y, size_t first, size_t end) const noexcept = 0;
};

/// A kernel of a chain, and the size of the image that it makes.
struct RowStage {
  RowKernel* kernel;
  size_t height;   // rows of its output
  size_t image;    // bytes of its output, of one image
  size_t weights;  // bytes
};

/// Smaller images stay in the caches whole, and are not tiled.
size_t least_tiled_bytes(const Device& device);

/// Whether the rows and weights that this chain of kernels has in use at a time fit into the caches, and whether it keeps at most half of
/// every image between two kernels.
bool fits_row_tiling(std::span<const RowStage> stages, const Device& device);

/// How a chain is run: its kernel, and the scratch that this needs.
struct RowTiling {
  std::unique_ptr<Kernel> kernel;
  size_t scratch_bytes;
};

/// The input of every kernel of the chain.
struct RowTilingInputs {
  size_t images;         // of the batch
  size_t input_bytes;    // of the first kernel's input, all images
  size_t scratch_bytes;  // that each kernel needs for itself
  bool add;              // the last kernel adds input 1
};

/// The kernel that runs a chain which fits_row_tiling accepted. Its input 0 is the first kernel's, its output 0 the last one's. The
/// stages' kernels must outlive it.
RowTiling make_row_tiling(std::span<const RowStage> stages, const Device& device, const RowTilingInputs& inputs);

}  // namespace minnow
