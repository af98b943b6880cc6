// SPDX-License-Identifier: Apache-2.0
// Networks on the devices that this machine has, compared with the processor. tests/conformance runs operators (--backend opencl).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>

#include "graph/expr.h"
#include "runtime/backends.h"
#include "support/paths.h"
#include "support/random.h"
#include "support/scheme_cases.h"
#include "support/series.h"

namespace minnow {
namespace {

using test::random_tensor;

Tensor cast_to_f32(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return tensor;
  Tensor result(DType::f32, tensor.shape());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.writable().data<float>()[i] = tensor.dtype() == DType::i8 ? tensor.data<int8_t>()[i] : tensor.data<uint8_t>()[i];
  return result;
}

// Convolutions, a pool, a join, products and a softmax of an image [n, 3, 17, 19].
Model network() {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  ValueType type = ValueType::tensor(DType::f32);
  type.dims = std::vector<Dim>{Dim{-1, "n"}, Dim{3, ""}, Dim{17, ""}, Dim{19, ""}};
  const Expr x = b.wrap(&graph->add_input("x", type));
  const auto weight = [&](const Shape& shape, unsigned seed) { return b.constant(random_tensor(shape, seed)); };
  const Expr a = b.op("minnow.FusedConv", {x, weight({20, 3, 3, 3}, 1), weight({20}, 2)},
                      {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}, {"activation", std::string("HardSwish")}});
  const Expr d = b.op("Conv", {a, weight({20, 1, 3, 3}, 3)}, {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{20}}});
  const Expr joined = b.op("Concat", {a, d}, {{"axis", int64_t{1}}});
  const Expr pooled = b.op("MaxPool", {joined}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const Expr mean = b.op("GlobalAveragePool", {pooled});
  const Expr flat = b.op("Flatten", {mean});
  const Expr logits = b.op("Gemm", {flat, weight({40, 10}, 4), weight({10}, 5)});
  graph->add_output(*b.op("Softmax", {logits}).value());
  return Model::from_graph(std::move(graph));
}

class Gpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const InvalidArgument& error) {
      GTEST_SKIP() << error.what();
    } catch (const Unsupported& error) {
      GTEST_SKIP() << error.what();
    }
    options.backends = {GetParam()};
  }
  SessionOptions options;
};

void expect_close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], tolerance) << i;
}

TEST_P(Gpu, computes_as_the_processor_does) {
  const Model model = network();
  Session device(model, options), processor(model);
  for (const int64_t n : {1, 3, 1, 2}) {
    const Tensor x = random_tensor({n, 3, 17, 19}, 7);
    expect_close(device.run(std::vector<TensorView>{x})[0], processor.run(std::vector<TensorView>{x})[0]);
  }
  size_t elsewhere = 0;
  for (const PlanRow& row : device.plan_report().rows) elsewhere += row.backend != GetParam();
  EXPECT_EQ(elsewhere, 0u);
}

TEST_P(Gpu, computes_large_products_in_large_tiles) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const auto input = [&](const char* name, std::vector<int64_t> dims) {
    ValueType type = ValueType::tensor(DType::f32);
    type.dims.emplace();
    for (const int64_t dim : dims) type.dims->push_back(Dim{dim, ""});
    return b.wrap(&graph->add_input(name, type));
  };
  const Expr image = input("image", {5, 9, 65, 64}), left = input("left", {1537, 35}), right = input("right", {35, 1540});
  graph->add_output(*b.op("Conv", {image, b.constant(random_tensor({130, 9, 3, 3}, 1)), b.constant(random_tensor({130}, 2))},
                          {{"pads", Ints{1, 1, 1, 1}}})
                         .value());
  graph->add_output(*b.op("MatMul", {left, right}).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor x = random_tensor({5, 9, 65, 64}, 3), y = random_tensor({1537, 35}, 4), z = random_tensor({35, 1540}, 5);
  const std::vector<TensorView> inputs = {x, y, z};
  const std::vector<Tensor> found = Session(model, options).run(inputs), expected = Session(model).run(inputs);
  for (size_t i = 0; i < 2; ++i) expect_close(found[i], expected[i], 5e-5);
}

// Tiles at all borders are incomplete; F(2x2) alone is as exact as precision "high" wants it.
TEST_P(Gpu, computes_convolutions_by_winograd) {
  for (const auto& [precision, scheme] : {std::pair("normal", "gpu.conv.winograd_f4"), std::pair("high", "gpu.conv.winograd_f2")}) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {3, 100, 30, 29})));
    const auto filters = [&](int64_t out, int64_t in, unsigned seed) {
      Tensor tensor = random_tensor({out, in, 3, 3}, seed);
      float* values = tensor.writable().data<float>();
      for (int64_t i = 0; i < tensor.elements(); ++i) values[i] /= std::sqrt(static_cast<float>(3 * in));
      return b.constant(std::move(tensor));
    };
    const Expr y = b.op("Conv", {x, filters(132, 100, 1), b.constant(random_tensor({132}, 2))}, {{"pads", Ints{1, 0, 2, 1}}});
    const Expr z =
        b.op("minnow.FusedConv", {y, filters(132, 132, 3), Expr(), y}, {{"pads", Ints{1, 1, 1, 1}}, {"activation", std::string("Relu")}});
    graph->add_output(*y.value());
    graph->add_output(*z.value());
    const Model model = Model::from_graph(std::move(graph));
    const Tensor input = random_tensor({3, 100, 30, 29}, 5);
    SessionOptions plain;
    plain.precision = "high";
    options.precision = precision;
    Session device(model, options);
    const std::vector<Tensor> found = device.run(std::vector<TensorView>{input}),
                              expected = Session(model, plain).run(std::vector<TensorView>{input});
    for (size_t i = 0; i < 2; ++i) expect_close(found[i], expected[i]);
    for (const PlanRow& row : device.plan_report().rows) {
      if (row.op != kTransfer) {
        EXPECT_EQ(row.scheme, scheme);
      }
    }
  }
}

