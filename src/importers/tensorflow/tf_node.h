// SPDX-License-Identifier: Apache-2.0
// A node of a GraphDef as a rule sees it.
#pragma once
#include <span>
#include <string>

#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

class TfNode;

/// A lookup table: integers and a value for each.
struct Table {
  Tensor keys, values;
};

/// The importer's services for rules: functions and tables of the file.
class Host {
 public:
  virtual Exprs call(const TfNode& node, std::string_view function, const Exprs& inputs) = 0;
  virtual Exprs branch(const TfNode& node, const Expr& condition, std::string_view then_function, std::string_view else_function,
                       const Exprs& inputs) = 0;
  /// Calls the function at `index`, or the last one if the index is out of range.
  virtual Exprs cases(const TfNode& node, const Expr& index, std::span<const std::string_view> functions, const Exprs& inputs) = 0;
  virtual Exprs loop(const TfNode& node, std::string_view condition, std::string_view body) = 0;
  /// The table that `handle` stands for.
  virtual Table table(const TfNode& node, const Expr& handle) = 0;

 protected:
  ~Host() = default;
};

using Builder = Exprs(TfNode& node, TypedBuilder& p);
struct Rule {
  std::string_view op;
  Builder* build;
  std::string_view target = {};  // Minnow's operator, for rules that serve several
};

class TfNode : public ForeignNode {
 public:
  TfNode(TypedBuilder& parts, Host& host, const NodeDef& def) : p(parts), host(host), def(def) {}

  TypedBuilder& p;
  Host& host;
  const NodeDef& def;
  const Rule* rule = nullptr;
  Exprs inputs;  // data inputs

  const Expr& input(size_t i) const { return required(inputs, i); }
  size_t input_count() const noexcept { return inputs.size(); }

  // Attributes; the fallback is TensorFlow's default, which files may leave out.
  int64_t integer(std::string_view name, int64_t fallback) const;
  float real(std::string_view name, float fallback) const;
  bool flag(std::string_view name, bool fallback = false) const;
  std::string_view text(std::string_view name, std::string_view fallback = {}) const;
  DType type(std::string_view name, DType fallback = DType::undefined) const;
  Ints integers(std::string_view name) const;
  std::vector<float> reals(std::string_view name) const;
  std::string_view function(std::string_view name) const;
  std::vector<std::string_view> functions(std::string_view name) const;
  /// A shape attribute: empty if it is absent or its rank is unknown; -1 for unknown sizes.
  std::optional<Ints> shape(std::string_view name) const;
  bool has(std::string_view name) const { return def.attributes.contains(name); }

  /// Elements of an integer input that must be a constant.
  Ints ints(size_t i) const;
  int64_t scalar(size_t i) const { return only(ints(i), i); }
  bool channels_first() const { return text("data_format", "NHWC").starts_with("NC"); }
};

std::span<const Rule> all_rules();
const Rule* find_rule(std::string_view op);
/// Place among a node's outputs of the first one of an output argument, as functions name them.
size_t output_place(std::string_view op, std::string_view argument);

}  // namespace minnow::tensorflow
