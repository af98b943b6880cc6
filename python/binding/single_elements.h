// SPDX-License-Identifier: Apache-2.0
// One element of a variable, read and written. Needs the Guard.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "binding.h"

namespace minnow::python {

/// An integer for each axis.
class Places {
 public:
  /// From what is in the brackets; false where that is not integers of Python alone.
  bool from(PyObject* key) noexcept;
  /// The same of basic slicing that is read already.
  bool from(const std::vector<Index>& indices) noexcept;
  std::span<const int64_t> view() const noexcept { return {places_.data(), count_}; }

 private:
  std::array<int64_t, kMaxRank> places_;
  size_t count_ = 0;
};

/// The element as a value of its own, which later assignments leave as it is. Nothing where the variable has no value yet, depends on
/// placeholders or parameters, or has no such element.
std::optional<Var> element_at(const Var& x, const Places& places);
/// The bytes of a number of Python in that dtype; false where that takes more than a look.
bool number_in(PyObject* number, DType dtype, void* out);
/// What is computed of two numbers at once: all else is an expression.
enum class Arithmetic : uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  bit_and,
  bit_or,
  bit_xor,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal
};
/// The result of two Vars without axes that have values, of one dtype, or of one and a number of Python: f32, f64 or i64, as the engine's
/// operators compute it. Nothing for other operands.
std::optional<Var> number_at_hand(Arithmetic operation, PyObject* a, PyObject* b);
/// The memory of a variable that nobody else holds, to write in; null where somebody may, or where the variable is a view. Plans go by a
/// constant's number: it gets another one.
char* memory_to_write(const Var& x);
/// Writes a number, or a computed Var without axes, where nobody else holds the variable's memory; else gives false and changes nothing.
bool write_element(const Var& x, const Places& places, PyObject* value);

}  // namespace minnow::python