// Few and many rows; blocks that rows end in the middle of.
TEST_P(Gpu, multiplies_packed_weights_of_few_bits) {
  const auto bytes = [](const Shape& shape) {
    Tensor tensor(DType::u8, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(static_cast<uint32_t>(i) * 2654435761U >> 13);
    return tensor;
  };
  constexpr int64_t kColumns = 70;
  struct Case {
    int64_t bits, block, depth;
    DType zeros;  // f64: none
  };
  for (const Case& each :
       {Case{4, 32, 320, DType::u8}, Case{4, 16, 77, DType::f64}, Case{8, 16, 70, DType::u8}, Case{2, 64, 130, DType::f32}}) {
    SCOPED_TRACE(format("{} bits, {} numbers", each.bits, each.depth));
    const int64_t blocks = (each.depth + each.block - 1) / each.block;
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    Expr zeros;
    if (each.zeros == DType::u8) zeros = b.constant(bytes({kColumns, (blocks * each.bits + 7) / 8}));
    if (each.zeros == DType::f32) zeros = b.constant(random_tensor({kColumns, blocks}, 2));
    const Expr weights = b.constant(bytes({kColumns, blocks, each.block * each.bits / 8})),
               scales = b.constant(random_tensor({kColumns, blocks}, 3));
    std::vector<Tensor> tensors;
    for (const Shape& shape : {Shape{each.depth}, Shape{2, 3, each.depth}, Shape{71, each.depth}}) {
      tensors.push_back(random_tensor(shape, static_cast<unsigned>(tensors.size() + 7)));
      const Expr a = b.wrap(&graph->add_input("x" + std::to_string(tensors.size()), ValueType::tensor(DType::f32, shape)));
      const Expr bias = tensors.size() == 2 ? Expr() : b.constant(random_tensor({kColumns}, 4));
      graph->add_output(*b.op("minnow.MatMulNBits", {a, weights, scales, zeros, Expr(), bias},
                              {{"K", each.depth}, {"N", kColumns}, {"bits", each.bits}, {"block_size", each.block}})
                             .value());
    }
    const Model model = Model::from_graph(std::move(graph));
    const std::vector<TensorView> inputs(tensors.begin(), tensors.end());
    SessionOptions reference;
    reference.backends = {"reference"};
    Session device(model, options);
    const std::vector<Tensor> found = device.run(inputs), expected = Session(model, reference).run(inputs);
    for (size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i], each.bits == 8 ? 2e-3 : 1e-4);
    for (const PlanRow& row : device.plan_report().rows) {
      if (row.op != kTransfer) {
        EXPECT_EQ(row.scheme, "gpu.matmul_nbits");
      }
    }
  }
}

// One to eight rows or columns, with neighbours along either side; sums that are split, and sums shorter than a group.
TEST_P(Gpu, computes_products_of_few_rows_or_columns) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  std::vector<Tensor> tensors;
  const auto input = [&](const Shape& shape) {
    tensors.push_back(random_tensor(shape, static_cast<unsigned>(tensors.size() + 1)));
    return b.wrap(&graph->add_input("x" + std::to_string(tensors.size()), ValueType::tensor(DType::f32, shape)));
  };
  const auto output = [&](const Expr& y) { graph->add_output(*y.value()); };
  unsigned seed = 50;
  const auto weight = [&](const Shape& shape) { return b.constant(random_tensor(shape, seed++)); };
  output(b.op("MatMul", {input({1, 70}), weight({70, 33})}));
  output(b.op("MatMul", {input({2, 3, 130}), weight({130, 65})}));
  output(b.op("MatMul", {input({3, 2, 1, 65}), input({2, 65, 40})}));
  output(b.op("Gemm", {input({3, 3000}), weight({37, 3000}), weight({37})}, {{"transB", int64_t{1}}, {"alpha", 0.03f}, {"beta", 0.5f}}));
  output(b.op("Gemm", {input({8, 2100}), weight({2100, 31})}, {{"alpha", 0.03f}}));
  output(b.op("Gemm", {input({90, 7}), weight({2, 90})}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}));
  output(b.op("Gemm", {input({70, 65}), weight({70, 5}), weight({65, 1})}, {{"transA", int64_t{1}}}));
  output(b.op("MatMul", {input({67, 129}), input({129})}));
  output(
      b.op("minnow.FusedMatMul", {input({1, 64}), weight({64, 50}), weight({50}), input({1, 50})}, {{"activation", std::string("Relu")}}));
  output(b.op("minnow.FusedConv", {input({1, 128, 1, 1}), weight({70, 128, 1, 1}), weight({70})},
              {{"activation", std::string("HardSigmoid")}}));
  output(b.op("Conv", {input({1, 64, 5, 6}), weight({40, 32, 3, 4})}, {{"group", int64_t{2}}, {"strides", Ints{3, 3}}}));
  const Model model = Model::from_graph(std::move(graph));
  const std::vector<TensorView> inputs(tensors.begin(), tensors.end());
  Session device(model, options);
  const std::vector<Tensor> found = device.run(inputs), expected = Session(model).run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(found[i], expected[i]);
  }
  for (const PlanRow& row : device.plan_report().rows) {
    if (row.op != kTransfer) {
      EXPECT_THAT(row.scheme, testing::AnyOf("gpu.matmul.few", "gpu.conv.few")) << row.op;
    }
  }
}

