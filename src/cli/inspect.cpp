// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>

#include "base/format.h"
#include "cli/commands.h"
#include "graph/graph.h"
#include "runtime/measure.h"

namespace minnow::cli {
namespace {

struct InspectArguments {
  std::string model;
  std::vector<std::string> shapes;
  OperatorOptions operators;
  RunOptions run;
  bool plan = false, measure = false, text = false, json = false;
  double seconds = 2;
};

void count_operators(const Graph& graph, std::map<std::string, size_t>& counts) {
  for (const Node& node : graph.nodes()) {
    ++counts[node.op()];
    if (node.op() == "minnow.FusedElementwise") continue;  // its body is what one loop computes, not a list of operators to run
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) count_operators(**subgraph, counts);
  }
}

/// "dtype" and "shape" are null if the model does not define them, and so is an open dimension without a name.
Json describe(const std::vector<ValueDescription>& values) {
  Json list = Json::array();
  for (const ValueDescription& value : values) {
    const bool is_typed = value.is_tensor && value.dtype != DType::undefined;
    Json shape = Json::array();
    for (size_t i = 0; i < value.dims.size(); ++i) {
      const bool is_named = i < value.symbols.size() && !value.symbols[i].empty();
      shape.push_back(value.dims[i] >= 0 ? Json(value.dims[i]) : is_named ? Json(value.symbols[i]) : Json());
    }
    list.push_back({{"name", value.name},
                    {"type", value.type},
                    {"dtype", is_typed ? Json(name_of(value.dtype)) : Json()},
                    {"shape", value.has_rank ? std::move(shape) : Json()}});
  }
  return list;
}

size_t parameters(const Graph& graph) {
  size_t count = 0;
  for (const auto& constant : graph.constants())
    if (is_float(constant->constant()->dtype()) || constant->constant()->elements() > 64)
      count += static_cast<size_t>(constant->constant()->elements());
  for (const Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) count += parameters(**subgraph);
  return count;
}

/// The name, or its beginning and, longer, its end, where names differ. A character of several bytes stays whole.
std::string shortened(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  const auto inside = [&](size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
  size_t head = (width - 3) / 3, tail = name.size() - (width - 3 - head);
  while (head > 0 && inside(head)) --head;
  while (tail < name.size() && inside(tail)) ++tail;
  return name.substr(0, head) + "..." + name.substr(tail);
}

/// A plan, and times of its schemes if they were measured.
struct Planned {
  PlanReport report;
  Measurement measurement;
  bool measured = false;
  std::map<std::pair<std::string, std::string>, double> times = {};

  /// In microseconds; null: this scheme was not measured.
  Json measured_of(const std::string& node, const std::string& scheme) const {
    const auto found = times.find({node, scheme});
    return found == times.end() ? Json() : Json(found->second * 1e6);
  }
};

Json json_of(const Planned& plan) {
  Json rows = Json::array();
  for (const PlanRow& row : plan.report.rows) {
    Json candidates = Json::array();
    for (const SchemeTime& one : row.candidates) {
      candidates.push_back({{"scheme", one.scheme}, {"estimate_us", one.seconds * 1e6}});
      if (plan.measured) candidates.back()["measured_us"] = plan.measured_of(row.node, one.scheme);
    }
    rows.push_back({{"node", row.node},
                    {"op", row.op},
                    {"scheme", row.scheme},
                    {"backend", row.backend},
                    {"shape", row.shape},
                    {"layout", row.layout},
                    {"bytes", row.output_bytes},
                    {"scratch_bytes", row.scratch_bytes},
                    {"flops", row.operations},
                    {"estimate_us", row.estimated_seconds * 1e6},
                    {"candidates", candidates},
                    {"refused", row.refused}});
  }
  Json json = {{"steps", rows},
               {"arena_bytes", plan.report.arena_bytes},
               {"arena_lower_bound", plan.report.arena_lower_bound},
               {"cut", plan.report.cut},
               {"batch_parts", plan.report.batch_parts}};
  if (plan.measured)
    json["choice"] = {{"by_estimate_us", plan.measurement.by_estimate * 1e6},
                      {"by_measurement_us", plan.measurement.by_measurement * 1e6},
                      {"ratio", plan.measurement.by_estimate / plan.measurement.by_measurement}};
  return json;
}

/// `operations`: of a plan, if there is one.
void print_model(const Model& model, const std::map<std::string, size_t>& counts, std::optional<double> operations) {
  const Metadata& metadata = model.graph().metadata;
  const auto list = [](const char* what, const std::vector<ValueDescription>& values) {
    for (const ValueDescription& value : values) std::cout << what << ' ' << value.name << ": " << value.type << '\n';
  };
  if (!metadata.producer.empty() || !metadata.source_format.empty())
    std::cout << "made by " << (metadata.producer.empty() ? "?" : metadata.producer) << ", from "
              << (metadata.source_format.empty() ? "?" : metadata.source_format)
              << (metadata.labels.empty() ? "" : ", " + std::to_string(metadata.labels.size()) + " labels") << '\n';
  list("input ", model.inputs());
  list("output", model.outputs());
  list("state ", model.states());
  size_t nodes = 0;
  for (const auto& [op, count] : counts) nodes += count;
  const size_t inner = nodes - model.graph().node_count();
  std::cout << model.graph().node_count() << " nodes" << (inner ? format(" and {} in subgraphs", inner) : "") << ", "
            << parameters(model.graph()) << " parameters, " << human_bytes(static_cast<double>(model.weight_bytes()));
  if (operations) std::cout << ", " << std::setprecision(4) << *operations * 1e-9 << " GFLOP" << (inner ? " outside subgraphs" : "");
  std::cout << '\n';
  for (const auto& [op, count] : counts) std::cout << "  " << std::setw(5) << count << "  " << op << '\n';
}

/// `refusals`: with the schemes that refused.
void print_plan(const Planned& plan, bool refusals) {
  std::cout << "\nplan: arena " << human_bytes(static_cast<double>(plan.report.arena_bytes)) << " (no less than "
            << human_bytes(static_cast<double>(plan.report.arena_lower_bound)) << ")"
            << (plan.report.cut ? "; what follows depends on data and is planned while running" : "")
            << (plan.report.batch_parts > 1 ? format("; the batch in {} parts, this is one of them", plan.report.batch_parts) : "") << '\n';
  size_t width = 28;  // of the names: long ones lose their middle
  for (const PlanRow& row : plan.report.rows) width = std::clamp<size_t>(row.node.size(), width, 48);
  for (const PlanRow& row : plan.report.rows) {
    std::cout << "  " << std::left << std::setw(static_cast<int>(width)) << shortened(row.node, width) << ' ' << std::setw(20) << row.op
              << ' ' << std::setw(26) << row.scheme << ' ' << std::setw(10) << row.backend << ' ' << std::setw(20) << row.shape << ' '
              << std::setw(9) << row.layout << std::right << std::setw(12) << human_bytes(static_cast<double>(row.output_bytes))
              << std::setw(12) << human_seconds(row.estimated_seconds) << '\n';
    for (const SchemeTime& one : row.candidates) {
      const Json time = plan.measured_of(row.node, one.scheme);
      if (plan.measured)
        std::cout << "      " << (one.scheme == row.scheme ? "chosen " : "       ") << std::left << std::setw(26) << one.scheme
                  << " estimate " << std::right << std::setw(10) << human_seconds(one.seconds) << "  measured "
                  << (time.is_null() ? "-" : human_seconds(time.get<double>() * 1e-6)) << '\n';
    }
    if (refusals)
      for (const std::string& refused : row.refused) std::cout << "      not " << refused << '\n';
  }
  if (plan.measured)
    std::cout << "\na run takes " << human_seconds(plan.measurement.by_estimate) << " with schemes chosen by estimate, "
              << human_seconds(plan.measurement.by_measurement) << " by measurement\n";
}

void inspect_command(const InspectArguments& arguments) {
  const Model model = load_model(arguments.model, arguments.operators);
  if (arguments.text && !arguments.json) {
    std::cout << to_text(model.graph());
    return;
  }
  std::map<std::string, size_t> counts;
  count_operators(model.graph(), counts);
  const Metadata& metadata = model.graph().metadata;
  Json json = {{"model", arguments.model},
               {"source_format", metadata.source_format},
               {"source_hash", metadata.source_hash},
               {"producer", metadata.producer},
               {"properties", metadata.properties},
               {"labels", metadata.labels.size()},
               {"inputs", describe(model.inputs())},
               {"outputs", describe(model.outputs())},
               {"states", describe(model.states())},
               {"nodes", model.graph().node_count()},
               {"operators", counts},
               {"parameters", parameters(model.graph())},
               {"weight_bytes", model.weight_bytes()}};
  // Plans for the shapes that are given, symbolic dimensions being 1: gives the arithmetic too.
  SessionOptions options = arguments.run.session(model);
  options.explain = arguments.plan || arguments.measure;
  Session session(model, options);
  std::vector<Shape> shapes;
  Planned plan{.report = {}, .measurement = {}, .measured = arguments.measure};
  bool planned = std::all_of(model.inputs().begin(), model.inputs().end(), [](const ValueDescription& input) { return input.is_tensor; });
  try {
    std::vector<std::string> open;
    for (const Tensor& input : make_inputs(model, {}, arguments.shapes, true, &open)) shapes.push_back(input.shape());
    run_with_open(open, [&] { session.prepare(shapes); });
    plan.report = session.plan_report();
    if (arguments.measure) {
      const std::vector<Tensor> inputs = make_inputs(model, {}, arguments.shapes, true);
      const std::vector<TensorView> views(inputs.begin(), inputs.end());
      plan.measurement = measure_schemes(model, arguments.run.session(), views, arguments.seconds);
      plan.report = plan.measurement.report;
    }
  } catch (const Error& error) {
    if (arguments.plan || arguments.measure || !arguments.shapes.empty()) throw;
    planned = false;
  }
  double operations = 0;
  for (const PlanRow& row : plan.report.rows) operations += row.operations * static_cast<double>(plan.report.batch_parts);
  if (planned) json["flops"] = operations;
  for (const SchemeTime& time : plan.measurement.times) plan.times[{time.node, time.scheme}] = time.seconds;
  if (arguments.plan || arguments.measure) json["plan"] = json_of(plan);
  if (arguments.text) json["text"] = to_text(model.graph());
  if (arguments.json) return print_json(json);

  print_model(model, counts, planned ? std::optional(operations) : std::nullopt);
  if (arguments.plan || arguments.measure) print_plan(plan, arguments.plan);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand("inspect", "Shows what a model consists of, and with --plan how it will be computed");
  add_model(*command, arguments->model);
  command->add_flag("--plan", arguments->plan,
                    "scheme, backend, layout, bytes and estimate of every node, and why other schemes were refused");
  command->add_flag("--measure", arguments->measure,
                    "measure every scheme that could serve, beside its estimate (runs the model on random input)");
  command->add_option("-n,--seconds", arguments->seconds, "how long to measure")->check(positive())->type_name("S")->capture_default_str();
  command->add_flag("--text", arguments->text, "the graph as text");
  add_repeated(*command, "-s,--shape", arguments->shapes,
               "shape of an input with open dimensions, which are 1 by default: name=1x3x224x224, or the shape alone for the next input in "
               "the model's order; once per input")
      ->type_name("SHAPE");
  arguments->operators.add_to(*command);
  arguments->run.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "  minnow inspect model.onnx\n"
      "  minnow inspect model.minnow --plan --threads 1 --shape image=1x3x640x640");
  command->callback([arguments] { inspect_command(*arguments); });
}

}  // namespace minnow::cli
