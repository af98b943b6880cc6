// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/data.h>

namespace minnow::data {

/// Picture files with their targets, i64 or f32 [n]; they are read when a sample is asked for. Throws Unsupported in builds without
/// pictures.
DatasetPtr picture_files(std::vector<std::string> paths, Tensor targets, std::vector<std::string> classes, bool gray);

}  // namespace minnow::data
