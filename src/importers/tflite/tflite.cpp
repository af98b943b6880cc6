// SPDX-License-Identifier: Apache-2.0
// The importer's entry points.
#include <cstring>

#include "base/os.h"
#include "importers/source.h"
#include "importers/tflite/importer.h"

namespace minnow {

std::unique_ptr<Graph> import_tflite(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  return tflite::import_model({file->bytes(), file}, options, source_of(options, name_of_file(path)));
}

std::unique_ptr<Graph> import_tflite(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ImportOptions& options) {
  return tflite::import_model({bytes, std::move(owner)}, options, source_of(options));
}

bool looks_like_tflite(std::span<const std::byte> bytes) { return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0; }

}  // namespace minnow
