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
  /// Parses an index; false unless it consists of Python's integers only.
  bool from(PyObject* key) noexcept;
  /// The same of basic slicing that is read already.
  bool from(const std::vector<Index>& indices) noexcept;
  std::span<const int64_t> view() const noexcept { return {places_.data(), count_}; }

 private:
  std::array<int64_t, kMaxRank> places_;
  size_t count_ = 0;
};

/// The element as a new value, which later assignments do not change. Empty if the variable has no value yet, depends on placeholders or
/// parameters, or has no such element.
std::optional<Var> element_at(const Var& x, const Places& places);
/// The bytes of a number of Python in that dtype; false if that takes more than a look.
bool number_in(PyObject* number, DType dtype, void* out);
/// The memory of a variable, for writing, if nobody else holds it; null if somebody may, or if the variable is a view. The constant gets a
/// new number, because plans identify constants by number.
char* memory_to_write(const Var& x);
/// Writes a number, or a computed Var without axes, if nobody else holds the variable's memory; else returns false without changes.
bool write_element(const Var& x, const Places& places, PyObject* value);

}  // namespace minnow::python
