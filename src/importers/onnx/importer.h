// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"
#include "importers/onnx/data.h"
#include "importers/onnx/onnx_node.h"

namespace minnow::onnx {

/// The graph of a ModelProto. `source` names it in errors.
std::unique_ptr<Graph> import_model(std::string_view bytes, const DataReader& data, const ImportOptions& options,
                                    const std::string& source);

}  // namespace minnow::onnx
