// SPDX-License-Identifier: Apache-2.0
// Every scheme of the cpu backend's table on layers of the networks of bench/networks.py, beside the roofline: what the machine's measured
// FMA peak and its measured bandwidth (of the smallest cache that holds the layer's bytes) would allow. One thread.
//   GFLOP/s, GB/s  by the arithmetic of the direct computation, and by inputs, weights and outputs touched once
//   roof           the share of the roofline reached; above 1 where a scheme needs less arithmetic than the direct computation
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "base/memory.h"
#include "ops/operator.h"
#include "runtime/backends.h"

namespace {
using namespace minnow;

// A layer: operator, shapes of its inputs (the first is the activation; empty: absent), attributes, which inputs are constants.
struct Layer {
  std::string network, op;
  std::vector<Shape> inputs;
  Attributes attributes;
  std::vector<size_t> constants;
};

Layer conv(const char* network, int64_t in, int64_t out, int64_t size, int64_t kernel = 1, int64_t stride = 1, bool depthwise = false) {
  const int64_t pad = kernel / 2;
  return {network,
          "minnow.FusedConv",
          {{1, in, size, size}, {out, depthwise ? 1 : in, kernel, kernel}, {out}},
          {{"kernel_shape", Ints{kernel, kernel}},
           {"strides", Ints{stride, stride}},
           {"pads", Ints{pad, pad, pad, pad}},
           {"group", depthwise ? in : int64_t{1}},
           {"activation", std::string("Relu")}},
          {1, 2}};
}
Layer conv_of(const char* network, int64_t in, int64_t out, int64_t height, int64_t width, int64_t kernel_h, int64_t kernel_w) {
  const int64_t top = kernel_h / 2, left = kernel_w / 2;
  return {network,
          "minnow.FusedConv",
          {{1, in, height, width}, {out, in, kernel_h, kernel_w}, {out}},
          {{"kernel_shape", Ints{kernel_h, kernel_w}}, {"pads", Ints{top, left, top, left}}, {"activation", std::string("Relu")}},
          {1, 2}};
}
Layer transposed(int64_t in, int64_t out, int64_t size, int64_t stride, int64_t pad) {
  return {"dcgan",
          "ConvTranspose",
          {{1, in, size, size}, {in, out, 4, 4}},
          {{"kernel_shape", Ints{4, 4}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}},
          {1}};
}
Layer pool(const char* network, int64_t channels, int64_t size, int64_t kernel, int64_t pad) {
  return {network,
          "MaxPool",
          {{1, channels, size, size}},
          {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{2, 2}}, {"pads", Ints{pad, pad, pad, pad}}},
          {}};
}

