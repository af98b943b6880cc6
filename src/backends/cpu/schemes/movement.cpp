// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them. All but Gather are strided copies.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/loops/strided_copy.h"
#include "backends/cpu/schemes/schemes.h"
#include "graph/slice.h"

namespace minnow::cpu {
namespace {

// A copy from one input to one output; an operator is a list of them.
struct Part {
  size_t input, output;
  StridedCopy copy;
  // Where the plan may have given both sides one memory: from the beginning of the output to that of the input, in bytes.
  std::optional<ptrdiff_t> shared = std::nullopt;
};

class MovementKernel final : public Kernel {
 public:
  std::vector<Part> parts;
  std::vector<std::byte> fill;  // one element: the value of output 0 where no part writes; empty: every element is written
  size_t fill_count = 0;

  void run(RunContext& context) const noexcept override {
    if (!fill.empty()) fill_output(context.out<std::byte>(0));
    for (const Part& part : parts) {
      const void* from = context.in<void>(part.input);
      void* to = context.out<void>(part.output);
      if (part.shared && static_cast<const char*>(from) == static_cast<const char*>(to) + *part.shared) continue;
      if (part.copy.pieces() == 1)
        part.copy.run(0, from, to);
      else
        context.parallel_for(part.copy.pieces(), [&](size_t piece) { part.copy.run(piece, from, to); });
    }
  }

 private:
  void fill_output(std::byte* out) const noexcept {
    const size_t size = fill.size(), bytes = fill_count * size;
    if (bytes == 0) return;
    std::memcpy(out, fill.data(), size);
    for (size_t done = size; done < bytes; done += std::min(done, bytes - done)) std::memcpy(out + done, out, std::min(done, bytes - done));
  }
};

std::unique_ptr<MovementKernel> movement(const NodeView& node, const std::vector<StridedCopy::Axis>& axes, int64_t to_offset = 0,
                                         int64_t from_offset = 0) {
  auto kernel = std::make_unique<MovementKernel>();
  kernel->parts.push_back({0, 0, StridedCopy(axes, to_offset, from_offset, size_of(node.input_dtype(0)))});
  return kernel;
}

double tensor_bytes(const ValueInfo& info) { return static_cast<double>(info.shape.elements()) * static_cast<double>(size_of(info.dtype)); }

// Reading and writing everything once; strided access costs a few times as much as a straight copy.
Estimate estimate_copy(const NodeView& node, const Device& device) {
  double bytes = 0;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.has_output(i)) continue;
    if (node.output(i).kind != ValueInfo::Kind::tensor || node.output(i).extent != ValueInfo::Extent::exact)
      return declined("the shape depends on data");
    bytes += 2 * tensor_bytes(node.output(i));
  }
  return Estimate(device.byte_time(bytes) * 2 + 2e-7);
}

// Transpose

/// The axes of the input in the order of the output.
Ints order_of(const NodeView& node) {
  const size_t rank = node.input_shape(0).rank();
  Ints order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  if (const Ints* perm = node.find<Ints>("perm"))
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(node.normalize_axis((*perm)[i], rank));
  return order;
}

/// Whether three channels move from the end to another place, and all else stays: pictures with their channels last.
bool splits_pixels(const NodeView& node) {
  if (kSmall) return false;
  const Shape& from = node.input_shape(0);
  const size_t rank = from.rank(), size = size_of(node.input_dtype(0));
  if (rank < 2 || from[rank - 1] != 3 || (size != 1 && size != sizeof(float))) return false;
  Ints order = order_of(node);
  const int64_t last = static_cast<int64_t>(rank - 1);
  if (order.back() == last) return false;
  order.erase(std::find(order.begin(), order.end(), last));
  return std::is_sorted(order.begin(), order.end());
}

