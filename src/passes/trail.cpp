// SPDX-License-Identifier: Apache-2.0
#include "passes/trail.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"

namespace minnow {
namespace {

/// x + shift, as a tensor of that dtype.
Tensor shifted(const Tensor& x, double shift) {
  std::vector<double> values = widened(x);
  for (double& value : values) value += shift;
  Tensor made(x.dtype(), x.shape());
  narrow(x.dtype(), values.data(), values.size(), made.writable().data());
  return made;
}

/// The first output of a node that rounds, if its numbers were larger by `shift`.
Tensor rounded(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs, std::span<const Datum> outputs,
               double shift) {
  std::vector<Datum> given(inputs.begin(), inputs.end());
  given[0] = shifted(inputs[0].tensor, shift);
  if (node.op() != "DynamicQuantizeLinear") return evaluate(operators, node, given)[0].tensor;
  // With the scale and the zero point that it found.
  const double scale = widened(outputs[1].tensor)[0], zero = widened(outputs[2].tensor)[0];
  std::vector<double> y = widened(given[0].tensor);
  for (double& value : y) value = std::clamp(std::nearbyint(value / scale) + zero, 0.0, 255.0);
  Tensor made(outputs[0].tensor.dtype(), outputs[0].tensor.shape());
  narrow(made.dtype(), y.data(), y.size(), made.writable().data());
  return made;
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (double x : widened(tensor))
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return largest;
}

/// A rounding of numbers that are computed from the graph's inputs.
bool rounds(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs, std::span<const Datum> outputs) {
  if (!is_rounding(operators, node) || node.input(0)->constant() || !is_float(inputs[0].tensor.dtype())) return false;
  return node.op() != "DynamicQuantizeLinear" || (outputs[1].tensor && outputs[2].tensor);
}

/// A node that draws random numbers. Dropout does so only in training; otherwise its output is its input, and is compared.
bool draws(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs) {
  if (!is_drawn(operators, node)) return false;
  return node.op() != "Dropout" || (inputs.size() > 2 && inputs[2].tensor && widened(inputs[2].tensor)[0] != 0);
}

/// True if every element of the result is an element of input 0, or a monotonic function of one.
bool keeps_order(const Operator* op) { return op && (op->elements != Elements::computed || op->monotone); }

}  // namespace

double rounding_error(DType dtype) noexcept { return dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0; }

bool is_rounding(const OperatorSet& operators, const Node& node) noexcept {
  if (node.input_count() == 0 || node.output_count() == 0 || !node.input(0) || !node.output(0)) return false;
  if (node.op() == "Cast") return is_float(node.input(0)->type.dtype) && is_integer(node.output(0)->type.dtype);
  const Operator* op = operators.find(node.op());
  return op && op->rounds;
}

bool is_drawn(const OperatorSet& operators, const Node& node) noexcept {
  const Operator* op = operators.find(node.op());
  return op && !op->pure;
}

bool Trail::Tensors::allows(const Tensor& other) const {
  const std::vector<double> a = widened(one_end), b = widened(other_end), x = widened(other);
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] < std::min(a[i], b[i]) || x[i] > std::max(a[i], b[i])) return false;
  return true;
}

/// The notes about a rounded tensor that this node moves.
const Trail::Tensors* Trail::find_rounded(const Node& node, std::span<const Datum> inputs) const {
  if (inputs.empty() || !node.input(0) || !keeps_order(operators_.find(node.op()))) return nullptr;
  const auto found = tensors_.find(node.input(0)->name());
  if (found == tensors_.end()) return nullptr;
  const Tensors& last = found->second.back();
  return last.one_end && last.value.data() == inputs[0].tensor.data() ? &last : nullptr;
}

Observer Trail::note() {
  return [this](const Node& node, std::span<const Datum> inputs, std::span<Datum> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i) || outputs[i].kind != Datum::Kind::tensor) continue;
      Tensors noted{outputs[i].tensor, {}, {}, {}, false};
      if (draws(operators_, node, inputs)) {
        noted.drawn = true;
      } else if (i == 0 && rounds(operators_, node, inputs, outputs)) {
        const Tensor& x = inputs[0].tensor;
        const double reach = std::max(tolerance_, rounding_error(x.dtype())) * largest_of(x);
        noted.rounding = node.output(0)->name();
        noted.one_end = rounded(operators_, node, inputs, outputs, -reach);
        noted.other_end = rounded(operators_, node, inputs, outputs, reach);
      } else if (const Tensors* source = find_rounded(node, inputs)) {
        std::vector<Datum> given(inputs.begin(), inputs.end());
        noted.rounding = source->rounding;
        given[0] = Datum(source->one_end);
        noted.one_end = evaluate(operators_, node, given)[i].tensor;
        given[0] = Datum(source->other_end);
        noted.other_end = evaluate(operators_, node, given)[i].tensor;
      } else if (!is_float(outputs[i].tensor.dtype())) {
        continue;
      }
      tensors_[node.output(i)->name()].push_back(std::move(noted));
    }
  };
}

Observer Trail::follow(Walk& walk, const Walk* only) const {
  return [this, &walk, only](const Node& node, std::span<const Datum> inputs, std::span<Datum> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i)) continue;
      const auto found = tensors_.find(node.output(i)->name());
      if (found == tensors_.end() || (only && !only->met.contains(found->first))) continue;
      const auto turn = walk.met.find(found->first);
      const size_t k = turn == walk.met.end() ? 0 : turn->second;
      if (k >= found->second.size()) continue;
      const Tensors& noted = found->second[k];
      if (!same_form(Datum(noted.value), outputs[i])) continue;
      walk.met[found->first] = k + 1;
      if (noted.one_end) walk.followed.insert(noted.rounding);
      if (noted.drawn ? draws(operators_, node, inputs) : (noted.one_end && noted.allows(outputs[i].tensor))) {
        outputs[i] = Datum(noted.value);
        continue;
      }
      const Difference apart = difference(noted.value, outputs[i].tensor);
      if (apart.worst <= tolerance_ * apart.largest) continue;
      const auto [place, is_new] = walk.places.try_emplace(found->first, walk.apart.size());
      if (is_new) walk.apart.push_back({found->first, apart, 0});
      Walk::Apart& all = walk.apart[place->second];
      if (apart.worst > all.worst.worst) all.worst = apart;
      all.mean_square = std::max(all.mean_square, apart.mean_square);
    }
  };
}

}  // namespace minnow
