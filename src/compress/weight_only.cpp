// SPDX-License-Identifier: Apache-2.0
#include "compress/weight_only.h"

#include <minnow/convert.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/watch.h"
#include "compress/costs.h"
#include "compress/equalize.h"
#include "compress/fidelity.h"
#include "compress/means.h"
#include "compress/names.h"
#include "compress/quantization.h"
#include "ops/infer.h"
#include "ops/storage_dtype.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

constexpr size_t kMostBlock = 1024;                // inputs whose errors GPTQ treats together
constexpr size_t kGramMemory = size_t{256} << 20;  // of the matrices that are gathered at a time

Gram gram_of(const BlockLayer& found, size_t block) { return Gram(found.layer, std::max(kMostBlock, block), block); }

/// Products that read the same tensor share its Gram; a convolution has one of its own.
std::string gram_key(const BlockLayer& found) {
  return found.kind == BlockLayerKind::product ? found.layer.x->name()
                                               : format("{} {}", found.layer.x->name(), label_of(*found.layer.node));
}

size_t bits_in_runtime(size_t bits) { return bits <= 2 ? 2 : bits <= 4 ? 4 : 8; }  // ONNX Runtime multiplies 2, 4 and 8 bits

/// A file stores such a bias in 16 bits. It stays as it is where f16 does not hold its numbers nearly as they are.
void round_bias(Value& bias) {
  const Tensor* const before = bias.constant();
  if (!before || before->dtype() != DType::f32) return;
  Tensor rounded(DType::f32, before->shape());
  double squares = 0, changes = 0;
  for (int64_t i = 0; i < before->elements(); ++i) {
    const float x = before->data<float>()[i], after = f32_from_f16(f16_from_f32(x));
    rounded.writable().data<float>()[i] = after;
    const double change = static_cast<double>(after) - static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x), changes += change * change;
  }
  constexpr double kMostChange = 1e-3;
  if (changes <= kMostChange * kMostChange * squares) bias.set_constant(std::move(rounded));  // not where one is infinite
}

/// Replaces layers by others with constants in blocks.
class Writer {
 public:
  Writer(Graph& graph, bool standard, bool bytes) : graph_(graph), standard_(standard), bytes_(bytes) {}

  void write(const BlockLayer& found, const BlockRows& rows) {
    const Layer& layer = found.layer;
    stem_ = layer.node->output(0)->name();
    bits_ = standard_ ? static_cast<int64_t>(bits_in_runtime(static_cast<size_t>(rows.form.bits))) : rows.form.bits;
    scales_ = standard_ || !rows.form.half ? DType::f32 : DType::f16;
    if (layer.bias && rows.form.bits < 8) round_bias(*layer.bias);
    if (found.kind == BlockLayerKind::product) write_product(layer, rows);
    if (found.kind == BlockLayerKind::convolution) write_convolution(layer, rows);
    if (found.kind == BlockLayerKind::table) write_table(layer, rows);
  }

 private:
  Value* constant(Tensor tensor, const char* suffix) {
    if (!tensor) return nullptr;
    return &graph_.add_constant(std::move(tensor), graph_.fresh_name(stem_ + suffix));
  }
  Value* add(std::string_view op, const std::vector<Value*>& inputs, const char* suffix, DType dtype, Node* before,
             Attributes attributes = {}) {
    const std::string names[] = {graph_.fresh_name(stem_ + suffix)};
    Value* output = graph_.add_node(op, inputs, names, std::move(attributes), {}, before).output(0);
    output->type = ValueType::tensor(dtype);
    return output;
  }
  Attributes form_of(const BlockRows& rows) const {
    return {{"K", static_cast<int64_t>(rows.depth)}, {"bits", bits_}, {"block_size", static_cast<int64_t>(rows.form.block)}};
  }

