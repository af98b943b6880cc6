// SPDX-License-Identifier: Apache-2.0
#include "importers/control_flow.h"

namespace minnow {

LoopBody::LoopBody(const TypedBuilder& outside, UniqueNames& names) : InnerGraph(outside) {
  iteration = builder.wrap(&graph->add_input(names.make("iteration"), ValueType::tensor(DType::i64, Shape{})));
  condition = builder.wrap(&graph->add_input(names.make("condition"), ValueType::tensor(DType::boolean, Shape{})));
}

ValueType carried_type(TypedBuilder& builder, const Expr& start, const Ints& fixed) {
  if (start.value()->type.kind != ValueType::Kind::tensor) return start.value()->type;
  ValueType type = ValueType::tensor(builder.dtype(start));
  const int64_t rank = builder.rank(start);
  if (rank < 0) return type;
  type.dims = std::vector<Dim>(static_cast<size_t>(rank));
  for (size_t i = 0; fixed.size() == type.dims->size() && i < fixed.size(); ++i)
    if (fixed[i] >= 0 && builder.dim(start, static_cast<int64_t>(i)) == fixed[i]) (*type.dims)[i].size = fixed[i];
  return type;
}

Exprs make_if(TypedBuilder& builder, const ForeignNode& node, const Expr& condition, FunctionRef<Exprs(TypedBuilder&)> then_branch,
              FunctionRef<Exprs(TypedBuilder&)> else_branch) {
  Attributes attributes;
  size_t counts[2];
  for (const bool is_then : {true, false}) {
    InnerGraph body(builder);
    const Exprs results = is_then ? then_branch(body.builder) : else_branch(body.builder);
    counts[is_then] = results.size();
    for (const Expr& x : results) {
      if (!x) node.refuse("a branch that gives a variable is not supported");
      body.graph->add_output(*body.builder.own(x).value());
    }
    attributes.set(is_then ? "then_branch" : "else_branch", Subgraph(body.graph));
  }
  if (counts[0] != counts[1]) node.fail("its branches give {} and {} outputs", counts[1], counts[0]);
  return builder.ops("If", {builder.reshape(condition, Ints{})}, counts[0], std::move(attributes));
}

Exprs make_while(TypedBuilder& builder, const ForeignNode& node, UniqueNames& names, const std::vector<LoopValue>& values,
                 FunctionRef<Expr(TypedBuilder&, const Exprs&)> condition, FunctionRef<Exprs(TypedBuilder&, const Exprs&)> body) {
  const auto goes_on = [&](TypedBuilder& where, const Exprs& of) {
    return where.reshape(where.wrap(condition(where, of).value()), Ints{});
  };
  Exprs starts, inside;
  for (const LoopValue& value : values) starts.push_back(value.start);
  Exprs carried = {Expr(), goes_on(builder, starts)};
  LoopBody loop(builder, names);
  for (const LoopValue& value : values) {
    if (!value.start) {
      inside.emplace_back();
    } else if (!value.changes) {
      inside.push_back(loop.builder.wrap(value.start.value()));
    } else {
      inside.push_back(loop.builder.wrap(&loop.graph->add_input(names.make(value.name), value.type)));
      carried.push_back(value.start);
    }
  }
  if (carried.size() == 2) node.refuse("a loop that changes nothing is not supported");
  const Exprs results = body(loop.builder, inside);
  if (results.size() != values.size()) node.fail("its body gives {} outputs and takes {} inputs", results.size(), values.size());
  loop.graph->add_output(*loop.builder.own(goes_on(loop.builder, results)).value());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!values[i].start || !values[i].changes) continue;
    if (!results[i]) node.fail("output {} of its body is missing", i);
    loop.graph->add_output(*loop.builder.own(results[i]).value());
  }
  const Exprs made = builder.ops("Loop", carried, carried.size() - 2, {{"body", Subgraph(loop.graph)}});
  type_loop(made, *loop.graph);
  Exprs outputs;
  for (size_t i = 0, k = 0; i < values.size(); ++i) outputs.push_back(values[i].start && values[i].changes ? made[k++] : values[i].start);
  return outputs;
}

void type_loop(const Exprs& made, const Graph& body) {
  const size_t states = body.inputs().size() - 2;
  for (size_t i = 0; i < made.size(); ++i) {
    ValueType& type = made[i].value()->type;
    const ValueType& inner = i < states ? body.inputs()[i + 2]->type : body.outputs()[i + 1]->type;
    if (i < states && inner.kind != ValueType::Kind::tensor) type = inner;
    if (type.dims || !inner.dims) continue;
    type.dims.emplace();
    if (i >= states) type.dims->emplace_back();
    for (const Dim& dim : *inner.dims) type.dims->push_back(dim.known() ? dim : Dim{});
  }
}

}  // namespace minnow
