// SPDX-License-Identifier: Apache-2.0
// A driver's queue in which calls fail when a test says so, or take longer.
#pragma once
#include <minnow/minnow.h>

#include <chrono>
#include <string>
#include <thread>

#include "backends/gpu/driver.h"
#include "backends/gpu/gpu_backend.h"
#include "base/error.h"
#include "runtime/backends.h"

namespace minnow::test {

/// Which call of which kind fails next; shared by all queues of a test.
struct Faults {
  std::string kind;  // "allocate", "copy", "compile", "launch", "finish"
  int calls = 0;     // of that kind until one fails, and every later call of any kind: a lost device stays lost
  bool lost = false;
  bool fails(std::string_view call) {
    if (lost) return true;
    return lost = call == kind && calls-- == 0;
  }
};

class FaultyQueue : public gpu::Queue {
 public:
  FaultyQueue(std::shared_ptr<Backend> real, Faults& state)
      : real_(std::move(real)), queue_(static_cast<gpu::GpuBackend&>(*real_).queue()), state_(state) {}
  ~FaultyQueue() override { faults.memory = nullptr; }
  const Device& device() const override { return queue_.device(); }
  std::shared_ptr<void> allocate(size_t bytes) override {
    if (fails("allocate")) throw out_of_memory("the device has no {} bytes left", bytes);
    return queue_.allocate(bytes);
  }
  void copy_from_host(void* to, const void* from, size_t bytes) override { check("copy"), queue_.copy_from_host(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override { check("copy"), queue_.copy_to_host(to, from, bytes); }
  std::unique_ptr<gpu::Function> function(const std::string& source, const std::string& name, size_t shared_bytes, const gpu::Extent& group,
                                          const gpu::Extent& groups) override {
    return queue_.function(source, name, shared_bytes, group, groups);
  }
  void compile() override { check("compile"), queue_.compile(); }
  int tensor_cores() const override { return queue_.tensor_cores(); }
  bool launch(gpu::Function& function, const gpu::Extent& groups, const gpu::Extent& group,
              std::span<const gpu::Argument> arguments) noexcept override {
    return !fails("launch") && queue_.launch(function, groups, group, arguments);
  }
  void finish() override { check("finish"), queue_.finish(); }

 private:
  bool fails(std::string_view call) { return state_.fails(call) && (failed_ = true); }
  void check(std::string_view call) {
    if (fails(call)) throw Unsupported("the device is lost in a call of {}", call);
  }
  std::shared_ptr<Backend> real_;
  gpu::Queue& queue_;
  Faults& state_;
};

}  // namespace minnow::test
