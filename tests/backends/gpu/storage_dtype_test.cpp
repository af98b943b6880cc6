// SPDX-License-Identifier: Apache-2.0
// Graphs of f16 on a device with tensor cores keep 16 bits in memory. The device here is OpenCL's, which says that it has such cores, but
// not the packed layout that their kernels want; so the plain kernels compute.
#include "ops/storage_dtype.h"

#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <random>

#include "base/numeric.h"
#include "graph/expr.h"
#include "support/faulty_queue.h"

namespace minnow {
namespace {

constexpr std::string_view kName = "opencl with cores";

class CoresQueue final : public test::FaultyQueue {
 public:
  CoresQueue(std::shared_ptr<Backend> real, test::Faults& state) : FaultyQueue(real, state), device_(real->device()) { device_.pack = 2; }
  const Device& device() const override { return device_; }

 private:
  Device device_;
};

Tensor random_reals(DType dtype, const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor made(dtype, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const float value = uniform(random);
    if (dtype == DType::f32)
      static_cast<float*>(const_cast<void*>(made.data()))[i] = value;
    else
      static_cast<uint16_t*>(const_cast<void*>(made.data()))[i] = dtype == DType::f16 ? f16_from_f32(value) : bf16_from_f32(value);
  }
  return made;
}

class StorageDtype : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    try {
      make_backend("opencl", {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    static test::Faults faults;
    static const bool added = [] {
      add_backend(std::string(kName), [](const BackendOptions& given) {
        return gpu::make_gpu_backend(kName, std::make_unique<CoresQueue>(make_backend("opencl", given), faults));
      });
      return true;
    }();
    EXPECT_TRUE(added);
    options.backends = {std::string(kName)};
  }

  // A file of 16 bits, as passes leave it: folded weights are f32, others are widened; a fused node, a node without a kernel for devices,
  // and a second output, which is f32.
  static Model network(DType half, bool noted = true) {
    auto graph = std::make_unique<Graph>();
    if (noted) graph->metadata.properties[kStorageDtypeKey] = half == DType::f16 ? "f16" : "bf16";
    GraphBuilder b(*graph);
    const auto to = [&](const Expr& x, DType dtype) { return cast(x, dtype); };
    ValueType type = ValueType::tensor(half);
    type.dims = std::vector<Dim>{Dim{-1, "n"}, Dim{3, ""}, Dim{9, ""}, Dim{11, ""}};
    const Expr x = to(b.wrap(&graph->add_input("x", type)), DType::f32);
    const Expr folded = b.constant(random_reals(DType::f32, {8, 3, 3, 3}, 1)), bias = b.constant(random_reals(DType::f32, {8}, 2));
    const Expr widened = to(b.constant(random_reals(half, {8, 8, 1, 1}, 3)), DType::f32);
    const Expr a = b.op("minnow.FusedConv", {x, folded, bias}, {{"pads", Ints{1, 1, 1, 1}}, {"activation", std::string("Relu")}});
    const Expr c = b.op("Conv", {a, widened});
    const Expr pooled = b.op("MaxPool", {c}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{1, 2}}});
    auto body = std::make_shared<Graph>();
    body->outer = graph.get();
    GraphBuilder inside(*body);
    const Expr first = inside.wrap(&body->add_input("first", ValueType::tensor(DType::f32)));
    const Expr second = inside.wrap(&body->add_input("second", ValueType::tensor(DType::f32)));
    body->add_output(*inside.op("Add", {inside.op("Tanh", {first}) * 0.5, second}).value());
    const Expr fused =
        b.op("minnow.FusedElementwise", {pooled, b.constant(random_reals(DType::f32, {8, 1, 1}, 4))}, {{"body", Subgraph(body)}});
    const Expr product = b.op("MatMul", {fused, to(b.constant(random_reals(half, {5, 5}, 5)), DType::f32)});
    const Expr squares = b.op("MatMul", {b.op("Transpose", {product}, {{"perm", Ints{0, 1, 3, 2}}}), product});
    const Expr determinants = b.op("Det", {squares}) * 1e-3;  // sensitive to roundings
    const Expr joined = b.op("Concat", {b.op("GlobalAveragePool", {product}), b.op("Unsqueeze", {determinants, b.constant({2, 3})})},
                             {{"axis", int64_t{1}}});
    graph->add_output(*to(b.op("Softmax", {joined}, {{"axis", int64_t{1}}}), half).value());
    graph->add_output(*product.value());
    graph->outputs()[1]->type.dtype = DType::f32;
    return Model::from_graph(std::move(graph));
  }
  static std::vector<float> floats(const Tensor& tensor) {
    std::vector<float> made;
    for (int64_t i = 0; i < tensor.elements(); ++i)
      made.push_back(tensor.dtype() == DType::f32   ? tensor.data<float>()[i]
                     : tensor.dtype() == DType::f16 ? f32_from_f16(tensor.data<uint16_t>()[i])
                                                    : f32_from_bf16(tensor.data<uint16_t>()[i]));
    return made;
  }
  SessionOptions options;
};

TEST_P(StorageDtype, stay_in_memory_and_compute_as_the_processor_does) {
  const Model model = network(GetParam());
  Session device(model, options), processor(model);
  const double tolerance = GetParam() == DType::f16 ? 4e-3 : 3e-2;
  for (const int64_t n : {2, 1, 3}) {
    const Tensor x = random_reals(GetParam(), {n, 3, 9, 11}, 7);
    const std::vector<Tensor> found = device.run(std::vector<TensorView>{x}), expected = processor.run(std::vector<TensorView>{x});
    for (size_t k = 0; k < 2; ++k) {
      ASSERT_EQ(found[k].dtype(), expected[k].dtype());
      ASSERT_EQ(found[k].shape(), expected[k].shape());
      const std::vector<float> is = floats(found[k]), should = floats(expected[k]);
      for (size_t i = 0; i < is.size(); ++i) ASSERT_NEAR(is[i], should[i], tolerance * (1 + std::abs(should[i]))) << k << " " << i;
    }
  }
  size_t count = 0;
  for (const PlanRow& row : device.plan_report().rows) {
    if (row.op != "minnow.FusedConv" && row.op != "Conv") continue;
    EXPECT_EQ(row.output_bytes, 3u * 8 * 9 * 11 * 2) << row.op;
    ++count;
  }
  EXPECT_EQ(count, 2u);
}

TEST_P(StorageDtype, become_f32_without_the_note_and_at_high_precision) {
  const Tensor x = random_reals(GetParam(), {1, 3, 9, 11}, 7);
  for (const bool noted : {false, true}) {
    options.precision = noted ? "high" : "normal";
    Session device(network(GetParam(), noted), options);
    device.run(std::vector<TensorView>{x});
    for (const PlanRow& row : device.plan_report().rows) EXPECT_TRUE(row.op != "Conv" || row.output_bytes == 8u * 9 * 11 * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, StorageDtype, testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(info.param == DType::f16 ? "f16" : "bf16"); });

}  // namespace
}  // namespace minnow
