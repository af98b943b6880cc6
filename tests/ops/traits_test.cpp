// SPDX-License-Identifier: Apache-2.0
// The traits that operators declare, each checked against what the reference computes. Tables of sample nodes must name every operator
// that declares the trait, so that none is added untested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/numeric.h"
#include "ops/operator.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

struct Sample {
  std::string_view op;
  std::vector<Tensor> inputs;
  Attributes attributes = {};
  size_t outputs = 1;
};

Tensor random(const Shape& shape, DType dtype = DType::f32) {
  static std::mt19937 engine(5);
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (double& value : values)
    value = dtype == DType::boolean ? engine() % 2 : is_integer(dtype) ? double(engine() % 7) - 2 : double(engine() % 4001) / 1000 - 2;
  return tensor(dtype, shape, values);
}

/// Elements as bytes.
std::vector<std::string> bytes_of(const Tensor& tensor) {
  const size_t size = size_of(tensor.dtype());
  std::vector<std::string> list;
  for (int64_t i = 0; i < tensor.elements(); ++i) list.emplace_back(tensor.data<char>() + static_cast<size_t>(i) * size, size);
  return list;
}
bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void expect_samples_of_all(const std::vector<Sample>& samples, bool (*declares)(const Operator&)) {
  std::set<std::string_view> sampled, declared;
  for (const Sample& sample : samples) sampled.insert(sample.op);
  for (const Operator* op : OperatorSet::builtin().list())
    if (declares(*op)) declared.insert(op->name);
  EXPECT_EQ(sampled, declared);
}

std::vector<Sample> samples_of_elements() {
  const Tensor lengths = Tensor::of_i64({2}, Ints{2, 3});
  return {
      {"Compress", {random({3, 4}), tensor(DType::boolean, {4}, {1, 0, 1, 1})}, {{"axis", int64_t{1}}}},
      {"Concat", {random({2, 3}), random({2, 1})}, {{"axis", int64_t{1}}}},
      {"DepthToSpace", {random({1, 8, 2, 3})}, {{"blocksize", int64_t{2}}}},
      {"Expand", {random({3, 1}), ints({2, 3, 4})}},
      {"Flatten", {random({2, 3, 4})}},
      {"Gather", {random({4, 3}), ints({1, -1, 0})}},
      {"GatherElements", {random({3, 2}), Tensor::of_i64({2, 2}, Ints{2, 0, 1, -1})}},
      {"GatherND", {random({3, 2}), Tensor::of_i64({2, 1}, Ints{2, 0})}},
      {"Identity", {random({2, 3})}},
      {"MaxPool", {random({1, 2, 5, 5})}, {{"kernel_shape", Ints{2, 2}}}},
      {"Reshape", {random({2, 6}), ints({3, 4})}},
      {"ReverseSequence", {random({4, 2}), lengths}},
      {"Slice", {random({5, 4}), ints({1}), ints({4}), ints({0}), ints({2})}},
      {"SpaceToDepth", {random({1, 2, 4, 6})}, {{"blocksize", int64_t{2}}}},
      {"Split", {random({4, 3})}, {{"num_outputs", int64_t{2}}}, 2},
      {"Squeeze", {random({2, 1, 3}), ints({1})}},
      {"Tile", {random({2, 3}), ints({2, 1})}},
      {"Transpose", {random({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}},
      {"Unsqueeze", {random({2, 3}), ints({0})}},
      {"minnow.ChannelShuffle", {random({1, 4, 2, 2}), random({1, 4, 2, 2})}, {{"groups", int64_t{2}}, {"sizes", Ints{4, 4}}}, 2},
  };
}

TEST(Traits, elements_come_from_the_inputs) {
  const std::vector<Sample> samples = samples_of_elements();
  expect_samples_of_all(samples, [](const Operator& op) { return op.elements != Elements::computed; });
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.op);
    const Operator& op = *OperatorSet::builtin().find(sample.op);
    std::vector<std::string> in, out;
    const size_t data_inputs = op.inputs.back().arity == Arity::variadic ? sample.inputs.size() : 1;
    for (size_t i = 0; i < data_inputs; ++i)
      for (std::string& each : bytes_of(sample.inputs[i])) in.push_back(std::move(each));
    for (const Tensor& output : run_operator(sample.op, sample.inputs, sample.attributes, sample.outputs))
      for (std::string& each : bytes_of(output)) out.push_back(std::move(each));
    if (op.elements == Elements::kept) {
      EXPECT_EQ(in, out);
    }
    std::sort(in.begin(), in.end()), std::sort(out.begin(), out.end());
    if (op.elements == Elements::permuted) {
      EXPECT_EQ(in, out);
    }
    for (const std::string& each : out) EXPECT_TRUE(std::binary_search(in.begin(), in.end(), each));
  }
}