// Many matrices, of one right side and of one each, and many groups of channels.
TEST_P(Gpu, computes_large_batches_and_many_groups) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  std::vector<Tensor> tensors;
  const auto input = [&](const Shape& shape) {
    tensors.push_back(random_tensor(shape, static_cast<unsigned>(tensors.size() + 1)));
    return b.wrap(&graph->add_input("x" + std::to_string(tensors.size()), ValueType::tensor(DType::f32, shape)));
  };
  const auto output = [&](const Expr& y) { graph->add_output(*y.value()); };
  output(b.op("MatMul", {input({300, 8, 16}), input({16, 9})}));
  output(b.op("MatMul", {input({32, 12, 5, 7}), input({32, 12, 7, 6})}));
  output(b.op("MatMul", {input({700, 1, 3, 2}), input({1, 2, 2, 3})}));
  output(b.op("Conv", {input({1, 256 * 9, 3, 4}), input({256 * 17, 9, 2, 2})}, {{"group", int64_t{256}}}));
  const Model model = Model::from_graph(std::move(graph));
  const std::vector<TensorView> inputs(tensors.begin(), tensors.end());
  Session device(model, options);
  const std::vector<Tensor> found = device.run(inputs), expected = Session(model).run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i]);
  for (const PlanRow& row : device.plan_report().rows) EXPECT_EQ(row.backend, GetParam()) << row.op;
}

TEST_P(Gpu, computes_recurrent_layers_in_either_layout) {
  for (const int64_t layout : {0, 1})
    for (const int64_t linear : {0, 1}) {
      auto graph = std::make_unique<Graph>();
      GraphBuilder b(*graph);
      const auto weight = [&](const Shape& shape, unsigned seed) { return b.constant(random_tensor(shape, seed)); };
      const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {5, 3, 7})));
      const Shape states = layout ? Shape{5, 2, 6} : Shape{2, 3, 6};
      graph->add_output(*b.op("GRU", {x, weight({2, 18, 7}, 1), weight({2, 18, 6}, 2), weight({2, 36}, 3), Expr(), weight(states, 4)},
                              {{"hidden_size", int64_t{6}},
                               {"direction", std::string("bidirectional")},
                               {"layout", layout},
                               {"linear_before_reset", linear}})
                             .value());
      const Model model = Model::from_graph(std::move(graph));
      const Tensor given = random_tensor({5, 3, 7}, 5);
      Session device(model, options);
      expect_close(device.run(std::vector<TensorView>{given})[0], Session(model).run(std::vector<TensorView>{given})[0]);
      for (const PlanRow& row : device.plan_report().rows) EXPECT_EQ(row.backend, GetParam()) << row.op;
    }
}

// Vulkan and OpenGL ES bind a limited part of a buffer: steps with larger tensors are the processor's.
TEST_P(Gpu, leaves_tensors_that_it_cannot_bind_to_the_processor) {
  const size_t most = make_backend(GetParam(), {})->device().max_tensor_bytes;
  if (most == 0 || most > size_t{1} << 28) GTEST_SKIP() << "the device binds " << most << " bytes (0: any number)";
  const int64_t elements = static_cast<int64_t>(most / sizeof(float));
  for (const int64_t n : {elements / 2, elements, elements + 1000}) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    graph->add_output(*b.op("Relu", {b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {n})))}).value());
    const Model model = Model::from_graph(std::move(graph));
    Tensor x(DType::f32, Shape{n});
    for (int64_t i = 0; i < n; ++i) x.writable().data<float>()[i] = static_cast<float>(i % 7 - 3);
    Session session(model, options);
    const Tensor y = session.run(std::vector<TensorView>{x})[0];
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong += y.data<float>()[i] != std::max(x.data<float>()[i], 0.0f);
    EXPECT_EQ(wrong, 0) << n;
    for (const PlanRow& row : session.plan_report().rows) {
      if (row.op == "Relu") {
        EXPECT_EQ(row.backend, n == elements / 2 ? GetParam() : "cpu");
      }
    }
  }
}

