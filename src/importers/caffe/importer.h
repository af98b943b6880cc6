// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/caffe/net.h"
#include "importers/importer.h"

namespace minnow::caffe {

/// The graph of a network's text and its trained numbers. Throws InvalidModel, Unsupported, OutOfMemory.
std::unique_ptr<Graph> import_model(std::string_view prototxt, std::string_view caffemodel, const ImportOptions& options,
                                    const std::string& prototxt_source, const std::string& caffemodel_source);

}  // namespace minnow::caffe