TEST(Traits, chosen_elements_stay_the_same_choice_when_all_grow) {
  for (const Sample& sample : samples_of_elements()) {
    if (OperatorSet::builtin().find(sample.op)->elements != Elements::chosen) continue;
    SCOPED_TRACE(sample.op);
    const auto grown = [](const Tensor& x) {
      std::vector<double> values = numbers(x);
      for (double& value : values) value = std::exp2(std::round(4 * value));
      return tensor(DType::f32, x.shape(), values);
    };
    const Tensor y = run_operator(sample.op, sample.inputs, sample.attributes)[0];
    EXPECT_TRUE(same(grown(y), run_operator(sample.op, {grown(sample.inputs[0])}, sample.attributes)[0]));
  }
}

// An input of each operator that works element by element, of a shape.
std::vector<Tensor> inputs_of(const Operator& op, const Shape& shape) {
  std::vector<Tensor> inputs;
  for (const InputSpec& spec : op.inputs) {
    const DType dtype = contains(spec.dtypes, DType::f32)       ? DType::f32
                        : contains(spec.dtypes, DType::boolean) ? DType::boolean
                                                                : DType::i32;
    inputs.push_back(random(spec.arity == Arity::optional ? Shape{} : shape, dtype));
    if (op.name == "BitShift") inputs.back() = random(shape, DType::u8);
    if (spec.arity == Arity::variadic) inputs.push_back(random(shape, dtype));
  }
  return inputs;
}
Attributes attributes_of(const Operator& op) {
  Attributes attributes;
  if (op.name == "Cast") attributes.set("to", static_cast<int64_t>(DType::f32));
  if (op.name == "BitShift") attributes.set("direction", std::string("LEFT"));
  return attributes;
}
bool holds_a_graph(const Operator& op) {
  return std::any_of(op.attributes.begin(), op.attributes.end(),
                     [](const AttributeSpec& spec) { return spec.required && spec.kind == AttributeKind::graph; });
}
Tensor element(const Tensor& x, int64_t i) {
  const size_t size = size_of(x.dtype());
  Tensor one(x.dtype(), {1});
  std::memcpy(one.writable().data(), x.data<char>() + static_cast<size_t>(x.elements() == 1 ? 0 : i) * size, size);
  return one;
}

TEST(Traits, elementwise_operators_give_for_each_element_what_they_give_for_it_alone) {
  size_t tested = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->elementwise || holds_a_graph(*op) || op->name == "minnow.QuantizedAdd") continue;  // that has scales, too
    SCOPED_TRACE(op->name);
    const std::vector<Tensor> inputs = inputs_of(*op, {3, 4});
    const Tensor y = run_operator(op->name, inputs, attributes_of(*op))[0];
    for (int64_t i = 0; i < y.elements(); ++i) {
      std::vector<Tensor> alone;
      for (size_t k = 0; k < inputs.size(); ++k)
        alone.push_back(op->inputs[std::min(k, op->inputs.size() - 1)].arity == Arity::optional ? inputs[k] : element(inputs[k], i));
      EXPECT_EQ(bytes_of(run_operator(op->name, alone, attributes_of(*op))[0]), bytes_of(element(y, i))) << i;
    }
    ++tested;
  }
  EXPECT_GT(tested, 60u);
}

TEST(Traits, floats_of_16_bits_give_results_of_16_bits_but_where_the_dtype_is_what_an_operator_is_for) {
  size_t kept = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->elementwise && op->float_width == FloatWidth::kept) continue;
    SCOPED_TRACE(op->name);
    switch (op->float_width) {
      case FloatWidth::kept: {
        if (op->infer || holds_a_graph(*op) || op->outputs[0].dtype.kind != DTypeRule::Kind::same_as) break;
        const DTypes dtypes = op->inputs[0].dtypes;
        if (!contains(dtypes, DType::f32) || !contains(dtypes, DType::f16) || op->outputs[0].dtype.name != op->inputs[0].name) break;
        std::vector<Tensor> inputs = inputs_of(*op, {3});
        for (Tensor& input : inputs)
          if (input.dtype() == DType::f32) input = tensor(DType::f16, input.shape(), numbers(input));
        EXPECT_EQ(run_operator(op->name, inputs, attributes_of(*op))[0].dtype(), DType::f16);
        ++kept;
        break;
      }
      case FloatWidth::f32:
        EXPECT_TRUE(holds_a_graph(*op));
        break;
      case FloatWidth::converted:
        EXPECT_EQ(op->inputs[0].dtypes, kAny);
        EXPECT_FALSE(op->outputs[0].dtype.kind == DTypeRule::Kind::same_as && op->outputs[0].dtype.name == op->inputs[0].name);
        break;
    }
  }
  EXPECT_GT(kept, 30u);
}

