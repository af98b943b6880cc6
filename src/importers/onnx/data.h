// SPDX-License-Identifier: Apache-2.0
// ONNX's tensors, sequences, optionals and types.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "importers/onnx/external_data.h"

namespace minnow::onnx {

/// A TensorProto as it lies in the file.
struct TensorMessage {
  explicit TensorMessage(std::string_view message);
  std::string_view message, name;
  Ints dims;  // cut after kMaxRank + 1
  int64_t data_type = 0;
  std::optional<std::string_view> raw;
  bool external = false, segmented = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_entries;
};

/// Reads the tensors of one model. They share the file's memory if the elements are aligned for their dtype, else they are copied; types
/// under a byte are unpacked to one byte each. Every error begins with `where`. Memory is allocated only for elements that the file holds.
class DataReader {
 public:
  /// `file`: the whole model, which messages are parts of; without an owner nothing is shared. `external` may be null: then external data
  /// is an error.
  DataReader(SharedBytes file, ExternalData* external) : file_(std::move(file)), external_(external) {}

  Tensor tensor(const TensorMessage& message, const std::string& where) const;
  Tensor tensor(std::string_view message, const std::string& where) const { return tensor(TensorMessage(message), where); }
  /// A sparse tensor as a dense one. Refused if all of them together would need more than a large multiple of the file's size.
  Tensor sparse_tensor(std::string_view message, const std::string& where) const;
  Datum sequence(std::string_view message, const std::string& where, int depth = 0) const;
  Datum optional(std::string_view message, const std::string& where, int depth = 0) const;

 private:
  Tensor from_bytes(DType dtype, const Shape& shape, const SharedBytes& bytes, const std::string& where) const;
  /// Bytes of a message, with the file's owner.
  SharedBytes in_file(std::string_view bytes) const { return file_.part(std::as_bytes(std::span(bytes.data(), bytes.size()))); }
  SharedBytes file_;
  ExternalData* external_;
  mutable uint64_t sparse_left_ = uint64_t{64} << 20;  // bytes of zeros that sparse tensors may yet write out
};

/// The name of a SparseTensorProto: that of its values.
std::string_view sparse_tensor_name(std::string_view message);

/// A TypeProto. Maps, opaque types and sparse tensors are refused by name.
ValueType read_type(std::string_view message, const std::string& where, int depth = 0);

}  // namespace minnow::onnx
