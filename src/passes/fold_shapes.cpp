// SPDX-License-Identifier: Apache-2.0
// Infers all shapes, and folds the values computed from them. It follows small integer tensors element by element: each element is a size,
// possibly symbolic, or unknown. A tensor of numbers becomes a constant. A Reshape or an Expand gets a constant shape if it can take the
// symbolic sizes from its own input. Shapes and values computed from them depend on each other, hence one walk for both.
#include <algorithm>
#include <unordered_map>

#include "base/numeric.h"
#include "ops/contents.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

constexpr int kMostRounds = 3;  // after which the shapes of all carried values are given up; before, only of those that change

class ShapeFolder {
 public:
  ShapeFolder(PassContext& context) : context_(context) {}

  void run(Graph& graph) {
    if (!graph.outer) {
      for (const auto& input : graph.inputs())
        for (size_t i = 0; input->type.dims && i < input->type.dims->size(); ++i)
          if (const Dim& dim = (*input->type.dims)[i]; !dim.known() && !SizeTable::is_unknown(dim))
            inputs_.emplace(dim.symbol, std::pair(input.get(), static_cast<int64_t>(i)));
    }
    for (Node& node : graph.nodes()) {
      for (const auto& [name, attribute] : node.attributes)
        if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute); subgraph && node.op() != "minnow.FusedElementwise") {
          bind_inputs(node, **subgraph);
          run(**subgraph);
        }
      std::vector<ValueInfo> made = infer(node);
      type_carried(node);
      if (node.op() == "Reshape") fix_reshape(node);
      if (node.op() == "Expand") fix_expand(node);
      if (node.op() == "Shape") take_from_input(node);
      for (size_t i = 0; i < made.size(); ++i) {
        Value* output = node.output(i);
        if (!output || output->is_unused() || !has_elements(made[i])) continue;
        if (made[i].contents && node.output_count() == 1)
          make_constant(node, made[i]);
        else
          known_.emplace(output, std::move(made[i]));
      }
    }
  }

 private:
  /// The values that a Loop or Scan carries: their number, and where they begin in the node's inputs and in the body's inputs and outputs.
  struct Carried {
    size_t count = 0, given = 0, in = 0, next = 0;
  };
  static Carried carried_by(const Node& node, const Graph& body) {
    Carried carried;
    const size_t scanned = static_cast<size_t>(std::max<int64_t>(int_attribute(node, "num_scan_inputs", 0), 0));
    if (node.op() == "Loop") carried = {body.inputs().size() - std::min<size_t>(2, body.inputs().size()), 2, 2, 1};
    if (node.op() == "Scan" && scanned <= node.input_count()) carried = {node.input_count() - scanned, 0, 0, 0};
    const bool fits = carried.given + carried.count <= node.input_count() && carried.in + carried.count <= body.inputs().size() &&
                      carried.next + carried.count <= body.outputs().size();
    return fits ? carried : Carried();
  }
  static bool is_tensor(const Value* value) { return value && value->type.kind == ValueType::Kind::tensor; }

  /// Sets the shapes of a body's inputs. Values that change between iterations may change their shapes too. A carried value keeps its first
  /// shape only if the body, given these shapes, produces the same shapes again.
  void bind_inputs(const Node& node, Graph& body) {
    for (size_t i = 0; i < body.inputs().size(); ++i) {
      ValueType& type = body.inputs()[i]->type;
      if (type.kind != ValueType::Kind::tensor) continue;
      type.dims.reset();
      if (node.op() == "Loop" && i < 2) type.dims.emplace();  // the iteration and the condition
    }
    const Carried carried = carried_by(node, body);
    if (node.op() == "Scan" && carried.count > 0) bind_scanned(node, carried, body);
    for (size_t i = 0; i < carried.count; ++i) {
      const Value* begin = node.input(carried.given + i);
      ValueType& type = body.inputs()[carried.in + i]->type;
      if (is_tensor(begin) && type.kind == ValueType::Kind::tensor) type.dims = begin->type.dims;
    }
    for (int round = 0; carried.count > 0; ++round) {
      for (Node& inner : body.nodes()) infer(inner);
      bool changes = false;
      for (size_t i = 0; i < carried.count; ++i) {
        Value& in = *body.inputs()[carried.in + i];
        const Value* next = body.outputs()[carried.next + i];
        if (!is_tensor(&in) || !in.type.dims || (round < kMostRounds && is_tensor(next) && same_shape(in, *next))) continue;
        in.type.dims.reset();
        changes = true;
      }
      if (!changes) return;
    }
  }
  /// Each iteration of a Scan reads one slice of a scanned input.
  static void bind_scanned(const Node& node, const Carried& carried, Graph& body) {
    const Ints* axes = ints_attribute(node, "scan_input_axes");
    for (size_t i = carried.count; i < std::min(node.input_count(), body.inputs().size()); ++i) {
      const Value* whole = node.input(i);
      if (!is_tensor(whole) || !whole->type.dims) continue;
      std::vector<Dim> dims = *whole->type.dims;
      const auto axis = axes && i - carried.count < axes->size() ? positive_axis((*axes)[i - carried.count], dims.size())
                        : dims.empty()                           ? std::nullopt
                                                                 : std::optional<size_t>(0);
      if (!axis) continue;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*axis));
      body.inputs()[i]->type.dims = std::move(dims);
    }
  }
  /// The final value of a carried value has the shape of its body input, also after zero iterations.
  static void type_carried(Node& node) {
    const Subgraph* body = node.op() == "Loop" || node.op() == "Scan" ? node.attributes.get<Subgraph>("body") : nullptr;
    if (!body || !*body) return;
    const Carried carried = carried_by(node, **body);
    for (size_t i = 0; i < std::min(carried.count, node.output_count()); ++i)
      if (is_tensor(node.output(i)) && is_tensor((*body)->inputs()[carried.in + i].get()))
        node.output(i)->type.dims = (*body)->inputs()[carried.in + i]->type.dims;
  }

  std::vector<ValueInfo> infer(Node& node) {
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i) && node.output(i)->type.element_dtype() == DType::undefined) {
        infer_types(context_.operators(), node);
        break;
      }
    return infer_dims(context_.operators(), context_.sizes, node, [this](const Value& value) {
      const auto found = known_.find(&value);
      return found != known_.end() ? &found->second : nullptr;
    });
  }

  std::optional<Sizes> sizes_of(const Value* value) {
    if (!value || !rank_of(*value) || value->type.dims->size() > kMaxRank) return {};
    Sizes sizes;
    for (const Dim& dim : *value->type.dims) sizes.push_back(context_.sizes.size_of(dim));
    return sizes;
  }

  /// Whether the elements of an integer tensor are followed.
  static bool has_elements(const ValueInfo& info) {
    return may_hold_sizes(info) && (info.contents || (info.symbolic && info.symbolic->has_contents));
  }

  /// The elements of a shape that a node takes; nothing where not even their number is known.
  std::optional<std::vector<Size>> elements_of(const Value* value) {
    if (!value) return {};
    if (value->constant()) {
      const auto numbers = ints_of(value);
      return numbers ? std::optional(std::vector<Size>(numbers->begin(), numbers->end())) : std::nullopt;
    }
    const auto found = known_.find(value);
    if (found == known_.end() || found->second.shape.rank() != 1) return {};
    if (found->second.symbolic) return found->second.symbolic->contents;
    Ints numbers(static_cast<size_t>(found->second.contents.elements()));
    widen(found->second.dtype, found->second.contents.data(), numbers.size(), numbers.data());
    return std::vector<Size>(numbers.begin(), numbers.end());
  }

  /// If a dimension equals a dimension of a graph input, reads it from that input, so that values in between are not used for it.
  void take_from_input(Node& node) {
    const Value* x = node.input(0);
    if (!x || x->is_input() || !x->type.dims) return;
    const int64_t rank = static_cast<int64_t>(x->type.dims->size());
    const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    const int64_t start = clamp(int_attribute(node, "start", 0)), end = clamp(int_attribute(node, "end", rank));
    if (end != start + 1) return;
    const Dim& dim = (*x->type.dims)[static_cast<size_t>(start)];
    if (dim.known() || SizeTable::is_unknown(dim)) return;
    const auto found = inputs_.find(dim.symbol);
    if (found == inputs_.end() || &found->second.first->graph() != &node.graph()) return;
    const auto [input, axis] = found->second;
    context_.changed("{} looks at input \"{}\"", label_of(node), input->name());
    node.set_input(0, input);
    node.attributes.set("start", axis);
    node.attributes.set("end", axis + 1);
  }

  void make_constant(Node& node, const ValueInfo& info) {
    // Constants are folded here too: folding may have made the inputs constant just now, and later nodes in this walk need the result.
    Ints numbers(static_cast<size_t>(info.contents.elements()));
    widen(info.dtype, info.contents.data(), numbers.size(), numbers.data());
    Value& constant = node.graph().add_constant(info.contents);
    take_place_of(*node.output(0), constant);
    constant.type = ValueType::tensor(info.dtype, info.shape);
    context_.changed("{} is {}", label_of(node), numbers);
  }

  void set_shape(Node& node, const Ints& shape) {
    context_.changed("{} takes the shape {}", label_of(node), shape);
    node.set_input(1, &add_ints(node.graph(), shape));
  }

  void fix_reshape(Node& node) {
    const bool zero_is_size = int_attribute(node, "allowzero", 0) != 0;
    if (!node.input(0) || !node.input(1) || (node.input(1)->constant() && !zero_is_size)) return;
    const auto wanted = elements_of(node.input(1));
    if (zero_is_size) {  // PyTorch's exporter always sets allowzero; it has no effect unless a size is 0
      if (!wanted || std::any_of(wanted->begin(), wanted->end(), [](Size size) { return size.is(0); })) return;
      if (node.input(1)->constant()) {
        context_.changed("{} has no size 0", label_of(node));
        node.attributes.remove("allowzero");
        return;
      }
    }
    const auto from = sizes_of(node.input(0)), to = sizes_of(node.output(0));
    if (!wanted || !to || to->rank() != wanted->size()) return;
    Ints shape;
    for (size_t i = 0; i < to->rank(); ++i) {
      const Size size = (*to)[i];
      if (size.is(0)) return;  // 0 would mean the size of the input
      shape.push_back(size.is_number() ? size.number() : from && i < from->rank() && equal(size, (*from)[i]) ? 0 : -1);
    }
    if (std::count(shape.begin(), shape.end(), -1) > 1) return;
    set_shape(node, shape);
    node.attributes.remove("allowzero");
  }

  void fix_expand(Node& node) {
    if (!node.input(0) || !node.input(1) || node.input(1)->constant()) return;
    const auto wanted = elements_of(node.input(1));
    const auto from = sizes_of(node.input(0));
    if (!wanted || !from) return;
    const size_t rank = from->rank(), count = wanted->size();
    Ints shape;
    for (size_t i = 0; i < count; ++i) {
      const Size size = (*wanted)[i];
      if (size.is_number())
        shape.push_back(size.number());
      else if (i + rank >= count && equal(size, (*from)[i + rank - count]))
        shape.push_back(1);  // keeps the dimension
      else
        return;
    }
    set_shape(node, shape);
  }

  PassContext& context_;
  std::unordered_map<std::string, std::pair<Value*, int64_t>> inputs_;  // of the outermost graph, by the symbols of their dimensions
  std::unordered_map<const Value*, ValueInfo> known_;  // nothing is removed meanwhile, because a new value could reuse an address
};

}  // namespace

void fold_shapes(Graph& graph, PassContext& context) {
  if (!graph.outer) ShapeFolder(context).run(graph);  // which goes into the subgraphs itself
}

}  // namespace minnow
