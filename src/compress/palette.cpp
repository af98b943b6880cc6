// SPDX-License-Identifier: Apache-2.0
// Weights as indices into a palette, which are looked up while they are packed.
#include "compress/palette.h"

#include <minnow/convert.h>
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/sort.h"
#include "base/watch.h"
#include "compress/fidelity.h"
#include "compress/names.h"
#include "compress/observer.h"
#include "compress/selection.h"
#include "passes/rewrite.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

/// Rising order, in three passes over all numbers, none of which is NaN. `minnow prune --palette-bits 8` of 8 million weights: 1.8 -> 0.7 s
/// of processor time beside std::sort and std::lower_bound in nearest_of() (Xeon, 2026-12-01).
void sort_floats(std::vector<float>& numbers) {
  constexpr int kBits = 11, kKeyBits = 32;
  constexpr size_t kPlaces = size_t{1} << kBits;
  std::vector<float> other(numbers.size());
  for (int shift = 0; shift < kKeyBits; shift += kBits) {
    const auto digit = [shift](float number) { return order_key(number) >> shift & (kPlaces - 1); };
    std::vector<size_t> ends(kPlaces + 1, 0);
    for (const float number : numbers) ++ends[digit(number) + 1];
    for (size_t i = 0; i < kPlaces; ++i) ends[i + 1] += ends[i];
    for (const float number : numbers) other[ends[digit(number)]++] = number;
    numbers.swap(other);
  }
}

/// Lloyd's algorithm along a line: intervals of the sorted numbers, whose means come from sums of all numbers before. Zero, if it occurs,
/// is in the palette.
std::vector<float> palette_of(std::span<const float> weights, size_t count) {
  std::vector<float> sorted(weights.begin(), weights.end());
  sort_floats(sorted);
  const bool has_zero = std::binary_search(sorted.begin(), sorted.end(), 0.0F);
  if (has_zero) std::erase(sorted, 0.0F);
  const size_t colours = count - has_zero;
  std::vector<float> palette;
  if (!sorted.empty()) {
    std::vector<double> sums(sorted.size() + 1, 0);
    for (size_t i = 0; i < sorted.size(); ++i) sums[i + 1] = sums[i] + static_cast<double>(sorted[i]);
    // From evenly spaced numbers and quantiles in equal parts: the former keep the large weights, the latter the many small ones.
    const double low = static_cast<double>(sorted.front()), high = static_cast<double>(sorted.back());
    std::vector<double> centers;
    for (size_t i = 0; i < colours; ++i) {
      const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(colours);
      const double quantile = static_cast<double>(sorted[static_cast<size_t>(part * static_cast<double>(sorted.size()))]);
      centers.push_back(0.5 * (low + part * (high - low)) + 0.5 * quantile);
    }
    constexpr int kRounds = 100;
    for (int round = 0; round < kRounds; ++round) {
      double moved = 0;
      size_t begin = 0;
      for (size_t i = 0; i < centers.size(); ++i) {
        size_t end = sorted.size();
        if (i + 1 < centers.size())
          end = static_cast<size_t>(
              std::lower_bound(sorted.begin(), sorted.end(), static_cast<float>(0.5 * (centers[i] + centers[i + 1]))) - sorted.begin());
        if (end > begin) {
          const double mean = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
          moved = std::max(moved, std::abs(mean - centers[i]));
          centers[i] = mean, begin = end;
        }
      }
      if (moved <= 1e-6 * (high - low)) break;
    }
    for (const double center : centers) palette.push_back(static_cast<float>(center));
  }
  if (has_zero) palette.push_back(0);
  std::sort(palette.begin(), palette.end());
  palette.resize(count, palette.back());
  return palette;
}

/// The palette has a power of two of numbers. A search without branches, which no processor could predict.
size_t nearest_of(const std::vector<float>& palette, float weight) {
  size_t above = 0;
  for (size_t step = palette.size() / 2; step > 0; step /= 2) above += palette[above + step - 1] < weight ? step : 0;
  above += palette[above] < weight;
  if (above == 0) return 0;
  if (above == palette.size()) return above - 1;
  return weight - palette[above - 1] <= palette[above] - weight ? above - 1 : above;
}

/// The different numbers of a tensor in ascending order; empty if there are more than `most`.
template <class T>
std::vector<T> numbers_of(const Tensor& tensor, size_t most) {
  std::vector<T> numbers;
  for (const T value : std::span(tensor.data<T>(), static_cast<size_t>(tensor.elements()))) {
    const auto place = std::lower_bound(numbers.begin(), numbers.end(), value);
    if (place != numbers.end() && *place == value) continue;
    if (numbers.size() == most) return {};
    numbers.insert(place, value);
  }
  return numbers;
}

constexpr int64_t kFewElements = 256;  // of which a palette and a node more save nothing

