// SPDX-License-Identifier: Apache-2.0
// `minnow prune`.
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/os.h"
#include "cli/commands.h"
#if MINNOW_COMPRESS
#include <minnow/prune.h>

#include "cli/samples.h"
#endif

namespace minnow::cli {
namespace {

struct PruneArguments {
  std::string model, output, calibration, recipe;
  OperatorOptions operators;
  PictureOptions pictures;
  std::vector<std::pair<std::string, CLI::Option*>> keys;  // of compress::Steps
  std::vector<std::string> layers, skip;
  size_t samples = 0;
  bool json = false;
};

#if MINNOW_COMPRESS
std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

struct Row {
  std::string node, op, refusal, text;
  Json json;
};
void print_rows(const char* heading, const std::vector<Row>& rows) {
  size_t width = 5;
  for (const Row& row : rows) width = std::max(width, std::min<size_t>(row.node.size(), 40));
  std::cout << heading << '\n';
  for (const Row& row : rows) {
    std::string name = row.node.size() > width ? "..." + row.node.substr(row.node.size() - (width - 3)) : row.node;
    name.resize(width, ' ');
    std::cout << "  " << name << "  " << row.op << std::string(row.op.size() < 8 ? 8 - row.op.size() : 1, ' ')
              << (row.refusal.empty() ? row.text : "as it was: " + row.refusal) << '\n';
  }
}
Json json_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json object = {{"node", row.node}, {"op", row.op}};
    if (row.refusal.empty())
      object.update(row.json);
    else
      object["refusal"] = row.refusal;
    list.push_back(std::move(object));
  }
  return list;
}

/// The steps of a recipe and of options. A recipe may name the calibration.
compress::Steps steps_of(PruneArguments& arguments) {
  compress::Steps steps;
  if (!arguments.recipe.empty()) {
    const std::string prefix = arguments.recipe + ": ";
    for (const auto& [key, value] : read_keys(arguments.recipe, "pruning")) {
      if (key == "calibration") {
        const std::filesystem::path folder = std::filesystem::path(arguments.recipe).parent_path();
        if (arguments.calibration.empty()) arguments.calibration = (folder / value).string();
      } else if (!steps.set(key, value, prefix)) {
        throw InvalidArgument("{}{}: is no key of pruning, which begin with channels_, low_rank_, prune_ and palette_", prefix, key);
      }
    }
  }
  for (const auto& [key, option] : arguments.keys)
    if (option->count() > 0) try {
        (void)steps.set(key, option->results().back());
      } catch (const InvalidArgument& error) {
        throw UsageError("{}: {}", option->get_name(), error.what());
      }
  if (steps.empty()) steps.prune.emplace();
  const auto put_names = [](auto& step, const std::vector<std::string>& layers, const std::vector<std::string>& skip) {
    if (!step) return;
    if constexpr (requires { step->layers; })
      if (!layers.empty()) step->layers = layers;
    if (!skip.empty()) step->skip = skip;
  };
  put_names(steps.channels, {}, arguments.skip);
  put_names(steps.low_rank, arguments.layers, arguments.skip);
  put_names(steps.prune, arguments.layers, arguments.skip);
  put_names(steps.palette, arguments.layers, arguments.skip);
  return steps;
}

std::vector<Row> rows_of(const compress::ChannelPruned& made) {
  std::vector<Row> rows;
  for (const compress::PrunedChannels& group : made.report.groups) {
    std::string text = format("{} of {} channels", group.after, group.before);
    for (size_t i = 1; i < group.nodes.size(); ++i) text += (i == 1 ? "; with " : ", ") + group.nodes[i];
    rows.push_back({group.nodes[0], "channels", "", text, {{"before", group.before}, {"after", group.after}, {"layers", group.nodes}}});
  }
  for (const auto& [node, why] : made.report.refusals) rows.push_back({node, "", why, "", {}});
  return rows;
}

