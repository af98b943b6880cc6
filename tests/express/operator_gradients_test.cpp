// SPDX-License-Identifier: Apache-2.0
// The gradient of every operator that has one, in f64, against central differences of its reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "express/support.h"
#include "ops/all.h"
#include "ops/operator.h"
#include "support/operators.h"
#include "support/series.h"

namespace minnow::test {
namespace {

struct Case {
  std::string op;
  std::vector<Tensor> inputs;  // an input without a dtype is an absent one; gradients of all f64 inputs are compared
  expr::Attributes attributes = {};
  size_t outputs = 1;
  std::set<size_t> constants = {};  // f64 inputs that have no gradient
};

/// Numbers between `low` and `high`, all different and not near each other, zero, or an integer.
Tensor reals(const Shape& shape, double low = -2, double high = 2, unsigned seed = 1) {
  std::mt19937 random(seed + static_cast<unsigned>(shape.elements()) * 7);
  const size_t count = static_cast<size_t>(shape.elements());
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double value = low + (high - low) * (static_cast<double>(i) + 0.37) / static_cast<double>(count);
    values[i] = std::fabs(value) < 1e-2 ? value + 0.05 : value;
  }
  std::shuffle(values.begin(), values.end(), random);
  return tensor(DType::f64, shape, values);
}
Tensor positive(const Shape& shape, unsigned seed = 1) { return reals(shape, 0.3, 2.2, seed); }
Tensor integers(const Shape& shape, const std::vector<double>& values, DType dtype = DType::i64) { return tensor(dtype, shape, values); }
Tensor number(double value) { return tensor(DType::f64, {}, {value}); }

Attributes of_graph(const expr::Attributes& given) {
  Attributes made;
  for (const auto& [name, value] : given) std::visit([&, &key = name](const auto& typed) { made.set(key, typed); }, value);
  return made;
}

std::vector<Case> made_cases() {
  using std::string;
  std::vector<Case> all;
  for (const char* op : {"Abs",
                         "Neg",
                         "Reciprocal",
                         "Exp",
                         "Erf",
                         "Sin",
                         "Cos",
                         "Sinh",
                         "Cosh",
                         "Asinh",
                         "Atan",
                         "Relu",
                         "Sigmoid",
                         "Tanh",
                         "Softplus",
                         "Softsign",
                         "HardSwish",
                         "Mish",
                         "Celu",
                         "Elu",
                         "Gelu",
                         "HardSigmoid",
                         "LeakyRelu",
                         "Selu",
                         "Shrink",
                         "Swish",
                         "ThresholdedRelu",
                         "Identity",
                         "Softmax",
                         "LogSoftmax",
                         "LpNormalization",
                         "ReduceSum",
                         "ReduceMean",
                         "ReduceProd",
                         "ReduceMax",
                         "ReduceMin",
                         "ReduceL1",
                         "ReduceL2",
                         "ReduceSumSquare",
                         "Flatten",
                         "Transpose",
                         "Squeeze"})
    all.push_back({op, {reals({3, 4})}});
  for (const char* op : {"Sqrt", "Log", "ReduceLogSum", "ReduceLogSumExp"}) all.push_back({op, {positive({3, 4})}});
  for (const char* op : {"Asin", "Acos", "Atanh", "Tan"}) all.push_back({op, {reals({5}, -0.9, 0.9)}});
  all.push_back({"Acosh", {reals({5}, 1.2, 3)}});
  all.push_back({"Gelu", {reals({7})}, {{"approximate", string("tanh")}}});
  all.push_back({"Celu", {reals({7})}, {{"alpha", 0.7f}}});
  all.push_back({"Swish", {reals({7})}, {{"alpha", 1.3f}}});
  all.push_back({"PRelu", {reals({2, 3, 4}), reals({3, 1})}});
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    all.push_back({op, {reals({2, 3, 4}), positive({3, 1})}});
    all.push_back({op, {reals({4}), positive({2, 1, 4})}});
    all.push_back({op, {number(1.5), positive({2, 2})}});
  }
  all.push_back({"Pow", {positive({2, 3}), reals({3})}});
  all.push_back({"Pow", {reals({2, 3}), integers({}, {3})}});
  all.push_back({"Mod", {positive({5}), tensor(DType::f64, {5}, {0.71, 0.9, 1.3, 0.5, 3.1})}, {{"fmod", int64_t{1}}}});
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    all.push_back({op, {reals({2, 3}), reals({3}, -2, 2, 5), reals({2, 1}, -2, 2, 9)}});
    all.push_back({op, {reals({4})}});
  }
  all.push_back({"Clip", {reals({9}), number(-0.9), number(1.1)}});
  all.push_back({"Clip", {reals({9}), kNone, number(1.1)}});
  all.push_back({"Where", {integers({2, 1}, {1, 0}, DType::boolean), reals({2, 3}), reals({3})}});
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"})
    for (const int64_t keep : {0, 1}) {
      all.push_back({op, {reals({2, 3, 4}), integers({2}, {0, -1})}, {{"keepdims", keep}}});
      all.push_back({op, {reals({2, 3}), integers({1}, {1})}, {{"keepdims", keep}}});
      all.push_back({op, {reals({2, 3})}, {{"keepdims", keep}}});
    }
  for (const int64_t axis : {0, 1, -1})
    for (const char* op : {"Softmax", "LogSoftmax", "LpNormalization"}) all.push_back({op, {reals({2, 3, 4})}, {{"axis", axis}}});
  all.push_back({"LpNormalization", {reals({2, 3})}, {{"axis", int64_t{0}}, {"p", int64_t{1}}}});
  all.push_back({"Transpose", {reals({2, 3, 4})}, {{"perm", std::vector<int64_t>{1, 2, 0}}}});
  all.push_back({"Reshape", {reals({2, 6}), integers({2}, {3, -1})}});
  all.push_back({"Unsqueeze", {reals({2, 3}), integers({2}, {0, -1})}});
  all.push_back({"Cast", {reals({4})}, {{"to", int64_t{11}}}});
  all.push_back({"CastLike", {reals({4}), reals({1})}, {}, 1, {1}});
  all.push_back({"Expand", {reals({3, 1}), integers({3}, {2, 1, 4})}});
  all.push_back({"minnow.SumTo", {reals({2, 3, 4}), integers({2}, {1, 4})}});
  all.push_back({"Tile", {reals({2, 3}), integers({2}, {2, 3})}});
  all.push_back({"Concat", {reals({2, 3}), reals({2, 1}), reals({2, 2})}, {{"axis", int64_t{-1}}}});
  all.push_back({"Split", {reals({5, 2}), integers({2}, {2, 3})}, {{"axis", int64_t{0}}}, 2});
  for (const int64_t exclusive : {0, 1})
    for (const int64_t reverse : {0, 1})
      for (const char* op : {"CumSum", "CumProd"})
        all.push_back({op, {positive({2, 4}), integers({}, {1})}, {{"exclusive", exclusive}, {"reverse", reverse}}});
  for (const char* mode : {"constant", "reflect", "edge", "wrap"})
    all.push_back({"Pad", {reals({3, 4}), integers({4}, {1, 2, 0, 1})}, {{"mode", string(mode)}}});
  all.push_back({"Pad", {reals({3, 4}), integers({2}, {-1, 2}), kNone, integers({1}, {1})}});
  all.push_back({"Slice", {reals({5, 4}), integers({2}, {1, -3}), integers({2}, {4, 100}), integers({2}, {0, 1})}});
  all.push_back({"Slice", {reals({7}), integers({1}, {-1}), integers({1}, {-100}), integers({1}, {0}), integers({1}, {-2})}});
  all.push_back({"minnow.Region",
                 {reals({5, 4}), integers({2}, {1, 0})},
                 {{"sizes", std::vector<int64_t>{2, 2}}, {"steps", std::vector<int64_t>{2, 3}}}});
  all.push_back({"ReverseSequence", {reals({4, 2}), integers({2}, {3, 4})}});
  all.push_back({"Gather", {reals({4, 3}), integers({2, 2}, {0, -1, 3, 1})}});
  all.push_back({"Gather", {reals({2, 4, 3}), integers({2}, {2, 2})}, {{"axis", int64_t{1}}}});
  all.push_back({"GatherElements", {reals({3, 3}), integers({2, 3}, {1, 2, 0, 2, 0, 0})}, {{"axis", int64_t{0}}}});
  all.push_back({"GatherND", {reals({2, 3, 2}), integers({2, 2}, {0, 1, 1, -1})}});
  all.push_back({"GatherND", {reals({2, 3, 2}), integers({2, 1}, {1, 2})}, {{"batch_dims", int64_t{1}}}});
  all.push_back({"ScatterElements", {reals({4}), integers({2}, {3, 1}), reals({2})}});
  all.push_back({"ScatterElements",
                 {reals({2, 3}), integers({2, 2}, {0, 0, 2, 1}), reals({2, 2})},
                 {{"axis", int64_t{1}}, {"reduction", string("add")}}});
  all.push_back({"ScatterND", {reals({4, 2}), integers({2, 1}, {3, 0}), reals({2, 2})}});
  all.push_back({"ScatterND", {reals({4, 2}), integers({2, 1}, {3, 3}), reals({2, 2})}, {{"reduction", string("add")}}});
  all.push_back({"DepthToSpace", {reals({1, 8, 2, 1})}, {{"blocksize", int64_t{2}}}});
  all.push_back({"SpaceToDepth", {reals({1, 2, 2, 4})}, {{"blocksize", int64_t{2}}}});
  all.push_back({"CenterCropPad", {reals({3, 5}), integers({2}, {4, 2})}});
  all.push_back({"Trilu", {reals({2, 3, 3}), integers({}, {1})}, {{"upper", int64_t{0}}}});
  all.push_back({"TopK", {reals({2, 5}), integers({1}, {2})}, {}, 2});
  all.push_back({"MatMul", {reals({2, 3}), reals({3, 4})}});
  all.push_back({"MatMul", {reals({2, 2, 3}), reals({3, 4})}});
  all.push_back({"MatMul", {reals({3}), reals({3, 4})}});
  all.push_back({"MatMul", {reals({2, 3}), reals({3})}});
  all.push_back({"MatMul", {reals({3}), reals({3})}});
  all.push_back({"MatMul", {reals({3}), reals({2, 3, 4})}});
  all.push_back({"MatMul", {reals({2, 1, 2, 3}), reals({4, 3, 2})}});
  for (const int64_t a : {0, 1})
    for (const int64_t b : {0, 1})
      all.push_back({"Gemm",
                     {reals(a ? Shape{3, 2} : Shape{2, 3}), reals(b ? Shape{4, 3} : Shape{3, 4}), reals({4})},
                     {{"transA", a}, {"transB", b}, {"alpha", 1.5f}, {"beta", 0.5f}}});
  all.push_back({"Einsum", {reals({2, 3}), reals({3, 4})}, {{"equation", string("ij,jk->ik")}}});
  all.push_back({"Einsum", {reals({2, 3, 2}), reals({2, 2, 3})}, {{"equation", string("bij,bki->bjk")}}});
  all.push_back({"Conv", {reals({2, 3, 5}), reals({4, 3, 3}), reals({4})}});
  all.push_back({"Conv",
                 {reals({1, 4, 6, 7}), reals({6, 2, 3, 2}), reals({6})},
                 {{"group", int64_t{2}}, {"strides", std::vector<int64_t>{2, 3}}, {"pads", std::vector<int64_t>{1, 0, 2, 1}}}});
  all.push_back({"Conv",
                 {reals({2, 2, 9, 8}), reals({3, 2, 2, 3})},
                 {{"dilations", std::vector<int64_t>{2, 1}}, {"strides", std::vector<int64_t>{3, 2}}}});
  all.push_back({"Conv", {reals({2, 3, 4, 4}), reals({3, 1, 3, 3})}, {{"group", int64_t{3}}, {"auto_pad", string("SAME_UPPER")}}});
  all.push_back({"Conv", {reals({1, 2, 3, 4, 3}), reals({2, 2, 2, 2, 2})}});
  all.push_back({"ConvTranspose",
                 {reals({2, 3, 4}), reals({3, 2, 3}), reals({2})},
                 {{"strides", std::vector<int64_t>{2}}, {"output_padding", std::vector<int64_t>{1}}}});
  all.push_back({"ConvTranspose",
                 {reals({1, 4, 3, 3}), reals({4, 2, 2, 3})},
                 {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 0, 0, 1}}, {"dilations", std::vector<int64_t>{1, 2}}}});
  for (const char* op : {"AveragePool", "MaxPool", "LpPool"}) {
    all.push_back({op,
                   {positive({2, 2, 6, 5})},
                   {{"kernel_shape", std::vector<int64_t>{3, 2}},
                    {"strides", std::vector<int64_t>{2, 1}},
                    {"pads", std::vector<int64_t>{1, 0, 1, 1}}}});
    all.push_back({op, {positive({1, 2, 7})}, {{"kernel_shape", std::vector<int64_t>{3}}, {"strides", std::vector<int64_t>{2}}}});
    all.push_back({op,
                   {positive({1, 1, 6, 6})},
                   {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", std::vector<int64_t>{2, 2}}, {"ceil_mode", int64_t{1}}}});
    all.push_back(
        {op, {positive({2, 2, 4, 5})}, {{"kernel_shape", std::vector<int64_t>{3, 2}}, {"pads", std::vector<int64_t>{1, 0, 2, 1}}}});
    all.push_back({op, {positive({1, 1, 3, 4, 3})}, {{"kernel_shape", std::vector<int64_t>{2, 3, 2}}}});
  }
  all.push_back(
      {"AveragePool",
       {reals({1, 1, 5, 5})},
       {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"count_include_pad", int64_t{1}}}});
  all.push_back({"LpPool", {reals({1, 1, 5, 5})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"p", int64_t{3}}}});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) all.push_back({op, {positive({2, 3, 2, 3})}});
  all.push_back({"LayerNormalization", {reals({2, 3, 4}), positive({4}), reals({4})}});
  all.push_back({"LayerNormalization", {reals({2, 3, 2}), positive({3, 2})}, {{"axis", int64_t{1}}}});
  all.push_back({"RMSNormalization", {reals({2, 3}), positive({3})}});
  all.push_back({"InstanceNormalization", {reals({2, 3, 4}), positive({3}), reals({3})}});
  all.push_back({"GroupNormalization", {reals({2, 4, 3}), positive({4}), reals({4})}, {{"num_groups", int64_t{2}}}});
  all.push_back({"BatchNormalization", {reals({3, 2, 2}), positive({2}), reals({2}), reals({2}, -2, 2, 3), positive({2}, 4)}});
  all.push_back({"BatchNormalization",
                 {reals({3, 2, 2}), positive({2}), reals({2}), reals({2}, -2, 2, 3), positive({2}, 4)},
                 {{"training_mode", int64_t{1}}},
                 1,
                 {3, 4}});
  all.push_back({"minnow.AttentionGradient",
                 {reals({1, 2, 2, 3}), reals({1, 2, 3, 3}, -1, 1, 3), reals({1, 2, 3, 2}, -1, 1, 4), kNone, kNone, kNone, kNone,
                  reals({1, 2, 2, 2}, -1, 1, 5)},
                 {{"is_causal", int64_t{1}}},
                 3});
  all.push_back({"minnow.BatchNormalizationGradient", {reals({3, 2, 2}), positive({2}), reals({3, 2, 2}, -1, 1, 9)}, {}, 3});
  all.push_back(
      {"minnow.LayerNormalizationGradient", {reals({3, 2, 4}), positive({2, 4}), reals({3, 2, 4}, -1, 1, 9)}, {{"axis", int64_t{1}}}, 3});
  all.push_back({"minnow.LayerNormalizationGradient",
                 {reals({5}), positive({5}), reals({5}, -1, 1, 9)},
                 {{"axis", int64_t{0}}, {"centered", int64_t{0}}, {"epsilon", 0.1f}},
                 3});
  all.push_back(
      {"minnow.MaxPoolGradient",
       {positive({2, 2, 6, 5}), reals({2, 2, 3, 4})},
       {{"kernel_shape", std::vector<int64_t>{3, 2}}, {"strides", std::vector<int64_t>{2, 1}}, {"pads", std::vector<int64_t>{1, 0, 0, 0}}},
       1,
       {0}});
  all.push_back({"minnow.ConvWeightGradient",
                 {reals({2, 4, 5, 4}), reals({2, 6, 3, 4})},
                 {{"kernel_shape", std::vector<int64_t>{2, 3}},
                  {"strides", std::vector<int64_t>{2, 1}},
                  {"pads", std::vector<int64_t>{0, 1, 1, 1}},
                  {"group", int64_t{2}}}});
  all.push_back({"minnow.RecurrentGradient",
                 {reals({2, 2, 3}), reals({1, 8, 3}, -1, 1, 3), reals({1, 8, 2}, -1, 1, 4), reals({1, 16}, -1, 1, 5), kNone,
                  reals({1, 2, 2}, -1, 1, 6), reals({1, 2, 2}, -1, 1, 7), kNone, kNone, kNone, kNone, reals({2, 1, 2, 2}, -1, 1, 8),
                  reals({1, 2, 2}, -1, 1, 9), reals({1, 2, 2}, -1, 1, 10)},
                 {{"cell", string("LSTM")}},
                 6});
  all.push_back({"MeanVarianceNormalization", {reals({2, 2, 2, 3})}});
  all.push_back({"LRN", {reals({2, 5, 2})}, {{"size", int64_t{3}}, {"alpha", 0.5f}, {"beta", 0.75f}, {"bias", 1.5f}}});
  all.push_back({"LRN", {reals({1, 4, 1})}, {{"size", int64_t{4}}, {"alpha", 0.5f}}});
  for (const char* reduction : {"none", "sum", "mean"}) {
    all.push_back({"NegativeLogLikelihoodLoss", {reals({3, 4}), integers({3}, {1, 3, 0})}, {{"reduction", string(reduction)}}});
    all.push_back({"SoftmaxCrossEntropyLoss", {reals({3, 4}), integers({3}, {1, 3, 0})}, {{"reduction", string(reduction)}}});
    all.push_back({"SoftmaxCrossEntropyLoss",
                   {reals({2, 3, 2}), integers({2, 2}, {1, 2, 0, 1}), positive({3})},
                   {{"reduction", string(reduction)}, {"ignore_index", int64_t{2}}},
                   1,
                   {2}});
    all.push_back({"SoftmaxCrossEntropyLoss", {reals({2, 5}), integers({2}, {4, 0})}, {{"reduction", string(reduction)}}, 2});
    all.push_back({"NegativeLogLikelihoodLoss",
                   {reals({2, 3, 2, 1}), integers({2, 2, 1}, {-1, 2, 0, -1}), positive({3})},
                   {{"reduction", string(reduction)}, {"ignore_index", int64_t{-1}}},
                   1,
                   {2}});
  }
  all.push_back({"Dropout", {reals({5})}});
  for (const char* mode : {"nearest", "linear", "cubic"})
    all.push_back({"Resize", {reals({1, 2, 4, 3}), kNone, kNone, integers({4}, {1, 2, 7, 2})}, {{"mode", string(mode)}}});
  all.push_back({"Resize",
                 {reals({1, 1, 4, 6}), kNone, kNone, integers({4}, {1, 1, 2, 3})},
                 {{"mode", string("linear")}, {"antialias", int64_t{1}}}});
  struct Recurrent {
    const char* op;
    int64_t gates;
    size_t outputs;
  };
  for (const Recurrent& r : {Recurrent{"RNN", 1, 2}, Recurrent{"GRU", 3, 2}, Recurrent{"LSTM", 4, 3}}) {
    const auto weights = [&](int64_t directions) -> std::vector<Tensor> {
      return {reals({directions, r.gates * 2, 3}, -1, 1, 3), reals({directions, r.gates * 2, 2}, -1, 1, 4),
              reals({directions, r.gates * 4}, -1, 1, 5)};
    };
    std::vector<Tensor> plain = weights(1), both = weights(2);
    plain.insert(plain.begin(), reals({4, 2, 3}));
    both.insert(both.begin(), reals({3, 2, 3}));
    all.push_back({r.op, plain, {{"hidden_size", int64_t{2}}}, r.outputs});
    both.push_back(integers({2}, {3, 2}, DType::i32));
    both.push_back(reals({2, 2, 2}, -1, 1, 6));
    all.push_back({r.op, both, {{"direction", string("bidirectional")}}, r.outputs});
    plain[0] = reals({2, 4, 3});
    all.push_back({r.op, plain, {{"direction", string("reverse")}, {"layout", int64_t{1}}}, r.outputs});
    both[4] = integers({2}, {2, 0}, DType::i32);
    all.push_back({r.op, both, {{"direction", string("bidirectional")}}, r.outputs});
  }
  {
    const std::vector<Tensor> weights = {
        reals({3, 2, 3}), reals({1, 8, 3}, -1, 1, 3), reals({1, 8, 2}, -1, 1, 4), reals({1, 16}, -1, 1, 5), kNone,
        reals({1, 2, 2}), reals({1, 2, 2}, -1, 1, 7), reals({1, 6}, -1, 1, 8)};
    all.push_back({"LSTM", {weights[0], weights[1], weights[2], weights[3], kNone, weights[5], weights[6]}, {}, 3});
    all.push_back({"LSTM", weights, {{"input_forget", int64_t{1}}}, 3});
    all.push_back({"GRU",
                   {reals({3, 2, 3}), reals({1, 6, 3}, -1, 1, 3), reals({1, 6, 2}, -1, 1, 4), reals({1, 12}, -1, 1, 5)},
                   {{"linear_before_reset", int64_t{1}}},
                   2});
  }
  for (const int64_t align : {0, 1})
    for (const char* mode : {"linear", "nearest", "cubic"})
      for (const char* padding : {"zeros", "border", "reflection"})
        all.push_back({"GridSample",
                       {reals({2, 2, 3, 4}), reals({2, 2, 3, 2}, -1.31, 1.27)},
                       {{"align_corners", align}, {"mode", string(mode)}, {"padding_mode", string(padding)}}});
  all.push_back({"GridSample", {reals({1, 1, 5}), reals({1, 4, 1}, -0.93, 0.91)}});
  all.push_back({"GridSample", {reals({1, 2, 2, 3, 2}), reals({1, 1, 2, 2, 3}, -0.93, 0.91)}});
  all.push_back({"AffineGrid", {reals({2, 2, 3}), integers({4}, {2, 1, 3, 2})}});
  all.push_back({"AffineGrid", {reals({1, 3, 4}), integers({5}, {1, 1, 2, 3, 2})}, {{"align_corners", int64_t{1}}}});
  all.push_back({"Det", {reals({3, 3})}});
  all.push_back({"Det", {reals({2, 2, 2})}});
  all.push_back({"Det", {tensor(DType::f64, {2, 2}, {1, 2, 2, 4})}});
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}}) all.push_back({"minnow.Svd", {reals(shape)}, {}, 3});
  for (const int64_t inverse : {0, 1})
    for (const int64_t parts : {1, 2})
      for (const int64_t length : {5, 8}) {
        all.push_back({"DFT", {reals({2, 5, 3, parts}), integers({}, {double(length)}), integers({}, {1})}, {{"inverse", inverse}}});
        if (inverse || parts == 1)
          all.push_back({"DFT",
                         {reals({2, 5, parts}), inverse ? integers({}, {double(length)}) : integers({}, {double(length)})},
                         {{"inverse", inverse}, {"onesided", int64_t{1}}}});
      }
  all.push_back({"DFT", {reals({6, 2}), kNone, integers({}, {0})}});
  all.push_back({"STFT", {reals({2, 9, 1}), integers({}, {2}), positive({4})}});
  all.push_back({"STFT", {reals({1, 9, 2}), integers({}, {3}), positive({3})}, {{"onesided", int64_t{0}}}});
  all.push_back({"STFT", {reals({2, 8}), integers({}, {2}), kNone, integers({}, {4})}});
  all.push_back({"Col2Im", {reals({2, 8, 12}), integers({2}, {4, 5}), integers({2}, {2, 2})}});
  all.push_back({"Col2Im",
                 {reals({1, 4, 9}), integers({2}, {5, 5}), integers({2}, {2, 2})},
                 {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 0, 0, 1}}}});
  all.push_back({"MaxUnpool",
                 {reals({1, 1, 2, 2}), integers({1, 1, 2, 2}, {0, 7, 9, 14})},
                 {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}}});
  all.push_back({"MaxUnpool",
                 {reals({1, 1, 2, 2}), integers({1, 1, 2, 2}, {0, 7, 9, 14}), integers({4}, {1, 1, 5, 6})},
                 {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}}});
  all.push_back({"TensorScatter", {reals({2, 5, 2}), reals({2, 2, 2}, -2, 2, 7), integers({2}, {1, 3})}, {{"axis", int64_t{1}}}});
  all.push_back({"TensorScatter",
                 {reals({2, 4, 2}), reals({2, 3, 2}, -2, 2, 7), integers({2}, {2, 3})},
                 {{"axis", int64_t{1}}, {"mode", string("circular")}}});
  all.push_back({"DeformConv",
                 {reals({2, 4, 4, 3}), reals({4, 2, 2, 2}), reals({2, 16, 3, 2}, -0.93, 0.91, 4), reals({4}), positive({2, 8, 3, 2})},
                 {{"group", int64_t{2}}, {"offset_group", int64_t{2}}}});
  all.push_back(
      {"DeformConv",
       {reals({1, 2, 5, 4}), reals({3, 2, 3, 2}), reals({1, 12, 2, 5}, -1.93, 1.91, 4)},
       {{"pads", std::vector<int64_t>{1, 2, 0, 1}}, {"strides", std::vector<int64_t>{2, 1}}, {"dilations", std::vector<int64_t>{1, 2}}}});
  all.push_back({"DeformConv", {reals({1, 2, 5}), reals({1, 2, 2}), reals({1, 2, 4}, -0.93, 0.91, 4), kNone, positive({1, 2, 4})}});
  for (const char* mode : {"avg", "max"})
    for (const int64_t samples : {0, 2})
      for (const char* transformation : {"half_pixel", "output_half_pixel"})
        all.push_back(
            {"RoiAlign",
             {reals({2, 2, 5, 6}), tensor(DType::f64, {3, 4}, {0.31, 0.42, 4.13, 3.57, -1.7, 1.21, 5.63, 6.42, 2.11, 2.23, 2.64, 2.87}),
              integers({3}, {1, 0, 1})},
             {{"mode", string(mode)},
              {"sampling_ratio", samples},
              {"coordinate_transformation_mode", string(transformation)},
              {"output_height", int64_t{2}},
              {"output_width", int64_t{3}},
              {"spatial_scale", 0.75f}}});
  all.push_back({"MaxRoiPool",
                 {reals({2, 2, 5, 6}), tensor(DType::f64, {3, 5}, {1, 0.2, 0.3, 4.1, 3.2, 0, -2.2, 1.1, 5.2, 6.3, 1, 3.3, 7.1, 4.2, 9.4})},
                 {{"pooled_shape", std::vector<int64_t>{2, 3}}, {"spatial_scale", 0.75f}},
                 1,
                 {1}});
  for (const char* rule : {"linear", "gated", "delta", "gated_delta"})
    for (const bool shared : {false, true}) {  // a decay for each head and a beta for all, and a state that is given
      const string name = rule;
      const int64_t decays = shared ? 2 : 4, betas = shared ? 1 : 2;
      all.push_back({"LinearAttention",
                     {reals({2, 3, 8}), reals({2, 3, 4}, -1, 1, 3), reals({2, 3, 6}, -2, 2, 4), shared ? reals({2, 2, 2, 3}) : kNone,
                      name.starts_with("gated") ? reals({2, 3, decays}, -1, 0.1, 5) : kNone,
                      name.ends_with("delta") ? reals({2, 3, betas}, 0.1, 0.9, 6) : kNone},
                     {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", name}, {"scale", shared ? 0.5f : 0.0f}},
                     shared ? size_t{2} : size_t{1}});
    }
  all.push_back({"minnow.After", {reals({3}), reals({2})}, {}, 1, {1}});
  all.push_back({"Attention", {reals({1, 2, 3, 4}), reals({1, 2, 5, 4}, -2, 2, 3), reals({1, 2, 5, 4}, -2, 2, 4)}});
  all.push_back({"Compress", {reals({3, 2}), integers({3}, {1, 0, 1}, DType::boolean)}, {{"axis", int64_t{0}}}});
  all.push_back({"OneHot", {integers({2, 3}, {0, 3, 1, -1, 7, 2}), integers({}, {4}), reals({2})}, {{"axis", int64_t{1}}}});
  all.push_back({"Range", {number(0.5), number(2.9), number(0.7)}, {}, 1, {1}});
  return all;
}
/// Made once: the names of all tests need them, whatever is run.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = made_cases();
  return kCases;
}

