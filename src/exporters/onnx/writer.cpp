// SPDX-License-Identifier: Apache-2.0
#include "exporters/onnx/writer.h"

#include <minnow/minnow.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "exporters/onnx/standard_form.h"
#include "importers/onnx/proto.h"

namespace minnow::onnx {
namespace {

// The newest version of the format whose opset is kNewestOpset.
constexpr int64_t kIrVersion = 13;

/// Gives each name once.
class NameSet {
 public:
  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (size_t& count = counts_[stem]; !taken_.insert(name).second;) name = format("{}_{}", stem, ++count);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> counts_;
};

/// Unique names of values, the graph's own if they are free. In ONNX a name identifies a value, also in inner graphs; in Minnow's graph
/// names need not be unique.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) {
    for (const auto& input : graph.inputs()) give(*input, input->name());
    for (const State& state : graph.states()) give(*state.current, state.name);
    for (const Value* output : graph.outputs())
      if (output->producer() && &output->graph() == &graph) give(*output, output->name());
  }
  const std::string& of(const Value& value) {
    const auto found = names_.find(&value);
    return found != names_.end() ? found->second : give(value, value.name());
  }
  std::string fresh(const std::string& wanted) { return taken_.fresh(wanted.empty() ? "value" : wanted); }

 private:
  const std::string& give(const Value& value, const std::string& wanted) {
    const auto found = names_.find(&value);  // an output that is given twice
    return found != names_.end() ? found->second : names_.emplace(&value, fresh(wanted)).first->second;
  }
  std::unordered_map<const Value*, std::string> names_;
  NameSet taken_;
};

MessageWriter entry_message(std::string_view key, std::string_view value) {
  MessageWriter entry;
  entry.text(field::kEntryKey, key);
  entry.text(field::kEntryValue, value);
  return entry;
}

class Writer {
 public:
  Writer(const Graph& graph, int64_t opset, ExternalFile* external)
      : graph_(graph), external_(external), names_(graph), domains_{{"", opset}} {}

  MessageWriter model() {
    MessageWriter graph = graph_message(graph_, graph_.name.empty() ? "graph" : graph_.name, true, 0);
    MessageWriter model;
    model.integer(field::kModelIrVersion, kIrVersion);
    model.text(field::kModelProducerName, "Minnow");
    model.text(field::kModelProducerVersion, version());
    model.message(field::kModelGraph, std::move(graph));
    for (const auto& [domain, number] : domains_) {
      MessageWriter opset;
      opset.text(field::kOpsetDomain, domain);
      opset.integer(field::kOpsetVersion, number);
      model.message(field::kModelOpsetImport, std::move(opset));
    }
    for (const auto& [key, value] : properties_of(graph_.metadata)) model.message(field::kModelMetadata, entry_message(key, value));
    return model;
  }

 private:
  static bool is_zero(const Tensor& tensor) {
    const std::byte* bytes = static_cast<const std::byte*>(tensor.data());
    return !tensor || std::all_of(bytes, bytes + tensor.bytes(), [](std::byte b) { return b == std::byte{0}; });
  }

  // Properties that the original did not have get a key that the importer recognizes.
  static std::map<std::string, std::string> properties_of(const Metadata& metadata) {
    std::map<std::string, std::string> properties = metadata.properties;
    if (!metadata.producer.empty()) properties[std::string(kProducerKey)] = metadata.producer;
    std::string labels;
    for (const std::string& label : metadata.labels) labels += label + "\n";
    if (!labels.empty()) properties[std::string(kLabelsKey)] = labels;
    return properties;
  }