std::vector<Row> rows_of(const compress::Factored& made) {
  std::vector<Row> rows;
  for (const compress::FactoredLayer& row : made.layers)
    rows.push_back({row.node,
                    row.op,
                    row.refusal,
                    format("{}x{} by ranks {} and {}, {} of the energy", row.outputs, row.inputs, row.output_rank, row.input_rank,
                           percent(row.energy)),
                    {{"ranks", {row.output_rank, row.input_rank}},
                     {"energy", row.energy},
                     {"weights_before", row.weights_before},
                     {"weights_after", row.weights_after}}});
  return rows;
}

std::vector<Row> rows_of(const compress::Pruned& made) {
  std::vector<Row> rows;
  for (const compress::PrunedLayer& row : made.report.layers)
    rows.push_back({row.node,
                    row.op,
                    row.refusal,
                    format("{} of {} weights are zero, {} of the energy stays",
                           percent(double(row.zeros) / double(std::max<size_t>(1, row.weights))), row.weights, percent(row.kept_energy)),
                    {{"weights", row.weights}, {"zeros", row.zeros}, {"kept_energy", row.kept_energy}}});
  return rows;
}

std::vector<Row> rows_of(const compress::Paletted& made) {
  std::vector<Row> rows;
  for (const compress::PalettedLayer& row : made.layers) {
    char sqnr[32];
    std::snprintf(sqnr, sizeof sqnr, "%.1f dB", row.fidelity.sqnr);
    rows.push_back({row.node,
                    row.op,
                    row.refusal,
                    format("{}, {} -> {}", sqnr, human_bytes(double(row.bytes_before)), human_bytes(double(row.bytes_after))),
                    {{"cosine", row.fidelity.cosine}, {"bytes_before", row.bytes_before}, {"bytes_after", row.bytes_after}}});
  }
  return rows;
}

void prune_command(PruneArguments& arguments) {
  if (!arguments.output.ends_with(".minnow") && !arguments.output.ends_with(".onnx"))
    throw UsageError("{}: is not the name of a file that prune writes, which ends in .minnow or .onnx", arguments.output);
  if (const std::string path = os::canonical_path(arguments.model); !path.empty() && path == os::canonical_path(arguments.output))
    throw UsageError("{}: is the model itself; write the result to another file", arguments.output);
  const compress::Steps steps = steps_of(arguments);
  Model model = load_model(arguments.model, arguments.operators);
  compress::Samples samples;
  if (!arguments.calibration.empty()) samples = read_samples(model, arguments.calibration, arguments.pictures, arguments.samples);
  const Stopwatch watch;
  Json json = Json::object();
  Model plain = model;
  const auto tell = [&](const char* key, const char* heading, const std::vector<Row>& rows) {
    if (arguments.json)
      json[key] = json_of(rows);
    else
      print_rows(heading, rows);
  };
  if (steps.channels) {
    compress::ChannelPruned made = compress::prune_channels(plain, *steps.channels, samples);
    tell("channels", "channels:", rows_of(made));
    if (arguments.json)
      json["operations"] = {made.report.operations_before, made.report.operations_after};
    else
      std::cout << "  " << percent(made.report.operations_after / made.report.operations_before) << " of the multiply-adds and "
                << percent(double(made.report.weights_after) / double(made.report.weights_before)) << " of the weights remain\n";
    model = made.model, plain = made.plain;
  }
  if (steps.low_rank) {
    compress::Factored made = compress::factor(plain, *steps.low_rank);
    tell("low_rank", "low rank:", rows_of(made));
    model = made.model, plain = made.plain;
  }
  if (steps.prune) {
    compress::Pruned made = compress::prune(plain, *steps.prune);
    tell("prune", "prune:", rows_of(made));
    if (!arguments.json)
      std::cout << "  " << percent(double(made.report.zeros) / double(made.report.weights)) << " of all weights are zero\n";
    model = made.model, plain = made.plain;
  }
  if (steps.palette) {
    compress::Paletted made = compress::palettize(plain, *steps.palette);
    tell("palette", "palette:", rows_of(made));
    model = made.model, plain = made.plain;
  }
  save(arguments.output.ends_with(".onnx") ? plain : model, arguments.output);
  const size_t bytes = os::MappedFile::open(arguments.output)->bytes().size();
  if (arguments.json) {
    json["output"] = arguments.output;
    json["file_bytes"] = bytes;
    json["seconds"] = watch.seconds();
    print_json(json);
  } else {
    std::cout << arguments.output << ": " << human_bytes(static_cast<double>(bytes)) << ", " << human_seconds(watch.seconds()) << '\n';
  }
}
#else
void prune_command(const PruneArguments& arguments) {
  throw Unsupported("{}: this build of Minnow does not prune (CMake option MINNOW_COMPRESS)", arguments.model);
}
#endif

}  // namespace

