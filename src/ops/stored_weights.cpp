// SPDX-License-Identifier: Apache-2.0
#include "ops/stored_weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numeric.h"

namespace minnow {
namespace {

constexpr double kMostChange = 1 / 256.0;

Weight weight_of(const Use& use) {
  const Operator* op = OperatorSet::builtin().find(use.node->op());
  return op && use.input < op->inputs.size() ? op->inputs[use.input].weight : Weight::no;
}
bool is_weight(const Use& use) { return weight_of(use) != Weight::no; }

class Rounding {
 public:
  Rounding(DType dtype, const std::function<void(std::string_view)>& warn) : dtype_(dtype), warn_(warn) {}

  void add(const Graph& graph) {
    for (const auto& constant : graph.constants()) add(*constant);
    for (const Node& node : graph.nodes())
      for (const auto& [name, attribute] : node.attributes)
        if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) add(**subgraph);
  }
  StoredWeights take() { return std::move(weights_); }

 private:
  void add(const Value& value) {
    const Tensor& tensor = *value.constant();
    const auto uses = value.uses();
    if (tensor.dtype() != DType::f32 || tensor.elements() == 0 || uses.empty() || value.is_graph_output()) return;
    if (!std::all_of(uses.begin(), uses.end(), is_weight)) return;
    Tensor rounded(dtype_, tensor.shape());
    uint16_t* to = rounded.writable().data<uint16_t>();
    double squares = 0, changes = 0, largest = 0;
    bool fits = true;
    const float* from = tensor.data<float>();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      to[i] = dtype_ == DType::f16 ? f16_from_f32(from[i]) : bf16_from_f32(from[i]);
      if (!std::isfinite(from[i])) continue;
      const double back = dtype_ == DType::f16 ? f32_from_f16(to[i]) : f32_from_bf16(to[i]), x = from[i];
      fits = fits && std::isfinite(back);
      largest = std::max(largest, std::abs(x));
      squares += x * x, changes += (back - x) * (back - x);
    }
    const std::string layer = uses[0].node->where();
    if (!fits)
      return keep(format("{}: its weights \"{}\" reach {}, {} holds at most {}: they stay f32", layer, value.name(), largest, dtype_,
                         largest_of(dtype_)));
    if (changes > kMostChange * kMostChange * squares)
      return keep(format("{}: its weights \"{}\" are too small for {} (at most {}): they stay f32", layer, value.name(), dtype_, largest));
    weights_.emplace(&value, std::move(rounded));
  }
  void keep(const std::string& sentence) {
    if (warn_) warn_(sentence);
  }

  DType dtype_;
  const std::function<void(std::string_view)>& warn_;
  StoredWeights weights_;
};

}  // namespace

bool packs_weight(const Use& use) { return weight_of(use) == Weight::packed; }

StoredWeights round_weights(const Graph& graph, DType dtype, const std::function<void(std::string_view)>& warn) {
  if (dtype != DType::f16 && dtype != DType::bf16) throw InvalidArgument("weights are stored as f16 or bf16, not as {}", dtype);
  Rounding rounding(dtype, warn);
  rounding.add(graph);
  return rounding.take();
}

}  // namespace minnow
