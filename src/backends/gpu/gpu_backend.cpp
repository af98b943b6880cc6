// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gpu_backend.h"

#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {

GpuBackend::GpuBackend(std::string_view name, std::unique_ptr<Queue> queue)
    : name_(name), queue_(std::move(queue)), schemes_(scheme_table()) {}

std::shared_ptr<Backend> make_gpu_backend(std::string_view name, std::unique_ptr<Queue> queue) {
  return std::make_shared<GpuBackend>(name, std::move(queue));
}

}  // namespace minnow::gpu
