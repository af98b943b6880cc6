// SPDX-License-Identifier: Apache-2.0
// GridSample and RoiAlign on the packed layout. The sampled pixels and their weights are the same for all channels, so the rest are
// weighted sums of pixels.
#include <algorithm>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "graph/sampling.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPositions = 256;     // of a grid that are sampled together
constexpr size_t kMostTaps = 1 << 10;  // of a bin that are summed up at once

size_t size(int64_t value) { return static_cast<size_t>(value); }

/// Both need an image X of f32 that has a packed layout, and f32 positions.
std::string refusal_of(const NodeView& node, const Device& device) {
  for (size_t i : {0, 1})
    if (node.input_dtype(i) != DType::f32) return format("the dtype of input {} is {}, not f32", i, node.input_dtype(i));
  if (device.pack == 1) return "there is no packed layout";
  const Shape& x = node.input_shape(0);
  if (x.elements() == 0 || node.output_shape(0).elements() == 0) return "the image is empty";
  if (x.product(2, x.rank()) > (int64_t{1} << 31) - 1) return "the image has more pixels than 32 bits count";
  return {};
}

size_t vectors_of(const NodeView& node, const Device& device) {
  return (size(node.input_shape(0)[1]) + size(device.pack) - 1) / size(device.pack);
}

size_t taps_of(const GridSampling& sampling) {
  size_t taps = 1;
  for (size_t i = 0; i < sampling.dims; ++i) taps *= sampling.along();
  return taps;
}

Estimate estimate_grid(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const Shape& y = node.output_shape(0);
  const double positions = static_cast<double>(y[0] * y.product(2, y.rank())), taps = static_cast<double>(taps_of(GridSampling::of(node)));
  Estimate estimate(device.flop_time(positions * taps * (200 + 4.0 * device.pack * static_cast<double>(vectors_of(node, device)))) + 3e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

class GridKernel final : public Kernel {
 public:
  explicit GridKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->resample),
        sampling_(GridSampling::of(context.node())),
        x_(context.node().input_shape(0)),
        taps_(taps_of(sampling_)),
        lanes_(size(context.device().pack)),
        vectors_(vectors_of(context.node(), context.device())) {
    const Shape& y = context.node().output_shape(0);
    plane_ = size(x_.product(2, x_.rank()));
    positions_ = size(y.product(2, y.rank()));
    blocks_ = (positions_ + kPositions - 1) / kPositions;
    units_.reserve(context, size(y[0]) * blocks_, 2 * kPositions * taps_);
  }

  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t image = unit / blocks_, first = unit % blocks_ * kPositions, count = std::min(kPositions, positions_ - first);
      int32_t* index = reinterpret_cast<int32_t*>(scratch);
      float* weights = scratch + kPositions * taps_;
      size_t outside[kPositions], nowhere = 0;  // positions that read nothing but padding
      for (size_t p = 0; p < count; ++p) {
        const float* at = context.in<float>(1) + (image * positions_ + first + p) * sampling_.dims;
        if (!find_taps(at, index + p * taps_, weights + p * taps_)) outside[nowhere++] = p;
      }
      for (size_t v = image * vectors_; v < (image + 1) * vectors_; ++v) {
        const float* x = context.in<float>(0) + v * plane_ * lanes_;
        float* y = context.out<float>(0) + (v * positions_ + first) * lanes_;
        if (taps_ == 1)
          kernels_.pick_pixels(x, index, count, y);
        else
          kernels_.blend_pixels(x, index, weights, taps_, count, y);
        for (size_t i = 0; i < nowhere; ++i) std::fill_n(y + outside[i] * lanes_, lanes_, 0.0f);
      }
    });
  }

 private:
  // Taps in the padding weigh nothing and read a pixel that another tap reads. False: all of them are there.
  bool find_taps(const float* coordinates, int32_t* index, float* weights) const noexcept {
    const size_t along = sampling_.along();
    bool inside = true;
    size_t count = 1;
    index[0] = 0, weights[0] = 1;
    for (size_t d = 0; d < sampling_.dims; ++d) {
      // The last dimension's coordinate comes first.
      const GridSampling::Taps axis = sampling_.taps(coordinates[sampling_.dims - 1 - d], x_[d + 2]);
      const int64_t other = *std::max_element(axis.at, axis.at + along);
      inside = inside && other >= 0;
      for (size_t t = count; t-- > 0;) {
        const int64_t row = index[t] * x_[d + 2];
        const float weight = weights[t];
        for (size_t i = 0; i < along; ++i) {
          const bool reads = axis.at[i] >= 0;
          index[t * along + i] = static_cast<int32_t>(row + (reads ? axis.at[i] : std::max<int64_t>(other, 0)));
          weights[t * along + i] = reads ? weight * static_cast<float>(axis.weight[i]) : 0;
        }
      }
      count *= along;
    }
    return inside;
  }

  const ResampleKernels& kernels_;
  GridSampling sampling_;
  Shape x_;
  size_t taps_, lanes_, vectors_, plane_ = 0, positions_ = 0, blocks_ = 0;
  Units units_;
};

