// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <iostream>

#include "base/os.h"
#include "cli/commands.h"
#include "runtime/backends.h"

namespace minnow::cli {
namespace {

void bench_command(const MeasureOptions& arguments) {
  size_t base_bytes = os::resident_bytes();
  const Stopwatch load;
  const Model model = load_model(arguments.model, arguments.operators, arguments.inputs);
  const double load_seconds = load.seconds();
  std::vector<std::string> open;
  // The caller makes the inputs, so neither their memory nor the time to make them counts for the model.
  const size_t loaded_bytes = os::resident_bytes();
  const std::vector<Tensor> inputs = make_inputs(model, arguments.inputs, arguments.shapes, true, &open);
  base_bytes += os::resident_bytes() - loaded_bytes;
  const SessionOptions options = arguments.run.session(model);
  Session session(model, options);
  std::vector<Shape> input_shapes;
  for (const Tensor& input : inputs) input_shapes.push_back(input.shape());
  RepeatedRun repeated(model, session, inputs);
  double plan_seconds = 0, first_seconds = 0;
  {
    Progress progress("planning, and running a first time");
    run_with_open(open, [&] {
      const Stopwatch plan;
      session.prepare(input_shapes);
      plan_seconds = plan.seconds();
      const Stopwatch first;
      repeated.run();
      first_seconds = first.seconds();
    });
  }
  std::vector<double> times;
  double least_cpu = 1e30;
  {
    Progress progress("measuring");
    const Stopwatch total;
    while (times.size() < 5 || (total.seconds() < arguments.seconds && times.size() < 1000000)) {
      const std::clock_t cpu = std::clock();
      const Stopwatch one;
      repeated.run();
      times.push_back(one.seconds());
      progress.tell(std::min(total.seconds() / arguments.seconds, static_cast<double>(times.size()) / 5));
      least_cpu = std::min(least_cpu, static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
    }
  }
  std::sort(times.begin(), times.end());
  const BackendOptions used = backend_options(options);  // threads as they are, not as they were asked for
  const size_t steady_bytes = os::resident_bytes(), peak_bytes = os::peak_resident_bytes();  // before the peak's own
  const size_t arena_bytes = session.arena_bytes();
  // Profile, because the arithmetic in If, Loop and Scan depends on the run.
  session.set_profiling(true);
  repeated.run();
  double operations = 0;
  const PlanReport report = session.plan_report();
  for (const PlanRow& row : report.rows) operations += row.operations * static_cast<double>(report.batch_parts);
  const double peak = report.rows.empty() ? 0 : make_backend(report.rows.front().backend, used)->measure_peak();
  const double median = times[times.size() / 2], gflops = operations / times[0] * 1e-9;
  Json json = {{"model", arguments.model},
               {"backend", arguments.run.backend},
               {"threads", used.threads},
               {"runs", times.size()},
               {"min_ms", times[0] * 1e3},
               {"median_ms", median * 1e3},
               {"min_cpu_ms", least_cpu * 1e3},
               {"p90_ms", times[times.size() * 9 / 10] * 1e3},
               {"load_ms", load_seconds * 1e3},
               {"plan_ms", plan_seconds * 1e3},
               {"first_run_ms", first_seconds * 1e3},
               {"arena_bytes", arena_bytes},
               {"weight_bytes", model.weight_bytes()},
               {"base_rss_bytes", base_bytes},
               {"steady_rss_bytes", steady_bytes},
               {"peak_rss_bytes", peak_bytes},
               {"gflops", gflops},
               {"peak_fraction", peak > 0 ? Json(operations / times[0] / peak) : Json()}};
  if (arguments.json) return print_json(json);
  std::cout << "min " << human_seconds(times[0]) << ", median " << human_seconds(median) << ", 90 % "
            << human_seconds(times[times.size() * 9 / 10]) << " over " << times.size() << " runs, " << used.threads
            << (used.threads == 1 ? " thread\n" : " threads\n") << "load " << human_seconds(load_seconds) << ", plan "
            << human_seconds(plan_seconds) << ", first run " << human_seconds(first_seconds) << '\n'
            << "arena " << human_bytes(static_cast<double>(arena_bytes)) << ", weights "
            << human_bytes(static_cast<double>(model.weight_bytes())) << ", memory " << human_bytes(static_cast<double>(steady_bytes))
            << ", peak memory " << human_bytes(static_cast<double>(peak_bytes)) << '\n';
  std::cout.precision(4);
  std::cout << gflops << " GFLOP/s";
  if (peak > 0) std::cout << ", " << 100 * operations / times[0] / peak << " % of the measured peak of " << peak * 1e-9 << " GFLOP/s";
  std::cout << '\n';
}

}  // namespace

void add_bench(CLI::App& app) {
  auto arguments = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measures how fast a model runs here");
  arguments->add_to(*command, 2);
  command->footer(
      "min_ms is what the model needs where nothing disturbs it. gflops counts a multiply-add as two operations; peak_fraction is its\n"
      "share of what the machine reaches, measured here, with multiply-adds alone.\n\n"
      "  minnow bench model.minnow --threads 1 --seconds 5\n"
      "  minnow bench detector.onnx --shape image=1x3x640x640 --json");
  command->callback([arguments] { bench_command(*arguments); });
}

}  // namespace minnow::cli
