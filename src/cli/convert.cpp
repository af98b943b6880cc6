// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/os.h"
#include "base/placeholder.h"
#include "cli/commands.h"
#include "graph/graph.h"

namespace minnow::cli {
namespace {

struct ConvertArguments {
  std::vector<std::string> paths;
  std::string optimize = "standard", labels, preprocess, signature, from, weights = "f32";
  std::vector<std::string> shapes, renames, keep_inputs;
  OperatorOptions operators;
  bool verify = false, dump_passes = false, json = false, external_data = false, compress = false;
  int opset = 0;
  double memory_limit_mb = 0;
};

bool is_utf8(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

/// Reads one class name per line. Throws IoError, and InvalidArgument if the file is no text.
std::vector<std::string> read_labels(const std::string& path) {
  const auto file = os::MappedFile::open(path);
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (const std::string problem = placeholder(file->bytes()); !problem.empty()) throw InvalidArgument("{}: {}", path, problem);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (const auto odd = std::find_if(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\t' && c != '\n' && c != '\r'; });
      odd != text.end() || !is_utf8(text))
    throw InvalidArgument("{}: is not a text file; labels are lines of UTF-8", path);
  std::vector<std::string> labels;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    labels.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return labels;
}

void convert_command(const ConvertArguments& arguments) {
  if (arguments.paths.size() < 2) throw UsageError("convert needs the model's files and, last, the file to write");
  const std::vector<std::string> in(arguments.paths.begin(), arguments.paths.end() - 1);
  const std::string& out = arguments.paths.back();
  if (!out.ends_with(".minnow") && !out.ends_with(".onnx"))
    throw UsageError("{}: is not the name of a file that convert writes, which ends in .minnow or .onnx", out);
  for (const std::string& file : in)
    if (const std::string path = os::canonical_path(file); !path.empty() && path == os::canonical_path(out))
      throw UsageError("{}: is the model itself; write the result to another file", out);
  ConvertOptions options;
  options.optimize = arguments.optimize == "none" ? Optimize::none : arguments.optimize == "train" ? Optimize::train : Optimize::standard;
  for (size_t i = 0; i < arguments.shapes.size(); ++i) {
    const NamedShape shape = parse_shape(arguments.shapes[i]);
    if (shape.name.empty())
      options.shapes_in_order.resize(i), options.shapes_in_order.push_back(shape.dims);
    else if (!options.shapes.emplace(shape.name, shape.dims).second)
      throw UsageError("--shape: input \"{}\" is given twice", shape.name);
  }
  options.renames = parse_pairs("--rename", arguments.renames);
  if (!arguments.labels.empty()) options.labels = read_labels(arguments.labels);
  std::map<std::string, std::string> preprocessing;
  if (!arguments.preprocess.empty()) preprocessing = read_keys(arguments.preprocess, "preprocessing");
  for (const auto& [key, value] : preprocessing) options.properties.emplace("preprocess." + key, value);
  for (const std::string& name : arguments.keep_inputs)
    if (std::count(arguments.keep_inputs.begin(), arguments.keep_inputs.end(), name) > 1)
      throw UsageError("--keep-input: \"{}\" is given twice", name);
  options.keep_inputs = arguments.keep_inputs;
  options.signature = arguments.signature;
  options.format = arguments.from;
  options.operators = arguments.operators.load();
  options.verify = arguments.verify;
  options.memory_limit = static_cast<size_t>(arguments.memory_limit_mb * 1e6);
  options.warn = [](std::string_view message) { say(format("warning: {}", message)); };
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
    options.progress = [&](double part) { progress.tell(part); };
    return convert(in, options);
  }();
  if (!preprocessing.empty()) check_preprocessing(preprocessing, model, arguments.preprocess);
  Json kept = Json::array();
  const auto keep = [&](std::string_view message) {
    kept.push_back(message);
    options.warn(message);
  };
  save(model, out,
       {.external_data = arguments.external_data,
        .opset = arguments.opset,
        .weights = arguments.weights,
        .compress = arguments.compress,
        .warn = keep});
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
  auto arguments = std::make_shared<ConvertArguments>();
  std::string known;
  for (const std::string& format : formats()) known += (known.empty() ? "" : ", ") + format;
  CLI::App* command = app.add_subcommand(
      "convert", "Reads a model (" + known +
                     "; recognized by content unless --from names the format), optimizes it and writes a .minnow or .onnx file");
  command->add_option("IN... OUT", arguments->paths, "the model's files, then the file to write")->type_name("");
  command->add_option("-f,--from", arguments->from, "the format that is read, for files that do not look like what they are")
      ->check(one_of(formats()))
      ->type_name("");
  command->add_option("--optimize", arguments->optimize, "none; standard: every pass; train: keeps all parameters and batch normalizations")
      ->transform([](std::string level) { return level == "default" ? std::string("standard") : level; })  // its name until 0.1
      ->check(one_of({"none", "standard", "train"}))
      ->type_name("")
      ->capture_default_str();
  add_repeated(*command, "-s,--shape", arguments->shapes,
               "fix an input's dimensions: name=1x3x224x224 (? leaves one as it is), or the shape alone for the next input in the model's "
               "order; once per input")
      ->type_name("SHAPE");
  add_repeated(*command, "-r,--rename", arguments->renames, "rename an input or output: old=new; once per name")->type_name("OLD=NEW");
  add_repeated(*command, "--keep-input", arguments->keep_inputs,
               "an initializer that the file lists as an input too: stays an input, which runs then have to give; once per name")
      ->type_name("NAME");
  command
      ->add_option(
          "--signature", arguments->signature,
          "of a TensorFlow SavedModel folder (default: serving_default, or the only one) or a TFLite file (default: its first graph)")
      ->type_name("NAME");
  arguments->operators.add_to(*command);
  command
      ->add_option("--memory-limit", arguments->memory_limit_mb,
                   "megabytes that the conversion may allocate, --verify not counted; 0: 256, and 16 times the size of the model's files")
      ->check(number_from(0, 1e12))
      ->type_name("MB")
      ->capture_default_str();
  command->add_option("--labels", arguments->labels, "a text file with a class name per line, kept in the model")->type_name("FILE");
  command
      ->add_option("--preprocess", arguments->preprocess,
                   "a TOML file that says how a picture becomes the input, kept in the model (docs/vision.md)")
      ->type_name("FILE");
  command->add_flag(
      "--verify", arguments->verify,
      "run it before and after optimization and fail, naming the pass, where results differ by more than 1e-4 (in a quantized graph: "
      "where numbers do before they are rounded)");
  command->add_flag("--external-data", arguments->external_data, "OUT.onnx: large constants go to a file OUT.onnx.data beside it");
  command
      ->add_option("--opset", arguments->opset,
                   "OUT.onnx: the operator set that it is written in, 21 to 28 (default 26, or newer where an operator needs it)")
      ->check(whole_number_from(21, 28))
      ->type_name("N");
  command
      ->add_option("--weights", arguments->weights,
                   "OUT.minnow: how the weights of layers are stored; those that f16 or bf16 cannot hold stay f32 and are named")
      ->check(one_of({"f32", "f16", "bf16"}))
      ->type_name("")
      ->capture_default_str();
  command->add_flag("--compress", arguments->compress,
                    "OUT.minnow: store tensors as entropy codes where that saves at least 5 %; they are decoded on load");
  command->add_flag("--dump-passes", arguments->dump_passes, "print what each pass changed");
  add_json(*command, arguments->json);
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
