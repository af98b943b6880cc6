// SPDX-License-Identifier: Apache-2.0
// Steps of a recipe before quantization.
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/no_memory.h"

namespace minnow::compress {
namespace {

template <class Options>
bool set_option(std::optional<Options>& options, std::string_view step, const std::string& key, const std::string& value,
                const std::string& prefix) {
  if (!key.starts_with(step)) return false;
  Options changed = options.value_or(Options());
  changed.set(key.substr(step.size()), value, prefix + std::string(step));
  options = std::move(changed);
  return true;
}

long percent(double part) { return std::lround(100 * part); }

template <class Rows>
size_t done(const Rows& rows) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.refusal.empty(); }));
}

}  // namespace

bool Steps::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  return set_option(channels, "channels_", key, value, prefix) || set_option(low_rank, "low_rank_", key, value, prefix) ||
         set_option(prune, "prune_", key, value, prefix) || set_option(palette, "palette_", key, value, prefix);
} catch (...) {
  throw_as_error();
}

void Steps::check(const QuantizeOptions& options, const std::string& prefix) const try {
  if (!palette) return;
  if (!options.weights_only.empty())
    throw InvalidArgument("{}palette_bits and weights_only both store weights in few bits; leave one of them out", prefix);
  if (palette->bits > 4)
    throw InvalidArgument("{}palette_bits: {} bits before quantization save nothing, because integers take 8; choose 2 to 4", prefix,
                          palette->bits);
  if (options.equalize || options.smooth > 0)
    throw InvalidArgument("{}{} changes weights after palette_bits has chosen them; leave one of them out", prefix,
                          options.equalize ? "equalize" : "smooth");
} catch (...) {
  throw_as_error();
}

Steps::Result Steps::apply(const Model& model, const Samples& samples) const try {
  Result result{model, model, {}};
  if (channels) {
    const ChannelPruned made = prune_channels(result.plain, *channels, samples);
    result.model = made.model, result.plain = made.plain;
    result.sentences.push_back(
        format("channels: {} % of the multiply-adds and {} % of the weights remain",
               percent(made.report.operations_after / made.report.operations_before),
               percent(static_cast<double>(made.report.weights_after) / static_cast<double>(made.report.weights_before))));
  }
  if (low_rank) {
    const Factored made = factor(result.plain, *low_rank);
    result.model = made.model, result.plain = made.plain;
    result.sentences.push_back(format("low rank: {} of {} layers are factored", done(made.layers), made.layers.size()));
  }
  if (prune) {
    const Pruned made = compress::prune(result.plain, *prune);
    result.model = made.model, result.plain = made.plain;
    result.sentences.push_back(format("prune: {} of {} layers, {} % of all weights are zero", done(made.report.layers),
                                      made.report.layers.size(),
                                      percent(static_cast<double>(made.report.zeros) / static_cast<double>(made.report.weights))));
  }
  if (palette) {
    const Paletted made = palettize(result.plain, *palette);
    result.model = made.model, result.plain = made.plain;
    result.sentences.push_back(format("palette: {} of {} layers", done(made.layers), made.layers.size()));
  }
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