// Large products and images of 16 bits, which the copy engine brings to wgmma on an NVIDIA GPU of compute capability 9.0: sizes that do not
// fill tiles, images whose boxes are parts of them and several of them, and results in both layouts.
struct LargeCase {
  const char* what;
  Shape input, weight;
  int64_t pad;
  DType dtype;
};
Model large_model(const LargeCase& each) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const auto narrow = [&](const Expr& x) { return each.dtype == DType::f32 ? x : cast(x, each.dtype); };
  ValueType type = ValueType::tensor(DType::f32);
  type.dims.emplace();
  for (const int64_t dim : each.input.dims()) type.dims->push_back(Dim{dim, ""});
  const Expr x = narrow(b.wrap(&graph->add_input("x", type)));
  const auto constant = [&](const Shape& shape, unsigned seed, int64_t terms) {
    const Tensor uniform = random_tensor(shape, seed);
    std::vector<float> values(uniform.data<float>(), uniform.data<float>() + uniform.elements());
    for (float& value : values) value /= std::sqrt(static_cast<float>(terms));
    return narrow(b.constant(Tensor::of_f32(shape, values)));
  };
  const int64_t columns = each.weight[each.input.rank() == 2 ? 1 : 0];
  const Expr weight = constant(each.weight, 1, each.weight.elements() / columns), bias = constant({columns}, 2, 1);
  const auto result = [&](const Expr& y) { graph->add_output(*cast(y, DType::f32).value()); };
  if (each.input.rank() == 2) {
    result(b.op("Relu", {b.op("Gemm", {x, weight, bias})}));
  } else {
    const Expr y = b.op("Conv", {x, weight, bias}, {{"pads", Ints(4, each.pad)}});
    result(y);
    const Expr again = constant({columns, columns, 1, 1}, 3, columns);
    result(b.op("Conv", {b.op("minnow.FusedConv", {y, again, bias, y}, {{"activation", std::string("Relu")}}), again}));
  }
  return Model::from_graph(std::move(graph));
}
const LargeCase kLargeCases[] = {{"product", {4100, 520}, {520, 1000}, 0, DType::f16},
                                 {"product of few columns", {30011, 264}, {264, 72}, 0, DType::f16},
                                 {"product whose rows are rounded", {4100, 517}, {517, 1000}, 0, DType::f32},
                                 {"product of bf16", {4100, 520}, {520, 1000}, 0, DType::bf16},
                                 {"images of whole boxes", {16, 120, 56, 56}, {248, 120, 3, 3}, 1, DType::f16},
                                 {"images of strips", {37, 136, 28, 28}, {264, 136, 3, 3}, 1, DType::f16},
                                 {"small images", {133, 136, 7, 7}, {520, 136, 3, 3}, 1, DType::bf16},
                                 {"images of odd sizes", {67, 120, 31, 19}, {125, 120, 3, 3}, 0, DType::f16},
                                 {"images of f32", {16, 120, 56, 56}, {248, 120, 3, 3}, 1, DType::f32},
                                 {"images read once", {16, 136, 56, 56}, {264, 136, 1, 1}, 0, DType::f16}};

TEST_P(Gpu, computes_large_products_and_images_of_16_bits) {
  if (make_backend(GetParam(), {})->device().wgmma_units == 0) GTEST_SKIP() << "the device has no wgmma";
  options.precision = "low";
  for (const LargeCase& each : kLargeCases) {
    SCOPED_TRACE(each.what);
    const Model model = large_model(each);
    const Tensor x = random_tensor(each.input, 7);
    Session device(model, options);
    const std::vector<Tensor> found = device.run(std::vector<TensorView>{x}), expected = Session(model).run(std::vector<TensorView>{x});
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], each.dtype == DType::bf16 ? 0.3 : 0.04);
  }
}

// With tests/backends/gpu/cuda_driver.cpp, so that NVRTC compiles those kernels where there is no device.
TEST(CudaKernels, of_large_products_and_images_compile) {
  try {
    if (make_backend("cuda", {})->device().wgmma_units == 0) GTEST_SKIP() << "the device has no wgmma";
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  SessionOptions options;
  options.backends = {"cuda"};
  options.precision = "low";
  for (const LargeCase& each : kLargeCases) {
    SCOPED_TRACE(each.what);
    Session session(large_model(each), options);
    const Tensor x = random_tensor(each.input, 7);
    session.run(std::vector<TensorView>{x});
    size_t count = 0;
    for (const PlanRow& row : session.plan_report().rows) count += row.scheme.find(".wgmma") != std::string::npos;
    EXPECT_GT(count, 0u);
  }
}

constexpr size_t kResidual = 9;  // input of minnow.QuantizedConv

// A quantized operator between QuantizeLinear and DequantizeLinear that change nothing, so that no layout costs more than another. Results
// are floats.
Model quantized_model(const cpu::SchemeCase& test) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const auto zero = [&](DType dtype) { return b.constant(Tensor(dtype, {})); };  // tensors are made of zeros
  const Expr one = b.constant(Tensor::scalar_f32(1));
  Exprs inputs;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Tensor& tensor = test.inputs[i];
    if (i != 0 && i != kResidual) {
      inputs.push_back(tensor ? b.constant(tensor) : Expr());
      continue;
    }
    ValueType type = ValueType::tensor(DType::f32);
    type.dims.emplace();
    for (const int64_t dim : tensor.shape().dims()) type.dims->push_back(Dim{dim, ""});
    inputs.push_back(b.op("QuantizeLinear", {b.wrap(&graph->add_input(i == 0 ? "x" : "residual", type)), one, zero(tensor.dtype())}));
  }
  const Expr y = b.op(test.op, inputs, test.attributes);
  const bool real = test.inputs.size() > 6 && !test.inputs[6];
  graph->add_output(
      *(real ? y : b.op("DequantizeLinear", {y, one, zero(test.op == "MaxPool" ? test.inputs[0].dtype() : test.inputs[7].dtype())}))
           .value());
  return Model::from_graph(std::move(graph));
}