  void write_product(const Layer& layer, const BlockRows& rows) {
    BlockRows::Tensors made = rows.packed(static_cast<int>(bits_), scales_);
    Node& node = *layer.node;
    Attributes attributes = form_of(rows);
    attributes.set("N", static_cast<int64_t>(rows.channels));
    if (bytes_) attributes.set("accuracy_level", int64_t{4});
    Value *b = constant(std::move(made.numbers), "_blocks"), *scales = constant(std::move(made.scales), "_scales"),
          *zeros = constant(std::move(made.zeros), "_zero_points");
    const bool joins = layer.bias && rank_of(*layer.bias) == 1 && dim_of(*layer.bias, 0) == static_cast<int64_t>(rows.channels);
    std::vector<Value*> inputs = {layer.x, b, scales};
    if (zeros || joins) inputs.push_back(zeros);
    if (joins) inputs.insert(inputs.end(), {nullptr, layer.bias});
    Value& output = *node.output(0);
    if (!layer.bias || joins) {
      replace(output, "minnow.MatMulNBits", inputs, std::move(attributes), node.name());
    } else {
      Value* product = add("minnow.MatMulNBits", inputs, "_product", DType::f32, &node, std::move(attributes));
      replace(output, "Add", {product, layer.bias}, {}, node.name());
    }
    remove_dead(node);
  }

  void write_convolution(const Layer& layer, const BlockRows& rows) {
    BlockRows::Tensors made = rows.plain(scales_);
    Node& node = *layer.node;
    const Shape& shape = layer.weights->constant()->shape();
    std::vector<Value*> inputs = {constant(std::move(made.numbers), "_integers"), constant(std::move(made.scales), "_scales")};
    if (made.zeros) inputs.push_back(constant(std::move(made.zeros), "_zero_points"));
    Attributes attributes{{"axis", int64_t{1}}, {"block_size", static_cast<int64_t>(rows.form.block)}};
    if (scales_ != DType::f32) attributes.set("output_dtype", static_cast<int64_t>(DType::f32));
    Value* weights = add("DequantizeLinear", inputs, "_rows", DType::f32, &node, std::move(attributes));
    Tensor dims(DType::i64, {static_cast<int64_t>(shape.rank())});
    std::copy(shape.begin(), shape.end(), dims.writable().data<int64_t>());
    node.set_input(1, add("Reshape", {weights, constant(std::move(dims), "_shape")}, "_weight", DType::f32, &node));
  }

  void write_table(const Layer& layer, const BlockRows& rows) {
    BlockRows::Tensors made = rows.packed(static_cast<int>(bits_), scales_);
    Node& node = *layer.node;
    const auto gathered = [&](Tensor tensor, const char* suffix) {
      if (!tensor) return static_cast<Value*>(nullptr);
      const DType dtype = tensor.dtype();
      // An exporter asks for the number of dimensions.
      std::optional<std::vector<Dim>> dims;
      if (const auto& places = layer.x->type.dims) {
        dims.emplace(places->begin(), places->end());
        for (size_t axis = 1; axis < tensor.shape().rank(); ++axis) dims->push_back({tensor.shape()[axis], {}});
      }
      Value* rows_of = add("Gather", {constant(std::move(tensor), suffix), layer.x}, suffix, dtype, &node, {{"axis", int64_t{0}}});
      rows_of->type.dims = dims;
      if (dtype == DType::f16) rows_of = add("Cast", {rows_of}, suffix, DType::f32, &node, {{"to", static_cast<int64_t>(DType::f32)}});
      rows_of->type.dims = dims;
      return rows_of;
    };
    std::vector<Value*> inputs = {gathered(std::move(made.numbers), "_blocks"), gathered(std::move(made.scales), "_scales")};
    if (made.zeros) inputs.push_back(gathered(std::move(made.zeros), "_zero_points"));
    replace(*node.output(0), "minnow.DequantizeNBits", inputs, form_of(rows), node.name());
    remove_dead(node);
  }

