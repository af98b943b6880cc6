// SPDX-License-Identifier: Apache-2.0
// ScatterND that adds, as gradients of embeddings and of other gathered rows do. Threads share the columns, so that each place gets its
// updates in their order.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

#if MINNOW_GRADIENTS

namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.attribute(Attribute<std::string_view>{"reduction", "none"}) != "add") return declined("updates are not added");
  if (node.input_shape(0).elements() == 0 || node.input_shape(2).elements() == 0) return declined("a tensor is empty");
  Estimate estimate(device.byte_time(8.0 * static_cast<double>(node.input_shape(0).elements() + 2 * node.input_shape(2).elements())) +
                    1e-6);
  estimate.overwrites = 0;
  return estimate;
}

class ScatterAddKernel final : public Kernel {
 public:
  explicit ScatterAddKernel(PrepareContext& context) : node_(context.node().where()) {
    const Shape &data = context.node().input_shape(0), &indices = context.node().input_shape(1);
    depth_ = static_cast<size_t>(indices.back());
    tuples_ = static_cast<size_t>(indices.product(0, indices.rank() - 1));
    slice_ = static_cast<size_t>(data.product(depth_, data.rank()));
    for (size_t i = 0; i < depth_; ++i) dims_.push_back(data[i]);
    floats_ = static_cast<size_t>(data.elements());
    tasks_ = std::clamp<size_t>(tuples_ * slice_ / kFloatsPerTask, 1, std::min<size_t>(slice_ / 16 + 1, size_t(context.device().threads)));
  }

  void run(RunContext& context) noexcept override {
    float* const y = context.out<float>(0);
    if (context.in<float>(0) != y) std::memcpy(y, context.in<float>(0), floats_ * sizeof(float));
    std::atomic<const int64_t*> wrong{nullptr};
    context.parallel_for(tasks_, [&](size_t task) {
      const size_t first = share(slice_, tasks_, task), last = share(slice_, tasks_, task + 1);
      const int64_t* tuple = context.in<int64_t>(1);
      const float* update = context.in<float>(2);
      for (size_t k = 0; k < tuples_; ++k, update += slice_) {
        int64_t place = 0;
        for (size_t i = 0; i < depth_; ++i, ++tuple) {
          const int64_t index = *tuple < 0 ? *tuple + dims_[i] : *tuple;
          if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(dims_[i])) {
            wrong = tuple;
            return;
          }
          place = place * dims_[i] + index;
        }
        float* to = y + static_cast<size_t>(place) * slice_;
        for (size_t i = first; i < last; ++i) to[i] += update[i];
      }
    });
    if (const int64_t* index = wrong)
      context.fail("{}: index {} is out of range for an axis of {}", node_, *index, dims_[size_t(index - context.in<int64_t>(1)) % depth_]);
  }

 private:
  std::string node_;
  Shape dims_;  // of the axes that tuples name
  size_t depth_, tuples_, slice_, floats_, tasks_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<ScatterAddKernel>(context); }

constexpr Scheme kSchemes[] = {{"ScatterND", "scatter_add", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> scatter_add_schemes() { return selected<kSchemes>(); }

#endif

}  // namespace minnow::cpu