Var weighted_sum(const Var& y, const Tensor& weights) { return expr::op("ReduceSum", {y * Var(weights)}, {{"keepdims", int64_t{0}}}); }

class OperatorGradients : public testing::TestWithParam<size_t> {};

TEST_P(OperatorGradients, agree_with_differences) {
  const Case& test = cases()[GetParam()];
  SCOPED_TRACE(test.op + " " + std::to_string(GetParam()));
  std::vector<Tensor> made = run_operator(test.op, test.inputs, of_graph(test.attributes), test.outputs);
  std::vector<Tensor> weights;
  for (size_t i = 0; i < made.size(); ++i)
    weights.push_back(made[i].dtype() == DType::f64 ? reals(made[i].shape(), -1, 1, static_cast<unsigned>(i) + 11) : Tensor());
  const auto loss_of = [&](const std::vector<Tensor>& inputs) {
    const std::vector<Tensor> outputs = run_operator(test.op, inputs, of_graph(test.attributes), test.outputs);
    double loss = 0;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (weights[i]) {
        const std::vector<double> y = numbers(outputs[i]), w = numbers(weights[i]);
        for (size_t k = 0; k < y.size(); ++k) loss += y[k] * w[k];
      }
    return loss;
  };

  Vars inputs, parameters;
  std::vector<size_t> places;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Tensor& input = test.inputs[i];
    if (!input) {
      inputs.emplace_back();
    } else if (input.dtype() == DType::f64 && !test.constants.contains(i)) {
      inputs.push_back(expr::trainable(input.clone()));
      parameters.push_back(inputs.back());
      places.push_back(i);
    } else {
      inputs.push_back(Var(input));
    }
  }
  const Vars outputs = expr::ops(test.op, inputs, test.outputs, test.attributes);
  Var loss;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (weights[i]) loss = loss.has_value() ? loss + weighted_sum(outputs[i], weights[i]) : weighted_sum(outputs[i], weights[i]);
  const Vars gradients = expr::gradients(loss, parameters);
  ASSERT_EQ(gradients.size(), places.size());
  constexpr double kStep = 1e-5;
  double worst = 0;
  size_t compared = 0;
  for (size_t p = 0; p < places.size(); ++p) {
    const Tensor& input = test.inputs[places[p]];
    const Tensor found = gradients[p].tensor();
    ASSERT_EQ(found.shape(), input.shape());
    ASSERT_EQ(found.dtype(), DType::f64);
    const std::vector<double> values = test::numbers(found);
    for (size_t k = 0; k < values.size(); ++k) {
      const auto moved = [&](double step) {
        std::vector<Tensor> changed = test.inputs;
        changed[places[p]] = input.clone();
        changed[places[p]].writable().data<double>()[k] += step;
        return loss_of(changed);
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(values[k], expected, 1e-7 * std::max(1.0, std::fabs(expected)) + 2e-8) << "input " << places[p] << ", element " << k;
      if (HasFailure()) return;
      worst = std::max(worst, std::fabs(values[k] - expected) / std::max(1.0, std::fabs(expected)));
      ++compared;
    }
  }
  std::array<char, 32> text;  // for bench/training_checks.py
  std::snprintf(text.data(), text.size(), "%.3g", worst);
  RecordProperty("worst", text.data());
  RecordProperty("derivatives", static_cast<int>(compared));
}