  Graph& graph_;
  const bool standard_;
  const bool bytes_;  // activations may be rounded to 8 bits while they are multiplied
  std::string stem_;
  int64_t bits_ = 4;
  DType scales_ = DType::f32;
};

}  // namespace

WeightOnly::WeightOnly(const Model& model, const Samples& samples, const QuantizeOptions& options)
    : model_(model), samples_(samples), options_(options), settings_(options), graph_(simplified(model)) {
  if (settings_.blocks->needs_samples && (samples.count == 0 || !samples.at))
    throw InvalidArgument("weights_only {} needs calibration samples", settings_.blocks->name);
  check_names(*graph_, options.skip, "skip", false);
  select_layers();
  if (!layers_.empty()) return;
  throw Unsupported("{}: no layer has weights that can be stored in blocks{}", graph_->source.empty() ? "the model" : graph_->source,
                    reason_of(refusals_));
}

std::string WeightOnly::refusal_of(BlockLayer& found) const {
  Layer& layer = found.layer;
  const Node& node = *layer.node;
  if (found.kind != BlockLayerKind::table && (!is_f32(layer.x) || layer.x->constant())) return "its input is no f32 activation";
  if (!layer.weights || !layer.weights->constant()) return "its weights are not constant";
  const Tensor& w = *layer.weights->constant();
  if (w.dtype() != DType::f32) return format("its weights are {}", w.dtype());
  const size_t rank = w.shape().rank();
  if (found.kind == BlockLayerKind::convolution) {
    if (rank < 3) return "its weights have no spatial dimensions";
  } else if (rank != 2) {
    return format("its weights have {} dimensions", rank);
  }
  if (w.elements() == 0) return "its weights are empty";
  layer.axis = found.kind == BlockLayerKind::product ? 1 : 0;
  if (node.op() == "Gemm") {
    if (real_attribute(node, "alpha", 1) != 1 || int_attribute(node, "transA", 0) != 0) return "its input is scaled or transposed";
    if (layer.bias && real_attribute(node, "beta", 1) != 1) return "its bias is scaled";
    if (int_attribute(node, "transB", 0) != 0) layer.axis = 0;
  }
  if (found.kind == BlockLayerKind::table && int_attribute(node, "axis", 0) != 0) return "it does not look up rows";
  const int64_t depth = w.elements() / w.shape()[layer.axis];
  if (depth < 16) return format("a row has {} weights, a block 16 or more", depth);
  for (int64_t i = 0; i < w.elements(); ++i)
    if (!(std::abs(w.data<float>()[i]) <= 1e30F)) return "its weights are not all finite";
  return {};
}

void WeightOnly::select_layers() {
  std::set<std::string> named;
  for (Node& node : graph_->nodes()) {
    BlockLayer found;
    if (node.op() == "Gather") {
      // Not the sums of shapes: tables of f32.
      if (!is_f32(node.input(0)) || !node.input(0)->constant() || node.input(0)->constant()->shape().rank() != 2) continue;
      found.kind = BlockLayerKind::table;
      found.layer = {&node, node.input(1), node.input(0), nullptr, 0, node.output(0)};
    } else if (node.op() == "Conv" || node.op() == "Gemm" || node.op() == "MatMul") {
      found.kind = node.op() == "Conv" ? BlockLayerKind::convolution : BlockLayerKind::product;
      found.layer = {&node, node.input(0), node.input(1), node.op() == "MatMul" ? nullptr : node.input(2), 0, node.output(0)};
    } else {
      if (multiplies(node)) refusals_.push_back({&node, format("{} takes no weights in blocks", node.op())});
      continue;
    }
    found.bits = settings_.block_bits;
    bool wide = false;
    bool exact = false;  // a name comes before patterns
    for (const auto& [name, bits] : options_.bits_for) {
      const bool is_name = name == node.name() || name == node.output(0)->name();
      if (!is_name && !fits_pattern(name, node.name()) && !fits_pattern(name, node.output(0)->name())) continue;
      named.insert(name);
      if (exact && !is_name) continue;
      exact |= is_name;
      found.bits = bits, wide = bits == 0 || bits > 8;
    }
    std::string reason = is_named(node, options_.skip) ? "the options skip it"
                         : wide                        ? "the options give it more than 8 bits"
                                                       : refusal_of(found);
    if (reason.empty())
      layers_.push_back(found);
    else
      refusals_.push_back({&node, std::move(reason)});
  }
  rows_.resize(layers_.size());
  for (const auto& [name, bits] : options_.bits_for)
    if (!named.contains(name)) throw InvalidArgument("bits_for: the model has no product, convolution or table \"{}\"", name);
}