std::vector<Layer> layers() {
  std::vector<Layer> all = {
      conv("mobilenet_v1", 3, 32, 224, 3, 2),
      conv("mobilenet_v1", 32, 64, 112),
      conv("mobilenet_v1", 128, 128, 56),
      conv("mobilenet_v1", 256, 256, 28),
      conv("mobilenet_v1", 512, 512, 14),
      conv("mobilenet_v1", 1024, 1024, 7),
      conv("mobilenet_v1", 32, 32, 112, 3, 1, true),
      conv("mobilenet_v1", 64, 64, 112, 3, 2, true),
      conv("mobilenet_v1", 128, 128, 56, 3, 1, true),
      conv("mobilenet_v1", 512, 512, 14, 3, 1, true),
      conv("mobilenet_v1_1792", 128, 128, 448),
      conv("mobilenet_v1_1792", 128, 128, 448, 3, 1, true),
      conv("mobilenet_v2", 16, 96, 112),
      conv("mobilenet_v2", 96, 24, 56),
      conv("mobilenet_v2", 960, 160, 7),
      conv("mobilenet_v3_small", 96, 24, 1),
      conv("mobilenet_v3_small", 240, 240, 14, 5, 1, true),
      conv("efficientnet_b0", 144, 144, 56, 5, 2, true),
      conv("efficientnet_b0", 112, 672, 14),
      conv("shufflenet_v2", 58, 58, 28),
      conv("squeezenet_1_1", 3, 64, 224, 3, 2),
      conv("squeezenet_1_1", 128, 16, 55),
      conv("squeezenet_1_1", 16, 64, 55, 3),
      conv("squeezenet_1_1", 64, 256, 13, 3),
      conv("squeezenet_1_1", 512, 1000, 13),
      conv("resnet_18", 3, 64, 224, 7, 2),
      conv("resnet_18", 64, 64, 56, 3),
      conv("resnet_18", 64, 128, 56, 3, 2),
      conv("resnet_18", 128, 128, 28, 3),
      conv("resnet_18", 256, 256, 14, 3),
      conv("resnet_18", 512, 512, 7, 3),
      conv("resnet_50", 512, 1024, 28, 1, 2),
      conv("resnet_50", 2048, 512, 7),
      conv("vgg", 64, 64, 224, 3),
      conv("vgg", 512, 512, 28, 3),
      conv("inception_v3", 48, 64, 35, 5),
      conv("inception_v3", 96, 96, 35, 3),
      conv_of("inception_v3", 128, 128, 17, 17, 1, 7),
      conv_of("inception_v3", 128, 128, 17, 17, 7, 1),
      conv_of("inception_v3", 192, 192, 17, 17, 1, 7),
      conv_of("inception_v3", 192, 192, 17, 17, 7, 1),
      conv_of("inception_v3", 384, 384, 8, 8, 1, 3),
      conv_of("inception_v3", 384, 384, 8, 8, 3, 1),
      conv("inception_v3", 448, 384, 8, 3),
      conv("googlenet", 16, 32, 28, 5),
      conv("googlenet", 32, 96, 28, 5),
      conv("googlenet", 24, 64, 14, 5),
      conv("googlenet", 48, 128, 7, 5),
      conv_of("whisper", 384, 384, 1, 1500, 1, 3),
      conv_of("encodec", 32, 32, 1, 24000, 1, 3),
      conv_of("encodec", 128, 128, 1, 6000, 1, 7),
      transposed(100, 512, 1, 1, 0),
      transposed(512, 256, 4, 2, 1),
      transposed(64, 3, 32, 2, 1),
      pool("resnet_18", 64, 112, 3, 1),
      pool("vgg", 64, 224, 2, 0),
      {"resnet_50", "GlobalAveragePool", {{1, 2048, 7, 7}}, {}, {}},
      {"mobilenet_v1", "Gemm", {{1, 1024}, {1000, 1024}, {1000}}, {{"transB", int64_t{1}}}, {1, 2}},
      {"encoder", "MatMul", {{1, 128, 384}, {384, 384}}, {}, {1}},
      {"encoder", "MatMul", {{1, 128, 384}, {384, 1536}}, {}, {1}},
      {"encoder", "MatMul", {{1, 128, 1536}, {1536, 384}}, {}, {1}},
      {"encoder", "MatMul", {{1, 6, 128, 64}, {1, 6, 64, 128}}, {}, {}},
      {"encoder", "Attention", {{1, 6, 128, 64}, {1, 6, 128, 64}, {1, 6, 128, 64}}, {}, {}},
      {"encoder", "Softmax", {{1, 6, 128, 128}}, {{"axis", int64_t{-1}}}, {}},
      {"encoder", "LayerNormalization", {{1, 128, 384}, {384}, {384}}, {{"axis", int64_t{-1}}}, {1, 2}},
      {"encoder", "Gelu", {{1, 128, 1536}}, {}, {}},
      {"encoder", "Transpose", {{1, 128, 6, 64}}, {{"perm", Ints{0, 2, 1, 3}}}, {}},
      {"lstm", "LSTM", {{100, 1, 80}, {1, 1024, 80}, {1, 1024, 256}, {1, 2048}}, {{"hidden_size", int64_t{256}}}, {1, 2, 3}},
      {"resnet_50", "Add", {{1, 256, 56, 56}, {1, 256, 56, 56}}, {}, {}},
      {"mobilenet_v3_small", "HardSwish", {{1, 16, 112, 112}}, {}, {}},
      {"efficientnet_b0", "Sigmoid", {{1, 96, 112, 112}}, {}, {}},
      {"efficientnet_b0", "Mul", {{1, 96, 56, 56}, {1, 96, 1, 1}}, {}, {}},
      {"shufflenet_v2", "Concat", {{1, 58, 28, 28}, {1, 58, 28, 28}}, {{"axis", int64_t{1}}}, {}},
  };
  return all;
}

