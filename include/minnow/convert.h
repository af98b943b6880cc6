// SPDX-License-Identifier: Apache-2.0
// From foreign model files to Minnow's graph, and to .minnow and ONNX files. Link minnow_convert (CMake: Minnow::convert).
#pragma once
#include <minnow/minnow.h>

#include <map>
#include <string>
#include <vector>

namespace minnow {

enum class Optimize {
  none,      // the graph as the importer made it
  standard,  // every pass: for inference
  train,     // keeps every parameter and every BatchNormalization
  once       // standard; a .minnow file that convert() and save() made, by the options of that time, stays as it is
};

/// Reads `bytes` bytes at `offset` of the file `name` into `buffer` and returns their number, which is smaller only at the file's end. The
/// model itself has the empty name. Files that it refers to (external data) have the relative path from the model, checked to stay inside
/// its folder. Throws if the file cannot be read.
using ReadCallback = std::function<size_t(const std::string& name, uint64_t offset, void* buffer, size_t bytes)>;

struct ConvertOptions {
  Optimize optimize = Optimize::standard;
  std::map<std::string, std::vector<int64_t>> shapes = {};  // input name -> fixed dimensions (-1: unchanged)
  std::vector<std::vector<int64_t>> shapes_in_order = {};   // the same for inputs in the model's order; empty: none are fixed
  std::map<std::string, std::string> renames = {};          // inputs and outputs: old name -> new name
  /// Initializers that the file lists as inputs too (in ONNX the caller may override such a default): these become inputs, which a run
  /// then has to be given; others are constants.
  std::vector<std::string> keep_inputs = {};
  std::vector<std::string> labels = {};  // of classes, kept in the model
  /// Kept in the model beside the properties that the file has; a property of the file with the same name is replaced.
  std::map<std::string, std::string> properties = {};
  /// The signature to read, whose names inputs and outputs get; an error for formats without signatures. Empty: in a TensorFlow SavedModel
  /// "serving_default", or the only one; in a TFLite file the first graph, with the names of its tensors.
  std::string signature = {};
  /// One of formats(), for files whose content is not recognized; empty: recognized by content.
  std::string format = {};
  /// Runs the graph before and after optimization on random inputs. If results differ by more than 1e-4 relative, throws Error and names
  /// the pass at fault. In graphs that quantize, numbers may differ by 1e-4 before rounding.
  bool verify = false;
  /// Called with each pass's changes: "conv_batch_norm: 20 changes".
  std::function<void(std::string_view line)> dump_passes = {};
  /// Called with a sentence for each thing that was read differently than the file says (training-mode Dropout ...).
  std::function<void(std::string_view message)> warn = {};
  /// Called from time to time with the finished part of the work, from 0 to 1 and never falling, on the thread that converts. An exception
  /// from it ends the conversion. Importing counts as half, verifying as three tenths.
  std::function<void(double part)> progress = {};
  std::shared_ptr<const OperatorSet> operators = {};  // with custom operators; null: the built-in ones
  /// Bytes that the conversion may allocate for tensors, tables and nodes; verifying is not counted. 0: 256 MB, and 16 bytes for each byte
  /// of the model's files.
  size_t memory_limit = 0;
};

/// Reads a model of any format of this build, including .minnow, and optimizes it. The format is recognized by content unless the options
/// name it; some formats have several files, or a SavedModel's folder. Throws IoError, InvalidModel, Unsupported (with all missing
/// operators and their nodes) and OutOfMemory.
MINNOW_API Model convert(const std::vector<std::string>& paths, const ConvertOptions& options = {});
MINNOW_API Model convert(const std::string& path, const ConvertOptions& options = {});
/// The same from memory, for formats of one file. The bytes are copied unless `owner` keeps them alive.
MINNOW_API Model convert_memory(std::span<const std::byte> bytes, const ConvertOptions& options = {},
                                std::shared_ptr<const void> owner = nullptr);
/// The same through a callback that reads the model and the files beside it.
MINNOW_API Model convert_read(const ReadCallback& read, const ConvertOptions& options = {});
/// The same of a model that is there already, an expression (expr::to_model), say; constants are shared.
MINNOW_API Model convert_model(const Model& model, const ConvertOptions& options = {});

struct SaveOptions {
  /// ONNX: stores constants of at least a page in a file beside the model, PATH.data. Models of more than two gigabytes always have it.
  bool external_data = false;
  /// ONNX: of ai.onnx, 21 to 28; 0: 26, or newer where an operator needs it.
  int opset = 0;
  /// .minnow: the dtype in which the weights of layers are stored, "f32", "f16" or "bf16". They are widened on load, whatever precision
  /// the model is run with. Those that the dtype cannot hold stay f32.
  std::string weights = "f32";
  /// .minnow: stores tensors as entropy codes where that saves a twentieth or more. They are decoded on load, on all cores.
  bool compress = false;
  /// Gets a sentence for each layer whose weights stay f32.
  std::function<void(std::string_view)> warn = {};
};

/// Writes an ONNX file if the path ends in ".onnx", else a .minnow file, under a temporary name beside its destination, and renames it.
/// In an ONNX file, fused operators are decomposed. States become inputs (with an initializer unless they begin as zero) and outputs named
/// NAME_next. Throws IoError, and Unsupported for anything that ONNX cannot express.
MINNOW_API void save(const Model& model, const std::string& path, const SaveOptions& options = {});

/// The bytes that save() would write there, without writing them.
MINNOW_API uint64_t saved_bytes(const Model& model, const std::string& path, const SaveOptions& options = {});

/// Names of the formats that convert() reads: "onnx", "minnow", ...
MINNOW_API std::vector<std::string> formats();

}  // namespace minnow
