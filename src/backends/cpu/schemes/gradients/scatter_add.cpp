// SPDX-License-Identifier: Apache-2.0
// ScatterND and ScatterElements that add, as gradients of embeddings, of other gathered rows and of losses do. Each place gets its updates
// in their order: threads share the columns of ScatterND, and what lies before the axis of ScatterElements.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "backends/cpu/schemes/schemes.h"
#include "base/share.h"

namespace minnow::cpu {

namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

size_t axis_of(const NodeView& node) {
  return node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", 0}), node.input_shape(0).rank());
}

template <bool kElements>
Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.attribute(Attribute<Name>{"reduction", "none"}) != "add") return declined("updates are not added");
  const Shape &data = node.input_shape(0), &updates = node.input_shape(2);
  if (data.elements() == 0 || updates.elements() == 0) return declined("a tensor is empty");
  if constexpr (kElements) {
    if (node.input_dtype(1) != DType::i64) return declined("the indices are {}, not i64", node.input_dtype(1));
    Shape lines = data;
    const size_t axis = axis_of(node);
    lines[axis] = updates[axis];
    if (!(lines == updates)) return declined("updates of shape {} are a part of the lines of {}", updates, data);
  }
  Estimate estimate(device.byte_time(8.0 * static_cast<double>(data.elements() + 2 * updates.elements())) + 1e-6);
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

  void run(RunContext& context) const noexcept override {
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

class ScatterElementsKernel final : public Kernel {
 public:
  explicit ScatterElementsKernel(PrepareContext& context) : node_(context.node().where()) {
    const Shape &data = context.node().input_shape(0), &updates = context.node().input_shape(2);
    const size_t axis = axis_of(context.node());
    outer_ = static_cast<size_t>(data.product(0, axis)), inner_ = static_cast<size_t>(data.product(axis + 1, data.rank()));
    length_ = data[axis], updates_ = static_cast<size_t>(updates[axis]);
    const size_t line = (static_cast<size_t>(length_) + updates_) * inner_;
    tasks_ = std::clamp<size_t>(outer_ * line / kFloatsPerTask, 1, std::min(outer_, static_cast<size_t>(context.device().threads)));
  }

  void run(RunContext& context) const noexcept override {
    float* const y = context.out<float>(0);
    const float* const x = context.in<float>(0);
    std::atomic<const int64_t*> wrong{nullptr};
    context.parallel_for(tasks_, [&](size_t task) {
      const size_t first = share(outer_, tasks_, task), last = share(outer_, tasks_, task + 1);
      const size_t line = static_cast<size_t>(length_) * inner_;
      if (x != y) std::memcpy(y + first * line, x + first * line, (last - first) * line * sizeof(float));
      const int64_t* place = context.in<int64_t>(1) + first * updates_ * inner_;
      const float* update = context.in<float>(2) + first * updates_ * inner_;
      for (size_t o = first; o < last; ++o)
        for (size_t k = 0; k < updates_; ++k)
          for (size_t i = 0; i < inner_; ++i, ++place) {
            const int64_t index = *place < 0 ? *place + length_ : *place;
            if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(length_)) {
              wrong = place;
              return;
            }
            y[o * line + static_cast<size_t>(index) * inner_ + i] += *update++;
          }
    });
    if (const int64_t* index = wrong) context.fail("{}: index {} is out of range for an axis of {}", node_, *index, length_);
  }

 private:
  std::string node_;
  size_t outer_, inner_, updates_, tasks_;
  int64_t length_;
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<K>(context);
}

constexpr Scheme kSchemes[] = {{"ScatterND", "scatter_add", estimate<false>, prepare<ScatterAddKernel>, kLargeOnly},
                               {"ScatterElements", "scatter_add", estimate<true>, prepare<ScatterElementsKernel>, kLargeOnly}};

}  // namespace

std::span<const Scheme> scatter_add_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