// The pixels of images, some at a time (196,608 bytes of three channels: 142 -> 12 us, AVX-512, Xeon, 2026-11-29).
class SplitPixelsKernel final : public Kernel {
 public:
  explicit SplitPixelsKernel(const PrepareContext& context) : layout_(*cpu_device(context.device()).kernels->layout) {
    const Shape& to = context.node().output_shape(0);
    const Ints order = order_of(context.node());
    const size_t axis = static_cast<size_t>(std::find(order.begin(), order.end(), static_cast<int64_t>(order.size() - 1)) - order.begin());
    images_ = static_cast<size_t>(to.product(0, axis)), pixels_ = static_cast<size_t>(to.product(axis + 1, to.rank()));
    bytes_ = size_of(context.node().input_dtype(0)) == 1;
    cuts_ = (pixels_ + kPixels - 1) / kPixels;
  }

  void run(RunContext& context) const noexcept override {
    context.parallel_for(images_ * cuts_, [&](size_t task) {
      const size_t first = task % cuts_ * kPixels, count = std::min(kPixels, pixels_ - first), at = task / cuts_ * 3 * pixels_;
      if (bytes_)
        split(layout_.split_pixels_of_bytes, context.in<uint8_t>(0) + at, context.out<uint8_t>(0) + at, first, count);
      else
        split(layout_.split_pixels, context.in<float>(0) + at, context.out<float>(0) + at, first, count);
    });
  }

 private:
  static constexpr size_t kPixels = 16 << 10;  // fewer are not worth waking a thread for
  template <class F, class T>
  void split(F function, const T* from, T* to, size_t first, size_t count) const noexcept {
    T* const planes[] = {to + first, to + pixels_ + first, to + 2 * pixels_ + first};
    function(from + 3 * first, count, planes);
  }
  const LayoutKernels& layout_;
  size_t images_, pixels_, cuts_;
  bool bytes_;
};

// Single elements out of their order take some 0.4 ns each (first layers with channels last, AVX2, Zen 3 of 126 GFLOP/s,
// 2026-11-29), bytes as long as floats.
Estimate estimate_transpose(const NodeView& node, const Device& device) {
  Estimate estimate = estimate_copy(node, device);
  if (!estimate.declined.empty() || size_of(node.input_dtype(0)) != 1 || splits_pixels(node)) return estimate;
  estimate.seconds += device.flop_time(45 * static_cast<double>(node.output_shape(0).elements()));
  return estimate;
}

std::unique_ptr<Kernel> prepare_transpose(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape &from = node.input_shape(0), &to = node.output_shape(0);
  if (!kSmall && splits_pixels(node) && to.elements() > 0) return std::make_unique<SplitPixelsKernel>(context);
  const size_t rank = from.rank();
  const Ints order = order_of(node);
  const std::vector<StridedCopy::Axis> source = plain_axes(from);
  std::vector<StridedCopy::Axis> axes = plain_axes(to);
  for (size_t i = 0; i < rank; ++i) axes[i].from = source[static_cast<size_t>(order[i])].from;
  return movement(node, axes);
}

// Slice

Estimate estimate_slice(const NodeView& node, const Device& device) {
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.has_input(i) && !node.is_constant(i)) return declined("the bounds are not constant");
  return estimate_copy(node, device);
}

std::unique_ptr<Kernel> prepare_slice(PrepareContext& context) {
  const NodeView& node = context.node();
  const SliceRange range = slice_range(node);
  const std::vector<StridedCopy::Axis> source = plain_axes(node.input_shape(0));
  std::vector<StridedCopy::Axis> axes = plain_axes(node.output_shape(0));
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].from = source[i].from * range.step[i];
    offset += source[i].from * range.start[i];
  }
  return movement(node, axes, 0, offset);
}

// Concat and Split

size_t axis_of(const NodeView& node, int64_t fallback, size_t rank) {
  return node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", fallback}), rank);
}

// With one slice before the axis, each part is contiguous.
bool is_outermost(const Shape& shape, size_t axis) { return shape.product(0, axis) == 1; }

Estimate estimate_concat(const NodeView& node, const Device& device) {
  Estimate estimate = estimate_copy(node, device);
  if (!estimate.declined.empty()) return estimate;
  const Shape& whole = node.output_shape(0);
  estimate.joins = is_outermost(whole, axis_of(node, 0, whole.rank()));
  if (estimate.joins) estimate.seconds *= 0.25;  // mostly nothing, sometimes a copy
  return estimate;
}

