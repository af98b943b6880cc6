// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two f32 tensors with broadcasting: any shapes in the plain layout; equal shapes, a scalar, or a value per channel in the
// packed one.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr int64_t kFloatsPerTask = 16 << 10;

Binary kind_of(const NodeView& node) {
  constexpr std::pair<std::string_view, Binary> kKinds[] = {{"Add", Binary::add},    {"Sub", Binary::subtract}, {"Mul", Binary::multiply},
                                                            {"Div", Binary::divide}, {"Min", Binary::minimum},  {"Max", Binary::maximum},
                                                            {"PRelu", Binary::prelu}};
  for (const auto& [name, kind] : kKinds)
    if (name == node.op()) return kind;
  throw InternalError("{}: is not arithmetic of two tensors", node.where());
}

std::string refusal_of(const NodeView& node) {
  if (node.input_count() != 2 || !node.has_input(1)) return "there are not two inputs";
  for (size_t i : {0, 1})
    if (node.input_dtype(i) != DType::f32) return format("the dtype is {}, not f32", node.input_dtype(i));
  return {};
}

double bytes_of(const NodeView& node) {
  return 4 * (static_cast<double>(node.input_shape(0).elements()) + static_cast<double>(node.input_shape(1).elements()) +
              static_cast<double>(node.output_shape(0).elements()));
}

// In place where an input has every element of the output.
int overwritten(const NodeView& node) {
  for (int i : {0, 1})
    if (node.input_shape(static_cast<size_t>(i)) == node.output_shape(0)) return i;
  return -1;
}

// Plain: rows of the merged innermost dimensions, the outer ones walked by their strides.

struct Axis {
  int64_t extent, a, b;  // strides
};

class RowsKernel final : public Kernel {
 public:
  RowsKernel(const NodeView& node, const Kernels& kernels) {
    const Shape &sa = node.input_shape(0), &sb = node.input_shape(1), &sy = node.output_shape(0);
    const auto strides = [&](const Shape& shape) {
      Ints result(sy.rank(), 0);
      int64_t stride = 1;
      for (size_t i = shape.rank(); i-- > 0; stride *= shape[i]) result[sy.rank() - shape.rank() + i] = shape[i] == 1 ? 0 : stride;
      return result;
    };
    const Ints a = strides(sa), b = strides(sb);
    for (size_t i = 0; i < sy.rank(); ++i) {
      if (sy[i] == 1) continue;
      const Axis axis{sy[i], a[i], b[i]};
      if (!axes_.empty() && axes_.back().a == axis.a * axis.extent && axes_.back().b == axis.b * axis.extent)
        axes_.back() = {axes_.back().extent * axis.extent, axis.a, axis.b};
      else
        axes_.push_back(axis);
    }
    row_ = axes_.empty() ? Axis{1, 1, 1} : axes_.back();
    if (!axes_.empty()) axes_.pop_back();
    for (const Axis& axis : axes_) rows_ *= axis.extent;
    function_ = kernels.binary->of(kind_of(node), row_.a == 0   ? BinaryForm::a_scalar
                                                  : row_.b == 0 ? BinaryForm::b_scalar
                                                                : BinaryForm::both);
    // Long rows are cut, short ones are taken together.
    cuts_ = std::max<int64_t>(1, row_.extent / kFloatsPerTask);
    rows_per_task_ = std::max<int64_t>(1, kFloatsPerTask / std::max<int64_t>(1, row_.extent));
  }

  void run(RunContext& context) const noexcept override {
    const float *a = context.in<float>(0), *b = context.in<float>(1);
    float* y = context.out<float>(0);
    const int64_t groups = (rows_ + rows_per_task_ - 1) / rows_per_task_;
    context.parallel_for(static_cast<size_t>(groups * cuts_), [&](size_t task) {
      const int64_t group = static_cast<int64_t>(task) / cuts_, cut = static_cast<int64_t>(task) % cuts_;
      const int64_t begin = row_.extent * cut / cuts_, end = row_.extent * (cut + 1) / cuts_;
      const int64_t last = std::min(rows_, (group + 1) * rows_per_task_);
      for (int64_t row = group * rows_per_task_; row < last; ++row) {
        int64_t rest = row, at_a = begin * row_.a, at_b = begin * row_.b;
        for (size_t i = axes_.size(); i-- > 0; rest /= axes_[i].extent) {
          const int64_t index = rest % axes_[i].extent;
          at_a += index * axes_[i].a, at_b += index * axes_[i].b;
        }
        function_(a + at_a, b + at_b, y + row * row_.extent + begin, static_cast<size_t>(end - begin));
      }
    });
  }

 private:
  std::vector<Axis> axes_;
  Axis row_{};
  int64_t rows_ = 1, cuts_ = 1, rows_per_task_ = 1;
  BinaryFunction function_;
};

Estimate estimate_plain(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  if (node.output_shape(0).elements() == 0) return declined("the output is empty");
  Estimate estimate(device.byte_time(bytes_of(node)) + 2e-7);
  estimate.overwrites = overwritten(node);
  return estimate;
}
std::unique_ptr<Kernel> prepare_plain(PrepareContext& context) {
  return std::make_unique<RowsKernel>(context.node(), *cpu_device(context.device()).kernels);
}

