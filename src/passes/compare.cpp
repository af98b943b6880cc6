// SPDX-License-Identifier: Apache-2.0
#include "passes/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/numeric.h"
#include "graph/expr.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"
#include "passes/trail.h"

namespace minnow {
namespace {

constexpr double kMostElements = 1 << 26;

class RandomSource {
 public:
  explicit RandomSource(const CompareOptions& options) : options_(options), engine_(options.seed) {}

  Datum datum(const Value& input, const ValueType& type) {
    if (type.kind == ValueType::Kind::optional) return {};
    if (type.kind == ValueType::Kind::sequence) {
      if (!type.element) throw Unsupported("input \"{}\" is of type {}: there are no random values of it", input.name(), to_string(type));
      return Datum::sequence(type.element_dtype(), {datum(input, *type.element), datum(input, *type.element)});
    }
    if (size_of(type.dtype) == 0)
      throw Unsupported("input \"{}\" is of type {}: there are no random values of it", input.name(), to_string(type));
    Shape shape;
    if (type.dims)
      for (const Dim& dim : *type.dims) shape.push_back(size_of_dim(dim));
    const auto is_open = [](const Dim& dim) { return !dim.known() && dim.symbol.empty(); };
    if (options_.channels && shape.rank() == 4 && std::all_of(type.dims->begin(), type.dims->end(), is_open)) {
      shape[0] = 1;
      shape[options_.channels_last ? 3 : 1] = options_.channels;
    }
    double elements = 1;
    for (const int64_t size : shape) elements *= static_cast<double>(size);
    if (elements > kMostElements)
      throw Unsupported("input \"{}\" of shape {} is too large to verify with: fix a smaller one with --shape", input.name(), shape);
    return tensor(type.dtype, shape);
  }

 private:
  int64_t size_of_dim(const Dim& dim) const {
    if (dim.known()) return dim.size;
    const auto found = options_.symbols.find(dim.symbol);
    return found != options_.symbols.end() ? found->second : options_.other_dims;
  }

  Tensor tensor(DType dtype, const Shape& shape) {
    Tensor made(dtype, shape);
    const size_t count = static_cast<size_t>(made.elements());
    void* out = made.writable().data();
    if (is_float(dtype)) {
      std::vector<double> values(count);
      std::normal_distribution<double> normal;
      for (double& value : values) value = normal(engine_);
      narrow(dtype, values.data(), count, out);
    } else {
      const bool whole_range = dtype == DType::u8 || dtype == DType::i8;
      std::uniform_int_distribution<int64_t> uniform(whole_range ? lowest_of(dtype) : 0, whole_range ? highest_of(dtype) : 1);
      std::vector<int64_t> values(count);
      for (int64_t& value : values) value = uniform(engine_);
      narrow(dtype, values.data(), count, out);
    }
    return made;
  }

  const CompareOptions& options_;
  std::mt19937_64 engine_;
};

/// True if a node rounds or draws random numbers.
bool needs_trail(const OperatorSet& operators, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (is_rounding(operators, node) || is_drawn(operators, node)) return true;
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute); subgraph && needs_trail(operators, **subgraph)) return true;
  }
  return false;
}

/// Changes every number x that the graph or a graph within rounds by up to `change` of itself. The sine of 37 x decides by how much, so
/// some grow and some shrink. (DynamicQuantizeLinear would undo a common factor.) Affects only rounded tensors whose names `lost` accepts.
/// Returns false if there is none.
bool change_before_rounding(const OperatorSet& operators, Graph& graph, double change, FunctionRef<bool(const std::string&)> lost) {
  bool found = false;
  for_each_graph(graph, [&](Graph& each) {
    for (Node& node : each.nodes()) {
      if (!is_rounding(operators, node) || !node.output(0) || !lost(node.output(0)->name())) continue;
      Value* x = node.input(0);
      if (!x || !is_float(x->type.dtype) || x->type.kind != ValueType::Kind::tensor) continue;
      GraphBuilder builder(each, &node);
      const Expr number = builder.wrap(x);
      node.set_input(0, (number + number * op("Sin", {number * 37.0}) * change).value());
      found = true;
    }
  });
  return found;
}

/// `allowed`, `allowed_mean`: the largest allowed difference, and the largest mean square.
void check_difference(const std::string& what, const Difference& found, double mean_square, double allowed, double allowed_mean) {
  if (found.worst > allowed)
    throw InvalidModel("{} differs after optimization: element {} is {} instead of {}, a difference of {} would be allowed", what,
                       found.place, found.actual, found.expected, allowed);
  if (mean_square > allowed_mean)
    throw InvalidModel("{} differs after optimization: by {} in the root of the mean square, {} would be allowed", what, mean_square,
                       allowed_mean);
}

