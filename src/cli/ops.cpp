// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "ops/operator.h"
#include "runtime/backends.h"

namespace minnow::cli {
namespace {

struct Arguments {
  std::string backend = "cpu";
  bool json = false;
};

std::vector<std::string> dtypes_of(const Operator& op) {
  std::vector<std::string> names;
  if (op.inputs.empty()) return names;
  for (int i = 1; i < 32; ++i)
    if ((op.inputs[0].dtypes >> i) & 1) names.emplace_back(name_of(static_cast<DType>(i)));
  return names;
}

void ops_command(const Arguments& arguments) {
  const std::shared_ptr<Backend> backend = make_backend(arguments.backend, {});
  Json rows = Json::array();
  for (const Operator* op : OperatorSet::builtin().list()) {
    std::vector<std::string> schemes;
    for (const Scheme& scheme : backend->schemes())
      if (scheme.op == op->name) schemes.emplace_back(scheme.name);
    if (op->reference) schemes.emplace_back("reference");
    if (op->decompose) schemes.emplace_back("decomposition");
    rows.push_back(
        {{"operator", op->name}, {"since_opset", op->since}, {"dtypes", dtypes_of(*op)}, {"schemes", schemes}, {"doc", op->doc}});
  }
  if (arguments.json) return print_json({{"backend", arguments.backend}, {"operators", rows}});
  for (const Json& row : rows) {
    std::string schemes;
    for (const Json& scheme : row["schemes"]) schemes += (schemes.empty() ? "" : ", ") + scheme.get<std::string>();
    std::cout << std::left << std::setw(28) << row["operator"].get<std::string>() << " since " << std::setw(3)
              << row["since_opset"].get<int>() << "  " << schemes << '\n';
  }
  std::cout << rows.size() << " operators\n";
}

}  // namespace

void add_ops(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("ops", "Lists the operators: since which opset, for which dtypes, by which schemes");
  command->add_option("--backend", arguments->backend, "whose schemes to list")
      ->check(CLI::IsMember(backend_names()))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print JSON, with the documentation");
  command->callback([arguments] { ops_command(*arguments); });
}

}  // namespace minnow::cli
