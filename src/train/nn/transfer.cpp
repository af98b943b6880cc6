// SPDX-License-Identifier: Apache-2.0
// Freezing, layers that fit a budget of memory, and a head of class means. Names and semantics are those of minnow.nn in Python
// (python/minnow/nn/_transfer.py).
#include <algorithm>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/pattern.h"
#include "train/nn/ops.h"

namespace minnow::nn {
namespace {

bool fits(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return fits_pattern(pattern, name); });
}

std::vector<std::string> set_trainable(const Module& net, const std::vector<std::string>& patterns, bool trainable) {
  const Named all = net.parameters();
  std::vector<std::string> names;
  for (const auto& [name, value] : all)
    if (fits(patterns, name)) names.push_back(name);
  if (names.empty()) {
    std::string wanted, known;
    for (const std::string& pattern : patterns) wanted += (wanted.empty() ? "\"" : ", \"") + pattern + "\"";
    for (size_t i = 0; i < std::min<size_t>(all.size(), 8); ++i) known += (i ? ", " : "") + all[i].first;
    throw InvalidArgument("the network has no parameter {}; it has {}{}", wanted, known.empty() ? "none" : known,
                          all.size() > 8 ? " ..." : "");
  }
  for (const auto& [name, value] : all)
    if (fits(patterns, name)) value.set_trainable(trainable);
  return names;
}

/// Rows of length 1. The least divisor is torch's.
Var unit_rows(const Var& x) {
  const Var length = op("ReduceL2", {x, ints({1})});
  return x / op("Max", {length, like(1e-12, x)});
}

}  // namespace

Named Layer::parameters() const {
  Named all = Module::parameters();
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto& row) { return !row.second.is_trainable(); }), all.end());
  return all;
}

std::vector<std::string> freeze(const Module& net, const std::vector<std::string>& patterns) try {
  return set_trainable(net, patterns, false);
} catch (...) {
  throw_as_error();
}

std::vector<std::string> unfreeze(const Module& net, const std::vector<std::string>& patterns) try {
  return set_trainable(net, patterns, true);
} catch (...) {
  throw_as_error();
}

std::vector<std::string> train_biases_only(const Module& net) try {
  std::vector<std::string> names;
  for (const auto& [name, value] : net.Module::parameters())
    if (name.find("bias", name.rfind('.') + 1) != std::string::npos) names.push_back(name);
  if (names.empty()) throw InvalidArgument("the network has no bias");
  freeze(net);
  return unfreeze(net, names);
} catch (...) {
  throw_as_error();
}

std::vector<std::string> train_within(const Module& net, size_t memory, const TrainingStep::Loss& loss,
                                      std::span<const std::pair<DType, Shape>> batch, const Optimizer::Config& optimizer) try {
  const Named all = net.Module::parameters();
  if (all.empty()) throw InvalidArgument("the network has no parameters");
  std::vector<bool> before, is_bias;
  std::vector<size_t> layers;  // where the parameters of each begin
  std::string_view last;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].first;
    const std::string_view layer = std::string_view(name).substr(0, name.rfind('.') + 1);
    if (i == 0 || layer != last) layers.push_back(i);
    last = layer;
    before.push_back(all[i].second.is_trainable());
    is_bias.push_back(name.find("bias", layer.size()) != std::string::npos);
  }
  const auto choose = [&](const std::vector<bool>& chosen) {
    for (size_t i = 0; i < all.size(); ++i) all[i].second.set_trainable(chosen[i]);
  };
  // Bytes of a step that trains the parameters from `first` on and the last `biases` of the biases before.
  std::vector<bool> chosen;
  const auto bytes_of = [&](size_t first, size_t biases) {
    chosen.assign(all.size(), false);
    for (size_t i = all.size(); i-- > 0;)
      if (i >= first || (is_bias[i] && biases > 0)) chosen[i] = true, biases -= i < first;
    choose(chosen);
    Named trained;
    for (size_t i = 0; i < all.size(); ++i)
      if (chosen[i]) trained.push_back(all[i]);
    TrainingStep step(loss, trained, Optimizer::create(optimizer));
    step.prepare(batch);
    size_t bytes = step.arena_bytes();
    for (const NamedTensor& each : step.optimizer().state()) bytes += each.value.bytes();
    return bytes;
  };
  // The largest count from `low`, which fits, to `high` that fits: more parameters take no less memory.
  const auto most = [&](size_t low, size_t high, const auto& bytes) {
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      bytes(middle) <= memory ? low = middle : high = middle - 1;
    }
    return low;
  };
  try {
    const auto from_layer = [&](size_t count) { return bytes_of(layers[layers.size() - count], 0); };
    const size_t count = most(0, layers.size(), from_layer);
    if (count == 0) {
      std::string names;
      for (size_t i = layers.back(); i < all.size(); ++i) names += (names.empty() ? "" : ", ") + all[i].first;
      throw InvalidArgument("training {} alone takes {} bytes, more than {}", names, from_layer(1), memory);
    }
    const size_t first = layers[layers.size() - count];
    const size_t biases = static_cast<size_t>(std::count(is_bias.begin(), is_bias.begin() + static_cast<std::ptrdiff_t>(first), true));
    bytes_of(first, most(0, biases, [&](size_t some) { return bytes_of(first, some); }));
  } catch (...) {
    choose(before);
    throw;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) names.push_back(all[i].first);
  return names;
} catch (...) {
  throw_as_error();
}