std::unique_ptr<Kernel> prepare_concat(PrepareContext& context) {
  const NodeView& node = context.node();
  const std::vector<StridedCopy::Axis> whole = plain_axes(node.output_shape(0));
  const size_t axis = axis_of(node, 0, whole.size());
  auto kernel = std::make_unique<MovementKernel>();
  int64_t offset = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    std::vector<StridedCopy::Axis> axes = plain_axes(node.input_shape(i));
    for (size_t k = 0; k < axes.size(); ++k) axes[k].to = whole[k].to;
    const int64_t size = static_cast<int64_t>(size_of(node.input_dtype(0)));
    kernel->parts.push_back({i, 0, StridedCopy(axes, offset, 0, size_of(node.input_dtype(0)))});
    if (is_outermost(node.output_shape(0), axis)) kernel->parts.back().shared = offset * size;
    offset += node.input_shape(i)[axis] * whole[axis].to;
  }
  return kernel;
}

std::unique_ptr<Kernel> prepare_split(PrepareContext& context) {
  const NodeView& node = context.node();
  const std::vector<StridedCopy::Axis> whole = plain_axes(node.input_shape(0));
  const size_t axis = axis_of(node, 0, whole.size());
  auto kernel = std::make_unique<MovementKernel>();
  int64_t offset = 0;
  for (size_t i = 0; i < node.output_count(); ++i) {
    std::vector<StridedCopy::Axis> axes = plain_axes(node.output_shape(i));
    for (size_t k = 0; k < axes.size(); ++k) axes[k].from = whole[k].from;
    if (node.has_output(i)) {
      kernel->parts.push_back({0, i, StridedCopy(axes, 0, offset, size_of(node.input_dtype(0)))});
      if (is_outermost(node.input_shape(0), axis))
        kernel->parts.back().shared = -offset * static_cast<int64_t>(size_of(node.input_dtype(0)));
    }
    offset += node.output_shape(i)[axis] * whole[axis].from;
  }
  return kernel;
}

Estimate estimate_split(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.output_count(); ++i)
    if (!node.has_output(i)) return declined("a part is not wanted");
  Estimate estimate = estimate_copy(node, device);
  if (!estimate.declined.empty()) return estimate;
  const Shape& whole = node.input_shape(0);
  estimate.parts = is_outermost(whole, axis_of(node, 0, whole.rank()));
  if (estimate.parts) estimate.seconds *= 0.25;
  return estimate;
}

// In the packed layout a tensor is whole vectors of channels after each other: joining and splitting on such borders moves whole blocks.
Estimate packed_blocks(const NodeView& node, const Device& device, bool concat) {
  const Shape& whole = concat ? node.output_shape(0) : node.input_shape(0);
  if (device.pack == 1) return declined("there is no packed layout");
  const DType dtype = node.input_dtype(0);
  if (size_of(dtype) != 4 && dtype != DType::u8 && dtype != DType::i8) return declined("{} has no packed layout", dtype);
  if (whole.rank() < 3 || axis_of(node, 0, whole.rank()) != 1) return declined("the axis is not that of the channels");
  const size_t parts = concat ? node.input_count() : node.output_count();
  if (parts > 64) return declined("there are more than 64 parts");
  for (size_t i = 0; i < parts; ++i) {
    if (!concat && !node.has_output(i)) return declined("a part is not wanted");
    const int64_t channels = (concat ? node.input_shape(i) : node.output_shape(i))[1];
    if (i + 1 < parts && channels % device.pack != 0)
      return declined("part {} has {} channels, not whole vectors of {}", i, channels, device.pack);
  }
  Estimate estimate(device.byte_time(2 * tensor_bytes(concat ? node.output(0) : node.input(0))) + 2e-7);
  (concat ? estimate.joins : estimate.parts) = whole[0] == 1;
  if (whole[0] == 1) estimate.seconds *= 0.25;  // mostly nothing, sometimes a copy
  estimate.packed_inputs = concat ? ~uint64_t{0} : 1;
  estimate.packed_outputs = concat ? 1 : ~uint64_t{0};
  return estimate;
}
Estimate estimate_concat_packed(const NodeView& node, const Device& device) { return packed_blocks(node, device, true); }
Estimate estimate_split_packed(const NodeView& node, const Device& device) { return packed_blocks(node, device, false); }

