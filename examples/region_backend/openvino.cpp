// SPDX-License-Identifier: Apache-2.0
// A backend that passes parts of a network to another engine, OpenVINO: the planner collects connected nodes that the backend accepts
// (backends/region.h), and each such region is compiled as one kernel. Drivers of neural processors are used the same way.
//
//   region_backend [MODEL]     compares the outputs with the processor's and prints the plan; without MODEL, of a small network
//
// OpenVINO's C library is loaded at run time: libopenvino_c.so, or the file that the variable MINNOW_OPENVINO names. PyPI's package
// `openvino` has it. Without it the program says so and ends with status 77.
#include "backends/region.h"

#include <minnow/convert.h>
#include <minnow/minnow.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/os.h"
#include "exporters/onnx/onnx.h"
#include "graph/expr.h"
#include "ops/operator.h"
#include "runtime/backends.h"

namespace {

using namespace minnow;

/// The functions of OpenVINO's C API that are needed here, by its documentation.
struct Api {
  using Handle = struct Opaque*;
  int (*create)(Handle*);
  int (*read_model)(Handle core, const char* path, const char* weights, Handle* model);
  int (*compile)(Handle core, Handle model, const char* device, size_t properties, Handle* compiled, ...);
  int (*create_request)(Handle compiled, Handle* request);
  int (*input)(Handle request, size_t i, Handle* tensor);
  int (*output)(Handle request, size_t i, Handle* tensor);
  int (*infer)(Handle request);
  int (*data)(Handle tensor, void**);
  int (*bytes)(Handle tensor, size_t*);
  const char* (*last_error)();
  void (*free_model)(Handle);
  void (*free_compiled)(Handle);
  void (*free_request)(Handle);
  void (*free_tensor)(Handle);

  explicit Api(const std::string& file) : library_(file) {
    load(create, "ov_core_create"), load(read_model, "ov_core_read_model"), load(compile, "ov_core_compile_model");
    load(create_request, "ov_compiled_model_create_infer_request"), load(infer, "ov_infer_request_infer");
    load(input, "ov_infer_request_get_input_tensor_by_index"), load(output, "ov_infer_request_get_output_tensor_by_index");
    load(data, "ov_tensor_data"), load(bytes, "ov_tensor_get_byte_size"), load(last_error, "ov_get_last_err_msg");
    load(free_model, "ov_model_free"), load(free_compiled, "ov_compiled_model_free");
    load(free_request, "ov_infer_request_free"), load(free_tensor, "ov_tensor_free");
  }
  void check(int status, const char* what) const {
    if (status != 0) throw Unsupported("OpenVINO: {} failed: {} ({})", what, last_error(), status);
  }

 private:
  template <class F>
  void load(F& function, const char* name) {
    function = reinterpret_cast<F>(library_.symbol(name));
    if (!function) throw Unsupported("OpenVINO's library has no function {}", name);
  }
  os::SharedLibrary library_;
};

/// A compiled region. Its tensors are OpenVINO's own: inputs are copied into them, outputs out of them.
class RegionKernel final : public Kernel {
 public:
  RegionKernel(const Api& api, Api::Handle core, const Graph& region) : api_(api) {
    const std::string path = (std::filesystem::temp_directory_path() / format("region-{}.onnx", std::random_device()())).string();
    export_onnx(OperatorSet::builtin(), region, path);  // fused operators become standard ones
    const int status = api_.read_model(core, path.c_str(), nullptr, &model_);
    std::filesystem::remove(path);
    api_.check(status, "reading a region");
    api_.check(api_.compile(core, model_, "CPU", 0, &compiled_), "compiling a region");
    api_.check(api_.create_request(compiled_, &request_), "making a request");
    for (size_t i = 0; i < region.inputs().size(); ++i)
      api_.check(api_.input(request_, i, &tensors_.emplace_back()), "asking for an input");
    for (size_t i = 0; i < region.outputs().size(); ++i)
      api_.check(api_.output(request_, i, &tensors_.emplace_back()), "asking for an output");
  }
  ~RegionKernel() override {
    for (Api::Handle tensor : tensors_)
      if (tensor) api_.free_tensor(tensor);
    if (request_) api_.free_request(request_);
    if (compiled_) api_.free_compiled(compiled_);
    if (model_) api_.free_model(model_);
  }
  void run(RunContext& context) const noexcept override {
    const auto copy = [&](const Slot& slot, Api::Handle tensor, bool in) {
      void* memory = nullptr;
      size_t bytes = 0;
      if (api_.data(tensor, &memory) != 0 || api_.bytes(tensor, &bytes) != 0 || bytes != slot.view.bytes())
        return context.fail("OpenVINO: a tensor of a region has {} bytes, {} are expected", bytes, slot.view.bytes());
      void* const ours = const_cast<void*>(slot.view.data());
      std::memcpy(in ? memory : ours, in ? ours : memory, bytes);
    };
    for (size_t i = 0; i < context.inputs.size(); ++i) copy(*context.inputs[i], tensors_[i], true);
    if (context.has_failed()) return;
    if (api_.infer(request_) != 0) return context.fail("OpenVINO: a region failed: {}", api_.last_error());
    for (size_t i = 0; i < context.outputs.size(); ++i) copy(*context.outputs[i], tensors_[context.inputs.size() + i], false);
  }