Features features_of(std::shared_ptr<Module> module) {
  if (!module) throw InvalidArgument("features_of() takes a module, none is given");
  return [module = std::move(module)](const Var& batch) { return (*module)(batch); };
}

// ---- Class means

Tensor NearestClassMean::unit_features(const Var& inputs) {
  Var x = features_ ? features_(inputs) : inputs;
  const Shape shape = x.shape();
  if (shape.rank() > 2) {
    std::vector<int64_t> axes;
    for (size_t i = 2; i < shape.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    x = op("ReduceMean", {x, ints(axes)}, {{"keepdims", int64_t{0}}});
  }
  if (shape.rank() < 2) throw InvalidArgument("features are [N, D] or [N, C, ...], they have the shape {}", shape);
  if (!classes_.empty() && shape[1] != classes_[0].sum.shape()[0])
    throw InvalidArgument("features have the size {}, they have {}", classes_[0].sum.shape()[0], shape[1]);
  if (x.dtype() != DType::f32) x = x.astype(DType::f32);
  return unit_rows(x).tensor();
}

void NearestClassMean::learn(const std::string& name, const Var& examples) try {
  const Tensor unit = unit_features(examples);
  const Tensor sum = op("ReduceSum", {unit, ints({0})}, {{"keepdims", int64_t{0}}}).tensor();
  const auto known = std::find_if(classes_.begin(), classes_.end(), [&](const Class& each) { return each.name == name; });
  if (known == classes_.end()) {
    classes_.push_back({name, sum, unit.shape()[0]});
  } else {
    known->sum = (Var(known->sum) + Var(sum)).tensor();
    known->count += unit.shape()[0];
  }
} catch (...) {
  throw_as_error();
}

void NearestClassMean::forget(const std::string& name) try {
  const auto known = std::find_if(classes_.begin(), classes_.end(), [&](const Class& each) { return each.name == name; });
  if (known == classes_.end()) throw InvalidArgument("there is no class \"{}\"{}", name, nearest(name, names()));
  classes_.erase(known);
} catch (...) {
  throw_as_error();
}

Vars NearestClassMean::forward(const Vars& x) try {
  if (classes_.empty()) throw InvalidArgument("no class was learned yet");
  const Var unit = unit_features(first_of(x));
  // The mean of a class has the direction of the sum.
  Vars sums;
  for (const Class& each : classes_) sums.push_back(op("Unsqueeze", {each.sum, ints({0})}));
  const Var directions = unit_rows(op("Concat", sums, {{"axis", int64_t{0}}}));
  return {op("MatMul", {unit, op("Transpose", {directions})})};
} catch (...) {
  throw_as_error();
}

std::vector<std::string> NearestClassMean::classify(const Var& inputs) try {
  const Tensor nearest = op("ArgMax", {forward({inputs})[0]}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}).tensor();
  std::vector<std::string> found;
  for (int64_t i = 0; i < nearest.elements(); ++i) found.push_back(classes_[static_cast<size_t>(nearest.data<int64_t>()[i])].name);
  return found;
} catch (...) {
  throw_as_error();
}

std::vector<std::string> NearestClassMean::names() const {
  std::vector<std::string> names;
  for (const Class& each : classes_) names.push_back(each.name);
  return names;
}

std::map<std::string, Tensor> NearestClassMean::state_dict() const try {
  std::map<std::string, Tensor> state;
  for (const auto& [name, sum, count] : classes_)
    state.emplace(name + ".sum", sum.clone()), state.emplace(name + ".count", Tensor::scalar_i64(count));
  return state;
} catch (...) {
  throw_as_error();
}

void NearestClassMean::load_state_dict(const std::map<std::string, Tensor>& state) try {
  std::vector<Class> made;
  for (const auto& [key, sum] : state) {
    if (!key.ends_with(".sum")) continue;
    const std::string name = key.substr(0, key.size() - 4);
    const auto count = state.find(name + ".count");
    if (count == state.end() || sum.dtype() != DType::f32 || sum.shape().rank() != 1 || count->second.dtype() != DType::i64 ||
        count->second.elements() != 1 || (!made.empty() && !(sum.shape() == made[0].sum.shape())))
      throw InvalidArgument("the state is not that of a NearestClassMean: \"{}\" does not fit", key);
    made.push_back({name, sum.clone(), count->second.data<int64_t>()[0]});
  }
  if (made.size() * 2 != state.size()) throw InvalidArgument("the state is not that of a NearestClassMean");
  classes_ = std::move(made);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::nn
