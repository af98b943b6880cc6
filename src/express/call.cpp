// SPDX-License-Identifier: Apache-2.0
#include "express/call.h"

#include <array>

#include "base/no_memory.h"

namespace minnow::express {

Call::Call(Site& site, const char* op) {
  request_.op = site.load(std::memory_order_acquire);
  if (request_.op) return;
  request_.op = &find_operator(op);
  site.store(request_.op, std::memory_order_release);  // two threads may have found the same
}
Call::~Call() = default;

void Call::set(const char* name, int64_t value) { request_.attributes.set(name, value); }
void Call::set(const char* name, float value) { request_.attributes.set(name, value); }
void Call::set(const char* name, DType value) { set(name, static_cast<int64_t>(value)); }
void Call::set(const char* name, const std::string& value) { request_.attributes.set(name, value); }
void Call::set(const char* name, const Tensor& value) { request_.attributes.set(name, value); }
void Call::set(const char* name, const std::vector<int64_t>& value) { request_.attributes.set(name, value); }
void Call::set(const char* name, const std::vector<float>& value) { request_.attributes.set(name, value); }
void Call::set(const char* name, const std::vector<std::string>& value) { request_.attributes.set(name, value); }

void Call::option(const char* name, int64_t value, int64_t fallback) {
  if (value != fallback) set(name, value);
}
void Call::option(const char* name, float value, float fallback) {
  if (value != fallback) set(name, value);
}
void Call::option(const char* name, DType value, DType fallback) {
  if (value != fallback) set(name, value);
}
void Call::option(const char* name, const std::string& value, const char* fallback) {
  if (value != fallback) set(name, value);
}
void Call::option(const char* name, const std::optional<int64_t>& value) {
  if (value) set(name, *value);
}
void Call::option(const char* name, const std::optional<float>& value) {
  if (value) set(name, *value);
}
void Call::option(const char* name, const Tensor& value) {
  if (value) set(name, value);
}
void Call::option(const char* name, const std::vector<int64_t>& value) {
  if (!value.empty()) set(name, value);
}
void Call::option(const char* name, const std::vector<float>& value) {
  if (!value.empty()) set(name, value);
}
void Call::option(const char* name, const std::vector<std::string>& value) {
  if (!value.empty()) set(name, value);
}

void Call::add(Var&& input) { request_.inputs.push_back(value_of(std::move(input))); }
void Call::add(Vars&& inputs) {
  for (Var& input : inputs) add(std::move(input));
}
Var Call::one() { return many(1)[0]; }
Vars Call::many(size_t outputs) {
  while (!request_.inputs.empty() && !request_.inputs.back()) request_.inputs.pop_back();
  request_.formal_inputs = request_.inputs.size();
  request_.wanted.assign(outputs, true);
  const std::shared_ptr<LazyNode> node = call(std::move(request_));
  Vars results;
  for (uint32_t i = 0; i < outputs; ++i) results.push_back(var_of({node, i}));
  return results;
}

Var call_of(Site& site, const char* op, std::initializer_list<Var*> inputs) try {
  const Operator* found = site.load(std::memory_order_acquire);
  if (!found) site.store(found = &find_operator(op), std::memory_order_release);  // two threads may have found the same
  std::array<LazyValue, 4> values;                                                // as many as functions without options take
  size_t count = 0;
  for (Var* input : inputs) {
    MINNOW_CHECK(count < values.size(), "a function without options takes at most 16 inputs");
    values[count++] = value_of(std::move(*input));
  }
  while (count > 0 && !values[count - 1]) --count;
  return var_of(call(*found, std::span<const LazyValue>(values.data(), count)));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::express
