// SPDX-License-Identifier: Apache-2.0
// Damaged model files: whatever is cut off or changed, the readers give a graph or an error, with memory in proportion to the file.
#pragma once
#include <filesystem>
#include <vector>

namespace minnow::test {

/// Cuts each file, and its .minnow form, at positions spread over it, and changes random bytes: in total as often as requested, but at
/// least once per file. Prints how many attempts gave an error and how many a graph, and every failure: an internal error, or more memory
/// than eight times the file and 64 MB. Returns the number of failures.
size_t damage_models(const std::vector<std::filesystem::path>& models, size_t truncations, size_t flips);

}  // namespace minnow::test
