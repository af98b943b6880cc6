// SPDX-License-Identifier: Apache-2.0
#include "passes/permute.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace minnow {

bool is_identity(const Permutation& p) noexcept {
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  return true;
}

Permutation compose(const Permutation& first, const Permutation& second) {
  Permutation both(second.size());
  for (size_t i = 0; i < second.size(); ++i) both[i] = first[static_cast<size_t>(second[i])];
  return both;
}

Permutation inverse(const Permutation& p) {
  Permutation back(p.size());
  for (size_t i = 0; i < p.size(); ++i) back[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return back;
}

std::optional<Permutation> permutation_of(const Node& transpose) {
  if (transpose.op() != "Transpose" || !transpose.input(0) || !transpose.output(0)) return {};
  const auto rank = rank_of(*transpose.input(0));
  if (!rank) return {};
  Permutation perm;
  if (const Ints* given = ints_attribute(transpose, "perm")) {
    perm = *given;
  } else {
    for (size_t i = *rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  if (perm.size() != *rank) return {};
  std::vector<bool> seen(*rank);
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(*rank) || seen[static_cast<size_t>(axis)]) return {};
    seen[static_cast<size_t>(axis)] = true;
  }
  return perm;
}

bool moves_nothing(const Value& source, const Permutation& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (dim_of(source, axis) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

namespace {

constexpr size_t kSqueezedAxes = 1;        // the input of Squeeze
constexpr size_t kSmallBytes = 64 * 1024;  // a constant up to this size may be stored once more

bool is_one_element(const Value& value) {
  if (value.constant()) return value.constant()->elements() == 1;
  return value.type.is_static() && value.type.shape().elements() == 1;
}

// The kinds of nodes, by the constraints on their axes.
enum class Kind {
  none,
  elementwise,  // every input is broadcast
  attribute,    // as AxisRule
  scalar,
  list,
  entries,
  resize,
  squeeze,    // dimensions go
  unsqueeze,  // dimensions come
  rows,       // products with one matrix, and normalizations: the last dimensions stay last
  scaled      // QuantizeLinear, DequantizeLinear
};

Kind kind_of(const Operator* op, const Node& node) {
  const std::string& name = node.op();
  if (!op || op->custom || name == "minnow.FusedElementwise") return Kind::none;
  if (op->elementwise) return Kind::elementwise;
  switch (op->axes.kind) {
    case AxisRule::Kind::none:
      break;
    case AxisRule::Kind::alike:
      return Kind::elementwise;
    case AxisRule::Kind::attribute:
      return Kind::attribute;
    case AxisRule::Kind::scalar:
      return Kind::scalar;
    case AxisRule::Kind::list:
      return Kind::list;
    case AxisRule::Kind::entries:
      return Kind::entries;
  }
  if (name == "Resize") return Kind::resize;
  if (name == "Squeeze") return Kind::squeeze;
  if (name == "Unsqueeze") return Kind::unsqueeze;
  if (name == "MatMul" || name == "minnow.FusedMatMul" || name == "LayerNormalization" || name == "RMSNormalization") return Kind::rows;
  if (name == "QuantizeLinear" || name == "DequantizeLinear") return Kind::scaled;
  return Kind::none;
}

/// The attribute that names an axis, which has a default unless it is required.
int64_t axis_of(const Operator& op, const Node& node) {
  for (const AttributeSpec& spec : op.attributes)
    if (spec.name == "axis") return int_attribute(node, "axis", static_cast<int64_t>(spec.default_number));
  return 0;
}

/// The axes that an operator of kind list speaks of, all non-negative; `place`: the input that lists them.
std::optional<Ints> axes_of(const Node& node, size_t place, size_t rank) {
  Ints axes;
  if (node.input(place)) {
    const auto given = ints_of(node.input(place));
    if (!given) return {};
    for (int64_t axis : *given) {
      const auto positive = positive_axis(axis, rank);
      if (!positive) return {};
      axes.push_back(static_cast<int64_t>(*positive));
    }
    return axes;
  }
  if (place == 1) return {};  // a reduction over everything, a squeeze of whatever is 1
  size_t count = rank;
  if (node.op() == "Slice") {
    const auto listed = node.input(1) ? dim_of(*node.input(1), 0) : std::nullopt;
    if (!listed || *listed > static_cast<int64_t>(rank)) return {};
    count = static_cast<size_t>(*listed);
  }
  for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

/// The permutation of the axes that remain when the axes `gone` (of the result) are dropped; empty if that is the identity.
Permutation without_axes(const Permutation& perm, const Ints& gone) {
  std::vector<bool> source_gone(perm.size()), result_gone(perm.size());
  for (int64_t axis : gone) {
    result_gone[static_cast<size_t>(axis)] = true;
    source_gone[static_cast<size_t>(perm[static_cast<size_t>(axis)])] = true;
  }
  std::vector<int64_t> place(perm.size());  // of a source axis among those that stay
  int64_t next = 0;
  for (size_t i = 0; i < perm.size(); ++i)
    if (!source_gone[i]) place[i] = next++;
  Permutation rest;
  for (size_t i = 0; i < perm.size(); ++i)
    if (!result_gone[i]) rest.push_back(place[static_cast<size_t>(perm[i])]);
  return is_identity(rest) ? Permutation() : rest;
}

/// All inputs of full rank are permuted alike; numbers stay; constants of lower rank are brought to it.
std::optional<PermutedNode> elementwise(const Node& node, const Permutation& perm) {
  PermutedNode result;
  for (size_t i = 0; i < node.input_count(); ++i) {
    result.inputs.emplace_back();
    const Value* input = node.input(i);
    if (!input) continue;
    const auto rank = rank_of(*input);
    if (!rank || *rank > perm.size()) return {};
    if (is_one_element(*input) && (*rank < perm.size() || input->constant())) continue;
    if (input->constant()) {
      if (input->constant()->bytes() > kSmallBytes && input->uses().size() > 1) return {};
    } else if (*rank != perm.size()) {
      return {};
    }
    result.inputs.back() = perm;
  }
  for (size_t i = 0; i < node.output_count(); ++i) result.outputs.push_back(node.output(i) ? perm : Permutation());
  return result;
}

/// The first input alone is permuted.
PermutedNode first_input(const Node& node, const Permutation& perm, const Permutation& out) {
  PermutedNode result;
  result.inputs.resize(node.input_count());
  result.inputs[0] = perm;
  for (size_t i = 0; i < node.output_count(); ++i) result.outputs.push_back(node.output(i) ? out : Permutation());
  return result;
}

bool drops_axes(const Node& node) { return int_attribute(node, "keepdims", 1) == 0; }

std::optional<PermutedNode> axis_attribute(const Operator& op, const Node& node, const Permutation& perm) {
  const auto axis = positive_axis(axis_of(op, node), perm.size());
  if (!axis) return {};
  if (drops_axes(node)) return first_input(node, perm, without_axes(perm, {static_cast<int64_t>(*axis)}));
  PermutedNode result = first_input(node, perm, perm);
  if (op.inputs.back().arity != Arity::variadic) return result;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (!input || rank_of(*input) != perm.size()) return {};
    if (input->constant() && input->constant()->bytes() > kSmallBytes && input->uses().size() > 1) return {};
    result.inputs[i] = perm;
  }
  return result;
}

std::optional<PermutedNode> axis_list_input(const Operator& op, const Node& node, const Permutation& perm) {
  const auto axes = axes_of(node, op.axes.input, perm.size());
  if (!axes || axes->empty()) return {};  // of a reduction: all or none, an attribute says
  return first_input(node, perm, drops_axes(node) ? without_axes(perm, *axes) : perm);
}

std::optional<PermutedNode> resize(const Node& node, const Permutation& perm) {
  const auto is_empty = [&](size_t i) {
    return !node.input(i) || (node.input(i)->constant() && node.input(i)->constant()->elements() == 0);
  };
  if (!is_empty(1)) return {};
  if (!ints_attribute(node, "axes"))
    for (size_t i : {2, 3})
      if (!is_empty(i) && (!node.input(i)->constant() || node.input(i)->constant()->elements() != static_cast<int64_t>(perm.size())))
        return {};
  return first_input(node, perm, perm);
}

std::optional<PermutedNode> unsqueeze(const Node& node, const Permutation& perm) {
  const auto axes = ints_of(node.input(1));
  if (!axes || perm.size() + axes->size() > kMaxRank) return {};
  std::vector<bool> added(perm.size() + axes->size());
  for (int64_t axis : *axes) {
    const auto place = positive_axis(axis, added.size());
    if (!place) return {};
    added[*place] = true;
  }
  // New dimensions keep their positions; the others keep their order.
  Ints places;  // of the input's axes in the output
  for (size_t i = 0; i < added.size(); ++i)
    if (!added[i]) places.push_back(static_cast<int64_t>(i));
  if (places.size() != perm.size()) return {};
  Permutation out(added.size());
  for (size_t i = 0, k = 0; i < added.size(); ++i) out[i] = added[i] ? static_cast<int64_t>(i) : places[static_cast<size_t>(perm[k++])];
  return first_input(node, perm, is_identity(out) ? Permutation() : out);
}

std::optional<PermutedNode> rows(const Node& node, const Permutation& perm) {
  size_t first = perm.size() - 1;  // of the dimensions that stay
  if (node.op().ends_with("Normalization")) {
    const auto axis = positive_axis(int_attribute(node, "axis", -1), perm.size());
    if (!axis || node.output_count() != 1) return {};
    first = *axis;
  } else if (rank_of(*node.input(1)) != size_t{2} || int_attribute(node, "transA", 0) != 0 ||
             (node.input(2) && rank_of(*node.input(2)) != size_t{1})) {
    return {};
  }
  for (size_t i = first; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return {};
  PermutedNode result = first_input(node, perm, perm);
  if (const Value* z = node.op() == "minnow.FusedMatMul" ? node.input(3) : nullptr) {
    if (rank_of(*z) != perm.size() || z->constant()) return {};
    result.inputs[3] = perm;
  }
  return result;
}

std::optional<PermutedNode> scaled(const Node& node, const Permutation& perm) {
  if (int_attribute(node, "block_size", 0) != 0 || !node.input(1)) return {};
  if (!is_one_element(*node.input(1)) &&
      (rank_of(*node.input(1)) != size_t{1} || !positive_axis(int_attribute(node, "axis", 1), perm.size())))
    return {};
  return first_input(node, perm, perm);
}

std::optional<PermutedNode> permuted(const PassContext& context, const Node& node, const Permutation& perm) {
  if (!node.input(0) || !node.output(0)) return {};
  const Operator* op = context.find(node);
  const Kind kind = kind_of(op, node);
  if (kind != Kind::elementwise && rank_of(*node.input(0)) != perm.size()) return {};
  switch (kind) {
    case Kind::none:
      return {};
    case Kind::elementwise:
      return elementwise(node, perm);
    case Kind::attribute:
      return axis_attribute(*op, node, perm);
    case Kind::scalar:
      return scalar_of(node.input(op->axes.input)) ? std::optional(first_input(node, perm, perm)) : std::nullopt;
    case Kind::list:
      return axis_list_input(*op, node, perm);
    case Kind::entries: {
      const auto entries = ints_of(node.input(op->axes.input));
      return entries && entries->size() == perm.size() ? std::optional(first_input(node, perm, perm)) : std::nullopt;
    }
    case Kind::resize:
      return resize(node, perm);
    case Kind::squeeze: {
      const auto gone = axes_of(node, kSqueezedAxes, perm.size());
      return gone ? std::optional(first_input(node, perm, without_axes(perm, *gone))) : std::nullopt;
    }
    case Kind::unsqueeze:
      return unsqueeze(node, perm);
    case Kind::rows:
      return rows(node, perm);
    case Kind::scaled:
      return scaled(node, perm);
  }
  return {};
}

/// A constant as its Transpose by the inverse of `perm` leaves it, brought to perm's rank first.
Value& permuted_constant(Graph& graph, const Value& value, const Permutation& perm) {
  Shape shape = value.constant()->shape();
  while (shape.rank() < perm.size()) shape.insert(0, 1);
  Tensor permuted =
      ConstantEvaluator(OperatorSet::builtin()).apply("Transpose", {value.constant()->reshaped(shape)}, {{"perm", inverse(perm)}});
  return graph.add_constant(std::move(permuted), graph.fresh_name(value.name()));
}

/// Entries for each axis of a value, in the order of the value that it is a Transpose of.
template <class T>
std::vector<T> reordered(const std::vector<T>& entries, const Permutation& perm) {
  std::vector<T> result(entries.size());
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = entries[i];
  return result;
}

int64_t moved(int64_t axis, const Permutation& perm) { return perm[*positive_axis(axis, perm.size())]; }
Ints moved(Ints axes, const Permutation& perm) {
  for (int64_t& axis : axes) axis = moved(axis, perm);
  return axes;
}

void permute_resize(Node& node, const Permutation& perm) {
  Graph& graph = node.graph();
  if (const Ints* axes = ints_attribute(node, "axes")) {
    node.attributes.set("axes", moved(*axes, perm));
    return;
  }
  const Value *scales = node.input(2), *sizes = node.input(3);
  if (scales && scales->constant()->elements() > 0)
    node.set_input(2, &add_reals(graph, scales->type.dtype, scales->constant()->shape(), reordered(*reals_of(scales), perm)));
  if (sizes && sizes->constant()->elements() > 0) node.set_input(3, &add_ints(graph, reordered(*ints_of(sizes), perm)));
}

}  // namespace

std::optional<PermutedNode> permuted_by_input(const PassContext& context, const Node& node, size_t i, const Permutation& perm) {
  auto result = permuted(context, node, perm);
  return result && i < result->inputs.size() && result->inputs[i] == perm ? result : std::nullopt;
}

std::optional<PermutedNode> permuted_by_output(const PassContext& context, const Node& node, const Permutation& perm) {
  if (node.output_count() != 1) return {};
  auto result = permuted(context, node, perm);
  return result && result->outputs[0] == perm ? result : std::nullopt;
}

void permute_node(const PassContext& context, Node& node, const PermutedNode& permuted) {
  Graph& graph = node.graph();
  Permutation perm;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (permuted.inputs[i].empty()) continue;
    perm = permuted.inputs[i];
    if (node.input(i)->constant()) node.set_input(i, &permuted_constant(graph, *node.input(i), perm));
  }
  const Operator& op = *context.find(node);
  const size_t place = op.axes.input;
  switch (kind_of(&op, node)) {
    case Kind::none:
    case Kind::elementwise:
    case Kind::unsqueeze:
    case Kind::rows:
      return;
    case Kind::attribute:
      node.attributes.set("axis", moved(axis_of(op, node), perm));
      return;
    case Kind::scaled:
      if (!is_one_element(*node.input(1))) node.attributes.set("axis", moved(int_attribute(node, "axis", 1), perm));
      return;
    case Kind::list:
      node.set_input(place, &add_ints(graph, moved(*axes_of(node, place, perm.size()), perm)));
      return;
    case Kind::squeeze:
      node.set_input(kSqueezedAxes, &add_ints(graph, moved(*axes_of(node, kSqueezedAxes, perm.size()), perm)));
      return;
    case Kind::scalar:
      node.set_input(place, &graph.add_constant(Tensor::scalar_i64(moved(static_cast<int64_t>(*scalar_of(node.input(place))), perm))));
      return;
    case Kind::entries:
      node.set_input(place, &add_ints(graph, reordered(*ints_of(node.input(place)), perm)));
      return;
    case Kind::resize:
      permute_resize(node, perm);
  }
}

}  // namespace minnow
