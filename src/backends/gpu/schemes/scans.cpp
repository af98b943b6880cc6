// SPDX-License-Identifier: Apache-2.0
// Operators that look along one axis in order: running sums, and the places of the largest and smallest elements.
#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

struct Line {
  int64_t length, inner, lines;
  Line(const Shape& x, size_t axis)
      : length(x[axis]), inner(x.product(axis + 1, x.rank())), lines(x.elements() / std::max<int64_t>(length, 1)) {}
};

size_t axis_of(const NodeView& node, int64_t fallback) {
  return node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", fallback}), node.input_shape(0).rank());
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  return estimate_of(node, device);
}

// Whether element number a with value u goes before element b with value v: NaN is larger than all numbers, of equals one comes first.
constexpr std::string_view kOrder = R"(
#define BEYOND(u, v) (LARGEST ? ((u) > (v) || ((u) != (u) && (v) == (v))) : ((u) < (v) || ((v) != (v) && (u) == (u))))
)";

// ArgMax, ArgMin, Hardmax. A group for each line, or an item where lines are short.
constexpr std::string_view kChoose = R"(
  const int line = LINE, lane = GROUP_OF_LINE ? ITEM(0) : 0, lanes = GROUP_OF_LINE ? ITEMS(0) : 1;
  const int first = line / inner * length * inner + line % inner;
  int best = -1;
  C_x champion = 0;
  for (int k = lane; k < length; k += lanes) {
    const C_x v = GET(x, first + k * inner);
    if (best < 0 || BETTER(v, k, champion, best)) { best = k; champion = v; }
  }
#if GROUP_OF_LINE
  LOCAL C_x values[256];
  LOCAL int places[256];
  values[lane] = champion;
  places[lane] = best;
  for (int step = lanes / 2; step > 0; step /= 2) {
    BARRIER();
    if (lane < step && places[lane + step] >= 0 &&
        (places[lane] < 0 || BETTER(values[lane + step], places[lane + step], values[lane], places[lane]))) {
      values[lane] = values[lane + step];
      places[lane] = places[lane + step];
    }
  }
  BARRIER();
  best = places[0];
#endif
#if HARD
  for (int k = lane; k < length; k += lanes) PUT(y, first + k * inner, k == best ? 1 : 0);
#else
  if (lane == 0) PUT(y, line, best);
#endif
)";

std::unique_ptr<Kernel> prepare_choice(PrepareContext& context) {
  const NodeView& node = context.node();
  const std::string_view op = node.op();
  const bool hard = op == "Hardmax";
  const Line line(node.input_shape(0), axis_of(node, hard ? -1 : 0));
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.output(0, "y");
  text.number("length", line.length);
  text.number("inner", line.inner);
  const bool grouped = line.length > 64;
  text.define("GROUP_OF_LINE", grouped ? 1 : 0);
  text.define("LINE", grouped ? "GROUP(0)" : "i");
  text.define("HARD", hard ? 1 : 0);
  // Minima have NaN first too.
  const bool least = op == "ArgMin", last = !hard && node.attribute(Attribute<bool>{"select_last_index", false});
  text.define("WINS(u, v)", least ? "((u) < (v) || ((u) != (u) && (v) == (v))) && !((v) != (v))"
                                  : "((u) > (v) && (v) == (v)) || ((u) != (u) && (v) == (v))");
  text.define("SAME(u, v)", "((u) == (v) || ((u) != (u) && (v) != (v)))");
  text.define("BETTER(u, a, v, b)", format("((WINS(u, v)) || (SAME(u, v) && (a) {} (b)))", last ? ">" : "<"));
  if (grouped)
    text.add_groups("choose", line.lines, items_for(line.length), kChoose);
  else
    text.add_items("choose", line.lines, kChoose);
  return kernel;
}

// TopK: the place of an element is the number of those that go before it.
constexpr double kMostComparisons = 3e11;

