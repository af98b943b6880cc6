// SPDX-License-Identifier: Apache-2.0
// `minnow quantize`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "base/nearest.h"
#include "base/os.h"
#include "cli/commands.h"
#if MINNOW_COMPRESS
#include "cli/recipe.h"
#include "cli/samples.h"
#endif

namespace minnow::cli {
namespace {

struct QuantizeArguments {
  std::string model, output, calibration, evaluation, recipe, html;
  OperatorOptions operators;
  PictureOptions pictures;
  std::vector<std::string> shapes;
  std::vector<std::pair<std::string, CLI::Option*>> keys;  // of compress::QuantizeOptions
  bool data_free = false, json = false, automatic = false, compress = false;
  size_t samples = 0;
  double min_sqnr = 0, min_agreement = 0, max_drop = -1;
  std::string max_size;
  CLI::Option *sqnr_given = nullptr, *agreement_given = nullptr;
};

#if MINNOW_COMPRESS
std::string decibels(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}
std::string fixed(double value, const char* pattern) {
  char text[32];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

Json json_of(const compress::Fidelity& fidelity) {
  // JSON has no infinity.
  return {{"sqnr_db", std::isfinite(fidelity.sqnr) ? Json(fidelity.sqnr) : Json()}, {"cosine", fidelity.cosine}};
}

Json json_of(const compress::QuantizeReport& report) {
  Json layers = Json::array(), outputs = Json::array();
  for (const compress::LayerReport& layer : report.layers) {
    Json row = {{"node", layer.node}, {"op", layer.op}, {"output", layer.output}};
    if (!layer.refusal.empty()) {
      row["stays_f32"] = layer.refusal;
    } else {
      if (report.evaluated) row.update(json_of(layer.fidelity));
      row["weights"] = json_of(layer.weights);
      row["weight_bits"] = layer.weight_bits;
      if (!report.weights_only) {
        row["range"] = {layer.low, layer.high};
        row["clipped"] = layer.clipped;
      }
      if (layer.operations > 0) row["operations"] = layer.operations;
      row["bytes_before"] = layer.bytes_before;
      row["bytes_after"] = layer.bytes_after;
    }
    layers.push_back(std::move(row));
  }
  for (const compress::OutputReport& output : report.outputs) {
    Json row = {{"name", output.name}};
    row.update(json_of(output.fidelity));
    if (output.agreement >= 0) row["agreement"] = output.agreement;
    outputs.push_back(std::move(row));
  }
  return {{"layers", std::move(layers)},   {"outputs", std::move(outputs)},       {"samples", report.samples},
          {"evaluated", report.evaluated}, {"bytes_before", report.bytes_before}, {"bytes_after", report.bytes_after}};
}

void print_table(const compress::QuantizeReport& report) {
  size_t width = 5;
  for (const compress::LayerReport& layer : report.layers) width = std::max(width, std::min<size_t>(layer.node.size(), 40));
  const auto padded = [](std::string text, size_t size, bool left = false) {
    if (text.size() > size) text = "..." + text.substr(text.size() - (size - 3));
    const std::string space(size - text.size(), ' ');
    return left ? text + space : space + text;
  };
  std::cout << padded("layer", width, true) << "  " << padded("op", 6, true) << "  SQNR dB  cosine   "
            << (report.weights_only ? "     bits" : "clipped %") << "  weights dB       size\n";
  for (const compress::LayerReport& layer : report.layers) {
    std::cout << padded(layer.node, width, true) << "  " << padded(layer.op, 6, true) << "  ";
    if (!layer.refusal.empty()) {
      std::cout << "f32: " << layer.refusal << '\n';
      continue;
    }
    std::cout << padded(report.evaluated ? decibels(layer.fidelity.sqnr) : "-", 7) << "  "
              << padded(report.evaluated ? fixed(layer.fidelity.cosine, "%.5f") : "-", 7) << "  "
              << padded(report.weights_only ? fixed(layer.weight_bits, "%.0f") : fixed(100 * layer.clipped, "%.3f"), 9) << "  "
              << padded(decibels(layer.weights.sqnr), 10) << "  " << human_bytes(static_cast<double>(layer.bytes_before)) << " -> "
              << human_bytes(static_cast<double>(layer.bytes_after)) << '\n';
  }
  for (const compress::OutputReport& output : report.outputs) {
    std::cout << "output \"" << output.name << "\": SQNR " << decibels(output.fidelity.sqnr) << " dB, cosine "
              << fixed(output.fidelity.cosine, "%.6f");
    if (output.agreement >= 0) std::cout << ", the same best class in " << fixed(100 * output.agreement, "%.1f") << " %";
    std::cout << '\n';
  }
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

void write_text(const std::string& path, const std::string& text) {
  os::write_file_atomically(path, [&](const auto& write) { write(std::as_bytes(std::span(text.data(), text.size()))); });
}

void quantize_command(QuantizeArguments& arguments) {
  if (!arguments.output.ends_with(".minnow") && !arguments.output.ends_with(".onnx"))
    throw UsageError("{}: is not the name of a file that quantize writes, which ends in .minnow or .onnx", arguments.output);
  if (arguments.compress && arguments.output.ends_with(".onnx"))
    throw UsageError("{}: only .minnow files are compressed; leave out --compress", arguments.output);
  if (const std::string path = os::canonical_path(arguments.model); !path.empty() && path == os::canonical_path(arguments.output))
    throw UsageError("{}: is the model itself; write the result to another file", arguments.output);
  compress::QuantizeOptions options;
  options.portable = arguments.output.ends_with(".onnx");
  compress::Steps steps;  // before quantization
  if (!arguments.recipe.empty()) {
    const Recipe recipe = read_recipe(arguments.recipe);
    if (arguments.calibration.empty() && !arguments.data_free) arguments.calibration = recipe.calibration;
    if (arguments.evaluation.empty()) arguments.evaluation = recipe.evaluation;
    if (arguments.max_size.empty()) arguments.max_size = recipe.max_size;
    if (!arguments.samples && recipe.samples) arguments.samples = *recipe.samples;
    if (!arguments.sqnr_given->count() && recipe.min_sqnr) arguments.min_sqnr = *recipe.min_sqnr;
    if (!arguments.agreement_given->count() && recipe.min_agreement) arguments.min_agreement = *recipe.min_agreement;
    if (arguments.max_drop < 0 && recipe.max_drop) arguments.max_drop = *recipe.max_drop;
    for (const auto& [key, value] : recipe.options) options.set(key, value, recipe.prefix);
    arguments.pictures.defaults = recipe.pictures;
    steps = recipe.steps;
  }
  for (const auto& [key, option] : arguments.keys)
    if (option->count() > 0) {
      std::string value;
      for (const std::string& each : option->results()) value += (value.empty() ? "" : ", ") + each;
      try {
        options.set(key, value);
      } catch (const InvalidArgument& error) {
        throw UsageError("--{}", error.what());
      }
    }
  steps.check(options, arguments.recipe.empty() ? std::string() : arguments.recipe + ": ");
  const bool needs_samples = options.weights_only != "rtn" && options.weights_only != "hqq";
  if (arguments.data_free ? !arguments.calibration.empty() : arguments.calibration.empty() && needs_samples)
    throw UsageError(arguments.data_free ? "--data-free makes samples up; leave out --calibration"
                                         : "quantize needs --calibration with typical inputs, or --data-free");
  if ((arguments.min_sqnr != 0 || arguments.min_agreement > 0) && !arguments.data_free && arguments.calibration.empty() &&
      arguments.evaluation.empty())
    throw UsageError("--min-sqnr and --min-agreement need samples: give --evaluation or --calibration");
  Model model = load_model(arguments.model, arguments.operators);
  std::vector<std::string> open;
  const compress::Samples samples = [&]() -> compress::Samples {
    if (arguments.data_free) {
      std::vector<Shape> shapes;
      for (const Tensor& each : make_inputs(model, {}, arguments.shapes, true, &open)) shapes.push_back(each.shape());
      return compress::synthetic_samples(model, arguments.samples ? arguments.samples : 8, options.seed, shapes);
    }
    if (arguments.calibration.empty()) return {};
    return read_samples(model, arguments.calibration, arguments.pictures, arguments.samples, picture_shape(model, arguments.shapes));
  }();
  compress::Samples evaluation;
  if (!arguments.evaluation.empty())
    evaluation = read_samples(model, arguments.evaluation, arguments.pictures, 0,
                              arguments.data_free ? std::vector<int64_t>() : picture_shape(model, arguments.shapes));
  const Stopwatch watch;
  if (!steps.empty()) {
    std::optional<compress::Steps::Result> made;
    run_with_open(open, [&] { made = steps.apply(model, samples); });
    model = made->plain;
    for (const std::string& sentence : made->sentences)
      if (!arguments.json) std::cout << sentence << '\n';
  }
  const bool searches = arguments.automatic || arguments.max_drop >= 0 || !arguments.max_size.empty();
  compress::SearchOptions aims;
  aims.max_drop = arguments.max_drop < 0 && arguments.min_agreement > 0 ? 100 - arguments.min_agreement : arguments.max_drop;
  if (arguments.min_sqnr != 0) aims.min_sqnr = arguments.min_sqnr;
  if (!arguments.max_size.empty()) aims.most_bytes = bytes_of_size(arguments.max_size, "--max-size");
  if (arguments.automatic && aims.max_drop < 0 && aims.min_sqnr <= -1000 && !aims.most_bytes) aims.max_drop = 1;
  std::vector<compress::Candidate> candidates;
  size_t chosen = 0;
  bool reached = true;
  compress::Quantized quantized = [&] {
    Progress progress("quantizing " + arguments.model);
    options.progress = [&](double part) { progress.tell(part); };
    std::optional<compress::Quantized> result;
    run_with_open(open, [&] {
      if (!searches) {
        result = compress::quantize(model, samples, options);
        return;
      }
      compress::SearchResult found = compress::search(model, samples, evaluation.count ? evaluation : samples, options, aims);
      candidates = std::move(found.candidates), chosen = found.chosen, reached = found.reached;
      result = std::move(found.quantized);
    });
    return std::move(*result);
  }();
  if (evaluation.count && !searches) {
    quantized.report.outputs = compress::compare(model, quantized.model, evaluation);
    quantized.report.evaluated = evaluation.count;
  }
  save(arguments.output.ends_with(".onnx") ? quantized.plain : quantized.model, arguments.output, {.compress = arguments.compress});
  if (!arguments.html.empty()) write_text(arguments.html, compress::report_page(quantized.report, arguments.model));
  const compress::QuantizeReport& report = quantized.report;
  const size_t bytes = os::MappedFile::open(arguments.output)->bytes().size();
  std::string missed;
  if (!reached) missed = format("no choice of layers reaches it; the nearest has {}", sentence_of(candidates[chosen]));
  for (const compress::OutputReport& output : report.outputs) {
    if (output.fidelity.sqnr < arguments.min_sqnr && (arguments.sqnr_given->count() || arguments.min_sqnr > 0))
      missed += format("{}the SQNR of output \"{}\" is {} dB, at least {} are asked for", missed.empty() ? "" : "; ", output.name,
                       decibels(output.fidelity.sqnr), fixed(arguments.min_sqnr, "%g"));
    if (output.agreement >= 0 && 100 * output.agreement < arguments.min_agreement)
      missed +=
          format("{}the best class of output \"{}\" is the same in {} % of the samples, at least {} % are asked for",
                 missed.empty() ? "" : "; ", output.name, fixed(100 * output.agreement, "%.1f"), fixed(arguments.min_agreement, "%g"));
  }
  const bool has_scores =
      std::any_of(report.outputs.begin(), report.outputs.end(), [](const auto& output) { return output.agreement >= 0; });
  if (arguments.min_agreement > 0 && !has_scores) missed += format("{}no output is a row of scores to compare", missed.empty() ? "" : "; ");
  if (arguments.json) {
    Json json = json_of(report);
    json["output"] = arguments.output;
    json["file_bytes"] = bytes;
    json["seconds"] = watch.seconds();
    for (size_t i = 0; i < candidates.size(); ++i) {
      const compress::Candidate& each = candidates[i];
      json["candidates"].push_back({{"bytes", each.bytes},
                                    {"sqnr_db", std::isfinite(each.sqnr) ? Json(each.sqnr) : Json()},
                                    {"agreement", each.agreement < 0 ? Json() : Json(each.agreement)},
                                    {"f32", each.f32},
                                    {"bits", each.bits},
                                    {"best", each.best},
                                    {"chosen", i == chosen}});
    }
    if (!missed.empty()) json["missed"] = missed;
    print_json(json);
  } else {
    print_table(report);
    if (searches) std::cout << "choices that no other surpasses in size and SQNR:\n";
    for (size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].best || i == chosen) std::cout << (i == chosen ? "* " : "  ") << sentence_of(candidates[i]) << '\n';
    const auto layers = std::count_if(report.layers.begin(), report.layers.end(), [](const auto& layer) { return layer.refusal.empty(); });
    std::cout << arguments.output << ": " << layers << " of " << report.layers.size()
              << (report.weights_only ? " layers have weights in blocks, " : " layers compute with integers, ")
              << human_bytes(static_cast<double>(bytes)) << " (weights " << human_bytes(static_cast<double>(report.bytes_before)) << " -> "
              << human_bytes(static_cast<double>(report.bytes_after)) << "), " << report.samples << " samples, "
              << human_seconds(watch.seconds()) << '\n';
  }
  if (missed.empty()) return;
  if (!arguments.json) say(format("minnow: {} was written, but misses its aim: {}", arguments.output, missed));
  throw CLI::RuntimeError(kFailed);
}
#else
void quantize_command(const QuantizeArguments& arguments) {
  throw Unsupported("{}: this build of Minnow does not quantize (CMake option MINNOW_COMPRESS)", arguments.model);
}
#endif

std::string names_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App* command = app.add_subcommand("quantize", "Makes a model compute with 8-bit integers, calibrated by typical inputs");
  command->add_option("MODEL", arguments->model, "the model, of any format that convert reads")->required()->type_name("");
  command->add_option("OUT", arguments->output, "the .minnow or .onnx file to write")->required()->type_name("");
  command
      ->add_option("-c,--calibration", arguments->calibration,
                   "a folder of pictures, or of .npy or .npz files; or one such file, whose first axis counts samples")
      ->type_name("PATH");
  command->add_option("--evaluation", arguments->evaluation, "the same, for the report on the outputs; otherwise the first samples")
      ->type_name("PATH");
  command->add_flag("--data-free", arguments->data_free, "calibrate with made-up inputs; ranges are then guesses");
  add_repeated(
      *command, "-s,--shape", arguments->shapes,
      "shape of a made-up input or of pictures, whose open dimensions are 1 otherwise: name=1x3x224x224, or the shape alone for the "
      "next input in the model's order")
      ->type_name("SHAPE");
  command->add_option("--samples", arguments->samples, "use the first N samples (default: all; made up: 8)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--recipe", arguments->recipe,
                   "a TOML file with these options, or a JSON file of MNN's tools; those of the command line come first")
      ->type_name("FILE");
  std::vector<std::string> ranges, weights, roundings, blocks;
#if MINNOW_COMPRESS
  for (const auto& each : compress::activation_methods()) ranges.push_back(each.name);
  for (const auto& each : compress::weight_methods()) weights.push_back(each.name);
  for (const auto& each : compress::roundings()) roundings.push_back(each.name);
  for (const auto& each : compress::weight_only_methods()) blocks.push_back(each.name);
#endif
  const auto add = [&](const std::string& key, const std::string& names, const std::string& help, const char* type) {
    CLI::Option* option = command->add_option(names, CLI::callback_t([](const CLI::results_t&) { return true; }), help)->type_name(type);
    arguments->keys.emplace_back(key, option);
    return option;
  };
  add("method", "-m,--method", "how the range of an activation is found: " + names_of(ranges) + " (default: mse)", "NAME");
  add("weights", "--weights", "how the scale of a weight is found: " + names_of(weights) + " (default: mse)", "NAME");
  add("rounding", "--rounding", "how weights become integers: " + names_of(roundings) + " (default: nearest)", "NAME");
  add("equalize", "--equalize", "true: factors move between layers, so that weights of a layer become alike in size", "BOOL");
  add("smooth", "--smooth", "SmoothQuant: the part of the inputs' range that goes into the weights, 0 (default) to 1", "PART");
  add("activations", "--activations", "u8 (default), or i8: symmetric around 0", "DTYPE");
  add("percentile", "--percentile", "of --method percentile (default: 99.99)", "P");
  add("weights_only", "--weights-only",
      "activations stay f32, weights become blocks of --weight-bits: " + names_of(blocks) + "; rtn and hqq need no calibration", "NAME");
  add("weight_bits", "--weight-bits,--bits",
      "2 to 8 (default: 8, with --weights-only 4); 7 keeps ONNX Runtime exact on processors without VNNI", "N");
  add("bits_for", "--bits-for", "other bits for a node, with --weights-only: NODE=8, or NODE=0 for f32; may be repeated", "NODE=BITS")
      ->expected(1)
      ->take_all();
  add("block_size", "--block-size", "weights that share a scale, with --weights-only: 16, 32, 64 (default), 128, 256", "N");
  add("symmetric", "--symmetric", "true: blocks have no zero points", "BOOL");
  add("per_channel", "--per-channel", "false: one scale for each tensor instead of one for each channel", "BOOL");
  add("portable", "--portable",
      "true: only the form that other engines' integer kernels know (default for OUT.onnx); false: nearer to f32 (default for OUT.minnow)",
      "BOOL");
  add("correct_bias", "--correct-bias", "false: biases keep the mean error of their channel", "BOOL");
  add("skip", "--skip", "a node, or an operator, that stays f32; may be repeated", "NAME")->expected(1)->take_all();
  add("evaluate", "--evaluate", "samples for the report (default: 16)", "N");
  add("seed", "--seed", "of everything random (default: 0)", "N");
  arguments->sqnr_given = command->add_option("--min-sqnr", arguments->min_sqnr, "exit with 1 if an output has less, in decibels")
                              ->type_name("DB")
                              ->check(number_from(-1000, 1000));
  arguments->agreement_given =
      command
          ->add_option("--min-agreement", arguments->min_agreement, "exit with 1 if fewer percent of the samples have the same best class")
          ->type_name("PERCENT")
          ->check(number_from(0, 100));
  command->add_flag("--auto", arguments->automatic,
                    "leave the layers in f32 that cost most accuracy, as few as --max-drop (default: 1), --min-sqnr or --max-size allow");
  command->add_option("--max-drop", arguments->max_drop, "--auto until at most so many percent of the samples get another best class")
      ->type_name("PERCENT")
      ->check(number_from(0, 100));
  command->add_option("--max-size", arguments->max_size, "--auto within a size of all weights: 2MB, 300kB")->type_name("SIZE");
  command->add_flag("--compress", arguments->compress,
                    "OUT.minnow: store tensors as entropy codes where that saves at least 5 %; they are decoded on load");
  command->add_option("--html", arguments->html, "write the report as a page with plots")->type_name("FILE");
  arguments->operators.add_to(*command);
  arguments->pictures.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "MODEL does not change. Prints for each layer how close its output is to that of the f32 model, with the errors of earlier layers.\n"
      "The same model, samples, options and seed give the same bytes.\n\n"
      "  minnow quantize classifier.onnx classifier.minnow --calibration pictures/ --min-agreement 97\n"
      "  minnow quantize speech.onnx speech-int8.onnx --calibration features.npz --method percentile\n"
      "  minnow quantize classifier.onnx classifier.minnow --calibration pictures/ --evaluation others/ --max-drop 0.5\n"
      "  minnow quantize model.tflite model.minnow --recipe recipe.toml --html report.html\n"
      "  minnow quantize decoder.onnx decoder.minnow --weights-only gptq --bits 4 --block-size 32 --calibration tokens.npz");
  command->callback([arguments] { quantize_command(*arguments); });
}

}  // namespace minnow::cli