void add_prune(CLI::App& app) {
  auto arguments = std::make_shared<PruneArguments>();
  CLI::App* command = app.add_subcommand("prune", "Makes a model sparse or smaller: zeros in patterns, fewer channels, factors, palettes");
  command->add_option("MODEL", arguments->model, "the model, of any format that convert reads")->required()->type_name("");
  command->add_option("OUT", arguments->output, "the .minnow or .onnx file to write")->required()->type_name("");
  const auto add = [&](const std::string& key, const std::string& name, const std::string& help, const char* type) {
    arguments->keys.emplace_back(
        key, command->add_option(name, CLI::callback_t([](const CLI::results_t&) { return true; }), help)->type_name(type));
  };
  std::string patterns, distributions, criteria;
#if MINNOW_COMPRESS
  const auto list = [](std::string& names, const std::vector<compress::MethodDescription>& methods) {
    for (const auto& each : methods) names += (names.empty() ? "" : ", ") + each.name;
  };
  list(patterns, compress::prune_patterns());
  list(distributions, compress::prune_distributions());
  list(criteria, compress::channel_criteria());
#endif
  add("prune_sparsity", "--sparsity", "part of the weights that become zero (default: 0.8)", "PART");
  add("prune_pattern", "--pattern", "of the zeros, inputs by outputs: " + patterns + " or another N:M (default: 1x4)", "NAME");
  add("prune_distribution", "--distribution", "over the layers: " + distributions + " (default: uniform)", "NAME");
  add("channels_operations", "--operations", "remove channels until this part of the multiply-adds remains", "PART");
  add("channels_criterion", "--criterion", "which channels matter: " + criteria + " (default: l1)", "NAME");
  add("channels_multiple", "--multiple", "layers keep a multiple of N channels (default: 8)", "N");
  add("low_rank_energy", "--energy", "factor layers, so that this part of the sum of squares stays", "PART");
  add("palette_bits", "--palette-bits", "weights become indices of 2 to 8 bits into a palette", "N");
  add_repeated(*command, "--layers", arguments->layers,
               "only this node, or these by `*` and `?`, or an operator (not for channels); may be repeated");
  add_repeated(*command, "--skip", arguments->skip, "all but this one, likewise; may be repeated");
  command->add_option("-c,--calibration", arguments->calibration, "inputs for --criterion taylor, as of quantize")->type_name("PATH");
  command->add_option("--samples", arguments->samples, "use the first N of them")->type_name("N")->check(CLI::Range(1, 1000000000));
  command->add_option("--recipe", arguments->recipe, "a TOML file with these options; those of the command line come first")
      ->type_name("FILE");
  arguments->operators.add_to(*command);
  arguments->pictures.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "MODEL does not change. Without an option, 80 % of the weights become zero. Steps take place in the order channels, factors, zeros,\n"
      "palettes. Fine-tune the result in Python or by `minnow train`, whose recipes prune, too.\n\n"
      "  minnow prune classifier.onnx sparse.minnow --sparsity 0.8 --pattern 1x4\n"
      "  minnow prune classifier.onnx small.minnow --operations 0.5\n"
      "  minnow prune classifier.onnx small.onnx --operations 0.6 --criterion taylor --calibration pictures/");
  command->callback([arguments] { prune_command(*arguments); });
}

}  // namespace minnow::cli
