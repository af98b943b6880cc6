// SPDX-License-Identifier: Apache-2.0
#include "backends/reference/reference.h"

#include <exception>

#include "backends/backend.h"
#include "backends/node_copy.h"
#include "ops/operator.h"

namespace minnow {
namespace {

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(const NodeView& node) : view_(node) {}

  void run(RunContext& context) const noexcept override {
    try {
      compute(context);
    } catch (...) {
      context.fail(std::current_exception());
    }
  }

 private:
  void compute(RunContext& context) const {
    try {
      KernelArgs args(*view_, context.inputs, context.outputs, context.subgraphs);
      run_reference(*view_->definition(), *view_, args);
    } catch (const KernelFailure& failure) {
      context.fail("{}", failure.sentence);
    } catch (const NeedsContents&) {
      context.fail("{}: the contents of an input were not known when the plan was made", view_->where());
    } catch (const OutOfMemory& error) {
      throw out_of_memory("{}: {}", view_->where(), error.what());
    }
  }

  const NodeCopy view_;
};

Estimate estimate(const NodeView& node, const Device& device) {
  const Operator* op = node.definition();
  if (!op) return declined("there is no operator \"{}\"", node.op());
  if (!op->reference) return declined("the operator is defined by its decomposition");
  double elements = 0;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i) && node.output(i).kind == ValueInfo::Kind::tensor)
      elements += static_cast<double>(node.output_shape(i).elements());
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input(i).kind == ValueInfo::Kind::tensor) elements += static_cast<double>(node.input(i).shape.elements());
  return Estimate(device.flop_time(elements) + 1e-6);
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<ReferenceKernel>(context.node()); }

constexpr Scheme kSchemes[] = {{kAnyOperator, "reference", estimate, prepare}};

class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(const BackendOptions& options) {
    device_.name = "reference";
    device_.precision = options.precision;
    device_.flops = 1e8;  // a few nanoseconds an element
  }
  std::string_view name() const override { return "reference"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return kSchemes; }
  bool is_fallback() const override { return true; }

 private:
  Device device_;
};

}  // namespace

std::shared_ptr<Backend> make_reference_backend(const BackendOptions& options) { return std::make_shared<ReferenceBackend>(options); }

}  // namespace minnow
