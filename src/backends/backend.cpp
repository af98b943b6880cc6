// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <cstring>

namespace minnow {

Estimate declined_with(std::string_view pattern, std::span<const FormatArg> args) {
  Estimate estimate;
  estimate.declined = format_args(pattern, args);
  return estimate;
}

void Backend::copy_from_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
void Backend::copy_to_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

}  // namespace minnow