 private:
  const Api& api_;
  Api::Handle model_ = nullptr, compiled_ = nullptr, request_ = nullptr;
  std::vector<Api::Handle> tensors_;
};

class OpenVino final : public Backend, public RegionCompiler {
 public:
  OpenVino(const std::string& file, const BackendOptions& options) : RegionCompiler("openvino.region"), api_(file) {
    api_.check(api_.create(&core_), "starting");  // as long as the process, like the library's threads
    device_.name = "openvino", device_.threads = options.threads, device_.precision = options.precision;
  }
  std::string_view name() const override { return "openvino"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return {}; }
  RegionCompiler* regions() override { return this; }

  bool accepts(const NodeView& node) const override {
    static constexpr std::string_view kTaken[] = {
        "Add",     "AveragePool",      "Clip", "Concat", "Conv",    "Flatten", "Gemm",     "GlobalAveragePool", "HardSwish", "MatMul",
        "MaxPool", "minnow.FusedConv", "Mul",  "Relu",   "Sigmoid", "Softmax", "Transpose"};
    if (std::find(std::begin(kTaken), std::end(kTaken), node.op()) == std::end(kTaken)) return false;
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.has_input(i) && node.input_dtype(i) != DType::f32) return false;
    return true;
  }
  Estimate estimate(const Graph& region) const override {
    size_t nodes = 0;
    for ([[maybe_unused]] const Node& node : region.nodes()) ++nodes;
    return nodes < 2 ? declined("a region of one node") : Estimate(0);  // an engine's own estimate would stand here
  }
  std::unique_ptr<Kernel> compile(const Graph& region) override { return std::make_unique<RegionKernel>(api_, core_, region); }

 private:
  Api api_;
  Api::Handle core_ = nullptr;
  Device device_;
};

Tensor random_tensor(DType dtype, const Shape& shape, unsigned seed) {
  if (dtype != DType::f32) return Tensor(dtype, shape);
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return Tensor::of_f32(shape, values);
}

// Two branches of convolutions around an Erf, which OpenVINO is not asked for here.
Model network() {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const auto weight = [&](const Shape& shape, unsigned seed) { return b.constant(random_tensor(DType::f32, shape, seed)); };
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2, 3, 17, 19})));
  const Attributes same = {{"pads", Ints{1, 1, 1, 1}}};
  const Expr a = b.op("Relu", {b.op("Conv", {x, weight({8, 3, 3, 3}, 1), weight({8}, 2)}, same)});
  const Expr c = b.op("Erf", {a}), d = b.op("Conv", {a, weight({8, 8, 3, 3}, 3)}, same);
  const Expr pooled = b.op("MaxPool", {c + d}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const Expr logits = b.op("Gemm", {b.op("Flatten", {b.op("GlobalAveragePool", {pooled})}), weight({8, 10}, 4), weight({10}, 5)});
  graph->add_output(*b.op("Softmax", {logits}).value());
  return Model::from_graph(std::move(graph));
}

}  // namespace

int main(int argc, char** argv) try {
  const char* const given = std::getenv("MINNOW_OPENVINO");
  const std::string file = given ? given : "libopenvino_c.so";
  try {
    os::SharedLibrary{file};
  } catch (const Error& error) {
    return std::printf("skipped: %s; PyPI's package openvino has this library, and MINNOW_OPENVINO may name it\n", error.what()), 77;
  }
  add_backend("openvino", [&](const BackendOptions& options) { return std::make_shared<OpenVino>(file, options); });
  const Model model = argc > 1 ? convert(argv[1]) : network();
  SessionOptions options;
  options.backends = {"openvino", "cpu"};
  Session with(model, options), without(model);
  std::vector<Tensor> inputs;
  for (const ValueDescription& input : model.inputs()) {
    Shape shape;
    for (int64_t dim : input.dims) shape.push_back(std::max<int64_t>(dim, 1));
    inputs.push_back(random_tensor(input.dtype, shape, 7));
  }
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const std::vector<Tensor> found = with.run(views), expected = without.run(views);
  size_t regions = 0;
  for (const PlanRow& row : with.plan_report().rows) {
    std::printf("%-10s %-18s %s\n", row.backend.c_str(), row.op.c_str(), row.node.c_str());
    regions += row.op == kRegion;
  }
  double worst = 0;
  for (size_t k = 0; k < found.size(); ++k)
    for (int64_t i = 0; found[k].dtype() == DType::f32 && i < found[k].elements(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(found[k].data<float>()[i]) - static_cast<double>(expected[k].data<float>()[i])));
  std::printf("%zu regions; the largest difference from the processor's results is %g\n", regions, worst);
  return regions > 0 && worst < 1e-4 ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
