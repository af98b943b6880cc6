// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a reference. References compute in f64 for floating types and in i64 or u64 for integers and bool, and round once
// at the end.
#pragma once
#include "base/function_ref.h"
#include "base/memory.h"
#include "base/watch.h"
#include "graph/node_view.h"
#include "graph/slot.h"

namespace minnow {

/// Strides in elements that walk a tensor of shape `from` as if broadcast to `to`: 0 along broadcast axes.
Ints broadcast_strides(const Shape& from, const Shape& to);
/// Row-major strides in elements.
Ints row_major_strides(const Shape& shape);

/// Thrown by KernelArgs::fail; the reference kernel turns it into the failure of the run.
struct KernelFailure {
  std::string sentence;
};

class KernelArgs {
 public:
  KernelArgs(const NodeView& node, std::span<Slot* const> inputs, std::span<Slot* const> outputs, SubgraphRunner* subgraphs = nullptr)
      : node_(&node), inputs_(inputs), outputs_(outputs), subgraphs_(subgraphs) {}

  bool has_input(size_t i) const noexcept { return i < inputs_.size() && inputs_[i] != nullptr; }
  bool has_output(size_t i) const noexcept { return i < outputs_.size() && outputs_[i] != nullptr; }
  size_t input_count() const noexcept { return inputs_.size(); }
  size_t output_count() const noexcept { return outputs_.size(); }
  const TensorView& input(size_t i) const { return inputs_[i]->view; }
  /// The memory of an output whose shape was known before the run.
  MutableTensorView output(size_t i) const {
    const TensorView& view = outputs_[i]->view;
    return MutableTensorView(view.dtype(), view.shape(), const_cast<void*>(view.data()));
  }
  /// Gives an output whose shape depends on data its shape and memory.
  MutableTensorView allocate_output(size_t i, const Shape& shape);
  /// An input of any kind, to be asked for once; a tensor borrows its memory, a sequence that no other step reads is moved.
  Datum datum(size_t i) const;
  /// Sets an output that is a sequence, an optional, or a tensor of a shape that only the run could tell. Takes the tensors' memory over.
  void set_output(size_t i, Datum value);
  std::vector<Datum> run_subgraph(std::string_view attribute, std::span<const Datum> inputs) { return subgraphs_->run(attribute, inputs); }

  /// Reports a fault that only the data reveals (an index out of range, a zero divisor) and ends the reference.
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    fail_with(pattern, erase(args...));
  }

  // Whole tensors widened and narrowed. Copies as large as a tensor are Numbers, which the memory limit counts.
  Numbers<double> reals(size_t i) const;
  Numbers<int64_t> ints(size_t i) const;
  void write(size_t i, std::span<const double> values) const;
  void write(size_t i, std::span<const int64_t> values) const;
  void write(size_t i, std::span<const uint64_t> values) const;
  /// The same for a T that with_wide gave: double, int64_t or uint64_t.
  template <class T>
  Numbers<T> values(size_t i) const {
    Numbers<T> all(static_cast<size_t>(input(i).elements()));
    if constexpr (std::is_same_v<T, double>)
      widen_all(i, all.data());
    else
      widen_all(i, reinterpret_cast<int64_t*>(all.data()));
    return all;
  }

