// SPDX-License-Identifier: Apache-2.0
// Nodes whose inputs are known are computed while planning.
#include "ops/evaluate.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// The most elements of inputs and outputs that are computed while planning.
constexpr int64_t kFoldLimit = 65536;
// Weights, which are floats or bytes, from this many on are derived: schemes pack them, and then they are not kept.
constexpr int64_t kDerivedElements = 1024;
constexpr DTypes kWeights = kFloats | one_of({DType::i8});

PlanValue constant(ValueInfo info) {
  PlanValue made;
  made.place = PlanValue::Place::constant;
  made.info = std::move(info);
  return made;
}

// The known inputs, without the contents of derived constants. Empty if the node needs unknown contents.
std::optional<std::vector<Datum>> known_inputs(const Step& step, const std::vector<PlanValue>& values, const DerivedConstants& derived) {
  std::vector<Datum> inputs;
  for (uint32_t v : step.inputs) {
    if (v == kNone) {
      inputs.emplace_back();
      continue;
    }
    const ValueInfo& info = values[v].info;
    if (info.kind != ValueInfo::Kind::tensor) return {};
    if (info.contents || derived.contains(v))
      inputs.emplace_back(info.contents);
    else if (step.definition->shape_only)
      inputs.emplace_back(Tensor(info.dtype, info.shape, nullptr, nullptr));
    else
      return {};
  }
  return inputs;
}

// The number of elements of the inputs whose contents are read and of the outputs. Empty if an output is not a tensor.
std::optional<int64_t> elements_of(const Step& step, const std::vector<ValueInfo>& outputs, const std::vector<PlanValue>& values,
                                   const DerivedConstants& derived) {
  int64_t elements = 0;
  for (uint32_t v : step.inputs)
    if (v != kNone && (values[v].info.contents || derived.contains(v))) elements += values[v].info.shape.elements();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!step.node->output(i)) continue;
    if (outputs[i].kind != ValueInfo::Kind::tensor) return {};
    if (outputs[i].extent != ValueInfo::Extent::unknown) elements += outputs[i].shape.elements();
  }
  return elements;
}

}  // namespace

Folded fold(const OperatorSet& operators, const Step& step, const std::vector<ValueInfo>& outputs, const std::vector<PlanValue>& values,
            const DerivedConstants& derived) {
  Folded folded;
  if (!step.definition->pure || !step.captured.empty()) return folded;
  std::optional<std::vector<Datum>> inputs = known_inputs(step, values, derived);
  if (!inputs) return folded;
  const std::optional<int64_t> elements = elements_of(step, outputs, values, derived);
  if (!elements) return folded;
  if (contains(kWeights, outputs[0].dtype) && outputs[0].shape.elements() >= kDerivedElements &&
      DerivedConstants::suits(*step.definition, *step.node, StepInfos(step, values).inputs, outputs)) {
    folded.done = folded.derived = true;
    folded.constants.emplace_back(0, constant(outputs[0]));
    return folded;
  }
  if (*elements > kFoldLimit) return folded;
  for (size_t i = 0; i < inputs->size(); ++i)
    if (const uint32_t v = step.inputs[i]; v != kNone && derived.contains(v) && !values[v].info.contents)
      (*inputs)[i] = Datum(derived.compute(v));
  const std::vector<Datum> results = ConstantEvaluator(operators).outputs(*step.node, *inputs);
  if (results.empty()) return folded;
  folded.done = true;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!step.node->output(i)) continue;
    ValueInfo info;
    info.dtype = results[i].tensor.dtype();
    info.shape = results[i].tensor.shape();
    info.contents = results[i].tensor;
    folded.constants.emplace_back(i, constant(std::move(info)));
  }
  return folded;
}

}  // namespace minnow
