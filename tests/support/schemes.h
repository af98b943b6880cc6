// SPDX-License-Identifier: Apache-2.0
// Runs a row of the cpu backend's table, and compares its outputs with those of the operator's reference.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/isa.h"
#include "graph/graph.h"
#include "graph/node_view.h"

namespace minnow::cpu {

struct SchemeCase {
  std::string op;
  std::vector<Tensor> inputs;  // an input without a dtype is an absent one
  Attributes attributes = {};
  std::vector<size_t> constants = {};  // which inputs are constants
  size_t outputs = 1;
  double tolerance = 2e-5;  // of the scale of each output
  // The same of rows that serve at precision low alone: factors of 8 bits, two roundings a product, sums of at least one.
  double low_tolerance = 0.02;
  double steps = 0;  // how far integers may be from the reference's: those that are computed in f32 may be on the other side of a tie
};

/// A case with its node and the reference's outputs, which are made when they are first asked for.
class PreparedCase {
 public:
  explicit PreparedCase(SchemeCase test) : test_(std::move(test)) {}
  PreparedCase(const PreparedCase&) = delete;
  PreparedCase& operator=(const PreparedCase&) = delete;
  const SchemeCase& test() const noexcept { return test_; }
  const NodeView& view() { return prepare(), *view_; }
  const std::vector<Tensor>& expected() { return prepare(), expected_; }
  std::string shapes() const;

 private:
  void prepare();
  SchemeCase test_;
  Graph graph_;
  std::vector<ValueInfo> infos_, output_infos_;
  std::vector<const ValueInfo*> inputs_, outputs_;
  std::optional<NodeView> view_;
  std::vector<Tensor> expected_;
};

/// A row of the cpu backend's table, on one instruction set.
struct SchemeRow {
  Isa isa;
  std::string op, name;
};
std::vector<SchemeRow> scheme_rows(Isa isa);

struct SchemeAnswer {
  bool accepted = false;
  bool unavailable = false;  // declined because of the machine or the build (Estimate::unavailable)
  std::string declined;
};
/// Whether the row takes the case, at precision normal or else low.
SchemeAnswer ask_scheme(const SchemeRow& row, PreparedCase& prepared);
/// If it does, runs it with one thread and with three, and expects the same bits from both, close to the reference's. A row that serves at
/// precision low alone is held to a tolerance of its own. Adds a GoogleTest failure for every difference.
SchemeAnswer check_scheme(const SchemeRow& row, PreparedCase& prepared);

/// N(0, sigma), from a seed that follows the shape.
Tensor normal(const Shape& shape, unsigned seed = 1, double sigma = 1);

}  // namespace minnow::cpu
