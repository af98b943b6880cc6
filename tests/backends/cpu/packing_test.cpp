// SPDX-License-Identifier: Apache-2.0
// Packed weights are shared by the key that a kernel gives: equal keys must mean equal bytes, whatever else the nodes differ in.
#include <gtest/gtest.h>

#include <cstring>
#include <unordered_map>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernel_support.h"
#include "ops/infer.h"
#include "runtime/model.h"
#include "support/schemes.h"

namespace minnow::cpu {
namespace {

/// Packs every time, and compares the bytes with those of earlier kernels for the same key.
class ComparingStore final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override {
    std::shared_ptr<void> memory = allocate_shared(packing.bytes);
    std::memset(memory.get(), 0x5a, packing.bytes);  // bytes that packing leaves as they are
    pack(weight, memory.get());
    const std::string key =
        format("{} {}{} {}", reinterpret_cast<uintptr_t>(weight.data()), weight.dtype(), weight.shape(), packing.text());
    const auto [found, is_new] = all_.emplace(key, memory);
    if (!is_new) {
      ++compared;
      EXPECT_EQ(std::memcmp(found->second.get(), memory.get(), packing.bytes), 0) << "another kernel packed other bytes for " << key;
    }
    return memory;
  }
  size_t keys() const { return all_.size(); }
  size_t compared = 0;

 private:
  std::unordered_map<std::string, std::shared_ptr<void>> all_;
};

struct Layer {
  std::string op;
  std::vector<Tensor> inputs;  // those with data are constants; without a dtype: absent
  Attributes attributes = {};
};

Tensor shaped(const Shape& shape, DType dtype = DType::f32) { return Tensor(dtype, shape, nullptr, nullptr); }

Tensor numbers(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  auto bytes = static_cast<unsigned char*>(const_cast<void*>(tensor.data()));
  for (size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  if (dtype != DType::f64) return tensor;
  double* values = tensor.writable().data<double>();
  for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = static_cast<double>(i % 1009) - 504;
  return tensor;
}

std::vector<Layer> convolutions() {
  std::vector<Layer> layers;
  const auto add = [&](const Tensor& w, const Tensor& b, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> groups,
                       std::string_view op = "Conv") {
    const size_t spatial = w.shape().rank() - 2;
    for (int64_t size : sizes)
      for (int64_t group : groups)
        for (int64_t stride : {1, 2})
          for (int64_t pad : {0, 1, 2}) {
            Shape x{1, op == "Conv" ? w.shape()[1] * group : w.shape()[0]};
            for (size_t axis = 0; axis < spatial; ++axis) x.push_back(size);
            layers.push_back({std::string(op),
                              {shaped(x), w, b},
                              {{"strides", Ints(spatial, stride)}, {"pads", Ints(2 * spatial, pad)}, {"group", group}}});
          }
  };
  add(normal({64, 64, 3, 3}), normal({64}), {9, 30, 58}, {1, 2});
  add(normal({48, 1, 3, 3}), normal({48}), {9, 30}, {48, 24});
  add(normal({256, 256, 1, 1}), normal({256}), {5, 28, 56}, {1, 2});
  add(normal({32, 3, 7, 7}), normal({32}), {20, 64}, {1});
  add(normal({32, 32, 3, 3, 3}), normal({32}), {6, 12}, {1});
  add(normal({64, 32, 4, 4}), Tensor(), {7, 20}, {1, 2}, "ConvTranspose");
  add(normal({32, 32, 2, 2}), Tensor(), {7, 20}, {1}, "ConvTranspose");
  add(normal({16, 16, 2, 2, 2}), Tensor(), {5}, {1}, "ConvTranspose");
  for (const int64_t kernel : {1, 3}) {
    Tensor sparse = normal({48, 40, kernel, kernel});
    for (int64_t i = 0; i < sparse.elements(); ++i)
      if (i * 7 % 11 > 1) sparse.writable().data<float>()[i] = 0;
    add(sparse, normal({48}), {9, 30, 58}, {1});
  }
  const Tensor w = normal({32, 512, 3, 3});  // so deep that products of many places are cut along k
  for (int64_t size : {4, 40}) {
    const Tensor offsets = shaped({1, 18, size - 2, size - 2});
    layers.push_back({"DeformConv", {shaped({1, 512, size, size}), w, offsets}, {}});
  }
  return layers;
}

std::vector<Layer> products() {
  std::vector<Layer> layers;
  const Tensor b = normal({1024, 1024}), several = normal({3, 256, 256}), c = normal({1024});
  for (int64_t rows : {1, 8, 60, 512, 2048}) {
    const Tensor a = shaped({rows, 1024});
    layers.push_back({"MatMul", {a, b}});
    for (int64_t transposed : {0, 1})
      for (float alpha : {1.0f, 0.5f})
        for (float beta : {1.0f, 2.0f}) layers.push_back({"Gemm", {a, b, c}, {{"transB", transposed}, {"alpha", alpha}, {"beta", beta}}});
    layers.push_back({"MatMul", {shaped({3, rows, 256}), several}});
  }
  const Tensor square = numbers(DType::f64, {300, 300});
  layers.push_back({"MatMul", {shaped({40, 300}, DType::f64), square}});
  layers.push_back({"Gemm", {shaped({40, 300}, DType::f64), square}, {{"transB", int64_t{1}}}});
  layers.push_back({"Gemm", {shaped({40, 300}, DType::f64), square}, {{"alpha", 2.0f}}});
  return layers;
}

// The same 192 rows of gates for layers of several numbers of gates.
std::vector<Layer> recurrences() {
  std::vector<Layer> layers;
  const Tensor w = normal({1, 192, 40}), b = normal({1, 384});
  const auto add = [&](std::string_view op, int64_t hidden, const Tensor& r, Attributes attributes) {
    attributes.set("hidden_size", hidden);
    for (int64_t steps : {1, 40}) layers.push_back({std::string(op), {shaped({steps, 2, 40}), w, r, b}, attributes});
  };
  add("LSTM", 48, normal({1, 192, 48}), {});
  const Tensor of_gru = normal({1, 192, 64});
  add("GRU", 64, of_gru, {});
  add("GRU", 64, of_gru, {{"linear_before_reset", int64_t{1}}});
  add("RNN", 192, normal({1, 192, 192}), {});
  return layers;
}

std::vector<Layer> integer_layers() {
  std::vector<Layer> layers;
  const Tensor w = numbers(DType::i8, {64, 64, 3, 3}), matrix = numbers(DType::i8, {64, 64});
  for (DType dtype : {DType::u8, DType::i8}) {
    for (int64_t group : {1, 2}) layers.push_back({"ConvInteger", {shaped({1, 64 * group, 9, 9}, dtype), w}, {{"group", group}}});
    for (int64_t rows : {1, 100}) layers.push_back({"MatMulInteger", {shaped({rows, 64}, dtype), matrix}});
  }
  return layers;
}

// Prepares every scheme that accepts the layer.
void prepare(const Layer& layer, const Backend& backend, WeightStore& store) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<ValueInfo> infos(layer.inputs.size());
  std::vector<const ValueInfo*> inputs, outputs;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const Tensor& tensor = layer.inputs[i];
    const bool absent = tensor.dtype() == DType::undefined;
    values.push_back(absent ? nullptr : &graph.add_input("in" + std::to_string(i), ValueType::tensor(tensor.dtype(), tensor.shape())));
    infos[i].dtype = tensor.dtype();
    infos[i].shape = tensor.shape();
    if (!absent && tensor.data()) infos[i].contents = tensor;
    inputs.push_back(absent ? nullptr : &infos[i]);
  }
  const Operator& definition = *OperatorSet::builtin().find(layer.op);
  const std::string name[] = {"y"};
  const Node& node = graph.add_node(layer.op, values, name, layer.attributes, "node");
  std::vector<ValueInfo> results(1);
  infer_outputs(definition, NodeView(node, inputs, {}, &definition), results);
  outputs.push_back(&results[0]);
  const NodeView view(node, inputs, outputs, &definition);
  for (const Scheme& scheme : backend.schemes()) {
    if (scheme.op != layer.op) continue;
    try {
      const Estimate estimate = scheme.estimate(view, backend.device());
      if (!estimate.declined.empty()) continue;
      PrepareContext context(view, backend.device(), estimate, store);
      SCOPED_TRACE(std::string(scheme.name));
      scheme.prepare(context);
    } catch (const NeedsContents&) {
      continue;
    }
  }
}

