// SPDX-License-Identifier: Apache-2.0
#include "support/schemes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "backends/cpu/cpu.h"
#include "ops/operator.h"
#include "support/operators.h"

namespace minnow::cpu {
namespace {

class Weights final : public WeightStore {
 public:
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override {
    std::shared_ptr<void>& found = kept_[{weight.data(), packing.text()}];
    if (!found) {
      found = allocate_shared(packing.bytes);
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

/// `steps`: how far integers may be from those wanted.
testing::AssertionResult close(const Tensor& got, const Tensor& want, double tolerance, double steps) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return testing::AssertionFailure() << to_string(got.dtype()) << to_string(got.shape()) << " instead of " << to_string(want.dtype())
                                       << to_string(want.shape());
  const std::vector<double> g = test::numbers(got), w = test::numbers(want);
  double scale = 0;
  for (double value : w)
    if (std::isfinite(value)) scale += value * value / double(w.size());
  scale = std::sqrt(scale) + 1e-30;
  if (is_float(want.dtype()))
    steps = 0;
  else
    tolerance = 0;
  for (size_t i = 0; i < g.size(); ++i)
    if (!(std::fabs(g[i] - w[i]) <= tolerance * (scale + std::fabs(w[i])) + steps) && !(g[i] == w[i]) &&
        !(std::isnan(g[i]) && std::isnan(w[i])))
      return testing::AssertionFailure() << "element " << i << " is " << g[i] << " instead of " << w[i];
  return testing::AssertionSuccess();
}

// The backend of an instruction set, for one and for three threads, at precision normal and low.
struct Backends {
  std::shared_ptr<Backend> normal[2], low[2];
};
constexpr int kThreads[2] = {1, 3};

const Backends& backends_of(Isa isa) {
  static std::map<Isa, Backends> made;
  const auto [found, is_new] = made.try_emplace(isa);
  if (is_new) {
    BackendOptions options;
    options.isa = std::string(name_of(isa));
    for (size_t i = 0; i < 2; ++i) {
      options.threads = kThreads[i];
      options.precision = Precision::normal;
      found->second.normal[i] = make_cpu_backend(options);
      options.precision = Precision::low;
      found->second.low[i] = make_cpu_backend(options);
    }
  }
  return found->second;
}

const Scheme& scheme_of(const Backend& backend, const SchemeRow& row) {
  for (const Scheme& scheme : backend.schemes())
    if (scheme.op == row.op && scheme.name == row.name) return scheme;
  throw InternalError("there is no scheme {} of {}", row.name, row.op);
}

Estimate ask(const Scheme& scheme, const NodeView& view, const Device& device) {
  try {
    return scheme.estimate(view, device);
  } catch (const NeedsContents&) {
    return declined("it needs the contents of an input");
  }
}

// The row's answers at a precision, for each number of threads.
struct Answers {
  const std::shared_ptr<Backend>* backends;
  Estimate estimates[2];
  bool accepted() const { return estimates[0].declined.empty() || estimates[1].declined.empty(); }
};
Answers answers(const SchemeRow& row, const NodeView& view, bool low) {
  const Backends& backends = backends_of(row.isa);
  Answers made{low ? backends.low : backends.normal, {}};
  for (size_t i = 0; i < 2; ++i) made.estimates[i] = ask(scheme_of(*made.backends[i], row), view, made.backends[i]->device());
  return made;
}

SchemeAnswer answer_of(const Answers& normal, const Answers& low) {
  const Estimate& last = low.estimates[0];
  if (normal.accepted() || low.accepted()) return {.accepted = true, .unavailable = false, .declined = {}};
  return {.accepted = false, .unavailable = last.unavailable, .declined = last.declined};
}

}  // namespace

void PreparedCase::prepare() {
  if (view_) return;
  // A change of layout is no operator: it gives what it got.
  expected_ = test_.op == kReorder ? test_.inputs : test::run_operator(test_.op, test_.inputs, test_.attributes, test_.outputs);
  infos_.resize(test_.inputs.size());
  output_infos_.resize(test_.outputs);
  std::vector<Value*> values;
  for (size_t i = 0; i < test_.inputs.size(); ++i) {
    const Tensor& tensor = test_.inputs[i];
    values.push_back(tensor ? &graph_.add_input("in" + std::to_string(i), ValueType::tensor(tensor.dtype(), tensor.shape())) : nullptr);
    infos_[i].dtype = tensor.dtype();
    infos_[i].shape = tensor.shape();
    for (size_t constant : test_.constants)
      if (constant == i) infos_[i].contents = tensor;
    inputs_.push_back(tensor ? &infos_[i] : nullptr);
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < test_.outputs; ++i) {
    names.push_back("out" + std::to_string(i));
    output_infos_[i].dtype = expected_[i].dtype();
    output_infos_[i].shape = expected_[i].shape();
    outputs_.push_back(&output_infos_[i]);
  }
  const Node& node = graph_.add_node(test_.op, values, names, test_.attributes, "node");
  view_.emplace(node, inputs_, outputs_, OperatorSet::builtin().find(test_.op));
}

std::string PreparedCase::shapes() const {
  std::string text;
  for (const Tensor& tensor : test_.inputs)
    if (tensor) text += to_string(tensor.shape());
  return text;
}

std::vector<SchemeRow> scheme_rows(Isa isa) {
  std::vector<SchemeRow> rows;
  for (const Scheme& scheme : backends_of(isa).normal[0]->schemes())
    rows.push_back({isa, std::string(scheme.op), std::string(scheme.name)});
  return rows;
}

SchemeAnswer ask_scheme(const SchemeRow& row, PreparedCase& prepared) {
  return answer_of(answers(row, prepared.view(), false), answers(row, prepared.view(), true));
}

SchemeAnswer check_scheme(const SchemeRow& row, PreparedCase& prepared) {
  const SchemeCase& test = prepared.test();
  const Answers normal = answers(row, prepared.view(), false), low = answers(row, prepared.view(), true);
  const Answers& taken = normal.accepted() ? normal : low;
  const double tolerance = normal.accepted() ? test.tolerance : test.low_tolerance;
  const double steps = row.name.ends_with("_f32") ? 1 : test.steps;
  std::vector<Tensor> of_one_thread;
  for (size_t i = 0; i < 2; ++i) {
    const Estimate& estimate = taken.estimates[i];
    if (!estimate.declined.empty()) continue;
    const Device& device = taken.backends[i]->device();
    SCOPED_TRACE(format("{} of {} on {}, {} threads", row.name, prepared.shapes(), device.name, kThreads[i]));
    EXPECT_GT(estimate.seconds, 0);
    std::vector<Tensor> got;
    run(scheme_of(*taken.backends[i], row), prepared.view(), device, estimate, test, kThreads[i], got);
    for (size_t k = 0; k < test.outputs; ++k) EXPECT_TRUE(close(got[k], prepared.expected()[k], tolerance, steps)) << "output " << k;
    for (size_t k = 0; k < of_one_thread.size(); ++k)
      EXPECT_EQ(std::memcmp(got[k].data(), of_one_thread[k].data(), got[k].bytes()), 0) << "other bits with another number of threads";
    of_one_thread = std::move(got);
  }
  return answer_of(normal, low);
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
