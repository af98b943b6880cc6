// SPDX-License-Identifier: Apache-2.0
// Layers as products of smaller ones. A subspace of the outputs or inputs that holds the energy comes from the eigenvectors of the Gram
// matrix of the weights, in f64.
#include <minnow/convert.h>
#if MINNOW_NUMERICS
#include <minnow/numerics.h>
#endif
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/watch.h"
#include "compress/names.h"
#include "compress/observer.h"
#include "compress/patterns.h"
#include "compress/selection.h"
#include "passes/rewrite.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

#if MINNOW_NUMERICS
/// Columns of an orthonormal basis: element (i, k) of [size][rank].
struct Basis {
  size_t size = 0, rank = 0;
  std::vector<double> values;
  double at(size_t i, size_t k) const { return values[i * rank + k]; }
};

/// The directions of most energy among the outputs (or the inputs) of weights; as few as keep `energy`, in multiples of 8.
Basis basis_of(const float* w, const WeightPlaces& places, bool of_outputs, double energy) {
  const size_t size = of_outputs ? places.outputs : places.inputs, others = of_outputs ? places.inputs : places.outputs;
  const size_t step = of_outputs ? places.output : places.input, other = of_outputs ? places.input : places.output;
  // Rows are copied, so that sums go over neighbours.
  std::vector<float> rows(size * others * places.taps);
  for (size_t i = 0; i < size; ++i)
    for (size_t k = 0; k < others; ++k)
      for (size_t t = 0; t < places.taps; ++t) rows[(i * others + k) * places.taps + t] = w[i * step + k * other + t];
  const size_t depth = others * places.taps;
  Tensor gram(DType::f64, {static_cast<int64_t>(size), static_cast<int64_t>(size)});
  double* g = gram.writable().data<double>();
  for (size_t i = 0; i < size; ++i) {
    Watch::check();
    for (size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (size_t k = 0; k < depth; ++k) sum += static_cast<double>(rows[i * depth + k]) * static_cast<double>(rows[j * depth + k]);
      g[i * size + j] = g[j * size + i] = sum;
    }
  }
  const numerics::Eigen eigen = numerics::eigh(gram);  // from the smallest
  const double *values = eigen.values.data<double>(), *vectors = eigen.vectors.data<double>();
  double all = 0, kept = 0;
  for (size_t i = 0; i < size; ++i) all += std::max(values[i], 0.0);
  size_t rank = 0;
  while (rank < size && (rank == 0 || kept < energy * all)) kept += std::max(values[size - ++rank], 0.0);
  rank = std::min(size, (rank + 7) / 8 * 8);
  Basis basis{size, rank, std::vector<double>(size * rank)};
  for (size_t i = 0; i < size; ++i)
    for (size_t k = 0; k < rank; ++k) basis.values[i * rank + k] = vectors[i * size + (size - 1 - k)];
  return basis;
}

Tensor tensor_of(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(DType::f32, shape);
  std::transform(values.begin(), values.end(), tensor.writable().data<float>(), [](double value) { return static_cast<float>(value); });
  return tensor;
}

double energy_of(const float* w, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(w[i]) * static_cast<double>(w[i]);
  return sum;
}

double positions_of(const Value& value, size_t first) {
  double count = 1;
  for (size_t i = first; value.type.dims && i < value.type.dims->size(); ++i)
    if ((*value.type.dims)[i].known()) count *= static_cast<double>((*value.type.dims)[i].size);
  return count;
}

class Factorizer {
 public:
  Factorizer(Graph& graph, const LowRankOptions& options) : graph_(graph), options_(options) {}

  FactoredLayer layer(Node& node) {
    FactoredLayer row;
    row.node = label_of(node), row.op = node.op();
    row.refusal = refusal_of(node);
    if (!row.refusal.empty()) return row;
    const Tensor w = *node.input(1)->constant();
    const bool conv = node.op() == "Conv";
    const size_t axis = conv || (node.op() == "Gemm" && int_attribute(node, "transB", 0) != 0) ? 0 : 1;
    const WeightPlaces places = WeightPlaces::of(w.shape(), axis);
    row.inputs = places.inputs, row.outputs = places.outputs;
    row.weights_before = row.weights_after = static_cast<size_t>(w.elements());
    if (places.taps == 1)
      by_two(node, w, places, row);
    else
      by_three(node, w, places, row);
    return row;
  }

