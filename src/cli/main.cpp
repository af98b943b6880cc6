// SPDX-License-Identifier: Apache-2.0
// The `minnow` command.
#include <exception>
#include <iostream>

#include "base/format.h"
#include "base/nearest.h"
#include "cli/commands.h"

namespace {

/// What to say of options that a command does not have; empty where something else is too much.
std::string unknown_option(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& word : command->remaining())
      if (word.starts_with("--")) {
        const std::string name = word.substr(0, word.find('='));
        return minnow::format("{} has no option \"{}\"{}", command->get_name(), name, minnow::nearest(name, names));
      }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace minnow;
  CLI::App app{
      "Minnow: converts, runs and examines deep-learning models.\n\n"
      "  minnow convert model.onnx model.minnow       optimize a model and write it in Minnow's format\n"
      "  minnow run model.minnow --input x.npy        compute its outputs, one .npy file each\n"
      "  minnow bench model.minnow --threads 1        how fast it runs here\n"
      "  minnow tune model.minnow --file tuning.txt   measure which ways to compute it are the fastest here, and remember them\n"
      "  minnow compare model.onnx model.minnow       where two models differ\n"
      "  minnow inspect model.minnow --plan           what it consists of and how it will be computed\n"};
  app.set_version_flag("--version", std::string("minnow ") + version());
  app.require_subcommand(1);
  app.fallthrough(false);
  app.failure_message(
      [](const CLI::App* command, const CLI::Error& error) { return "minnow: " + CLI::FailureMessage::simple(command, error); });
  cli::add_convert(app);
  cli::add_run(app);
  cli::add_bench(app);
  cli::add_inspect(app);
  cli::add_profile(app);
  cli::add_ops(app);
  cli::add_compare(app);
  cli::add_tune(app);
  set_log_hook([](std::string_view message) { std::cerr << "minnow: " << message << '\n'; });
  const auto is_first_word = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first_word).empty()) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    std::cerr << "minnow: there is no command \"" << argv[1] << '"' << minnow::nearest(argv[1], names) << "; see minnow --help\n";
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    const std::string unknown = unknown_option(app);
    if (unknown.empty()) return app.exit(error);
    std::cerr << "minnow: " << unknown << '\n';
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const Error& error) {
    std::cerr << "minnow: " << error.what() << '\n';
    return 1;
  } catch (const std::bad_alloc&) {
    std::cerr << "minnow: the system has no more memory\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "minnow: " << error.what() << '\n';
    return 1;
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "minnow: the output could not be written\n";
    return 1;
  }
  return 0;
}
