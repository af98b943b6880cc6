// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <minnow/minnow.h>

#include <mutex>

#include "base/text.h"

namespace minnow {
namespace {
std::mutex g_mutex;
LogHook g_hook;
}  // namespace

void set_log_hook(LogHook hook) {
  const std::lock_guard lock(g_mutex);
  g_hook = std::move(hook);
}

void log_message(std::string_view message) {
  const std::lock_guard lock(g_mutex);
  if (g_hook) g_hook(printable(message, true));
}

}  // namespace minnow