BlockForm WeightOnly::form_of(const BlockLayer& layer, const Rows& rows) const {
  // A block that is longer than the rows would be stored with what it lacks.
  const size_t block = std::min(static_cast<size_t>(options_.block_size), std::bit_ceil(std::max<size_t>(rows.depth, 16)));
  BlockForm form{layer.bits, block, options_.symmetric, true};
  form.half = fit_half(rows, form);
  return form;
}

double WeightOnly::evaluated() const { return static_cast<double>(std::min(options_.evaluate, samples_.count)); }

void WeightOnly::one_run(double runs) {
  Watch::check();
  runs_ += runs;
  if (options_.progress) options_.progress(std::min(runs_ / all_runs_, 1.0));
}

void WeightOnly::observe(const Graph& graph, std::vector<std::string> names, const Observer::Visit& visit, double cost) {
  Observer observer(model_of(graph, model_), std::move(names));
  for (size_t i = 0; i < samples_.count; ++i) {
    sample_ = i;
    observer.run(checked_sample(model_, samples_, i), i, visit);
    one_run(cost);
  }
}

void WeightOnly::prepare(double more_runs) {
  const std::string_view method = settings_.blocks->name;
  const double layers = static_cast<double>(layers_.size()),
               runs = settings_.blocks->needs_samples ? static_cast<double>(samples_.count) : 0;
  all_runs_ = layers + 2 * runs + more_runs;
  if (method == "awq") balance();
  if (method == "gptq") round_by_gram();
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!rows_[i]) rows_[i] = rounded(layers_[i], Rows::of(*layers_[i].layer.weights->constant(), layers_[i].layer.axis));
    one_run();
  }
}

/// By the methods that need no samples; awq and gptq round tables, which have no inputs to weigh, to nearest.
BlockRows WeightOnly::rounded(const BlockLayer& layer, const Rows& rows) const {
  const BlockForm form = form_of(layer, rows);
  if (settings_.blocks->name == "hqq") {
    // DequantizeLinear has no other zero points, and ONNX Runtime no products of 8 bits with them; for many bits they gain little.
    constexpr int kMostReal = 4;
    return round_half_quadratic(rows, form, layer.kind == BlockLayerKind::convolution || layer.bits > kMostReal);
  }
  return round_blocks(rows, form, settings_.searches_blocks);
}

WeightOnly::Cost WeightOnly::cost(size_t index, int bits) const {
  const Layer& layer = layers_[index].layer;
  const Rows rows = Rows::of(*layer.weights->constant(), layer.axis);
  if (bits == 32) return {rows.values.size() * sizeof(float), 0};
  BlockLayer other = layers_[index];
  other.bits = bits;
  const BlockRows found = rounded(other, rows);
  const Rows after = found.numbers();
  double signal = 0, noise = 0;
  for (size_t i = 0; i < rows.values.size(); ++i) {
    const double wanted = static_cast<double>(rows.values[i]), error = static_cast<double>(after.values[i]) - wanted;
    signal += wanted * wanted, noise += error * error;
  }
  return {found.bytes(), signal > 0 ? noise / signal : 0};
}

void WeightOnly::round_to(std::span<const int> bits) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (bits[i] == 32) {
      rows_[i].reset();
    } else if (!rows_[i] || rows_[i]->form.bits != bits[i]) {
      layers_[i].bits = bits[i];
      rows_[i] = rounded(layers_[i], Rows::of(*layers_[i].layer.weights->constant(), layers_[i].layer.axis));
    }
  }
}

