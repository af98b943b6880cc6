// SPDX-License-Identifier: Apache-2.0
// Resize along the last one or two axes: every mode, as weighted sums of rows and then of pixels, on either layout; along the last three,
// of planes first, on the plain one.
#include <optional>
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/share.h"
#include "graph/resize.h"

namespace minnow::cpu {
namespace {

struct Axis {
  size_t input = 1, output = 1, taps = 1;
  Numbers<int32_t> index;
  Numbers<float> weight;  // empty: the one tap is taken as it is
  bool is_identity = true;
  Axis() = default;
  explicit Axis(const ResizeAxis& axis)
      : input(static_cast<size_t>(axis.input)),
        output(static_cast<size_t>(axis.output)),
        taps(static_cast<size_t>(axis.taps)),
        index(axis.index.begin(), axis.index.end()),
        weight(axis.weight.begin(), axis.weight.end()),
        is_identity(axis.is_identity()) {}
};

struct Plan {
  Axis planes, rows, columns;
};

/// Nothing if other axes are resized too, or positions outside the image are asked for.
std::optional<Plan> plan_of(const NodeView& node) {
  const ResizeGeometry resize = ResizeGeometry::of(node);
  if (resize.needs_region()) return std::nullopt;
  const size_t rank = resize.input.rank();
  if (rank < 1) return std::nullopt;
  const size_t first = rank >= 5 ? rank - 3 : rank >= 4 ? rank - 2 : rank - 1;  // of [batch, channels, width] only the last one
  for (size_t i = 0; i < first; ++i)
    if (!resize.axis(i).is_identity()) return std::nullopt;
  Plan plan;
  plan.columns = Axis(resize.axis(rank - 1));
  if (first + 2 <= rank) plan.rows = Axis(resize.axis(rank - 2));
  if (first + 3 == rank) plan.planes = Axis(resize.axis(first));
  return plan;
}

Estimate estimate(const NodeView& node, const Device& device, Layout layout) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  if (x.elements() == 0 || y.elements() == 0) return declined("the image is empty");
  if (layout == Layout::packed && (device.pack == 1 || x.rank() < 3)) return declined("the shape has no packed layout");
  if (layout == Layout::packed && x.rank() > 4) return declined("there are {} spatial dimensions", x.rank() - 2);
  const std::optional<Plan> plan = plan_of(node);
  if (!plan) return declined("an axis before the last {} is resized, or the image is cropped", x.rank() >= 5 ? 3 : x.rank() >= 4 ? 2 : 1);
  const double bytes = static_cast<double>(device.bytes(DType::f32, y, layout));
  const double taps = static_cast<double>(plan->columns.taps + plan->rows.taps + plan->planes.taps - 1);
  // Pixels of a plain row are picked one by one.
  Estimate estimate(device.byte_time(2 * bytes) + device.flop_time(bytes / 4 * taps * (layout == Layout::packed ? 4 : 40)) + 3e-7);
  if (layout == Layout::packed) estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate(node, device, Layout::packed); }

class ResizeKernel final : public Kernel {
 public:
  explicit ResizeKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->resample),
        plan_(*plan_of(context.node())),
        element_(context.output_layout(0) == Layout::packed ? static_cast<size_t>(context.device().pack) : 1) {
    const Shape& x = context.node().input_shape(0);
    const size_t all = context.device().bytes(DType::f32, x, context.output_layout(0)) / sizeof(float);
    in_plane_ = plan_.rows.input * plan_.columns.input * element_;
    planes_ = all / in_plane_ / plan_.planes.input * plan_.planes.output;
    cuts_ = std::clamp<size_t>(plan_.rows.output * plan_.columns.output * element_ / (16 << 10), 1, plan_.rows.output);
    if (!plan_.planes.is_identity) cuts_ = 1;  // a plane that was summed up serves all its rows
    units_.reserve(context, planes_ * cuts_, plan_.columns.input * element_ + (plan_.planes.is_identity ? 0 : in_plane_));
  }

  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t in_row = plan_.columns.input * element_, out_row = plan_.columns.output * element_;
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t plane = unit / cuts_, cut = unit % cuts_;
      const size_t volume = plane / plan_.planes.output;
      const float* image =
          blended(plan_.planes, x + volume * plan_.planes.input * in_plane_, plane % plan_.planes.output, in_plane_, scratch + in_row);
      for (size_t row = share(plan_.rows.output, cuts_, cut); row < share(plan_.rows.output, cuts_, cut + 1); ++row)
        along_row(blended(plan_.rows, image, row, in_row, scratch), y + (plane * plan_.rows.output + row) * out_row);
    });
  }

 private:
  // Returns rows or planes of `count` floats blended for index `place` of an axis: in `to`, or in x itself if nothing has to be blended.
  [[gnu::noinline]] const float* blended(const Axis& axis, const float* x, size_t place, size_t count, float* to) const noexcept {
    if (axis.is_identity) return x + place * count;
    const int32_t* index = axis.index.data() + place * axis.taps;
    if (axis.weight.empty()) return x + static_cast<size_t>(index[0]) * count;
    constexpr size_t kTapsAtOnce = 16;
    const float* from[kTapsAtOnce + 1];
    float weights[kTapsAtOnce + 1];
    for (size_t first = 0; first < axis.taps; first += kTapsAtOnce) {
      const size_t taps = std::min(kTapsAtOnce, axis.taps - first);
      size_t n = 0;
      if (first > 0) from[n] = to, weights[n++] = 1;
      for (size_t t = 0; t < taps; ++t) {
        from[n] = x + static_cast<size_t>(index[first + t]) * count;
        weights[n++] = axis.weight[place * axis.taps + first + t];
      }
      kernels_.blend_rows(from, weights, n, count, to);
    }
    return to;
  }

  void along_row(const float* row, float* y) const noexcept {
    const Axis& columns = plan_.columns;
    const int32_t* index = columns.index.data();
    const size_t taps = columns.taps;
    if (columns.is_identity) {
      std::copy_n(row, columns.output * element_, y);
    } else if (element_ > 1) {
      if (columns.weight.empty())
        kernels_.pick_pixels(row, index, columns.output, y);
      else
        kernels_.blend_pixels(row, index, columns.weight.data(), taps, columns.output, y);
    } else if (columns.weight.empty()) {
      for (size_t i = 0; i < columns.output; ++i) y[i] = row[index[i]];
    } else {
      const float* weight = columns.weight.data();
      for (size_t i = 0; i < columns.output; ++i, index += taps, weight += taps) {
        float sum = 0;
        for (size_t t = 0; t < taps; ++t) sum += weight[t] * row[index[t]];
        y[i] = sum;
      }
    }
  }

  const ResampleKernels& kernels_;
  Plan plan_;
  size_t element_, in_plane_ = 0, planes_ = 0, cuts_ = 1;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<ResizeKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"Resize", "resize.packed", estimate_packed, prepare},
    {"Resize", "resize", estimate_plain, prepare},
};

}  // namespace

std::span<const Scheme> resize_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
