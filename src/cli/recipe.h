// SPDX-License-Identifier: Apache-2.0
// The options of `minnow quantize` by name, and files of them: TOML, and two kinds of JSON files that MNN's tools read.
#pragma once
#include <minnow/compress.h>
#include <minnow/prune.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace minnow::cli {

/// All that a quantization is asked for. Options of the command (`-` is `_`), keys of recipes and arguments in Python set it by the same
/// names.
struct Recipe {
  std::string calibration, evaluation, html;  // paths as they can be opened; empty: not given
  std::optional<size_t> most_bytes;           // of the file
  std::optional<double> min_sqnr, min_agreement, max_drop;
  size_t samples = 0;  // 0: all
  bool data_free = false, automatic = false, compress = false;
  std::vector<std::string> shapes, operators;
  compress::QuantizeOptions options;
  compress::Steps steps;  // of pruning, before quantization
  PictureOptions pictures;

  /// Throws InvalidArgument, beginning with `prefix`, for an unknown name or a wrong value. Lists are "a, b".
  void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};

/// Reads a TOML file; or, if the name ends in ".json", the settings of MNN's quantized.out and mnnquant (docs/compression.md has a table),
/// or the compression parameters of MNNConvert, from which the bits of weights are taken. Throws IoError, InvalidArgument, and Unsupported
/// for settings that have no counterpart. Paths in it count from its folder. `recipe`: what it says nothing of.
Recipe read_recipe(const std::string& path, Recipe recipe = {});

/// "2MB", "1.5 MB", "300 kB" or bytes. Throws InvalidArgument that begins with `where`.
size_t bytes_of_size(const std::string& text, const std::string& where);

}  // namespace minnow::cli
