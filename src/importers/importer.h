// SPDX-License-Identifier: Apache-2.0
// From foreign model files to graphs of Minnow's own operators.
#pragma once
#include <minnow/convert.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace minnow {

class OperatorSet;

struct ImportOptions {
  /// Called with a sentence for each thing that was read differently than the file says. Empty: the sentences go to the log hook.
  std::function<void(std::string_view sentence)> warn;
  /// Operators that the graph may use; null: the built-in ones. Pass a set with custom operators to accept those too.
  const OperatorSet* operators = nullptr;
  /// The model's name in errors and in Graph::source; empty: the file's name, or "model".
  std::string source;
  /// For models in memory: the folder with external data; empty: external data is an error.
  std::string external_folder;
  /// Initializers that are also inputs and shall stay inputs; all others become constants. Throws InvalidArgument for any other name.
  std::vector<std::string> keep_inputs;
  /// Shapes of inputs that the caller knows (-1: open), for formats that do not store them.
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<std::vector<int64_t>> shapes_in_order;  // the same by the input's place; empty: not known
  /// The signature to read, for formats whose models may have several (TensorFlow's SavedModel, TFLite); inputs and outputs get its names.
  /// Empty: the format's default.
  std::string signature;
};

/// Reads an ONNX model of any opset into a graph of today's operators. Aligned weights are used in place, so the graph keeps the file
/// mapped. Throws IoError; InvalidModel for a wrong file; Unsupported for missing operators, with all their names and nodes.
std::unique_ptr<Graph> import_onnx(const std::string& path, const ImportOptions& options = {});
/// The same from memory that `owner` keeps alive; without an owner the bytes are copied where the graph needs them.
std::unique_ptr<Graph> import_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ImportOptions& options = {});
/// The same through a callback that reads the model and the files beside it.
std::unique_ptr<Graph> import_onnx(const ReadCallback& read, const ImportOptions& options = {});

/// True if the bytes (a whole file, or its first few kilobytes) look like an ONNX model.
bool looks_like_onnx(std::span<const std::byte> bytes);

/// Reads a TFLite model: its first graph, with the names of tensors, or the graph of a signature, with the signature's names. Variables
/// become states, subgraphs become If and Loop, and inputs and outputs keep the layout of the file. Throws IoError; InvalidModel for a
/// wrong file; Unsupported for missing operators, with all their names and nodes.
std::unique_ptr<Graph> import_tflite(const std::string& path, const ImportOptions& options = {});
/// The same from memory that `owner` keeps alive; without an owner the bytes are copied where the graph needs them.
std::unique_ptr<Graph> import_tflite(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                     const ImportOptions& options = {});
/// True if the bytes look like a TFLite model.
bool looks_like_tflite(std::span<const std::byte> bytes);

/// Reads an MNN model of any version: weights in every packed form, also from the weight file beside the model. Control flow across graphs
/// becomes If and Loop, and inputs and outputs keep the layout of the file. Throws IoError; InvalidModel for a wrong file; Unsupported for
/// missing operators, with all their names and nodes.
std::unique_ptr<Graph> import_mnn(const std::string& path, const ImportOptions& options = {});
/// The same from memory that `owner` keeps alive; without an owner the bytes are copied where the graph needs them.
std::unique_ptr<Graph> import_mnn(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ImportOptions& options = {});
/// The same through a callback that reads the model and the file beside it.
std::unique_ptr<Graph> import_mnn(const ReadCallback& read, const ImportOptions& options = {});
/// True if the bytes look like an MNN model, which has no magic number.
bool looks_like_mnn(std::span<const std::byte> bytes);

/// Reads a Caffe model of any version: its network (.prototxt, the test phase) and its weights (.caffemodel), in either order. Image sizes
/// and the first dimension stay open unless a layer depends on the sizes in the file. Throws IoError; InvalidModel, with the layer, if a
/// file is wrong or the two do not fit; Unsupported for missing layers, with all their names.
std::unique_ptr<Graph> import_caffe(const std::vector<std::string>& paths, const ImportOptions& options = {});
/// True if the bytes look like one of the two files.
bool looks_like_caffe(std::span<const std::byte> bytes);

/// Reads a frozen TensorFlow graph (GraphDef) or a SavedModel folder's saved_model.pb, with the checkpoint of its variables beside it.
/// Variables become constants; functions are inlined or become If and Loop. The outputs of a frozen graph are the nodes that no other node
/// reads. For a SavedModel, a signature is read, and inputs and outputs have its names. Throws IoError; InvalidModel for a wrong file;
/// Unsupported for missing operators, with all their names and nodes.
std::unique_ptr<Graph> import_tensorflow(const std::string& path, const ImportOptions& options = {});
/// The same from memory, which is copied.
std::unique_ptr<Graph> import_tensorflow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                         const ImportOptions& options = {});
/// True if the bytes look like such a graph.
bool looks_like_tensorflow(std::span<const std::byte> bytes);

/// Reads a TorchScript archive (torch.jit.save) of a traced or scripted module: forward() and everything it calls. The ranks and dtypes of
/// inputs are inferred from the program, and sizes stay open; ImportOptions::shapes overrides them. Attributes that forward() assigns
/// become states. Throws IoError; InvalidModel for a wrong file; Unsupported for missing operators, with all their names and the places
/// of their use.
std::unique_ptr<Graph> import_torchscript(const std::string& path, const ImportOptions& options = {});
/// The same from memory that `owner` keeps alive; without an owner the bytes are copied where the graph needs them.
std::unique_ptr<Graph> import_torchscript(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                          const ImportOptions& options = {});
/// True if the bytes begin a ZIP archive.
bool looks_like_torchscript(std::span<const std::byte> bytes);

}  // namespace minnow
