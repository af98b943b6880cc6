// SPDX-License-Identifier: Apache-2.0
// Constants with equal elements become one, and so do nodes that compute the same from the same inputs.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "passes/rewrite.h"

namespace minnow {
namespace {

void append(std::string& key, const void* bytes, size_t count) { key.append(static_cast<const char*>(bytes), count); }
template <class T>
void append(std::string& key, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  append(key, &value, sizeof value);
}
void append_text(std::string& key, std::string_view text) {
  append(key, text.size());
  key += text;
}

constexpr size_t kMostTensorBytes = 4096;  // a node with a larger tensor among its attributes is left alone

bool append_attribute(std::string& key, const AttributeValue& value) {
  append(key, value.index());
  if (const int64_t* integer = std::get_if<int64_t>(&value)) {
    append(key, *integer);
  } else if (const float* real = std::get_if<float>(&value)) {
    append(key, *real);
  } else if (const std::string* text = std::get_if<std::string>(&value)) {
    append_text(key, *text);
  } else if (const Ints* ints = std::get_if<Ints>(&value)) {
    append(key, ints->size()), append(key, ints->data(), ints->size() * sizeof(int64_t));
  } else if (const Floats* floats = std::get_if<Floats>(&value)) {
    append(key, floats->size()), append(key, floats->data(), floats->size() * sizeof(float));
  } else if (const Strings* strings = std::get_if<Strings>(&value)) {
    append(key, strings->size());
    for (const std::string& text : *strings) append_text(key, text);
  } else if (const Tensor* tensor = std::get_if<Tensor>(&value); tensor && tensor->bytes() <= kMostTensorBytes) {
    append(key, tensor->dtype());
    append_text(key, to_string(tensor->shape()));
    append(key, tensor->data(), tensor->bytes());
  } else {
    return false;  // subgraphs and types
  }
  return true;
}

/// Equal for two nodes that compute the same; empty if the node cannot be compared.
std::string key_of(const Operator& op, const Node& node) {
  std::string key;
  append_text(key, node.op());
  std::vector<const Value*> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
  // In another order, sums of more than two are rounded in another way.
  if (op.commutative && inputs.size() <= 2) std::sort(inputs.begin(), inputs.end());
  append(key, inputs.size());
  append(key, inputs.data(), inputs.size() * sizeof(const Value*));
  for (size_t i = 0; i < node.output_count(); ++i) key += node.output(i) ? '1' : '0';
  std::vector<std::pair<std::string_view, const AttributeValue*>> attributes;
  for (const auto& [name, value] : node.attributes) attributes.emplace_back(name, &value);
  std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, value] : attributes) {
    append_text(key, name);
    if (!append_attribute(key, *value)) return {};
  }
  return key;
}

/// A key that equal constants share: dtype, shape, and up to 4 KiB of their bytes, taken from all over.
std::string sample_of(const Tensor& tensor) {
  std::string key;
  append(key, tensor.dtype());
  append_text(key, to_string(tensor.shape()));
  constexpr size_t kPieces = 64, kPiece = 64;
  const size_t bytes = tensor.bytes();
  const char* data = tensor.data<char>();
  if (bytes <= kPieces * kPiece) {
    append(key, data, bytes);
  } else {
    for (size_t i = 0; i < kPieces; ++i) append(key, data + (bytes - kPiece) / (kPieces - 1) * i, kPiece);
  }
  return key;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() || a.bytes() == 0 || !std::memcmp(a.data(), b.data(), a.bytes());
}

void merge_constants(Graph& graph, PassContext& context) {
  std::unordered_map<std::string, std::vector<Value*>> seen;
  size_t merged = 0, bytes = 0;
  for (const auto& constant : graph.constants()) {
    const Tensor& tensor = *constant->constant();
    if (constant->is_unused()) continue;
    if (context.keeps_parameters() && is_float(tensor.dtype())) continue;  // equal now, but each will be trained
    std::vector<Value*>& same = seen[sample_of(tensor)];
    constexpr size_t kMostCompared = 8;  // constants that agree in the sample and differ elsewhere hardly exist
    const auto found = std::find_if(same.begin(), same.end(), [&](const Value* other) { return equal(*other->constant(), tensor); });
    if (found == same.end()) {
      if (same.size() < kMostCompared) same.push_back(constant.get());
    } else if (forward(*constant, **found)) {
      ++merged, bytes += tensor.bytes();
    }
  }
  if (merged) context.changed("merged {} constants of {} bytes with equal ones", merged, bytes);
}

bool forward_all(Node& node, Node& with) {
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.output(i) && is_named_output(*node.output(i)) && is_named_output(*with.output(i))) return false;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.output(i) && !forward(*node.output(i), *with.output(i))) return false;
  return true;
}

}  // namespace

void merge_common_subexpressions(Graph& graph, PassContext& context) {
  merge_constants(graph, context);
  std::unordered_map<std::string, Node*> seen;
  for (Node& node : graph.nodes()) {
    const Operator* op = context.find(node);
    if (!op || !op->pure || op->custom) continue;
    std::string key = key_of(*op, node);
    if (key.empty()) continue;
    const auto [found, is_new] = seen.emplace(std::move(key), &node);
    if (is_new || !forward_all(node, *found->second)) continue;
    context.changed("{} computes what {} does", label_of(node), label_of(*found->second));
    graph.remove(node);
  }
}

}  // namespace minnow
