// SPDX-License-Identifier: Apache-2.0
// The importer's entry points.
#include "base/os.h"
#include "importers/mnn/importer.h"
#include "importers/read_callback.h"
#include "importers/source.h"

namespace minnow {

std::unique_ptr<Graph> import_mnn(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  const std::string name = name_of_file(path);
  return mnn::import_model({file->bytes(), file}, options, source_of(options, name), onnx::external_data_of_folder(folder_of_file(path)),
                           name + ".weight");
}

std::unique_ptr<Graph> import_mnn(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ImportOptions& options) {
  const std::string source = source_of(options);
  return mnn::import_model({bytes, std::move(owner)}, options, source,
                           options.external_folder.empty() ? nullptr : onnx::external_data_of_folder(options.external_folder),
                           source + ".weight");
}

std::unique_ptr<Graph> import_mnn(const ReadCallback& read, const ImportOptions& options) {
  const auto [memory, size] = read_all(read, {}, 0, UINT64_MAX);
  const std::string source = source_of(options);
  return mnn::import_model({{static_cast<const std::byte*>(memory.get()), size}, memory}, options, source,
                           onnx::external_data_of_callback(read), source + ".weight");
}

bool looks_like_mnn(std::span<const std::byte> bytes) { return mnn::looks_like_model(bytes); }

}  // namespace minnow
