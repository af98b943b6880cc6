// SPDX-License-Identifier: Apache-2.0
#include "compress/costs.h"

#include <unordered_map>

#include "base/error.h"

namespace minnow::compress {
namespace {

struct Cost {
  double operations = 0, seconds = 0;
};

/// By the names of nodes, or of the first output where a node has no name.
std::unordered_map<std::string, Cost> costs_of(const Model& model, std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  std::unordered_map<std::string, Cost> costs;
  try {
    Session session(model);
    session.prepare(shapes);
    const PlanReport report = session.plan_report();
    for (const PlanRow& row : report.rows) {
      if (row.depth != 0) continue;
      Cost& cost = costs[row.node];
      cost.operations += row.operations * static_cast<double>(report.batch_parts);
      cost.seconds += row.estimated_seconds * static_cast<double>(report.batch_parts);
    }
  } catch (const Error&) {
    costs.clear();
  }
  return costs;
}

}  // namespace

void add_costs(std::vector<LayerReport>& rows, const Model& before, const Model& after, std::span<const Tensor> inputs) {
  const auto of_before = costs_of(before, inputs), of_after = costs_of(after, inputs);
  for (LayerReport& row : rows) {
    const auto find = [&](const std::unordered_map<std::string, Cost>& costs) {
      const auto found = costs.contains(row.node) ? costs.find(row.node) : costs.find(row.output);
      return found == costs.end() ? Cost() : found->second;
    };
    const Cost f32 = find(of_before), made = find(of_after);
    if (row.operations == 0) row.operations = f32.operations;
    if (f32.seconds > 0 && made.seconds > 0) row.seconds_before = f32.seconds, row.seconds_after = made.seconds;
  }
}

}  // namespace minnow::compress
