// SPDX-License-Identifier: Apache-2.0
// minnow.ChannelShuffle. In the plain layout it copies whole planes of channels. In the packed layout it assembles each vector of channels
// from lanes of a few others, so that data between packed convolutions stays packed.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/share.h"
#include "graph/channel_shuffle.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

double bytes_moved(const NodeView& node, const Device& device, Layout layout) {
  double bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i)
    bytes += 2 * static_cast<double>(device.bytes(node.input_dtype(i), node.input_shape(i), layout));
  return bytes;
}

Estimate estimate_plain(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.output_count(); ++i)
    if (!node.has_output(i)) return declined("a part is not wanted");
  return Estimate(1.5 * device.byte_time(bytes_moved(node, device, Layout::plain)) + 2e-7);
}

class PlaneKernel final : public Kernel {
 public:
  explicit PlaneKernel(const NodeView& node) {
    const ChannelShuffle shuffle = ChannelShuffle::of(node);
    const Shape& first = node.input_shape(0);
    bytes_ = static_cast<size_t>(first.product(2, first.rank())) * size_of(node.input_dtype(0));
    images_ = static_cast<size_t>(first[0]);
    int64_t channel = 0;
    for (size_t i = 0; i < shuffle.sizes.size(); ++i)
      for (int64_t c = 0; c < shuffle.sizes[i]; ++c) {
        const ChannelShuffle::Place from = shuffle.source(channel++);
        planes_.push_back({static_cast<uint32_t>(from.part), static_cast<uint32_t>(i), static_cast<size_t>(from.channel) * bytes_,
                           static_cast<size_t>(shuffle.parts[from.part]) * bytes_, static_cast<size_t>(c) * bytes_,
                           static_cast<size_t>(shuffle.sizes[i]) * bytes_});
      }
    each_ = std::max<size_t>(1, kFloatsPerTask * sizeof(float) / std::max<size_t>(1, bytes_));
  }

  void run(RunContext& context) const noexcept override {
    const size_t count = planes_.size() * images_;
    context.parallel_for((count + each_ - 1) / each_, [&](size_t task) {
      for (size_t k = task * each_; k < std::min(count, (task + 1) * each_); ++k) {
        const Plane& plane = planes_[k % planes_.size()];
        const size_t image = k / planes_.size();
        std::memcpy(context.out<char>(plane.output) + image * plane.to_image + plane.to,
                    context.in<char>(plane.input) + image * plane.from_image + plane.from, bytes_);
      }
    });
  }

 private:
  struct Plane {
    uint32_t input, output;
    size_t from, from_image, to, to_image;  // bytes: of the plane in an image, from image to image
  };
  Numbers<Plane> planes_;
  size_t bytes_, images_, each_;
};

std::unique_ptr<Kernel> prepare_plain(PrepareContext& context) { return std::make_unique<PlaneKernel>(context.node()); }

Estimate estimate_packed(const NodeView& node, const Device& device) {
  if (device.pack == 1) return declined("there is no packed layout");
  if (node.input_dtype(0) != DType::f32) return declined("the packed layout is for f32");
  if (node.input_shape(0).rank() < 3) return declined("there are no pixels");
  if (node.input_count() > 64 || node.output_count() > 64) return declined("there are more than 64 parts");
  Estimate estimate = estimate_plain(node, device);
  if (!estimate.declined.empty()) return estimate;
  estimate.seconds = 1.5 * device.byte_time(bytes_moved(node, device, Layout::packed)) + 2e-7;
  estimate.packed_inputs = estimate.packed_outputs = ~uint64_t{0};
  return estimate;
}

class LaneKernel final : public Kernel {
 public:
  explicit LaneKernel(const PrepareContext& context) : gather_(cpu_device(context.device()).kernels->layout->gather_lanes) {
    const NodeView& node = context.node();
    const ChannelShuffle shuffle = ChannelShuffle::of(node);
    const int64_t pack = context.device().pack;
    pack_ = static_cast<size_t>(pack);
    const Shape& first = node.input_shape(0);
    images_ = static_cast<size_t>(first[0]);
    pixels_ = static_cast<size_t>(first.product(2, first.rank()));
    const auto blocks = [&](int64_t channels) { return static_cast<size_t>((channels + pack - 1) / pack); };
    int64_t channel = 0;
    for (size_t i = 0; i < shuffle.sizes.size(); ++i)
      for (int64_t begin = 0; begin < shuffle.sizes[i]; begin += pack) {
        Block block{static_cast<uint32_t>(i), static_cast<size_t>(begin / pack), blocks(shuffle.sizes[i]), sources_.size(), 0};
        for (int64_t lane = 0; lane < std::min(pack, shuffle.sizes[i] - begin); ++lane) {
          const ChannelShuffle::Place from = shuffle.source(channel++);
          const Source wanted{static_cast<uint32_t>(from.part), static_cast<size_t>(from.channel / pack), blocks(shuffle.parts[from.part])};
          size_t k = block.first;
          while (k < sources_.size() && !(sources_[k] == wanted)) ++k;
          if (k == sources_.size()) {
            sources_.push_back(wanted);
            lanes_.resize(lanes_.size() + pack_, -1);
          }
          lanes_[k * pack_ + static_cast<size_t>(lane)] = static_cast<int32_t>(from.channel % pack);
        }
        block.count = sources_.size() - block.first;
        blocks_.push_back(block);
      }
    cuts_ = std::max<size_t>(1, pixels_ * pack_ / kFloatsPerTask);
    each_ = std::max<size_t>(1, kFloatsPerTask / std::max<size_t>(1, pixels_ * pack_));
  }

  void run(RunContext& context) const noexcept override {
    const size_t count = images_ * blocks_.size();
    context.parallel_for((count + each_ - 1) / each_ * cuts_, [&](size_t task) {
      const size_t cut = task % cuts_, first = share(pixels_, cuts_, cut), pixels = share(pixels_, cuts_, cut + 1) - first;
      for (size_t k = task / cuts_ * each_; k < std::min(count, (task / cuts_ + 1) * each_); ++k) {
        const Block& block = blocks_[k % blocks_.size()];
        const size_t image = k / blocks_.size();
        const float* from[kMostLanes];
        for (size_t i = 0; i < block.count; ++i) {
          const Source& source = sources_[block.first + i];
          from[i] = context.in<float>(source.input) + ((image * source.blocks + source.block) * pixels_ + first) * pack_;
        }
        gather_(from, lanes_.data() + block.first * pack_, block.count, pixels,
                context.out<float>(block.output) + ((image * block.blocks + block.block) * pixels_ + first) * pack_);
      }
    });
  }

 private:
  static constexpr size_t kMostLanes = 64;  // of a vector; each lane may come from another block
  struct Source {
    uint32_t input;
    size_t block, blocks;  // of so many of an image
    friend bool operator==(const Source&, const Source&) = default;
  };
  struct Block {
    uint32_t output;
    size_t block, blocks, first, count;  // its sources
  };

  void (*gather_)(const float* const*, const int32_t*, size_t, size_t, float*);
  std::vector<Block> blocks_;
  Numbers<Source> sources_;
  Numbers<int32_t> lanes_;  // for each source: which of its lanes each lane is; -1: none
  size_t pack_, images_, pixels_, cuts_, each_;
};

std::unique_ptr<Kernel> prepare_packed(PrepareContext& context) { return std::make_unique<LaneKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.ChannelShuffle", "channel_shuffle.packed", estimate_packed, prepare_packed},
                               {"minnow.ChannelShuffle", "channel_shuffle", estimate_plain, prepare_plain}};

}  // namespace

std::span<const Scheme> channel_shuffle_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
