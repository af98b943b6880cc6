// SPDX-License-Identifier: Apache-2.0
// Damaged model files: whatever is cut off or changed, a reader gives a graph or an error, and nothing else.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::test {

/// How often files are damaged; a large one is one of more than 100 000 bytes, of which copying the weights takes longer than reading it.
struct Damage {
  size_t truncations = 1000, large_truncations = 100;
  size_t flips = 3000, large_flips = 100;
  size_t memory = 16;  // most bytes of one allocation for each byte of the file, beside 64 MB
};

using Reader = std::function<void(std::span<const std::byte> bytes)>;

/// The importer of a format ("tflite"), without warnings.
Reader reader_of(std::string_view format);

/// The files are read without an error, and are recognized as files of that format.
void expect_graphs(const std::vector<std::string>& files, std::string_view format);

/// The files that are there.
std::vector<std::string> contents_of(const std::vector<std::filesystem::path>& paths);

/// Cuts the files off at places spread over them.
void expect_errors_or_graphs_of_parts(const std::vector<std::string>& files, const Damage& damage, const Reader& read);
/// Changes bytes of the files, mostly near their ends, where structure lies.
void expect_errors_or_graphs_of_changed(const std::vector<std::string>& files, const Damage& damage, const Reader& read);

}  // namespace minnow::test
