// SPDX-License-Identifier: Apache-2.0
// Elements read from or written to places that indices name. An index out of range is reported when the run ends (KernelText::faults);
// of several updates that replace one element any may stay.
#include <algorithm>

#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

constexpr Attribute<int64_t> kAxis{"axis", 0};
constexpr Attribute<Name> kReduction{"reduction", "none"};

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && (node.input_shape(i).elements() == 0 || node.input_shape(i).elements() > INT32_MAX))
      return declined("input {} has {} elements", i, node.input_shape(i).elements());
  return estimate_of(node, device);
}

std::unique_ptr<Kernel> prepare_gather(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& data = node.input_shape(0);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), data.rank());
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.input(1, "indices");
  text.output(0, "y", true);
  text.number("dim", data[axis]);
  text.number("count", node.input_shape(1).elements());
  text.number("block", data.product(axis + 1, data.rank()));
  text.faults();
  text.add_items("gather", node.output_shape(0).elements(), R"(
  const int j = i / block, outer = j / count;
  CHECKED(at, GET(indices, j - outer * count), dim)
  PUT(y, i, GET(x, (outer * dim + at) * block + i - j * block));
)");
  return kernel;
}

// Places in data of the elements of the indices, without `axis`.
Broadcast elementwise_places(const NodeView& node, size_t axis) {
  const Shape& data = node.input_shape(0);
  Ints strides(data.rank());
  for (size_t i = 0; i < strides.size(); ++i) strides[i] = i == axis ? 0 : data.product(i + 1, data.rank());
  Broadcast places(node.input_shape(1));
  places.add(std::move(strides));
  places.finish();
  return places;
}

// The numbers of a kernel with single elements or tuples as indices, and the macro OFFSET that makes `at` from them for index number j.
void add_elementwise(KernelText& text, const NodeView& node) {
  const Shape& data = node.input_shape(0);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), data.rank());
  text.number("dim", data[axis]);
  text.number("stride", data.product(axis + 1, data.rank()));
  text.number("block", 1);
  text.places(elementwise_places(node, axis), "data");
  text.faults();
  text.define("OFFSET", "PLACE_data CHECKED(chosen, GET(indices, j), dim) const int at = AT_data0 + chosen * stride;");
}
void add_tuples(KernelText& text, const NodeView& node, size_t batch) {
  const Shape &data = node.input_shape(0), &indices = node.input_shape(1);
  const size_t depth = static_cast<size_t>(indices.back());
  std::vector<int32_t> sizes;  // and strides
  for (size_t i = batch; i < batch + depth; ++i) {
    sizes.push_back(static_cast<int32_t>(data[i]));
    sizes.push_back(static_cast<int32_t>(data.product(i + 1, data.rank())));
  }
  text.table(sizes, "sizes");
  text.number("depth", static_cast<int64_t>(depth));
  text.number("block", data.product(batch + depth, data.rank()));
  text.number("in_batch", indices.product(batch, indices.rank() - 1));
  text.number("batch_stride", data.product(batch, data.rank()));
  text.faults();
  text.define("OFFSET",
              "int at = j / in_batch * batch_stride; for (int d = 0; d < depth; ++d) { CHECKED(chosen, GET(indices, j * depth + d), "
              "sizes[2 * d]) at += chosen * sizes[2 * d + 1]; }");
}

template <bool kTuples>
std::unique_ptr<Kernel> prepare_pick(PrepareContext& context) {
  const NodeView& node = context.node();
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.input(1, "indices");
  text.output(0, "y", true);
  if (kTuples)
    add_tuples(text, node, static_cast<size_t>(node.attribute(Attribute<int64_t>{"batch_dims", 0})));
  else
    add_elementwise(text, node);
  text.add_items("pick", node.output_shape(0).elements(),
                 "  const int j = i / block;\n  OFFSET\n  PUT(y, i, GET(x, at + i - j * block));\n");
  return kernel;
}

// Puts a copy of input 0 into output 0, unless they share memory.
void add_whole_copy(Launches& kernel, const NodeView& node) {
  KernelText text(kernel, node, 0);
  text.input(0, "x", true);
  text.output(0, "y", true);
  text.add_items("whole", node.output_shape(0).elements(), "  PUT(y, i, GET(x, i));\n");
  kernel.skip_if_same(0, 0, 0, 0);
}

