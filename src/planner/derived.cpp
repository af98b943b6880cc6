// SPDX-License-Identifier: Apache-2.0
#include "planner/derived.h"

#include <algorithm>
#include <type_traits>

#include "base/sha256.h"
#include "graph/plain_attribute.h"
#include "ops/evaluate.h"

namespace minnow {
namespace {

// The input with the data; the other inputs parameterize the operation.
constexpr size_t kData = 0;

void add_text(Sha256& sum, std::string_view text) {
  const size_t length = text.size();
  sum.add(std::as_bytes(std::span(&length, 1)));
  sum.add(std::as_bytes(std::span(text)));
}

void add_attribute(Sha256& sum, std::string_view name, const AttributeValue& value) {
  add_text(sum, name);
  std::visit(
      [&](const auto& is) {
        using T = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<T, std::string>) {
          add_text(sum, is);
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float>) {
          sum.add(std::as_bytes(std::span(&is, 1)));
        } else if constexpr (kIsPlainAttribute<T>) {
          const size_t length = is.size();
          sum.add(std::as_bytes(std::span(&length, 1)));
          if constexpr (std::is_same_v<T, Strings>) {
            for (const std::string& text : is) add_text(sum, text);
          } else {
            sum.add(std::as_bytes(std::span(is)));
          }
        }
      },
      value);
}

}  // namespace

bool DerivedConstants::suits(const Operator& op, const Node& node, std::span<const ValueInfo* const> inputs,
                             std::span<const ValueInfo> outputs) {
  if (!op.recomputable && op.elements != Elements::kept && op.elements != Elements::permuted) return false;
  if (outputs.size() != 1 || !node.output(0) || outputs[0].kind != ValueInfo::Kind::tensor || outputs[0].extent != ValueInfo::Extent::exact)
    return false;
  for (const auto& [name, value] : node.attributes)
    if (!is_plain(value)) return false;
  return !inputs.empty() && inputs[kData] && outputs[0].shape.elements() <= inputs[kData]->shape.elements();
}

void DerivedConstants::add(uint32_t v, const Node& node, std::vector<uint32_t> inputs) {
  Row row{&node, std::move(inputs), {}, {}};
  Sha256 sum;
  const auto data = rows_.find(row.inputs[kData]);
  row.source = data == rows_.end() ? values_[row.inputs[kData]].info.contents : data->second.source;
  if (data != rows_.end()) add_text(sum, data->second.form);
  add_text(sum, node.op());
  for (const auto& [name, value] : node.attributes) add_attribute(sum, name, value);
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    if (i == kData || row.inputs[i] == kNone) continue;
    const Tensor contents = contains(row.inputs[i]) ? compute(row.inputs[i]) : values_[row.inputs[i]].info.contents;
    add_text(sum, format("{} {} {}", i, contents.dtype(), contents.shape()));
    sum.add({static_cast<const std::byte*>(contents.data()), contents.bytes()});
  }
  row.form = sum.hex_digest();
  rows_.emplace(v, std::move(row));
}

Tensor DerivedConstants::compute(uint32_t v) const {
  const Row& row = rows_.at(v);
  std::vector<Datum> inputs;
  for (const uint32_t input : row.inputs)
    inputs.push_back(input == kNone ? Datum() : Datum(contains(input) ? compute(input) : values_[input].info.contents));
  return evaluate(operators_, *row.node, inputs)[0].tensor;
}

bool DerivedConstants::Store::is_packed(uint32_t v) const {
  return std::any_of(known_.begin(), known_.end(), [&](const Known& known) { return known.v == v && known.packed; });
}

std::shared_ptr<const void> DerivedConstants::Store::packed(const Tensor& weight, const Packing& packing, Pack pack) {
  return pack_known(weight, packing, pack, [&](const Tensor& from, const Packing& of, Pack by) { return shared_.packed(from, of, by); });
}

std::shared_ptr<const void> DerivedConstants::Store::packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack) {
  if constexpr (!kHasDevices) return nullptr;
  return pack_known(weight, packing, pack,
                    [&](const Tensor& from, const Packing& of, Pack by) { return shared_.packed_on(backend, from, of, by); });
}

std::shared_ptr<const void> DerivedConstants::Store::pack_known(const Tensor& weight, const Packing& packing, Pack pack, Share share) {
  for (Known& known : known_) {
    if (known.contents.data() != weight.data()) continue;
    known.packed = true;
    const Row& row = derived_.rows_.at(known.v);
    Packing of_source = packing;
    of_source.source = format("{} {}", row.form, weight.shape());
    return share(row.source, of_source, [&](const TensorView&, void* out) { pack(weight, out); });
  }
  return share(weight, packing, pack);
}

}  // namespace minnow