/// Operators of floats that have no gradient yet, or none at all, with the reason.
const std::map<std::string_view, std::string_view> kWithoutGradient = {
    {"Bernoulli", "random"},
    {"BitCast", "bits have no derivative"},
    {"ConcatFromSequence", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"EyeLike", "constant"},
    {"Multinomial", "random"},
    {"Optional", "through the tensor of the optional: sequence_gradient_test.cpp"},
    {"OptionalGetElement", "through the tensor of the optional: sequence_gradient_test.cpp"},
    {"QuantizeLinear", "integers have no derivative; quantization-aware training brings rules"},
    {"RandomNormalLike", "random"},
    {"RandomUniformLike", "random"},
    {"SequenceAt", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"SequenceConstruct", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"SequenceErase", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"SequenceInsert", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"SequenceMap", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"SplitToSequence", "through the tensors of the sequence: sequence_gradient_test.cpp"},
    {"ai.onnx.ml.Binarizer", "steps"},
    {"ai.onnx.ml.TreeEnsemble", "steps"},
    {"ai.onnx.preview.training.Adagrad", "an optimizer"},
    {"ai.onnx.preview.training.Adam", "an optimizer"},
    {"ai.onnx.preview.training.Momentum", "an optimizer"},
    {"DequantizeLinear", "integers have no derivative; quantization-aware training brings rules"},
    {"If", "control flow: control_flow_gradient_test.cpp"},
    {"Loop", "control flow: control_flow_gradient_test.cpp"},
    {"MelWeightMatrix", "rounds its edges to bins"},
    {"minnow.LinearAttentionGradient", "a gradient, of first order alone"},
    {"minnow.MaxRoiPoolGradient", "a gradient, of first order alone"},
    {"minnow.RoiAlignGradient", "a gradient, of first order alone"},
    {"minnow.UpdateElements", "an optimizer"},
    {"Scan", "control flow: control_flow_gradient_test.cpp"},
    {"TfIdfVectorizer", "integers have no derivative"},
    {"Unique", "equal elements have no derivative of their own"},
};