// Large enough for tensor cores.
cpu::SchemeCase large_quantized_product() {
  const auto bytes = [](DType dtype, const Shape& shape, int64_t step) {
    Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(i * step / 7);
    return tensor;
  };
  const auto zero = [](DType dtype) { return Tensor(dtype, {}); };
  return {"minnow.QuantizedMatMul",
          {bytes(DType::u8, {2, 1500, 520}, 31), Tensor::scalar_f32(0.1f), bytes(DType::u8, {}, 1), bytes(DType::i8, {520, 1000}, 43),
           Tensor::scalar_f32(0.1f), zero(DType::i8), Tensor::scalar_f32(300), zero(DType::i8)}};
}

TEST_P(Gpu, computes_quantized_operators_as_their_references_do) {
  std::map<std::string, size_t> schemes;
  size_t number = 0;
  std::vector<cpu::SchemeCase> cases = cpu::quantized_cases();
  cases.insert(cases.begin(), large_quantized_product());
  for (const cpu::SchemeCase& each : cases) {
    const std::string op = each.op;
    const bool product = op == "minnow.QuantizedConv" || op == "QLinearConv" || op == "minnow.QuantizedMatMul" || op == "QLinearMatMul";
    if (!product && !(op == "MaxPool" && each.inputs[0].dtype() != DType::f32)) continue;
    if (number++ % ((GetParam() == "cuda" ? 1 : 41) * test::one_in()) != 0) continue;  // each compiles a kernel
    SCOPED_TRACE(format("case {}: {}", number, op));
    std::vector<Tensor> inputs = {cast_to_f32(each.inputs[0])};
    if (each.inputs.size() > kResidual) inputs.push_back(cast_to_f32(each.inputs[kResidual]));
    cpu::PreparedCase prepared(each);
    Session device(quantized_model(each), options);
    const Tensor found = device.run(std::vector<TensorView>(inputs.begin(), inputs.end()))[0],
                 expected = cast_to_f32(prepared.expected()[0]);
    const bool real = prepared.expected()[0].dtype() == DType::f32;
    ASSERT_EQ(found.shape(), expected.shape());
    for (int64_t i = 0; i < found.elements(); ++i) {
      const double y = expected.data<float>()[i];
      ASSERT_NEAR(found.data<float>()[i], y, real ? 1e-5 * std::max(1.0, std::abs(y)) : each.steps) << i;
    }
    for (const PlanRow& row : device.plan_report().rows) ++schemes[row.scheme];
  }
  if (GetParam() != "cuda") return;
  for (const char* scheme : {"gpu.conv.tensor_bytes", "gpu.depthwise.packed_bytes", "gpu.matmul.tensor_bytes", "gpu.scaled.packed"})
    EXPECT_GT(schemes[scheme], 0u) << scheme;
}

TEST_P(Gpu, transposes_in_tiles) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    const Expr x = cast(b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {3, 34, 5, 100}))), dtype);
    for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{3, 2, 1, 0}, Ints{1, 3, 0, 2}, Ints{2, 3, 0, 1}, Ints{0, 3, 1, 2}})
      graph->add_output(*cast(b.op("Transpose", {x}, {{"perm", perm}}), DType::f32).value());
    const Model model = Model::from_graph(std::move(graph));
    const Tensor input = random_tensor({3, 34, 5, 100}, 3);
    const std::vector<Tensor> found = Session(model, options).run(std::vector<TensorView>{input}),
                              expected = Session(model).run(std::vector<TensorView>{input});
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], 0);
  }
}

