// SPDX-License-Identifier: Apache-2.0
// Paths and bytes at the entry points of all importers.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "importers/importer.h"

namespace minnow {

/// The last part of a path.
inline std::string name_of_file(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return path.substr(slash == path.npos ? 0 : slash + 1);
}
/// The folder that it lies in.
inline std::string folder_of_file(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
/// The model's name in errors.
inline std::string source_of(const ImportOptions& options, std::string fallback = "model") {
  return options.source.empty() ? std::move(fallback) : options.source;
}
inline std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace minnow