/// `others`: the same output for graphs in which the rounded numbers were changed by the tolerance.
void compare_data(const std::string& what, const Datum& before, const Datum& after, std::span<const Datum* const> others,
                  double tolerance) {
  if (before.kind != after.kind || before.items.size() != after.items.size())
    throw InvalidModel("{} is of another kind or length after optimization", what);
  if (before.kind == Datum::Kind::tensor) {
    const Tensor &a = before.tensor, &b = after.tensor;
    if (!same_form(before, after))
      throw InvalidModel("{} is {}{}, after optimization {}{}", what, a.dtype(), a.shape(), b.dtype(), b.shape());
    const Difference found = difference(a, b);
    double allowed = tolerance * found.largest, allowed_mean = allowed;
    for (const Datum* other : others)
      if (same_form(before, *other)) {
        const Difference changed = difference(a, other->tensor);
        allowed = std::max(allowed, changed.worst);
        allowed_mean = std::max(allowed_mean, changed.mean_square / 2);
      }
    check_difference(what, found, found.mean_square, allowed, allowed_mean);
  }
  for (size_t i = 0; i < before.items.size(); ++i) {
    std::vector<const Datum*> items;
    for (const Datum* other : others)
      if (same_form(before, *other)) items.push_back(&other->items[i]);
    compare_data(format("item {} of {}", i, what), before.items[i], after.items[i], items, tolerance);
  }
}

bool within(std::span<const Datum> a, std::span<const Datum> b, double tolerance) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_form(a[i], b[i])) return false;
    if (a[i].kind == Datum::Kind::tensor)
      if (const Difference found = difference(a[i].tensor, b[i].tensor); found.worst > tolerance * found.largest) return false;
    if (!within(a[i].items, b[i].items, tolerance)) return false;
  }
  return true;
}

}  // namespace

std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options) {
  RandomSource source(options);
  std::vector<Datum> inputs;
  for (const auto& input : graph.inputs()) inputs.push_back(source.datum(*input, input->type));
  return inputs;
}

struct Expectation::Impl {
  Impl(const OperatorSet& operators, const Graph& graph, std::vector<Datum> inputs, double tolerance)
      : operators(operators),
        graph(graph),
        inputs(std::move(inputs)),
        tolerance(tolerance),
        has_trail(needs_trail(operators, graph)),
        trail(operators, tolerance) {
    outputs = evaluate(operators, graph, this->inputs, has_trail ? trail.note() : Observer());
  }

  /// The possible effect of roundings that a walk could not follow.
  struct Change {
    std::vector<Datum> outputs;
    Trail::Walk walk;
  };
  std::vector<Change> changed_where_lost(const Trail::Walk& walk) const {
    std::vector<Change> changes;
    for (const double change : {tolerance, -tolerance}) {
      const std::unique_ptr<Graph> copy = graph.clone();
      infer_types(operators, *copy);
      if (!change_before_rounding(operators, *copy, change, [&](const std::string& name) { return !walk.followed.contains(name); }))
        continue;
      changes.emplace_back();
      changes.back().outputs = evaluate(operators, *copy, inputs, trail.follow(changes.back().walk, &walk));
    }
    return changes;
  }

  const OperatorSet& operators;
  const Graph& graph;
  const std::vector<Datum> inputs;
  const double tolerance;
  const bool has_trail;
  Trail trail;
  std::vector<Datum> outputs;
};

Expectation::Expectation(const OperatorSet& operators, const Graph& graph, std::vector<Datum> inputs, double tolerance)
    : impl_(std::make_unique<Impl>(operators, graph, std::move(inputs), tolerance)) {}
Expectation::~Expectation() = default;
Expectation::Expectation(Expectation&&) noexcept = default;

void Expectation::check(const Graph& other) const {
  const Impl& is = *impl_;
  Trail::Walk walk;
  const std::vector<Datum> actual = evaluate(is.operators, other, is.inputs, is.has_trail ? is.trail.follow(walk) : Observer());
  if (is.outputs.size() != actual.size())
    throw InvalidModel("{}: there are {} outputs, after optimization {}", is.graph.source, is.outputs.size(), actual.size());
  std::vector<Impl::Change> changes;
  if (is.has_trail && (!walk.apart.empty() || !within(is.outputs, actual, is.tolerance))) changes = is.changed_where_lost(walk);
  for (size_t i = 0; i < actual.size(); ++i) {
    std::vector<const Datum*> others;
    for (const Impl::Change& change : changes) others.push_back(&change.outputs[i]);
    compare_data(format("{}: output \"{}\"", is.graph.source, is.graph.outputs()[i]->name()), is.outputs[i], actual[i], others,
                 is.tolerance);
  }
  for (const Trail::Walk::Apart& apart : walk.apart) {
    double allowed = is.tolerance * apart.worst.largest, allowed_mean = allowed;
    for (const Impl::Change& change : changes)
      if (const auto place = change.walk.places.find(apart.name); place != change.walk.places.end()) {
        allowed = std::max(allowed, change.walk.apart[place->second].worst.worst);
        allowed_mean = std::max(allowed_mean, change.walk.apart[place->second].mean_square / 2);
      }
    check_difference(format("{}: tensor \"{}\"", is.graph.source, apart.name), apart.worst, apart.mean_square, allowed, allowed_mean);
  }
}

void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options) {
  Expectation(operators, before, random_inputs(before, options), options.tolerance).check(after);
}

}  // namespace minnow