std::unique_ptr<Kernel> prepare_packed_blocks(PrepareContext& context, bool concat) {
  const NodeView& node = context.node();
  const int64_t pack = context.device().pack, size = static_cast<int64_t>(size_of(node.input_dtype(0)));
  const auto elements = [&](const Shape& shape) {
    return (shape[1] + pack - 1) / pack * pack * shape.product(2, shape.rank());
  };  // of one image
  const Shape& whole = concat ? node.output_shape(0) : node.input_shape(0);
  auto kernel = std::make_unique<MovementKernel>();
  int64_t offset = 0;
  for (size_t i = 0; i < (concat ? node.input_count() : node.output_count()); ++i) {
    const int64_t part = elements(concat ? node.input_shape(i) : node.output_shape(i));
    std::vector<StridedCopy::Axis> axes = {{whole[0], concat ? elements(whole) : part, concat ? part : elements(whole)}, {part, 1, 1}};
    kernel->parts.push_back(
        {concat ? i : 0, concat ? 0 : i, StridedCopy(axes, concat ? offset : 0, concat ? 0 : offset, static_cast<size_t>(size))});
    if (whole[0] == 1) kernel->parts.back().shared = (concat ? offset : -offset) * size;
    offset += part;
  }
  return kernel;
}
std::unique_ptr<Kernel> prepare_concat_packed(PrepareContext& context) { return prepare_packed_blocks(context, true); }
std::unique_ptr<Kernel> prepare_split_packed(PrepareContext& context) { return prepare_packed_blocks(context, false); }

// Expand and Tile

std::unique_ptr<Kernel> prepare_expand(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& from = node.input_shape(0);
  const std::vector<StridedCopy::Axis> source = plain_axes(from);
  std::vector<StridedCopy::Axis> axes = plain_axes(node.output_shape(0));
  const size_t shift = axes.size() - source.size();
  for (size_t i = 0; i < axes.size(); ++i) axes[i].from = i < shift || from[i - shift] == 1 ? 0 : source[i - shift].from;
  return movement(node, axes);
}

std::unique_ptr<Kernel> prepare_tile(PrepareContext& context) {
  const NodeView& node = context.node();
  const std::vector<StridedCopy::Axis> source = plain_axes(node.input_shape(0)), whole = plain_axes(node.output_shape(0));
  std::vector<StridedCopy::Axis> axes;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t repeats = source[i].extent ? whole[i].extent / source[i].extent : 0;
    axes.push_back({repeats, whole[i].to * source[i].extent, 0});
    axes.push_back({source[i].extent, whole[i].to, source[i].from});
  }
  return movement(node, axes);
}

// Pad with a constant

Estimate estimate_pad(const NodeView& node, const Device& device) {
  if (node.attribute(Attribute<Name>{"mode", "constant"}) != "constant") return declined("the mode is not \"constant\"");
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.has_input(i) && !node.is_constant(i)) return declined("input {} is not constant", i);
  return estimate_copy(node, device);
}

std::unique_ptr<Kernel> prepare_pad(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& from = node.input_shape(0);
  const size_t rank = from.rank(), size = size_of(node.input_dtype(0));
  const Ints pads = node.ints(1);
  Ints axes_given;
  if (node.has_input(3))
    axes_given = node.ints(3);
  else
    for (size_t i = 0; i < rank; ++i) axes_given.push_back(static_cast<int64_t>(i));
  const std::vector<StridedCopy::Axis> source = plain_axes(from);
  std::vector<StridedCopy::Axis> axes = plain_axes(node.output_shape(0));
  int64_t to_offset = 0, from_offset = 0;
  for (size_t i = 0; i < rank; ++i) axes[i].from = source[i].from, axes[i].extent = from[i];
  for (size_t k = 0; k < axes_given.size(); ++k) {  // a negative pad crops
    const size_t i = node.normalize_axis(axes_given[k], rank);
    const int64_t before = pads[k], after = pads[k + axes_given.size()];
    to_offset += std::max<int64_t>(before, 0) * axes[i].to;
    from_offset += std::max<int64_t>(-before, 0) * axes[i].from;
    axes[i].extent = std::max<int64_t>(0, from[i] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0));
  }
  std::unique_ptr<MovementKernel> kernel = movement(node, axes, to_offset, from_offset);
  kernel->fill.assign(size, std::byte{0});
  if (node.has_input(2) && node.contents(2).elements() == 1) std::memcpy(kernel->fill.data(), node.contents(2).data(), size);
  kernel->fill_count = static_cast<size_t>(node.output_shape(0).elements());
  return kernel;
}

