// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any bytes give a graph or an error.
#include <cstdlib>

#include "base/error.h"
#include "importers/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  minnow::ImportOptions options;
  options.warn = [](std::string_view) {};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  minnow::looks_like_mnn(bytes);
  try {
    minnow::import_mnn(bytes, nullptr, options);
  } catch (const minnow::Error& error) {
    if (error.kind() == minnow::ErrorKind::internal) std::abort();  // a broken promise of ours
  }
  return 0;
}
