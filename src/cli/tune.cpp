// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <set>

#include "cli/commands.h"

namespace minnow::cli {
namespace {

struct TuneArguments : MeasureOptions {
  std::string file;
};

// Where power is given.
std::string place_of(const Tuning& tuning) {
  if (tuning.active_wait < 0) return {};
  std::string text =
      "threads wait " + human_seconds(tuning.active_wait) + " actively, each on " + (tuning.pin_threads ? "one" : "any") + " of the cores";
  for (const int core : tuning.cores) text += " " + std::to_string(core);
  return text + "; a run takes " + human_seconds(tuning.cpu_seconds) + " of processor time\n";
}

void tune_command(const TuneArguments& arguments) {
  check_tuning_file(arguments.file);
  const Model model = load_model(arguments.model, arguments.operators, arguments.inputs);
  std::vector<std::string> open;
  const std::vector<Tensor> inputs = make_inputs(model, arguments.inputs, arguments.shapes, true, &open);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const SessionOptions options = arguments.run.session();
  const Stopwatch watch;
  Tuning tuning;
  {
    Progress progress("measuring");
    run_with_open(open, [&] { tuning = tune(model, options, views, arguments.seconds, [&](double part) { progress.tell(part); }); });
  }
  save_tuning(arguments.file, model, options, tuning);
  std::set<std::string> nodes;
  for (const SchemeTime& time : tuning.times) nodes.insert(time.node);
  if (arguments.json)
    return print_json({{"model", arguments.model},
                       {"file", arguments.file},
                       {"threads", tuning.threads},
                       {"active_wait_us", tuning.active_wait < 0 ? Json() : Json(tuning.active_wait * 1e6)},
                       {"pin_threads", tuning.pin_threads},
                       {"cores", tuning.cores},
                       {"cpu_ms", tuning.cpu_seconds > 0 ? Json(tuning.cpu_seconds * 1e3) : Json()},
                       {"nodes", nodes.size()},
                       {"by_estimate_ms", tuning.seconds_by_estimate * 1e3},
                       {"tuned_ms", tuning.seconds_tuned * 1e3},
                       {"tuning_s", watch.seconds()}});
  std::cout << "a run takes " << human_seconds(tuning.seconds_by_estimate) << " by estimates, " << human_seconds(tuning.seconds_tuned)
            << " tuned" << (tuning.threads ? " on " + std::to_string(tuning.threads) + " threads" : std::string()) << "; "
            << (nodes.empty() ? std::string("the estimates' choices stay") : "times of " + std::to_string(nodes.size()) + " nodes are kept")
            << "\n"
            << place_of(tuning) << arguments.file << " is written after " << human_seconds(watch.seconds()) << '\n';
}

}  // namespace

void add_tune(CLI::App& app) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command =
      app.add_subcommand("tune", "Measures which ways to compute a model are the fastest here, and remembers them in a file");
  arguments->add_to(*command, 5, false);
  command->add_option("-f,--file", arguments->file, "where to remember it; what the file says about other models and shapes stays")
      ->type_name("FILE")
      ->required();
  command->footer(
      "The file serves runs with the same options on the same machine with the same version of Minnow, by --tuning; where it does not\n"
      "fit, or is damaged, one line says so and plans are made by estimates. With --threads 0 it also remembers how many threads are the\n"
      "fastest, and with --power on which cores and how long they wait: of all that were tried the fastest (performance), what takes the\n"
      "least processor time within 5 % of that (balanced), or within twice that (efficient). One file holds any number of models, shapes "
      "and machines. Measure while the machine does nothing else.\n\n"
      "  minnow tune model.minnow --file tuning.txt --seconds 10\n"
      "  minnow tune detector.minnow --file tuning.txt --shape image=1x3x640x640 --threads 1\n"
      "  minnow bench detector.minnow --tuning tuning.txt --shape image=1x3x640x640 --threads 1");
  command->callback([arguments] { tune_command(*arguments); });
}

}  // namespace minnow::cli
