// SPDX-License-Identifier: Apache-2.0
// Reductions of floats over any axes: a group of items for each result, or one item where few elements make a result. Where neighbours make
// different results (sums of columns), a group treats 32 results, and 8 of its items one of them.
#include "backends/gpu/schemes/broadcast.h"
#include "backends/gpu/schemes/lines.h"
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kFew = 64;  // elements that one item reduces
constexpr int64_t kColumns = 32;

struct Row {
  std::string_view op, map, join, start, end;  // of element v; JOIN; the neutral element; of the result v over n elements
};
constexpr Row kRows[] = {{"ReduceSum", "v", "SUM", "0.0f", "v"},
                         {"ReduceMean", "v", "SUM", "0.0f", "v / (float)length"},
                         {"GlobalAveragePool", "v", "SUM", "0.0f", "v / (float)length"},
                         {"ReduceMax", "v", "MOST", "-AS_F32(0x7f800000u)", "v"},
                         {"GlobalMaxPool", "v", "MOST", "-AS_F32(0x7f800000u)", "v"},
                         {"ReduceMin", "v", "LEAST", "AS_F32(0x7f800000u)", "v"},
                         {"ReduceProd", "v", "PRODUCT", "1.0f", "v"},
                         {"ReduceL1", "fabs(v)", "SUM", "0.0f", "v"},
                         {"ReduceL2", "v * v", "SUM", "0.0f", "sqrt(v)"},
                         {"ReduceSumSquare", "v * v", "SUM", "0.0f", "v"},
                         {"ReduceLogSum", "v", "SUM", "0.0f", "log(v)"}};

const Row& row_of(const NodeView& node) {
  for (const Row& row : kRows)
    if (row.op == node.op()) return row;
  throw InternalError("{}: there is no such reduction", node.where());
}

std::vector<bool> reduced_axes(const NodeView& node) {
  const size_t rank = node.input_shape(0).rank();
  std::vector<bool> reduced(rank, false);
  if (node.op().starts_with("Global")) {
    for (size_t axis = 2; axis < rank; ++axis) reduced[axis] = true;
    return reduced;
  }
  const Ints axes = node.has_input(1) ? node.ints(1) : Ints();
  if (axes.empty() && !node.attribute(Attribute<bool>{"noop_with_empty_axes", false})) reduced.assign(rank, true);
  for (int64_t axis : axes) reduced[node.normalize_axis(axis, rank)] = true;
  return reduced;
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  if (!is_real(node.input_dtype(0))) return declined("the dtype is {}", node.input_dtype(0));
  if (node.has_input(1) && !node.is_constant(1)) return declined("the axes are not constant");
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  reduced_axes(node);
  return estimate_of(node, device, 0);
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Row& row = row_of(node);
  const Shape& x = node.input_shape(0);
  const std::vector<bool> reduced = reduced_axes(node);
  Ints kept_dims, kept_steps, dims, steps;
  int64_t step = 1;
  for (size_t axis = x.rank(); axis-- > 0;) {
    (reduced[axis] ? dims : kept_dims).insert((reduced[axis] ? dims : kept_dims).begin(), x[axis]);
    (reduced[axis] ? steps : kept_steps).insert((reduced[axis] ? steps : kept_steps).begin(), step);
    step *= x[axis];
  }
  Broadcast kept(Shape(kept_dims), "k", "result"), inside(Shape(dims), "r", "j");
  kept.add(std::move(kept_steps));
  inside.add(std::move(steps));
  kept.finish();
  inside.finish();
  const int64_t results = Shape(kept_dims).elements(), length = Shape(dims).elements();
  std::vector<Given> given = {Given::input(0), Given::output(0), results, length};
  kept.append_arguments(given);
  inside.append_arguments(given);
  const std::string_view dtype = dialect_name(node.input_dtype(0));
  const bool few = length <= kFew, columns = !few && !reduced.back() && x[x.rank() - 1] >= kColumns;
  const std::string loop =
      format("    {{\n{}    const float v = LOAD({}, x, base + {});\n    const float w = {};\n    sum = {}(w, sum);\n    }}\n",
             inside.coordinates(), dtype, inside.index(0), row.map, row.join);
  std::string source =
      format("{}REDUCE(group_join, {})\nKERNEL(reduce)(READ(MEM({}), x), WRITE(MEM({}), y), const int results, const int length{}{}) {{\n",
             kGroupReductions, row.join, dtype, dtype, kept.parameters(), inside.parameters());
  source += format("  USE_READ(MEM({}), x);\n  USE_WRITE(MEM({}), y);\n", dtype, dtype);
  source += few       ? "  const int result = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (result >= results) return;\n"
            : columns ? "  LOCAL float shared[256];\n  const int row = ITEM(0) / 32, result = GROUP(0) * 32 + ITEM(0) % 32;\n"
                      : "  LOCAL float shared[256];\n  const int result = GROUP(0);\n";
  source += kept.coordinates() + format("  const int base = {};\n  float sum = {};\n", kept.index(0), row.start);
  source += few       ? "  for (int j = 0; j < length; ++j)\n"
            : columns ? "  if (result < results) for (int j = row; j < length; j += 8)\n"
                      : "  for (int j = ITEM(0); j < length; j += 256)\n";
  source += loop;
  if (columns)
    source += format(
        "  shared[ITEM(0)] = sum;\n  BARRIER();\n  if (row != 0 || result >= results) return;\n"
        "  for (int r = 1; r < 8; ++r) sum = {}(shared[r * 32 + ITEM(0)], sum);\n",
        row.join);
  else if (!few)
    source += "  sum = group_join(sum, shared);\n  if (ITEM(0) != 0) return;\n";
  source += format("  const float v = sum;\n  STORE({}, y, result, {});\n}}\n", dtype, row.end);
  auto kernel = std::make_unique<Launches>(context);
  if (few)
    kernel->add_1d(source, "reduce", results, std::move(given));
  else
    kernel->add(source, "reduce", {static_cast<uint32_t>(columns ? (results + kColumns - 1) / kColumns : results), 1, 1}, {256, 1, 1},
                std::move(given));
  return kernel;
}

#define MINNOW_ROW(op) \
  { op, "gpu.reduce", estimate, prepare }
constexpr Scheme kSchemes[] = {MINNOW_ROW("ReduceSum"),       MINNOW_ROW("ReduceMean"),    MINNOW_ROW("GlobalAveragePool"),
                               MINNOW_ROW("ReduceMax"),       MINNOW_ROW("GlobalMaxPool"), MINNOW_ROW("ReduceMin"),
                               MINNOW_ROW("ReduceProd"),      MINNOW_ROW("ReduceL1"),      MINNOW_ROW("ReduceL2"),
                               MINNOW_ROW("ReduceSumSquare"), MINNOW_ROW("ReduceLogSum")};
#undef MINNOW_ROW

}  // namespace

std::span<const Scheme> reduce_schemes() { return kSchemes; }

}  // namespace minnow::gpu