TEST(Traits, fusible_operators_are_elementwise_and_take_f32_or_booleans) {
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->fusible) continue;
    EXPECT_TRUE(op->elementwise) << op->name;
    EXPECT_TRUE(contains(op->inputs[0].dtypes, DType::f32) || contains(op->inputs[0].dtypes, DType::boolean)) << op->name;
  }
}

TEST(Traits, commutative_operators_take_their_inputs_in_any_order) {
  size_t tested = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->commutative) continue;
    SCOPED_TRACE(op->name);
    const std::vector<Tensor> inputs = inputs_of(*op, {3, 4});
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_TRUE(same(run_operator(op->name, inputs)[0], run_operator(op->name, {inputs[1], inputs[0]})[0]));
    if (op->inputs[0].arity == Arity::variadic) {
      EXPECT_TRUE(same(run_operator(op->name, {inputs[0]})[0], inputs[0]));
    }
    ++tested;
  }
  EXPECT_EQ(tested, 13u);
  for (const char* name : {"Sub", "Div", "Pow", "Less", "PRelu"}) EXPECT_FALSE(OperatorSet::builtin().find(name)->commutative) << name;
}

TEST(Traits, outputs_of_monotone_operators_grow_with_the_input_or_fall) {
  std::vector<double> growing;
  for (int i = -40; i <= 40; ++i) growing.push_back(i / 8.0);
  const Tensor x = tensor(DType::f32, {81}, growing), scale = tensor(DType::f32, {}, {0.5});
  const std::vector<Sample> samples = {
      {"Cast", {x}, {{"to", static_cast<int64_t>(DType::i32)}}},
      {"Clip", {x, tensor(DType::f32, {}, {-1}), tensor(DType::f32, {}, {2})}},
      {"DequantizeLinear", {tensor(DType::i8, {3}, {-3, 0, 100}), scale}},
      {"Relu", {x}},
  };
  expect_samples_of_all(samples, [](const Operator& op) { return op.monotone; });
  for (const Sample& sample : samples) {
    const std::vector<double> y = numbers(run_operator(sample.op, sample.inputs, sample.attributes)[0]);
    EXPECT_TRUE(std::is_sorted(y.begin(), y.end()) || std::is_sorted(y.rbegin(), y.rend())) << sample.op;
  }
}

TEST(Traits, no_float_is_below_zero_where_an_operator_says_so) {
  const Tensor x = random({5, 40});
  size_t tested = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    if (!op->never_negative) continue;
    for (double y : numbers(run_operator(op->name, {x})[0])) EXPECT_GE(y, 0) << op->name;
    ++tested;
  }
  EXPECT_EQ(tested, 7u);
}

TEST(Traits, operators_that_round_make_whole_numbers) {
  const Tensor x = random({4, 5}), scale = tensor(DType::f32, {}, {0.25});
  const std::vector<Sample> samples = {
      {"Ceil", {x}}, {"DynamicQuantizeLinear", {x}, {}, 3}, {"Floor", {x}}, {"QuantizeLinear", {x, scale}}, {"Round", {x}}};
  expect_samples_of_all(samples, [](const Operator& op) { return op.rounds; });
  for (const Sample& sample : samples)
    for (double y : numbers(run_operator(sample.op, sample.inputs, sample.attributes, sample.outputs)[0]))
      EXPECT_EQ(y, std::round(y)) << sample.op;
}

// Axes.

Tensor transposed(const Tensor& x, const Ints& perm) { return run_operator("Transpose", {x}, {{"perm", perm}})[0]; }

