// SPDX-License-Identifier: Apache-2.0
// The loss of sequences without alignment (Graves et al. 2006). python/minnow/nn/_losses.py has the same.
#include <cmath>

#include "base/no_memory.h"
#include "train/nn/ops.h"

namespace minnow::nn {
namespace {

constexpr double kNever = -1e30;  // the logarithm of a probability that counts as 0

Var unsqueezed(const Var& x, int64_t axis) { return op("Unsqueeze", {x, ints({axis})}); }
Var as_i64(const Var& x) { return x.dtype() == DType::i64 ? x : x.astype(DType::i64); }
Var number(int64_t value) { return Var::scalar(value, DType::i64); }

}  // namespace

Var ctc_loss(const Vars& given, const LossOptions& o) try {
  if (given.size() != 4)
    throw InvalidArgument("ctc_loss takes logarithms of shares [T, N, C], targets [N, S], and the lengths of both [N], {} inputs are given",
                          given.size());
  const Var& x = given[0];
  const Shape shape = x.shape();
  if (shape.rank() != 3) throw InvalidArgument("ctc_loss takes logarithms of shares [T, N, C], their shape is {}", shape);
  const int64_t steps = shape[0], batch = shape[1];
  const Var targets = as_i64(given[1]), lengths = op("Reshape", {as_i64(given[2]), ints({-1})}),
            sizes = op("Reshape", {as_i64(given[3]), ints({-1})});
  const Shape target_shape = targets.shape();
  if (target_shape.rank() != 2 || target_shape[0] != batch)
    throw InvalidArgument("targets have the shape [{}, S], it is {}", batch, target_shape);
  if (steps == 0) throw InvalidArgument("ctc_loss takes one step at least, the shape is {}", shape);
  const int64_t longest = target_shape[1], states = 2 * longest + 1;
  const Var hopeless = like(kNever, x), blank = number(o.blank);
  // blank, label, blank, label ... blank
  const Var blanks = op("Expand", {blank, ints({batch, longest})}), last = op("Expand", {blank, ints({batch, 1})});
  Var labels =
      op("Reshape", {op("Concat", {unsqueezed(blanks, 2), unsqueezed(targets, 2)}, {{"axis", int64_t{2}}}), ints({batch, 2 * longest})});
  labels = op("Concat", {labels, last}, {{"axis", int64_t{1}}});
  /// Columns moved to the right; what comes in is `fill`.
  const auto moved = [&](const Var& value, int64_t places, const Var& fill) {
    if (places >= states) return op("Expand", {fill, ints({batch, states})});
    return op("Pad", {op("Slice", {value, ints({0}), ints({states - places}), ints({1})}), ints({0, places, 0, 0}), fill});
  };
  // A label may follow the one before the last if they differ; a blank may not.
  const Var skips = op("And", {op("Not", {op("Equal", {labels, blank})}), op("Not", {op("Equal", {labels, moved(labels, 2, blank)})})});
  const Var spread = op("GatherElements", {x, op("Expand", {unsqueezed(labels, 0), ints({steps, batch, states})})}, {{"axis", int64_t{2}}});
  std::vector<int64_t> places(static_cast<size_t>(states));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const Var at = op("Reshape", {ints(places), ints({1, states})});
  const Var alive = op("And", {op("Less", {at, number(2)}), op("Less", {at, unsqueezed(sizes * 2 + 1, 1)})});
  Var alpha = where(alive, op("Gather", {spread, number(0)}), hopeless);
  if (steps > 1) {
    std::vector<int64_t> later;
    for (int64_t step = 1; step < steps; ++step) later.push_back(step);
    const Var goes_on = op("Greater", {op("Reshape", {lengths, ints({1, -1, 1})}), op("Reshape", {ints(later), ints({steps - 1, 1, 1})})});
    const auto step = [&](const Vars& now) {
      const Vars ways = {unsqueezed(now[0], 2), unsqueezed(moved(now[0], 1, hopeless), 2),
                         unsqueezed(where(skips, moved(now[0], 2, hopeless), hopeless), 2)};
      const Var total = op("ReduceLogSumExp", {op("Concat", ways, {{"axis", int64_t{2}}}), ints({2})}, {{"keepdims", int64_t{0}}});
      return Vars{where(now[2], op("Max", {total + now[1], hopeless}), now[0])};
    };
    alpha = expr::scan(step, {alpha}, {op("Slice", {spread, ints({1}), ints({steps}), ints({0})}), goes_on})[0];
  }
  const Var ends = op("Concat", {unsqueezed(sizes * 2, 1), unsqueezed(op("Max", {sizes * 2 - 1, number(0)}), 1)}, {{"axis", int64_t{1}}});
  Var ways = op("GatherElements", {alpha, ends}, {{"axis", int64_t{1}}});
  const Var first = op("Reshape", {op("Equal", {ints({0, 1}), number(0)}), ints({1, 2})});  // an empty target ends at its blank alone
  ways = where(op("Or", {first, op("Greater", {unsqueezed(sizes, 1), number(0)})}), ways, hopeless);
  Var losses = -op("ReduceLogSumExp", {ways, ints({1})}, {{"keepdims", int64_t{0}}});
  const Var impossible = op("Greater", {losses, like(-kNever / 2, x)});
  losses = where(impossible, o.zero_infinity ? losses * 0.0 : like(INFINITY, x), losses);
  if (o.reduction == "none") return losses;
  if (o.reduction == "mean") losses = losses / op("Max", {sizes, number(1)}).astype(x.dtype());
  if (o.reduction != "mean" && o.reduction != "sum") throw InvalidArgument("a reduction is mean, sum or none, not \"{}\"", o.reduction);
  return op(o.reduction == "mean" ? "ReduceMean" : "ReduceSum", {losses}, {{"keepdims", int64_t{0}}});
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::nn