 private:
  std::string refusal_of(const Node& node) const {
    if (is_named(node, options_.skip)) return "the options skip it";
    if (!options_.layers.empty() && !is_named(node, options_.layers)) return "the options do not name it";
    if (node.op() == "ConvTranspose") return "it is a transposed convolution";
    const Tensor* w = node.input(1) ? node.input(1)->constant() : nullptr;
    if (!w || w->dtype() != DType::f32 || w->elements() == 0) return "its weights are not constant f32";
    if (node.op() == "Conv" ? w->shape().rank() < 3 : w->shape().rank() != 2)
      return format("its weights have {} dimensions", w->shape().rank());
    if (node.op() == "Conv" && int_attribute(node, "group", 1) != 1) return format("it has {} groups", int_attribute(node, "group", 1));
    if (node.op() == "Gemm" && int_attribute(node, "transA", 0) != 0) return "its input is transposed";
    for (const float value : std::span(w->data<float>(), static_cast<size_t>(w->elements())))
      if (!(std::abs(value) <= 1e15F)) return "its weights are not all finite, or above 1e15";
    return {};
  }

  bool is_cheaper(FactoredLayer& row, double before, double after) const {
    if (after <= options_.most * before) return true;
    row.refusal = format("ranks {} and {} of {}x{} leave {} % of its operations", row.input_rank, row.output_rank, row.outputs, row.inputs,
                         std::llround(100 * after / before));
    return false;
  }

  Node& before(Node& node, std::string_view op, std::vector<Value*> inputs, Attributes attributes, const std::string& stem) {
    const std::string output[] = {graph_.fresh_name(stem)};
    Node& made = graph_.add_node(op, inputs, output, std::move(attributes), output[0], &node);
    return made;
  }
  Value& constant(const Node& node, const char* part, Tensor tensor) {
    return graph_.add_constant(std::move(tensor), graph_.fresh_name(node.input(1)->name() + part));
  }
  // The type of a new value: that of `like`, with `channels` along the axis.
  static ValueType type_of(const Value& like, size_t axis, size_t channels) {
    ValueType type = like.type;
    if (type.dims && axis < type.dims->size()) (*type.dims)[axis] = Dim{static_cast<int64_t>(channels), {}};
    return type;
  }