void WeightOnly::round_by_gram() {
  const size_t positions = std::clamp<size_t>(4096 / samples_.count, 16, 512);
  for (size_t begin = 0; begin < layers_.size();) {
    // As many layers at a time as memory allows.
    std::unordered_map<std::string, Gram> grams;
    std::unordered_map<std::string, std::vector<std::string>> readers;  // keys of Grams by the tensor that they read
    std::vector<std::string> names;
    size_t bytes = 0, end = begin;
    for (; end < layers_.size() && (end == begin || bytes < kGramMemory); ++end) {
      if (layers_[end].kind == BlockLayerKind::table) continue;
      const std::string key = gram_key(layers_[end]);
      if (grams.contains(key)) continue;
      const Gram& gram = grams.emplace(key, gram_of(layers_[end], static_cast<size_t>(options_.block_size))).first->second;
      bytes += gram.bytes();
      names.push_back(layers_[end].layer.x->name()), readers[names.back()].push_back(key);
    }
    const double share = 2 * static_cast<double>(end - begin) / static_cast<double>(layers_.size());
    observe(
        *graph_, names,
        [&](const std::string& name, const Tensor& tensor) {
          for (const std::string& key : readers.at(name)) grams.at(key).add(tensor, nullptr, positions, options_.seed * 1000003 + sample_);
        },
        share);
    for (size_t i = begin; i < end; ++i) {
      if (layers_[i].kind == BlockLayerKind::table) continue;
      const Rows rows = Rows::of(*layers_[i].layer.weights->constant(), layers_[i].layer.axis);
      rows_[i] = round_gptq(rows, form_of(layers_[i], rows), settings_.searches_blocks, grams.at(gram_key(layers_[i])));
    }
    begin = end;
  }
}

void WeightOnly::balance() {
  const std::unique_ptr<Graph> before = graph_->clone();
  const size_t positions = std::clamp<size_t>(4096 / samples_.count, 16, 512);
  std::vector<std::vector<float>> importances(layers_.size());
  // The inputs of products, and who reads them.
  std::vector<std::vector<size_t>> sites;
  std::unordered_map<const Value*, size_t> place;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].kind != BlockLayerKind::product) continue;
    const auto [found, is_new] = place.emplace(layers_[i].layer.x, sites.size());
    if (is_new) sites.emplace_back();
    sites[found->second].push_back(i);
  }
  for (size_t begin = 0; begin < sites.size();) {
    struct Seen {
      Gram gram;
      std::vector<double> magnitudes;
      double count = 0;
    };
    std::unordered_map<std::string, Seen> seen;
    std::vector<std::string> names;
    size_t bytes = 0, end = begin;
    for (; end < sites.size() && (end == begin || bytes < kGramMemory); ++end) {
      const BlockLayer& reader = layers_[sites[end][0]];
      Gram gram = gram_of(reader, static_cast<size_t>(options_.block_size));
      bytes += gram.bytes();
      names.push_back(reader.layer.x->name());
      seen.emplace(names.back(), Seen{std::move(gram), {}});
    }
    observe(
        *before, names,
        [&](const std::string& name, const Tensor& tensor) {
          Seen& of = seen.at(name);
          of.gram.add(tensor, nullptr, positions, options_.seed * 1000003 + sample_);
          const size_t depth = static_cast<size_t>(tensor.shape().back());
          of.magnitudes.resize(depth, 0);
          for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i)
            of.magnitudes[i % depth] += std::fabs(static_cast<double>(tensor.data<float>()[i]));
        },
        2 * static_cast<double>(end - begin) / static_cast<double>(sites.size()));
    for (size_t s = begin; s < end; ++s) {
      const std::vector<size_t>& readers = sites[s];
      Seen& of = seen.at(layers_[readers[0]].layer.x->name());
      std::vector<Rows> weights;
      std::vector<const Rows*> list;
      for (const size_t i : readers) weights.push_back(Rows::of(*layers_[i].layer.weights->constant(), layers_[i].layer.axis));
      for (const Rows& rows : weights) list.push_back(&rows);
      const double most = *std::max_element(of.magnitudes.begin(), of.magnitudes.end());
      if (!(most > 0) || !std::isfinite(most)) continue;  // nothing is known of the input: as without samples
      for (double& magnitude : of.magnitudes) magnitude /= most;
      const std::vector<double> factors =
          activation_aware_factors(list, form_of(layers_[readers[0]], weights[0]), settings_.searches_blocks, of.gram, of.magnitudes);
      if (std::any_of(factors.begin(), factors.end(), [](double factor) { return factor != 1; })) apply_factors(readers, factors);
      for (const size_t i : readers) importances[i] = importance_of(of.gram.divided(factors));
    }
    begin = end;
  }
  // A layer that makes the input of another has changed until now.
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (importances[i].empty()) continue;
    const Rows rows = Rows::of(*layers_[i].layer.weights->constant(), layers_[i].layer.axis);
    rows_[i] = round_blocks(rows, form_of(layers_[i], rows), settings_.searches_blocks, importances[i]);
  }
}

