// SPDX-License-Identifier: Apache-2.0
// The graph as text. One statement a line; text_parser.cpp reads the same form:
//
//   graph "digits" {
//     metadata producer "minnow"
//     input x: f32[batch, 3, ?]
//     const w = f32[2, 2] [1, 2, 3, 4]
//     const ones = f32[64, 64] fill 1
//     const large = f32[512, 512] ...
//     state count: f32[1] = f32[1] [0] next y
//     y: f32[batch, 2], _ = Foo(x, _, w) {axis = 1, scale = 0.5, mode = "same", pads = [1, 1]} @"node"
//     output y
//   }
//
// Numbers with a point, an exponent or the letters of inf and nan are floats, the others integers. A name that is not a word of letters,
// digits and _ . / # + - is quoted; `'2` behind a name tells apart values of one name. # begins a comment.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/numeric.h"
#include "base/text.h"
#include "graph/text_form.h"

namespace minnow {
namespace text_form {

bool is_word(std::string_view text) { return !text.empty() && text[0] != '#' && std::all_of(text.begin(), text.end(), is_word_character); }

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  const bool as_it_is = is_printable(text);  // else bytes beyond ASCII are escaped, too
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || (!as_it_is && static_cast<unsigned char>(c) >= 0x80)) {
      constexpr char kDigits[] = "0123456789abcdef";
      const unsigned char code = static_cast<unsigned char>(c);
      out += "\\x", out += kDigits[code >> 4], out += kDigits[code & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

std::string word_or_quoted(std::string_view text) { return is_word(text) && text != "_" ? std::string(text) : in_quotes(text); }

template <class T>
std::string shortest(T value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string real(float value) {
  std::string text = shortest(value);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";  // or else it would read as an integer
  return text;
}

std::string type_text(const ValueType& type) {
  if (type.kind != ValueType::Kind::tensor)
    return (type.kind == ValueType::Kind::sequence ? "seq(" : "optional(") + (type.element ? type_text(*type.element) : "?") + ")";
  std::string text(type.dtype == DType::undefined ? std::string_view("?") : name_of(type.dtype));
  if (!type.dims) return text;
  text += '[';
  for (size_t i = 0; i < type.dims->size(); ++i) {
    const Dim& dim = (*type.dims)[i];
    if (i) text += ", ";
    const bool plain = is_word(dim.symbol) && dim.symbol.find_first_not_of("0123456789+-") != std::string::npos;
    text += dim.known() ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : plain ? dim.symbol : in_quotes(dim.symbol);
  }
  return text + ']';
}

bool is_uniform(const Tensor& tensor) {
  const size_t size = size_of(tensor.dtype());
  return tensor.bytes() <= size || std::memcmp(tensor.data(), static_cast<const char*>(tensor.data()) + size, tensor.bytes() - size) == 0;
}

std::string element_text(const Tensor& tensor, size_t i) {
  const DType dtype = tensor.dtype();
  const char* at = static_cast<const char*>(tensor.data()) + i * size_of(dtype);
  if (is_float(dtype)) {
    double value;
    widen(dtype, at, 1, &value);
    return dtype == DType::f64 ? shortest(value) : shortest(static_cast<float>(value));
  }
  if (is_integer(dtype) || dtype == DType::boolean) {
    int64_t value;
    widen(dtype, at, 1, &value);
    return dtype == DType::u64 ? shortest(static_cast<uint64_t>(value)) : shortest(value);
  }
  throw Unsupported("a constant of dtype {} has no text form", dtype);
}

std::string tensor_text(const Tensor& tensor, size_t inline_elements) {
  std::string text = type_text(ValueType::tensor(tensor.dtype(), tensor.shape())) + ' ';
  const size_t count = static_cast<size_t>(tensor.elements());
  if (tensor.shape().empty()) return text + element_text(tensor, 0);
  if (count > 4 && is_uniform(tensor)) return text + "fill " + element_text(tensor, 0);
  if (count > inline_elements) return text + "...";
  text += '[';
  for (size_t i = 0; i < count; ++i) text += (i ? ", " : "") + element_text(tensor, i);
  return text + ']';
}

class Writer {
 public:
  Writer(const Graph& graph, size_t inline_elements) : inline_elements_(inline_elements) {
    give_names(graph);
    write(graph, 0);
  }
  std::string take() { return std::move(text_) + '\n'; }

 private:
  void write(const Graph& graph, int depth) {
    text_ += "graph ";
    if (!graph.name.empty()) text_ += in_quotes(graph.name) + ' ';
    text_ += "{\n";
    write_statements(graph, depth + 1);
    text_.append(static_cast<size_t>(2 * depth), ' ');
    text_ += '}';
  }
  void begin_line(int depth) { text_.append(static_cast<size_t>(2 * depth), ' '); }
  void line(int depth, std::string_view content) {
    begin_line(depth);
    text_ += content;
    text_ += '\n';
  }

  void write_statements(const Graph& graph, int depth) {
    if (!graph.source.empty() && !graph.outer) line(depth, "source " + in_quotes(graph.source));
    const Metadata& metadata = graph.metadata;
    if (!metadata.producer.empty()) line(depth, "metadata producer " + in_quotes(metadata.producer));
    if (!metadata.source_format.empty()) line(depth, "metadata source_format " + in_quotes(metadata.source_format));
    if (!metadata.source_hash.empty()) line(depth, "metadata source_hash " + in_quotes(metadata.source_hash));
    for (const std::string& label : metadata.labels) line(depth, "metadata label " + in_quotes(label));
    for (const auto& [key, value] : metadata.properties) line(depth, "metadata property " + in_quotes(key) + " = " + in_quotes(value));
    for (const auto& input : graph.inputs()) line(depth, "input " + declared(*input));
    for (const auto& constant : graph.constants())
      line(depth, "const " + name_of_value(constant.get()) + " = " + tensor_text(*constant->constant(), inline_elements_));
    for (const State& state : graph.states()) {
      std::string content = "state " + declared(*state.current) + " = " + tensor_text(state.initial, inline_elements_);
      if (state.next) content += " next " + name_of_value(state.next);
      if (state.name != state.current->name()) content += " as " + in_quotes(state.name);
      line(depth, content);
    }
    for (const Node& node : graph.nodes()) write_node(node, depth);
    for (const Value* output : graph.outputs()) line(depth, "output " + name_of_value(output));
  }

  void write_node(const Node& node, int depth) {
    begin_line(depth);
    if (node.output_count() == 0) text_ += "()";
    for (size_t i = 0; i < node.output_count(); ++i) {
      if (i) text_ += ", ";
      text_ += node.output(i) ? declared(*node.output(i)) : "_";
    }
    text_ += " = " + word_or_quoted(node.op()) + '(';
    for (size_t i = 0; i < node.input_count(); ++i) text_ += (i ? ", " : "") + (node.input(i) ? name_of_value(node.input(i)) : "_");
    text_ += ')';
    if (node.attributes.size()) {
      text_ += " {";
      bool first = true;
      for (const auto& [name, value] : node.attributes) {
        if (!first) text_ += ", ";
        first = false;
        text_ += word_or_quoted(name) + " = ";
        write_attribute(value, depth);
      }
      text_ += '}';
    }
    if (!node.name().empty()) text_ += " @" + in_quotes(node.name());
    text_ += '\n';
  }

  void write_attribute(const AttributeValue& value, int depth) {
    const auto list = [&](const auto& items, std::string_view name, auto print) {
      text_ += items.empty() ? std::string(name) + "[" : "[";
      for (size_t i = 0; i < items.size(); ++i) text_ += (i ? ", " : "") + print(items[i]);
      text_ += ']';
    };
    if (const auto* integer = std::get_if<int64_t>(&value)) text_ += shortest(*integer);
    if (const auto* number = std::get_if<float>(&value)) text_ += real(*number);
    if (const auto* string = std::get_if<std::string>(&value)) text_ += in_quotes(*string);
    if (const auto* tensor = std::get_if<Tensor>(&value)) text_ += tensor_text(*tensor, inline_elements_);
    if (const auto* graph = std::get_if<Subgraph>(&value)) write(**graph, depth);
    if (const auto* ints = std::get_if<Ints>(&value)) list(*ints, "ints", shortest<int64_t>);
    if (const auto* floats = std::get_if<Floats>(&value)) list(*floats, "floats", real);
    if (const auto* strings = std::get_if<Strings>(&value)) list(*strings, "strings", [](const std::string& s) { return in_quotes(s); });
    if (const auto* type = std::get_if<ValueType>(&value)) text_ += "type(" + type_text(*type) + ")";
  }

  std::string declared(const Value& value) {
    std::string text = name_of_value(&value);
    const bool unknown = value.type.kind == ValueType::Kind::tensor && value.type.dtype == DType::undefined && !value.type.dims;
    return unknown ? text : text + ": " + type_text(value.type);
  }

  void give_name(const Value* value) {
    std::string text = word_or_quoted(value->name());
    if (const size_t others = counts_[value->name()]++) text += "'" + std::to_string(others + 1);
    names_.emplace(value, std::move(text));
  }

  void give_names(const Graph& graph) {
    for (const auto& input : graph.inputs()) give_name(input.get());
    for (const auto& constant : graph.constants()) give_name(constant.get());
    for (const State& state : graph.states()) give_name(state.current);
    for (const Node& node : graph.nodes()) {
      for (const auto& [key, value] : node.attributes)
        if (const auto* subgraph = std::get_if<Subgraph>(&value)) give_names(**subgraph);
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i)) give_name(node.output(i));
    }
  }

  /// Values of graphs around the one that is written are known by their names alone.
  const std::string& name_of_value(const Value* value) {
    const auto found = names_.find(value);
    if (found != names_.end()) return found->second;
    give_name(value);
    return names_.at(value);
  }

  size_t inline_elements_;
  std::string text_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<std::string, size_t> counts_;
};

}  // namespace
}  // namespace text_form

std::string to_text(const Graph& graph, size_t inline_elements) { return text_form::Writer(graph, inline_elements).take(); }

}  // namespace minnow
