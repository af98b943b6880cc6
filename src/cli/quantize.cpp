// SPDX-License-Identifier: Apache-2.0
// `minnow quantize`.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "base/nearest.h"
#include "base/os.h"
#include "cli/commands.h"
#if MINNOW_COMPRESS
#include "cli/quantize_job.h"
#include "cli/samples.h"
#endif

namespace minnow::cli {
namespace {

struct QuantizeArguments {
  std::string model, output, recipe;
  OperatorOptions operators;
  PictureOptions pictures;
  std::vector<std::pair<std::string, CLI::Option*>> keys;  // of a recipe
  bool json = false;
};

#if MINNOW_COMPRESS
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
      row["bytes_before"] = layer.bytes_before;
      row["bytes_after"] = layer.bytes_after;
      if (layer.seconds_after > 0) row["estimate_us"] = {layer.seconds_before * 1e6, layer.seconds_after * 1e6};
    }
    if (layer.operations > 0) row["operations"] = layer.operations;
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

/// "31.1k", "2.4M"
std::string human_count(double count) {
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T"})
    if (count >= 999.5) count /= 1000, unit = next;
  return fixed(count, *unit && count < 99.95 ? "%.1f" : "%.0f") + unit;
}

void print_table(const compress::QuantizeReport& report) {
  size_t width = 5, op_width = 6;
  for (const compress::LayerReport& layer : report.layers) {
    width = std::max(width, std::min<size_t>(layer.node.size(), 40));
    op_width = std::max(op_width, std::min<size_t>(layer.op.size(), 20));
  }
  const auto padded = [](std::string text, size_t size, bool left = false) {
    if (text.size() > size) text = "..." + text.substr(text.size() - (size - 3));
    const std::string space(size - text.size(), ' ');
    return left ? text + space : space + text;
  };
  const auto cost = [&](const compress::LayerReport& layer) {
    return padded(layer.operations > 0 ? human_count(layer.operations / 2) : "-", 6) + "  ";
  };
  std::cout << padded("layer", width, true) << "  " << padded("op", op_width, true) << "    MACs  SQNR dB  cosine   "
            << (report.weights_only ? "     bits" : "clipped %") << "  weights dB  " << padded("time", 18, true) << "  size\n";
  for (const compress::LayerReport& layer : report.layers) {
    std::cout << padded(layer.node, width, true) << "  " << padded(layer.op, op_width, true) << "  " << cost(layer);
    if (!layer.refusal.empty()) {
      std::cout << "f32: " << layer.refusal << '\n';
      continue;
    }
    const std::string time =
        layer.seconds_after > 0 ? human_seconds(layer.seconds_before) + " -> " + human_seconds(layer.seconds_after) : std::string("-");
    std::cout << padded(report.evaluated ? decibels(layer.fidelity.sqnr) : "-", 7) << "  "
              << padded(report.evaluated ? fixed(layer.fidelity.cosine, "%.5f") : "-", 7) << "  "
              << padded(report.weights_only ? fixed(layer.weight_bits, "%.0f") : fixed(100 * layer.clipped, "%.3f"), 9) << "  "
              << padded(decibels(layer.weights.sqnr), 10) << "  " << padded(time, std::max<size_t>(18, time.size()), true) << "  "
              << human_bytes(static_cast<double>(layer.bytes_before)) << " -> " << human_bytes(static_cast<double>(layer.bytes_after))
              << '\n';
  }
  for (const compress::OutputReport& output : report.outputs) {
    std::cout << "output \"" << output.name << "\": SQNR " << decibels(output.fidelity.sqnr) << " dB, cosine "
              << fixed(output.fidelity.cosine, "%.6f");
    if (output.agreement >= 0) std::cout << ", the same best class in " << fixed(100 * output.agreement, "%.1f") << " %";
    std::cout << '\n';
  }
}

void write_text(const std::string& path, const std::string& text) {
  os::write_file_atomically(path, [&](const auto& write) { write(std::as_bytes(std::span(text.data(), text.size()))); });
}

/// The options of the command line before those of the recipe.
Recipe request_of(const QuantizeArguments& arguments) {
  Recipe request;
  request.options.portable = arguments.output.ends_with(".onnx");
  if (!arguments.recipe.empty()) request = read_recipe(arguments.recipe, std::move(request));
  bool has_calibration = false, is_data_free = false;
  for (const auto& [key, option] : arguments.keys) {
    if (option->count() == 0) continue;
    has_calibration |= key == "calibration", is_data_free |= key == "data_free";
    std::string value;
    for (const std::string& each : option->results()) value += (value.empty() ? "" : ", ") + each;
    try {
      request.set(key, value);
    } catch (const InvalidArgument& error) {
      std::string message = error.what();  // begins with the key, as recipes spell it
      std::replace(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(std::min(message.find(':'), message.size())), '_', '-');
      throw UsageError("--{}", message);
    }
  }
  request.steps.check(request.options, arguments.recipe.empty() ? std::string() : arguments.recipe + ": ");
  request.pictures.options = arguments.pictures.options;
  if (!arguments.operators.libraries.empty()) request.operators = arguments.operators.libraries;
  if (has_calibration && is_data_free) throw UsageError("--data-free makes samples up; leave out --calibration");
  const std::string& blocks = request.options.weights_only;
  if (!request.data_free && request.calibration.empty() && blocks != "rtn" && blocks != "hqq")
    throw UsageError("quantize needs --calibration with typical inputs, or --data-free");
  if (request.compress && arguments.output.ends_with(".onnx"))
    throw UsageError("{}: only .minnow files are compressed; leave out --compress", arguments.output);
  return request;
}

void quantize_command(QuantizeArguments& arguments) {
  if (!arguments.output.ends_with(".minnow") && !arguments.output.ends_with(".onnx"))
    throw UsageError("{}: is not the name of a file that quantize writes, which ends in .minnow or .onnx", arguments.output);
  if (const std::string path = os::canonical_path(arguments.model); !path.empty() && path == os::canonical_path(arguments.output))
    throw UsageError("{}: is the model itself; write the result to another file", arguments.output);
  Recipe request = request_of(arguments);
  Model model = load_model(arguments.model, {request.operators});
  std::vector<std::string> open;
  const std::vector<int64_t> shape = request.data_free ? std::vector<int64_t>() : picture_shape(model, request.shapes);
  const compress::Samples samples = [&]() -> compress::Samples {
    if (request.data_free) return made_up_samples(model, request, &open);
    if (request.calibration.empty()) return {};
    return read_samples(model, request.calibration, request.pictures, request.samples, shape);
  }();
  compress::Samples evaluation;
  if (!request.evaluation.empty()) evaluation = read_samples(model, request.evaluation, request.pictures, 0, shape);
  const Stopwatch watch;
  const QuantizeResult result = [&] {
    Progress progress("quantizing " + arguments.model);
    request.options.progress = [&](double part) { progress.tell(part); };
    std::optional<QuantizeResult> made;
    run_with_open(open, [&] { made = quantize_by(request, model, samples, evaluation, arguments.output); });
    return std::move(*made);
  }();
  const compress::Quantized& quantized = result.quantized;
  const compress::QuantizeReport& report = quantized.report;
  save(arguments.output.ends_with(".onnx") ? quantized.plain : quantized.model, arguments.output, result.form);
  if (!request.html.empty()) write_text(request.html, compress::report_page(report, arguments.model));
  const size_t bytes = os::MappedFile::open(arguments.output)->bytes().size();
  const std::vector<compress::Candidate>& candidates = result.candidates;
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
                                    {"chosen", i == result.chosen}});
    }
    if (!result.missed.empty()) json["missed"] = result.missed;
    print_json(json);
  } else {
    for (const std::string& sentence : result.sentences) std::cout << sentence << '\n';
    print_table(report);
    if (!candidates.empty()) std::cout << "choices that no other surpasses in size and SQNR:\n";
    for (size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].best || i == result.chosen) std::cout << (i == result.chosen ? "* " : "  ") << sentence_of(candidates[i]) << '\n';
    const auto layers = std::count_if(report.layers.begin(), report.layers.end(), [](const auto& layer) { return layer.refusal.empty(); });
    std::cout << arguments.output << ": " << layers << " of " << report.layers.size()
              << (report.weights_only ? " layers have weights in blocks, " : " layers compute with integers, ")
              << human_bytes(static_cast<double>(bytes)) << " (weights " << human_bytes(static_cast<double>(report.bytes_before)) << " -> "
              << human_bytes(static_cast<double>(report.bytes_after)) << "), " << report.samples << " samples, "
              << human_seconds(watch.seconds()) << '\n';
  }
  for (const std::string& note : result.notes) say("minnow: " + note);
  if (result.missed.empty()) return;
  if (!arguments.json) say(format("minnow: {} was written, but misses its aim: {}", arguments.output, result.missed));
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
  const auto add_flag = [&](const std::string& key, const std::string& name, const std::string& help) {
    arguments->keys.emplace_back(key, command->add_flag_function(
                                          name, [](int64_t) {}, help));
  };
  add("calibration", "-c,--calibration",
      "a folder of pictures, or of .npy or .npz files; or one such file, whose first axis counts samples", "PATH");
  add("evaluation", "--evaluation", "the same, for the report on the outputs; otherwise the first samples", "PATH");
  add_flag("data_free", "--data-free", "calibrate with made-up inputs; ranges are then guesses");
  add("shape", "-s,--shape",
      "shape of a made-up input or of pictures, whose open dimensions are 1 otherwise: name=1x3x224x224, or the shape alone for the "
      "next input in the model's order",
      "SHAPE")
      ->expected(1)
      ->take_all();
  add("samples", "--samples", "use the first N samples (default: all; made up: 8)", "N")->check(CLI::Range(1, 1000000000));
  add("method", "-m,--method", "how the range of an activation is found: " + names_of(ranges) + " (default: mse)", "NAME");
  add("weights", "--weights", "how the scale of a weight is found: " + names_of(weights) + " (default: mse)", "NAME");
  add("rounding", "--rounding", "how weights become integers: " + names_of(roundings) + " (default: gptq; nearest with --data-free)",
      "NAME");
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
  add("keep_f32", "--keep-f32",
      "where outputs have less than 30 dB, noisy layers stay f32 that have at most so much of the multiply-adds and weights (default: 8)",
      "PERCENT");
  add("skip", "--skip", "a node, these by `*` and `?`, or an operator, that stays f32; may be repeated", "NAME")->expected(1)->take_all();
  add("evaluate", "--evaluate", "samples for the report (default: 16)", "N");
  add("seed", "--seed", "of everything random (default: 0)", "N");
  add("min_sqnr", "--min-sqnr", "exit with 1 if an output has less, in decibels", "DB")->check(number_from(-1000, 1000));
  add("min_agreement", "--min-agreement", "exit with 1 if fewer percent of the samples have the same best class", "PERCENT")
      ->check(number_from(0, 100));
  add_flag("auto", "--auto",
           "choose 4 or 8 bits or f32 for each layer: the smallest file that --max-drop (default: 1) or --min-sqnr allows, or the closest "
           "within --max-size");
  add("max_drop", "--max-drop", "--auto until at most so many percent of the samples get another best class", "PERCENT")
      ->check(number_from(0, 100));
  add("max_size", "--max-size", "--auto within a size of the file: 2MB, 300kB", "SIZE");
  add_flag("compress", "--compress", "OUT.minnow: store tensors as entropy codes where that saves at least 5 %; they are decoded on load");
  add("html", "--html", "write the report as a page with plots", "FILE");
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
