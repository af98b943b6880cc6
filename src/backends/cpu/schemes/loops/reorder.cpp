// SPDX-License-Identifier: Apache-2.0
// Changes of layout: [n][c][pixels] to [n][c / pack][pixels][pack] and back, as transpositions of pack x pixels.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.pack == 1 || node.input_shape(0).rank() < 2) return declined("there is no packed layout");
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::u8 && dtype != DType::i8) return declined("the dtype is {}", dtype);
  const bool to_packed = node.require<std::string>("to") == "packed";
  const double bytes = static_cast<double>(device.bytes(dtype, node.input_shape(0), Layout::packed));
  // Bytes take as many instructions as floats, or nearly.
  Estimate estimate((size_of(dtype) == 1 ? 6 : 2) * device.byte_time(2 * bytes) + 2e-7);
  (to_packed ? estimate.packed_outputs : estimate.packed_inputs) = 1;
  return estimate;
}

class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(const PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->layout),
        to_packed_(context.output_layout(0) == Layout::packed),
        bytes_(size_of(context.node().input_dtype(0)) == 1),
        pack_(static_cast<size_t>(context.device().pack)) {
    const Shape& shape = context.node().input_shape(0);
    images_ = static_cast<size_t>(shape[0]);
    channels_ = static_cast<size_t>(shape[1]);
    pixels_ = static_cast<size_t>(shape.product(2, shape.rank()));
    blocks_ = (channels_ + pack_ - 1) / pack_;
    cuts_ = std::max<size_t>(1, pixels_ * pack_ / kFloatsPerTask);
    each_ = std::max<size_t>(1, kFloatsPerTask / std::max<size_t>(1, pixels_ * pack_));
  }

  void run(RunContext& context) const noexcept override { bytes_ ? reorder<uint8_t>(context) : reorder<float>(context); }

 private:
  template <class T>
  void reorder(RunContext& context) const noexcept {
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    const size_t planes = images_ * blocks_, tasks = (planes + each_ - 1) / each_;
    context.parallel_for(tasks * cuts_, [&](size_t task) {
      const size_t cut = task % cuts_, first = share(pixels_, cuts_, cut), count = share(pixels_, cuts_, cut + 1) - first;
      const size_t last = std::min(planes, (task / cuts_ + 1) * each_);
      for (size_t plane = task / cuts_ * each_; plane < last; ++plane) {
        const size_t block = plane % blocks_, lanes = std::min(pack_, channels_ - block * pack_);
        const size_t plain = (plane / blocks_ * channels_ + block * pack_) * pixels_ + first, packed = (plane * pixels_ + first) * pack_;
        if (!to_packed_) {
          transpose(x + packed, pack_, count, lanes, y + plain, pixels_);
          continue;
        }
        // Nobody reads lanes without a channel, but kernels compute zeros faster than some of the values that might be there.
        if (lanes < pack_) std::memset(y + packed, 0, count * pack_ * sizeof(T));
        transpose(x + plain, pixels_, lanes, count, y + packed, pack_);
      }
    });
  }

  void transpose(const float* from, size_t from_row, size_t rows, size_t columns, float* to, size_t to_row) const noexcept {
    kernels_.transpose(from, from_row, rows, columns, to, to_row);
  }
  void transpose(const uint8_t* from, size_t from_row, size_t rows, size_t columns, uint8_t* to, size_t to_row) const noexcept {
    kernels_.transpose_bytes(from, from_row, rows, columns, to, to_row);
  }

  const LayoutKernels& kernels_;
  bool to_packed_, bytes_;
  size_t pack_, images_, channels_, pixels_, blocks_, cuts_, each_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<ReorderKernel>(context); }

constexpr Scheme kSchemes[] = {{kReorder, "reorder", estimate, prepare}};

}  // namespace

std::span<const Scheme> reorder_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