// DepthToSpace and SpaceToDepth

std::unique_ptr<Kernel> prepare_depth_space(PrepareContext& context) {
  const NodeView& node = context.node();
  const int64_t b = node.require<int64_t>("blocksize");
  const bool to_space = node.op() == "DepthToSpace", crd = node.attribute(Attribute<Name>{"mode", "DCR"}) == "CRD";
  const Shape& deep = to_space ? node.input_shape(0) : node.output_shape(0);  // [n, c b b, h, w]
  const int64_t n = deep[0], c = deep[1] / (b * b), h = deep[2], w = deep[3];
  // Strides of (n, c, block row, block column, h, w) on the deep side, and of the same on the wide side [n, c, h b, w b].
  const int64_t image = deep[1] * h * w;
  const int64_t deep_c = crd ? b * b * h * w : h * w, deep_y = crd ? b * h * w : b * c * h * w, deep_x = crd ? h * w : c * h * w;
  struct Both {
    int64_t extent, deep, wide;
  };
  const Both both[] = {{n, image, image}, {c, deep_c, h * b * w * b}, {h, w, b * w * b}, {b, deep_y, w * b}, {w, 1, b}, {b, deep_x, 1}};
  std::vector<StridedCopy::Axis> axes;  // by falling stride of the output
  for (const Both& both_of : both) {
    const StridedCopy::Axis axis{both_of.extent, to_space ? both_of.wide : both_of.deep, to_space ? both_of.deep : both_of.wide};
    axes.insert(std::find_if(axes.begin(), axes.end(), [&](const StridedCopy::Axis& other) { return other.to < axis.to; }), axis);
  }
  return movement(node, axes);
}

// Operators that keep the elements in order: nothing to do where the output has taken over the input's memory.

class AliasKernel final : public Kernel {
 public:
  explicit AliasKernel(size_t bytes) : bytes_(bytes) {}
  void run(RunContext& context) const noexcept override {
    const void* from = context.in<void>(0);
    void* to = context.out<void>(0);
    if (from != to && bytes_) std::memcpy(to, from, bytes_);
  }

 private:
  size_t bytes_;
};

Estimate estimate_alias(const NodeView& node, const Device& device) {
  if (node.input(0).kind != ValueInfo::Kind::tensor) return declined("the input is no tensor");
  Estimate estimate(device.byte_time(tensor_bytes(node.output(0))) * 0.25 + 1e-8);  // mostly nothing, sometimes a copy
  estimate.overwrites = 0;
  estimate.is_view = true;
  return estimate;
}

std::unique_ptr<Kernel> prepare_alias(PrepareContext& context) {
  return std::make_unique<AliasKernel>(static_cast<size_t>(tensor_bytes(context.node().output(0))));
}

// Gather of whole rows

class GatherKernel final : public Kernel {
 public:
  int64_t outer = 0, rows = 0, count = 0;
  size_t row_bytes = 0;
  bool wide_index = true;
  std::string where;

