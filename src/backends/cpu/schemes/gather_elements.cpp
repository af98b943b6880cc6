// SPDX-License-Identifier: Apache-2.0
// GatherElements of elements of 1, 4 and 8 bytes, row by row of the indices.
#include <algorithm>
#include <atomic>
#include <string>

#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kElementsPerTask = 16 << 10;

Estimate estimate(const NodeView& node, const Device& device) {
  const size_t size = size_of(node.input_dtype(0));
  if (size != 1 && size != 4 && size != 8)
    return declined("the dtype is {}, whose elements are of neither 1, 4 nor 8 bytes", node.input_dtype(0));
  const double count = static_cast<double>(node.output_shape(0).elements());
  if (count == 0 || node.input_shape(0).elements() == 0) return declined("a tensor is empty");
  return Estimate(count * 1e-9 / device.threads + device.byte_time(16 * count) + 2e-7);
}

template <class T, class Index>
class GatherElementsKernel final : public Kernel {
 public:
  explicit GatherElementsKernel(PrepareContext& context) : node_(context.node().where()), indices_(context.node().input_shape(1)) {
    const Shape& data = context.node().input_shape(0);
    const size_t axis = context.node().normalize_axis(context.node().attribute(Attribute<int64_t>{"axis", 0}), data.rank());
    dim_ = data[axis];
    for (size_t i = 0; i < data.rank(); ++i) steps_.push_back(i == axis ? 0 : data.product(i + 1, data.rank()));
    step_ = data.product(axis + 1, data.rank());
    length_ = static_cast<size_t>(indices_.back());
  }

  void run(RunContext& context) const noexcept override {
    const size_t rows = static_cast<size_t>(indices_.product(0, indices_.rank() - 1)),
                 each = std::max<size_t>(1, kElementsPerTask / length_);
    std::atomic<const Index*> wrong{nullptr};
    context.parallel_for((rows + each - 1) / each, [&](size_t task) {
      for (size_t row = task * each; row < std::min(rows, (task + 1) * each); ++row) {
        const Index* at = context.in<Index>(1) + row * length_;
        const T* x = context.in<T>(0) + offset_of(row);
        T* y = context.out<T>(0) + row * length_;
        const int64_t column = steps_.back();
        for (size_t i = 0; i < length_; ++i, x += column) {
          int64_t index = at[i];
          if (index < 0) index += dim_;
          if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(dim_)) {
            wrong = at + i;
            return;
          }
          y[i] = x[index * step_];
        }
      }
    });
    if (const Index* index = wrong) context.fail("{}: index {} is out of range for an axis of {}", node_, *index, dim_);
  }

 private:
  // The offset in data of the first element of a row of indices, without its index.
  int64_t offset_of(size_t row) const noexcept {
    int64_t offset = 0, rest = static_cast<int64_t>(row);
    for (size_t i = indices_.rank() - 1; i-- > 0; rest /= indices_[i]) offset += rest % indices_[i] * steps_[i];
    return offset;
  }

  std::string node_;
  Shape indices_, steps_;  // of data, 0 along the axis
  int64_t dim_, step_;     // of the axis
  size_t length_;
};

template <class T>
std::unique_ptr<Kernel> kernel(PrepareContext& context) {
  if (context.node().input_dtype(1) == DType::i64) return std::make_unique<GatherElementsKernel<T, int64_t>>(context);
  return std::make_unique<GatherElementsKernel<T, int32_t>>(context);
}
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const size_t size = size_of(context.node().input_dtype(0));
  return size == 1 ? kernel<uint8_t>(context) : size == 4 ? kernel<uint32_t>(context) : kernel<uint64_t>(context);
}

constexpr Scheme kSchemes[] = {{"GatherElements", "gather_elements", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> gather_elements_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