class PackingTest : public EveryIsa {};

TEST_P(PackingTest, kernels_that_share_weights_pack_the_same_bytes) {
  for (const std::vector<Layer>& layers : {convolutions(), products(), recurrences(), integer_layers()}) {
    ComparingStore store;
    for (const Precision precision : {Precision::normal, Precision::low})
      for (const int threads : {1, 3}) {
        BackendOptions options;
        options.isa = std::string(name_of(GetParam()));
        options.threads = threads;
        options.precision = precision;
        const std::shared_ptr<Backend> backend = make_cpu_backend(options);
        for (const Layer& layer : layers) {
          SCOPED_TRACE(format("{} of {}, {} threads", layer.op, layer.inputs[0].shape(), threads));
          prepare(layer, *backend, store);
        }
      }
    EXPECT_GT(store.compared, 0u);
    EXPECT_GT(store.keys(), 1u);
  }
}

MINNOW_EVERY_ISA(PackingTest);

std::vector<Packing> packings() {
  std::vector<Packing> all = {{"rows", "cpu avx2", 64, {{"k", 8}, {"n", 2}}, {}}};
  const auto change = [&](auto f) {
    Packing changed = all[0];
    f(changed);
    all.push_back(std::move(changed));
  };
  change([](Packing& p) { p.form = "columns"; });
  change([](Packing& p) { p.device = "cpu avx3"; });
  change([](Packing& p) { p.bytes = 128; });
  change([](Packing& p) { p.parameters[0].bits = 16; });
  change([](Packing& p) { p.parameters[1] = {"n", 2.0f}; });
  change([](Packing& p) { p.parameters[1] = {"m", 2}; });
  change([](Packing& p) { p.parameters.emplace_back("slices", 2); });
  change([](Packing& p) { p.source = "Cast"; });
  return all;
}

TEST(Packing, a_changed_parameter_changes_the_key) {
  const std::vector<Packing> all = packings();
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t k = 0; k < all.size(); ++k) {
      EXPECT_EQ(all[i] == all[k], i == k);
      EXPECT_EQ(all[i].text() == all[k].text(), i == k) << all[i].text();
    }
}

TEST(Packing, a_model_keeps_one_packed_form_for_each_key) {
  PackedWeights weights;
  const Tensor weight = normal({4, 4});
  std::vector<const void*> forms;
  for (int round = 0; round < 2; ++round)
    for (const Packing& packing : packings()) {
      const auto packed = weights.packed(weight, packing, [&](const TensorView&, void* out) { std::memset(out, round, packing.bytes); });
      if (round == 0) {
        EXPECT_EQ(std::count(forms.begin(), forms.end(), packed.get()), 0);
        forms.push_back(packed.get());
      }
      EXPECT_EQ(*static_cast<const unsigned char*>(packed.get()), 0);  // packed in the first round
    }
}

}  // namespace
}  // namespace minnow::cpu
