// SPDX-License-Identifier: Apache-2.0
// From foreign model files to Minnow's graph, and to .minnow files. Link minnow_convert (CMake: Minnow::convert).
#pragma once
#include <minnow/minnow.h>

#include <map>
#include <string>
#include <vector>

namespace minnow {

enum class Optimize {
  none,      // the graph as the importer made it
  standard,  // every pass: for inference
  train      // keeps every parameter and every BatchNormalization
};

struct ConvertOptions {
  Optimize optimize = Optimize::standard;
  std::map<std::string, std::vector<int64_t>> shapes;  // input name -> dimensions that are fixed (-1: stays as it is)
  std::map<std::string, std::string> renames;          // inputs and outputs: old name -> new name
  std::vector<std::string> labels;                     // of classes, kept in the model
  bool verify = false;  // runs the graph before and after optimization on random inputs; throws Error beyond 1e-4 relative
  /// Told what each pass changed: "conv_batch_norm: 20 changes".
  std::function<void(std::string_view line)> dump_passes;
  /// Told what was read differently than the file says (training-mode Dropout ...).
  std::function<void(std::string_view message)> warn;
  std::shared_ptr<const OperatorSet> operators;  // with custom operators; null: the built-in ones
};

/// Reads a model of any format that this build knows (recognized by content; several files where a format has several), .minnow included,
/// and optimizes it. Throws IoError, InvalidModel, Unsupported (all operators that are missing at once, with their nodes).
MINNOW_API Model convert(const std::vector<std::string>& paths, const ConvertOptions& options = {});
inline Model convert(const std::string& path, const ConvertOptions& options = {}) {
  return convert(std::vector<std::string>{path}, options);
}
/// The same from memory, for formats of one file. The bytes are copied unless `owner` keeps them alive.
MINNOW_API Model convert_memory(std::span<const std::byte> bytes, const ConvertOptions& options = {},
                                std::shared_ptr<const void> owner = nullptr);

/// Writes a .minnow file beside its destination and renames it.
MINNOW_API void save(const Model& model, const std::string& path);

/// Names of the formats that convert() reads: "onnx", "minnow", ...
MINNOW_API std::vector<std::string> formats();

}  // namespace minnow
