// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, and grouped ones whose groups are not whole vectors of channels, on the packed layout.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/window.h"

namespace minnow::cpu {

class DepthwiseConv {
 public:
  struct Options {
    size_t threads = 1;
    size_t l1 = 32 << 10, l2 = 1 << 20;  // bytes
    std::optional<Slices> slices = {};   // the 3-D tensors of which x, y and the weights are slices, if any
  };
  struct Arguments {
    const float* x;     // packed
    const float* w;     // as pack_weights wrote them
    const float* bias;  // one of every channel in whole vectors, or null
    const float* add;   // packed like y, or null
    float* y;           // packed
  };

  DepthwiseConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return vectors_ * channels_ * shape_.taps() * lanes_; }
  /// From [out channel][in channel of the group][kernel_h][kernel_w].
  void pack_weights(const float* oihw, float* out) const noexcept {
    for (size_t panel = 0; panel < panels(); ++panel) pack_panel(panel, oihw, out);
  }
  /// All of it in parts that may be packed at the same time.
  size_t panels() const noexcept { return vectors_; }
  void pack_panel(size_t panel, const float* oihw, float* out) const noexcept;
  size_t bias_floats() const noexcept { return vectors_ * lanes_; }
  void pack_bias(const float* bias, float* out) const noexcept;

  size_t units() const noexcept { return shape_.batch * vectors_ * blocks_; }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  void run(size_t unit, const Arguments& arguments, float* scratch) const noexcept;
  /// The image is read as it lies, without a window.
  bool is_direct() const noexcept { return direct_ != nullptr; }

  /// Whether images can be computed row by row (cut_rows), and whether then the input may be a ring.
  bool has_rows() const noexcept { return direct_ && slices_.in == shape_.in_h * shape_.in_w; }
  bool reads_ring() const noexcept { return true; }
  /// Orders units by the rows of an image, units_of_row() each. In images that are rings of rows, row r is stored as row r % input, or
  /// r % output, of an image of that height.
  void cut_rows(size_t input, size_t output) noexcept {
    blocks_ = shape_.out_h;
    rows_first_ = true;
    in_ring_ = std::min(input, shape_.in_h);
    y_ring_ = std::min(output, shape_.out_h);
    slices_ = {in_ring_ * shape_.in_w, y_ring_ * shape_.out_w, slices_.taps};
  }
  size_t units_of_row() const noexcept { return vectors_; }
  const ConvShape& shape() const noexcept { return shape_; }

 private:
  ConvShape shape_;
  Epilogue epilogue_;
  const DepthwiseKernels* kernels_;
  size_t lanes_;
  DirectDepthwiseFunction direct_ = nullptr;
  Slices slices_;              // the images themselves, if they are no slices
  size_t channels_, vectors_;  // input channels of a group; vectors of output channels
  size_t blocks_ = 1;
  bool rows_first_ = false;  // units are in the order of blocks of rows, not of vectors
  size_t in_ring_, y_ring_;  // rows of the images, or of the rings that they are
  Window window_;
  // How the lanes of input vectors map to those of each output vector, for each channel of the group; unused if they are the same.
  bool identity_;
  struct Source {
    size_t first, count;  // vectors of input channels that the lanes come from
  };
  std::vector<Source> sources_;        // by vector of outputs
  std::vector<size_t> order_offsets_;  // by vector of outputs: into orders_
  std::vector<int32_t> orders_;        // for every channel of the group: source[count][lanes], take[count][lanes]
  size_t most_sources_ = 1;
  size_t scratch_floats_ = 0;
  std::vector<ptrdiff_t> taps_[2];  // for the two heights of blocks
};

}  // namespace minnow::cpu