Estimate estimate_scatter(const NodeView& node, const Device& device) {
  Estimate result = estimate(node, device);
  const DType dtype = node.input_dtype(0);
  if (node.attribute(kReduction) != "none" && dtype != DType::f32 && dtype != DType::i32 && dtype != DType::u32)
    return declined("elements of dtype {} are joined", dtype);
  result.overwrites = 0;
  return result;
}

// Joins are retried until no other item came between. Where updates replace elements and several have one place, the last one counts: the
// largest number of an update, from 1 on, is found for each place first.
template <bool kTuples>
std::unique_ptr<Kernel> prepare_scatter(PrepareContext& context) {
  const NodeView& node = context.node();
  auto kernel = std::make_unique<Launches>(context);
  add_whole_copy(*kernel, node);
  KernelText text(*kernel, node);
  const std::string_view reduction = node.attribute(kReduction);
  const bool replaces = reduction == "none";
  text.input(1, "indices");
  text.input(2, "updates", replaces);
  text.output(0, "y", replaces);
  if (kTuples)
    add_tuples(text, node, 0);
  else
    add_elementwise(text, node);
  text.define("REPLACES", replaces ? 1 : 0);
  text.define("TO", "const int j = i / block; OFFSET const int to = at + i - j * block;");
  const int64_t count = node.input_shape(2).elements();
  if (replaces) {
    text.scratch(context.reserve_scratch(static_cast<size_t>(node.output_shape(0).elements()) * sizeof(uint32_t)), "last", "u32", true);
    text.add_items("forget", count, "  TO\n  last[to] = 0;\n");
    text.add_items("find_last", count, R"(
  TO
  GLOBAL volatile u32* place = (GLOBAL volatile u32*)(last + to);
  u32 old = *place, seen;
  do {
    seen = old;
    if (seen > (u32)i) break;
    old = COMPARE_EXCHANGE(place, seen, (u32)i + 1);
  } while (old != seen);
)");
  }
  const bool is_real_dtype = is_real(node.input_dtype(0));
  text.define("JOIN(a, b)", reduction == "add"   ? "a + b"
                            : reduction == "mul" ? "a * b"
                            : reduction == "max" ? "a != a || b != b ? a + b : b > a ? b : a"
                                                 : "a != a || b != b ? a + b : b < a ? b : a");
  text.define("BITS(v)", is_real_dtype ? "AS_U32(v)" : "(u32)(v)");
  text.define("VALUE(bits)", is_real_dtype ? "AS_F32(bits)" : "(C_y)(bits)");
  text.add_items("scatter", count, R"(
  TO
#if REPLACES
  if (last[to] == (u32)i + 1) PUT(y, to, GET(updates, i));
#else
  const C_y update = GET(updates, i);
  GLOBAL volatile u32* place = (GLOBAL volatile u32*)(y + to);
  u32 old = *place, seen;
  do {
    seen = old;
    const C_y before = VALUE(seen);
    old = COMPARE_EXCHANGE(place, seen, BITS(JOIN(before, update)));
  } while (old != seen);
#endif
)");
  return kernel;
}

std::unique_ptr<Kernel> prepare_tensor_scatter(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape &cache = node.input_shape(0), &update = node.input_shape(1);
  const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -2}), cache.rank());
  auto kernel = std::make_unique<Launches>(context);
  add_whole_copy(*kernel, node);
  KernelText text(*kernel, node);
  text.input(1, "update", true);
  text.input(2, "first");
  text.output(0, "y", true);
  text.number("block", cache.product(axis + 1, cache.rank()));
  text.number("steps", update[axis]);
  text.number("length", cache[axis]);
  text.number("outer", cache.product(1, axis));
  text.faults("a sample is written at {}, which is beyond {}");
  text.define("CIRCULAR", node.attribute(Attribute<Name>{"mode", "linear"}) == "circular" ? 1 : 0);
  text.add_items("tensor_scatter", update.elements(), R"(
  const int step = i / block % steps, row = i / block / steps;
  i64 start = 0;
#if HAS_first
  start = GET(first, row / outer);
#endif
  if (CIRCULAR) start = (start % length + length) % length;
  else if (start < 0 || start > length - steps) { FAULT(start, length - steps) start = 0; }
  PUT(y, (row * length + ((int)start + step) % length) * block + i % block, GET(update, i));
)");
  return kernel;
}

