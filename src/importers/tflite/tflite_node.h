// SPDX-License-Identifier: Apache-2.0
// An operator of a TFLite file as a rule sees it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/tflite/model.h"

namespace minnow::tflite {

class TfliteNode;

/// The importer's services for rules: tensors that keep their value between runs, and subgraphs.
class Host {
 public:
  /// Stores `value` (in its stored form) in the tensor of input `i`, for later reads and for the next run.
  virtual void set_variable(const TfliteNode& node, size_t i, const Expr& value) = 0;
  virtual Expr read_resource(const TfliteNode& node) = 0;
  virtual void assign_resource(const TfliteNode& node) = 0;
  virtual void name_resource(const TfliteNode& node) = 0;
  virtual void run_once(const TfliteNode& node, int64_t subgraph) = 0;
  virtual Exprs branch(const TfliteNode& node, const Expr& condition, int64_t then_graph, int64_t else_graph) = 0;
  virtual Exprs loop(const TfliteNode& node, int64_t condition_graph, int64_t body_graph) = 0;
  /// The subgraph's nodes put here, with the node's inputs.
  virtual Exprs inlined(const TfliteNode& node, int64_t subgraph) = 0;
  /// The values of a tensor of this graph by its index, as real numbers.
  virtual Expr real_tensor(const TfliteNode& node, int32_t index) = 0;

 protected:
  ~Host() = default;
};

/// How a rule takes tensors that stand for real numbers.
enum class Values : uint8_t {
  raw,    // as stored; the rule does the rest
  real,   // dequantized; its results are quantized as the file says
  moves,  // as stored if its tensors have equal quantization, else as real
};

using Builder = Exprs(TfliteNode& node, TypedBuilder& p);
struct Rule {
  int32_t code;           // builtin number; kCustomCode: a custom operator
  std::string_view name;  // "CONV_2D", or the custom operator's name
  Builder* build;
  Values values = Values::real;
  std::string_view target = {};  // Minnow's operator, for rules that serve several
};

class TfliteNode : public ForeignNode {
 public:
  TfliteNode(TypedBuilder& parts, Host& host, ModelFile& file, const OperatorInfo& info) : p(parts), host(host), file(file), info(info) {}

  TypedBuilder& p;
  Host& host;
  ModelFile& file;
  const OperatorInfo& info;
  const Rule* rule = nullptr;
  std::vector<const TensorInfo*> in, out;  // null: absent
  std::vector<const TensorInfo*> intermediates;
  Exprs raw;            // inputs as stored; empty Expr: absent
  Exprs inputs;         // as the rule asked for them
  bool as_real = true;  // `inputs` are dequantized, and results will be quantized

  size_t input_count() const noexcept { return inputs.size(); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// The input, which must be there.
  const Expr& input(size_t i) const { return required(inputs, i); }
  Expr optional_input(size_t i) const { return has(i) ? inputs[i] : Expr(); }
  const TensorInfo& input_info(size_t i) const;
  const TensorInfo& output_info(size_t i) const;
  size_t output_count() const noexcept { return out.size(); }

  // Options, by the number of their field in the operator's table.
  template <class T = int32_t>
  int64_t option(size_t field, T fallback) const {
    return static_cast<int64_t>(options().number<T>(field, fallback));
  }
  bool flag(size_t field, bool fallback = false) const { return options().flag(field, fallback); }
  float real_option(size_t field, float fallback) const { return options().number<float>(field, fallback); }
  const FlatTable& options() const { return info.options ? info.options : info.options2; }

  /// Elements of an integer input that must be a constant.
  Ints ints(size_t i) const;
  int64_t integer(size_t i) const { return only(ints(i), i); }
  /// The same, if it is a constant.
  std::optional<Ints> known_ints(size_t i) const;
  /// A constant input's real values, dequantized, as an f32 constant of that shape; absent inputs give an empty Expr.
  Expr real_constant(size_t i) const;
  /// Input `i` as real numbers in another order of dimensions; constants stay integers behind a DequantizeLinear.
  Expr real_permuted(size_t i, const Ints& perm) const;
  /// Input `i` as real numbers, whatever the rule asked for.
  Expr real(size_t i) const;

  /// The activation function that the option at `field` names.
  Expr activated(const Expr& x, size_t field) const;
  Expr activated_as(const Expr& x, int64_t function) const;

 private:
  Expr activation(const Expr& x, int64_t function) const;
};

/// Converts stored numbers to real ones, and back. `axis`: the axis of per-channel scales after a permutation.
Expr dequantize(TypedBuilder& p, const Expr& stored, const TensorQuantization& quantization, int64_t axis);
Expr quantize(TypedBuilder& p, const Expr& real, const TensorInfo& to);
/// Real values rounded as if stored in that tensor.
Expr rounded_as(TypedBuilder& p, const Expr& real, const TensorInfo& as);
/// Scale and zero point of one element, of a symmetric tensor.
Expr rounded_with(TypedBuilder& p, const Expr& real, float scale, int64_t zero_point, DType dtype);
/// x rounded like the inputs of kernels with 8-bit weights: to 8 bits, by the range of each item (all elements at one
/// index of the first dimension share a scale), widened to contain 0. Symmetric: 127 steps to either side of 0. Sums of
/// products with 8-bit weights are exact in float as long as they stay below 2^24 steps, so the product need not use
/// integers.
Expr rounded_by_item(TypedBuilder& p, const Expr& x, bool symmetric);

/// The rules: builtins in order of their numbers, then custom operators.
std::span<const Rule> all_rules();
/// Null if there is no such rule.
const Rule* find_rule(int32_t code, std::string_view custom);
/// "CONV_2D" for 3; a number where the code is unknown.
std::string operator_name(int32_t code, std::string_view custom);

}  // namespace minnow::tflite
