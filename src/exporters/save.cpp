// SPDX-License-Identifier: Apache-2.0
// Where models go: the formats that are written, by the end of the file's name.
#include <minnow/convert.h>

#include "exporters/onnx/onnx.h"
#include "graph/model_file.h"

namespace minnow {

void save(const Model& model, const std::string& path, const SaveOptions& options) {
  if (path.ends_with(".onnx"))
    export_onnx(OperatorSet::builtin(), model.graph(), path,
                {.external_data = options.external_data, .opset = options.opset ? options.opset : onnx::kNewestOpset});
  else if (options.external_data || options.opset)
    throw InvalidArgument("{}: only ONNX files (.onnx) have an opset, or data in a file beside them", path);
  else
    write_model(model.graph(), path);
}

}  // namespace minnow
