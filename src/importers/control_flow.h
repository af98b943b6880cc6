// SPDX-License-Identifier: Apache-2.0
// If and Loop out of the subgraphs and functions that formats have for branches and loops.
#pragma once
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/unique_names.h"

namespace minnow {

/// The body of a Loop, with the two inputs that every body has.
struct LoopBody : InnerGraph {
  LoopBody(const TypedBuilder& outside, UniqueNames& names);
  Expr iteration, condition;
};

/// A value as a loop begins.
struct LoopValue {
  Expr start;           // empty: a variable, which is no value
  bool changes = true;  // false: each iteration gives it back as it came, so the body reads the value outside
  ValueType type = {};  // in the body
  std::string name = "carried";
};

/// The type of a loop-carried value in every iteration: the dtype and rank of `start`. A size stays known only if `start` and `fixed`
/// agree on it, because other sizes may change.
ValueType carried_type(TypedBuilder& builder, const Expr& start, const Ints& fixed = {});

/// An If over the branches, which fill graphs of their own.
Exprs make_if(TypedBuilder& builder, const ForeignNode& node, const Expr& condition, FunctionRef<Exprs(TypedBuilder&)> then_branch,
              FunctionRef<Exprs(TypedBuilder&)> else_branch);

/// A Loop that runs body(values) while condition(values) is true; both fill a graph that is given. The results are in the order of the
/// values.
Exprs make_while(TypedBuilder& builder, const ForeignNode& node, UniqueNames& names, const std::vector<LoopValue>& values,
                 FunctionRef<Expr(TypedBuilder&, const Exprs&)> condition, FunctionRef<Exprs(TypedBuilder&, const Exprs&)> body);

/// Gives the outputs of a Loop the ranks and fixed sizes of the body: those of its inputs for states, of its outputs for gathered values.
void type_loop(const Exprs& made, const Graph& body);

}  // namespace minnow