/// The input of these layers is divided by the factors, and their weights are multiplied.
void WeightOnly::apply_factors(const std::vector<size_t>& readers, const std::vector<double>& factors) {
  Graph& graph = *graph_;
  Value* x = layers_[readers[0]].layer.x;
  Selection selection;
  for (const BlockLayer& each : layers_)
    if (each.kind != BlockLayerKind::table) selection.layers.push_back(each.layer);
  for (const ScalableValue& site : scalable_values(selection)) {
    if (site.value != x || site.readers.size() != readers.size()) continue;
    scale_channels(graph, site, factors);
    for (BlockLayer& each : layers_)
      if (each.kind != BlockLayerKind::table) {
        each.layer.weights = each.layer.node->input(1);
        if (each.layer.bias) each.layer.bias = each.layer.node->input(2);
      }
    return;
  }
  std::vector<double> inverse;
  for (const double factor : factors) inverse.push_back(1 / factor);
  Value& by = add_reals(graph, DType::f32, {static_cast<int64_t>(factors.size())}, inverse, graph.fresh_name(x->name() + "_factors"));
  const std::string names[] = {graph.fresh_name(x->name() + "_balanced")};
  Node* first = layers_[readers[0]].layer.node;
  Value* divided = graph.add_node("Mul", std::vector<Value*>{x, &by}, names, {}, {}, first).output(0);
  divided->type = x->type;
  for (const size_t i : readers) {
    Layer& layer = layers_[i].layer;
    Tensor weights = layer.weights->constant()->clone();
    float* data = weights.writable().data<float>();
    const size_t columns = static_cast<size_t>(weights.shape()[1]);
    for (size_t k = 0; k < static_cast<size_t>(weights.elements()); ++k)
      data[k] = static_cast<float>(static_cast<double>(data[k]) * factors[layer.axis ? k / columns : k % columns]);
    layer.weights = &graph.add_constant(std::move(weights), graph.fresh_name(layer.weights->name()));
    layer.node->set_input(0, divided), layer.node->set_input(1, layer.weights);
    layer.x = divided;
  }
}

