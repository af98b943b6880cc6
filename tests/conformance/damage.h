// SPDX-License-Identifier: Apache-2.0
// Damaged model files: whatever is cut off or changed, the readers give a graph or an error, with memory in proportion to the file.
#pragma once
#include <filesystem>
#include <vector>

namespace minnow::test {

/// Cuts each of the files, and the .minnow file made of it, at places spread over it, and changes bytes of it at random: in all as many
/// times as asked for, at least once a file. Prints how many ended in an error and how many in a graph, and what went wrong: an error of
/// our own making, or more memory than eight times the file and 64 MB. Returns how often that happened.
size_t damage_models(const std::vector<std::filesystem::path>& models, size_t truncations, size_t flips);

}  // namespace minnow::test
