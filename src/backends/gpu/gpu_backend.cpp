// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gpu_backend.h"

#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {

GpuBackend::GpuBackend(std::string name, std::unique_ptr<Queue> queue)
    : name_(std::move(name)), queue_(std::move(queue)), schemes_(scheme_table()) {}

void GpuBackend::finish() {
  watched([&] { queue_->finish(); });
  const Faults& faults = queue_->faults;
  if (!faults.memory) return;
  int32_t found[3];
  copy_to_host(found, faults.memory.get(), sizeof found);
  if (found[0] == 0) return;
  const Faults::Sentence& sentence = faults.sentences[static_cast<size_t>(found[0]) - 1];
  const int32_t none[3] = {};
  copy_from_host(faults.memory.get(), none, sizeof none);
  throw InvalidArgument("{}: {}", sentence.where, format(sentence.pattern, found[1], found[2]));
}

void check_number(std::string_view backend, int device, size_t count) {
  if (static_cast<size_t>(device) >= count)
    throw Unsupported("the backend {} cannot be used: there is no device number {}; numbers from 0 to {} are there", backend, device,
                      count - 1);
}

std::shared_ptr<Backend> make_gpu_backend(std::string_view name, std::unique_ptr<Queue> queue, int device) {
  return std::make_shared<GpuBackend>(device > 0 ? format("{}:{}", name, device) : std::string(name), std::move(queue));
}

}  // namespace minnow::gpu
