// SPDX-License-Identifier: Apache-2.0
// Functions of the module minnow._core.numpy: the parts of minnow.numpy that the engine's operators lack, on computed tensors. Python code
// handles promotion, axes and keywords; these functions check everything that memory safety depends on.
#pragma once
#include <nanobind/nanobind.h>

#include <functional>

#include "base/error.h"
#include "binding/binding.h"
#include "binding/single_elements.h"
#include "express/memory.h"
#include "express/node.h"

namespace minnow::numpy {

namespace nb = nanobind;

/// The value of a Var, computed where it has to be.
inline Tensor value_of(const Var& x) {
  const python::Guard guard;
  return python::computed(x);
}

/// Tensors with fewer elements are not worth a plan.
inline constexpr int64_t kFewElements = 4096;

/// Whether functions of x may be computed at once: x has a value and depends on no placeholder, state or parameter, whose expressions are
/// kept. A pending expression of few nodes and few elements is computed to find out, because that takes less time than planning an
/// expression on top of it. Views count only if they are small, because reading one may copy.
bool at_hand(const Var& x);
/// The product of two matrices or vectors of f32 or f64 that are at hand; empty for other operands, or if the shapes do not fit.
std::optional<Var> product_at_hand(const Var& a, const Var& b);

/// A constant whose memory nobody else writes: assigning to its elements needs no copy.
inline Var own(Tensor tensor) {
  express::LazyValue value = express::constant_value(std::move(tensor));
  express::output_of(value).memory_is_ours = true;
  return express::var_of(std::move(value));
}

/// A tensor whose elements are all still to be written, in memory that expressions use again: memory from the system anew costs more than
/// most functions take.
class Fresh {
 public:
  Fresh(DType dtype, const Shape& shape)
      : memory_(express::allocate_value(unsign(shape.elements()) * size_of(dtype))), tensor_(dtype, shape, memory_.get(), memory_) {}
  template <class T = char>
  T* data() noexcept {
    return static_cast<T*>(memory_.get());
  }
  const Tensor& tensor() const noexcept { return tensor_; }
  operator Tensor() const { return tensor_; }  // NOLINT
  operator Var() const;                        // NOLINT

 private:
  static size_t unsign(int64_t n) { return static_cast<size_t>(n); }
  std::shared_ptr<void> memory_;
  Tensor tensor_;
};
inline Fresh::operator Var() const { return own(tensor_); }

/// A function of each element, by NumPy's name; of the dtype of x, or bool.
Var unary(const std::string& name, const Var& x);
/// A function of two tensors of one dtype, broadcast together, by NumPy's name.
Var binary(const std::string& name, const Var& a, const Var& b);

/// The number of cores that functions of this module use: those that the process may use at the first call.
int cores();

/// Calls task(first, last) for parts of [0, count), on all cores if `count * cost` (about the number of elements) is large. Releases the
/// GIL if that is worth it.
void in_parts(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t)>& task);

/// Shapes joined as NumPy broadcasts them; InvalidArgument if they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

inline bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
inline size_t unsign(int64_t n) { return static_cast<size_t>(n); }

void define_elements(nb::module_& m);
void define_reductions(nb::module_& m);
void define_products(nb::module_& m);
void define_sorting(nb::module_& m);
void define_indexing(nb::module_& m);
void define_movement(nb::module_& m);
void define_linalg(nb::module_& m);
void define_fourier(nb::module_& m);
void define_random(nb::module_& m);
/// All of these, as the submodule `numpy` of `m`.
void define_numpy(nb::module_& m);

}  // namespace minnow::numpy