  /// y = f(x), element by element: f(double) on floating inputs, f(int64_t) (f(uint64_t) for u64) on others. f is a generic lambda.
  template <class F>
  void map(F f) const {
    return is_float(input(0).dtype()) ? map_reals(f) : map_ints(f);
  }
  /// The same where f takes int64_t and uint64_t only.
  template <class F>
  void map_ints(F f) const {
    const auto apply = [&]<class T>(const int64_t* a, int64_t* y, size_t n) {
      for (size_t i = 0; i < n; ++i) y[i] = static_cast<int64_t>(f(static_cast<T>(a[i])));
    };
    unary_rows(input(0).dtype() == DType::u64
                   ? IntRow1([&](const int64_t* a, int64_t* y, size_t n) { apply.template operator()<uint64_t>(a, y, n); })
                   : IntRow1([&](const int64_t* a, int64_t* y, size_t n) { apply.template operator()<int64_t>(a, y, n); }));
  }
  /// The same where f takes doubles only.
  template <class F>
  void map_reals(F f) const {
    unary_rows(RealRow1([&](const double* a, double* y, size_t n) {
      for (size_t i = 0; i < n; ++i) y[i] = static_cast<double>(f(a[i]));
    }));
  }
  /// y = f(a, b) with broadcasting, all in double; a and b may be of different dtypes, also integers.
  template <class F>
  void map2_reals(F f, size_t a = 0, size_t b = 1) const {
    binary_rows(a, b, RealRow2([&](const double* p, const double* q, double* y, size_t n) {
                  for (size_t i = 0; i < n; ++i) y[i] = static_cast<double>(f(p[i], q[i]));
                }));
  }
  /// y = f(a, b) with broadcasting; a and b of one dtype, y of that dtype or bool.
  template <class F>
  void map2(F f, size_t a = 0, size_t b = 1) const {
    return is_float(input(a).dtype()) ? map2_reals(f, a, b) : map2_ints(f, a, b);
  }
  /// The same where f takes int64_t and uint64_t only.
  template <class F>
  void map2_ints(F f, size_t a = 0, size_t b = 1) const {
    if (input(a).dtype() == DType::u64) {
      binary_rows(a, b, IntRow2([&](const int64_t* p, const int64_t* q, int64_t* y, size_t n) {
                    for (size_t i = 0; i < n; ++i) y[i] = static_cast<int64_t>(f(static_cast<uint64_t>(p[i]), static_cast<uint64_t>(q[i])));
                  }));
    } else {
      binary_rows(a, b, IntRow2([&](const int64_t* p, const int64_t* q, int64_t* y, size_t n) {
                    for (size_t i = 0; i < n; ++i) y[i] = static_cast<int64_t>(f(p[i], q[i]));
                  }));
    }
  }

 private:
  [[noreturn]] void fail_with(std::string_view pattern, std::span<const FormatArg> args) const;
  using RealRow1 = FunctionRef<void(const double*, double*, size_t)>;
  using IntRow1 = FunctionRef<void(const int64_t*, int64_t*, size_t)>;
  using RealRow2 = FunctionRef<void(const double*, const double*, double*, size_t)>;
  using IntRow2 = FunctionRef<void(const int64_t*, const int64_t*, int64_t*, size_t)>;
  void widen_all(size_t i, double* out) const;
  void widen_all(size_t i, int64_t* out) const;
  void unary_rows(RealRow1 row) const;
  void unary_rows(IntRow1 row) const;
  void binary_rows(size_t a, size_t b, RealRow2 row) const;
  void binary_rows(size_t a, size_t b, IntRow2 row) const;

  const NodeView* node_;
  std::span<Slot*const> inputs_, outputs_;
  SubgraphRunner* subgraphs_;
};

/// Calls body(index) for every index of `outer` in row-major order, and Watch::check() now and then. The work horse of data movement.
void for_each_index(const Shape& outer, FunctionRef<void(std::span<const int64_t> index)> body);

/// The rows of a tensor of shape `to` together with those of one of shape `from` that is broadcast to it: `length` elements from `place` on
/// in `to`, and from `at` on, `step` apart, in `from`.
void for_each_row(const Shape& from, const Shape& to, FunctionRef<void(size_t place, size_t length, size_t at, size_t step)> body);

/// The same element by element: body(place in `to`, place in `from`).
template <class F>
void walk_broadcast(const Shape& from, const Shape& to, F body) {
  for_each_row(from, to, [&](size_t place, size_t length, size_t at, size_t step) {
    for (; length; --length, ++place, at += step) body(place, at);
  });
}

/// Calls body with a zero of the type that references compute in for that dtype: double, int64_t or (for u64) uint64_t.
template <class F>
void with_wide(DType dtype, F body) {
  if (is_float(dtype)) return body(double());
  if (dtype == DType::u64) return body(uint64_t());
  body(int64_t());
}

/// Integers are added, subtracted and multiplied on their unsigned twin, where wrapping around is defined.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

/// A tensor cut along one axis: line (o, i) holds elements o * length * inner + k * inner + i, k in [0, length).
struct AxisLines {
  int64_t outer, length, inner;
  AxisLines(const Shape& shape, size_t axis)
      : outer(shape.product(0, axis)), length(shape[axis]), inner(shape.product(axis + 1, shape.rank())) {}
  /// body(place of the line's first element, number of the line); consecutive elements are `inner` apart.
  template <class F>
  void for_each(F body) const {
    Pace pace;
    for (int64_t o = 0, line = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i, ++line) {
        pace.step(static_cast<size_t>(length) + 1);
        body(o * length * inner + i, line);
      }
  }
};

}  // namespace minnow
