// SPDX-License-Identifier: Apache-2.0
#include "support/schemes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "backends/cpu/cpu.h"
#include "ops/operator.h"
#include "support/operators.h"

namespace minnow::cpu {
namespace {

class Weights final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, std::string_view packing, size_t bytes,
                                     FunctionRef<void(const TensorView&, void*)> pack) override {
    std::shared_ptr<void>& found = kept_[{weight.data(), std::string(packing)}];
    if (!found) {
      found = allocate_shared(bytes);
      pack(weight, found.get());
    }
    return found;
  }

 private:
  std::map<std::pair<const void*, std::string>, std::shared_ptr<void>> kept_;
};

// Memory of a tensor in a layout: floats that nobody may read are NaN, and what follows the tensor must stay as it is.
constexpr size_t kGuard = 64;
struct Buffer {
  Buffer(const Device& device, DType dtype, const Shape& shape, Layout layout)
      : bytes(device.bytes(dtype, shape, layout)), memory(allocate_shared(bytes + kGuard)) {
    std::memset(memory.get(), 0xff, bytes + kGuard);
  }
  bool guard_is_whole() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (static_cast<const unsigned char*>(memory.get())[bytes + i] != 0xff) return false;
    return true;
  }
  size_t bytes;
  std::shared_ptr<void> memory;
};

struct Planes {
  size_t images, channels, pixels, pack;
  Planes(const Shape& shape, int pack)
      : images(static_cast<size_t>(shape[0])),
        channels(static_cast<size_t>(shape[1])),
        pixels(static_cast<size_t>(shape.product(2, shape.rank()))),
        pack(static_cast<size_t>(pack)) {}
  size_t packed(size_t n, size_t c, size_t p) const {
    return ((n * ((channels + pack - 1) / pack) + c / pack) * pixels + p) * pack + c % pack;
  }
  template <class F>
  void for_each(F f) const {
    for (size_t n = 0, plain = 0; n < images; ++n)
      for (size_t c = 0; c < channels; ++c)
        for (size_t p = 0; p < pixels; ++p) f(plain++, packed(n, c, p));
  }
};

Tensor run(const Scheme& scheme, const NodeView& view, const Device& device, const Estimate& estimate, const SchemeCase& test, int threads,
           std::vector<Tensor>& results) {
  Weights weights;
  PrepareContext context(view, device, estimate, weights);
  const std::unique_ptr<Kernel> kernel = scheme.prepare(context);
  std::vector<Buffer> buffers;
  buffers.reserve(test.inputs.size() + test.outputs);
  std::vector<Slot> slots(test.inputs.size() + test.outputs);
  std::vector<Slot*> inputs, outputs;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Tensor& tensor = test.inputs[i];
    if (!tensor) {
      inputs.push_back(nullptr);
      continue;
    }
    const Layout layout = estimate.input_layout(i);
    buffers.emplace_back(device, tensor.dtype(), tensor.shape(), layout);
    void* memory = buffers.back().memory.get();
    if (layout == Layout::plain)
      std::memcpy(memory, tensor.data(), tensor.bytes());
    else
      Planes(tensor.shape(), device.pack).for_each([&](size_t plain, size_t packed) {
        std::memcpy(static_cast<char*>(memory) + packed * size_of(tensor.dtype()), tensor.data<char>() + plain * size_of(tensor.dtype()),
                    size_of(tensor.dtype()));
      });
    slots[i].view = TensorView(tensor.dtype(), tensor.shape(), memory);
    inputs.push_back(&slots[i]);
  }
  for (size_t i = 0; i < test.outputs; ++i) {
    Slot& slot = slots[test.inputs.size() + i];
    const ValueInfo& info = view.output(i);
    buffers.emplace_back(device, info.dtype, info.shape, estimate.output_layout(i));
    void* memory = buffers.back().memory.get();
    // In place, where the scheme says that it can.
    if (i == 0 && estimate.overwrites >= 0) memory = const_cast<void*>(inputs[static_cast<size_t>(estimate.overwrites)]->view.data());
    slot.view = TensorView(info.dtype, info.shape, memory);
    outputs.push_back(&slot);
  }
  Buffer scratch(device, DType::u8, Shape{static_cast<int64_t>(context.scratch_bytes())}, Layout::plain);
  RunContext run;
  run.inputs = inputs;
  run.outputs = outputs;
  run.scratch = scratch.memory.get();
  run.threads = threads;
  kernel->run(run);
  EXPECT_EQ(run.failure, "");
  EXPECT_TRUE(scratch.guard_is_whole()) << "scratch is written beyond its end";
  for (const Buffer& buffer : buffers) EXPECT_TRUE(buffer.guard_is_whole()) << "a tensor is written beyond its end";
  for (size_t i = 0; i < test.outputs; ++i) {
    const TensorView& out = outputs[i]->view;
    if (estimate.output_layout(i) == Layout::plain) {
      results.emplace_back(out);
      continue;
    }
    Tensor plain(out.dtype(), out.shape());
    char* to = plain.writable().data<char>();
    const size_t size = size_of(out.dtype());
    Planes(out.shape(), device.pack).for_each([&](size_t p, size_t packed) {
      std::memcpy(to + p * size, out.data<char>() + packed * size, size);
    });
    results.push_back(std::move(plain));
  }
  return {};
}