TEST(Gradients, of_every_operator_of_floats_are_there_or_listed) {
  size_t count = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    bool floats = false, gives_floats = op->outputs.empty() || op->infer;
    for (const InputSpec& input : op->inputs) floats = floats || (input.dtypes & kFloats);
    for (const OutputSpec& output : op->outputs)
      gives_floats = gives_floats || (output.dtype.kind != DTypeRule::Kind::fixed || is_float(output.dtype.dtype));
    floats = floats && gives_floats;
    const bool differentiable = op->gradient || op->decompose || (moves_data(op->elements) && op->inputs[0].arity != Arity::variadic);
    count += floats && differentiable;
    if (floats && !differentiable && !op->outputs.empty() && !kWithoutGradient.contains(op->name))
      ADD_FAILURE() << op->name << " has no gradient and is not listed";
    if (differentiable && kWithoutGradient.contains(op->name) && op->gradient) ADD_FAILURE() << op->name << " has a gradient and is listed";
  }
  RecordProperty("operators_with_gradient", static_cast<int>(count));
  for (const auto& [name, reason] : kWithoutGradient) RecordProperty("without." + std::string(name), std::string(reason));
  std::printf("%zu operators of floats have a gradient\n", count);
}

std::string name_of_case(const testing::TestParamInfo<size_t>& info) {
  std::string name = cases()[info.param].op + "_" + std::to_string(info.param);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(, OperatorGradients, testing::Range<size_t>(0, cases().size(), one_in()), name_of_case);

}  // namespace
}  // namespace minnow::test
