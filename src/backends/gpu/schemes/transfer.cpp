// SPDX-License-Identifier: Apache-2.0
// Copies between the host's memory and the device's, which the planner inserts.
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {
namespace {

class TransferKernel final : public Kernel {
 public:
  TransferKernel(Queue& queue, bool to_host) : queue_(queue), to_host_(to_host) {}
  void run(RunContext& context) const noexcept override try {
    const TensorView& from = context.inputs[0]->view;
    queue_.watched([&] {
      if (to_host_)
        queue_.copy_to_host(context.out<void>(0), from.data(), from.bytes());
      else
        queue_.copy_from_host(context.out<void>(0), from.data(), from.bytes());
    });
  } catch (...) {
    context.fail(std::current_exception());
  }

 private:
  Queue& queue_;
  bool to_host_;
};

bool is_to_host(const NodeView& node) { return node.require<std::string>("to") == "host"; }

Estimate estimate(const NodeView& node, const Device& device) {
  const ValueInfo& x = node.input(0);
  return Estimate(device.transfer_time(static_cast<double>(x.shape.elements()) * static_cast<double>(size_of(x.dtype))));
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<TransferKernel>(queue_of(context), is_to_host(context.node()));
}

constexpr Scheme kSchemes[] = {{kTransfer, "transfer", estimate, prepare}};

}  // namespace

std::span<const Scheme> transfer_schemes() { return kSchemes; }

}  // namespace minnow::gpu