std::unique_ptr<Kernel> prepare_reverse(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const size_t time = node.normalize_axis(node.attribute(Attribute<int64_t>{"time_axis", 0}), x.rank());
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.input(1, "lengths");
  text.output(0, "y", true);
  text.number("second", x[1]);
  text.number("row", x.product(2, x.rank()));
  text.number("steps", x[time]);
  text.faults("a sequence has length {}, the time axis has {}");
  text.define("TIME", static_cast<int64_t>(time));
  text.add_items("reverse", x.elements(), R"(
  const int c1 = i / row % second, c0 = i / row / second, t = TIME ? c1 : c0;
  i64 length = GET(lengths, TIME ? c0 : c1);
  if (length < 0 || length > steps) { FAULT(length, steps) length = 0; }
  const int from = t < length ? (int)length - 1 - t : t;
  PUT(y, i, GET(x, (TIME ? c0 * second + from : from * second + c1) * row + i % row));
)");
  return kernel;
}

Estimate estimate_one_hot(const NodeView& node, const Device& device) {
  if (dialect_name(node.input_dtype(0)).empty()) return declined("the dtype of the indices is {}", node.input_dtype(0));
  return estimate(node, device);
}

std::unique_ptr<Kernel> prepare_one_hot(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& y = node.output_shape(0);
  const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), y.rank());
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "indices");
  text.input(2, "values", true);
  text.output(0, "y", true);
  text.number("depth", y[axis]);
  text.number("inner", y.product(axis + 1, y.rank()));
  text.define("WHOLE(v)", is_real(node.input_dtype(0)) ? "(fabs(v) <= (float)depth ? (i64)(v) : (i64)depth)" : "(v)");
  text.add_items("one_hot", y.elements(), R"(
  const int place = i / inner % depth;
  const C_indices given = GET(indices, i / inner / depth * inner + i % inner);
  PUT(y, i, GET(values, WHOLE(given) == place || (given < 0 && WHOLE(given) + depth == place) ? 1 : 0));
)");
  return kernel;
}

Estimate estimate_trilu(const NodeView& node, const Device& device) {
  if (node.has_input(1) && !node.is_constant(1)) return declined("the diagonal is not constant");
  return estimate(node, device);
}

std::unique_ptr<Kernel> prepare_trilu(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const int64_t rows = x[x.rank() - 2], columns = x.back();
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.output(0, "y", true);
  text.number("rows", rows);
  text.number("columns", columns);
  text.number("diagonal", node.has_input(1) ? std::clamp(node.int_scalar(1), -rows, columns) : 0);
  text.define("KEEPS(d)", node.attribute(Attribute<bool>{"upper", true}) ? "(d >= diagonal)" : "(d <= diagonal)");
  text.add_items("trilu", x.elements(), R"(
  const int d = i % columns - i / columns % rows;
  PUT(y, i, KEEPS(d) ? GET(x, i) : 0);
)");
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Gather", "gpu.gather", estimate, prepare_gather},
                               {"GatherElements", "gpu.pick", estimate, prepare_pick<false>},
                               {"GatherND", "gpu.pick", estimate, prepare_pick<true>},
                               {"OneHot", "gpu.one_hot", estimate_one_hot, prepare_one_hot},
                               {"ReverseSequence", "gpu.reverse", estimate, prepare_reverse},
                               {"ScatterElements", "gpu.scatter", estimate_scatter, prepare_scatter<false>},
                               {"ScatterND", "gpu.scatter", estimate_scatter, prepare_scatter<true>},
                               {"TensorScatter", "gpu.scatter", estimate, prepare_tensor_scatter},
                               {"Trilu", "gpu.trilu", estimate_trilu, prepare_trilu}};

}  // namespace

std::span<const Scheme> indexing_schemes() { return kSchemes; }

}  // namespace minnow::gpu
