// SPDX-License-Identifier: Apache-2.0
#include "exporters/onnx/onnx.h"

#include <limits>
#include <optional>

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

struct Message {
  std::unique_ptr<Graph> standard;  // whose tensors the writer refers to
  onnx::ExternalFile external;
  std::optional<onnx::MessageWriter> writer;
};

Message message_of(const OperatorSet& operators, const Graph& graph, const std::string& path, const OnnxOptions& options) {
  if (options.opset && (options.opset < kOldestExportOpset || options.opset > onnx::kNewestOpset))
    throw InvalidArgument("opset {} cannot be written, only {} to {}", options.opset, kOldestExportOpset, onnx::kNewestOpset);
  int64_t opset = options.opset ? options.opset : kUsualOpset;
  Message message;
  try {
    message.standard = onnx::standard_form(operators, graph, opset);
  } catch (const Unsupported&) {
    if (options.opset) throw;
    opset = onnx::kNewestOpset;
    message.standard = onnx::standard_form(operators, graph, opset);
  }
  message.external.location = path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1) + ".data";
  message.writer = onnx::model_message(*message.standard, opset, options.external_data ? &message.external : nullptr);
  if (message.writer->size() > kMostBytes && !options.external_data)
    message.writer = onnx::model_message(*message.standard, opset, &message.external);
  if (message.writer->size() > kMostBytes)
    throw Unsupported("{}: is larger than an ONNX file may be even without its weights", graph.source);
  return message;
}

}  // namespace

void export_onnx(const OperatorSet& operators, const Graph& graph, const std::string& path, const OnnxOptions& options) {
  const Message message = message_of(operators, graph, path, options);
  if (!message.external.pieces.empty()) write_external(path + ".data", message.external);  // first, so that no model is without it
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { message.writer->write(sink); });
}

uint64_t onnx_bytes(const OperatorSet& operators, const Graph& graph, const OnnxOptions& options) {
  const Message message = message_of(operators, graph, {}, options);
  const auto& pieces = message.external.pieces;
  if (pieces.empty()) return message.writer->size();
  const auto& [offset, last] = pieces.back();
  return message.writer->size() + offset + (static_cast<uint64_t>(last.elements()) * bits_of(last.dtype()) + 7) / 8;
}

}  // namespace minnow