template <class T>
void keep_palette_of(Graph& graph, Node& node, size_t input, const Tensor& tensor) {
  std::vector<T> palette = numbers_of<T>(tensor, kSmallPalette);
  const DType dtype = palette.size() > 4 ? DType::u4 : DType::u2;
  Tensor indices(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    indices.writable().data<uint8_t>()[i] =
        static_cast<uint8_t>(std::lower_bound(palette.begin(), palette.end(), tensor.data<T>()[i]) - palette.begin());
  palette.resize(size_t{1} << bits_of(dtype), palette.back());
  Tensor colours(tensor.dtype(), {static_cast<int64_t>(palette.size())});
  std::copy(palette.begin(), palette.end(), colours.writable().data<T>());
  look_up(graph, node, input, std::move(indices), std::move(colours));
}

std::string refusal_of(const Node& node, const PaletteOptions& options) {
  if (is_named(node, options.skip)) return "the options skip it";
  if (!options.layers.empty() && !is_named(node, options.layers)) return "the options do not name it";
  const Tensor* w = node.input(1) ? node.input(1)->constant() : nullptr;
  if (!w || w->dtype() != DType::f32) return "its weights are not constant f32";
  if (static_cast<size_t>(w->elements()) < options.smallest) return format("it has {} weights", w->elements());
  for (const float value : std::span(w->data<float>(), static_cast<size_t>(w->elements())))
    if (!(std::abs(value) <= 1e30F)) return "its weights are not all finite";
  return {};
}

void check(const PaletteOptions& options, const std::string& prefix = {}) {
  if (options.bits < 2 || options.bits > 8) throw InvalidArgument("{}bits: {} is not from 2 to 8", prefix, options.bits);
}

}  // namespace

bool has_small_palette(const Tensor& tensor) {
  if (tensor.elements() < kFewElements) return false;
  if (tensor.dtype() == DType::i8) return !numbers_of<int8_t>(tensor, kSmallPalette).empty();
  return tensor.dtype() == DType::f32 && !numbers_of<float>(tensor, kSmallPalette).empty();
}

void look_up(Graph& graph, Node& node, size_t input, Tensor indices, Tensor palette) {
  const std::string stem = node.input(input)->name();
  const DType dtype = palette.dtype();
  const Shape shape = indices.shape();
  Value& stored = graph.add_constant(std::move(indices), graph.fresh_name(stem + "_indices"));
  Value& colours = graph.add_constant(std::move(palette), graph.fresh_name(stem + "_palette"));
  const std::string name[] = {graph.fresh_name(stem + "_looked_up")};
  Node& made = graph.add_node("minnow.LookUp", std::vector<Value*>{&stored, &colours}, name, {}, {}, &node);
  made.output(0)->type = ValueType::tensor(dtype, shape);
  node.set_input(input, made.output(0));
}

void keep_small_palette(Graph& graph, Node& node, size_t input) {
  const Tensor* tensor = node.input(input) ? node.input(input)->constant() : nullptr;
  if (!tensor || !has_small_palette(*tensor)) return;
  if (tensor->dtype() == DType::i8)
    keep_palette_of<int8_t>(graph, node, input, Tensor(*tensor));
  else
    keep_palette_of<float>(graph, node, input, Tensor(*tensor));
}

void PaletteOptions::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  PaletteOptions changed = *this;
  if (key == "bits")
    changed.bits = static_cast<int>(std::clamp(number(value, prefix + key), 0.0, 99.0));
  else if (key == "smallest")
    changed.smallest = static_cast<size_t>(std::clamp(number(value, prefix + key), 0.0, 1e15));
  else if (key == "layers")
    changed.layers = words(value);
  else if (key == "skip")
    changed.skip = words(value);
  else
    throw InvalidArgument("{}{}: there is no such option{}", prefix, key,
                          nearest(key, std::vector<std::string>{"bits", "smallest", "layers", "skip"}));
  check(changed, prefix);
  *this = std::move(changed);
} catch (...) {
  throw_as_error();
}

Paletted palettize(const Model& model, const PaletteOptions& options) try {
  check(options);
  check_not_quantized(model, "palettes");
  const std::unique_ptr<Graph> graph = simplified(model);
  check_names(*graph, options.layers, "layers");
  check_names(*graph, options.skip, "skip");
  std::vector<PalettedLayer> layers;
  bool any = false;
  for (Node& node : graph->nodes()) {
    if (!is_layer(node)) continue;
    Watch::check();
    PalettedLayer row;
    row.node = label_of(node), row.op = node.op(), row.refusal = refusal_of(node, options);
    if (row.refusal.empty()) {
      any = true;
      Value* value = node.input(1);
      const Tensor w = *value->constant();
      const size_t count = static_cast<size_t>(w.elements());
      const std::span<const float> weights(w.data<float>(), count);
      const DType dtype = options.bits > 4 ? DType::u8 : options.bits > 2 ? DType::u4 : DType::u2;
      std::vector<float> palette = palette_of(weights, size_t{1} << options.bits);
      palette.resize(size_t{1} << bits_of(dtype), palette.back());  // a number for each index that the dtype has
      Tensor indices(dtype, w.shape());
      uint8_t* index = static_cast<uint8_t*>(indices.writable().data());
      std::vector<float> found(count);
      for (size_t i = 0; i < count; ++i) {
        index[i] = static_cast<uint8_t>(nearest_of(palette, weights[i]));
        found[i] = palette[index[i]];
      }
      FidelitySum sum;
      sum.add(weights.data(), found.data(), count);
      row.fidelity = sum.result();
      row.bytes_before = stored_bytes(DType::f32, w.shape());
      row.bytes_after = stored_bytes(indices.dtype(), w.shape()) + palette.size() * sizeof(float);
      look_up(*graph, node, 1, std::move(indices), Tensor::of_f32({static_cast<int64_t>(palette.size())}, palette));
    }
    layers.push_back(std::move(row));
  }
  if (!any)
    throw Unsupported("{}: no layer has weights for a palette{}", graph->source.empty() ? "the model" : graph->source,
                      layers.empty() ? "" : format("; {}: {}", layers[0].node, layers[0].refusal));
  graph->remove_unused_constants();
  const Model made = model_of(*graph, model);
  return {convert_model(made, {.operators = model.impl()->custom_operators}), made, std::move(layers)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