Tensor normal(const Shape& shape) {
  std::mt19937 random(static_cast<unsigned>(shape.elements()));
  std::normal_distribution<float> distribution(0, 0.1f);
  Tensor tensor(DType::f32, shape);
  float* out = tensor.writable().data<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) out[i] = distribution(random);
  return tensor;
}

class Weights final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override {
    std::shared_ptr<void> memory = allocate_shared(packing.bytes);
    pack(weight, memory.get());
    return memory;
  }
};

// A layer as planner and kernels see it.
struct Problem {
  Graph graph;
  std::vector<ValueInfo> infos, results{1};
  std::vector<const ValueInfo*> inputs, outputs;
  const Node* node = nullptr;
  const Operator* definition = nullptr;

  explicit Problem(const Layer& layer) : definition(OperatorSet::builtin().find(layer.op)) {
    std::vector<Value*> values;
    infos.resize(layer.inputs.size());
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      values.push_back(&graph.add_input("x" + std::to_string(i), ValueType::tensor(DType::f32, layer.inputs[i])));
      infos[i].dtype = DType::f32;
      infos[i].shape = layer.inputs[i];
      if (std::count(layer.constants.begin(), layer.constants.end(), i)) infos[i].contents = normal(layer.inputs[i]);
      inputs.push_back(&infos[i]);
    }
    node = &graph.add_node(layer.op, values, std::vector<std::string>{"y"}, layer.attributes, "layer");
    infer_outputs(*definition, NodeView(*node, inputs, {}, definition), results);
    outputs.push_back(&results[0]);
  }
  NodeView view() const { return NodeView(*node, inputs, outputs, definition); }
  double bytes() const {
    double sum = 4.0 * static_cast<double>(results[0].shape.elements());
    for (const ValueInfo& info : infos) sum += 4.0 * static_cast<double>(info.shape.elements());
    return sum;
  }
  double operations() const {
    return definition->operations ? definition->operations(view()) : static_cast<double>(results[0].shape.elements());
  }
};

std::shared_ptr<Backend> backend_of(const std::string& isa) {
  BackendOptions options;
  options.threads = 1;
  options.isa = isa;
  options.precision = Precision::low;  // all schemes
  return make_backend("cpu", options);
}

double peak_of(Backend& backend) {
  static std::map<std::string, double> peaks;
  double& peak = peaks[backend.device().name];
  if (peak == 0) peak = backend.measure_peak();
  return peak;
}

