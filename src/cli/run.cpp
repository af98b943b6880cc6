// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <set>

#include "base/error.h"
#include "cli/commands.h"
#include "data/npy.h"

namespace minnow::cli {
namespace {

struct RunArguments {
  std::string model, output_dir = ".";
  std::vector<std::string> inputs, shapes;
  OperatorOptions operators;
  RunOptions run;
  PictureOptions pictures;
  bool json = false, random = false;
};

void make_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) throw IoError("{}: cannot be made: {}", part, std::strerror(errno));
    if (slash == path.npos) return;
  }
}

std::string file_name(const std::string& output, std::set<std::string>& taken) {
  const std::string name = data::npy_name(output.empty() ? "output" : output);
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique + ".npy";
}

void write_output(const Datum& value, const std::string& name, const RunArguments& arguments, std::set<std::string>& taken, Json& list) {
  if (value.kind == Datum::Kind::sequence) {
    for (size_t i = 0; i < value.items.size(); ++i) write_output(value.items[i], name + "." + std::to_string(i), arguments, taken, list);
    return;
  }
  if (value.kind == Datum::Kind::none) return;
  const std::string path = arguments.output_dir + "/" + file_name(name, taken);
  data::write_npy(path, value.tensor);
  const Shape& shape = value.tensor.shape();
  list.push_back({{"name", name},
                  {"file", path},
                  {"dtype", name_of(value.tensor.dtype())},
                  {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
}

void run_command(const RunArguments& arguments) {
  const Model model = load_model(arguments.model, arguments.operators, arguments.inputs);
  std::vector<std::string> open;
  const std::vector<Tensor> inputs =
      make_inputs(model, arguments.inputs, arguments.shapes, arguments.random, &open, arguments.pictures, ", or --random");
  Session session(model, arguments.run.session(model));
  const Stopwatch watch;
  std::vector<Datum> outputs;
  {
    Progress progress("running " + arguments.model);
    run_with_open(open, [&] { outputs = session.run_any(std::vector<Datum>(inputs.begin(), inputs.end())); });
  }
  const double seconds = watch.seconds();
  make_folder(arguments.output_dir);
  Json list = Json::array();
  std::set<std::string> taken;
  for (size_t k = 0; k < outputs.size(); ++k) write_output(outputs[k], model.outputs()[k].name, arguments, taken, list);
  const Json labels = labels_of(model, outputs);
  if (arguments.json) {
    Json json = {{"outputs", list}};
    if (!labels.empty()) json["labels"] = labels;
    print_json(json);
    return;
  }
  for (const Json& row : labels) {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%5.1f%%", 100 * row["probability"].get<double>());
    std::cout << percent << "  " << row["label"].get<std::string>() << '\n';
  }
  for (const Json& row : list)
    std::cout << row["name"].get<std::string>() << ": " << row["dtype"].get<std::string>() << row["shape"].dump() << " in "
              << row["file"].get<std::string>() << '\n';
  std::cout << "ran in " << human_seconds(seconds) << " (with planning)\n";
}

}  // namespace

void add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Computes a model's outputs");
  add_model(*command, arguments->model);
  add_repeated(*command, "-i,--input", arguments->inputs,
               "name=FILE, or FILE for the next input in the model's order; once per input. A .npy file, a picture (JPEG, PNG, WebP, BMP, "
               "PNM), or a .npz file, whose arrays go to inputs by their names, or by place where no input has the name of one")
      ->type_name("FILE");
  command->add_flag("--random", arguments->random, "inputs that are not given are random: normal numbers, integers 0 or 1");
  add_repeated(
      *command, "-s,--shape", arguments->shapes,
      "shape of a random input or a picture, whose open dimensions are 1 otherwise: name=1x3x224x224, or the shape alone for the next "
      "input in the model's order")
      ->type_name("SHAPE");
  command->add_option("-o,--output-dir", arguments->output_dir, "where to write one .npy file per output, named after it")
      ->type_name("DIR")
      ->capture_default_str();
  arguments->pictures.add_to(*command);
  arguments->operators.add_to(*command);
  arguments->run.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "Each output is written as DIR/NAME.npy; in its name every character but letters, digits, '.', '_' and '-' becomes '_', and a very\n"
      "long name is shortened. With --json stdout holds {\"outputs\": [{\"name\", \"file\", \"dtype\", \"shape\"}, ...]} in the model's "
      "order. If the model carries labels, the five likeliest come first.\n\n"
      "  minnow run model.minnow --input x.npy --output-dir out\n"
      "  minnow run model.onnx --input image=a.npy --input scale=b.npy --threads 2 --json\n"
      "  minnow run classifier.onnx --input cat.jpg --fit crop --mean 123.7,116.3,103.5 --scale 0.0171,0.0175,0.0174\n"
      "  minnow run model.onnx --random --shape image=1x3x640x640");
  command->callback([arguments] { run_command(*arguments); });
}

}  // namespace minnow::cli
