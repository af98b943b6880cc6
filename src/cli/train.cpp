// SPDX-License-Identifier: Apache-2.0
// `minnow train`: the Python package does it, by python/minnow/_training; this file has its command line.
#include "base/error.h"
#include "base/os_process.h"
#include "cli/commands.h"

namespace minnow::cli {

TrainCommand& train_command() {
  static TrainCommand command;
  return command;
}

namespace {

// The folder of the command is no place of packages: a folder "minnow" there would hide the installed one.
constexpr const char* kProgram = R"(import sys
sys.path = [path for path in sys.path if path]
try:
    from minnow.__main__ import main
except ImportError as error:
    sys.exit(f"minnow: training needs the Python package, which {sys.executable} does not have ({error}); install it with: {sys.executable} -m pip install minnow")
sys.exit(main()))";

[[noreturn]] void train_by_python(const TrainArguments& arguments) {
  std::vector<std::string> command{"python3", "-c", kProgram, "train"};
  if (!arguments.output.empty()) command.push_back("--output=" + arguments.output);
  if (arguments.epochs > 0) command.push_back("--epochs=" + std::to_string(arguments.epochs));
  if (arguments.restart) command.push_back("--restart");
  if (arguments.quiet) command.push_back("--quiet");
  command.insert(command.end(), {"--", arguments.recipe});
  throw Unsupported("training needs the Python package, and python3 cannot be started: {}; install Python and the package minnow",
                    os::become(command));
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "Trains or fine-tunes a network by a recipe (the Python package's command)");
  command->add_option("RECIPE", arguments->recipe, "a TOML file: model, data, optimizer, epochs ... (docs/training.md)")->required();
  command->add_option("-o,--output", arguments->output, "the folder for checkpoints and results, instead of the recipe's")
      ->type_name("FOLDER");
  command->add_option("-e,--epochs", arguments->epochs, "instead of the recipe's")->type_name("N")->check(CLI::Range(1, 1000000000));
  command->add_flag("--restart", arguments->restart, "begin anew although the folder holds a checkpoint");
  command->add_flag("-q,--quiet", arguments->quiet, "print errors alone");
  command->footer(
      "After an interruption the same command goes on at the last checkpoint. The folder then has model.minnow, model.onnx, curves.png,\n"
      "history.json and a log for TensorBoard.\n\n"
      "  minnow train flowers.toml\n"
      "  minnow train flowers.toml --epochs 20 --output flowers-20");
  command->callback([arguments] {
    if (!train_command()) train_by_python(*arguments);
    if (const int status = train_command()(*arguments)) throw CLI::RuntimeError(status);
  });
}

}  // namespace minnow::cli