// Bytes a second, read and written, of copying within that many bytes.
double bandwidth_of(double bytes) {
  static std::map<size_t, double> measured;
  size_t size = 16 << 10;
  while (static_cast<double>(size) < bytes && size < size_t{256} << 20) size *= 2;
  double& best = measured[size];
  if (best > 0) return best;
  const AlignedMemory memory = allocate_aligned(size);
  char* data = static_cast<char*>(memory.get());
  std::memset(data, 1, size);
  using Clock = std::chrono::steady_clock;
  const int repeats = static_cast<int>(std::max<size_t>(1, (size_t{4} << 20) / size));
  for (const Clock::time_point start = Clock::now(); Clock::now() - start < std::chrono::milliseconds(20);) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      std::memcpy(data, data + size / 2, size / 2);
      benchmark::DoNotOptimize(data);
      benchmark::ClobberMemory();
    }
    best = std::max(best, static_cast<double>(size) * repeats / std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

void measure(benchmark::State& state, const Layer& layer, const std::string& isa, std::string_view scheme_name) {
  const Problem problem(layer);
  const NodeView view = problem.view();
  const std::shared_ptr<Backend> backend = backend_of(isa);
  const Device& device = backend->device();
  const auto schemes = backend->schemes();
  const Scheme& scheme =
      *std::find_if(schemes.begin(), schemes.end(), [&](const Scheme& s) { return s.op == layer.op && s.name == scheme_name; });
  const Estimate estimate = scheme.estimate(view, device);
  Weights weights;
  PrepareContext context(view, device, estimate, weights);
  const std::unique_ptr<Kernel> kernel = scheme.prepare(context);
  std::vector<Slot> slots(problem.infos.size() + 1);
  std::vector<Slot*> inputs, outputs;
  std::vector<AlignedMemory> memory;
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool is_output = i == problem.infos.size();
    const ValueInfo& info = is_output ? problem.results[0] : problem.infos[i];
    const Layout layout = is_output ? estimate.output_layout(0) : estimate.input_layout(i);
    memory.push_back(allocate_aligned(device.bytes(DType::f32, info.shape, layout)));
    std::memset(memory.back().get(), 0, device.bytes(DType::f32, info.shape, layout));
    slots[i].view = TensorView(DType::f32, info.shape, info.contents ? info.contents.data() : memory.back().get());
    (is_output ? outputs : inputs).push_back(&slots[i]);
  }
  const AlignedMemory scratch = allocate_aligned(context.scratch_bytes());
  RunContext run;
  run.inputs = inputs;
  run.outputs = outputs;
  run.scratch = scratch.get();
  for (auto _ : state) kernel->run(run);
  if (!run.failure.empty()) state.SkipWithError(run.failure.c_str());
  const double roof = std::max(problem.operations() / peak_of(*backend), problem.bytes() / bandwidth_of(problem.bytes()));
  const auto rate = [](double each) { return benchmark::Counter(each, benchmark::Counter::kIsIterationInvariantRate); };
  state.counters["GFLOP/s"] = rate(problem.operations() * 1e-9);
  state.counters["GB/s"] = rate(problem.bytes() * 1e-9);
  state.counters["roof"] = rate(roof);
  state.counters["estimate_us"] = estimate.seconds * 1e6;
}

bool accepts(const Scheme& scheme, const Problem& problem, const Device& device) {
  try {
    return scheme.estimate(problem.view(), device).declined.empty();
  } catch (const NeedsContents&) {
    return false;
  }
}

const bool registered = [] {
  for (const std::string isa : {"sse4", "avx2", "avx3", "neon"}) {
    std::shared_ptr<Backend> backend;
    try {
      backend = backend_of(isa);
    } catch (const Error&) {
      continue;
    }
    if (backend->device().name != "cpu " + isa) continue;  // the machine has less
    for (const Layer& layer : layers()) {
      const Problem problem(layer);
      std::string shapes;
      for (size_t i = 0; i < layer.inputs.size() && i < 2; ++i) shapes += (i ? "," : "") + to_string(layer.inputs[i]);
      shapes.erase(std::remove(shapes.begin(), shapes.end(), ' '), shapes.end());
      for (const Scheme& scheme : backend->schemes()) {
        if (scheme.op != layer.op || !accepts(scheme, problem, backend->device())) continue;
        const std::string name = "scheme/" + isa + "/" + layer.network + "/" + layer.op + "/" + shapes + "/" + std::string(scheme.name);
        benchmark::RegisterBenchmark(name.c_str(), measure, layer, isa, scheme.name)->Unit(benchmark::kMicrosecond);
      }
    }
  }
  return true;
}();

}  // namespace
