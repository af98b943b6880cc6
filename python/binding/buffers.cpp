// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"
#include "dlpack.h"

#include <nanobind/ndarray.h>

#include <bit>
#include <cstring>

namespace minnow::python {
namespace {

/// A Py_buffer. The last tensor over it may go on any thread, and after the interpreter.
struct Held {
  struct Release {
    void operator()(Py_buffer* view) const {
      if (!Py_IsInitialized()) return;
      const nb::gil_scoped_acquire acquire;
      PyBuffer_Release(view);
      delete view;
    }
  };
  std::shared_ptr<const void> owner() && { return std::shared_ptr<const void>(view.release(), Release()); }
  std::unique_ptr<Py_buffer, Release> view;

  /// Empty if the object refuses; the error is cleared.
  static Held of(nb::handle object, int flags) {
    auto made = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), made.get(), flags) != 0) {
      PyErr_Clear();
      return {};
    }
    return {std::unique_ptr<Py_buffer, Release>(made.release())};
  }
};

/// The dtype of elements of a format of the module struct (with NumPy's Z for complex numbers) and a size, which tells how wide they are:
/// ctypes writes "<l" for 8 bytes. Undefined for several items, texts, pointers, records.
DType dtype_of_format(std::string_view format, size_t size, bool& swapped) {
  swapped = false;
  if (!format.empty() && std::string_view("@=<>!^").find(format[0]) != std::string_view::npos) {
    const bool little = format[0] == '<', big = format[0] == '>' || format[0] == '!';
    swapped = size > 1 && (std::endian::native == std::endian::little ? big : little);
    format.remove_prefix(1);
  }
  const bool complex = format == "Zf" || format == "Zd" || format == "F" || format == "D";
  if (complex) return size == 8 ? DType::complex64 : size == 16 ? DType::complex128 : DType::undefined;
  if (format.size() != 1) return DType::undefined;
  const auto of_size = [&](DType one, DType two, DType four, DType eight) {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : DType::undefined;
  };
  switch (format[0]) {
    case '?':
      return size == 1 ? DType::boolean : DType::undefined;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return of_size(DType::i8, DType::i16, DType::i32, DType::i64);
    case 'B':
    case 'c':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return of_size(DType::u8, DType::u16, DType::u32, DType::u64);
    case 'e':
    case 'f':
    case 'd':
      return of_size(DType::undefined, DType::f16, DType::f32, DType::f64);
    default:
      return DType::undefined;
  }
}

/// True for dates and the like: they export their bytes, but their dtype is something else.
bool is_something_else(nb::handle object) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (dtype.is_none()) return false;
  const nb::object kind = nb::getattr(dtype, "kind", nb::none());
  return nb::isinstance<nb::str>(kind) && nb::cast<std::string>(kind) != "u";
}

/// Without strides: yes.
template <class Stride>
bool is_row_by_row(const Shape& shape, const Stride* strides, size_t count, size_t size) {
  Stride expected = static_cast<Stride>(size);
  for (size_t i = count; i-- > 0; expected *= static_cast<Stride>(shape[i]))
    if (shape[i] != 1 && strides[i] != expected) return false;
  return true;
}

void copy_element(char* to, const char* from, size_t size, bool swapped, bool complex) {
  if (!swapped) {
    std::memcpy(to, from, size);
    return;
  }
  const size_t part = complex ? size / 2 : size;
  for (size_t begin = 0; begin < size; begin += part)
    for (size_t i = 0; i < part; ++i) to[begin + i] = from[begin + part - 1 - i];
}