TEST_P(Gpu, computes_large_tensors_and_sums_of_columns) {
  for (const auto& [dtype, columns] : {std::pair(DType::f32, 257), std::pair(DType::f16, 257), std::pair(DType::f16, 250)}) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    ValueType type = ValueType::tensor(DType::f32);
    type.dims = std::vector<Dim>{Dim{513, ""}, Dim{3, ""}, Dim{columns, ""}};
    const Expr x = b.wrap(&graph->add_input("x", type));
    const Expr narrow = b.op("Cast", {x}, {{"to", static_cast<int64_t>(dtype == DType::f32 ? 1 : 10)}});
    const Expr factors = b.op("Cast", {b.constant(random_tensor({3, 1}, 2))}, {{"to", static_cast<int64_t>(dtype == DType::f32 ? 1 : 10)}});
    const Expr y = b.op("Mul", {narrow, factors});
    const auto widened = [&](const Expr& each) { graph->add_output(*b.op("Cast", {each}, {{"to", int64_t{1}}}).value()); };
    widened(y);
    widened(b.op("ReduceSum", {y, b.constant(Tensor::of_i64({1}, Ints{0}))}, {{"keepdims", int64_t{0}}}));
    widened(b.op("ReduceMax", {y, b.constant(Tensor::of_i64({2}, Ints{0, 1}))}));
    widened(b.op("ReduceMean", {y, b.constant(Tensor::of_i64({1}, Ints{1}))}));
    const Model model = Model::from_graph(std::move(graph));
    const Tensor input = random_tensor({513, 3, columns}, 3);
    const std::vector<Tensor> found = Session(model, options).run(std::vector<TensorView>{input}),
                              expected = Session(model).run(std::vector<TensorView>{input});
    for (size_t i = 0; i < 4; ++i) expect_close(found[i], expected[i], dtype == DType::f32 ? 1e-4 : 4e-2);
  }
}

// Elementwise operators and normalizations of lines that an item, a group's registers and neither hold.
TEST_P(Gpu, reads_words_of_16_bits_and_lines_once) {
  const auto to = [](const Expr& x, DType dtype) { return cast(x, dtype); };
  const std::pair<DType, std::vector<int64_t>> rows_of[] = {
      {DType::f32, {509, 2051}}, {DType::f16, {7, 258, 2048, 4100}}, {DType::bf16, {66}}};
  for (const auto& [dtype, lengths] : rows_of)
    for (const int64_t length : lengths) {
      SCOPED_TRACE(length);
      auto graph = std::make_unique<Graph>();
      GraphBuilder b(*graph);
      const int64_t rows = length > 4000 ? 100 : length > 500 ? 260 : 3;
      const Expr x = to(b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {rows, 2, length}))), dtype);
      const auto constant = [&, dtype = dtype](const Shape& shape, unsigned seed) {
        return to(b.constant(random_tensor(shape, seed)), dtype);
      };
      const Expr normal = b.op("LayerNormalization", {x, constant({length}, 1), constant({length}, 2)});
      const Expr wide = b.op("LayerNormalization", {x, constant({2, 1}, 1)}, {{"axis", int64_t{1}}});
      const Expr image = b.op("InstanceNormalization", {x, constant({2}, 3), constant({2}, 4)});
      const Expr sizes = b.op("RMSNormalization", {x, constant({length}, 5)});
      const Expr y = b.op("Add", {b.op("Mul", {normal, constant({}, 6)}), x});
      for (const Expr& each : {wide, image, sizes, y, b.op("Relu", {x})}) graph->add_output(*to(each, DType::f32).value());
      const Model model = Model::from_graph(std::move(graph));
      const Tensor input = random_tensor({rows, 2, length}, 7);
      const std::vector<Tensor> found = Session(model, options).run(std::vector<TensorView>{input}),
                                expected = Session(model).run(std::vector<TensorView>{input});
      for (size_t i = 0; i < 5; ++i) expect_close(found[i], expected[i], dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 4e-3 : 3e-2);
    }
}

TEST_P(Gpu, computes_with_16_bits_at_low_precision) {
  options.precision = "low";
  const Model model = network();
  Session device(model, options);
  for (const int64_t n : {1, 3}) {
    const Tensor x = random_tensor({n, 3, 17, 19}, 7);
    expect_close(device.run(std::vector<TensorView>{x})[0], Session(model).run(std::vector<TensorView>{x})[0], 3e-3);
  }
}

TEST_P(Gpu, computes_products_with_tf32_where_that_is_allowed) {
  options.precision = "tf32";
  const Model model = network();
  Session device(model, options);
  for (const int64_t n : {1, 3}) {
    const Tensor x = random_tensor({n, 3, 17, 19}, 7);
    expect_close(device.run(std::vector<TensorView>{x})[0], Session(model).run(std::vector<TensorView>{x})[0], 3e-3);
  }
}

TEST_P(Gpu, a_callback_reads_and_replaces_packed_tensors) {
  options.precision = "low";
  const Model model = network();
  const Tensor x = random_tensor({2, 3, 17, 19}, 7);
  const auto run = [&](const SessionOptions& with) {
    std::map<std::string, Tensor> seen;
    Session session(model, with);
    session.set_callbacks({}, [&](NodeEvent& event) {
      if (event.op() == "minnow.FusedConv") {
        const Tensor result = event.output(0);
        seen["conv"] = result;
        std::vector<float> half(result.data<float>(), result.data<float>() + result.elements());
        for (float& value : half) value /= 2;
        event.replace_output(0, Tensor::of_f32(result.shape(), half));
      }
      return true;
    });
    seen["result"] = session.run(std::vector<TensorView>{x})[0];
    return seen;
  };
  const auto device = run(options), processor = run({});
  for (const auto& [name, value] : processor) expect_close(device.at(name), value, 1e-2);
}

