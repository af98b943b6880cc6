// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "base/os.h"
#include "cli/commands.h"
#include "graph/graph.h"

namespace minnow::cli {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  std::string optimize = "standard", labels, signature, from, weights = "f32";
  std::vector<std::string> shapes, renames, keep_inputs;
  OperatorOptions operators;
  bool verify = false, dump_passes = false, json = false, external_data = false;
  int opset = 0;
};

void convert_command(const Arguments& arguments) {
  if (arguments.paths.size() < 2) throw InvalidArgument("convert needs the model's files and, last, the file to write");
  const std::vector<std::string> in(arguments.paths.begin(), arguments.paths.end() - 1);
  const std::string& out = arguments.paths.back();
  if (!out.ends_with(".minnow") && !out.ends_with(".onnx"))
    throw InvalidArgument("{}: is not the name of a file that convert writes, which ends in .minnow or .onnx", out);
  ConvertOptions options;
  options.optimize = arguments.optimize == "none" ? Optimize::none : arguments.optimize == "train" ? Optimize::train : Optimize::standard;
  for (size_t i = 0; i < arguments.shapes.size(); ++i) {
    const NamedShape shape = parse_shape(arguments.shapes[i]);
    if (shape.name.empty())
      options.shapes_in_order.resize(i), options.shapes_in_order.push_back(shape.dims);
    else
      options.shapes[shape.name] = shape.dims;
  }
  for (const std::string& text : arguments.renames) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) throw InvalidArgument("--rename {}: write old=new", text);
    options.renames[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (!arguments.labels.empty()) {
    std::ifstream file(arguments.labels);
    if (!file) throw IoError("{}: cannot be opened", arguments.labels);
    for (std::string line; std::getline(file, line);) options.labels.push_back(line);
  }
  options.keep_inputs = arguments.keep_inputs;
  options.signature = arguments.signature;
  options.format = arguments.from;
  options.operators = arguments.operators.load();
  options.verify = arguments.verify;
  options.warn = [](std::string_view message) { std::cerr << "warning: " << message << '\n'; };
  Json passes = Json::array();
  if (arguments.dump_passes)
    options.dump_passes = [&](std::string_view line) {
      if (arguments.json)
        passes.push_back(line);
      else
        std::cout << line << '\n';
    };
  const Stopwatch watch;
  const Model model = [&] {
    Progress progress("converting " + in[0]);
    return convert(in, options);
  }();
  Json kept = Json::array();
  const auto keep = [&](std::string_view message) {
    kept.push_back(message);
    options.warn(message);
  };
  save(model, out, {.external_data = arguments.external_data, .opset = arguments.opset, .weights = arguments.weights, .warn = keep});
  const double seconds = watch.seconds();
  const size_t bytes = os::MappedFile::open(out)->bytes().size();
  if (arguments.json) {
    Json json = {{"output", out},
                 {"bytes", bytes},
                 {"nodes", model.graph().node_count()},
                 {"weight_bytes", model.weight_bytes()},
                 {"verified", arguments.verify},
                 {"seconds", seconds}};
    if (!kept.empty()) json["kept_f32"] = std::move(kept);
    if (arguments.dump_passes) json["passes"] = std::move(passes);
    print_json(json);
  } else {
    std::cout << out << ": " << model.graph().node_count() << " nodes, " << human_bytes(static_cast<double>(bytes)) << ", "
              << human_seconds(seconds) << (arguments.verify ? ", verified" : "") << '\n';
  }
}

}  // namespace

void add_convert(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  std::string known;
  for (const std::string& format : formats()) known += (known.empty() ? "" : ", ") + format;
  CLI::App* command = app.add_subcommand(
      "convert", "Reads a model (" + known +
                     "; recognized by content unless --from names the format), optimizes it and writes a .minnow or .onnx file");
  command->add_option("paths", arguments->paths, "IN... OUT: the model's files, then the file to write");
  command->add_option("--from", arguments->from, "the format that is read, for files that do not look like what they are")
      ->check(CLI::IsMember(formats()));
  command->add_option("--optimize", arguments->optimize, "none; standard: every pass; train: keeps all parameters and batch normalizations")
      ->transform([](std::string level) { return level == "default" ? std::string("standard") : level; })  // its name until 0.1
      ->check(CLI::IsMember({"none", "standard", "train"}))
      ->capture_default_str();
  command->add_option(
      "--shape", arguments->shapes,
      "fix an input's dimensions: name=1x3x224x224 (? leaves one open), or the shape alone for the next input in the model's order");
  command->add_option("--rename", arguments->renames, "rename an input or output: old=new");
  command->add_option("--keep-input", arguments->keep_inputs,
                      "an initializer that the file lists as an input too: stays an input, which runs then have to give");
  command->add_option(
      "--signature", arguments->signature,
      "of a TensorFlow SavedModel folder (default: serving_default, or the only one) or a TFLite file (default: its first graph)");
  arguments->operators.add_to(*command);
  command->add_option("--labels", arguments->labels, "a text file with a class name per line, kept in the model");
  command->add_flag(
      "--verify", arguments->verify,
      "run it before and after optimization and fail, naming the pass, where results differ by more than 1e-4 (in a quantized graph: "
      "where numbers do before they are rounded)");
  command->add_flag("--external-data", arguments->external_data, "OUT.onnx: large constants go to a file OUT.onnx.data beside it");
  command->add_option("--opset", arguments->opset,
                      "OUT.onnx: the operator set that it is written in, 21 to 28 (default 26, or newer where an operator needs it)");
  command
      ->add_option("--weights", arguments->weights,
                   "OUT.minnow: how the weights of layers are stored; those that f16 or bf16 cannot hold stay f32 and are named")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command->add_flag("--dump-passes", arguments->dump_passes, "print what each pass changed");
  command->add_flag("--json", arguments->json, "print JSON");
  command->footer(
      "OUT.onnx becomes an ONNX file, OUT.minnow one in Minnow's format. It is written beside its place and renamed when it is "
      "complete.\n\n"
      "  minnow convert model.onnx model.minnow --verify\n"
      "  minnow convert detector.onnx detector.minnow --shape image=1x3x640x640 --rename image=x --rename output_0=boxes\n"
      "  minnow convert classifier.onnx classifier.minnow --labels classes.txt --dump-passes\n"
      "  minnow convert model.tflite model.onnx\n"
      "  minnow convert model.onnx model.minnow --weights bf16\n"
      "  minnow convert saved_model_folder model.minnow --signature serving_default");
  command->callback([arguments] { convert_command(*arguments); });
}

}  // namespace minnow::cli
