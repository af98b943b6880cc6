// SPDX-License-Identifier: Apache-2.0
// Writes small ONNX messages for tests of the reader, wrong ones too.
#pragma once
#include <minnow/tensor.h>

#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "importers/onnx/proto.h"

namespace minnow::test::onnx_file {

namespace field = minnow::onnx::field;
using minnow::onnx::AttributeType;
using Names = std::vector<std::string>;

/// A message from calls on its writer.
template <class F>
std::string message(F write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

/// A TensorProto with raw data.
inline std::string raw_tensor(const std::string& name, DType dtype, const std::vector<int64_t>& dims, const std::string& raw) {
  return message([&](protozero::pbf_writer& w) {
    for (int64_t dim : dims) w.add_int64(field::kTensorDims, dim);
    w.add_int32(field::kTensorDataType, static_cast<int32_t>(dtype));
    w.add_string(field::kTensorName, name);
    w.add_string(field::kTensorRawData, raw);
  });
}
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
inline std::string floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return raw_tensor(name, DType::f32, dims, bytes_of(values));
}
inline std::string ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return raw_tensor(name, DType::i64, dims, bytes_of(values));
}

// Attributes.
inline std::string attribute(const std::string& name, AttributeType type, void (*write)(protozero::pbf_writer&, const void*),
                             const void* value) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(field::kAttributeName, name);
    if (value) write(w, value);
    if (type != AttributeType::undefined) w.add_int32(field::kAttributeType, static_cast<int32_t>(type));
  });
}
inline std::string attribute(const std::string& name, int64_t value) {
  return attribute(
      name, AttributeType::integer, [](auto& w, const void* v) { w.add_int64(field::kAttributeI, *static_cast<const int64_t*>(v)); },
      &value);
}
inline std::string attribute(const std::string& name, float value) {
  return attribute(
      name, AttributeType::real, [](auto& w, const void* v) { w.add_float(field::kAttributeF, *static_cast<const float*>(v)); }, &value);
}
inline std::string attribute(const std::string& name, const std::vector<int64_t>& value) {
  return attribute(
      name, AttributeType::integers,
      [](auto& w, const void* v) {
        for (int64_t i : *static_cast<const std::vector<int64_t>*>(v)) w.add_int64(field::kAttributeInts, i);
      },
      &value);
}
inline std::string text_attribute(const std::string& name, const std::string& value) {
  return attribute(
      name, AttributeType::text, [](auto& w, const void* v) { w.add_string(field::kAttributeS, *static_cast<const std::string*>(v)); },
      &value);
}
inline std::string tensor_attribute(const std::string& name, const std::string& value) {
  return attribute(
      name, AttributeType::tensor, [](auto& w, const void* v) { w.add_message(field::kAttributeT, *static_cast<const std::string*>(v)); },
      &value);
}
inline std::string graph_attribute(const std::string& name, const std::string& value) {
  return attribute(
      name, AttributeType::graph, [](auto& w, const void* v) { w.add_message(field::kAttributeG, *static_cast<const std::string*>(v)); },
      &value);
}
/// An attribute of a node in a function that takes the caller's.
inline std::string reference_attribute(const std::string& name, const std::string& of, AttributeType type) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(field::kAttributeName, name);
    w.add_string(field::kAttributeRefName, of);
    w.add_int32(field::kAttributeType, static_cast<int32_t>(type));
  });
}

inline std::string node(const std::string& op, const Names& inputs, const Names& outputs, const Names& attributes = {},
                        const std::string& name = {}, const std::string& domain = {}) {
  return message([&](protozero::pbf_writer& w) {
    for (const std::string& input : inputs) w.add_string(field::kNodeInput, input);
    for (const std::string& output : outputs) w.add_string(field::kNodeOutput, output);
    if (!name.empty()) w.add_string(field::kNodeName, name);
    w.add_string(field::kNodeOpType, op);
    for (const std::string& one : attributes) w.add_message(field::kNodeAttribute, one);
    if (!domain.empty()) w.add_string(field::kNodeDomain, domain);
  });
}

