// SPDX-License-Identifier: Apache-2.0
// Options that are lists of names, and tables that are listed in errors.
#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/pattern.h"
#include "graph/graph.h"

namespace minnow::compress {

/// The parts of "a, b, c".
std::vector<std::string> words(const std::string& text);
/// Throws InvalidArgument, beginning with `where`.
double number(const std::string& text, const std::string& where);

/// Whether a name or operator fits one of the patterns.
inline bool is_named(const Node& node, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    if (fits_pattern(pattern, node.name()) || node.op() == pattern) return true;
  return false;
}
bool is_layer(const Node& node);
/// The first output that is not absent, as those of recurrences may be.
const Value& first_output(const Node& node);
/// Throws InvalidArgument for a pattern that no node fits. `of_layers`: those that are no layers do not count.
void check_names(const Graph& graph, const std::vector<std::string>& patterns, const char* option, bool of_layers = true);

template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& each : table) (names += names.empty() ? "" : ", ") += each.name;
  return names;
}

}  // namespace minnow::compress
