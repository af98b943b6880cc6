// SPDX-License-Identifier: Apache-2.0
#include "support/networks.h"

#include <cmath>
#include <random>

#include "base/error.h"
#include "graph/expr.h"

namespace minnow::test {
namespace {

class Network {
 public:
  Network(Graph& graph, int64_t size) : b_(graph) {
    input = b_.wrap(&graph.add_input("data", ValueType::tensor(DType::f32, {1, 3, size, size})));
  }

  Expr constant(const Shape& shape, double deviation, double mean = 0) {
    std::normal_distribution<float> normal(static_cast<float>(mean), static_cast<float>(deviation));
    Tensor tensor(DType::f32, shape);
    float* out = tensor.writable().data<float>();
    for (int64_t i = 0; i < shape.elements(); ++i) out[i] = normal(random_);
    return b_.constant(std::move(tensor));
  }

  struct Image {
    Expr value;
    int64_t channels;
  };
  Image conv(const Image& x, int64_t channels, int64_t kernel = 1, int64_t stride = 1, int64_t groups = 1, int64_t pad = -1) {
    if (pad < 0) pad = kernel / 2;
    const int64_t inputs = x.channels / groups;
    const Expr w = constant({channels, inputs, kernel, kernel}, std::sqrt(2.0 / static_cast<double>(inputs * kernel * kernel)));
    return {b_.op("Conv", {x.value, w, constant({channels}, 0.1)},
                  {{"kernel_shape", Ints{kernel, kernel}},
                   {"strides", Ints{stride, stride}},
                   {"pads", Ints{pad, pad, pad, pad}},
                   {"group", groups}}),
            channels};
  }
  Image normalized(const Image& x) {
    const Shape c{x.channels};
    return {b_.op("BatchNormalization", {x.value, constant(c, 0, 1), constant(c, 0.1), constant(c, 0.1), constant(c, 0, 1)}), x.channels};
  }
  Image relu(const Image& x) { return {op("Relu", {x.value}), x.channels}; }
  Image max_pool(const Image& x, int64_t pad, int64_t ceil) {
    return {b_.op("MaxPool", {x.value},
                  {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{pad, pad, pad, pad}}, {"ceil_mode", ceil}}),
            x.channels};
  }
  Expr pooled(const Image& x) { return op("Flatten", {op("GlobalAveragePool", {x.value})}); }
  Expr dense(const Image& x) {
    return b_.op("Gemm", {pooled(x), constant({1000, x.channels}, 0.03), constant({1000}, 0.1)}, {{"transB", int64_t{1}}});
  }

  Expr mobilenet_v1() {
    Image x = relu(normalized(conv({input, 3}, 32, 3, 2)));
    const int64_t layers[][2] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                 {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    for (const auto& layer : layers) {
      x = relu(normalized(conv(x, x.channels, 3, layer[1], x.channels)));
      x = relu(normalized(conv(x, layer[0])));
    }
    return op("Softmax", {dense(x)});
  }

  Expr squeezenet_1_1() {
    const auto fire = [&](const Image& x, int64_t squeeze, int64_t expand) -> Image {
      const Image s = relu(conv(x, squeeze));
      return {b_.op("Concat", {relu(conv(s, expand)).value, relu(conv(s, expand, 3)).value}, {{"axis", int64_t{1}}}), 2 * expand};
    };
    Image x = max_pool(relu(conv({input, 3}, 64, 3, 2, 1, 0)), 0, 1);
    x = max_pool(fire(fire(x, 16, 64), 16, 64), 0, 1);
    x = max_pool(fire(fire(x, 32, 128), 32, 128), 0, 1);
    x = fire(fire(fire(fire(x, 48, 192), 48, 192), 64, 256), 64, 256);
    return op("Softmax", {pooled(relu(conv(x, 1000)))});
  }

  Expr resnet_18() {
    Image x = max_pool(relu(normalized(conv({input, 3}, 64, 7, 2))), 1, 0);
    const int64_t layers[][2] = {{64, 1}, {64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}};
    for (const auto& layer : layers) {
      const Image y = normalized(conv(relu(normalized(conv(x, layer[0], 3, layer[1]))), layer[0], 3));
      if (layer[1] != 1) x = normalized(conv(x, layer[0], 1, 2));
      x = relu({y.value + x.value, layer[0]});
    }
    return dense(x);
  }

  Expr input;

 private:
  GraphBuilder b_;
  std::mt19937 random_{7};
};

}  // namespace

std::unique_ptr<Graph> make_network(std::string_view name, int64_t size) {
  auto graph = std::make_unique<Graph>();
  graph->source = std::string(name);
  Network network(*graph, size);
  Expr output;
  if (name == "mobilenet_v1") output = network.mobilenet_v1();
  if (name == "squeezenet_1_1") output = network.squeezenet_1_1();
  if (name == "resnet_18") output = network.resnet_18();
  if (!output) throw InvalidArgument("there is no network \"{}\"", name);
  graph->add_output(*output.value());
  return graph;
}

}  // namespace minnow::test
