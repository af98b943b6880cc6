// SPDX-License-Identifier: Apache-2.0
// Pad of channels in the packed layout: constant channels behind those of an image, as residual networks have them whose blocks grow.
#include <algorithm>
#include <cstring>

#include "backends/cpu/schemes/schemes.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr size_t kLine = 64, kWords = kLine / sizeof(uint64_t);  // bytes; whole pixels of every layout

/// Why the node does not only add channels behind the others; empty if it does.
std::string refusal_of(const NodeView& node, const Device& device) {
  if (device.pack == 1) return "there is no packed layout";
  if (node.attribute(Attribute<Name>{"mode", "constant"}) != "constant") return "the mode is not \"constant\"";
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.has_input(i) && !node.is_constant(i)) return format("input {} is not constant", i);
  const Shape &from = node.input_shape(0), &to = node.output_shape(0);
  const size_t size = size_of(node.input_dtype(0));
  if (node.input_dtype(0) != DType::f32 && node.input_dtype(0) != DType::u8 && node.input_dtype(0) != DType::i8)
    return format("the dtype is {}", node.input_dtype(0));
  if (from.rank() < 3 || from.elements() == 0 || to.elements() == 0 || kLine % (static_cast<size_t>(device.pack) * size) != 0)
    return "a tensor has no packed layout, or is empty";
  const Ints pads = node.ints(1), axes = node.has_input(3) ? node.ints(3) : Ints();
  const size_t count = pads.size() / 2;
  for (size_t k = 0; k < count; ++k) {
    const size_t axis = axes.empty() ? k : node.normalize_axis(axes[k], from.rank());
    if (pads[k] != 0 || (axis == 1 ? pads[count + k] < 0 : pads[count + k] != 0)) return "not only channels are added behind the others";
  }
  return {};
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const DType dtype = node.input_dtype(0);
  const double bytes = static_cast<double>(device.bytes(dtype, node.input_shape(0), Layout::packed) +
                                           device.bytes(dtype, node.output_shape(0), Layout::packed));
  Estimate estimate(device.byte_time(bytes) + 2e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

// A vector of channels at a time: copied, copied with other lanes at its end, or new.
class PackedPadKernel final : public Kernel {
 public:
  explicit PackedPadKernel(const PrepareContext& context) {
    const NodeView& node = context.node();
    const Shape &from = node.input_shape(0), &to = node.output_shape(0);
    const size_t size = size_of(node.input_dtype(0)), pack = static_cast<size_t>(context.device().pack);
    const size_t channels = static_cast<size_t>(from[1]);
    images_ = static_cast<size_t>(from[0]);
    in_vectors_ = ceil_div(channels, pack), out_vectors_ = ceil_div(static_cast<size_t>(to[1]), pack);
    mixed_ = channels % pack == 0 ? SIZE_MAX : channels / pack;
    plane_ = static_cast<size_t>(from.product(2, from.rank())) * pack * size;
    std::byte value[sizeof(float)] = {};
    if (node.has_input(2) && node.contents(2).elements() == 1) std::memcpy(value, node.contents(2).data(), size);
    for (size_t i = 0; i < kLine; ++i) {
      new_[i] = value[i % size];
      const bool kept = i / size % pack < channels % pack;
      kept_[i] = kept ? std::byte{0xff} : std::byte{0};
      added_[i] = kept ? std::byte{0} : new_[i];
    }
  }

  void run(RunContext& context) const noexcept override {
    context.parallel_for(images_ * out_vectors_, [&](size_t task) {
      const size_t image = task / out_vectors_, vector = task % out_vectors_;
      const std::byte* x = context.in<std::byte>(0) + (image * in_vectors_ + vector) * plane_;
      std::byte* y = context.out<std::byte>(0) + task * plane_;
      if (vector == mixed_)
        blend(x, y, plane_);
      else if (vector < in_vectors_)
        std::memcpy(y, x, plane_);
      else
        for (size_t i = 0; i < plane_; i += kLine) std::memcpy(y + i, new_, std::min(kLine, plane_ - i));
    });
  }

 private:
  void blend(const std::byte* x, std::byte* y, size_t bytes) const noexcept {
    uint64_t kept[kWords], added[kWords];
    std::memcpy(kept, kept_, kLine);
    std::memcpy(added, added_, kLine);
    size_t i = 0;
    for (; i + kLine <= bytes; i += kLine) {
      uint64_t words[kWords];
      std::memcpy(words, x + i, kLine);
      for (size_t k = 0; k < kWords; ++k) words[k] = (words[k] & kept[k]) | added[k];
      std::memcpy(y + i, words, kLine);
    }
    for (size_t k = 0; i < bytes; ++i, ++k) y[i] = (x[i] & kept_[k]) | added_[k];
  }

  size_t images_, in_vectors_, out_vectors_, plane_;  // plane_: bytes of a vector of channels
  size_t mixed_;                                      // the vector with channels of both, or none
  std::byte new_[kLine], kept_[kLine], added_[kLine];
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<PackedPadKernel>(context); }

constexpr Scheme kSchemes[] = {{"Pad", "pad.channels", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> packed_pad_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
