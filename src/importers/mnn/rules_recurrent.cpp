// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, control flow, and tensor arrays, which are sequences.
#include <algorithm>

#include "importers/mnn/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::mnn {
namespace {

/// W, R and one bias [directions, gates * hidden] (the sum of ONNX's two), then states.
Exprs recurrent(MnnNode& node, TypedBuilder& p, std::string_view op, size_t outputs) {
  const int64_t hidden = node.integer(0);
  if (hidden < 1) node.fail("has {} units", hidden);
  const Expr x = node.input(0), w = node.input(1), r = node.input(2);
  const int64_t directions = p.dim(w, 0);
  Expr bias = node.optional_input(3);
  if (bias) bias = p.op("Concat", {bias, p.fill(p.shape_of(bias), 0, DType::f32)}, {{"axis", int64_t{1}}});
  Exprs inputs = {x, w, r, bias, Expr()};
  for (size_t i = 4; i < node.input_count() && i < (op == "LSTM" ? 6u : 5u); ++i) inputs.push_back(node.optional_input(i));
  while (!inputs.back()) inputs.pop_back();
  Attributes attributes{{"hidden_size", hidden}};
  if (directions == 2) attributes.set("direction", std::string("bidirectional"));
  return p.ops(op, inputs, std::min(outputs, std::max<size_t>(node.output_count(), 1)), std::move(attributes));
}

}  // namespace

Exprs import_lstm(MnnNode& node, TypedBuilder& p) {
  if (node.output_count() == 1 && node.input_count() < 4) node.refuse("the form of old files is not supported");
  return recurrent(node, p, "LSTM", 3);
}
Exprs import_rnn(MnnNode& node, TypedBuilder& p) { return recurrent(node, p, "RNN", 2); }

Exprs import_gru(MnnNode& node, TypedBuilder& p) {
  // numUnits 0, isBidirectionalRNN 1, linearBeforeReset 2, keepAllOutputs 3. For each direction: weights of update and reset gate
  // [input + hidden, 2 hidden], their bias, weights of the candidate [input + hidden, hidden], its bias, recurrent biases [3 hidden].
  const int64_t hidden = node.integer(0), directions = node.flag(1) ? 2 : 1;
  if (hidden < 1) node.fail("has {} units", hidden);
  const Expr x = node.input(0);
  const int64_t size = p.dim(x, -1);
  if (size < 1) node.refuse("an input of unknown size is not supported");
  Exprs w, r, b;
  for (int64_t d = 0; d < directions; ++d) {
    const size_t first = static_cast<size_t>(1 + 5 * d);
    const Expr gates = p.transpose(node.input(first), {1, 0}), candidate = p.transpose(node.input(first + 2), {1, 0});
    const Expr all = p.unsqueeze(p.concat({gates, candidate}, 0), {0});  // [1, 3 hidden, input + hidden]
    w.push_back(p.slice(all, {0}, {size}, {2}));
    r.push_back(p.slice(all, {size}, {size + hidden}, {2}));
    b.push_back(
        p.unsqueeze(p.concat({p.vector(node.input(first + 1)), p.vector(node.input(first + 3)), p.vector(node.input(first + 4))}, 0), {0}));
  }
  Exprs inputs = {x, p.concat(w, 0), p.concat(r, 0), p.concat(b, 0)};
  const size_t state = static_cast<size_t>(1 + 5 * directions);
  if (node.has(state)) {
    inputs.emplace_back();
    inputs.push_back(p.rank(node.input(state)) == 3 ? node.input(state) : p.reshape(node.input(state), Ints{directions, -1, hidden}));
  }
  Attributes attributes{{"hidden_size", hidden}};
  if (directions == 2) attributes.set("direction", std::string("bidirectional"));
  if (node.flag(2)) attributes.set("linear_before_reset", int64_t{1});
  const Exprs made = p.ops("GRU", inputs, 2, std::move(attributes));
  return node.flag(3) ? made : Exprs{made[1]};
}

Exprs import_lstm_block_cell(MnnNode& node, TypedBuilder& p) {
  // TensorFlow's cell: x, c, h, w [input + hidden, 4 hidden] in the order i, c, f, o, wci, wcf, wco, b -> i, cs, f, o, ci, co, h.
  const float limit = node.real(0, 3), forget = node.real(1, 1);
  const bool peephole = node.flag(2);
  const Expr cell = node.input(1);
  const Expr gates = p.op("Gemm", {p.concat({node.input(0), node.input(2)}, 1), node.input(3), p.vector(node.input(7))});
  const Exprs parts = p.ops("Split", {gates}, 4, {{"axis", int64_t{1}}, {"num_outputs", int64_t{4}}});
  const auto peep = [&](const Expr& gate, const Expr& state, size_t weight) {
    return peephole ? p.op("Add", {gate, p.op("Mul", {state, node.input(weight)})}) : gate;
  };
  const Expr i = p.op("Sigmoid", {peep(parts[0], cell, 4)}), ci = p.op("Tanh", {parts[1]});
  const Expr f = p.op("Sigmoid", {p.op("Add", {peep(parts[2], cell, 5), p.scalar(static_cast<double>(forget))})});
  Expr cs = p.op("Add", {p.op("Mul", {ci, i}), p.op("Mul", {cell, f})});
  if (limit > 0) cs = clip(p, cs, static_cast<double>(-limit), static_cast<double>(limit));
  const Expr o = p.op("Sigmoid", {peep(parts[3], cs, 6)}), co = p.op("Tanh", {cs});
  return {i, cs, f, o, ci, co, p.op("Mul", {co, o})};
}

