// SPDX-License-Identifier: Apache-2.0
#include "support/one_node.h"

#include <algorithm>

#include "graph/expr.h"

namespace minnow::test {
namespace {

bool is_constant(const OneNode& node, size_t i) {
  return std::find(node.constants.begin(), node.constants.end(), i) != node.constants.end();
}

}  // namespace

Model OneNode::model() const {
  auto graph = std::make_unique<Graph>();
  graph->source = "one_node";
  GraphBuilder b(*graph);
  Exprs all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x)
      all.emplace_back();
    else if (is_constant(*this, i))
      all.push_back(b.constant(x));
    else
      all.push_back(b.wrap(&graph->add_input("x" + std::to_string(i), ValueType::tensor(x.dtype(), x.shape()))));
  }
  for (const Expr& y : b.ops(op, all, outputs, attributes)) graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

std::vector<TensorView> OneNode::given() const {
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && !is_constant(*this, i)) views.push_back(inputs[i].view());
  return views;
}

}  // namespace minnow::test
