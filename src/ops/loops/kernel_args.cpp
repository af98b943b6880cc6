// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_args.h"

#include <algorithm>

#include "base/numeric.h"

namespace minnow {

Ints row_major_strides(const Shape& shape) {
  Ints strides(shape.rank());
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

Ints broadcast_strides(const Shape& from, const Shape& to) {
  const Ints own = row_major_strides(from);
  Ints strides(to.rank(), 0);
  const size_t shift = to.rank() - from.rank();
  for (size_t i = 0; i < from.rank(); ++i) strides[shift + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

void for_each_index(const Shape& outer, FunctionRef<void(std::span<const int64_t>)> body) {
  if (outer.elements() == 0) return;
  std::array<int64_t, kMaxRank> index{};
  const size_t rank = outer.rank();
  constexpr size_t kWork = 64;  // of a body, at a guess
  for (Pace pace;; pace.step(kWork)) {
    body({index.data(), rank});
    size_t axis = rank;
    while (axis > 0 && ++index[axis - 1] == outer[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

void for_each_row(const Shape& from, const Shape& to, FunctionRef<void(size_t, size_t, size_t, size_t)> body) {
  if (to.elements() == 0) return;
  const Ints strides = broadcast_strides(from, to);
  const size_t length = to.empty() ? 1 : static_cast<size_t>(to.back()), step = to.empty() ? 0 : static_cast<size_t>(strides.back());
  size_t place = 0;
  for_each_index(to.empty() ? to : Shape(to.dims().first(to.rank() - 1)), [&](std::span<const int64_t> index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    body(place, length, static_cast<size_t>(at), step);
    place += length;
  });
}

void KernelArgs::fail_with(std::string_view pattern, std::span<const FormatArg> args) const {
  throw KernelFailure{node_->where() + ": " + format_args(pattern, args)};
}

MutableTensorView KernelArgs::allocate_output(size_t i, const Shape& shape) {
  Slot& slot = *outputs_[i];
  const DType dtype = node_->output(i).dtype;
  const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
  void* memory = slot.buffer;
  if (!memory || bytes > slot.capacity) {
    Tensor tensor(dtype, shape);
    memory = const_cast<void*>(tensor.data());
    slot.datum = Datum(std::move(tensor));
  }
  slot.view = TensorView(dtype, shape, memory);
  return MutableTensorView(dtype, shape, memory);
}

Datum KernelArgs::datum(size_t i) const {
  Slot& slot = *inputs_[i];
  if (node_->input(i).kind != ValueInfo::Kind::tensor) return slot.capacity ? std::move(slot.datum) : slot.datum;
  return Datum(Tensor(slot.view.dtype(), slot.view.shape(), slot.view.data(), nullptr));
}

void KernelArgs::set_output(size_t i, Datum value) {
  Slot& slot = *outputs_[i];
  // Later steps are planned for this kind and dtype. Only the run shows whether values out of subgraphs and sequences have them.
  const ValueInfo& info = node_->output(i);
  if (info.kind != ValueInfo::Kind::optional && (info.kind == ValueInfo::Kind::tensor) != (value.kind == Datum::Kind::tensor))
    fail("output {} should be a {}, it is not", i, info.kind == ValueInfo::Kind::tensor ? "tensor" : "sequence");
  if (value.kind == Datum::Kind::tensor && info.dtype != DType::undefined && value.tensor.dtype() != info.dtype)
    fail("output {} should be {}, it is {}", i, info.dtype, value.tensor.dtype());
  if (value.kind == Datum::Kind::tensor) {
    if (node_->output(i).kind == ValueInfo::Kind::tensor && node_->output(i).extent == ValueInfo::Extent::exact) {
      if (value.tensor.shape() != slot.view.shape() || value.tensor.dtype() != slot.view.dtype())
        fail("output {} is {}{}, {}{} was expected", i, value.tensor.dtype(), value.tensor.shape(), slot.view.dtype(), slot.view.shape());
      if (const size_t bytes = value.tensor.bytes()) std::memcpy(const_cast<void*>(slot.view.data()), value.tensor.data(), bytes);
      return;
    }
    if (!value.tensor.owner()) value.tensor = value.tensor.clone();
    slot.view = value.tensor.view();
  }
  slot.datum = std::move(value);
}

void KernelArgs::widen_all(size_t i, double* out) const {
  widen(input(i).dtype(), input(i).data(), static_cast<size_t>(input(i).elements()), out);
}
void KernelArgs::widen_all(size_t i, int64_t* out) const {
  widen(input(i).dtype(), input(i).data(), static_cast<size_t>(input(i).elements()), out);
}
Numbers<double> KernelArgs::reals(size_t i) const { return values<double>(i); }
Numbers<int64_t> KernelArgs::ints(size_t i) const { return values<int64_t>(i); }

void KernelArgs::write(size_t i, std::span<const double> values) const {
  narrow(output(i).dtype(), values.data(), values.size(), output(i).data());
}
void KernelArgs::write(size_t i, std::span<const int64_t> values) const {
  narrow(output(i).dtype(), values.data(), values.size(), output(i).data());
}
void KernelArgs::write(size_t i, std::span<const uint64_t> values) const {
  write(i, std::span<const int64_t>(reinterpret_cast<const int64_t*>(values.data()), values.size()));
}

namespace {

constexpr size_t kChunk = 512;

template <class T, class Row>
void unary(const TensorView& x, const MutableTensorView& y, Row row) {
  T in[kChunk], out[kChunk];
  const size_t count = static_cast<size_t>(y.elements());
  Pace pace;
  for (size_t start = 0; start < count; start += kChunk) {
    const size_t n = std::min(kChunk, count - start);
    pace.step(n);
    widen(x.dtype(), x.data<char>() + start * size_of(x.dtype()), n, in);
    row(in, out, n);
    narrow(y.dtype(), out, n, y.data<char>() + start * size_of(y.dtype()));
  }
}

template <class T>
void load_row(const TensorView& x, int64_t offset, int64_t stride, size_t n, T* out) {
  const char* at = x.data<char>() + static_cast<size_t>(offset) * size_of(x.dtype());
  if (stride == 0) {
    widen(x.dtype(), at, 1, out);
    std::fill(out + 1, out + n, out[0]);
  } else {
    widen(x.dtype(), at, n, out);
  }
}

template <class T, class Row>
void binary(const TensorView& a, const TensorView& b, const MutableTensorView& y, Row row) {
  Shape outer = y.shape();
  const size_t length = outer.empty() ? 1 : static_cast<size_t>(outer.back());
  const Ints sa = broadcast_strides(a.shape(), y.shape()), sb = broadcast_strides(b.shape(), y.shape());
  if (!outer.empty()) outer.erase(outer.rank() - 1);
  const int64_t la = sa.empty() ? 1 : sa.back(), lb = sb.empty() ? 1 : sb.back();
  T p[kChunk], q[kChunk], out[kChunk];
  char* to = y.data<char>();
  if (y.elements() == 0) return;
  Pace pace;
  for_each_index(outer, [&](std::span<const int64_t> index) {
    int64_t oa = 0, ob = 0;
    for (size_t i = 0; i < index.size(); ++i) oa += index[i] * sa[i], ob += index[i] * sb[i];
    for (size_t start = 0; start < length; start += kChunk) {
      const size_t n = std::min(kChunk, length - start);
      pace.step(n);
      load_row(a, oa + static_cast<int64_t>(start) * la, la, n, p);
      load_row(b, ob + static_cast<int64_t>(start) * lb, lb, n, q);
      row(p, q, out, n);
      narrow(y.dtype(), out, n, to);
      to += n * size_of(y.dtype());
    }
  });
}

}  // namespace

void KernelArgs::unary_rows(RealRow1 row) const { unary<double>(input(0), output(0), row); }
void KernelArgs::unary_rows(IntRow1 row) const { unary<int64_t>(input(0), output(0), row); }
void KernelArgs::binary_rows(size_t a, size_t b, RealRow2 row) const { binary<double>(input(a), input(b), output(0), row); }
void KernelArgs::binary_rows(size_t a, size_t b, IntRow2 row) const { binary<int64_t>(input(a), input(b), output(0), row); }

}  // namespace minnow