Exprs import_if(MnnNode& node, TypedBuilder&) { return node.host.branch(node); }
Exprs import_while(MnnNode& node, TypedBuilder&) { return node.host.loop(node); }

Exprs import_experts(MnnNode& node, TypedBuilder& p) {
  // attr 3: num_experts, top_k, layer_id (key 3, i 1). Rows of numbers [length, ...], weights and numbers of the experts of each row, top_k
  // of each. Expert i is the subgraph "/expert/LAYER_i" of one input; it runs on the rows that name it, all at once.
  int64_t count = 128, chosen = 1, layer = 0;
  const FlatTables attributes = node.parameter().tables(3);
  for (size_t i = 0; i < attributes.size(); ++i) {
    const std::string_view key = attributes[i].text(3);
    const int64_t value = attributes[i].number<int32_t>(1, 0);
    if (key == "num_experts") count = value;
    if (key == "top_k") chosen = value;
    if (key == "layer_id") layer = value;
  }
  if (count < 1 || chosen < 1 || chosen > count) node.fail("{} of {} experts are not valid", chosen, count);
  const Expr x = node.input(0), weights = p.reshape(p.cast(node.input(1), DType::f32), Ints{-1, chosen}),
             experts = p.reshape(p.i64(node.input(2)), Ints{-1, chosen});
  const int64_t rank = node.rank(0);
  if (rank < 1) node.fail("rows of numbers are needed, the input is one number");
  Expr sum = p.fill(p.shape_of(x), 0, DType::f32);
  for (int64_t i = 0; i < count; ++i) {
    const Expr named = p.op("Equal", {experts, p.scalar(static_cast<double>(i), DType::i64)});
    // A row may name an expert twice.
    const Expr weight = p.op("ReduceSum", {p.op("Where", {named, weights, p.scalar(0)}), p.constant({1})}, {{"keepdims", int64_t{0}}});
    const Expr used = p.op("ReduceMax", {p.i64(named), p.constant({1})}, {{"keepdims", int64_t{0}}});
    const Expr any = p.cast(p.op("ReduceMax", {used}, {{"keepdims", int64_t{0}}}), DType::boolean);
    Attributes branches;
    for (const bool runs : {true, false}) {
      InnerGraph body(p);
      TypedBuilder& q = body.builder;
      const auto outer = [&](const Expr& value) { return q.wrap(value.value()); };
      Expr result = outer(sum);
      if (runs) {
        const Expr rows = q.reshape(q.op("NonZero", {outer(used)}), Ints{-1});
        const Exprs made =
            node.host.put(q, "/expert/" + std::to_string(layer) + "_" + std::to_string(i), {q.gather(outer(x), rows, 0)}, node);
        if (made.size() != 1) node.fail("expert {} gives {} outputs", i, made.size());
        Ints ones(static_cast<size_t>(rank), 1);
        ones[0] = -1;
        const Expr scaled = q.op("Mul", {made[0], q.reshape(q.gather(outer(weight), rows, 0), ones)});
        result = q.op("ScatterND", {result, q.unsqueeze(rows, {1}), scaled}, {{"reduction", std::string("add")}});
      }
      body.graph->add_output(*q.own(result).value());
      branches.set(runs ? "then_branch" : "else_branch", Subgraph(body.graph));
    }
    sum = p.ops("If", {any}, 1, std::move(branches))[0];
  }
  return {sum};
}

// Tensor arrays: a handle and a flow, which is the current array; here both are the sequence.

namespace {

Expr array_of(MnnNode& node, TypedBuilder& p, size_t i) {
  const Expr x = node.any(i);
  if (x.value()->type.kind != ValueType::Kind::sequence) node.refuse("input {} is no array that was made here", i);
  return p.wrap(x.value());
}

Expr place_of(MnnNode& node, TypedBuilder& p, size_t i) { return p.reshape(p.i64(node.input(i)), Ints{}); }

}  // namespace

