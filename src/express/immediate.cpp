// SPDX-License-Identifier: Apache-2.0
#include "express/immediate.h"

#include <algorithm>

#include "express/evaluate.h"
#include "express/memory.h"
#include "express/scope.h"

namespace minnow::express {
namespace {

/// Packs weights for nobody else: kernels of few elements keep their own copy.
class NoWeightStore final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView& weight, void* out)> pack) override {
    std::shared_ptr<void> memory = allocate_shared(packing.bytes);
    pack(weight, memory.get());
    return memory;
  }
};

struct Choice {
  Backend* backend = nullptr;
  const Scheme* scheme = nullptr;
  Estimate estimate;
};

/// The cheapest scheme that reads and writes the plain layout. `op`: the operator's name, or kAnyOperator.
Choice choose(const Runtime& runtime, std::string_view op, const NodeView& view) {
  Choice best;
  for (const auto& backend : runtime.backends) {
    if (memory_of(*backend)) continue;  // a copy to a device takes longer than computing so few elements
    for (const Scheme& scheme : backend->schemes()) {
      if (scheme.op != op) continue;
      try {
        Estimate estimate = scheme.estimate(view, backend->device());
        if (!estimate.declined.empty() || estimate.packed_inputs || estimate.packed_outputs) continue;
        if (!best.scheme || estimate.seconds < best.estimate.seconds) best = {backend.get(), &scheme, std::move(estimate)};
      } catch (const NeedsContents&) {}
    }
  }
  return best;
}

}  // namespace

bool may_run_now(const Operator& op, std::span<const LazyValue> inputs) noexcept {
  if (!op.pure || op.custom || inputs.empty()) return false;
  for (const LazyValue& input : inputs) {
    if (!input) continue;
    const LazyNode& node = *input.node;
    if (node.keeps_inputs || !node.is_computed()) return false;
    const Tensor& tensor = output_of(input).tensor;
    if (!tensor || tensor.elements() > kMostImmediateElements) return false;
  }
  return true;
}

[[gnu::cold]] std::unique_ptr<Immediate> Immediate::prepare(const LazyNode& node, uint64_t contents, std::unique_ptr<Graph> graph,
                                                            const Node& made) {
  const Runtime& runtime = *current_runtime();
  // At low precision sums may overflow, and a plan is made anew then.
  if (runtime.options.precision == "low" || node.op->wants_constants || !node.closures.empty()) return nullptr;
  for (const auto& [name, value] : node.attributes)
    if (std::holds_alternative<Tensor>(value)) return nullptr;  // the key of a call may hold its address alone
  const ChargeTo nobody;
  std::vector<ValueInfo> infos;
  infos.reserve(node.inputs.size() + node.outputs.size());
  std::vector<const ValueInfo*> pointers;
  std::unique_ptr<Immediate> result(new Immediate);
  result->inputs_ = node.inputs.size();
  const auto add = [&](bool is_there, DType dtype, const Shape& shape) {
    ValueInfo& info = infos.emplace_back();
    info.kind = is_there ? ValueInfo::Kind::tensor : ValueInfo::Kind::absent;
    info.dtype = dtype, info.shape = shape;
    pointers.push_back(is_there ? &info : nullptr);
    Slot& slot = result->slots_.emplace_back();
    if (is_there) slot.view = TensorView(dtype, shape, nullptr);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const LazyValue& input = node.inputs[i];
    const Tensor none, &tensor = input ? output_of(input).tensor : none;
    add(static_cast<bool>(input), tensor.dtype(), tensor.shape());
    if (contents >> i & 1) infos.back().contents = tensor.clone();
  }
  for (const Output& output : node.outputs) {
    if (output.kind != ValueInfo::Kind::tensor || !output.shape_known || size_of(output.dtype) == 0 ||
        output.shape.elements() > kMostImmediateElements)
      return nullptr;
    add(true, output.dtype, output.shape);
  }
  const std::span<const ValueInfo* const> all(pointers);
  const NodeView view(made, all.first(result->inputs_), all.subspan(result->inputs_), node.op);
  Choice choice = choose(runtime, node.op->name, view);
  if (!choice.scheme) {
    const auto has_elements = [](const Output& output) { return output.shape.elements() != 0; };
    if (node.op->decompose && std::any_of(node.outputs.begin(), node.outputs.end(), has_elements)) return nullptr;
    choice = choose(runtime, kAnyOperator, view);
  }
  if (!choice.scheme || !choice.backend->uses_host_memory()) return nullptr;
  NoWeightStore weights;
  PrepareContext context(view, choice.backend->device(), choice.estimate, weights);
  result->kernel_ = choice.scheme->prepare(context);
  result->scratch_bytes_ = context.scratch_bytes();
  result->op_ = node.op;
  result->graph_ = std::move(graph);
  for (size_t i = 0; i < pointers.size(); ++i) result->pointers_.push_back(pointers[i] ? &result->slots_[i] : nullptr);
  return result;
}

std::shared_ptr<LazyNode> Immediate::run(std::span<const LazyValue> inputs) {
  for (size_t i = 0; i < inputs_; ++i)
    if (Slot* slot = pointers_[i]) slot->view = output_of(inputs[i]).tensor.view();
  const size_t count = pointers_.size() - inputs_;
  auto node = std::make_shared<LazyNode>();
  node->kind = LazyNode::Kind::call;
  node->op = op_;
  node->outputs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TensorView& view = pointers_[inputs_ + i]->view;
    std::shared_ptr<void> memory = allocate_value(view.bytes());
    view = TensorView(view.dtype(), view.shape(), memory.get());
    Output& output = node->outputs[i];
    output.kind = ValueInfo::Kind::tensor;
    output.dtype = view.dtype();
    output.shape_known = output.memory_is_ours = true;
    output.shape = view.shape();
    output.tensor = Tensor(view.dtype(), view.shape(), view.data(), std::move(memory));
  }
  thread_local AlignedMemory scratch;
  thread_local size_t held = 0;
  if (held < scratch_bytes_) {
    const ChargeTo nobody;
    scratch = allocate_aligned(scratch_bytes_);
    held = scratch_bytes_;
  }
  RunContext context;
  const std::span<Slot* const> all(pointers_);
  context.inputs = all.first(inputs_);
  context.outputs = all.subspan(inputs_);
  context.scratch = scratch.get();
  kernel_->run(context);
  if (context.has_failed()) return nullptr;
  node->set_computed();
  return node;
}

}  // namespace minnow::express
