// SPDX-License-Identifier: Apache-2.0
#include "express/scope.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "base/no_memory.h"
#include "runtime/backends.h"

namespace minnow::express {

Runtime::Runtime(const SessionOptions& given) : options(given) {
  const BackendOptions for_backends = backend_options(given);
  threads = for_backends.threads;
  backends = make_backends(given, for_backends, wanted_backends);
}

bool Runtime::is(const SessionOptions& given) const {
  const auto all = [](const SessionOptions& o) {
    return std::tie(o.threads, o.precision, o.memory, o.pin_threads, o.backends, o.isa, o.memory_limit, o.power, o.cores, o.active_wait,
                    o.kernel_cache, o.fallback);
  };
  return all(options) == all(given);
}

bool Runtime::has_devices() const {
  return std::any_of(backends.begin(), backends.end(), [](const auto& backend) { return memory_of(*backend) != nullptr; });
}

namespace {

std::shared_ptr<const Runtime> runtime_of(const SessionOptions& options) {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::shared_ptr<const Runtime>>;  // outlives every thread
  thread_local std::vector<std::shared_ptr<const Runtime>> own;         // those with devices
  for (const auto& runtime : own)
    if (runtime->is(options)) return runtime;
  const std::lock_guard lock(mutex);
  for (const auto& runtime : all)
    if (runtime->is(options)) return runtime;
  auto made = std::make_shared<const Runtime>(options);
  return made->has_devices() ? own.emplace_back(std::move(made)) : all.emplace_back(std::move(made));
}

thread_local std::shared_ptr<const Runtime> scope_runtime;  // of the innermost Scope; null: the default

}  // namespace

const std::shared_ptr<const Runtime>& current_runtime() {
  if (scope_runtime) return scope_runtime;
  static const auto& standard = *new std::shared_ptr<const Runtime>(runtime_of({}));
  return standard;
}

}  // namespace minnow::express

namespace minnow::expr {

Scope::Scope(const SessionOptions& options) try : before_(express::scope_runtime) {
  if (options.time_limit != 0 || !options.times.empty() || options.explain)
    throw InvalidArgument("{} is an option of sessions; a scope of expressions takes none", options.time_limit != 0 ? "time_limit"
                                                                                            : options.explain       ? "explain"
                                                                                                                    : "times");
  express::scope_runtime = express::runtime_of(options);
} catch (...) {
  throw_as_error();
}
Scope::~Scope() { express::scope_runtime = std::static_pointer_cast<const express::Runtime>(before_); }

}  // namespace minnow::expr
