// SPDX-License-Identifier: Apache-2.0
// Tensors in files beside the model.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/shared_bytes.h"
#include "importers/importer.h"

namespace minnow::onnx {

/// Gives pieces of files that a model names. The location must lead to a file inside the model's folder.
class ExternalData {
 public:
  virtual ~ExternalData() = default;
  /// `size` bytes at `offset`. Throws InvalidModel or IoError beginning with `where`.
  SharedBytes read(std::string_view location, uint64_t offset, uint64_t size, const std::string& where);

 private:
  virtual SharedBytes read_file(const std::string& location, uint64_t offset, uint64_t size, const std::string& where) = 0;
};

/// Files of a folder, each mapped once.
std::unique_ptr<ExternalData> external_data_of_folder(const std::string& folder);
/// Files behind a callback.
std::unique_ptr<ExternalData> external_data_of_callback(const ReadCallback& read);

}  // namespace minnow::onnx
