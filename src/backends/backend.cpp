// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <cstring>
#include <functional>

#include "base/no_memory.h"
#include "base/saturating.h"

namespace minnow {

Estimate declined_with(std::string_view pattern, std::span<const FormatArg> args) {
  Estimate estimate;
  estimate.declined = format_args(pattern, args);
  return estimate;
}
Estimate unavailable(std::string_view reason) {
  Estimate estimate;
  estimate.declined = reason;
  estimate.unavailable = true;
  return estimate;
}

size_t Packing::hash() const noexcept {
  size_t hash = std::hash<std::string>()(form) ^ bytes;
  for (const PackingParameter& parameter : parameters) hash = hash * 31 + parameter.bits;
  return hash;
}

std::string Packing::text() const {
  std::string text = format("{} for {}, {} bytes", form, device, bytes);
  for (const PackingParameter& parameter : parameters) text += format(", {} {}", parameter.name, parameter.bits);
  return source.empty() ? text : format("{}, of {}", text, source);
}

std::shared_ptr<const void> WeightStore::packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack) {
  if constexpr (!kHasDevices) return nullptr;
  const AlignedMemory host = allocate_aligned(packing.bytes);
  pack(weight, host.get());
  std::shared_ptr<void> memory = backend.allocate(packing.bytes);
  backend.copy_from_host(memory.get(), host.get(), packing.bytes);
  backend.finish();  // other sessions, with queues of their own, share it
  return memory;
}

PrepareContext::PrepareContext(const NodeView& node, Backend& backend, const Estimate& estimate, WeightStore& weights)
    : node_(&node), device_(&backend.device()), estimate_(&estimate), weights_(&weights), memory_(memory_of(backend)) {}

std::shared_ptr<const void> PrepareContext::packed(size_t input, std::string_view form, PackingParameters parameters, size_t bytes,
                                                   WeightStore::Pack pack) {
  const Packing packing{std::string(form), device_->name, bytes, std::move(parameters), {}};
  const Tensor& weight = node_->contents(input);
  return kHasDevices && memory_ ? weights_->packed_on(*memory_, weight, packing, pack) : weights_->packed(weight, packing, pack);
}

size_t PrepareContext::reserve_scratch(size_t bytes) {
  const size_t offset = scratch_;
  const size_t end = sum_of({scratch_, bytes, kAlignment});
  if (end > PTRDIFF_MAX) throw out_of_memory("{}: it needs more than {} bytes beside its tensors", node_->where(), PTRDIFF_MAX);
  scratch_ = align_up(scratch_ + bytes);
  return offset;
}

void RunContext::fail_with(std::string_view pattern, std::span<const FormatArg> args) noexcept {
  if (has_failed()) return;
  try {
    failure = format_args(pattern, args);
  } catch (...) {
    thrown = no_memory();
  }
}

std::shared_ptr<void> Backend::adopt(const Foreign&, std::shared_ptr<const void>) {
  throw Unsupported("the backend {} takes no memory of other libraries", name());
}
Backend::Foreign Backend::foreign(const void*) { throw Unsupported("the backend {} gives no memory to other libraries", name()); }
void Backend::copy_from_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
void Backend::copy_to_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

}  // namespace minnow