Exprs import_tensor_array(MnnNode& node, TypedBuilder& p) {
  // T 3: an array that grows from nothing. Its size matters only if elements are written out of order.
  const DType type = dtype_of(static_cast<int32_t>(node.integer(3, 1)));
  if (type == DType::undefined) node.refuse("elements of type {} are not supported", node.integer(3, 1));
  const auto size = node.known_ints(0);
  Expr array;
  if (size && size->size() == 1 && (*size)[0] > 0) {
    // Elements that are written later: empty until then.
    if ((*size)[0] > 4096) node.refuse("an array of {} elements is not supported", (*size)[0]);
    Exprs empties(static_cast<size_t>((*size)[0]), p.constant(Tensor(type, {0})));
    array = p.op("SequenceConstruct", empties);
  } else {
    array = p.op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(type)}});
  }
  return Exprs(std::max<size_t>(node.output_count(), 1), array);
}

Exprs import_tensor_array_size(MnnNode& node, TypedBuilder& p) {
  return {p.reshape(p.op("SequenceLength", {array_of(node, p, node.input_count() > 1 ? 1 : 0)}), Ints{1})};
}

Exprs import_tensor_array_read(MnnNode& node, TypedBuilder& p) {
  return {p.op("SequenceAt", {array_of(node, p, node.input_count() - 1), place_of(node, p, 1)})};
}

Exprs import_tensor_array_write(MnnNode& node, TypedBuilder& p) {
  // Handle, place, value, flow. Beyond the end the array grows.
  const Expr array = array_of(node, p, 3), place = place_of(node, p, 1), value = node.input(2);
  const auto known = p.number(place);
  const Node* maker = array.value()->producer();
  if (known && maker && maker->op() == "SequenceEmpty" && *known == 0) return {p.op("SequenceInsert", {array, value})};
  if (known && maker && maker->op() == "SequenceConstruct" && *known >= 0 && *known < static_cast<double>(maker->input_count())) {
    Exprs elements;
    for (size_t i = 0; i < maker->input_count(); ++i) elements.push_back(p.wrap(maker->input(i)));
    elements[static_cast<size_t>(*known)] = value;
    return {p.op("SequenceConstruct", elements)};
  }
  // Append at the end, or replace the element at `place`.
  const Expr longer = p.op("SequenceInsert", {array, value, place});
  const Expr length = p.op("SequenceLength", {array});
  const Expr behind = p.op("Less", {place, length});
  Attributes attributes;
  for (const bool replaces : {true, false}) {
    InnerGraph body(p);
    TypedBuilder& builder = body.builder;
    const Expr sequence = builder.wrap(longer.value());
    const Expr result =
        replaces ? builder.op("SequenceErase", {sequence, builder.op("Add", {builder.wrap(place.value()), builder.scalar(1, DType::i64)})})
                 : builder.op("Identity", {sequence});
    body.graph->add_output(*result.value());
    attributes.set(replaces ? "then_branch" : "else_branch", Subgraph(body.graph));
  }
  return p.ops("If", {behind}, 1, std::move(attributes));
}

Exprs import_tensor_array_gather(MnnNode& node, TypedBuilder& p) {
  const Expr stacked = p.op("ConcatFromSequence", {array_of(node, p, 2)}, {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}});
  return {p.gather(stacked, p.vector(p.i64(node.input(1))), 0)};
}

Exprs import_tensor_array_scatter(MnnNode& node, TypedBuilder& p) {
  // Rows of a value become the elements; places in order.
  return {p.op("SplitToSequence", {node.input(2)}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}})};
}

Exprs import_tensor_array_split(MnnNode& node, TypedBuilder& p) {
  // Handle, value, lengths, flow. axis 4, keepdims 5.
  const Expr value = node.input(1), lengths = p.i64(node.input(2));
  const int64_t axis = node.integer(4);
  if (!node.flag(5, true)) return {p.op("SplitToSequence", {value}, {{"axis", axis}, {"keepdims", int64_t{0}}})};
  const Expr parts = p.dim(lengths, 0) == 1 ? p.reshape(lengths, Ints{}) : lengths;
  return {p.op("SplitToSequence", {value, parts}, {{"axis", axis}})};
}

Exprs import_tensor_array_concat(MnnNode& node, TypedBuilder& p) {
  return {p.op("ConcatFromSequence", {array_of(node, p, node.input_count() - 1)},
               {{"axis", node.integer(4)}, {"new_axis", int64_t{node.flag(6)}}})};
}

Exprs import_tensor_array_insert(MnnNode& node, TypedBuilder& p) {
  // Handle, place, value, flow.
  return {p.op("SequenceInsert", {array_of(node, p, 3), node.input(2), place_of(node, p, 1)})};
}

Exprs import_tensor_array_erase(MnnNode& node, TypedBuilder& p) {
  return {p.op("SequenceErase", {array_of(node, p, node.input_count() - 1), place_of(node, p, 1)})};
}

}  // namespace minnow::mnn
