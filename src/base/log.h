// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/format.h"

namespace minnow {

/// Gives a message for people to the hook that the application set; else it is dropped.
void log_message(std::string_view message);
template <class... Args>
void log(std::string_view pattern, const Args&... args) {
  log_message(format(pattern, args...));
}

}  // namespace minnow
