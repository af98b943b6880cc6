// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "importers/formats.h"
#include "ops/custom.h"
#include "runtime/backends.h"

namespace minnow::cli {
namespace {

struct OpsArguments {
  std::string backend = "cpu";
  OperatorOptions operators;
  std::string importer;
  std::vector<std::string> used_by;
  bool json = false;
};

std::vector<std::string> dtypes_of(const Operator& op) {
  std::vector<std::string> names;
  if (op.inputs.empty()) return names;
  for (int i = 1; i < 32; ++i)
    if ((op.inputs[0].dtypes >> i) & 1) names.emplace_back(name_of(static_cast<DType>(i)));
  return names;
}

// "floats, ints, bool": whole families by their name, the rest one by one.
std::string families_of(const Operator& op) {
  if (op.inputs.empty()) return "-";
  struct Family {
    const char* name;
    DTypes dtypes;
  };
  constexpr Family kFamilies[] = {{"all", kAny},
                                  {"floats", kFloats},
                                  {"ints", kInts},
                                  {"bool", kBool},
                                  {"8- and 4-bit floats", kFloat8},
                                  {"4- and 2-bit ints", kSubByte}};
  DTypes left = op.inputs[0].dtypes;
  std::string text;
  const auto add = [&](std::string_view name) { text.append(text.empty() ? "" : ", ").append(name); };
  for (const Family& family : kFamilies)
    if ((left & family.dtypes) == family.dtypes) left &= ~family.dtypes, add(family.name);
  for (int i = 1; i < 32; ++i)
    if ((left >> i) & 1) add(name_of(static_cast<DType>(i)));
  return text;
}

// How the operator is differentiated: by a "rule", through its "parts" (the decomposition), by where its elements are "moved" from, through
// the "tensors" of sequences and optionals, or not.
std::string_view gradient_of(const Operator& op) {
  bool floats = false;
  for (const InputSpec& input : op.inputs) floats = floats || (input.dtypes & kFloats);
  if (!floats && op.name != "If") return "";
  for (const AttributeSpec& attribute : op.attributes)
    if (attribute.kind == AttributeKind::graph && !op.decompose) return op.name == "SequenceMap" ? "tensors" : "rule";
  if (op.gradient) return "rule";
  if (moves_data(op.elements) && op.inputs[0].arity != Arity::variadic) return "moved";
  if (op.decompose) return "parts";
  const std::string_view name = op.name;
  const bool holds = name.find("Sequence") != name.npos || name.starts_with("Optional");
  return holds && op.outputs[0].dtype.kind != DTypeRule::Kind::fixed ? "tensors" : "";
}

// The operators of another format that its importer reads.
void importer_operators(const OpsArguments& arguments) {
  for (const Format& format : import_formats()) {
    if (format.name != arguments.importer) continue;
    if (!format.operators) throw InvalidArgument("the operators of the format {} are Minnow's own: see `minnow ops`", format.name);
    Json rows = Json::array();
    for (const ForeignOperator& op : format.operators()) {
      rows.push_back({{"operator", op.name}, {"notes", op.notes}});
      if (!arguments.json) std::cout << std::left << std::setw(34) << op.name << "  " << op.notes << '\n';
    }
    if (arguments.json) return print_json({{"importer", arguments.importer}, {"operators", rows}});
    std::cout << rows.size() << " operators\n";
    return;
  }
  std::vector<std::string> names;
  for (const Format& format : import_formats()) names.emplace_back(format.name);
  throw UsageError("there is no importer \"{}\"{}", arguments.importer, nearest(arguments.importer, names));
}

void add_operators(const Graph& graph, std::set<std::string>& names) {
  for (const Node& node : graph.nodes()) {
    names.insert(node.op());
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) add_operators(**subgraph, names);
  }
}

// The operators that models need: those of their nodes, and those that plans substitute for them.
void used_operators(const OpsArguments& arguments) {
  const std::shared_ptr<Backend> backend = make_backend(arguments.backend, {});
  const OperatorSet& builtin = OperatorSet::builtin();
  std::set<std::string> names;
  for (const std::string& path : arguments.used_by) {
    const Model model = load_model(path, arguments.operators);
    add_operators(model.graph(), names);
    try {
      SessionOptions options;
      options.backends = {arguments.backend};
      Session session(model, options);
      std::vector<Shape> shapes;
      for (const Tensor& input : make_inputs(model, {}, {}, true)) shapes.push_back(input.shape());
      session.prepare(shapes);
      for (const PlanRow& row : session.plan_report().rows) names.insert(row.op);
    } catch (const Error&) {  // it cannot be planned without its inputs
    }
  }
  std::erase_if(names, [&](const std::string& name) { return !builtin.find(name); });
  size_t schemes = 0;
  for (const Scheme& scheme : backend->schemes()) schemes += names.contains(std::string(scheme.op));
  const size_t all = builtin.list().size(), all_schemes = backend->schemes().size();
  if (arguments.json) return print_json({{"operators", names}, {"of_operators", all}, {"schemes", schemes}, {"of_schemes", all_schemes}});
  for (const std::string& name : names) std::cout << name << '\n';
  std::cout << names.size() << " of " << all << " operators, " << schemes << " of " << all_schemes << " schemes\n";
}

void ops_command(const OpsArguments& arguments) {
  if (!arguments.used_by.empty()) return used_operators(arguments);
  if (!arguments.importer.empty()) return importer_operators(arguments);
  const std::shared_ptr<Backend> backend = make_backend(arguments.backend, {});
  const std::shared_ptr<const OperatorSet> with_custom = arguments.operators.load();
  const OperatorSet& operators = with_custom ? *with_custom : OperatorSet::builtin();
  Json rows = Json::array();
  for (const Operator* op : operators.list()) {
    std::vector<std::string> schemes;
    for (const Scheme& scheme : backend->schemes())
      if (scheme.op == op->name) schemes.emplace_back(scheme.name);
    if (op->custom && arguments.backend == "cpu")
      for (const minnow_op_scheme* scheme : custom_op_schemes(*op)) schemes.emplace_back(scheme->name);
    if (op->reference) schemes.emplace_back("reference");
    if (op->decompose) schemes.emplace_back("decomposition");
    if (arguments.json) {
      rows.push_back({{"operator", op->name},
                      {"since_opset", op->since},
                      {"dtypes", dtypes_of(*op)},
                      {"schemes", schemes},
                      {"gradient", gradient_of(*op)},
                      {"doc", op->doc}});
      continue;
    }
    std::string list;
    for (const std::string& scheme : schemes) list += (list.empty() ? "" : ", ") + scheme;
    std::cout << std::left << std::setw(34) << op->name << " since " << std::setw(3) << op->since << "  " << std::setw(24)
              << families_of(*op) << "  " << list << '\n';
  }
  if (arguments.json) return print_json({{"backend", arguments.backend}, {"operators", rows}});
  std::cout << operators.list().size() << " operators (dtypes: of the first input)\n";
}

}  // namespace

void add_ops(CLI::App& app) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App* command = app.add_subcommand("ops", "Lists the operators: since which opset, for which dtypes, by which schemes");
  command->add_option("-b,--backend", arguments->backend, "whose schemes to list")
      ->check(one_of(backend_names()))
      ->type_name("")
      ->capture_default_str();
  std::string listed;
  for (const Format& format : import_formats())
    if (format.operators) listed += (listed.empty() ? "" : ", ") + std::string(format.name);
  command->add_option("--importer", arguments->importer, "list the operators of a foreign format that are read: " + listed)
      ->type_name("FORMAT");
  command->add_option("--used-by", arguments->used_by, "list only what these models need, of any format that convert reads")
      ->type_name("FILE...");
  arguments->operators.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "Schemes are the ways that the backend has to compute an operator; \"reference\" is the plain loop that every operator has,\n"
      "\"decomposition\" one into simpler operators.\n\n"
      "  minnow ops\n"
      "  minnow ops --used-by mobilenet_v1.minnow\n"
      "  minnow ops --backend cpu --json");
  command->callback([arguments] { ops_command(*arguments); });
}

}  // namespace minnow::cli
