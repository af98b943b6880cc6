// SPDX-License-Identifier: Apache-2.0
// Memory of other objects: the buffer protocol and DLPack.
#pragma once
#include "binding.h"

namespace minnow::python {

/// Elements in memory that another object owns.
struct ForeignArray {
  DType dtype = DType::undefined;
  Shape shape;
  std::vector<int64_t> strides;     // in bytes; empty: row by row
  std::vector<int64_t> suboffsets;  // as in the buffer protocol; empty if no axis goes through pointers
  const char* data = nullptr;
  bool swapped = false;               // elements are in the other byte order
  std::shared_ptr<const void> owner;  // keeps the memory

  /// Row by row, aligned and in this machine's byte order: a tensor may lie on it.
  bool is_plain() const noexcept;
  /// A tensor that shares the memory if `sharing` allows it and the array is plain, else a copy. Throws InvalidArgument.
  Tensor tensor(Sharing sharing) const;
};

/// The array that an object exports by the buffer protocol. Empty if it exports none, or one whose elements are not numbers; then `why`, if
/// not null, gets a clause that says so. Leaves no Python error set.
std::optional<ForeignArray> array_of_buffer(nb::handle object, std::string* why = nullptr);
/// The same of memory that may be written; nothing of memory that is for reading.
std::optional<ForeignArray> writable_array_of_buffer(nb::handle object);
/// The same by DLPack, from memory of the CPU. Objects whose __dlpack__ fails give nothing.
std::optional<ForeignArray> array_of_dlpack(nb::handle object);
/// The bytes of an object with the buffer protocol, whatever its elements are. Throws TypeFault for other objects and for memory with gaps.
Tensor bytes_of_buffer(nb::handle object);

/// A look at an object's memory by the buffer protocol, with the GIL: it ends where this ends.
class BufferView {
 public:
  /// Empty if the object exports no such buffer; leaves no Python error set.
  BufferView(nb::handle object, int flags);
  ~BufferView() {
    if (open_) PyBuffer_Release(&view_);
  }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  const Py_buffer* get() const noexcept { return open_ ? &view_ : nullptr; }
  /// Undefined if its elements are not numbers in this machine's byte order.
  DType dtype() const noexcept;

 private:
  Py_buffer view_;
  bool open_;
};

/// Keeps a Python object, or whatever else is released under the GIL, as long as a tensor lives. The last tensor may go on any thread, and
/// after the interpreter.
template <class T>
std::shared_ptr<const void> keep(T kept) {
  return std::shared_ptr<const void>(new T(std::move(kept)), [](const T* held) {
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire acquire;
    delete held;
  });
}

}  // namespace minnow::python
