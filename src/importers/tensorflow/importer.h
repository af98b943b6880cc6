// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"
#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// The graph of a frozen GraphDef. Throws InvalidModel, Unsupported, OutOfMemory.
std::unique_ptr<Graph> import_model(std::string_view bytes, const ImportOptions& options, const std::string& source);

}  // namespace minnow::tensorflow