// The node on Transpose(x), with axes named as they are there.
Sample moved(const Operator& op, Sample sample, const Ints& perm) {
  const auto place = [&](int64_t axis) {
    return std::find(perm.begin(), perm.end(), axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis) - perm.begin();
  };
  const size_t data_inputs = op.inputs.back().arity == Arity::variadic ? sample.inputs.size() : 1;
  for (size_t i = 0; i < data_inputs; ++i) sample.inputs[i] = transposed(sample.inputs[i], perm);
  const size_t named = op.axes.input;
  const auto listed = [&] {
    Ints list;
    for (double number : numbers(sample.inputs[named])) list.push_back(static_cast<int64_t>(number));
    return list;
  };
  switch (op.axes.kind) {
    case AxisRule::Kind::attribute:
      sample.attributes.set("axis", int64_t{place(*sample.attributes.get<int64_t>("axis"))});
      break;
    case AxisRule::Kind::scalar:
      sample.inputs[named] = Tensor::scalar_i64(place(listed()[0]));
      break;
    case AxisRule::Kind::list: {
      Ints list = listed();
      for (int64_t& axis : list) axis = place(axis);
      sample.inputs[named] = ints(list);
      break;
    }
    case AxisRule::Kind::entries: {
      const Ints list = listed();
      Ints other;
      for (int64_t axis : perm) other.push_back(list[static_cast<size_t>(axis)]);
      sample.inputs[named] = ints(other);
      break;
    }
    default:
      break;
  }
  return sample;
}

TEST(Traits, operators_with_named_axes_commute_with_transposes) {
  const Tensor x = random({2, 3, 4});
  const Attributes axis{{"axis", int64_t{1}}};
  std::vector<Sample> samples = {
      {"ArgMax", {x}, axis},
      {"ArgMin", {x}, axis},
      {"Concat", {x, random({2, 5, 4})}, axis},
      {"CumProd", {x, Tensor::scalar_i64(1)}},
      {"CumSum", {x, Tensor::scalar_i64(1)}},
      {"Expand", {random({2, 1, 4}), ints({2, 3, 4})}},
      {"Hardmax", {x}, axis},
      {"Identity", {x}},
      {"LogSoftmax", {x}, axis},
      {"LpNormalization", {x}, axis},
      {"Pad", {x, ints({1, 2}), Tensor(), ints({1})}},
      {"Slice", {x, ints({1, 0}), ints({3, 2}), ints({1, -1})}},
      {"Softmax", {x}, axis},
      {"Split", {x}, {{"axis", int64_t{2}}, {"num_outputs", int64_t{2}}}, 2},
      {"Tile", {x, ints({1, 2, 1})}},
  };
  for (const Operator* op : OperatorSet::builtin().list())
    if (std::string_view(op->name).starts_with("Reduce")) samples.push_back({op->name, {x, ints({0, 2})}});
  expect_samples_of_all(samples, [](const Operator& op) { return op.axes.kind != AxisRule::Kind::none; });
  for (const Sample& sample : samples)
    for (const Ints& perm : {Ints{2, 0, 1}, Ints{1, 0, 2}, Ints{2, 1, 0}}) {
      SCOPED_TRACE(sample.op);
      const Sample other = moved(*OperatorSet::builtin().find(sample.op), sample, perm);
      const std::vector<Tensor> y = run_operator(sample.op, sample.inputs, sample.attributes, sample.outputs);
      const std::vector<Tensor> z = run_operator(other.op, other.inputs, other.attributes, other.outputs);
      for (size_t i = 0; i < y.size(); ++i) {
        const Tensor expected = transposed(y[i], perm);
        EXPECT_TRUE(near(z[i], expected.shape(), numbers(expected)));
      }
    }
}

TEST(Traits, weights_are_inputs_of_floats_behind_the_first_that_kernels_pack) {
  size_t packed = 0;
  for (const Operator* op : OperatorSet::builtin().list())
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const InputSpec& spec = op->inputs[i];
      if (spec.weight == Weight::no) continue;
      EXPECT_TRUE(contains(spec.dtypes, DType::f32)) << op->name << ": " << spec.name;
      EXPECT_EQ(spec.arity, Arity::required) << op->name << ": " << spec.name;
      if (spec.weight == Weight::packed) {
        EXPECT_GT(i, 0u) << op->name;
        ++packed;
      }
    }
  EXPECT_EQ(packed, 12u);
}

TEST(Traits, recomputable_operators_make_weights_of_one_output_no_larger_than_input_0_alone) {
  for (const Operator* op : OperatorSet::builtin().list())
    if (op->recomputable) {
      EXPECT_TRUE(op->pure && op->outputs.size() == 1 && !op->inputs.empty()) << op->name;
    }
}

}  // namespace
}  // namespace minnow::test