std::vector<int64_t> row_strides(const Shape& shape, size_t size) {
  std::vector<int64_t> strides(shape.rank());
  int64_t stride = static_cast<int64_t>(size);
  for (size_t i = shape.rank(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

void copy_axis(const ForeignArray& array, size_t axis, const char* from, char*& to) {
  const size_t size = size_of(array.dtype);
  if (axis == array.shape.rank()) {
    copy_element(to, from, size, array.swapped, array.dtype == DType::complex64 || array.dtype == DType::complex128);
    to += size;
    return;
  }
  const int64_t through = array.suboffsets.empty() ? -1 : array.suboffsets[axis], stride = array.strides[axis], count = array.shape[axis];
  if (axis + 1 == array.shape.rank() && through < 0 && !array.swapped) {
    const int64_t bytes = static_cast<int64_t>(size);
    if (stride == bytes) {
      std::memcpy(to, from, static_cast<size_t>(count) * size);
    } else {
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from + i * stride, size);
    }
    to += count * bytes;
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const char* at = from + i * stride;
    if (through >= 0) {
      std::memcpy(&at, at, sizeof(void*));
      at += through;
    }
    copy_axis(array, axis + 1, at, to);
  }
}

}  // namespace

BufferView::BufferView(nb::handle object, int flags)
    : open_(PyObject_CheckBuffer(object.ptr()) && PyObject_GetBuffer(object.ptr(), &view_, flags) == 0) {
  if (!open_) PyErr_Clear();
}
DType BufferView::dtype() const noexcept {
  bool swapped = false;
  const DType dtype = dtype_of_format(view_.format ? view_.format : "B", static_cast<size_t>(view_.itemsize), swapped);
  return swapped ? DType::undefined : dtype;
}

bool ForeignArray::is_plain() const noexcept {
  for (const int64_t offset : suboffsets)
    if (offset >= 0) return false;
  if (shape.elements() == 0) return true;
  const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
  if (swapped || reinterpret_cast<uintptr_t>(data) % (size_of(dtype) / (complex ? 2 : 1)) != 0) return false;
  return is_row_by_row(shape, strides.data(), strides.size(), size_of(dtype));
}

Tensor ForeignArray::tensor(Sharing sharing) const {
  const bool plain = is_plain();
  if (plain && sharing != Sharing::copy) return Tensor(dtype, shape, data, owner);
  if (sharing == Sharing::must)
    throw InvalidArgument(
        "the memory of an array cannot be shared: it is not in row-major order, or not aligned, or not in this machine's byte order");
  Tensor made(dtype, shape);
  char* to = static_cast<char*>(made.writable().data());
  if (made.bytes() == 0) return made;
  if (plain) {
    std::memcpy(to, data, made.bytes());
  } else {
    ForeignArray strided = *this;
    if (strides.empty()) strided.strides = row_strides(shape, size_of(dtype));
    copy_axis(strided, 0, data, to);
  }
  return made;
}

namespace {

std::optional<ForeignArray> array_of_buffer(nb::handle object, int flags, std::string* why) {
  if (!PyObject_CheckBuffer(object.ptr())) return std::nullopt;
  Held held = Held::of(object, flags);
  if (!held.view) return std::nullopt;
  const Py_buffer& view = *held.view;
  ForeignArray array;
  // Exporters may omit defaults: bytes, in one dimension, contiguous.
  const std::string_view letters = view.format ? view.format : "B";
  const auto refuse = [&](std::string clause) {
    if (why) *why = std::move(clause);
    return std::nullopt;
  };
  if (view.itemsize <= 0 || view.len < 0 || view.ndim < 0) return refuse(format("its elements have {} bytes", view.itemsize));
  if (view.ndim > static_cast<int>(kMaxRank))
    throw InvalidArgument("an array has {} dimensions, at most {} are possible", view.ndim, kMaxRank);
  const bool bare = view.ndim > 0 && !view.shape;
  if (bare && view.ndim > 1) return refuse("it does not say its shape");
  const Py_ssize_t size = bare && !view.format ? 1 : view.itemsize;
  array.dtype = dtype_of_format(letters, static_cast<size_t>(size), array.swapped);
  if (array.dtype == DType::undefined) return refuse(format("its elements have the format \"{}\" and {} bytes", letters, size));
  if (letters == "B" && view.ndim == 1 && size == 1 && is_something_else(object)) return refuse("its bytes are no numbers");
  int64_t elements = 1;
  for (int i = 0; i < view.ndim; ++i) {
    const int64_t dim = bare ? view.len / size : view.shape[i];
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements)) return refuse("its shape cannot be");
    array.shape.push_back(dim);
  }
  if (view.strides && !bare) {
    if (!is_row_by_row(array.shape, view.strides, array.shape.rank(), static_cast<size_t>(size)))
      array.strides.assign(view.strides, view.strides + view.ndim);
  } else if (elements > view.len / size) {
    return refuse(format("its shape {} takes more than its {} bytes", array.shape, view.len));
  }
  if (view.suboffsets) array.suboffsets.assign(view.suboffsets, view.suboffsets + view.ndim);
  array.data = static_cast<const char*>(view.buf);
  array.owner = std::move(held).owner();
  return array;
}

}  // namespace

