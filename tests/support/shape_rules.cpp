// SPDX-License-Identifier: Apache-2.0
#include "support/shape_rules.h"

#include "base/numeric.h"
#include "ops/contents.h"

namespace minnow::test {
namespace {

/// How sizes become symbols. A symbol's name ends with its value.
enum class Dims { numbers, equal, distinct, alternate };
enum class Contents { known, symbols, none };

constexpr auto kValueOf = [](const std::string& symbol) -> int64_t { return std::stoll(symbol.substr(symbol.rfind(':') + 1)); };

class Case {
 public:
  Case(Dims dims, Contents contents) : dims_(dims), contents_(contents) {}

  ValueInfo info_of(const Datum& datum, size_t input) {
    ValueInfo info;
    if (datum.kind == Datum::Kind::sequence) {
      info.kind = ValueInfo::Kind::sequence;
      info.dtype = datum.element;
      return info;
    }
    const Tensor& tensor = datum.tensor;
    info.dtype = tensor.dtype();
    info.set_sizes(tensor.shape());
    Sizes sizes;
    for (size_t axis = 0; axis < tensor.shape().rank(); ++axis) sizes.push_back(size_of(tensor.shape()[axis], input, axis));
    // Lists that hold axes, sizes and the like are of known length, and most rules need their contents.
    const bool is_list = tensor.shape().rank() <= 1 && tensor.elements() <= 8 && (dims_ != Dims::equal || may_hold_sizes(info));
    if (!is_list) info.set_sizes(sizes);
    if (contents_ == Contents::known && info.extent == ValueInfo::Extent::exact) info.contents = tensor;
    if (contents_ != Contents::symbols) return info;
    // Small lists of sizes; axes and the like have to be numbers, so a list of zeros and negative numbers stays as it is.
    info.set_sizes(tensor.shape());
    info.contents = tensor;
    if (!may_hold_sizes(info) || info.dtype == DType::boolean) return info;
    std::vector<int64_t> numbers(static_cast<size_t>(tensor.elements()));
    widen(tensor.dtype(), tensor.data(), numbers.size(), numbers.data());
    std::vector<Size> elements;
    constexpr int64_t kMost = 1 << 20;  // sizes do not wrap around
    bool any = false;
    for (const int64_t number : numbers) {
      if (number > kMost || number < -kMost) return info;
      any |= number > 0;
      elements.push_back(number > 0 ? table_.symbol("v:" + std::to_string(number)) : Size(number));
    }
    if (!any) return info;
    info.contents = {};
    info.symbolic = std::make_shared<SymbolicValue>(SymbolicValue{tensor.shape(), elements, true});
    has_symbols = true;
    return info;
  }

  bool has_symbols = false;

 private:
  Size size_of(int64_t size, size_t input, size_t axis) {
    // A symbol stands for a size that may be divided by.
    if (size == 0 || dims_ == Dims::numbers || (dims_ == Dims::alternate && axis % 2)) return size;
    has_symbols = true;
    const std::string prefix = dims_ == Dims::equal ? "s" : "i" + std::to_string(input) + "a" + std::to_string(axis);
    return table_.symbol(prefix + ":" + std::to_string(size));
  }

  SizeTable table_;
  Dims dims_;
  Contents contents_;
};

testing::AssertionResult agrees(const ValueInfo& info, const Datum& result, SymbolicKnowledge& known) {
  if (result.kind != Datum::Kind::tensor || info.kind != ValueInfo::Kind::tensor) return testing::AssertionSuccess();
  const Shape& shape = result.tensor.shape();
  if (info.extent == ValueInfo::Extent::unknown) return testing::AssertionSuccess();
  ++known.ranks;
  const Sizes sizes = info.sizes();
  if (sizes.rank() != shape.rank()) return testing::AssertionFailure() << to_string(sizes) << " where a run gives " << to_string(shape);
  for (size_t i = 0; i < sizes.rank(); ++i) {
    if (sizes[i].is_unknown()) continue;
    ++known.dims;
    if (evaluate(sizes[i], kValueOf) != shape[i])
      return testing::AssertionFailure() << to_string(sizes) << " where a run gives " << to_string(shape);
  }
  if (info.dtype != result.tensor.dtype()) return testing::AssertionFailure() << "another dtype";
  std::vector<Size> elements;
  if (info.symbolic && info.symbolic->has_contents) elements = info.symbolic->contents;
  if (elements.empty()) return testing::AssertionSuccess();
  std::vector<int64_t> numbers(elements.size());
  widen(result.tensor.dtype(), result.tensor.data(), numbers.size(), numbers.data());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].is_unknown()) continue;
    ++known.contents;
    if (evaluate(elements[i], kValueOf) != numbers[i])
      return testing::AssertionFailure() << "contents " << testing::PrintToString(numbers) << ", element " << i << " is said to be "
                                         << to_string(elements[i]);
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult symbolic_rule_agrees(const Operator& op, const Node& node, std::span<const Datum> inputs,
                                              std::span<const Datum> outputs, SymbolicKnowledge* known) {
  const struct {
    Dims dims;
    Contents contents;
    std::string_view name;
  } cases[] = {{Dims::numbers, Contents::known, "numbers"},
               {Dims::numbers, Contents::none, "numbers without contents"},
               {Dims::numbers, Contents::symbols, "numbers, symbols as contents"},
               {Dims::equal, Contents::known, "a symbol for equal sizes"},
               {Dims::distinct, Contents::known, "a symbol for each dimension"},
               {Dims::distinct, Contents::none, "a symbol for each dimension, without contents"},
               {Dims::alternate, Contents::known, "a symbol for every other dimension"}};
  for (const auto& each : cases) {
    Case made(each.dims, each.contents);
    std::vector<ValueInfo> infos(inputs.size()), results(outputs.size());
    std::vector<const ValueInfo*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.input(i)) infos[i] = made.info_of(inputs[i], i);
      pointers.push_back(node.input(i) ? &infos[i] : nullptr);
    }
    const NodeView view = NodeView::symbolic(node, pointers, &op);
    try {
      infer_outputs(op, view, results);
      if (op.infer_contents && results[0].kind == ValueInfo::Kind::tensor && may_hold_sizes(results[0])) op.infer_contents(view, results);
    } catch (const NeedsContents&) {
      if (each.dims == Dims::numbers && each.contents == Contents::known)
        return testing::AssertionFailure() << node.where() << ": the rule asks for contents that are known";
      continue;
    } catch (const Error& error) {
      return testing::AssertionFailure() << each.name << ": the rule refuses what runs: " << error.what();
    }
    SymbolicKnowledge here;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i)) continue;
      if (const auto same = agrees(results[i], outputs[i], here); !same)
        return testing::AssertionFailure() << node.where() << ", output " << i << ", " << each.name << ": " << same.message();
    }
    if (known && made.has_symbols) {
      known->ranks += here.ranks;
      known->dims += here.dims;
      known->contents += here.contents;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace minnow::test
