// SPDX-License-Identifier: Apache-2.0
#include "base/placeholder.h"

#include <algorithm>
#include <string_view>

namespace minnow {

std::string placeholder(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "is empty";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 1024));
  if (!text.starts_with("version https://git-lfs.github.com/spec/")) return {};
  std::string reason = "is a Git LFS pointer in place of a file";
  if (const size_t at = text.find("\nsize "); at != text.npos) {
    const size_t end = text.find_first_not_of("0123456789", at + 6);
    reason.append(" of ").append(text.substr(at + 6, end == text.npos ? end : end - at - 6)).append(" bytes");
  }
  return reason + "; run `git lfs pull` to fetch it";
}

}  // namespace minnow
