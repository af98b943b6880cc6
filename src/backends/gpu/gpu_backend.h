// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/gpu/driver.h"

namespace minnow::gpu {

/// A backend over a driver's queue, with the schemes of schemes/schemes.h.
class GpuBackend final : public Backend {
 public:
  GpuBackend(std::string name, std::unique_ptr<Queue> queue);
  Queue& queue() noexcept { return *queue_; }
  std::string_view name() const override { return name_; }
  const Device& device() const override { return queue_->device(); }
  std::span<const Scheme> schemes() const override { return schemes_; }
  bool uses_host_memory() const override { return false; }
  std::shared_ptr<void> allocate(size_t bytes) override {
    return watched([&] { return queue_->allocate(bytes); });
  }
  std::shared_ptr<void> adopt(const Foreign& memory, std::shared_ptr<const void> owner) override {
    return queue_->adopt(memory, std::move(owner));
  }
  Foreign foreign(const void* address) override { return queue_->foreign(address); }
  void copy_from_host(void* to, const void* from, size_t bytes) override {
    watched([&] { queue_->copy_from_host(to, from, bytes); });
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    watched([&] { queue_->copy_to_host(to, from, bytes); });
  }
  void prepared() override {
    watched([&] { queue_->compile(); });
  }
  bool has_failed() const noexcept override { return queue_->has_failed(); }
  bool can_stamp() override { return queue_->can_stamp(); }
  void stamp() noexcept override { queue_->stamp(); }
  std::vector<double> take_stamps() override { return queue_->take_stamps(); }
  bool can_record() const override { return queue_->can_record(); }
  void begin_recording() override {
    watched([&] { queue_->begin_recording(); });
  }
  std::unique_ptr<Recording> end_recording() override {
    return watched([&] { return queue_->end_recording(); });
  }
  void finish() override;

 private:
  template <class F>
  auto watched(F f) -> decltype(f()) {
    return queue_->watched(f);
  }
  std::string name_;
  std::unique_ptr<Queue> queue_;
  std::vector<Scheme> schemes_;
};

}  // namespace minnow::gpu
