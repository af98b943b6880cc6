// SPDX-License-Identifier: Apache-2.0
// The options that expressions of this thread are computed with, and the backends that belong to them.
#pragma once
#include <minnow/express.h>

#include "backends/backend.h"

namespace minnow::express {

/// One object for all scopes of equal options, which lives as long as the process; with devices, whose queues belong to one thread, one for
/// each thread.
struct Runtime {
  SessionOptions options;
  std::vector<std::shared_ptr<Backend>> backends;
  int threads = 1;
  size_t wanted_backends = SIZE_MAX;  // PlanEnvironment

  explicit Runtime(const SessionOptions& given);
  bool is(const SessionOptions& given) const;
  bool has_devices() const;
};

/// That of the innermost Scope of this thread, or the default.
const std::shared_ptr<const Runtime>& current_runtime();

}  // namespace minnow::express