/// A dimension: a size, or where it begins with no digit a symbol; "?" for neither.
inline std::string tensor_type(DType dtype, const Names& dims) {
  return message([&](protozero::pbf_writer& w) {
    w.add_message(field::kTypeTensor, message([&](protozero::pbf_writer& t) {
                    t.add_int32(field::kTypeElement, static_cast<int32_t>(dtype));
                    t.add_message(field::kTypeShape, message([&](protozero::pbf_writer& s) {
                                    for (const std::string& dim : dims)
                                      s.add_message(field::kShapeDim, message([&](protozero::pbf_writer& d) {
                                                      if (dim == "?") return;
                                                      if (dim[0] >= '0' && dim[0] <= '9')
                                                        d.add_int64(field::kDimValue, std::stoll(dim));
                                                      else
                                                        d.add_string(field::kDimParam, dim);
                                                    }));
                                  }));
                  }));
  });
}
inline std::string value(const std::string& name, const std::string& type = tensor_type(DType::f32, {"n"})) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(field::kValueName, name);
    if (!type.empty()) w.add_message(field::kValueType, type);
  });
}

struct GraphParts {
  Names inputs = {}, outputs = {}, nodes = {}, initializers = {}, values = {}, sparse = {};  // messages
};
inline std::string graph(const GraphParts& parts) {
  return message([&](protozero::pbf_writer& w) {
    for (const std::string& one : parts.nodes) w.add_message(field::kGraphNode, one);
    w.add_string(field::kGraphName, "g");
    for (const std::string& one : parts.initializers) w.add_message(field::kGraphInitializer, one);
    for (const std::string& one : parts.sparse) w.add_message(field::kGraphSparseInitializer, one);
    for (const std::string& one : parts.inputs) w.add_message(field::kGraphInput, one);
    for (const std::string& one : parts.outputs) w.add_message(field::kGraphOutput, one);
    for (const std::string& one : parts.values) w.add_message(field::kGraphValueInfo, one);
  });
}

inline std::string opset(const std::string& domain, int64_t version) {
  return message([&](protozero::pbf_writer& w) {
    if (!domain.empty()) w.add_string(field::kOpsetDomain, domain);
    w.add_int64(field::kOpsetVersion, version);
  });
}

struct ModelParts {
  int64_t ir_version = 10;
  Names opsets = {opset("", 26)};
  Names functions = {};
  std::vector<std::pair<std::string, std::string>> properties = {};
};
inline std::string model(const std::string& graph_message, const ModelParts& parts = {}) {
  return message([&](protozero::pbf_writer& w) {
    w.add_int64(field::kModelIrVersion, parts.ir_version);
    w.add_string(field::kModelProducerName, "tests");
    w.add_string(field::kModelProducerVersion, "7");
    w.add_message(field::kModelGraph, graph_message);
    for (const std::string& one : parts.opsets) w.add_message(field::kModelOpsetImport, one);
    for (const auto& entry : parts.properties)  // no structured binding: clang 14 cannot capture one
      w.add_message(field::kModelMetadata, message([&](protozero::pbf_writer& e) {
                      e.add_string(field::kEntryKey, entry.first);
                      e.add_string(field::kEntryValue, entry.second);
                    }));
    for (const std::string& one : parts.functions) w.add_message(field::kModelFunctions, one);
  });
}
inline std::string model(const GraphParts& parts, const ModelParts& more = {}) { return model(graph(parts), more); }

struct FunctionParts {
  std::string name = {}, domain = "local";
  Names inputs = {}, outputs = {}, nodes = {}, attributes = {}, defaults = {}, opsets = {opset("", 26), opset("local", 1)};
};
inline std::string function(const FunctionParts& parts) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(field::kFunctionName, parts.name);
    for (const std::string& one : parts.inputs) w.add_string(field::kFunctionInput, one);
    for (const std::string& one : parts.outputs) w.add_string(field::kFunctionOutput, one);
    for (const std::string& one : parts.attributes) w.add_string(field::kFunctionAttribute, one);
    for (const std::string& one : parts.nodes) w.add_message(field::kFunctionNode, one);
    for (const std::string& one : parts.opsets) w.add_message(field::kFunctionOpsetImport, one);
    if (!parts.domain.empty()) w.add_string(field::kFunctionDomain, parts.domain);
    for (const std::string& one : parts.defaults) w.add_message(field::kFunctionAttributeProto, one);
  });
}

inline std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace minnow::test::onnx_file
