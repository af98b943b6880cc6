// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "importers/importer.h"

namespace minnow::torchscript {

/// The graph of the method forward() of a TorchScript archive. Throws InvalidModel, Unsupported, OutOfMemory.
std::unique_ptr<Graph> import_model(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                                    const ImportOptions& options, const std::string& source);

}  // namespace minnow::torchscript
