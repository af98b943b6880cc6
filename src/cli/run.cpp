// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <set>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/npy.h"

namespace minnow::cli {
namespace {

struct Arguments {
  std::string model, output_dir = ".";
  std::vector<std::string> inputs, shapes;
  OperatorOptions operators;
  RunOptions run;
  bool json = false;
};

void make_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) throw IoError("{}: cannot be made: {}", part, std::strerror(errno));
    if (slash == path.npos) return;
  }
}

std::string file_name(const std::string& output, std::set<std::string>& taken) {
  const std::string name = npy_name(output.empty() ? "output" : output);
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique + ".npy";
}

void write_output(const Datum& value, const std::string& name, const Arguments& arguments, std::set<std::string>& taken, Json& list) {
  if (value.kind == Datum::Kind::sequence) {
    for (size_t i = 0; i < value.items.size(); ++i) write_output(value.items[i], name + "." + std::to_string(i), arguments, taken, list);
    return;
  }
  if (value.kind == Datum::Kind::none) return;
  const std::string path = arguments.output_dir + "/" + file_name(name, taken);
  write_npy(path, value.tensor);
  const Shape& shape = value.tensor.shape();
  list.push_back({{"name", name},
                  {"file", path},
                  {"dtype", name_of(value.tensor.dtype())},
                  {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
}

void run_command(const Arguments& arguments) {
  const Model model = load_model(arguments.model, arguments.operators, arguments.inputs);
  const std::vector<Tensor> inputs = make_inputs(model, arguments.inputs, arguments.shapes, false);
  Session session(model, arguments.run.session(model));
  const Stopwatch watch;
  std::vector<Datum> outputs;
  {
    Progress progress("running " + arguments.model);
    outputs = session.run_any(std::vector<Datum>(inputs.begin(), inputs.end()));
  }
  const double seconds = watch.seconds();
  make_folder(arguments.output_dir);
  Json list = Json::array();
  std::set<std::string> taken;
  for (size_t k = 0; k < outputs.size(); ++k) write_output(outputs[k], model.outputs()[k].name, arguments, taken, list);
  if (arguments.json) {
    print_json({{"outputs", list}});
    return;
  }
  for (const Json& row : list)
    std::cout << row["name"].get<std::string>() << ": " << row["dtype"].get<std::string>() << row["shape"].dump() << " in "
              << row["file"].get<std::string>() << '\n';
  std::cout << "ran in " << human_seconds(seconds) << " (with planning)\n";
}

}  // namespace

void add_run(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("run", "Computes a model's outputs from .npy files");
  command->add_option("model", arguments->model, "a .minnow file, or a model of any format that convert reads")->required();
  command->add_option("--input", arguments->inputs, "name=x.npy, or x.npy for the next input in the model's order; once per input");
  command->add_option("--output-dir", arguments->output_dir, "where to write one .npy file per output, named after it")
      ->capture_default_str();
  arguments->operators.add_to(*command);
  arguments->run.add_to(*command);
  command->add_flag("--json", arguments->json, "print JSON");
  command->footer(
      "Each output is written as DIR/NAME.npy; in its name every character but letters, digits, '.', '_' and '-' becomes '_'. With --json\n"
      "stdout holds {\"outputs\": [{\"name\", \"file\", \"dtype\", \"shape\"}, ...]} in the model's order.\n\n"
      "  minnow run model.minnow --input x.npy --output-dir out\n"
      "  minnow run model.onnx --input image=a.npy --input scale=b.npy --threads 2 --json");
  command->callback([arguments] { run_command(*arguments); });
}

}  // namespace minnow::cli
