// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include "base/error.h"
#include "cli/commands.h"
#include "importers/formats.h"
#include "ops/operator.h"
#include "runtime/backends.h"

namespace minnow::cli {
namespace {

struct Arguments {
  std::string backend = "cpu";
  OperatorOptions operators;
  std::string importer;
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

// The operators of another format that its importer reads.
void importer_operators(const Arguments& arguments) {
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
  throw InvalidArgument("there is no importer \"{}\"", arguments.importer);
}

void ops_command(const Arguments& arguments) {
  if (!arguments.importer.empty()) return importer_operators(arguments);
  const std::shared_ptr<Backend> backend = make_backend(arguments.backend, {});
  const std::shared_ptr<const OperatorSet> with_custom = arguments.operators.load();
  const OperatorSet& operators = with_custom ? *with_custom : OperatorSet::builtin();
  Json rows = Json::array();
  for (const Operator* op : operators.list()) {
    std::vector<std::string> schemes;
    for (const Scheme& scheme : backend->schemes())
      if (scheme.op == op->name) schemes.emplace_back(scheme.name);
    if (op->reference) schemes.emplace_back("reference");
    if (op->decompose) schemes.emplace_back("decomposition");
    if (arguments.json) {
      rows.push_back(
          {{"operator", op->name}, {"since_opset", op->since}, {"dtypes", dtypes_of(*op)}, {"schemes", schemes}, {"doc", op->doc}});
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
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("ops", "Lists the operators: since which opset, for which dtypes, by which schemes");
  command->add_option("--backend", arguments->backend, "whose schemes to list")
      ->check(CLI::IsMember(backend_names()))
      ->capture_default_str();
  std::string listed;
  for (const Format& format : import_formats())
    if (format.operators) listed += (listed.empty() ? "" : ", ") + std::string(format.name);
  command->add_option("--importer", arguments->importer, "list the operators of a foreign format that are read: " + listed);
  arguments->operators.add_to(*command);
  command->add_flag("--json", arguments->json, "print JSON, with the documentation");
  command->footer(
      "Schemes are the ways that the backend has to compute an operator; \"reference\" is the plain loop that every operator has,\n"
      "\"decomposition\" one into simpler operators.\n\n"
      "  minnow ops\n"
      "  minnow ops --backend cpu --json");
  command->callback([arguments] { ops_command(*arguments); });
}

}  // namespace minnow::cli
