// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters (Hu et al. 2021, arXiv:2106.09685). Names and files are those of minnow.nn in Python.
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "base/no_memory.h"
#include "base/pattern.h"
#include "train/nn/json.h"
#include "train/nn/ops.h"

namespace minnow::nn {

/// scale B A for each of the weight's parts: a [parts, rank, inputs], b [parts, outputs, rank].
struct Layer::Adapter {
  Var a, b;
  double scale;
  Tensor before = {};  // the weight as it was, while it contains the change

  bool is_merged() const { return before.dtype() != DType::undefined; }
  Var added_to(const Var& weight) const {
    const Shape shape = weight.shape();
    return weight + op("Reshape", {op("MatMul", {b, a}) * scale, ints({shape.begin(), shape.end()})});
  }
};

Var Layer::adapted(const Var& weight) const { return !adapter_ || adapter_->is_merged() ? weight : adapter_->added_to(weight); }

/// Calls f(name, layer) for a layer and those in it; the layer itself has no name.
void Layer::for_each(const std::function<void(const std::string& name, Layer& layer)>& f, const std::string& name) {
  f(name, *this);
  for (const auto& [inner, layer] : layers_) layer->for_each(f, name.empty() ? inner : name + "." + inner);
}

/// The part of a layer that adapters may see and change.
struct Adapters {
  using Found = std::vector<std::pair<std::string, Layer*>>;

