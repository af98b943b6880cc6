// SPDX-License-Identifier: Apache-2.0
#include "planner/custom_schemes.h"

#include <algorithm>
#include <cmath>

#include "backends/node_copy.h"
#include "ops/custom.h"

namespace minnow {
namespace {

/// A call of a scheme's functions and the services it may use: those of the device during planning, those of the run during a run.
struct SchemeCall final : minnow_op_call, SchemeServices {
  const Device& device;
  const RunContext* context = nullptr;
  void* memory = nullptr;

  SchemeCall(const NodeView& view, const Device& device) : minnow_op_call{&view}, device(device) {
    services = this;
    for (size_t i = 0; i < view.input_count(); ++i) {
      inputs.emplace_back();
      if (view.has_input(i)) inputs.back() = describe_for_call(view.input(i), view.input(i).contents.data());
    }
    outputs.resize(view.output_count());
    describe_outputs();
  }
  void describe_outputs() {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node->has_output(i)) outputs[i] = describe_for_call(node->output(i), nullptr);
  }
  /// The message of the function that failed.
  std::string said() const { return failure.empty() ? std::string("the scheme refuses these inputs") : failure; }

  int threads() const noexcept override { return context ? context->threads : device.threads; }
  int precision() const noexcept override { return static_cast<int>(device.precision); }
  double flop_time(double operations, double efficiency) const noexcept override { return device.flop_time(operations, efficiency); }
  double byte_time(double bytes) const noexcept override { return device.byte_time(bytes); }
  void* scratch() const noexcept override { return memory; }
  void parallel_for(size_t tasks, FunctionRef<void(size_t)> task) const noexcept override {
    ThreadPool::process().run(tasks, context ? context->threads : 1, task);
  }
};

class CustomKernel : public Kernel {
 public:
  // The estimate is asked once more, for the memory that it wants.
  CustomKernel(const minnow_op_scheme& scheme, PrepareContext& context)
      : scheme_(scheme), view_(context.node()), call_(*view_, context.device()) {
    const NodeView& node = *view_;
    for (size_t i = 0; i < node.output_count(); ++i) is_empty_ &= !node.has_output(i) || node.output_shape(i).elements() == 0;
    minnow_op_estimate estimate{0, 0, -1};
    bool fails = scheme_.estimate(&custom_op_api(), &call_, &estimate, scheme_.user) != 0;
    if (!fails && estimate.scratch_size > 0)
      scratch_ = context.reserve_scratch(static_cast<size_t>(std::min<uint64_t>(estimate.scratch_size, SIZE_MAX))) + 1;
    fails = fails || (scheme_.prepare && scheme_.prepare(&custom_op_api(), &call_, &prepared_, scheme_.user) != 0);
    if (!fails) return;
    release();
    node.fail("scheme {}: {}", std::string_view(scheme_.name), call_.said());
  }
  ~CustomKernel() override { release(); }

  void run(RunContext& context) const noexcept override {
    if (is_empty_) return;  // as run_reference()
    try {
      compute(context);
    } catch (...) {
      context.fail(std::current_exception());
    }
  }

 private:
  void compute(RunContext& context) const {
    call_.context = &context;
    call_.memory = scratch_ ? context.scratch_at(scratch_ - 1) : nullptr;
    call_.describe_outputs();  // again, because an earlier run may have changed them
    const auto point = [](std::vector<minnow_tensor>& tensors, std::span<Slot* const> slots) {
      for (size_t i = 0; i < tensors.size(); ++i)
        if (i < slots.size() && slots[i]) tensors[i].data = const_cast<void*>(slots[i]->view.data());
    };
    point(call_.inputs, context.inputs);
    point(call_.outputs, context.outputs);
    call_.failure.clear();
    const Watch::Whole whole;  // its author may rely on every task
    if (scheme_.run(&custom_op_api(), &call_, prepared_, scheme_.user) != 0 || !call_.failure.empty())
      context.fail("{}: {}", view_->where(), call_.failure.empty() ? std::string_view("the operator failed") : call_.failure);
  }
  void release() noexcept {
    if (scheme_.release && prepared_) scheme_.release(prepared_, scheme_.user);
  }

  const minnow_op_scheme& scheme_;
  const NodeCopy view_;
  mutable SchemeCall call_;  // with the tensors of the run under way, so that a run allocates nothing
  void* prepared_ = nullptr;
  size_t scratch_ = 0;    // the place of its memory, and 1; 0: it has none
  bool is_empty_ = true;  // no output holds an element
};

Estimate estimate_row(const NodeView& node, const Device& device, size_t row) {
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i) && node.output(i).extent != ValueInfo::Extent::exact) return declined("the shape of an output depends on data");
  const minnow_op_scheme& scheme = *custom_op_schemes(*node.definition())[row];
  SchemeCall call(node, device);
  minnow_op_estimate made{0, 0, -1};
  if (scheme.estimate(&custom_op_api(), &call, &made, scheme.user) != 0) return declined("{}", call.said());
  if (!(made.seconds >= 0) || std::isinf(made.seconds)) return declined("the scheme estimates {} seconds", made.seconds);
  Estimate estimate(made.seconds);
  estimate.overwrites = made.overwrites;
  return estimate;
}

std::unique_ptr<Kernel> prepare_row(PrepareContext& context, size_t row) {
  return std::make_unique<CustomKernel>(*custom_op_schemes(*context.node().definition())[row], context);
}

// The rows of an operator have functions of their own, as a backend's have.
template <size_t kRow>
constexpr Scheme kRows[] = {{{},
                             {},
                             [](const NodeView& node, const Device& device) { return estimate_row(node, device, kRow); },
                             [](PrepareContext& context) { return prepare_row(context, kRow); }}};
constexpr const Scheme* kSchemes[MINNOW_MAX_OP_SCHEMES] = {kRows<0>, kRows<1>, kRows<2>, kRows<3>, kRows<4>, kRows<5>, kRows<6>, kRows<7>};

}  // namespace

std::vector<Scheme> custom_schemes(const OperatorSet& operators) {
  std::vector<Scheme> rows;
  for (const Operator* op : operators.list()) {
    if (!op->custom) continue;
    size_t row = 0;
    for (const minnow_op_scheme* scheme : custom_op_schemes(*op)) {
      rows.push_back(*kSchemes[row++]);
      rows.back().op = op->name, rows.back().name = scheme->name;
    }
  }
  return rows;
}

}  // namespace minnow
