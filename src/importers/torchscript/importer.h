// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/shared_bytes.h"
#include "importers/importer.h"

namespace minnow::torchscript {

/// The graph of the method forward() of a TorchScript archive. Throws InvalidModel, Unsupported, OutOfMemory.
std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source);

}  // namespace minnow::torchscript
