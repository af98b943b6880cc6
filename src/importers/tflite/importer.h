// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"
#include "importers/tflite/model.h"

namespace minnow::tflite {

/// The graph of a TFLite file. Throws InvalidModel, Unsupported, OutOfMemory.
std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source);

/// Labels of the classes, from files that metadata tools append to a model as a zip archive; empty if there are none.
std::vector<std::string> read_labels(std::span<const std::byte> bytes);

}  // namespace minnow::tflite