  void by_two(Node& node, const Tensor& tensor, const WeightPlaces& places, FactoredLayer& row) {
    const float* w = tensor.data<float>();
    const bool of_outputs = places.outputs <= places.inputs;
    const Basis basis = basis_of(w, places, of_outputs, options_.energy);
    const size_t rank = basis.rank;
    row.input_rank = row.output_rank = rank;
    const double whole = static_cast<double>(places.outputs * places.inputs);
    const bool conv = node.op() == "Conv";
    if (!is_cheaper(row, whole, static_cast<double>(rank * (places.outputs + places.inputs)))) return;
    // first[k][i], second[o][k]
    std::vector<double> first(rank * places.inputs), second(places.outputs * rank);
    for (size_t o = 0; o < places.outputs; ++o)
      for (size_t i = 0; i < places.inputs; ++i) {
        const double value = static_cast<double>(w[o * places.output + i * places.input]);
        for (size_t k = 0; k < rank; ++k)
          of_outputs ? first[k * places.inputs + i] += basis.at(o, k) * value : second[o * rank + k] += value * basis.at(i, k);
      }
    for (size_t k = 0; k < rank; ++k)
      for (size_t i = 0; i < (of_outputs ? places.outputs : places.inputs); ++i)
        (of_outputs ? second[i * rank + k] : first[k * places.inputs + i]) = basis.at(i, k);
    double kept = 0;
    for (const double value : of_outputs ? first : second) kept += value * value;  // the basis is orthonormal
    row.energy = kept / std::max(energy_of(w, static_cast<size_t>(tensor.elements())), 1e-300);
    row.weights_after = first.size() + second.size();
    const auto size = [](size_t value) { return static_cast<int64_t>(value); };
    const std::string stem = node.output(0)->name() + "_factor";
    if (conv) {
      const Shape ones = [&] {
        Shape shape{size(rank), size(places.inputs)};
        for (size_t i = 2; i < tensor.shape().rank(); ++i) shape.push_back(1);
        return shape;
      }();
      Shape last = ones;
      last[0] = size(places.outputs), last[1] = size(rank);
      Node& reduce = before(node, "Conv", {node.input(0), &constant(node, "_first", tensor_of(ones, first))}, node.attributes, stem);
      reduce.output(0)->type = type_of(*node.output(0), 1, rank);
      node.set_input(0, reduce.output(0));
      node.set_input(1, &constant(node, "_second", tensor_of(last, second)));
      for (const char* name : {"strides", "pads", "auto_pad", "dilations"}) node.attributes.remove(name);
      return;
    }
    std::vector<double> turned(first.size()), last(second.size());
    for (size_t k = 0; k < rank; ++k)
      for (size_t i = 0; i < places.inputs; ++i) turned[i * rank + k] = first[k * places.inputs + i];
    for (size_t o = 0; o < places.outputs; ++o)
      for (size_t k = 0; k < rank; ++k) last[k * places.outputs + o] = second[o * rank + k];
    Node& reduce =
        before(node, "MatMul", {node.input(0), &constant(node, "_first", tensor_of({size(places.inputs), size(rank)}, turned))}, {}, stem);
    const auto axes = rank_of(*node.output(0));
    reduce.output(0)->type = type_of(*node.output(0), axes ? *axes - 1 : 0, rank);
    node.set_input(0, reduce.output(0));
    node.set_input(1, &constant(node, "_second", tensor_of({size(rank), size(places.outputs)}, last)));
    node.attributes.remove("transB");
  }

  void by_three(Node& node, const Tensor& tensor, const WeightPlaces& places, FactoredLayer& row) {
    const float* w = tensor.data<float>();
    const double energy = std::sqrt(options_.energy);  // of both bases together about that
    const Basis outs = basis_of(w, places, true, energy), ins = basis_of(w, places, false, energy);
    row.input_rank = ins.rank, row.output_rank = outs.rank;
    const double in_pixels = positions_of(*node.input(0), 2), out_pixels = positions_of(*node.output(0), 2);
    const double taps = static_cast<double>(places.taps), ri = static_cast<double>(ins.rank), ro = static_cast<double>(outs.rank);
    const double inputs = static_cast<double>(places.inputs), outputs = static_cast<double>(places.outputs);
    if (!is_cheaper(row, inputs * outputs * taps * out_pixels,
                    inputs * ri * in_pixels + ri * ro * taps * out_pixels + ro * outputs * out_pixels))
      return;
    // core[q][p][t] = sum over o, i of outs[o][q] w[o][i][t] ins[i][p], in two steps.
    std::vector<double> half(places.outputs * ins.rank * places.taps), core(outs.rank * ins.rank * places.taps);
    for (size_t o = 0; o < places.outputs; ++o)
      for (size_t i = 0; i < places.inputs; ++i)
        for (size_t p = 0; p < ins.rank; ++p)
          for (size_t t = 0; t < places.taps; ++t)
            half[(o * ins.rank + p) * places.taps + t] += static_cast<double>(w[o * places.output + i * places.input + t]) * ins.at(i, p);
    const size_t each = ins.rank * places.taps;
    for (size_t o = 0; o < places.outputs; ++o)
      for (size_t q = 0; q < outs.rank; ++q)
        for (size_t k = 0; k < each; ++k) core[q * each + k] += outs.at(o, q) * half[o * each + k];
    double kept = 0;
    for (const double value : core) kept += value * value;
    row.energy = kept / std::max(energy_of(w, static_cast<size_t>(tensor.elements())), 1e-300);
    std::vector<double> first(ins.rank * places.inputs);
    for (size_t p = 0; p < ins.rank; ++p)
      for (size_t i = 0; i < places.inputs; ++i) first[p * places.inputs + i] = ins.at(i, p);
    row.weights_after = first.size() + core.size() + outs.values.size();
    const auto size = [](size_t value) { return static_cast<int64_t>(value); };
    Shape reduce_shape{size(ins.rank), size(places.inputs)}, core_shape = tensor.shape(),
                                                             expand_shape{size(places.outputs), size(outs.rank)};
    for (size_t i = 2; i < tensor.shape().rank(); ++i) reduce_shape.push_back(1), expand_shape.push_back(1);
    core_shape[0] = size(outs.rank), core_shape[1] = size(ins.rank);
    const std::string stem = node.output(0)->name() + "_factor";
    Node& reduce = before(node, "Conv", {node.input(0), &constant(node, "_first", tensor_of(reduce_shape, first))}, {}, stem);
    reduce.output(0)->type = type_of(*node.input(0), 1, ins.rank);
    Node& middle = before(node, "Conv", {reduce.output(0), &constant(node, "_core", tensor_of(core_shape, core))}, node.attributes, stem);
    middle.output(0)->type = type_of(*node.output(0), 1, outs.rank);
    node.set_input(0, middle.output(0));
    node.set_input(1, &constant(node, "_second", tensor_of(expand_shape, outs.values)));
    for (const char* name : {"strides", "pads", "auto_pad", "dilations", "kernel_shape"}) node.attributes.remove(name);
  }