testing::AssertionResult close(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return testing::AssertionFailure() << to_string(got.dtype()) << to_string(got.shape()) << " instead of " << to_string(want.dtype())
                                       << to_string(want.shape());
  const std::vector<double> g = test::numbers(got), w = test::numbers(want);
  double scale = 0;
  for (double value : w)
    if (std::isfinite(value)) scale += value * value / double(w.size());
  scale = std::sqrt(scale) + 1e-30;
  if (!is_float(want.dtype())) tolerance = 0;
  for (size_t i = 0; i < g.size(); ++i)
    if (!(std::fabs(g[i] - w[i]) <= tolerance * (scale + std::fabs(w[i]))) && !(g[i] == w[i]) && !(std::isnan(g[i]) && std::isnan(w[i])))
      return testing::AssertionFailure() << "element " << i << " is " << g[i] << " instead of " << w[i];
  return testing::AssertionSuccess();
}

}  // namespace

std::vector<std::string> check_schemes(const SchemeCase& test, Isa isa) {
  // A change of layout is no operator: it gives what it got.
  const std::vector<Tensor> want =
      test.op == kReorder ? test.inputs : test::run_operator(test.op, test.inputs, test.attributes, test.outputs);
  Graph graph;
  std::vector<Value*> values;
  std::vector<ValueInfo> infos(test.inputs.size()), output_infos(test.outputs);
  std::vector<const ValueInfo*> inputs, outputs;
  std::string shapes;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Tensor& tensor = test.inputs[i];
    values.push_back(tensor ? &graph.add_input("in" + std::to_string(i), ValueType::tensor(tensor.dtype(), tensor.shape())) : nullptr);
    infos[i].dtype = tensor.dtype();
    infos[i].shape = tensor.shape();
    for (size_t constant : test.constants)
      if (constant == i) infos[i].contents = tensor;
    inputs.push_back(tensor ? &infos[i] : nullptr);
    if (tensor) shapes += to_string(tensor.shape());
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < test.outputs; ++i) {
    names.push_back("out" + std::to_string(i));
    output_infos[i].dtype = want[i].dtype();
    output_infos[i].shape = want[i].shape();
    outputs.push_back(&output_infos[i]);
  }
  const Node& node = graph.add_node(test.op, values, names, test.attributes, "node");
  const NodeView view(node, inputs, outputs, OperatorSet::builtin().find(test.op));

  std::vector<std::string> accepted;
  std::set<std::string> exact;  // rows that serve at precision normal
  std::map<std::string, std::vector<Tensor>> first;
  for (const auto& [threads, precision] :
       {std::pair(1, Precision::normal), {3, Precision::normal}, {1, Precision::low}, {3, Precision::low}}) {
    BackendOptions options;
    options.isa = std::string(name_of(isa));
    options.threads = threads;
    options.precision = precision;
    const std::shared_ptr<Backend> backend = make_cpu_backend(options);
    const bool low = precision == Precision::low;
    for (const Scheme& scheme : backend->schemes()) {
      if (scheme.op != test.op) continue;
      Estimate estimate;
      try {
        estimate = scheme.estimate(view, backend->device());
      } catch (const NeedsContents&) {
        continue;
      }
      if (!estimate.declined.empty()) continue;
      const std::string name = test.op + "/" + std::string(scheme.name);
      if (low && exact.count(name)) continue;
      if (!low) exact.insert(name);
      SCOPED_TRACE(name + " of " + shapes + " on " + backend->device().name + ", " + std::to_string(threads) + " threads");
      EXPECT_GT(estimate.seconds, 0);
      std::vector<Tensor> got;
      run(scheme, view, backend->device(), estimate, test, threads, got);
      for (size_t i = 0; i < test.outputs; ++i)
        EXPECT_TRUE(close(got[i], want[i], low ? test.low_tolerance : test.tolerance)) << "output " << i;
      if (threads == 1) {
        accepted.push_back(name);
        first[name] = got;
      } else {
        for (size_t i = 0; i < test.outputs; ++i)
          EXPECT_EQ(std::memcmp(got[i].data(), first[name][i].data(), got[i].bytes()), 0) << "other bits with another number of threads";
      }
    }
  }
  return accepted;
}

std::vector<std::string> scheme_names(Isa isa) {
  BackendOptions options;
  options.isa = std::string(name_of(isa));
  std::vector<std::string> names;
  const std::shared_ptr<Backend> backend = make_cpu_backend(options);
  for (const Scheme& scheme : backend->schemes()) names.push_back(std::string(scheme.op) + "/" + std::string(scheme.name));
  return names;
}

Tensor normal(const Shape& shape, unsigned seed, double sigma) {
  std::mt19937 generator(seed * 7919 + static_cast<unsigned>(shape.elements()));
  std::normal_distribution<float> distribution(0, static_cast<float>(sigma));
  Tensor tensor(DType::f32, shape);
  float* data = tensor.writable().data<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) data[i] = distribution(generator);
  return tensor;
}

}  // namespace minnow::cpu
