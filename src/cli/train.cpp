// SPDX-License-Identifier: Apache-2.0
// `minnow train`: the Python package does it, by python/minnow/_training; this file has its command line.
#include "base/error.h"
#include "cli/commands.h"

namespace minnow::cli {

TrainCommand& train_command() {
  static TrainCommand command;
  return command;
}

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
    if (!train_command())
      throw Unsupported("training is in the Python package: pip install it, then python -m minnow train {}", arguments->recipe);
    if (const int status = train_command()(*arguments)) throw CLI::RuntimeError(status);
  });
}

}  // namespace minnow::cli
