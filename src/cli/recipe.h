// SPDX-License-Identifier: Apache-2.0
// Recipes of `minnow quantize`: TOML files of its options, and two kinds of JSON files that MNN's tools read.
#pragma once
#include <minnow/prune.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace minnow::cli {

struct Recipe {
  std::string calibration, evaluation, max_size;  // empty: not given; paths as they can be opened
  std::optional<size_t> samples;
  std::optional<double> min_sqnr, min_agreement, max_drop;
  std::vector<std::pair<std::string, std::string>> options;  // of compress::QuantizeOptions, by its names
  compress::Steps steps;                                     // of pruning, before quantization
  std::map<std::string, std::string> pictures;               // keys of vision::PictureInput
  std::string prefix;                                        // begins errors about its options
};

/// Reads a TOML file; or, if the name ends in ".json", the settings of MNN's quantized.out and mnnquant (docs/compression.md has a table),
/// or the compression parameters of MNNConvert, from which the bits of weights are taken. Throws IoError, InvalidArgument, and Unsupported
/// for settings that have no counterpart.
Recipe read_recipe(const std::string& path);

/// "2MB", "1.5 MB", "300 kB" or bytes. Throws InvalidArgument that begins with `where`.
size_t bytes_of_size(const std::string& text, const std::string& where);

}  // namespace minnow::cli
