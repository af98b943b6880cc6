// SPDX-License-Identifier: Apache-2.0
#include "compress/names.h"

#include <charconv>
#include <cmath>
#include <set>

namespace minnow::compress {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(", ", at), text.size());
    if (end > at) list.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return list;
}

double number(const std::string& text, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidArgument("{}: \"{}\" is not a number", where, text);
  return value;
}

const Value& first_output(const Node& node) {
  size_t i = 0;
  while (!node.output(i)) ++i;
  return *node.output(i);
}

bool is_layer(const Node& node) {
  return node.op() == "Conv" || node.op() == "ConvTranspose" || node.op() == "Gemm" || node.op() == "MatMul";
}

void check_names(const Graph& graph, const std::vector<std::string>& patterns, const char* option, bool of_layers) {
  for (const std::string& pattern : patterns) {
    std::set<std::string> names;
    bool found = false;
    for (const Node& node : graph.nodes())
      if (!of_layers || is_layer(node)) found |= is_named(node, {pattern}), names.insert({node.name(), node.op()});
    if (!found)
      throw InvalidArgument(
          of_layers ? "{}: no layer of the model has the name \"{}\"{}" : "{}: the model has no node or operator \"{}\"{}", option, pattern,
          nearest(pattern, std::vector<std::string>(names.begin(), names.end())));
  }
}

}  // namespace minnow::compress
