// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/graph_def.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "base/saturating.h"

namespace minnow::tensorflow {

using onnx::Fields;

DType dtype_of(int64_t type) noexcept {
  switch (type % 100) {  // 100 is added for references
    case 1:
      return DType::f32;
    case 2:
      return DType::f64;
    case 3:
    case 13:
      return DType::i32;
    case 4:
    case 12:
      return DType::u8;
    case 5:
    case 15:
      return DType::i16;
    case 6:
    case 11:
      return DType::i8;
    case 9:
      return DType::i64;
    case 10:
      return DType::boolean;
    case 14:
      return DType::bf16;
    case 16:
    case 17:
      return DType::u16;
    case 19:
      return DType::f16;
    case 22:
      return DType::u32;
    case 23:
      return DType::u64;
    default:
      return DType::undefined;
  }
}

std::optional<Ints> read_shape(std::string_view message) {
  Ints dims;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == 3 && fields.integer()) return {};
    if (fields.number() != 2) continue;
    int64_t size = 0;
    for (Fields dim(fields.bytes()); dim.next();)
      if (dim.number() == 1) size = dim.integer();
    if (size < -1 || dims.size() == kMaxRank) throw Malformed{"a shape is not valid"};
    dims.push_back(size);
  }
  return dims;
}

Tensor read_tensor(std::string_view message) {
  int64_t type = 0;
  Ints dims;
  std::string_view content;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case 1:
        type = fields.integer();
        break;
      case 2: {
        const auto shape = read_shape(fields.bytes());
        if (!shape) throw Malformed{"a constant has no shape"};
        dims = *shape;
        break;
      }
      case 4:
        content = fields.bytes();
        break;
      case 5:
      case 6: {
        const size_t size = fields.number() == 5 ? 4 : 8;
        const std::string_view data = fields.fixed(size);
        for (size_t i = 0; i < data.size() / size; ++i) {
          float single;
          double number;
          if (size == 4)
            std::memcpy(&single, data.data() + i * 4, 4), number = static_cast<double>(single);
          else
            std::memcpy(&number, data.data() + i * 8, 8);
          reals.push_back(number);
        }
        break;
      }
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17:
        fields.integers([&](int64_t value) { integers.push_back(value); });
        break;
      default:
        break;
    }
  }
  const DType dtype = dtype_of(type);
  if (dtype == DType::undefined) throw Unsupported("holds elements of type {}, which are not supported", type);
  Shape shape(dims);
  for (int64_t size : shape)
    if (size < 0) throw Malformed{"a constant has an unknown dimension"};
  const int64_t elements = shape.elements();
  const size_t size = size_of(dtype);
  // A short list repeats its last value: a few bytes may stand for many elements.
  constexpr int64_t kMostRepeated = int64_t{1} << 28;
  if (content.empty() && elements > kMostRepeated) throw Malformed{"a constant is very large"};
  if (!content.empty() && (static_cast<uint64_t>(elements) > content.size() || content.size() != static_cast<size_t>(elements) * size))
    throw Malformed{"a constant has not as many bytes as its shape wants"};
  Tensor tensor(dtype, shape);
  if (elements == 0) return tensor;
  if (!content.empty()) {
    std::memcpy(tensor.writable().data(), content.data(), content.size());
    return tensor;
  }
  const size_t count = static_cast<size_t>(elements);
  const Charge repeated(product_of({count, sizeof(int64_t)}));
  if (dtype == DType::f16 || dtype == DType::bf16) {
    uint16_t* to = tensor.writable().data<uint16_t>();
    for (size_t i = 0; i < count && !integers.empty(); ++i) to[i] = static_cast<uint16_t>(integers[std::min(i, integers.size() - 1)]);
  } else if (is_float(dtype)) {
    if (reals.empty()) return tensor;
    reals.resize(count, reals.back());
    narrow(dtype, reals.data(), count, tensor.writable().data());
  } else {
    if (integers.empty()) return tensor;
    integers.resize(count, integers.back());
    if (dtype == DType::boolean)
      for (size_t i = 0; i < count; ++i) tensor.writable().data<uint8_t>()[i] = integers[i] != 0;
    else
      narrow(dtype, integers.data(), count, tensor.writable().data());
  }
  return tensor;
}

std::pair<std::string_view, std::string_view> read_entry(std::string_view message) {
  std::pair<std::string_view, std::string_view> entry;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == 1) entry.first = fields.bytes();
    if (fields.number() == 2) entry.second = fields.bytes();
  }
  return entry;
}