Estimate estimate_top(const NodeView& node, const Device& device) {
  Estimate result = estimate(node, device);
  if (!result.declined.empty()) return result;
  const double comparisons =
      static_cast<double>(node.input_shape(0).elements()) * static_cast<double>(node.input_shape(0)[axis_of(node, -1)]);
  if (comparisons > kMostComparisons) return declined("the lines are too long to compare each element with each");
  result.seconds += device.flop_time(2 * comparisons, 0.3);
  return result;
}

std::unique_ptr<Kernel> prepare_top(PrepareContext& context) {
  const NodeView& node = context.node();
  const size_t axis = axis_of(node, -1);
  const Line line(node.input_shape(0), axis);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.output(0, "values");
  text.output(1, "places");
  text.number("length", line.length);
  text.number("inner", line.inner);
  const bool has_values = node.has_output(0);
  text.number("count", node.output_shape(has_values ? 0 : 1)[axis]);
  text.define("LARGEST", node.attribute(Attribute<bool>{"largest", true}) ? 1 : 0);
  text.add_items("top", node.input_shape(0).elements(), R"(
  const int own = i / inner % length, outer = i / inner / length, first = i - own * inner;
  const C_x v = GET(x, i);
  int rank = 0;
  for (int k = 0; k < length && rank < count; ++k) {
    const C_x u = GET(x, first + k * inner);
    if (BEYOND(u, v) || (k < own && !(BEYOND(v, u)))) ++rank;
  }
  if (rank >= count) return;
  const int to = (outer * count + rank) * inner + i % inner;
#if HAS_values
  PUT(values, to, v);
#endif
#if HAS_places
  PUT(places, to, own);
#endif
)",
                 kOrder);
  return kernel;
}

// CumSum, CumProd: blocks of a line, each by doubling steps.
Estimate estimate_running(const NodeView& node, const Device& device) {
  if (node.has_input(1) && !node.is_constant(1)) return declined("the axis is not constant");
  return estimate(node, device);
}

std::unique_ptr<Kernel> prepare_running(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const Line line(x, node.normalize_axis(node.int_scalar(1), x.rank()));
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.output(0, "y");
  text.number("length", line.length);
  text.number("inner", line.inner);
  const bool product = node.op() == "CumProd";
  text.define("JOIN(a, b)", product ? "((a) * (b))" : "((a) + (b))");
  text.define("NEUTRAL", product ? 1 : 0);
  text.define("EXCLUSIVE", node.attribute(Attribute<bool>{"exclusive", false}) ? 1 : 0);
  text.define("REVERSE", node.attribute(Attribute<bool>{"reverse", false}) ? 1 : 0);
  text.add_groups("running", line.lines, items_for(line.length), R"(
  LOCAL C_x sums[257];
  const int lane = ITEM(0), first = GROUP(0) / inner * length * inner + GROUP(0) % inner;
  C_x before = NEUTRAL;
  for (int k0 = 0; k0 < length; k0 += ITEMS(0)) {
    const int k = k0 + lane, at = first + (REVERSE ? length - 1 - k : k) * inner;
    C_x sum = k < length ? GET(x, at) : NEUTRAL;
    for (int step = 1; step < ITEMS(0); step *= 2) {
      BARRIER();
      sums[lane] = sum;
      BARRIER();
      if (lane >= step) sum = JOIN(sums[lane - step], sum);
    }
    BARRIER();
    sums[lane + 1] = sum;
    if (lane == 0) sums[0] = NEUTRAL;
    BARRIER();
    if (k < length) PUT(y, at, JOIN(before, sums[lane + !EXCLUSIVE]));
    before = JOIN(before, sums[ITEMS(0)]);
  }
)");
  return kernel;
}

constexpr Scheme kSchemes[] = {{"ArgMax", "gpu.choose", estimate, prepare_choice},
                               {"ArgMin", "gpu.choose", estimate, prepare_choice},
                               {"CumProd", "gpu.running", estimate_running, prepare_running},
                               {"CumSum", "gpu.running", estimate_running, prepare_running},
                               {"Hardmax", "gpu.choose", estimate, prepare_choice},
                               {"TopK", "gpu.top", estimate_top, prepare_top}};

}  // namespace

std::span<const Scheme> scan_schemes() { return kSchemes; }

}  // namespace minnow::gpu