TEST_P(Gpu, sessions_of_several_threads_share_weights) {
  const Model model = network();
  const Tensor x = random_tensor({2, 3, 17, 19}, 8);
  const Tensor expected = Session(model).run(std::vector<TensorView>{x})[0];
  std::vector<Tensor> results(8);
  std::vector<std::thread> threads;
  for (Tensor& result : results)
    threads.emplace_back([&] {
      Session session(model, options);
      for (int i = 0; i < 3; ++i) result = session.run(std::vector<TensorView>{x})[0];
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) expect_close(result, expected);
}

TEST_P(Gpu, may_share_a_network_with_the_processor) {
  options.backends = {GetParam(), "cpu"};
  const Model model = network();
  const Tensor x = random_tensor({2, 3, 17, 19}, 9);
  expect_close(Session(model, options).run(std::vector<TensorView>{x})[0], Session(model).run(std::vector<TensorView>{x})[0]);
}

TEST_P(Gpu, an_index_out_of_range_fails_the_run_and_not_the_next) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  ValueType type = ValueType::tensor(DType::i64);
  type.dims = std::vector<Dim>{Dim{2, ""}};
  const Expr indices = b.wrap(&graph->add_input("indices", type));
  graph->add_output(*b.op("Gather", {b.constant(random_tensor({5, 3}, 1)), indices}).value());
  Session session(Model::from_graph(std::move(graph)), options);
  const auto run = [&](int64_t second) {
    const int64_t places[] = {-1, second};
    const Tensor given = Tensor::of_i64({2}, places);
    return session.run(std::vector<TensorView>{given})[0];
  };
  const Tensor expected = run(4);
  try {
    run(7);
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("index 7 is out of range for an axis of 5"), std::string::npos) << error.what();
  }
  expect_close(run(4), expected);
}

TEST_P(Gpu, stamps_are_in_order) {
  const std::shared_ptr<Backend> backend = make_backend(GetParam(), {});
  if (!backend->can_stamp()) GTEST_SKIP() << "no time stamps";
  for (const size_t count : {1, 2, 600, 3}) {
    backend->finish();
    for (size_t i = 0; i < count; ++i) backend->stamp();
    backend->finish();
    const std::vector<double> seconds = backend->take_stamps();
    ASSERT_EQ(seconds.size(), count);
    EXPECT_EQ(seconds[0], 0);
    for (size_t i = 1; i < count; ++i) ASSERT_GE(seconds[i], seconds[i - 1]) << i;
  }
  backend->stamp();  // and nobody finishes
  EXPECT_LE(backend->take_stamps().size(), 1u);
}

TEST_P(Gpu, a_profile_has_the_devices_times) {
  const Model model = network();
  Session session(model, options);
  session.set_profiling(true);
  const Tensor x = random_tensor({2, 3, 17, 19}, 7);
  for (int i = 0; i < 3; ++i) expect_close(session.run(std::vector<TensorView>{x})[0], Session(model).run(std::vector<TensorView>{x})[0]);
  double sum = 0;
  for (const PlanRow& row : session.plan_report().rows) {
    EXPECT_GE(row.measured_seconds, 0) << row.node;
    EXPECT_EQ(row.on_device, row.backend != "cpu" && make_backend(GetParam(), {})->can_stamp()) << row.node;
    sum += row.measured_seconds;
  }
  EXPECT_GT(sum, 0);
}

// With the stand-in for Vulkan's loader (vulkan_driver.cpp) alone, which makes faults; its kernels do nothing.
class VulkanFaults : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv(kFault);
    options.backends = {"vulkan"};
    try {
      if (make_backend("vulkan", {})->device().name.find("stand-in") == std::string::npos) GTEST_SKIP() << "not on the stand-in";
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { unsetenv(kFault); }
  void run(const Model& model, int64_t n = 1) {
    Session session(model, options);
    const Tensor x = random_tensor({n, 3, 17, 19}, 7);
    for (int i = 0; i < 3; ++i) session.run(std::vector<TensorView>{x});
  }
  // The sentence of the error that a run ends with.
  template <class E>
  std::string failure(const Model& model, int64_t n = 1) {
    try {
      run(model, n);
      return "no error";
    } catch (const E& error) {
      return error.what();
    }
  }
  static constexpr const char* kFault = "MINNOW_STUB_FAULT";
  SessionOptions options;
};

TEST_F(VulkanFaults, a_lost_device_is_an_error_and_opens_again) {
  const Model model = network();
  for (const char* when : {"lost:0", "lost:1", "lost:2", "lost:4", "lost:7"}) {
    run(model);
    setenv(kFault, when, 1);
    // The model's weights are there already, those of a new one are lost on their way.
    const bool is_late = when > std::string_view("lost:2");
    EXPECT_THAT(failure<Unsupported>(is_late ? network() : model), testing::HasSubstr("was lost")) << when;
    unsetenv(kFault);
    EXPECT_NO_THROW(run(model));
  }
}