  static Found of(Layer& net, bool wanted = true) {
    Found found;
    net.for_each(
        [&](const std::string& name, Layer& layer) {
          if (layer.adapter_) found.emplace_back(name, &layer);
        },
        {});
    if (found.empty() && wanted) throw InvalidArgument("the network has no adapters; lora() adds them");
    return found;
  }
  static Found that_fit(Layer& net, std::string_view pattern) {
    Found found;
    net.for_each(
        [&](const std::string& name, Layer& layer) {
          if (layer.adaptable().weight && fits_pattern(pattern, name)) found.emplace_back(name, &layer);
        },
        {});
    return found;
  }
  static void freeze(Layer& net) {
    for (const auto& [name, value] : net.parameters()) value.set_trainable(false);
  }
  static Named add(const std::string& name, Layer& layer, const Tensor& a, const Tensor& b, double scale) {
    const std::string prefix = name.empty() ? "lora." : name + ".lora.";
    if (layer.adapter_) {  // its parameters stay where they are
      layer.adapter_->a.assign(Var(a)), layer.adapter_->b.assign(Var(b)), layer.adapter_->scale = scale;
      layer.adapter_->a.set_trainable(true), layer.adapter_->b.set_trainable(true);
    } else {
      layer.adapter_ = std::make_shared<Layer::Adapter>(Layer::Adapter{layer.parameter("lora.a", a), layer.parameter("lora.b", b), scale});
    }
    return {{prefix + "a", layer.adapter_->a}, {prefix + "b", layer.adapter_->b}};
  }
  static Shape shape_of(const Layer& layer, int64_t& parts) {
    const Layer::Adaptable found = layer.adaptable();
    parts = found.parts;
    const Shape shape = found.weight->shape();
    return {shape[0] / parts, shape.product(1, shape.rank())};
  }
  static void merge(Layer& layer) {
    if (layer.adapter_->is_merged()) return;
    const Var& weight = *layer.adaptable().weight;
    const Tensor before(TensorView(weight.dtype(), weight.shape(), weight.tensor().data()));
    weight.assign(Var(layer.adapter_->added_to(weight).tensor()));
    layer.adapter_->before = before;
  }
  static void unmerge(Layer& layer) {
    if (!layer.adapter_->is_merged()) return;
    layer.adaptable().weight->assign(Var(std::exchange(layer.adapter_->before, {})));
  }
  static const Layer::Adapter& adapter(const Layer& layer) { return *layer.adapter_; }
};

std::set<std::string> names_of_merged_adapters(const Layer& net) {
  std::set<std::string> names;
  for (const auto& [name, layer] : Adapters::of(const_cast<Layer&>(net), false))  // which are not changed
    if (Adapters::adapter(*layer).is_merged())
      for (const char* part : {"lora.a", "lora.b"}) names.insert(name.empty() ? part : name + "." + part);
  return names;
}

Named lora(Layer& net, std::string_view pattern, int64_t rank, double alpha) try {
  if (rank < 1) throw InvalidArgument("the rank is positive, it is {}", rank);
  if (!Adapters::of(net, false).empty()) throw InvalidArgument("the network has adapters already");
  const Adapters::Found fitting = Adapters::that_fit(net, pattern);
  if (fitting.empty()) throw InvalidArgument("the network has no Linear, convolution or attention layer \"{}\"", pattern);
  Adapters::freeze(net);
  Named made;
  for (const auto& [name, layer] : fitting) {
    int64_t parts = 1;
    const Shape shape = Adapters::shape_of(*layer, parts);
    const Var a(Tensor(DType::f32, {parts, rank, shape[1]}));
    init::kaiming_uniform_(a, {.a = std::sqrt(5.0)});
    const Tensor b(DType::f32, {parts, shape[0], rank});
    for (auto& row : Adapters::add(name, *layer, a.tensor(), b, alpha / static_cast<double>(rank))) made.push_back(std::move(row));
  }
  return made;
} catch (...) {
  throw_as_error();
}

void merge_lora(Layer& net) try {
  for (const auto& [name, layer] : Adapters::of(net)) Adapters::merge(*layer);
} catch (...) {
  throw_as_error();
}

void unmerge_lora(Layer& net) try {
  for (const auto& [name, layer] : Adapters::of(net)) Adapters::unmerge(*layer);
} catch (...) {
  throw_as_error();
}

void save_lora(Layer& net, const std::string& path) try {
  std::map<std::string, Tensor> tensors;
  std::string scales;
  for (const auto& [name, layer] : Adapters::of(net)) {
    const auto& adapter = Adapters::adapter(*layer);
    const std::string prefix = name.empty() ? "lora." : name + ".lora.";
    tensors.emplace(prefix + "a", adapter.a.tensor()), tensors.emplace(prefix + "b", adapter.b.tensor());
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", adapter.scale);
    scales += (scales.empty() ? "{" : ", ") + json_text(name) + ": " + digits;
  }
  save_safetensors(path, tensors, {{"scales", scales + "}"}});
} catch (...) {
  throw_as_error();
}

Named load_lora(Layer& net, const std::string& path) try {
  std::map<std::string, std::string> texts;
  const std::map<std::string, Tensor> tensors = load_safetensors(path, &texts);
  std::map<std::string, Layer*> layers;
  for (const auto& [name, layer] : Adapters::that_fit(net, "*")) layers.emplace(name, layer);
  struct Row {
    std::string name;
    Layer* layer;
    Tensor a, b;
    double scale;
  };
  std::vector<Row> rows;
  JsonReader scales(texts["scales"], path + ": not a file of adapters: its scales are no JSON");
  scales.object([&](const std::string& name) {
    const double scale = scales.number();
    const std::string prefix = name.empty() ? "lora." : name + ".lora.";
    const auto layer = layers.find(name);
    if (layer == layers.end()) throw InvalidArgument("{}: the network has no layer \"{}\" that takes an adapter", path, name);
    const auto a = tensors.find(prefix + "a"), b = tensors.find(prefix + "b");
    if (a == tensors.end() || b == tensors.end()) throw InvalidModel("{}: the adapter of \"{}\" is not complete", path, name);
    int64_t parts = 1;
    const Shape shape = Adapters::shape_of(*layer->second, parts);
    const Shape &as = a->second.shape(), &bs = b->second.shape();
    if (as.rank() != 3 || bs.rank() != 3 || as[0] != parts || bs[0] != parts || as[2] != shape[1] || bs[1] != shape[0] || as[1] != bs[2] ||
        a->second.dtype() != DType::f32 || b->second.dtype() != DType::f32)
      throw InvalidArgument("{}: the adapter of \"{}\" does not fit the weight {}", path, name, layer->second->adaptable().weight->shape());
    rows.push_back({name, layer->second, a->second, b->second, scale});
  });
  scales.finish();
  if (rows.empty()) throw InvalidModel("{}: not a file of adapters: it names no layer", path);
  for (const auto& [name, layer] : Adapters::of(net, false)) Adapters::unmerge(*layer);
  Adapters::freeze(net);
  Named made;
  for (const Row& row : rows)
    for (auto& each : Adapters::add(row.name, *row.layer, row.a, row.b, row.scale)) made.push_back(std::move(each));
  return made;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::nn
