// SPDX-License-Identifier: Apache-2.0
// An operator of an MNN file as a rule sees it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/mnn/model.h"

namespace minnow::mnn {

class MnnNode;

/// The importer's services for rules: subgraphs of the file, states of the graph.
class Host {
 public:
  virtual Exprs branch(MnnNode& node) = 0;
  virtual Exprs loop(MnnNode& node) = 0;
  /// A state of this shape that begins with zeros, and its number in the graph; it grows along a dimension of size 0. Refuses unknown
  /// sizes, and states inside loops and branches.
  virtual Expr add_state(MnnNode& node, std::string_view what, const Shape& shape, size_t& number) = 0;

  /// The nodes of the subgraph of that name put into the graph of `parts`, for a rule that runs it as a part of its own: its outputs.
  virtual Exprs put(TypedBuilder& parts, std::string_view name, const Exprs& inputs, const MnnNode& node) = 0;

  /// Keys and values of an Attention by layer number, for layers that reuse them instead of their own.
  struct Layer {
    Expr k, v;          // of this call
    Expr keys, values;  // of earlier calls
  };
  std::map<int64_t, Layer> layers;

 protected:
  ~Host() = default;
};

using Builder = Exprs(MnnNode& node, TypedBuilder& p);
struct Rule {
  int32_t type;           // number of the operator
  std::string_view name;  // "ConvolutionDepthwise"
  Builder* build;
  std::string_view target = {};  // Minnow's operator, for rules that serve several
  /// Kind of the parameter; kNone: no parameter, or the rule checks the kind. An operator without a parameter has the defaults.
  uint8_t kind = kNone;
};

class MnnNode : public ForeignNode {
 public:
  MnnNode(TypedBuilder& parts, Host& host, ModelFile& file, const GraphInfo& graph, const OpInfo& info)
      : p(parts), host(host), file(file), graph(graph), info(info) {}

  TypedBuilder& p;
  Host& host;
  ModelFile& file;
  const GraphInfo& graph;
  const OpInfo& info;
  const Rule* rule = nullptr;
  Exprs raw;                    // inputs as they are; empty Expr: absent
  std::vector<Layout> layouts;  // of the inputs
  /// Layouts of the outputs. The importer sets all of them to the first input's.
  std::vector<Layout> output_layouts;

  const FlatTable& parameter() const noexcept { return info.parameter; }
  template <class T = int32_t>
  int64_t integer(size_t field, T fallback = 0) const {
    return static_cast<int64_t>(parameter().number<T>(field, fallback));
  }
  float real(size_t field, float fallback = 0) const { return parameter().number<float>(field, fallback); }
  bool flag(size_t field, bool fallback = false) const { return parameter().flag(field, fallback); }
  Ints list(size_t field) const { return parameter().numbers<int32_t>(field).copy<int64_t>(); }
  std::vector<float> reals(size_t field) const { return parameter().numbers<float>(field).copy<float>(); }

  size_t input_count() const noexcept { return raw.size(); }
  size_t output_count() const noexcept { return info.outputs.size(); }
  bool has(size_t i) const { return i < raw.size() && raw[i]; }
  /// The input, which must be there, with truth values as the integers that MNN has them as.
  Expr input(size_t i) const;
  Expr optional_input(size_t i) const { return has(i) ? input(i) : Expr(); }
  /// The input as it is, possibly boolean.
  const Expr& any(size_t i) const { return required(raw, i); }
  /// The input as truth values.
  Expr truth(size_t i) const;
  Exprs all_inputs() const;
  /// Converts integers to a common dtype: i64 if one of them has it.
  Exprs alike(Exprs values) const;
  /// Elements of an integer input that must be a constant; known_ints() is empty if it is none.
  Ints ints(size_t i) const;
  std::optional<Ints> known_ints(size_t i) const;
  int64_t single(size_t i) const { return only(ints(i), i); }  // the only element of such an input
  int64_t rank(size_t i) const;                                // refuses unknown ranks

  Layout layout(size_t i) const { return i < layouts.size() ? layouts[i] : Layout::channels_first; }
  bool channels_last(size_t i = 0) const { return layout(i) == Layout::channels_last; }
  /// Input 0 as an image [N, C, spatial...], whatever its layout, and a result put back into it.
  Expr image() const;
  Expr from_image(const Expr& y) const;
};

/// Checks that `value`, of the field `what`, is at least `least` and at most a million.
int64_t at_least(const MnnNode& node, std::string_view what, int64_t value, int64_t least);

/// The rules in order of their numbers.
std::span<const Rule> all_rules();
/// Returns null if there is no rule for an operator with such a parameter.
const Rule* find_rule(int32_t type, uint8_t kind);
/// "Convolution" for 12; a number if it is unknown.
std::string operator_name(int32_t type);

}  // namespace minnow::mnn
