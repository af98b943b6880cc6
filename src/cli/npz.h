// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files, stored or deflated.
#pragma once
#include <minnow/tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace minnow::cli {

/// The arrays with their names, without ".npy", in the order of the file. Throws IoError, InvalidArgument with the path.
std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path);

}  // namespace minnow::cli
