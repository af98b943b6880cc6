// SPDX-License-Identifier: Apache-2.0
#include "exporters/onnx/onnx.h"

#include <limits>

#include "base/numeric.h"
#include "base/os.h"
#include "exporters/onnx/standard_form.h"
#include "exporters/onnx/writer.h"

namespace minnow {
namespace {

constexpr int64_t kUsualOpset = 26;
constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();  // of a message

void write_external(const std::string& path, const onnx::ExternalFile& file) {
  os::write_file_atomically(path, [&](const os::ByteSink& sink) {
    std::vector<std::byte> bytes;  // zeros between pieces; packed elements
    uint64_t at = 0;
    for (const auto& [offset, tensor] : file.pieces) {
      bytes.assign(offset - at, std::byte{0});
      sink(bytes);
      std::span<const std::byte> elements(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
      if (bits_of(tensor.dtype()) < 8) {
        const size_t count = static_cast<size_t>(tensor.elements());
        bytes.resize((count * bits_of(tensor.dtype()) + 7) / 8);
        pack_bits(tensor.dtype(), tensor.data(), count, bytes.data());
        elements = bytes;
      }
      sink(elements);
      at = offset + elements.size();
    }
  });
}

}  // namespace

void export_onnx(const OperatorSet& operators, const Graph& graph, const std::string& path, const OnnxOptions& options) {
  if (options.opset && (options.opset < kOldestExportOpset || options.opset > onnx::kNewestOpset))
    throw InvalidArgument("opset {} cannot be written, only {} to {}", options.opset, kOldestExportOpset, onnx::kNewestOpset);
  int64_t opset = options.opset ? options.opset : kUsualOpset;
  std::unique_ptr<Graph> standard;
  try {
    standard = onnx::standard_form(operators, graph, opset);
  } catch (const Unsupported&) {
    if (options.opset) throw;
    opset = onnx::kNewestOpset;
    standard = onnx::standard_form(operators, graph, opset);
  }
  onnx::ExternalFile external;
  external.location = path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1) + ".data";
  onnx::MessageWriter model = onnx::model_message(*standard, opset, options.external_data ? &external : nullptr);
  if (model.size() > kMostBytes && !options.external_data) model = onnx::model_message(*standard, opset, &external);
  if (model.size() > kMostBytes) throw Unsupported("{}: is larger than an ONNX file may be even without its weights", graph.source);
  if (!external.pieces.empty()) write_external(path + ".data", external);  // first, so that no model is without it
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { model.write(sink); });
}

}  // namespace minnow
