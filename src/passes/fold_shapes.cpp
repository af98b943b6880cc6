// SPDX-License-Identifier: Apache-2.0
// Infers all shapes, and folds the values computed from them. It follows small integer vectors element by element: each element is a size,
// possibly symbolic, or unknown. A vector of numbers becomes a constant. A Reshape or an Expand gets a constant shape if it can take the
// symbolic sizes from its own input. Shapes and values computed from them depend on each other, hence one walk for both.
#include <algorithm>
#include <unordered_map>

#include "base/numeric.h"
#include "ops/infer.h"
#include "passes/infer_dims.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

using Element = std::optional<Size>;
struct Vector {
  std::vector<Element> elements;
  bool is_scalar = false;
};

constexpr size_t kMostElements = 64;  // a vector of more is no shape
constexpr int kMostRounds = 3;        // after which the shapes of all carried values are given up; before, only of those that change

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
      if (node.op() == "Reshape") fix_reshape(node);
      if (node.op() == "Expand") fix_expand(node);
      infer(node);
      type_carried(node);
      if (node.op() == "Reshape") take_sizes(node);
      if (node.op() == "Expand" || node.op() == "ConstantOfShape") take_filled(node);
      if (node.op() == "Shape") take_from_input(node);
      if (node.output_count() != 1 || !node.output(0)) continue;
      std::optional<Vector> result = evaluate(node);
      if (!result) continue;
      if (std::all_of(result->elements.begin(), result->elements.end(), [](const Element& e) { return e && e->is_number(); }))
        make_constant(node, *result);
      else
        known_.emplace(node.output(0), std::move(*result));
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

  void infer(Node& node) {
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i) && node.output(i)->type.element_dtype() == DType::undefined) {
        infer_types(context_.operators(), node);
        break;
      }
    infer_dims(context_.operators(), context_.sizes, node);
  }

  /// If a dimension equals a dimension of a graph input, reads it from that input, so that values in between are not used for it.
  void take_from_input(Node& node) {
    const Value* x = node.input(0);
    if (!x || x->is_input() || !x->type.dims) return;
    const auto asked = shape_of(node);
    if (!asked || asked->elements.size() != 1 || !asked->elements[0] || !asked->elements[0]->is_symbol()) return;
    const Dim dim = context_.sizes.dim_of(*asked->elements[0]);
    if (SizeTable::is_unknown(dim)) return;
    const auto found = inputs_.find(dim.symbol);
    if (found == inputs_.end() || &found->second.first->graph() != &node.graph()) return;
    const auto [input, axis] = found->second;
    context_.changed("{} looks at input \"{}\"", label_of(node), input->name());
    node.set_input(0, input);
    node.attributes.set("start", axis);
    node.attributes.set("end", axis + 1);
  }

  static bool holds_integers(const Value& value) {
    return value.type.dtype == DType::i64 || value.type.dtype == DType::i32 || value.type.dtype == DType::boolean;
  }

  std::optional<Vector> vector_of(const Value* value) {
    if (!value) return {};
    const auto found = known_.find(value);
    if (found != known_.end()) return found->second;
    const Tensor* tensor = value->constant();
    if (!tensor || !holds_integers(*value) || tensor->shape().rank() > 1 || static_cast<size_t>(tensor->elements()) > kMostElements)
      return {};
    Vector vector;
    const Ints numbers = *ints_of(value);
    for (int64_t number : numbers) vector.elements.emplace_back(Size(number));
    vector.is_scalar = tensor->shape().rank() == 0;
    return vector;
  }

  std::optional<Vector> shape_of(const Node& node) {
    const auto sizes = sizes_of(node.input(0), context_.sizes);
    if (!sizes) return {};
    const int64_t rank = static_cast<int64_t>(sizes->size());
    const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    const int64_t start = clamp(int_attribute(node, "start", 0)), end = clamp(int_attribute(node, "end", rank));
    Vector vector;
    for (int64_t axis = start; axis < end; ++axis) vector.elements.emplace_back((*sizes)[static_cast<size_t>(axis)]);
    return vector;
  }

  Element product_of(const std::vector<Element>& elements) {
    Element product(Size(1));
    for (const Element& element : elements) product = product && element ? Size::multiply(*product, *element) : std::nullopt;
    return product;
  }

  std::optional<Vector> size_of_value(const Node& node) {
    const auto sizes = sizes_of(node.input(0), context_.sizes);
    if (!sizes) return {};
    return Vector{{product_of({sizes->begin(), sizes->end()})}, true};
  }

  std::optional<Vector> gather(const Node& node) {
    const auto data = vector_of(node.input(0)), indices = vector_of(node.input(1));
    if (!data || !indices || data->is_scalar || int_attribute(node, "axis", 0) != 0) return {};
    Vector vector{{}, indices->is_scalar};
    for (const Element& index : indices->elements) {
      const auto place = index && index->is_number() ? positive_axis(index->number(), data->elements.size()) : std::nullopt;
      if (!place) return {};
      vector.elements.push_back(data->elements[*place]);
    }
    return vector;
  }

  std::optional<Vector> slice(const Node& node) {
    const auto data = vector_of(node.input(0));
    const auto starts = ints_of(node.input(1)), ends = ints_of(node.input(2));
    const auto axes = node.input(3) ? ints_of(node.input(3)) : Ints{0}, steps = node.input(4) ? ints_of(node.input(4)) : Ints{1};
    if (!data || data->is_scalar || !starts || !ends || !axes || !steps) return {};
    if (starts->size() != 1 || ends->size() != 1 || axes->size() != 1 || steps->size() != 1) return {};
    const int64_t size = static_cast<int64_t>(data->elements.size()), step = (*steps)[0];
    if (((*axes)[0] != 0 && (*axes)[0] != -1) || step <= 0) return {};
    const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    Vector vector;
    for (int64_t i = clamp((*starts)[0]); i < clamp((*ends)[0]); i += std::min(step, size))
      vector.elements.push_back(data->elements[static_cast<size_t>(i)]);
    return vector;
  }

  std::optional<Vector> concat(const Node& node) {
    Vector vector;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const auto part = vector_of(node.input(i));
      if (part) {
        if (part->is_scalar || vector.elements.size() + part->elements.size() > kMostElements) return {};
        vector.elements.insert(vector.elements.end(), part->elements.begin(), part->elements.end());
        continue;
      }
      // As many unknown elements as the input has, if that is known.
      const Value* input = node.input(i);
      const auto count = input && holds_integers(*input) && rank_of(*input) == size_t{1} ? dim_of(*input, 0) : std::nullopt;
      if (!count || *count > static_cast<int64_t>(kMostElements - vector.elements.size())) return {};
      vector.elements.resize(vector.elements.size() + static_cast<size_t>(*count));
    }
    return vector;
  }

  /// Squeeze, Unsqueeze, Reshape of a vector or scalar to one of the two.
  std::optional<Vector> reshape(const Node& node) {
    auto data = vector_of(node.input(0));
    const auto rank = rank_of(*node.output(0));
    if (!data || !rank || *rank > 1 || (*rank == 0 && data->elements.size() != 1)) return {};
    data->is_scalar = *rank == 0;
    return data;
  }

  static Element apply(const std::string& op, const Element& a, const Element& b) {
    if (!a || !b) return {};
    if (op == "Add") return Size::add(*a, *b);
    if (op == "Sub") return Size::subtract(*a, *b);
    if (op == "Mul") return Size::multiply(*a, *b);
    const bool numbers = a->is_number() && b->is_number();
    const int64_t p = a->number(), q = b->number();
    if (op == "Equal") {
      if (*a == *b) return Size(1);
      if (numbers) return Size(0);
      // No dimension is negative.
      const bool is_dimension = a->is_symbol() || b->is_symbol(), is_negative = (a->is_number() && p < 0) || (b->is_number() && q < 0);
      return is_dimension && is_negative ? Element(Size(0)) : Element();
    }
    if (op == "Div") {
      if (numbers) return q > 0 && p >= 0 ? Element(Size(p / q)) : Element();
      return Size::divide_exactly(*a, *b);
    }
    if (!numbers) return {};
    if (op == "Mod") return q > 0 && p >= 0 ? Element(Size(p % q)) : Element();
    if (op == "Max") return Size(std::max(p, q));
    if (op == "Min") return Size(std::min(p, q));
    return {};
  }

  std::optional<Vector> arithmetic(const Node& node) {
    if (node.input_count() != 2 || !holds_integers(*node.output(0))) return {};
    const auto a = vector_of(node.input(0)), b = vector_of(node.input(1));
    if (!a || !b) return {};
    const size_t na = a->elements.size(), nb = b->elements.size();
    if (na != nb && na != 1 && nb != 1) return {};
    Vector vector{{}, a->is_scalar && b->is_scalar};
    const size_t count = na == 1 ? nb : na;
    for (size_t i = 0; i < count; ++i)
      vector.elements.push_back(apply(node.op(), a->elements[na == 1 ? 0 : i], b->elements[nb == 1 ? 0 : i]));
    return vector;
  }

  std::optional<Vector> where(const Node& node) {
    const auto condition = vector_of(node.input(0)), a = vector_of(node.input(1)), b = vector_of(node.input(2));
    if (!condition || !a || !b || condition->is_scalar || a->is_scalar || b->is_scalar) return {};
    const size_t count = condition->elements.size();
    if (a->elements.size() != count || b->elements.size() != count) return {};
    Vector vector;
    for (size_t i = 0; i < count; ++i) {
      const Element& choice = condition->elements[i];
      vector.elements.push_back(!choice || !choice->is_number() ? Element() : choice->number() ? a->elements[i] : b->elements[i]);
    }
    return vector;
  }

  /// The product of a vector: the number of elements that a shape has.
  std::optional<Vector> product(const Node& node) {
    const auto data = vector_of(node.input(0));
    if (!data || data->is_scalar || !rank_of(*node.output(0))) return {};
    return Vector{{product_of(data->elements)}, *rank_of(*node.output(0)) == 0};
  }

  std::optional<Vector> evaluate(const Node& node) {
    const std::string& op = node.op();
    if (!node.input(0) || node.output(0)->is_unused()) return {};
    if (op == "Shape") return shape_of(node);
    if (op == "Size") return size_of_value(node);
    if (op == "Gather") return gather(node);
    if (op == "Slice") return slice(node);
    if (op == "Concat") return concat(node);
    if (op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") return reshape(node);
    if (op == "Identity") return vector_of(node.input(0));
    if (op == "Cast" && holds_integers(*node.output(0)) && holds_integers(*node.input(0)) && node.output(0)->type.dtype != DType::boolean)
      return vector_of(node.input(0));
    if (op == "ReduceProd") return product(node);
    if (op == "Where") return where(node);
    constexpr std::string_view kArithmetic[] = {"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal"};
    if (std::find(std::begin(kArithmetic), std::end(kArithmetic), op) != std::end(kArithmetic)) return arithmetic(node);
    return {};
  }

  void make_constant(Node& node, const Vector& vector) {
    // Constants are folded here too: folding may have made the inputs constant just now, and later nodes in this walk need the result.
    if (!holds_integers(*node.output(0))) return;
    Ints numbers;
    for (const Element& element : vector.elements) numbers.push_back(element->number());
    const Shape shape = vector.is_scalar ? Shape{} : Shape{static_cast<int64_t>(numbers.size())};
    Tensor tensor(node.output(0)->type.dtype, shape);
    narrow(tensor.dtype(), numbers.data(), numbers.size(), tensor.writable().data());
    Value& constant = node.graph().add_constant(tensor);
    take_place_of(*node.output(0), constant);
    constant.type = ValueType::tensor(tensor.dtype(), shape);
    context_.changed("{} is {}", label_of(node), numbers);
  }

  void set_shape(Node& node, const Ints& shape) {
    context_.changed("{} takes the shape {}", label_of(node), shape);
    node.set_input(1, &add_ints(node.graph(), shape));
  }

  void fix_reshape(Node& node) {
    const bool zero_is_size = int_attribute(node, "allowzero", 0) != 0;
    if (!node.input(0) || !node.input(1) || (node.input(1)->constant() && !zero_is_size)) return;
    const auto vector = vector_of(node.input(1));
    if (zero_is_size) {  // PyTorch's exporter always sets allowzero; it has no effect unless a size is 0
      const auto is_zero = [](const Element& size) { return size && size->is(0); };
      if (!vector || std::any_of(vector->elements.begin(), vector->elements.end(), is_zero)) return;
      if (node.input(1)->constant()) {
        context_.changed("{} has no size 0", label_of(node));
        node.attributes.remove("allowzero");
        return;
      }
    }
    const auto from = sizes_of(node.input(0), context_.sizes);
    if (!vector || vector->is_scalar) return;
    std::vector<Element> wanted = vector->elements;
    if (const auto to = from ? reshaped_sizes(*from, wanted) : std::nullopt) wanted.assign(to->begin(), to->end());
    Ints shape;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Element& size = wanted[i];
      if (size && from && i < from->size() && *size == (*from)[i] && !size->is_number())
        shape.push_back(0);
      else
        shape.push_back(size && size->is_number() ? size->number() : -1);
    }
    if (std::count(shape.begin(), shape.end(), -1) > 1) return;
    set_shape(node, shape);
    node.attributes.remove("allowzero");
  }

  /// The sizes that a computed shape is known to have.
  void take_sizes(Node& node) {
    if (!node.input(1) || node.input(1)->constant() || !node.output(0)) return;
    const auto vector = vector_of(node.input(1));
    if (!vector || vector->is_scalar) return;
    std::optional<std::vector<Dim>>& dims = node.output(0)->type.dims;
    if (!dims) dims.emplace();
    if (dims->size() != vector->elements.size()) dims->assign(vector->elements.size(), Dim());
    for (size_t i = 0; i < dims->size(); ++i) {
      const Element& size = vector->elements[i];
      Dim& dim = (*dims)[i];
      if (size && (!size->is_number() || size->number() > 0) && SizeTable::is_unknown(dim)) dim = context_.sizes.dim_of(*size);
      if (!dim.known() && dim.symbol.empty()) dim = context_.sizes.unknown();
    }
  }

  /// The same for values that are expanded to a computed shape, or filled.
  void take_filled(Node& node) {
    const bool expands = node.op() == "Expand";
    const Value* shape = node.input(expands ? 1 : 0);
    if (!shape || shape->constant() || !node.output(0)) return;
    const auto vector = vector_of(shape);
    const auto from = expands ? sizes_of(node.input(0), context_.sizes) : Sizes();
    if (!vector || vector->is_scalar || !from) return;
    const size_t wanted = vector->elements.size(), rank = std::max(wanted, from->size());
    std::vector<Dim> dims;
    for (size_t i = 0; i < rank; ++i) {
      const Element asked = i + wanted >= rank ? vector->elements[i + wanted - rank] : Element(Size(1));
      const Size own = i + from->size() >= rank ? (*from)[i + from->size() - rank] : Size(1);
      const bool is_size = asked && (!asked->is_number() || asked->number() >= 0);
      Element size;
      if (own.is(1))
        size = is_size ? asked : Element();
      else if (own.is_number() || (asked && (asked->is(1) || *asked == own)))
        size = own;
      dims.push_back(size ? context_.sizes.dim_of(*size) : context_.sizes.unknown());
    }
    node.output(0)->type.dims = std::move(dims);
  }

  void fix_expand(Node& node) {
    if (!node.input(0) || !node.input(1) || node.input(1)->constant()) return;
    const auto vector = vector_of(node.input(1));
    const auto from = sizes_of(node.input(0), context_.sizes);
    if (!vector || vector->is_scalar || !from) return;
    const size_t rank = from->size(), wanted = vector->elements.size();
    Ints shape;
    for (size_t i = 0; i < wanted; ++i) {
      const Element& size = vector->elements[i];
      if (size && size->is_number())
        shape.push_back(size->number());
      else if (size && i + rank >= wanted && *size == (*from)[i + rank - wanted])
        shape.push_back(1);  // keeps the dimension
      else
        return;
    }
    set_shape(node, shape);
  }

  PassContext& context_;
  std::unordered_map<std::string, std::pair<Value*, int64_t>> inputs_;  // of the outermost graph, by the symbols of their dimensions
  std::unordered_map<const Value*, Vector> known_;  // nothing is removed meanwhile, because a new value could reuse an address
};

}  // namespace

void fold_shapes(Graph& graph, PassContext& context) {
  if (!graph.outer) ShapeFolder(context).run(graph);  // which goes into the subgraphs itself
}

}  // namespace minnow
