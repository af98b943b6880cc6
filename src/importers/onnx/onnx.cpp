// SPDX-License-Identifier: Apache-2.0
// The importer's entry points: models from files, memory and callbacks.
#include <limits>

#include "base/error.h"
#include "base/os.h"
#include "importers/importer.h"
#include "importers/onnx/external_data.h"
#include "importers/onnx/importer.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/wire.h"
#include "importers/read_callback.h"
#include "importers/source.h"

namespace minnow {

std::unique_ptr<Graph> import_onnx(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  const auto external = onnx::external_data_of_folder(folder_of_file(path));
  const onnx::DataReader data({file->bytes(), file}, external.get());
  return onnx::import_model(text_of(file->bytes()), data, options, source_of(options, name_of_file(path)));
}

std::unique_ptr<Graph> import_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ImportOptions& options) {
  const auto external = options.external_folder.empty() ? nullptr : onnx::external_data_of_folder(options.external_folder);
  const onnx::DataReader data({bytes, std::move(owner)}, external.get());
  return onnx::import_model(text_of(bytes), data, options, source_of(options));
}

std::unique_ptr<Graph> import_onnx(const ReadCallback& read, const ImportOptions& options) {
  const auto external = onnx::external_data_of_callback(read);
  const auto [memory, size] = read_all(read, {}, 0, std::numeric_limits<uint64_t>::max());
  const SharedBytes bytes({static_cast<const std::byte*>(memory.get()), size}, memory);
  const onnx::DataReader data(bytes, external.get());
  return onnx::import_model(bytes.text(), data, options, source_of(options));
}

bool looks_like_onnx(std::span<const std::byte> bytes) {
  // A ModelProto begins with ir_version (a small number), and has a graph or the opsets among its first fields. The last field of a
  // beginning may be cut.
  bool version = false, more = false;
  try {
    for (onnx::Fields fields(text_of(bytes)); fields.next();) {
      switch (fields.number()) {
        case onnx::field::kModelIrVersion:
          if (fields.integer() < 1 || fields.integer() > 1000) return false;
          version = true;
          break;
        case onnx::field::kModelProducerName:
        case onnx::field::kModelProducerVersion:
        case onnx::field::kModelDomain:
        case onnx::field::kModelDoc:
        case onnx::field::kModelGraph:
        case onnx::field::kModelOpsetImport:
        case onnx::field::kModelMetadata:
        case onnx::field::kModelTrainingInfo:
        case onnx::field::kModelFunctions:
        case onnx::field::kModelConfiguration:
          fields.bytes();
          more = true;
          break;
        case onnx::field::kModelVersion:
          fields.integer();
          break;
        default:
          return false;
      }
    }
  } catch (const Malformed&) {
    return version && bytes.size() >= 16;
  }
  return version && more;
}

}  // namespace minnow