TEST_F(VulkanFaults, exhausted_memory_is_an_error_and_the_next_run_works) {
  const Model model = network();
  setenv(kFault, "memory:200000000", 1);
  EXPECT_THAT(failure<OutOfMemory>(model, 20000), testing::HasSubstr("bytes left"));
  EXPECT_NO_THROW(run(model, 2));
}

TEST_F(VulkanFaults, a_refused_kernel_is_an_error) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  ValueType type = ValueType::tensor(DType::f32);
  type.dims = std::vector<Dim>{Dim{-1, "n"}, Dim{3, ""}, Dim{17, ""}, Dim{19, ""}};
  graph->add_output(*b.op("Sin", {b.wrap(&graph->add_input("x", type))}).value());
  const Model model = Model::from_graph(std::move(graph));
  setenv(kFault, "kernel", 1);
  EXPECT_THAT(failure<Error>(model), testing::HasSubstr("failed, compiling the kernel elementwise: error -3"));
}

TEST_F(VulkanFaults, with_fallback_a_loss_at_any_time_gives_the_processors_results) {
  options.fallback = true;
  std::vector<std::string> messages;
  set_log_hook([&](std::string_view message) { messages.emplace_back(message); });
  const Tensor x = random_tensor({2, 3, 17, 19}, 7);
  const std::vector<TensorView> inputs{x};
  size_t lost = 0;
  for (const bool profiles : {false, true})
    for (int when = 0; when < 16; ++when) {
      SCOPED_TRACE(when);
      const Model model = network();
      const Tensor expected = Session(model).run(inputs)[0];
      messages.clear();
      setenv(kFault, ("lost:" + std::to_string(when)).c_str(), 1);
      Session session(model, options);
      session.set_profiling(profiles);
      bool gone = false;
      for (int run = 0; run < 6; ++run) {
        const Tensor found = session.run(inputs)[0];
        ASSERT_TRUE(messages.size() >= (gone ? 1u : 0u));
        gone = !messages.empty();
        if (gone) expect_close(found, expected);
      }
      EXPECT_LE(messages.size(), 1u);
      if (gone) {
        ++lost;
        EXPECT_THAT(messages[0], testing::HasSubstr("was lost"));
        for (const PlanRow& row : session.plan_report().rows) EXPECT_EQ(row.backend, "cpu");
      }
      unsetenv(kFault);
    }
  set_log_hook({});
  EXPECT_GT(lost, 12u);
}

TEST_F(VulkanFaults, with_fallback_a_loss_after_some_runs_gives_the_processors_results) {
  options.fallback = true;
  std::vector<std::string> messages;
  set_log_hook([&](std::string_view message) { messages.emplace_back(message); });
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  graph->add_output(*b.op("Relu", {b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2, 3, 17, 19})))}).value());
  const Model models[] = {network(), Model::from_graph(std::move(graph))};
  const Tensor x = random_tensor({2, 3, 17, 19}, 7), larger = random_tensor({3, 3, 17, 19}, 8);
  const std::vector<TensorView> inputs{x};
  for (const Model& model : models)
    for (int when = 0; when < 21; ++when) {
      SCOPED_TRACE(when);
      const Tensor expected = Session(model).run(inputs)[0];
      messages.clear();
      Session session(model, options);
      for (int run = 0; run < 3; ++run) session.run(inputs);
      setenv(kFault, ("lost:" + std::to_string(when)).c_str(), 1);
      for (int run = 0; run < 30; ++run) {
        const Tensor found = session.run(inputs)[0];
        if (!messages.empty()) expect_close(found, expected);
      }
      ASSERT_EQ(messages.size(), 1u);
      EXPECT_THAT(messages[0], testing::HasSubstr("was lost"));
      if (&model == models) session.run(std::vector<TensorView>{larger});
      unsetenv(kFault);
    }
  set_log_hook({});
}

TEST_F(VulkanFaults, pipelines_come_from_the_file_when_the_device_opens_again) {
  const std::string file = (test::scratch_dir() / "pipelines").string();
  std::remove(file.c_str());
  const Model model = network();
  const auto lose = [&] {
    setenv(kFault, "lost:0", 1);
    EXPECT_THAT(failure<Unsupported>(network()), testing::HasSubstr("was lost"));
    unsetenv(kFault);
  };
  options.kernel_cache = file;
  lose();
  run(model);
  lose();
  setenv(kFault, "uncached", 1);
  EXPECT_NO_THROW(run(model));
  unsetenv(kFault);
  lose();
  options.kernel_cache.clear();
  setenv(kFault, "uncached", 1);
  EXPECT_THAT(failure<Error>(model), testing::HasSubstr("failed, compiling the kernel"));
  std::remove(file.c_str());
}

INSTANTIATE_TEST_SUITE_P(Drivers, Gpu, testing::Values("cuda", "opencl", "vulkan", "gles"));

}  // namespace
}  // namespace minnow
