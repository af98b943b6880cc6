// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/messages.h"

#include <cstring>

#include "importers/onnx/wire.h"

namespace minnow::onnx {
namespace {

void read_opset(std::string_view message, Opsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == field::kOpsetDomain) domain = fields.bytes();
    if (fields.number() == field::kOpsetVersion) version = fields.integer();
  }
  opsets[domain_of(domain)] = version;
}

}  // namespace

AttributeMessage::AttributeMessage(std::string_view message) {
  AttributeType filled = AttributeType::undefined;  // from the fields that are set; files of IR version 1 have no type
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kAttributeName:
        name = fields.bytes();
        break;
      case field::kAttributeRefName:
        reference = fields.bytes();
        break;
      case field::kAttributeType: {
        const int64_t number = fields.integer();
        if (number < 0 || number > static_cast<int64_t>(AttributeType::types)) throw Malformed{"an attribute has an unknown type"};
        type = static_cast<AttributeType>(number);
        break;
      }
      case field::kAttributeI:
        integer = fields.integer();
        filled = AttributeType::integer;
        break;
      case field::kAttributeF:
        real = fields.real();
        filled = AttributeType::real;
        break;
      case field::kAttributeS:
        text = fields.bytes();
        filled = AttributeType::text;
        break;
      case field::kAttributeT:
        payload = fields.bytes();
        filled = AttributeType::tensor;
        break;
      case field::kAttributeG:
        payload = fields.bytes();
        filled = AttributeType::graph;
        break;
      case field::kAttributeSparseTensor:
        payload = fields.bytes();
        filled = AttributeType::sparse_tensor;
        break;
      case field::kAttributeTp:
        payload = fields.bytes();
        filled = AttributeType::type;
        break;
      case field::kAttributeInts:
        fields.integers([&](int64_t value) { integers.push_back(value); });
        filled = AttributeType::integers;
        break;
      case field::kAttributeFloats: {
        const std::string_view bytes = fields.fixed(4);
        const size_t old = reals.size();
        reals.resize(old + bytes.size() / 4);
        if (!bytes.empty()) std::memcpy(reals.data() + old, bytes.data(), bytes.size());
        filled = AttributeType::reals;
        break;
      }
      case field::kAttributeStrings:
        texts.push_back(fields.bytes());
        filled = AttributeType::texts;
        break;
      case field::kAttributeTensors:
      case field::kAttributeGraphs:
      case field::kAttributeTypeProtos:
      case field::kAttributeSparseTensors:
        ++unreadable;
        filled = AttributeType::tensors;
        break;
      default:
        break;
    }
  }
  if (type == AttributeType::undefined) type = filled;
}

NodeMessage::NodeMessage(std::string_view message) {
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kNodeInput:
        inputs.push_back(fields.bytes());
        break;
      case field::kNodeOutput:
        outputs.push_back(fields.bytes());
        break;
      case field::kNodeName:
        name = fields.bytes();
        break;
      case field::kNodeOpType:
        op = fields.bytes();
        break;
      case field::kNodeAttribute:
        attributes.push_back(fields.bytes());
        break;
      case field::kNodeDomain:
        domain = domain_of(fields.bytes());
        break;
      case field::kNodeOverload:
        overload = fields.bytes();
        break;
      default:
        break;
    }
  }
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
}

GraphMessage::GraphMessage(std::string_view message) {
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kGraphNode:
        nodes.push_back(fields.bytes());
        break;
      case field::kGraphName:
        name = fields.bytes();
        break;
      case field::kGraphInitializer:
        initializers.push_back(fields.bytes());
        break;
      case field::kGraphSparseInitializer:
        sparse_initializers.push_back(fields.bytes());
        break;
      case field::kGraphInput:
        inputs.push_back(fields.bytes());
        break;
      case field::kGraphOutput:
        outputs.push_back(fields.bytes());
        break;
      case field::kGraphValueInfo:
        values.push_back(fields.bytes());
        break;
      default:
        break;
    }
  }
}

ValueMessage::ValueMessage(std::string_view message) {
  for (Fields fields(message); fields.next();) {
    if (fields.number() == field::kValueName) name = fields.bytes();
    if (fields.number() == field::kValueType) type = fields.bytes();
  }
}

FunctionMessage::FunctionMessage(std::string_view message) {
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kFunctionName:
        name = fields.bytes();
        break;
      case field::kFunctionDomain:
        domain = domain_of(fields.bytes());
        break;
      case field::kFunctionOverload:
        overload = fields.bytes();
        break;
      case field::kFunctionInput:
        inputs.push_back(fields.bytes());
        break;
      case field::kFunctionOutput:
        outputs.push_back(fields.bytes());
        break;
      case field::kFunctionAttribute:
        attributes.push_back(fields.bytes());
        break;
      case field::kFunctionAttributeProto:
        defaults.push_back(fields.bytes());
        break;
      case field::kFunctionNode:
        nodes.push_back(fields.bytes());
        break;
      case field::kFunctionOpsetImport:
        read_opset(fields.bytes(), opsets);
        break;
      default:
        break;
    }
  }
}

ModelMessage::ModelMessage(std::string_view message) {
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kModelIrVersion:
        ir_version = fields.integer();
        break;
      case field::kModelProducerName:
        producer = fields.bytes();
        break;
      case field::kModelProducerVersion:
        producer_version = fields.bytes();
        break;
      case field::kModelGraph:
        graph = fields.bytes();
        has_graph = true;
        break;
      case field::kModelOpsetImport:
        read_opset(fields.bytes(), opsets);
        break;
      case field::kModelMetadata: {
        auto& [key, value] = properties.emplace_back();
        for (Fields entry(fields.bytes()); entry.next();) {
          if (entry.number() == field::kEntryKey) key = entry.bytes();
          if (entry.number() == field::kEntryValue) value = entry.bytes();
        }
        break;
      }
      case field::kModelFunctions:
        functions.push_back(fields.bytes());
        break;
      default:
        break;
    }
  }
}

}  // namespace minnow::onnx