  void run(RunContext& context) const noexcept override {
    constexpr int64_t kPiece = 1 << 16;  // bytes that are worth a task
    const int64_t each = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, outer * static_cast<int64_t>(row_bytes)));
    std::atomic<int64_t> wrong{count};  // the first place whose index is out of range
    context.parallel_for(static_cast<size_t>((count + each - 1) / each), [&](size_t task) {
      const int64_t first = static_cast<int64_t>(task) * each, last = std::min(count, first + each);
      // For single elements, calling memcpy would take most of the time.
      const int64_t end = row_bytes == 4   ? copy_rows(context, first, last, std::integral_constant<size_t, 4>())
                          : row_bytes == 8 ? copy_rows(context, first, last, std::integral_constant<size_t, 8>())
                                           : copy_rows(context, first, last, row_bytes);
      int64_t before = wrong;
      while (end < last && end < before && !wrong.compare_exchange_weak(before, end)) {}
    });
    if (wrong < count) context.fail("{}: index {} is out of range for {} rows", where, index_at(context, wrong), rows);
  }

 private:
  int64_t index_at(const RunContext& context, int64_t k) const noexcept {
    return wide_index ? context.in<int64_t>(1)[k] : context.in<int32_t>(1)[k];
  }
  /// Rows of the indices [first, last); gives the first that is out of range, or last.
  template <class Bytes>
  int64_t copy_rows(const RunContext& context, int64_t first, int64_t last, Bytes bytes) const noexcept {
    constexpr int64_t kBlock = 64;
    const bool wide = wide_index;
    const int64_t height = rows, blocks = outer, *wide_indices = context.in<int64_t>(1);
    const int32_t* narrow_indices = context.in<int32_t>(1);
    const size_t size = bytes;
    size_t places[kBlock];
    for (int64_t k = first; k < last; k += kBlock) {
      const int64_t some = std::min(kBlock, last - k);
      for (int64_t i = 0; i < some; ++i) {
        int64_t index = wide ? wide_indices[k + i] : narrow_indices[k + i];
        if (index < 0) index += height;
        if (index < 0 || index >= height) return k + i;
        places[i] = static_cast<size_t>(index) * size;
      }
      for (int64_t o = 0; o < blocks; ++o) {
        const char* from = context.in<char>(0) + static_cast<size_t>(o * height) * size;
        char* to = context.out<char>(0) + static_cast<size_t>(o * count + k) * size;
        for (int64_t i = 0; i < some; ++i, to += size) std::memcpy(to, from + places[i], bytes);
      }
    }
    return last;
  }
};

std::unique_ptr<Kernel> prepare_gather(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& data = node.input_shape(0);
  const size_t axis = axis_of(node, 0, data.rank());
  auto kernel = std::make_unique<GatherKernel>();
  kernel->outer = data.product(0, axis);
  kernel->rows = data[axis];
  kernel->count = node.input_shape(1).elements();
  kernel->row_bytes = static_cast<size_t>(data.product(axis + 1, data.rank())) * size_of(node.input_dtype(0));
  kernel->wide_index = node.input_dtype(1) == DType::i64;
  kernel->where = node.where();
  return kernel;
}

constexpr Scheme kSchemes[] = {
    {"Concat", "concat.packed", estimate_concat_packed, prepare_concat_packed},
    {"Concat", "concat", estimate_concat, prepare_concat},
    {"DepthToSpace", "depth_to_space", estimate_copy, prepare_depth_space},
    {"Expand", "expand", estimate_copy, prepare_expand},
    {"Flatten", "alias", estimate_alias, prepare_alias},
    {"Gather", "gather", estimate_copy, prepare_gather},
    {"Identity", "alias", estimate_alias, prepare_alias},
    {"Pad", "pad.constant", estimate_pad, prepare_pad},
    {"Reshape", "alias", estimate_alias, prepare_alias},
    {"Slice", "slice", estimate_slice, prepare_slice},
    {"SpaceToDepth", "space_to_depth", estimate_copy, prepare_depth_space},
    {"Split", "split.packed", estimate_split_packed, prepare_split_packed},
    {"Split", "split", estimate_split, prepare_split},
    {"Squeeze", "alias", estimate_alias, prepare_alias},
    {"Tile", "tile", estimate_copy, prepare_tile},
    {"Transpose", "transpose", estimate_transpose, prepare_transpose},
    {"Unsqueeze", "alias", estimate_alias, prepare_alias},
};

}  // namespace

std::span<const Scheme> movement_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