  /// `scalars`: how many of the first inputs are scalars by the operator's definition.
  MessageWriter graph_message(const Graph& graph, const std::string& name, bool outermost, size_t scalars) {
    MessageWriter message;
    for (const Node& node : graph.nodes()) message.message(field::kGraphNode, node_message(node));
    std::vector<std::pair<std::string, const ValueType*>> outputs;
    std::unordered_set<const Value*> given;
    for (const Value* output : graph.outputs()) {
      // An output is made by a node of this graph, and given once.
      const bool own = output->producer() && &output->graph() == &graph && given.insert(output).second;
      outputs.emplace_back(own ? names_.of(*output) : identity(message, *output, output->name()), &output->type);
    }
    for (const State& state : graph.states())
      outputs.emplace_back(identity(message, *state.next, state.name + "_next"), &state.current->type);
    message.text(field::kGraphName, name);
    for (const auto& constant : graph.constants())
      message.message(field::kGraphInitializer, tensor_message(*constant->constant(), names_.of(*constant)));
    for (const State& state : graph.states())  // an input's initializer is its default value
      if (!is_zero(state.initial)) message.message(field::kGraphInitializer, tensor_message(state.initial, names_.of(*state.current)));
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& input = *graph.inputs()[i];
      ValueType type = input.type;
      if (i < scalars) type.dims.emplace();
      message.message(field::kGraphInput, value_message(names_.of(input), type, outermost || i < scalars));
    }
    for (const State& state : graph.states())
      message.message(field::kGraphInput, value_message(names_.of(*state.current), state.current->type, outermost));
    for (const auto& [output, type] : outputs) message.message(field::kGraphOutput, value_message(output, *type, outermost));
    return message;
  }

  std::string identity(MessageWriter& graph, const Value& value, const std::string& wanted) {
    const std::string name = names_.fresh(wanted);
    MessageWriter node;
    node.text(field::kNodeInput, names_.of(value));
    node.text(field::kNodeOutput, name);
    node.text(field::kNodeOpType, "Identity");
    graph.message(field::kGraphNode, std::move(node));
    return name;
  }

  MessageWriter node_message(const Node& node) {
    MessageWriter message;
    for (size_t i = 0; i < node.input_count(); ++i)
      message.text(field::kNodeInput, node.input(i) ? std::string_view(names_.of(*node.input(i))) : std::string_view());
    size_t outputs = node.output_count();
    while (outputs > 0 && !node.output(outputs - 1)) --outputs;
    for (size_t i = 0; i < outputs; ++i)
      message.text(field::kNodeOutput, node.output(i) ? std::string_view(names_.of(*node.output(i))) : std::string_view());
    if (!node.name().empty()) message.text(field::kNodeName, node_names_.fresh(node.name()));
    const std::string op = node.op() == kMatMulNBits ? "com.microsoft.MatMulNBits" : node.op();
    const size_t dot = op.rfind('.');
    const std::string domain = dot == op.npos ? std::string() : op.substr(0, dot);
    message.text(field::kNodeOpType, std::string_view(op).substr(dot == op.npos ? 0 : dot + 1));
    if (!domain.empty()) {
      message.text(field::kNodeDomain, domain);
      domains_[domain] = 1;  // custom operators have no versions
    }
    for (const auto& [name, value] : node.attributes) message.message(field::kNodeAttribute, attribute_message(node, name, value));
    return message;
  }

  MessageWriter attribute_message(const Node& node, const std::string& name, const AttributeValue& value) {
    MessageWriter message;
    message.text(field::kAttributeName, name);
    AttributeType type = AttributeType::undefined;
    if (const int64_t* integer = std::get_if<int64_t>(&value)) {
      type = AttributeType::integer;
      message.integer(field::kAttributeI, *integer);
    } else if (const float* real = std::get_if<float>(&value)) {
      type = AttributeType::real;
      message.real(field::kAttributeF, *real);
    } else if (const std::string* text = std::get_if<std::string>(&value)) {
      type = AttributeType::text;
      message.text(field::kAttributeS, *text);
    } else if (const Tensor* tensor = std::get_if<Tensor>(&value)) {
      type = AttributeType::tensor;
      message.message(field::kAttributeT, tensor_message(*tensor, {}));
    } else if (const Subgraph* graph = std::get_if<Subgraph>(&value)) {
      if (!*graph) throw Unsupported("{}: attribute \"{}\" holds no graph", node.where(), name);
      type = AttributeType::graph;
      const size_t scalars = node.op() == "Loop" ? 2 : 0;  // the iteration and the condition, which ONNX Runtime wants to be told
      message.message(field::kAttributeG, graph_message(**graph, (*graph)->name.empty() ? name : (*graph)->name, false, scalars));
    } else if (const Ints* ints = std::get_if<Ints>(&value)) {
      type = AttributeType::integers;
      for (int64_t each : *ints) message.integer(field::kAttributeInts, each);
    } else if (const Floats* floats = std::get_if<Floats>(&value)) {
      type = AttributeType::reals;
      for (float each : *floats) message.real(field::kAttributeFloats, each);
    } else if (const Strings* strings = std::get_if<Strings>(&value)) {
      type = AttributeType::texts;
      for (const std::string& each : *strings) message.text(field::kAttributeStrings, each);
    } else if (const ValueType* of_value = std::get_if<ValueType>(&value)) {
      type = AttributeType::type;
      message.message(field::kAttributeTp, type_message(*of_value, true));
    }
    message.integer(field::kAttributeType, static_cast<int64_t>(type));
    return message;
  }

  MessageWriter tensor_message(const Tensor& tensor, std::string_view name) {
    MessageWriter message;
    for (int64_t dim : tensor.shape()) message.integer(field::kTensorDims, dim);
    message.integer(field::kTensorDataType, static_cast<int64_t>(tensor.dtype()));
    if (!name.empty()) message.text(field::kTensorName, name);
    const size_t count = static_cast<size_t>(tensor.elements()), bytes = (count * bits_of(tensor.dtype()) + 7) / 8;
    if (external_ && bytes >= kExternalPage && !name.empty()) {
      const uint64_t offset = (external_->size + kExternalPage - 1) / kExternalPage * kExternalPage;
      message.message(field::kTensorExternalData, entry_message("location", external_->location));
      message.message(field::kTensorExternalData, entry_message("offset", format("{}", offset)));
      message.message(field::kTensorExternalData, entry_message("length", format("{}", bytes)));
      message.integer(field::kTensorDataLocation, static_cast<int64_t>(DataLocation::external));
      external_->pieces.push_back({offset, tensor});
      external_->size = offset + bytes;
    } else if (bits_of(tensor.dtype()) < 8) {
      std::string packed(bytes, '\0');
      pack_bits(tensor.dtype(), tensor.data(), count, packed.data());
      message.text(field::kTensorRawData, packed);
    } else {
      message.borrowed(field::kTensorRawData, {static_cast<const std::byte*>(tensor.data()), bytes});
    }
    return message;
  }

  MessageWriter value_message(const std::string& name, const ValueType& type, bool with_shape) {
    MessageWriter message;
    message.text(field::kValueName, name);
    if (type.element_dtype() != DType::undefined) message.message(field::kValueType, type_message(type, with_shape));
    return message;
  }

  /// Inputs and outputs of inner graphs are declared without shapes, because carried values may change their shapes.
  MessageWriter type_message(const ValueType& type, bool with_shape) {
    MessageWriter inner, message;
    if (type.kind != ValueType::Kind::tensor) {
      if (type.element) inner.message(field::kTypeElement, type_message(*type.element, with_shape));
      message.message(type.kind == ValueType::Kind::sequence ? field::kTypeSequence : field::kTypeOptional, std::move(inner));
      return message;
    }
    inner.integer(field::kTypeElement, static_cast<int64_t>(type.dtype));
    if (type.dims && with_shape) {
      MessageWriter shape;
      for (const Dim& dim : *type.dims) {
        MessageWriter each;
        if (dim.known())
          each.integer(field::kDimValue, dim.size);
        else if (!dim.symbol.empty())
          each.text(field::kDimParam, dim.symbol);
        shape.message(field::kShapeDim, std::move(each));
      }
      inner.message(field::kTypeShape, std::move(shape));
    }
    message.message(field::kTypeTensor, std::move(inner));
    return message;
  }

  const Graph& graph_;
  ExternalFile* external_;
  ValueNames names_;
  NameSet node_names_;
  std::map<std::string, int64_t> domains_;
};

}  // namespace

MessageWriter model_message(const Graph& graph, int64_t opset, ExternalFile* external) { return Writer(graph, opset, external).model(); }

}  // namespace minnow::onnx
