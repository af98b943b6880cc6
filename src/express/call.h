// SPDX-License-Identifier: Apache-2.0
// A call of an operator as the generated functions of <minnow/operators.h> write it.
#pragma once
#include "express/node.h"

namespace minnow::express {

class Call {
 public:
  explicit Call(const Operator& op) { request_.op = &op; }
  Call(const Operator& op, std::shared_ptr<const OperatorSet> operators) {
    request_.op = &op;
    request_.operators = std::move(operators);
  }
  void set(std::string_view name, AttributeValue value) { request_.attributes.set(name, std::move(value)); }
  void add(Var&& input) { request_.inputs.push_back(value_of(std::move(input))); }
  void add(Vars&& inputs) {
    for (Var& input : inputs) add(std::move(input));
  }
  Var one() { return many(1)[0]; }
  Vars many(size_t outputs) {
    while (!request_.inputs.empty() && !request_.inputs.back()) request_.inputs.pop_back();
    request_.formal_inputs = request_.inputs.size();
    request_.wanted.assign(outputs, true);
    const std::shared_ptr<LazyNode> node = call(std::move(request_));
    Vars results;
    for (uint32_t i = 0; i < outputs; ++i) results.push_back(var_of({node, i}));
    return results;
  }

 private:
  CallRequest request_;
};

}  // namespace minnow::express