Model WeightOnly::with_blocks(bool standard) const {
  // The clone's nodes in the order of ours.
  const std::unique_ptr<Graph> graph = graph_->clone();
  forget_storage_dtype(*graph);
  std::unordered_map<const Node*, Node*> clones;
  {
    Node* to = graph->first();
    for (const Node& from : graph_->nodes()) clones[&from] = to, to = to->next();
  }
  Writer writer(*graph, standard, options_.activations == "i8");
  for (size_t i = 0; i < layers_.size(); ++i) {
    BlockLayer found = layers_[i];
    Layer& layer = found.layer;
    layer.node = clones.at(layer.node);
    const bool table = found.kind == BlockLayerKind::table;
    layer.x = layer.node->input(table), layer.weights = layer.node->input(!table);
    layer.bias = layer.bias ? layer.node->input(2) : nullptr;
    if (rows_[i]) writer.write(found, *rows_[i]);
  }
  graph->remove_unused_constants();
  infer_types(*model_.impl()->operators, *graph);
  return model_of(*graph, model_);
}

Quantized WeightOnly::result() {
  Quantized result{convert_model(with_blocks(false), {.operators = model_.impl()->custom_operators}), with_blocks(true), {}};
  report(result);
  return result;
}

void WeightOnly::report(Quantized& result) {
  QuantizeReport& report = result.report;
  report.samples = samples_.count, report.evaluated = static_cast<size_t>(evaluated());
  report.bytes_before = bytes_of_constants(model_.graph()), report.bytes_after = bytes_of_constants(result.model.graph());
  report.weights_only = true;
  std::vector<std::string> names;
  for (const BlockLayer& found : layers_) names.push_back(found.layer.result->name());
  std::unordered_map<std::string, FidelitySum> sums;
  std::unordered_map<std::string, int64_t> elements;
  if (report.evaluated) {
    const Model before = model_of(*graph_, model_), after = with_blocks(false);
    Observer wanted(before, names), got(after, names);
    for (size_t i = 0; i < report.evaluated; ++i) {
      const std::vector<Tensor> inputs = checked_sample(model_, samples_, i);
      std::unordered_map<std::string, Tensor> tensors;
      wanted.run(inputs, i, [&](const std::string& name, const Tensor& tensor) { tensors[name] = tensor; });
      one_run();
      got.run(inputs, i, [&](const std::string& name, const Tensor& tensor) {
        if (i == 0) elements[name] = tensor.elements();
        sums[name].add(tensors.at(name).data<float>(), tensor.data<float>(), static_cast<size_t>(tensor.elements()));
      });
      one_run();
    }
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i].layer;
    LayerReport row;
    row.node = layer.node->name().empty() ? layer.node->output(0)->name() : layer.node->name();
    row.op = layer.node->op(), row.output = layer.result->name();
    if (report.evaluated) row.fidelity = sums[row.output].result();
    FidelitySum of_weights;
    const Rows before = Rows::of(*layer.weights->constant(), layer.axis), after = rows_[i]->numbers();
    of_weights.add(before.values.data(), after.values.data(), before.values.size());
    row.weights = of_weights.result();
    row.weight_bits = rows_[i]->form.bits;
    if (layers_[i].kind != BlockLayerKind::table) row.operations = operations_of(elements[row.output], static_cast<int64_t>(before.depth));
    row.bytes_before = before.values.size() * sizeof(float);
    row.bytes_after = rows_[i]->bytes();
    report.layers.push_back(std::move(row));
  }
  for (const Refusal& refusal : refusals_) {
    LayerReport row;
    row.node = refusal.node->name().empty() ? first_output(*refusal.node).name() : refusal.node->name();
    row.op = refusal.node->op(), row.output = first_output(*refusal.node).name();
    row.refusal = refusal.reason, row.weight_bits = 32;
    report.layers.push_back(std::move(row));
  }
  if (samples_.count) add_costs(report.layers, model_, result.model, checked_sample(model_, samples_, 0));
  if (report.evaluated) report.outputs = compare(model_, result.model, {report.evaluated, samples_.at});
  one_run(2 * evaluated());
}

Quantized quantize_weights(const Model& model, const Samples& samples, const QuantizeOptions& options) {
  WeightOnly quantization(model, samples, options);
  quantization.prepare(quantization.runs_of_report());
  Quantized result = quantization.result();
  if (options.progress) options.progress(1);
  return result;
}

}  // namespace minnow::compress
