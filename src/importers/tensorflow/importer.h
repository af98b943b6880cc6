// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"
#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// The graph of a frozen GraphDef, or of a SavedModel's signature (`checkpoint`: the prefix of the files of its variables). Throws
/// InvalidModel, Unsupported, OutOfMemory, IoError.
std::unique_ptr<Graph> import_model(std::string_view bytes, const std::string& checkpoint, const ImportOptions& options,
                                    const std::string& source);

}  // namespace minnow::tensorflow