Estimate estimate_roi(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const RoiAlignment roi = RoiAlignment::of(node);
  if (!roi.average) return declined("the mode is max");
  const Shape& y = node.output_shape(0);
  const double bins = static_cast<double>(y[0] * y[2] * y[3]), samples = static_cast<double>(roi.samples ? roi.samples : 4);
  const double lanes = device.pack * static_cast<double>(vectors_of(node, device));
  Estimate estimate(device.flop_time(bins * samples * samples * 4 * (20 + 4 * lanes)) + 3e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

class RoiKernel final : public Kernel {
 public:
  explicit RoiKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->resample),
        roi_(RoiAlignment::of(context.node())),
        x_(context.node().input_shape(0)),
        regions_(size(context.node().output_shape(0)[0])),
        lanes_(size(context.device().pack)),
        vectors_(vectors_of(context.node(), context.device())),
        where_(context.node().where()) {
    plane_ = size(x_[2] * x_[3]);
    // The taps of a bin along both axes, and those of a piece of it.
    units_.reserve(context, regions_, 2 * (most(0) + most(1) + kMostTaps));
  }

  void run(RunContext& context) const noexcept override {
    const float* regions = context.in<float>(1);
    const int64_t* images = context.in<int64_t>(2);
    for (size_t r = 0; r < regions_; ++r) {
      if (images[r] < 0 || images[r] >= x_[0])
        return context.fail("{}: region {} is of image {}, there are {}", where_, r, images[r], x_[0]);
      const RoiAlignment::Region<float> region = roi_.region(regions + 4 * r);
      if (!region.possible)
        return context.fail("{}: region {} has bins that are {} by {} pixels large, {} are the most", where_, r, region.bin[1],
                            region.bin[0], RoiAlignment::kMostSamples);
    }
    const size_t bins = size(roi_.bins[0] * roi_.bins[1]);
    units_.run(context, [&](size_t r, float* scratch) {
      const RoiAlignment::Region<float> region = roi_.region(regions + 4 * r);
      const float* x = context.in<float>(0) + size(images[r]) * vectors_ * plane_ * lanes_;
      float* y = context.out<float>(0) + r * vectors_ * bins * lanes_;
      Axis rows(scratch, most(0)), columns(rows.end(), most(1));
      Stop stop;
      for (int64_t i = 0; i < roi_.bins[0]; ++i) {
        rows.seek(region, 0, i, x_[2]);
        for (int64_t j = 0; j < roi_.bins[1]; ++j, y += lanes_) {
          columns.seek(region, 1, j, x_[3]);
          if (stop.after(rows.count * columns.count * vectors_ + size(region.samples[1]))) return;
          sum_bin(rows, columns, columns.end(), x, bins, y);
        }
      }
    });
  }

 private:
  // The taps of all samples of a bin along an axis, those of one pixel joined; the weights of a mean.
  struct Axis {
    int32_t* index;
    float* weights;
    size_t most, count = 0;
    Axis(float* memory, size_t most) : index(reinterpret_cast<int32_t*>(memory)), weights(memory + most), most(most) {}
    float* end() const noexcept { return weights + most; }
    void seek(const RoiAlignment::Region<float>& region, size_t axis, int64_t bin, int64_t pixels) noexcept {
      count = 0;
      const double share = 1.0 / static_cast<double>(std::max<int64_t>(region.samples[axis], 1));
      for (int64_t s = 0; s < region.samples[axis]; ++s) {
        const RoiAlignment::Pair pair = RoiAlignment::pair(region.place(axis, bin, s), pixels);
        if (!pair.inside) continue;
        for (int k : {0, 1})
          if (k == 0 || pair.weight[k] != 0) add(static_cast<int32_t>(pair.at[k]), static_cast<float>(pair.weight[k] * share));
      }
    }
    // Samples go one way, so that their pixels are among the last ones.
    void add(int32_t pixel, float weight) noexcept {
      for (size_t k = count; k-- > 0 && count - k <= 3;)
        if (index[k] == pixel) return void(weights[k] += weight);
      index[count] = pixel, weights[count++] = weight;
    }
  };
  // Pixels that the samples of a bin may read: all of the axis, or two for each sample.
  size_t most(size_t axis) const noexcept { return size(x_[axis + 2]) + 4; }

  void sum_bin(const Axis& rows, const Axis& columns, float* scratch, const float* x, size_t bins, float* y) const noexcept {
    int32_t* index = reinterpret_cast<int32_t*>(scratch);
    float* weights = scratch + kMostTaps;
    const size_t all = rows.count * columns.count;
    for (size_t first = 0; first == 0 || first < all; first += kMostTaps) {
      const size_t taps = std::min(kMostTaps, all - first);
      for (size_t t = 0, row = first / std::max<size_t>(columns.count, 1), column = first - row * columns.count; t < taps; ++t) {
        index[t] = static_cast<int32_t>(static_cast<int64_t>(rows.index[row]) * x_[3]) + columns.index[column];
        weights[t] = rows.weights[row] * columns.weights[column];
        if (++column == columns.count) column = 0, ++row;
      }
      for (size_t v = 0; v < vectors_; ++v) {
        const float* plane = x + v * plane_ * lanes_;
        float* to = y + v * bins * lanes_;
        float part[64];  // more than any vector has lanes
        if (taps == 0) {
          std::fill_n(to, lanes_, 0.0f);
          continue;
        }
        kernels_.blend_pixels(plane, index, weights, taps, 1, first == 0 ? to : part);
        for (size_t i = 0; first > 0 && i < lanes_; ++i) to[i] += part[i];
      }
    }
  }

  const ResampleKernels& kernels_;
  RoiAlignment roi_;
  Shape x_;
  size_t regions_, lanes_, vectors_, plane_ = 0;
  std::string where_;
  Units units_;
};

std::unique_ptr<Kernel> prepare_grid(PrepareContext& context) { return std::make_unique<GridKernel>(context); }
std::unique_ptr<Kernel> prepare_roi(PrepareContext& context) { return std::make_unique<RoiKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"GridSample", "sampling.packed", estimate_grid, prepare_grid, kLargeOnly},
    {"RoiAlign", "sampling.packed", estimate_roi, prepare_roi, kLargeOnly},
};

}  // namespace

std::span<const Scheme> sampling_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