  Graph& graph_;
  const LowRankOptions& options_;
};

#endif

void check(const LowRankOptions& options, const std::string& prefix = {}) {
  if (!(options.energy > 0 && options.energy <= 1))
    throw InvalidArgument("{}energy: {} is not above 0 and at most 1", prefix, options.energy);
  if (!(options.most > 0 && options.most <= 1000))
    throw InvalidArgument("{}most: {} is not above 0 and at most 1000", prefix, options.most);
}

}  // namespace

void LowRankOptions::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  LowRankOptions changed = *this;
  if (key == "energy")
    changed.energy = number(value, prefix + key);
  else if (key == "most")
    changed.most = number(value, prefix + key);
  else if (key == "layers")
    changed.layers = words(value);
  else if (key == "skip")
    changed.skip = words(value);
  else
    throw InvalidArgument("{}{}: there is no such option{}", prefix, key,
                          nearest(key, std::vector<std::string>{"energy", "most", "layers", "skip"}));
  check(changed, prefix);
  *this = std::move(changed);
} catch (...) {
  throw_as_error();
}

Factored factor(const Model& model, const LowRankOptions& options) try {
  check(options);
#if MINNOW_NUMERICS
  check_not_quantized(model, "factors");
  const std::unique_ptr<Graph> graph = simplified(model);
  check_names(*graph, options.layers, "layers");
  check_names(*graph, options.skip, "skip");
  std::vector<Node*> nodes;
  for (Node& node : graph->nodes())
    if (is_layer(node)) nodes.push_back(&node);
  Factorizer factorizer(*graph, options);
  std::vector<FactoredLayer> layers;
  for (Node* node : nodes) layers.push_back(factorizer.layer(*node));
  if (std::none_of(layers.begin(), layers.end(), [](const FactoredLayer& row) { return row.refusal.empty(); }))
    throw Unsupported("{}: no layer gets cheaper{}", graph->source.empty() ? "the model" : graph->source,
                      layers.empty() ? "" : format("; {}: {}", layers[0].node, layers[0].refusal));
  graph->remove_unused_constants();
  const Model made = model_of(*graph, model);
  return {convert_model(made, {.operators = model.impl()->custom_operators}), made, std::move(layers)};
#else
  (void)model;
  throw Unsupported("low-rank factorization needs a machine with 64-bit addresses");
#endif
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
