// SPDX-License-Identifier: Apache-2.0
// ONNX's messages as views of the file: parsed one level at a time, nothing copied but lists of views.
#pragma once
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "importers/onnx/proto.h"

namespace minnow::onnx {

using Views = std::vector<std::string_view>;
/// Version of each domain's operators; ai.onnx is "".
using Opsets = std::unordered_map<std::string_view, int64_t>;

struct AttributeMessage {
  explicit AttributeMessage(std::string_view message);
  std::string_view name, reference;  // reference: of an attribute of the function that the node is in
  AttributeType type = AttributeType::undefined;
  int64_t integer = 0;
  float real = 0;
  std::string_view text, payload;  // payload: the message of a tensor, graph, sparse tensor or type
  Ints integers;
  Floats reals;
  Views texts;
  size_t unreadable = 0;  // entries of lists of tensors, graphs or types
};

struct NodeMessage {
  explicit NodeMessage(std::string_view message);
  std::string_view name, op, domain, overload;
  Views inputs, outputs, attributes;
};

struct GraphMessage {
  explicit GraphMessage(std::string_view message);
  std::string_view name;
  Views nodes, initializers, sparse_initializers, inputs, outputs, values;
};

struct ValueMessage {
  explicit ValueMessage(std::string_view message);
  std::string_view name, type;
};

struct FunctionMessage {
  explicit FunctionMessage(std::string_view message);
  std::string_view name, domain, overload;
  Views inputs, outputs, attributes, defaults, nodes;
  Opsets opsets;
};

struct ModelMessage {
  explicit ModelMessage(std::string_view message);
  int64_t ir_version = 0;
  bool has_graph = false;
  std::string_view producer, producer_version, graph;
  Opsets opsets;
  std::vector<std::pair<std::string_view, std::string_view>> properties;
  Views functions;
};

/// "ai.onnx" is another spelling of "".
inline std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

}  // namespace minnow::onnx
