// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "base/error.h"
#include "base/os.h"
#include "cli/commands.h"

namespace minnow::cli {
namespace {

struct ProfileArguments : MeasureOptions {
  std::string trace;
};

/// The rows by time, the slowest first, each followed by those of the nodes within it.
std::vector<PlanRow> by_time(std::span<const PlanRow> rows) {
  std::vector<std::span<const PlanRow>> groups;
  for (size_t i = 0, end; i < rows.size(); i = end) {
    for (end = i + 1; end < rows.size() && rows[end].depth > rows[i].depth;) ++end;
    groups.push_back(rows.subspan(i, end - i));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.front().best_seconds > b.front().best_seconds; });
  std::vector<PlanRow> sorted;
  for (const std::span<const PlanRow>& group : groups) {
    sorted.push_back(group.front());
    for (PlanRow& row : by_time(group.subspan(1))) sorted.push_back(std::move(row));
  }
  return sorted;
}

void check_trace(const std::string& file) { os::check_replaceable(file, "{\"traceEvents\":[", "a trace"); }

void profile_command(const ProfileArguments& arguments) {
  if (!arguments.trace.empty()) check_trace(arguments.trace);
  const Model model = load_model(arguments.model, arguments.operators, arguments.inputs);
  std::vector<std::string> open;
  const std::vector<Tensor> inputs = make_inputs(model, arguments.inputs, arguments.shapes, true, &open);
  Session session(model, arguments.run.session(model));
  {
    Progress progress("measuring");
    RepeatedRun repeated(model, session, inputs);
    run_with_open(open, [&] { repeated.run(); });
    session.set_profiling(true);
    const Stopwatch total;
    do {
      repeated.run();
      progress.tell(total.seconds() / arguments.seconds);
    } while (total.seconds() < arguments.seconds);
  }
  PlanReport report = session.plan_report();
  if (!arguments.trace.empty()) {
    const std::string trace = chrome_trace(report);
    os::write_file_atomically(arguments.trace, [&](const os::ByteSink& sink) { sink(std::as_bytes(std::span(trace))); });
  }
  double sum = 0;
  for (const PlanRow& row : report.rows)
    if (row.depth == 0) sum += row.best_seconds;
  if (arguments.json) {
    Json rows = Json::array();
    for (const PlanRow& row : report.rows)
      rows.push_back({{"node", row.node},
                      {"op", row.op},
                      {"scheme", row.scheme},
                      {"backend", row.backend},
                      {"shape", row.shape},
                      {"layout", row.layout},
                      {"best_us", row.best_seconds * 1e6},
                      {"estimate_us", row.estimated_seconds * 1e6},
                      {"flops", row.operations},
                      {"runs", row.runs},
                      {"calls", row.calls},
                      {"owner", row.owner}});
    return print_json({{"model", arguments.model}, {"sum_of_best_us", sum * 1e6}, {"batch_parts", report.batch_parts}, {"nodes", rows}});
  }
  std::cout << "     time   share  GFLOP/s  estimate  node\n" << std::fixed;
  for (const PlanRow& row : by_time(report.rows)) {
    std::cout << std::setw(9) << human_seconds(row.best_seconds) << std::setw(7) << std::setprecision(1)
              << 100 * row.best_seconds / std::max(sum, 1e-12) << "%" << std::setw(9)
              << row.operations / std::max(row.best_seconds, 1e-9) * 1e-9 << std::setw(10) << human_seconds(row.estimated_seconds) << "  "
              << std::string(2 * row.depth, ' ') << row.op << " " << (row.depth ? row.owner + "/" : "") << row.node << " " << row.shape
              << " (" << row.scheme << ", " << row.layout << (row.depth ? format(", {} calls", row.calls) : "") << ")\n";
  }
  std::cout << (report.batch_parts > 1 ? format("one of {} parts of the batch; ", report.batch_parts) : "")
            << "sum of the best times: " << human_seconds(sum) << '\n';
}

}  // namespace

void add_profile(CLI::App& app) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command = app.add_subcommand("profile", "Measures every node of a model");
  arguments->add_to(*command, 1);
  command->add_option("--trace", arguments->trace, "write the last run as a trace file for chrome://tracing or Perfetto")
      ->type_name("FILE");
  command->footer(
      "The time of a node is the least of all runs, the estimate what the planner expected. Nodes inside If, Loop and Scan follow the\n"
      "node that they belong to, whose time includes theirs, each with all its calls in a run.\n\n"
      "  minnow profile model.minnow --threads 1\n"
      "  minnow profile model.minnow --trace trace.json");
  command->callback([arguments] { profile_command(*arguments); });
}

}  // namespace minnow::cli
