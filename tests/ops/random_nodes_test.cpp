// SPDX-License-Identifier: Apache-2.0
// Every operator, on nodes that nobody would write: whatever a file may hold, the answer is a result or an Error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "ops/evaluate.h"
#include "support/operators.h"
#include "support/shape_rules.h"

namespace minnow::test {
namespace {

class RandomNodes {
 public:
  explicit RandomNodes(uint64_t seed) : random_(seed) {}

  SymbolicKnowledge known;  // of the outputs of all nodes

  /// True if the node could be computed.
  bool run(const Operator& op) {
    const bool loop = op.name == "Loop";  // without a small number of iterations it would rightly run for ever
    odd_integers_ = !loop;
    Graph graph;
    graph.source = "random";
    std::vector<Value*> inputs;
    std::vector<Datum> given;
    size_t count = op.inputs.size();
    if (count && op.inputs.back().arity == Arity::variadic) count += below(3);
    if (chance(20) && count && !loop) --count;
    const Shape common = shape();
    DType dtype = DType::undefined;
    for (size_t i = 0; i < count; ++i) {
      const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
      if (spec.arity == Arity::optional && chance(2) && !(loop && i == 0)) {
        inputs.push_back(nullptr);
        continue;
      }
      if (!contains(spec.dtypes, dtype) || chance(8)) dtype = any_of(spec.dtypes);
      Datum value = tensor(dtype, chance(2) ? common : shape());
      ValueType type = ValueType::tensor(dtype, value.tensor.shape());
      if ((spec.kinds & kSequences) && (!(spec.kinds & kTensors) || chance(3))) {
        type = ValueType::sequence_of(ValueType::tensor(dtype));
        std::vector<Datum> items;
        for (uint64_t k = below(3); k > 0; --k) items.emplace_back(tensor(dtype, chance(2) ? common : shape()));
        value = Datum::sequence(dtype, std::move(items));
      }
      inputs.push_back(&graph.add_input("in" + std::to_string(i), std::move(type)));
      given.push_back(std::move(value));
    }
    std::vector<std::string> outputs;
    for (uint64_t k = chance(3) ? below(5) : op.outputs.size(); k > 0; --k)
      outputs.push_back(chance(20) ? std::string() : "out" + std::to_string(k));
    Attributes attributes;
    for (const AttributeSpec& spec : op.attributes)
      if (spec.required ? !chance(20) : chance(2))
        attributes.set(spec.name, chance(30) ? AttributeValue(int64_t{2}) : attribute(spec.kind, op));
    Node& node = graph.add_node(op.name, inputs, outputs, std::move(attributes), "node");
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) graph.add_output(*node.output(i));
    try {
      const auto observe = [&](const Node& each, std::span<const Datum> from, std::span<Datum> to) {
        if (each.op() != op.name) return;
        EXPECT_TRUE(symbolic_rule_agrees(op, each, from, to, &known));
      };
      for (const Datum& result : evaluate(OperatorSet::builtin(), graph, given, observe))
        if (result.kind == Datum::Kind::tensor) touch(result.tensor);
      return true;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      return false;
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

  int64_t integer() {
    static constexpr int64_t kOdd[] = {INT64_MIN,           INT64_MAX,        INT64_MIN + 1, int64_t{1} << 31,
                                       -(int64_t{1} << 31), int64_t{1} << 40, 1000000};
    return odd_integers_ && chance(40) ? kOdd[below(std::size(kOdd))] : static_cast<int64_t>(below(8)) - (chance(3) ? 3 : 0);
  }
  Shape shape() {
    if (chance(100)) return chance(2) ? Shape{int64_t{1} << 40, 0} : Shape{0, int64_t{1} << 40};
    Shape made;
    for (uint64_t rank = below(6); rank > 0; --rank) made.push_back(chance(12) ? 0 : static_cast<int64_t>(1 + below(4)));
    return made;
  }
  DType any_of(DTypes set) {
    std::vector<DType> list;
    for (int i = 1; i <= 26; ++i)
      if (contains(set, static_cast<DType>(i))) list.push_back(static_cast<DType>(i));
    // Those that most operators share come up more often.
    if (contains(set, DType::f32) && chance(3)) return DType::f32;
    if (contains(set, DType::i64) && chance(3)) return DType::i64;
    return list[below(list.size())];
  }
  Tensor tensor(DType dtype, const Shape& shape) {
    Tensor made(dtype, shape);
    const size_t count = static_cast<size_t>(made.elements());
    if (is_float(dtype)) {
      std::vector<double> values(count);
      for (double& value : values) value = chance(50) ? NAN : chance(50) ? INFINITY : static_cast<double>(integer()) / 2;
      narrow(dtype, values.data(), count, made.writable().data());
    } else {
      std::vector<int64_t> values(count);
      for (int64_t& value : values) value = integer();
      narrow(dtype, values.data(), count, made.writable().data());
    }
    return made;
  }
  AttributeValue attribute(AttributeKind kind, const Operator& op) {
    static const char* const kTexts[] = {
        "",           "constant",      "reflect",  "edge",      "wrap",      "none",    "add",        "mul",           "max",
        "min",        "linear",        "circular", "nearest",   "cubic",     "NOTSET",  "SAME_UPPER", "VALID",         "SAME_LOWER",
        "DCR",        "CRD",           "mean",     "sum",       "tanh",      "forward", "reverse",    "bidirectional", "half_pixel",
        "asymmetric", "align_corners", "floor",    "ij,jk->ik", "...i->...", "ii"};
    switch (kind) {
      case AttributeKind::integer:
        return integer();
      case AttributeKind::real:
        return static_cast<float>(integer()) / 2;
      case AttributeKind::text:
        return std::string(kTexts[below(std::size(kTexts))]);
      case AttributeKind::tensor:
        return tensor(any_of(kAny), chance(2) ? Shape{1} : shape());
      case AttributeKind::integers: {
        Ints list(below(9));
        for (int64_t& value : list) value = integer();
        return list;
      }
      case AttributeKind::reals: {
        Floats list(below(5));
        for (float& value : list) value = static_cast<float>(integer());
        return list;
      }
      case AttributeKind::texts: {
        Strings list(below(4));
        for (std::string& text : list) text = kTexts[below(std::size(kTexts))];
        return list;
      }
      case AttributeKind::type:
        return chance(2) ? ValueType::tensor(DType::f32) : ValueType::sequence_of(ValueType::tensor(DType::i64));
      case AttributeKind::graph:
        break;
    }
    // A body that returns its inputs.
    auto body = std::make_shared<Graph>();
    for (uint64_t k = op.name == "If" ? 0 : below(5); k > 0; --k) body->add_input("body_in" + std::to_string(k), ValueType());
    if (body->inputs().empty()) body->add_constant(tensor(any_of(kAny), shape()));
    for (uint64_t k = below(5); k > 0; --k) {
      Value* from =
          body->inputs().empty() ? body->constants()[0].get() : body->inputs()[std::min<size_t>(k, body->inputs().size() - 1)].get();
      body->add_output(*body->add_node("Identity", {from}).output(0));
    }
    return body;
  }
  static void touch(const Tensor& tensor) {
    unsigned sum = 0;
    for (size_t i = 0; i < tensor.bytes(); ++i) sum += tensor.data<uint8_t>()[i];
    volatile unsigned seen = sum;
    (void)seen;
  }

  std::mt19937_64 random_;
  bool odd_integers_ = true;
};

class RandomNodesOf : public testing::TestWithParam<const Operator*> {};

TEST_P(RandomNodesOf, give_results_or_errors) {
  const size_t before = memory_limit();
  set_memory_limit(size_t{64} << 20);
  const char* more = std::getenv("MINNOW_RANDOM_NODES");
  const uint64_t count = more ? std::strtoull(more, nullptr, 10) : 200;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    RandomNodes(seed * 7919 + std::hash<std::string_view>()(GetParam()->name)).run(*GetParam());
  }
  set_memory_limit(before);
}

INSTANTIATE_TEST_SUITE_P(operators, RandomNodesOf, testing::ValuesIn(OperatorSet::builtin().list()), name_of_operator);

}  // namespace
}  // namespace minnow::test
