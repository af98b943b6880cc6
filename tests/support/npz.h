// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files, stored or deflated.
#pragma once
#include <minnow/tensor.h>

#include <map>
#include <string>

namespace minnow::test {

/// The arrays by name, without ".npy". Throws Error with the path.
std::map<std::string, Tensor> read_npz(const std::string& path);

}  // namespace minnow::test
