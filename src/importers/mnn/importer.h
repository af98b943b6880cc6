// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"
#include "importers/mnn/model.h"

namespace minnow::mnn {

/// The graph of an MNN file. Throws InvalidModel, Unsupported, OutOfMemory, IoError. `external` and `weights_name` as ModelFile has them.
std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source,
                                    std::unique_ptr<onnx::ExternalData> external, const std::string& weights_name);

}  // namespace minnow::mnn
