// SPDX-License-Identifier: Apache-2.0
// x[i, j] and x[i, j] = number of a variable that has a value: the element itself, without a view of it.
#include "single_elements.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/numeric.h"
#include "express/node.h"

namespace minnow::python {
namespace {

using express::Access;
using express::Cell;
using express::LazyNode;
using express::output_of;

/// The variable that has the memory, and the element's number in it.
struct Spot {
  Cell* holder;
  int64_t at;
};

std::optional<Spot> find(const Var& x, std::span<const int64_t> places) {
  Cell* cell = Access::cell(x).get();
  if (!cell) return std::nullopt;
  Cell* holder = cell->base ? cell->base.get() : cell;
  express::settle(*holder);
  const LazyNode* node = holder->value.node.get();
  if (!node || node->keeps_inputs || !node->is_computed()) return std::nullopt;
  const Tensor& tensor = output_of(holder->value).tensor;
  if (!tensor) return std::nullopt;
  const express::Region* region = cell->region.get();
  if (region && (region->part != 0 || !(region->base == tensor.shape()))) return std::nullopt;
  const Shape& shape = region ? region->shape : tensor.shape();
  if (places.size() != shape.rank()) return std::nullopt;
  int64_t at = region ? region->offset : 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t place = places[i] < 0 ? places[i] + shape[i] : places[i];
    if (place < 0 || place >= shape[i]) return std::nullopt;  // the general way says so
    at = region ? at + place * region->strides[i] : at * shape[i] + place;
  }
  return Spot{holder, at};
}

bool place_from(PyObject* object, int64_t& place) {
  if (!PyLong_CheckExact(object)) return false;
  place = PyLong_AsLongLong(object);
  if (place != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

/// A constant without axes.
Var constant_of(DType dtype, const void* element) {
  const auto memory = std::make_shared<std::array<double, 2>>();  // the largest element, complex128
  std::memcpy(memory.get(), element, size_of(dtype));
  express::LazyValue value = express::constant_value(Tensor(dtype, Shape(), memory.get(), memory));
  output_of(value).memory_is_ours = true;
  return express::var_of(std::move(value));
}

/// The cell's memory, where it is written in place.
char* exclusive(Cell& holder) {
  const std::shared_ptr<LazyNode>& node = holder.value.node;
  if (!node || node->kind != LazyNode::Kind::constant || node->trainable || node.use_count() != 1) return nullptr;
  express::Output& output = output_of(holder.value);
  if (!output.memory_is_ours || output.tensor.owner().use_count() != 1) return nullptr;
  node->id = LazyNode::next_id.fetch_add(1, std::memory_order_relaxed);
  return const_cast<char*>(output.tensor.data<char>());
}

}  // namespace

bool number_in(PyObject* number, DType dtype, void* out) {
  if (PyFloat_CheckExact(number)) {
    const double value = PyFloat_AsDouble(number);
    if (dtype != DType::f64 && (dtype != DType::f32 || std::abs(value) > std::numeric_limits<float>::max())) return false;
    narrow(dtype, &value, 1, out);
    return true;
  }
  int64_t value = 0;
  if (!place_from(number, value)) return false;
  if (dtype == DType::f32 || dtype == DType::f64) {
    const double real = static_cast<double>(value);
    narrow(dtype, &real, 1, out);
    return std::abs(real) <= 9007199254740992.0;  // 2^53: more is rounded once only where it is cast from the integer
  }
  if (!is_integer(dtype) || (is_unsigned(dtype) && value < 0)) return false;
  narrow(dtype, &value, 1, out);
  int64_t back = 0;
  widen(dtype, out, 1, &back);
  return back == value;
}

char* memory_to_write(const Var& x) {
  Cell* cell = Access::cell(x).get();
  return !cell || cell->base ? nullptr : exclusive(*cell);
}

bool Places::from(PyObject* key) noexcept {
  if (!PyTuple_CheckExact(key)) return place_from(key, places_[count_++]);
  const Py_ssize_t size = PyTuple_Size(key);
  if (size > static_cast<Py_ssize_t>(kMaxRank)) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!place_from(PyTuple_GetItem(key, i), places_[count_++])) return false;
  return true;
}

bool Places::from(const std::vector<Index>& indices) noexcept {
  if (indices.size() > kMaxRank) return false;
  for (const Index& index : indices) {
    if (index.kind() != Index::Kind::at) return false;
    places_[count_++] = *index.start();
  }
  return true;
}

std::optional<Var> element_at(const Var& x, const Places& places) {
  const std::optional<Spot> spot = find(x, places.view());
  if (!spot) return std::nullopt;
  const Tensor& tensor = output_of(spot->holder->value).tensor;
  return constant_of(tensor.dtype(), tensor.data<char>() + spot->at * static_cast<int64_t>(size_of(tensor.dtype())));
}

bool write_element(const Var& x, const Places& places, PyObject* value) {
  std::optional<Spot> spot = find(x, places.view());
  if (!spot) return false;
  const DType dtype = output_of(spot->holder->value).dtype;
  alignas(16) std::array<char, 16> bytes;
  if (is_var(value)) {
    const Var& given = var_of(value);
    {
      const express::LazyValue number = express::required_value(given);
      const Shape* shape = number.node->keeps_inputs || output_of(number).dtype != dtype ? nullptr : express::known_shape(number);
      if (!shape || shape->rank() != 0) return false;
    }
    std::memcpy(bytes.data(), computed(given).data(), size_of(dtype));
    spot = find(x, places.view());  // computing may have moved it
    if (!spot) return false;
  } else if (!number_in(value, dtype, bytes.data())) {
    return false;
  }
  Cell& cell = *Access::cell(x);
  if (cell.base) {
    if (cell.region->read_only) return false;
    cell.value = {}, cell.seen = {};  // would hold the base's memory
  }
  char* memory = exclusive(*spot->holder);
  if (!memory) return false;
  std::memcpy(memory + spot->at * static_cast<int64_t>(size_of(dtype)), bytes.data(), size_of(dtype));
  return true;
}

}  // namespace minnow::python
