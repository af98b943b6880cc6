// SPDX-License-Identifier: Apache-2.0
#if MINNOW_COMPRESS
#include "cli/quantize_job.h"

#include <minnow/convert.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/nearest.h"
#include "runtime/model.h"

namespace minnow::cli {
namespace {

/// The bytes of the file that a model in the plain form becomes.
uint64_t file_bytes(const Model& plain, const std::string& path, const SaveOptions& form) {
  if (path.ends_with(".onnx")) return saved_bytes(plain, path);
  return saved_bytes(convert_model(plain, {.operators = plain.impl()->custom_operators}), path, form);
}

bool searches(const Recipe& recipe) { return recipe.automatic || recipe.max_drop || recipe.most_bytes; }

/// How the result is written: searches round what stays f32 to f16.
SaveOptions form_of(const Recipe& recipe, const std::string& path) {
  const bool compact = searches(recipe) && recipe.options.weights_only.empty() && !path.ends_with(".onnx");
  return {.weights = compact ? "f16" : "f32", .compress = recipe.compress};
}

compress::SearchOptions aims_of(const Recipe& recipe, const std::string& path) {
  compress::SearchOptions aims;
  if (recipe.max_drop || recipe.min_agreement) aims.max_drop = recipe.max_drop.value_or(100 - recipe.min_agreement.value_or(0));
  if (recipe.min_sqnr) aims.min_sqnr = *recipe.min_sqnr;
  if (recipe.most_bytes) aims.most_bytes = *recipe.most_bytes;
  if (recipe.automatic && aims.max_drop < 0 && !recipe.min_sqnr && !recipe.most_bytes) aims.max_drop = 1;
  aims.compact = recipe.options.weights_only.empty() && !path.ends_with(".onnx");
  aims.size_of = [path, form = form_of(recipe, path)](const Model& plain) { return file_bytes(plain, path, form); };
  return aims;
}

/// The aims that a finished model misses.
std::string missed_by(const Recipe& recipe, const compress::SearchOptions& aims, const compress::QuantizeReport& report, uint64_t bytes) {
  std::string missed;
  const auto add = [&](const std::string& clause) { missed += (missed.empty() ? "" : "; ") + clause; };
  bool has_scores = false;
  for (const compress::OutputReport& output : report.outputs) {
    if (recipe.min_sqnr && output.fidelity.sqnr < *recipe.min_sqnr)
      add(format("the SQNR of output \"{}\" is {} dB, at least {} are asked for", output.name, decibels(output.fidelity.sqnr),
                 fixed(*recipe.min_sqnr, "%g")));
    if (output.agreement < 0) continue;
    has_scores = true;
    const double percent = 100 * output.agreement;
    if (recipe.min_agreement && percent < *recipe.min_agreement)
      add(format("the best class of output \"{}\" is the same in {} % of the samples, at least {} % are asked for", output.name,
                 fixed(percent, "%.1f"), fixed(*recipe.min_agreement, "%g")));
    else if (!recipe.min_agreement && aims.max_drop >= 0 && 100 - percent > aims.max_drop + 1e-9)
      add(format("the best class of output \"{}\" changes in {} % of the samples, at most {} % are allowed", output.name,
                 fixed(100 - percent, "%.1f"), fixed(aims.max_drop, "%g")));
  }
  if (aims.max_drop >= 0 && !has_scores) add("no output is a row of scores to compare; ask for an SQNR (min-sqnr) instead");
  if (recipe.most_bytes && bytes > *recipe.most_bytes)
    add(format("the file has {}, at most {} are asked for", human_bytes(static_cast<double>(bytes)),
               human_bytes(static_cast<double>(*recipe.most_bytes))));
  return missed;
}

}  // namespace

std::string note_on_bits(const compress::QuantizeOptions& options, const std::string& path) {
  const int bits = options.weight_bits;
  if (!options.weights_only.empty() || bits == 0 || bits >= 7) return {};  // 7 is asked for to avoid overflows
  const int stored = path.ends_with(".onnx") ? 8 : bits <= 2 ? 2 : bits <= 4 ? 4 : 8;
  if (stored == bits) return {};
  return format(
      "{}: weights of {} bits take {} in the file, because layers compute with whole bytes; blocks of weights take {} (weights-only)", path,
      bits, stored, bits);
}

std::string decibels(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf";
  return fixed(value, "%.1f");
}

std::string fixed(double value, const char* pattern) {
  char text[32];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string sentence_of(const compress::Candidate& candidate) {
  std::string text = human_bytes(static_cast<double>(candidate.bytes)) + ", SQNR " + decibels(candidate.sqnr) + " dB";
  if (candidate.agreement >= 0) text += ", the same best class in " + fixed(100 * candidate.agreement, "%.1f") + " %";
  std::map<int, size_t> layers;
  for (const auto& [name, bits] : candidate.bits) ++layers[bits];
  for (const auto& [bits, count] : layers) text += format(", {} layer{} of {} bits", count, count == 1 ? "" : "s", bits);
  if (!candidate.f32.empty() || layers.empty())
    text += format(", {} layer{} in f32", candidate.f32.size(), candidate.f32.size() == 1 ? "" : "s");
  return text;
}

/// The dimensions that --shape gives the one input that pictures fill; none if it is not given.
std::vector<int64_t> picture_shape(const Model& model, const std::vector<std::string>& shapes) {
  if (shapes.empty()) return {};
  const NamedShape shape = parse_shape(shapes[0]);
  if (shapes.size() > 1) throw UsageError("--shape: a picture fills one input, {} shapes are given", shapes.size());
  if (!shape.name.empty() && !model.inputs().empty() && shape.name != model.inputs()[0].name)
    throw UsageError("--shape: the model has no input \"{}\"{}", shape.name, nearest(shape.name, {model.inputs()[0].name}));
  return shape.dims;
}

compress::Samples made_up_samples(const Model& model, const Recipe& recipe, std::vector<std::string>* open) {
  std::vector<Shape> shapes;
  for (const Tensor& each : make_inputs(model, {}, recipe.shapes, true, open)) shapes.push_back(each.shape());
  return compress::synthetic_samples(model, recipe.samples ? recipe.samples : 8, recipe.options.seed, shapes);
}

QuantizeResult quantize_by(const Recipe& recipe, const Model& given, const compress::Samples& samples, const compress::Samples& evaluation,
                           const std::string& path) {
  const compress::SearchOptions aims = aims_of(recipe, path);
  compress::QuantizeOptions options = recipe.options;
  // Made-up samples do not show which inputs of a layer go together.
  if (recipe.data_free && options.rounding.empty()) options.rounding = "nearest";
  if ((recipe.min_sqnr || recipe.min_agreement || searches(recipe)) && samples.count == 0 && evaluation.count == 0)
    throw InvalidArgument(
        "aims (min-sqnr, min-agreement, max-drop, max-size) need samples to judge by; give evaluation or calibration samples");
  QuantizeResult result{{given, given, {}}, {}, {}, 0, {}, {}, {}};
  Model model = given;
  if (!recipe.steps.empty()) {
    compress::Steps::Result made = recipe.steps.apply(model, samples);
    model = made.plain, result.sentences = std::move(made.sentences);
  }
  bool reached = true;
  result.form = form_of(recipe, path);
  if (searches(recipe)) {
    compress::SearchResult found = compress::search(model, samples, evaluation.count ? evaluation : samples, options, aims);
    result.candidates = std::move(found.candidates), result.chosen = found.chosen, reached = found.reached;
    result.quantized = std::move(found.quantized);
  } else {
    result.quantized = compress::quantize(model, samples, options);
    if (evaluation.count) {
      result.quantized.report.outputs = compress::compare(model, result.quantized.model, evaluation);
      result.quantized.report.evaluated = evaluation.count;
    }
  }
  uint64_t bytes = 0;
  if (recipe.most_bytes)
    bytes = path.ends_with(".onnx") ? saved_bytes(result.quantized.plain, path) : saved_bytes(result.quantized.model, path, result.form);
  result.missed = missed_by(recipe, aims, result.quantized.report, bytes);
  const bool is_judged = aims.max_drop < 0 || result.candidates.empty() || result.candidates[result.chosen].agreement >= 0;
  if (!reached && is_judged)
    result.missed = format("no choice of layers reaches it; the nearest has {}{}{}", sentence_of(result.candidates[result.chosen]),
                           result.missed.empty() ? "" : "; ", result.missed);
  if (std::string note = note_on_bits(recipe.options, path); !note.empty()) result.notes.push_back(std::move(note));
  return result;
}

}  // namespace minnow::cli
#endif
