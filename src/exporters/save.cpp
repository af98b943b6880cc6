// SPDX-License-Identifier: Apache-2.0
// Where models go: the formats that are written, by the end of the file's name.
#include <minnow/convert.h>

#include "base/no_memory.h"
#include "exporters/onnx/onnx.h"
#include "ops/stored_weights.h"

namespace minnow {

void save(const Model& model, const std::string& path, const SaveOptions& options) try {
  if (options.weights != "f32" && options.weights != "f16" && options.weights != "bf16")
    throw InvalidArgument("weights are stored as f32, f16 or bf16, not as \"{}\"", options.weights);
  for (const std::string_view foreign : {".tflite", ".pb", ".pt", ".pth", ".mnn", ".caffemodel", ".prototxt", ".ort"})
    if (path.ends_with(foreign)) throw Unsupported("{}: models are written as .minnow and .onnx files, not as {}", path, foreign);
  const bool rounded = options.weights != "f32";
  if (rounded && path.ends_with(".onnx")) throw InvalidArgument("{}: only .minnow files store weights as {}", path, options.weights);
  if (options.compress && path.ends_with(".onnx")) throw InvalidArgument("{}: only .minnow files are compressed", path);
  if (path.ends_with(".onnx"))
    export_onnx(OperatorSet::builtin(), model.graph(), path, {.external_data = options.external_data, .opset = options.opset});
  else if (options.external_data || options.opset)
    throw InvalidArgument("{}: only ONNX files (.onnx) have an opset, or data in a file beside them", path);
  else
    write_model(model.graph(), path,
                rounded ? round_weights(model.graph(), options.weights == "f16" ? DType::f16 : DType::bf16, options.warn) : StoredWeights(),
                options.compress);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
