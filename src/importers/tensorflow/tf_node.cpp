// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/tf_node.h"

#include <cstring>

namespace minnow::tensorflow {

using onnx::Fields;

namespace {

// Fields of AttrValue.
constexpr uint32_t kList = 1, kText = 2, kInteger = 3, kReal = 4, kFlag = 5, kType = 6, kShape = 7, kFunction = 10;
constexpr uint32_t kFunctions = 9;  // of a list

std::string_view find(const NodeDef& def, std::string_view name) {
  const auto found = def.attributes.find(name);
  return found == def.attributes.end() ? std::string_view() : found->second;
}

}  // namespace

int64_t TfNode::integer(std::string_view name, int64_t fallback) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kInteger || fields.number() == kFlag || fields.number() == kType) fallback = fields.integer();
  return fallback;
}
float TfNode::real(std::string_view name, float fallback) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kReal) fallback = fields.real();
  return fallback;
}
bool TfNode::flag(std::string_view name, bool fallback) const { return integer(name, fallback) != 0; }
std::string_view TfNode::text(std::string_view name, std::string_view fallback) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kText) fallback = fields.bytes();
  return fallback;
}
DType TfNode::type(std::string_view name, DType fallback) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kType) fallback = dtype_of(fields.integer());
  return fallback;
}
Ints TfNode::integers(std::string_view name) const {
  Ints values;
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kList)
      for (Fields list(fields.bytes()); list.next();)
        if (list.number() == kInteger) list.integers([&](int64_t value) { values.push_back(value); });
  return values;
}
std::vector<float> TfNode::reals(std::string_view name) const {
  std::vector<float> values;
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kList)
      for (Fields list(fields.bytes()); list.next();)
        if (list.number() == kReal) {
          const std::string_view data = list.fixed(4);
          const size_t before = values.size();
          values.resize(before + data.size() / 4);
          if (!data.empty()) std::memcpy(values.data() + before, data.data(), data.size());
        }
  return values;
}
std::string_view TfNode::function(std::string_view name) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kFunction)
      for (Fields inner(fields.bytes()); inner.next();)
        if (inner.number() == 1) return inner.bytes();
  fail("attribute \"{}\" names no function", name);
}

std::vector<std::string_view> TfNode::functions(std::string_view name) const {
  std::vector<std::string_view> names;
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kList)
      for (Fields list(fields.bytes()); list.next();)
        if (list.number() == kFunctions)
          for (Fields inner(list.bytes()); inner.next();)
            if (inner.number() == 1) names.push_back(inner.bytes());
  return names;
}
std::optional<Ints> TfNode::shape(std::string_view name) const {
  for (Fields fields(find(def, name)); fields.next();)
    if (fields.number() == kShape) return read_shape(fields.bytes());
  return {};
}

Ints TfNode::ints(size_t i) const {
  const auto values = p.ints(input(i));
  if (!values) refuse("input {} is not constant", i);
  return *values;
}

}  // namespace minnow::tensorflow
