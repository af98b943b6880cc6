// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers and bools, comparisons and choices of any number of elements, at once and by vectors. In f32 and f64 arithmetic is
// left to expressions, whose chains are one loop.
#include <bit>

#include "numpy/kernels/kernels.h"
#include "numpy/loops.h"

namespace minnow::numpy {
namespace {

constexpr size_t kMost = 2048;  // elements of a block

void spread(const char* from, size_t size, size_t count, char* to) {
  const auto fill = [&](auto element) {
    std::memcpy(&element, from, sizeof(element));
    for (size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(element), &element, sizeof(element));
  };
  switch (size) {
    case 1:
      std::memset(to, *from, count);
      break;
    case 2:
      return fill(uint16_t());
    case 4:
      return fill(uint32_t());
    default:
      return fill(uint64_t());
  }
}

const ArithmeticKernels& kernels() {
  static const ArithmeticKernels& of_this_machine = *numpy_kernels(cpu::best_isa()).arithmetic;
  return of_this_machine;
}

Tensor combined(CombinationLoop loop, const Tensor& a, const Tensor& b, DType result) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Fresh y(result, shape);
  if (shape.elements() == 0) return y;
  const Walk walk = walk_of(a.shape(), b.shape(), shape);
  const size_t inner = walk.shape.rank() - 1, size = size_of(a.dtype()), result_size = size_of(result);
  constexpr int64_t kBlockWidth = kMost;
  const int64_t width = walk.shape[inner], rows = walk.shape.product(0, inner), blocks = (width + kBlockWidth - 1) / kBlockWidth;
  in_parts(rows * blocks, std::min(width, kBlockWidth), [&](int64_t first, int64_t last) {
    alignas(64) char memory[2][kMost * 8];
    const char* held[2] = {};  // the elements that `memory` is full of
    for (int64_t task = first; task < last; ++task) {
      const int64_t begin = task % blocks * kBlockWidth;
      const size_t count = unsign(std::min(kBlockWidth, width - begin));
      int64_t rest = task / blocks, at_a = begin * walk.a[inner], at_b = begin * walk.b[inner];
      for (size_t axis = inner; axis-- > 0; rest /= walk.shape[axis])
        at_a += rest % walk.shape[axis] * walk.a[axis], at_b += rest % walk.shape[axis] * walk.b[axis];
      const auto side = [&](size_t which, const Tensor& x, int64_t at, int64_t step) {
        const char* from = x.data<char>() + at * static_cast<int64_t>(size);
        if (step == 1) return from;
        if (held[which] != from) spread(from, size, unsign(std::min(kBlockWidth, width)), memory[which]), held[which] = from;
        return static_cast<const char*>(memory[which]);
      };
      loop(side(0, a, at_a, walk.a[inner]), side(1, b, at_b, walk.b[inner]), count,
           y.data() + (task / blocks * width + begin) * static_cast<int64_t>(result_size));
    }
  });
  return y;
}

/// Null where there is none; greater is less of the operands exchanged.
CombinationLoop loop_of(python::Arithmetic operation, DType dtype) {
  using python::Arithmetic;
  const auto of = [dtype](Combination combination) { return kernels().loop(dtype, combination); };
  switch (operation) {
    case Arithmetic::add:
      return of(Combination::add);
    case Arithmetic::subtract:
      return of(Combination::subtract);
    case Arithmetic::multiply:
      return of(Combination::multiply);
    case Arithmetic::bit_and:
      return of(Combination::bit_and);
    case Arithmetic::bit_or:
      return of(Combination::bit_or);
    case Arithmetic::bit_xor:
      return of(Combination::bit_xor);
    case Arithmetic::equal:
      return of(Combination::equal);
    case Arithmetic::not_equal:
      return of(Combination::not_equal);
    case Arithmetic::less:
    case Arithmetic::greater:
      return of(Combination::less);
    case Arithmetic::less_equal:
    case Arithmetic::greater_equal:
      return of(Combination::less_equal);
    default:
      return nullptr;
  }
}

}  // namespace

bool is_readable(const Var& x, bool computes) {
  const python::Guard guard;
  const express::LazyValue value = express::required_value(x);
  if (value.node->keeps_inputs) return false;
  if (!value.node->is_computed() && computes) python::computed(x);
  return value.node->is_computed();
}

bool has_vectors(python::Arithmetic operation, DType dtype) { return loop_of(operation, dtype) != nullptr; }

Var combined_by_vectors(python::Arithmetic operation, const Tensor& a, const Tensor& b) {
  using python::Arithmetic;
  const CombinationLoop loop = loop_of(operation, a.dtype());
  const DType result = operation >= Arithmetic::equal ? DType::boolean : a.dtype();
  return operation >= Arithmetic::greater ? own(combined(loop, b, a, result)) : own(combined(loop, a, b, result));
}

std::optional<Var> extreme_by_vectors(bool largest, const Var& a, const Var& b) {
  const CombinationLoop loop = kernels().loop(a.dtype(), largest ? Combination::maximum : Combination::minimum);
  if (!loop || !is_readable(a, true) || !is_readable(b, true)) return std::nullopt;
  return own(combined(loop, value_of(a), value_of(b), a.dtype()));
}

std::optional<Var> cast_by_vectors(const Var& x, DType dtype) {
  const DType from = x.dtype();
  const ConversionLoop loop = kernels().conversion(from, dtype);
  if (!loop || !is_readable(x, from != DType::f32 && from != DType::f64)) return std::nullopt;
  const Tensor tensor = value_of(x);
  Fresh y(dtype, tensor.shape());
  in_parts(tensor.elements(), 1, [&](int64_t first, int64_t last) {
    loop(tensor.data<char>() + unsign(first) * size_of(from), unsign(last - first), y.data() + unsign(first) * size_of(dtype));
  });
  return y;
}

bool choose_by_vectors(const Tensor& condition, const Tensor& a, const Tensor& b, Fresh& y) {
  const Shape& shape = y.tensor().shape();
  const size_t size = size_of(a.dtype()), count = unsign(shape.elements());
  if (size > 8 || !(condition.shape() == shape)) return false;
  for (const Tensor* x : {&a, &b})
    if (!(x->shape() == shape) && x->elements() != 1) return false;
  const auto loop = kernels().choose[std::countr_zero(size)];
  const bool alone[] = {a.elements() == 1 && count != 1, b.elements() == 1 && count != 1};
  in_parts(static_cast<int64_t>((count + kMost - 1) / kMost), static_cast<int64_t>(kMost), [&](int64_t first, int64_t last) {
    alignas(64) char memory[2][kMost * 8];
    if (alone[0]) spread(a.data<char>(), size, kMost, memory[0]);
    if (alone[1]) spread(b.data<char>(), size, kMost, memory[1]);
    for (size_t i = unsign(first) * kMost; i < std::min(unsign(last) * kMost, count); i += kMost)
      loop(condition.data<uint8_t>() + i, alone[0] ? memory[0] : a.data<char>() + i * size,
           alone[1] ? memory[1] : b.data<char>() + i * size, std::min(kMost, count - i), y.data() + i * size);
  });
  return true;
}

}  // namespace minnow::numpy
