// SPDX-License-Identifier: Apache-2.0
// The errors of the cpu backend's f32 schemes for convolutions against double precision, beside those of summing directly.
//
//   scheme_errors [MODEL.minnow ...]
//
// Without models: layers of random weights. With models: every two-dimensional convolution of constant f32 weights and one group in them.
// Inputs are normal, 24x24 (48x48 for kernels of 7x7 and more); 2,000 outputs of each layer are summed in f64. Errors are relative to the
// root of these outputs' mean square; means over layers are geometric. "Beside direct" is a layer's mean error over that of conv.gemm (or
// else conv.first_layer). Schemes of precision "low" are measured, too. The last column names the layer whose ratio is the largest.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <random>

#include "base/memory.h"
#include "graph/model_file.h"
#include "ops/operator.h"
#include "runtime/backends.h"

namespace {
using namespace minnow;

Tensor normal(const Shape& shape, double deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> distribution(0, deviation);
  Tensor tensor(DType::f32, shape);
  float* out = tensor.writable().data<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) out[i] = static_cast<float>(distribution(random));
  return tensor;
}

struct Layer {
  std::string name;
  Tensor weights;
  int64_t stride = 1;
};

class Weights final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override {
    std::shared_ptr<void> memory = allocate_shared(packing.bytes);
    pack(weight, memory.get());
    return memory;
  }
};

struct Errors {
  double mean = 0, largest = 0;
};

// Copies an image of one batch from plain to packed, or the other way; lanes without a channel are zero.
void copy_image(const float* from, float* to, size_t channels, size_t pixels, size_t lanes, bool pack) {
  for (size_t c = 0; c < channels; ++c)
    for (size_t p = 0; p < pixels; ++p) {
      const size_t plain = c * pixels + p, packed = (c / lanes * pixels + p) * lanes + c % lanes;
      to[pack ? packed : plain] = from[pack ? plain : packed];
    }
}

/// By scheme and kernel; none if no scheme serves.
std::map<std::string, Errors> errors_of(const Layer& layer, Backend& backend) {
  const Shape& w = layer.weights.shape();
  const int64_t size = w[2] >= 7 && w[3] >= 7 ? 48 : 24, top = w[2] / 2, left = w[3] / 2;
  const Tensor x = normal({1, w[1], size, size}, 1, 1);
  Graph graph;
  std::vector<Value*> values{&graph.add_input("x", ValueType::tensor(DType::f32, x.shape())),
                             &graph.add_input("w", ValueType::tensor(DType::f32, w))};
  const Node& node = graph.add_node(
      "Conv", values, std::vector<std::string>{"y"},
      {{"kernel_shape", Ints{w[2], w[3]}}, {"strides", Ints{layer.stride, layer.stride}}, {"pads", Ints{top, left, top, left}}}, "layer");
  const Operator* const definition = OperatorSet::builtin().find("Conv");
  std::vector<ValueInfo> infos(2), results(1);
  infos[0].dtype = infos[1].dtype = DType::f32;
  infos[0].shape = x.shape();
  infos[1].shape = w;
  infos[1].contents = layer.weights;
  const std::vector<const ValueInfo*> inputs{&infos[0], &infos[1]}, outputs{&results[0]};
  infer_outputs(*definition, NodeView(node, inputs, {}, definition), results);
  const NodeView view(node, inputs, outputs, definition);
  const Shape y = results[0].shape;
  const size_t pixels = static_cast<size_t>(y[2] * y[3]), channels = static_cast<size_t>(y[1]);

  std::mt19937_64 random(3);
  std::vector<size_t> places(2000);
  std::vector<double> want;
  double squares = 0;
  for (size_t& place : places) {
    place = random() % (channels * pixels);
    const int64_t at = static_cast<int64_t>(place % pixels), o = static_cast<int64_t>(place / pixels);
    double sum = 0;
    for (int64_t c = 0; c < w[1]; ++c)
      for (int64_t ky = 0; ky < w[2]; ++ky)
        for (int64_t kx = 0; kx < w[3]; ++kx) {
          const int64_t row = at / y[3] * layer.stride - top + ky, column = at % y[3] * layer.stride - left + kx;
          if (row >= 0 && row < size && column >= 0 && column < size)
            sum += double(x.data<float>()[(c * size + row) * size + column]) *
                   double(layer.weights.data<float>()[((o * w[1] + c) * w[2] + ky) * w[3] + kx]);
        }
    want.push_back(sum);
    squares += sum * sum;
  }
  const double rms = std::sqrt(squares / static_cast<double>(want.size()));
  std::map<std::string, Errors> errors;
  if (rms == 0) return errors;
  const Device& device = backend.device();
  const size_t lanes = static_cast<size_t>(device.pack);
  for (const Scheme& scheme : backend.schemes()) {
    if (scheme.op != "Conv") continue;
    const Estimate estimate = scheme.estimate(view, device);
    if (!estimate.declined.empty()) continue;
    Weights weights;
    PrepareContext context(view, device, estimate, weights);
    const std::unique_ptr<Kernel> kernel = scheme.prepare(context);
    const size_t in_bytes = device.bytes(DType::f32, x.shape(), estimate.input_layout(0));
    const size_t out_bytes = device.bytes(DType::f32, y, estimate.output_layout(0));
    const AlignedMemory in = allocate_aligned(in_bytes), out = allocate_aligned(out_bytes),
                        scratch = allocate_aligned(context.scratch_bytes());
    std::memset(in.get(), 0, in_bytes);
    if (estimate.input_layout(0) == Layout::packed)
      copy_image(x.data<float>(), static_cast<float*>(in.get()), static_cast<size_t>(w[1]), static_cast<size_t>(size * size), lanes, true);
    else
      std::memcpy(in.get(), x.data<float>(), in_bytes);
    Slot slots[3];
    slots[0].view = TensorView(DType::f32, x.shape(), in.get());
    slots[1].view = layer.weights.view();
    slots[2].view = TensorView(DType::f32, y, out.get());
    Slot *const in_slots[] = {&slots[0], &slots[1]}, *const out_slots[] = {&slots[2]};
    RunContext run;
    run.inputs = in_slots;
    run.outputs = out_slots;
    run.scratch = scratch.get();
    kernel->run(run);
    std::vector<float> got(channels * pixels);
    const float* result = static_cast<const float*>(out.get());
    if (estimate.output_layout(0) == Layout::packed)
      copy_image(result, got.data(), channels, pixels, lanes, false);
    else
      std::copy_n(result, got.size(), got.begin());
    Errors& e = errors[std::string(scheme.name) + " " + std::to_string(w[2]) + "x" + std::to_string(w[3])];
    for (size_t i = 0; i < places.size(); ++i) {
      const double error = std::fabs(double(got[places[i]]) - want[i]) / rms;
      e.mean += error / static_cast<double>(places.size());
      e.largest = std::max(e.largest, error);
    }
  }
  return errors;
}