// Packed: one input has the output's shape and is packed, the other one is ...
enum class Other { same, scalar, channels_constant, channels_packed };
struct PackedForm {
  size_t full;  // the input that has the output's shape
  Other other;
};

std::optional<PackedForm> packed_form(const NodeView& node) {
  const Shape& y = node.output_shape(0);
  if (y.rank() < 3 || y.elements() == 0) return std::nullopt;
  for (size_t full : {0, 1}) {
    if (node.input_shape(full) != y) continue;
    const Shape& other = node.input_shape(1 - full);
    if (other == y) return PackedForm{full, Other::same};
    if (other.elements() == 1) return PackedForm{full, Other::scalar};
    // [C, 1, ..] or [1 or N, C, 1, ..]
    if (other.rank() + 1 < y.rank()) continue;
    const size_t channel = other.rank() == y.rank() ? 1 : 0;
    bool per_channel = other[channel] == y[1];
    for (size_t i = channel + 1; i < other.rank(); ++i) per_channel &= other[i] == 1;
    if (!per_channel) continue;
    const bool one_image = channel == 0 || other[0] == 1;
    if (node.is_constant(1 - full) && one_image) return PackedForm{full, Other::channels_constant};
    if (channel == 1 && !node.is_constant(1 - full)) return PackedForm{full, Other::channels_packed};
  }
  return std::nullopt;
}

class PackedKernel final : public Kernel {
 public:
  PackedKernel(const NodeView& node, const CpuDevice& device) : form_(*packed_form(node)) {
    const Shape& y = node.output_shape(0);
    lanes_ = static_cast<size_t>(device.pack);
    images_ = static_cast<size_t>(y[0]);
    blocks_ = (static_cast<size_t>(y[1]) + lanes_ - 1) / lanes_;
    plane_ = static_cast<size_t>(y.product(2, y.rank())) * lanes_;
    const bool full_first = form_.full == 0;
    BinaryForm form = BinaryForm::both;
    if (form_.other == Other::scalar) form = full_first ? BinaryForm::b_scalar : BinaryForm::a_scalar;
    if (form_.other == Other::channels_constant || form_.other == Other::channels_packed)
      form = full_first ? BinaryForm::b_lanes : BinaryForm::a_lanes;
    function_ = device.kernels->binary->of(kind_of(node), form);
    if (form_.other == Other::channels_constant) {
      channels_.assign(blocks_ * lanes_, 0);
      const Tensor& constant = node.contents(1 - form_.full);
      std::memcpy(channels_.data(), constant.data(), constant.bytes());
    }
    other_image_ = form_.other == Other::channels_packed && node.input_shape(1 - form_.full)[0] != 1 ? blocks_ * lanes_ : 0;
  }

  void run(RunContext& context) const noexcept override {
    const float* full = context.in<float>(form_.full);
    const float* other = context.in<float>(1 - form_.full);
    float* y = context.out<float>(0);
    context.parallel_for(images_ * blocks_, [&](size_t task) {
      const size_t image = task / blocks_, block = task % blocks_, at = task * plane_;
      const float* second = other;
      if (form_.other == Other::same) second = other + at;
      if (form_.other == Other::channels_constant) second = channels_.data() + block * lanes_;
      if (form_.other == Other::channels_packed) second = other + image * other_image_ + block * lanes_;
      if (form_.full == 0)
        function_(full + at, second, y + at, plane_);
      else
        function_(second, full + at, y + at, plane_);
    });
  }

 private:
  PackedForm form_;
  BinaryFunction function_;
  size_t lanes_, images_, blocks_, plane_, other_image_ = 0;
  std::vector<float> channels_;
};

Estimate estimate_packed(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  if (device.pack == 1) return declined("there is no packed layout");
  const std::optional<PackedForm> form = packed_form(node);
  if (!form) return declined("the second tensor is neither of the same shape nor a scalar nor a value per channel");
  Estimate estimate(device.byte_time(bytes_of(node)) + 2e-7);
  estimate.packed_inputs = uint64_t{1} << form->full;
  if (form->other == Other::same || form->other == Other::channels_packed) estimate.packed_inputs = 3;
  estimate.packed_outputs = 1;
  estimate.overwrites = static_cast<int>(form->full);
  return estimate;
}
std::unique_ptr<Kernel> prepare_packed(PrepareContext& context) {
  return std::make_unique<PackedKernel>(context.node(), cpu_device(context.device()));
}

#define MINNOW_BINARY_ROWS(op) \
  {op, "binary.packed", estimate_packed, prepare_packed}, { op, "binary", estimate_plain, prepare_plain }

constexpr Scheme kSchemes[] = {
    MINNOW_BINARY_ROWS("Add"), MINNOW_BINARY_ROWS("Div"), MINNOW_BINARY_ROWS("Max"),   MINNOW_BINARY_ROWS("Min"),
    MINNOW_BINARY_ROWS("Mul"), MINNOW_BINARY_ROWS("Sub"), MINNOW_BINARY_ROWS("PRelu"),
};
#undef MINNOW_BINARY_ROWS

}  // namespace

std::span<const Scheme> binary_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