namespace {

NodeDef read_node(std::string_view message) {
  NodeDef node;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == 1) node.name = fields.bytes();
    if (fields.number() == 2) node.op = fields.bytes();
    if (fields.number() == 3) node.inputs.push_back(fields.bytes());
    if (fields.number() == 5) node.attributes.insert(read_entry(fields.bytes()));
  }
  return node;
}

FunctionDef read_function(std::string_view message) {
  FunctionDef function;
  const auto argument = [](std::string_view text) {
    std::string_view name;
    for (Fields fields(text); fields.next();)
      if (fields.number() == 1) name = fields.bytes();
    return name;
  };
  for (Fields fields(message); fields.next();) {
    if (fields.number() == 1) {
      for (Fields signature(fields.bytes()); signature.next();) {
        if (signature.number() == 1) function.name = signature.bytes();
        if (signature.number() == 2) function.inputs.push_back(argument(signature.bytes()));
        if (signature.number() == 3) function.outputs.push_back(argument(signature.bytes()));
      }
    }
    if (fields.number() == 3) function.nodes.push_back(read_node(fields.bytes()));
    if (fields.number() == 4) function.results.insert(read_entry(fields.bytes()));
  }
  return function;
}

}  // namespace

Reference parse_reference(std::string_view text) {
  Reference reference;
  const size_t first = text.find(':');
  reference.node = text.substr(0, first);
  if (first == text.npos) return reference;
  const size_t last = text.rfind(':');
  if (last != first) reference.argument = text.substr(first + 1, last - first - 1);
  const std::string_view number = text.substr(last + 1);
  std::from_chars(number.data(), number.data() + number.size(), reference.place);
  return reference;
}

NodeIndex::NodeIndex(const std::vector<NodeDef>& nodes) {
  for (const NodeDef& node : nodes) index_.emplace(node.name, &node);
}

const NodeDef* NodeIndex::find(std::string_view reference) const {
  const auto found = index_.find(parse_reference(reference).node);
  return found == index_.end() ? nullptr : found->second;
}

std::string_view NodeIndex::without_identities(std::string_view reference) const {
  const NodeDef* node = find(reference);
  for (int i = 0; node && node->op == "Identity" && !node->inputs.empty() && i < 8; ++i) node = find(reference = node->inputs[0]);
  return reference;
}

const NodeDef* NodeIndex::constant(std::string_view reference) const {
  const NodeDef* node = find(without_identities(reference));
  return node && node->op == "Const" ? node : nullptr;
}

std::string_view called_function(const NodeDef& call) {
  std::string_view name;
  if (const auto found = call.attributes.find("f"); found != call.attributes.end())
    for (Fields fields(found->second); fields.next();)
      if (fields.number() == 10)
        for (Fields inner(fields.bytes()); inner.next();)
          if (inner.number() == 1) name = inner.bytes();
  return name;
}

GraphDef read_graph(std::string_view bytes) {
  GraphDef graph;
  for (Fields fields(bytes); fields.next();) {
    if (fields.number() == 1) graph.nodes.push_back(read_node(fields.bytes()));
    if (fields.number() != 2) continue;
    for (Fields library(fields.bytes()); library.next();)
      if (library.number() == 1) {
        FunctionDef function = read_function(library.bytes());
        graph.functions.emplace(function.name, std::move(function));
      }
  }
  return graph;
}

bool looks_like_graph(std::string_view head) {
  // A node (field 1) whose name (field 1) and operator (field 2) are text: "\n LENGTH \n LENGTH name \x12 LENGTH Op".
  if (head.size() < 8 || head[0] != '\n') return false;
  size_t at = 1;
  while (at < head.size() && at < 6 && (head[at] & 0x80)) ++at;
  ++at;
  if (at + 2 > head.size() || head[at] != '\n') return false;
  const size_t name = static_cast<unsigned char>(head[at + 1]);
  if (name == 0 || name >= 0x80 || at + 2 + name + 2 > head.size()) return false;
  at += 2 + name;
  if (head[at] != '\x12') return false;
  const size_t op = static_cast<unsigned char>(head[at + 1]);
  if (op == 0 || op >= 0x80 || at + 2 + op > head.size()) return false;
  const std::string_view text = head.substr(at + 2, op);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '>';
  });
}

}  // namespace minnow::tensorflow