std::vector<Layer> random_layers() {
  std::vector<Layer> layers;
  for (const auto& [out, in, height, width, stride] : std::vector<std::array<int64_t, 5>>{{64, 64, 3, 3, 1},
                                                                                          {128, 128, 3, 3, 1},
                                                                                          {256, 256, 3, 3, 1},
                                                                                          {512, 512, 3, 3, 1},
                                                                                          {128, 64, 3, 3, 2},
                                                                                          {512, 256, 3, 3, 2},
                                                                                          {64, 3, 7, 7, 2},
                                                                                          {256, 256, 1, 1, 1},
                                                                                          {512, 512, 1, 1, 1},
                                                                                          {64, 48, 5, 5, 1},
                                                                                          {128, 256, 5, 5, 1},
                                                                                          {128, 128, 1, 7, 1},
                                                                                          {192, 192, 7, 1, 1},
                                                                                          {384, 384, 1, 3, 1},
                                                                                          {384, 384, 3, 1, 1},
                                                                                          {256, 256, 1, 5, 1},
                                                                                          {64, 64, 7, 7, 1}}) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(in * height * width));
    layers.push_back({format("{}x{}", out, in), normal({out, in, height, width}, deviation, 2), stride});
  }
  return layers;
}

void add_layers(const std::string& path, std::vector<Layer>& layers) {
  const std::unique_ptr<Graph> graph = read_model(path);
  for (const Node& node : graph->nodes()) {
    if (node.op() != "Conv" && node.op() != "minnow.FusedConv") continue;
    const Value* const value = node.input(1);
    const Tensor* const w = value ? value->constant() : nullptr;
    if (!w || w->dtype() != DType::f32 || w->shape().rank() != 4) continue;
    const auto first_of = [&](const char* name, int64_t otherwise) {
      const AttributeValue* attribute = node.attributes.find(name);
      const Ints* ints = attribute ? std::get_if<Ints>(attribute) : nullptr;
      return ints && !ints->empty() ? ints->front() : otherwise;
    };
    const AttributeValue* const group = node.attributes.find("group");
    if (group && std::get<int64_t>(*group) != 1) continue;
    layers.push_back({path.substr(path.rfind('/') + 1) + " " + node.name(), *w, first_of("strides", 1)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<Layer> layers;
    for (int i = 1; i < argc; ++i) add_layers(argv[i], layers);
    if (argc == 1) layers = random_layers();
    BackendOptions options;
    options.threads = 1;
    options.precision = Precision::low;
    const std::shared_ptr<Backend> backend = make_backend("cpu", options);
    struct Row {
      size_t layers = 0;
      double log_mean = 0, worst_mean = 0, largest = 0, log_ratio = 0, worst_ratio = 0;
      std::string worst;
    };
    std::map<std::string, Row> rows;
    for (const Layer& layer : layers) {
      const std::map<std::string, Errors> errors = errors_of(layer, *backend);
      const auto of = [&](std::string_view scheme) {
        return std::find_if(errors.begin(), errors.end(),
                            [&](const auto& item) { return item.first.compare(0, scheme.size(), scheme) == 0; });
      };
      const auto direct = of("conv.gemm ") != errors.end() ? of("conv.gemm ") : of("conv.first_layer ");
      if (direct == errors.end() || direct->second.mean == 0) continue;
      for (const auto& item : errors) {
        Row& row = rows[item.first];
        const double mean = item.second.mean, ratio = mean / direct->second.mean;
        ++row.layers;
        row.log_mean += std::log(mean);
        row.log_ratio += std::log(ratio);
        row.worst_mean = std::max(row.worst_mean, mean);
        if (ratio > row.worst_ratio) row.worst_ratio = ratio, row.worst = layer.name;
        row.largest = std::max(row.largest, item.second.largest);
      }
    }
    std::cout << "| " << backend->device().name
              << " | layers | mean error | worst layer's | largest error | beside direct | worst layer's | which |\n"
              << "|---|---|---|---|---|---|---|---|\n";
    for (const auto& [name, row] : rows) {
      const double count = static_cast<double>(row.layers);
      char line[400];
      std::snprintf(line, sizeof line, "| %s | %zu | %.1e | %.1e | %.1e | %.2f | %.2f | %s |\n", name.c_str(), row.layers,
                    std::exp(row.log_mean / count), row.worst_mean, row.largest, std::exp(row.log_ratio / count), row.worst_ratio,
                    row.worst.c_str());
      std::cout << line;
    }
  } catch (const std::exception& error) {
    std::cerr << "scheme_errors: " << error.what() << '\n';
    return 1;
  }
}
