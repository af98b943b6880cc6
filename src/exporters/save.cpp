// SPDX-License-Identifier: Apache-2.0
// Where models go: the formats that are written, by the end of the file's name.
#include <minnow/convert.h>

#include "base/no_memory.h"
#include "exporters/onnx/onnx.h"
#include "ops/stored_weights.h"

namespace minnow {
namespace {

void check(const std::string& path, const SaveOptions& options) {
  if (options.weights != "f32" && options.weights != "f16" && options.weights != "bf16")
    throw InvalidArgument("weights are stored as f32, f16 or bf16, not as \"{}\"", options.weights);
  for (const std::string_view foreign : {".tflite", ".pb", ".pt", ".pth", ".mnn", ".caffemodel", ".prototxt", ".ort"})
    if (path.ends_with(foreign)) throw Unsupported("{}: models are written as .minnow and .onnx files, not as {}", path, foreign);
  if (options.weights != "f32" && path.ends_with(".onnx"))
    throw InvalidArgument("{}: only .minnow files store weights as {}", path, options.weights);
  if (options.compress && path.ends_with(".onnx")) throw InvalidArgument("{}: only .minnow files are compressed", path);
  if (!path.ends_with(".onnx") && (options.external_data || options.opset))
    throw InvalidArgument("{}: only ONNX files (.onnx) have an opset, or data in a file beside them", path);
}

StoredWeights weights_of(const Model& model, const SaveOptions& options) {
  if (options.weights == "f32") return {};
  return round_weights(model.graph(), options.weights == "f16" ? DType::f16 : DType::bf16, options.warn);
}

}  // namespace

void save(const Model& model, const std::string& path, const SaveOptions& options) try {
  check(path, options);
  if (path.ends_with(".onnx"))
    export_onnx(OperatorSet::builtin(), model.graph(), path, {.external_data = options.external_data, .opset = options.opset});
  else
    write_model(model.graph(), path, weights_of(model, options), options.compress);
} catch (...) {
  throw_as_error();
}

uint64_t saved_bytes(const Model& model, const std::string& path, const SaveOptions& options) try {
  check(path, options);
  if (path.ends_with(".onnx"))
    return onnx_bytes(OperatorSet::builtin(), model.graph(), {.external_data = options.external_data, .opset = options.opset});
  uint64_t bytes = 0;
  write_model_to(
      model.graph(), [&](std::span<const std::byte> part) { bytes += part.size(); }, weights_of(model, options), options.compress);
  return bytes;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
