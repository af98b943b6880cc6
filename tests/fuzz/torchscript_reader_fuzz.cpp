// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any bytes give a graph or an error. Bytes that begin as a ZIP archive are read as one; others are entries, each the length of
// its name (1 byte), the name, the length of its contents (2 bytes) and the contents, which come into an archive with right checksums.
#include <cstdlib>

#include "base/error.h"
#include "importers/importer.h"
#include "support/zip_writer.h"

namespace {

std::string archive_of(std::string_view data) {
  minnow::test::ZipWriter zip;
  while (data.size() > 3) {
    const size_t name_size = static_cast<uint8_t>(data[0]);
    if (data.size() < 3 + name_size) break;
    const std::string name(data.substr(1, name_size));
    const size_t size = static_cast<uint8_t>(data[1 + name_size]) | static_cast<size_t>(static_cast<uint8_t>(data[2 + name_size])) << 8;
    const std::string_view contents = data.substr(3 + name_size).substr(0, size);
    zip.add(name, std::string(contents));
    data.remove_prefix(3 + name_size + contents.size());
  }
  return zip.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string bytes = text.starts_with("PK\3\4") ? std::string(text) : archive_of(text);
  minnow::ImportOptions options;
  options.warn = [](std::string_view) {};
  try {
    minnow::import_torchscript(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
  } catch (const minnow::Error& error) {
    if (error.kind() == minnow::ErrorKind::internal) std::abort();  // a broken promise of ours
  }
  return 0;
}
