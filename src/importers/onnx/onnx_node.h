// SPDX-License-Identifier: Apache-2.0
// A node of an ONNX file as an import rule sees it.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/expr.h"
#include "importers/foreign_node.h"

namespace minnow {
class OperatorSet;
}

namespace minnow::onnx {

class OnnxNode : public ForeignNode {
 public:
  OnnxNode(GraphBuilder& builder, const OperatorSet& operators, const std::function<void(std::string_view)>& warn)
      : builder_(&builder), operators_(&operators), warn_(&warn) {}

  std::string op;       // "Add", "com.microsoft.FusedMatMul"
  int64_t version = 0;  // of its domain's operators
  std::string name;     // of the made nodes; may be empty
  Attributes attributes;
  Exprs inputs;                      // empty Expr: absent
  std::vector<std::string> outputs;  // names; "" absent, trailing ones cut

  GraphBuilder& builder() const noexcept { return *builder_; }
  /// The input, or an empty Expr.
  Expr input(size_t i) const { return i < inputs.size() ? inputs[i] : Expr(); }
  /// The input, which must be there.
  const Expr& required_input(size_t i) const { return required(inputs, i); }
  bool has_input(size_t i) const { return static_cast<bool>(input(i)); }
  bool has_output(size_t i) const { return i < outputs.size() && !outputs[i].empty(); }
  bool has_attribute(std::string_view name) const { return attributes.find(name) != nullptr; }

  // Attributes: the value, or `fallback` if it is absent; another type is an error.
  int64_t integer(std::string_view name, int64_t fallback) const;
  float real(std::string_view name, float fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  Ints integers(std::string_view name) const;
  Floats reals(std::string_view name) const;
  /// The value, which must be there.
  template <class T>
  const T& require(std::string_view name) const {
    const T* value = attributes.get<T>(name);
    if (!value) fail("attribute \"{}\" is missing or of the wrong type", name);
    return *value;
  }

  /// Copies the node to today's operators with its current inputs, outputs and attributes; its name may change.
  Exprs copy() { return copy(op); }
  Exprs copy(std::string_view as);
  /// Makes a node with as many outputs as this one.
  Exprs make(std::string_view as, const Exprs& with_inputs, Attributes with_attributes);
  /// Moves an attribute to the end of the inputs (or to input `i`) as an i64 vector, where the attribute is there.
  void integers_to_input(std::string_view attribute, size_t i);

  DType dtype(const Expr& x) const { return x ? x.value()->type.dtype : DType::undefined; }
  /// The rank, if the file or the producers determine it; else -1.
  int64_t rank(const Expr& x) const;
  /// A scalar of the dtype of `like`, also if that is not known while importing.
  Expr scalar_like(double value, const Expr& like) const;

  template <class... Args>
  void warn(std::string_view pattern, const Args&... args) const {
    if (*warn_) (*warn_)(format("{}: {}", place, format(pattern, args...)));
  }

 private:
  GraphBuilder* builder_;
  const OperatorSet* operators_;
  const std::function<void(std::string_view)>* warn_;
};

/// One way to build Minnow's operators from a foreign one.
using Builder = Exprs(OnnxNode& node, GraphBuilder& graph);
struct ImportRule {
  std::string_view op;  // operators outside ai.onnx with their domain
  int64_t since;        // opset of its domain from which the rule holds; the newest row not above the model's opset is used
  Builder* build;
};

/// The rule for an operator of an opset; plain copying where the table has none.
Builder* find_rule(std::string_view op, int64_t version);
/// All rules, for tests.
std::vector<ImportRule> all_rules();

}  // namespace minnow::onnx
