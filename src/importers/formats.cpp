// SPDX-License-Identifier: Apache-2.0
#include "importers/formats.h"

#include <unordered_set>

#include "base/error.h"
#include "graph/model_file.h"
#include "importers/caffe/caffe_layer.h"
#include "importers/mnn/mnn_node.h"
#include "importers/onnx/onnx_node.h"
#include "importers/tensorflow/control_flow.h"
#include "importers/tensorflow/tf_node.h"
#include "importers/tflite/tflite_node.h"
#include "importers/torchscript/call.h"
#include "ops/operator.h"

namespace minnow {
namespace {

using Paths = std::vector<std::string>;
using Bytes = std::span<const std::byte>;
using Owner = std::shared_ptr<const void>;

const std::string& only_file(const Paths& paths, std::string_view format) {
  if (paths.size() != 1) throw InvalidArgument("a model of the format {} is one file, {} were given: {}", format, paths.size(), paths);
  return paths[0];
}

std::unique_ptr<Graph> minnow_files(const Paths& paths, const ImportOptions&) { return read_model(only_file(paths, "minnow")); }
std::unique_ptr<Graph> minnow_memory(Bytes bytes, Owner owner, const ImportOptions&) { return read_model(bytes, std::move(owner)); }

std::unique_ptr<Graph> onnx_files(const Paths& paths, const ImportOptions& options) {
  return import_onnx(only_file(paths, "onnx"), options);
}
std::unique_ptr<Graph> onnx_memory(Bytes bytes, Owner owner, const ImportOptions& options) {
  return import_onnx(bytes, std::move(owner), options);
}
std::unique_ptr<Graph> onnx_read(const ReadCallback& read, const ImportOptions& options) { return import_onnx(read, options); }

std::vector<ForeignOperator> onnx_operators() {
  std::vector<ForeignOperator> list;
  std::unordered_set<std::string_view> named;
  for (const Operator* op : OperatorSet::builtin().list()) {
    const std::string_view name = op->name;
    if (!name.starts_with("minnow.") && named.insert(name).second) list.push_back({name, ""});
  }
  for (const onnx::ImportRule& rule : onnx::all_rules())
    if (named.insert(rule.op).second)
      list.push_back({rule.op, rule.op.starts_with("com.microsoft.") ? "contributed operator of ONNX Runtime" : "becomes other operators"});
  return list;
}

std::unique_ptr<Graph> tflite_files(const Paths& paths, const ImportOptions& options) {
  return import_tflite(only_file(paths, "tflite"), options);
}

std::vector<ForeignOperator> tflite_operators() {
  std::vector<ForeignOperator> list;
  for (const tflite::Rule& rule : tflite::all_rules())
    list.push_back({rule.name, rule.code == tflite::kCustomCode       ? "custom operator"
                               : rule.values == tflite::Values::moves ? "moves elements as they are stored"
                               : rule.values == tflite::Values::raw   ? ""
                                                                      : "of real or quantized numbers"});
  return list;
}

std::unique_ptr<Graph> tensorflow_files(const Paths& paths, const ImportOptions& options) {
  return import_tensorflow(only_file(paths, "tensorflow"), options);
}

std::vector<ForeignOperator> tensorflow_operators() {
  std::vector<ForeignOperator> list = {{"Const", ""},
                                       {"Placeholder", ""},
                                       {"HashTable", "filled with constants"},
                                       {"HashTableV2", "filled with constants"},
                                       {"Variable", "from a checkpoint"},
                                       {"VariableV2", "from a checkpoint"},
                                       {"VarHandleOp", "from a checkpoint"}};
  for (std::string_view op : tensorflow::control_flow_operators()) list.push_back({op, "becomes Loop and If"});
  for (const tensorflow::Rule& rule : tensorflow::all_rules()) list.push_back({rule.op, ""});
  return list;
}

std::unique_ptr<Graph> mnn_files(const Paths& paths, const ImportOptions& options) { return import_mnn(only_file(paths, "mnn"), options); }
std::unique_ptr<Graph> mnn_memory(Bytes bytes, Owner owner, const ImportOptions& options) {
  return import_mnn(bytes, std::move(owner), options);
}
std::unique_ptr<Graph> mnn_read(const ReadCallback& read, const ImportOptions& options) { return import_mnn(read, options); }

std::vector<ForeignOperator> mnn_operators() {
  std::vector<ForeignOperator> list = {{"Const", ""}, {"Input", ""}, {"TrainableParam", ""}};
  for (const mnn::Rule& rule : mnn::all_rules()) list.push_back({rule.name, ""});
  return list;
}

std::vector<ForeignOperator> caffe_layers() {
  std::vector<ForeignOperator> list;
  for (const caffe::Rule& rule : caffe::all_rules()) list.push_back({rule.type, rule.build ? "" : "training only, left out"});
  return list;
}

std::unique_ptr<Graph> torchscript_files(const Paths& paths, const ImportOptions& options) {
  return import_torchscript(only_file(paths, "torchscript"), options);
}

std::vector<ForeignOperator> torchscript_operators() {
  std::vector<ForeignOperator> list;
  for (const torchscript::Rule& rule : torchscript::all_rules())
    if (list.empty() || list.back().name != rule.op) list.push_back({rule.op, ""});
  return list;
}

// Formats with a magic number first, then those with the strictest structure: the first format that recognizes a file reads it.
constexpr Format kFormats[] = {
    {"minnow", is_model_file, minnow_files, minnow_memory},
    {"tflite", looks_like_tflite, tflite_files, import_tflite, nullptr, tflite_operators, true},
    {"torchscript", looks_like_torchscript, torchscript_files, import_torchscript, nullptr, torchscript_operators},
    {"mnn", looks_like_mnn, mnn_files, mnn_memory, mnn_read, mnn_operators},
    {"tensorflow", looks_like_tensorflow, tensorflow_files, import_tensorflow, nullptr, tensorflow_operators, true},
    {"onnx", looks_like_onnx, onnx_files, onnx_memory, onnx_read, onnx_operators},
    {"caffe", looks_like_caffe, import_caffe, nullptr, nullptr, caffe_layers},
};

}  // namespace

std::span<const Format> import_formats() { return kFormats; }

const Format* recognize_format(std::span<const std::byte> head) {
  for (const Format& format : kFormats)
    if (format.recognize(head)) return &format;
  return nullptr;
}

}  // namespace minnow