std::optional<ForeignArray> array_of_buffer(nb::handle object, std::string* why) { return array_of_buffer(object, PyBUF_FULL_RO, why); }
std::optional<ForeignArray> writable_array_of_buffer(nb::handle object) { return array_of_buffer(object, PyBUF_FULL, nullptr); }

DType dlpack::dtype_of(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  if (type.lanes != 1) return DType::undefined;
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::i16, DType::i8, DType::u64, DType::u32, DType::u16, DType::u8})
    if (size_of(dtype) * 8 == type.bits && (is_float(dtype)    ? code == Code::Float
                                            : is_signed(dtype) ? code == Code::Int
                                                               : code == Code::UInt))
      return dtype;
  if (code == Code::Bool && type.bits == 8) return DType::boolean;
  if (code == Code::Bfloat && type.bits == 16) return DType::bf16;
  if (code == Code::Complex) return type.bits == 64 ? DType::complex64 : type.bits == 128 ? DType::complex128 : DType::undefined;
  return DType::undefined;
}

std::optional<ForeignArray> array_of_dlpack(nb::handle object) {
  using Array = nb::ndarray<nb::ro, nb::device::cpu>;
  nb::object capsule;
  if (PyCapsule_CheckExact(object.ptr())) {
    capsule = nb::borrow(object);
  } else {
    if (!nb::hasattr(object, "__dlpack__")) return std::nullopt;
    // Only capsules of version 1 support read-only memory, but older exporters do not know them.
    for (const bool versioned : {false, true}) {
      try {
        const nb::object exporter = object.attr("__dlpack__");
        capsule = versioned ? exporter(nb::arg("max_version") = nb::make_tuple(1, 0)) : exporter();
        break;
      } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C
      }
    }
    if (!capsule.is_valid() || !PyCapsule_CheckExact(capsule.ptr())) return std::nullopt;
  }
  Array found;
  if (!nb::try_cast(capsule, found, false)) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (found.ndim() > kMaxRank) throw InvalidArgument("an array has {} dimensions, at most {} are possible", found.ndim(), kMaxRank);
  ForeignArray array;
  array.dtype = dlpack::dtype_of(found.dtype());
  if (array.dtype == DType::undefined) return std::nullopt;
  for (size_t i = 0; i < found.ndim(); ++i) {
    array.shape.push_back(static_cast<int64_t>(found.shape(i)));
    array.strides.push_back(found.stride(i) * static_cast<int64_t>(size_of(array.dtype)));
  }
  array.data = static_cast<const char*>(found.data());
  array.owner = keep(std::move(found));
  return array;
}

Tensor bytes_of_buffer(nb::handle object) {
  if (is_var(object)) {
    const Tensor& tensor = computed(var_of(object));
    return Tensor(DType::u8, Shape{static_cast<int64_t>(tensor.bytes())}, tensor.data(), tensor.owner());
  }
  if (!PyObject_CheckBuffer(object.ptr())) throw TypeFault("bytes are expected, not {} ({})", shown(object), kind_name(object));
  Held held = Held::of(object, PyBUF_SIMPLE);
  if (!held.view) throw TypeFault("the memory of {} ({}) is not in one piece", shown(object), kind_name(object));
  const Shape shape{static_cast<int64_t>(held.view->len)};
  const void* data = held.view->buf;
  return Tensor(DType::u8, shape, data, std::move(held).owner());
}

}  // namespace minnow::python
