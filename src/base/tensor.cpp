// SPDX-License-Identifier: Apache-2.0
#include <minnow/tensor.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

namespace minnow {
namespace {

struct DTypeRow {
  std::string_view name, numpy_name;
  uint8_t bits, bytes;
  char kind;  // f floating, i signed, u unsigned, b bool, - other
};

constexpr DTypeRow kRows[] = {
    {"undefined", "", 0, 0, '-'},
    {"f32", "float32", 32, 4, 'f'},
    {"u8", "uint8", 8, 1, 'u'},
    {"i8", "int8", 8, 1, 'i'},
    {"u16", "uint16", 16, 2, 'u'},
    {"i16", "int16", 16, 2, 'i'},
    {"i32", "int32", 32, 4, 'i'},
    {"i64", "int64", 64, 8, 'i'},
    {"string", "str", 0, 0, '-'},
    {"bool", "bool", 8, 1, 'b'},
    {"f16", "float16", 16, 2, 'f'},
    {"f64", "float64", 64, 8, 'f'},
    {"u32", "uint32", 32, 4, 'u'},
    {"u64", "uint64", 64, 8, 'u'},
    {"complex64", "complex64", 64, 8, '-'},
    {"complex128", "complex128", 128, 16, '-'},
    {"bf16", "bfloat16", 16, 2, 'f'},
    {"f8e4m3fn", "float8_e4m3fn", 8, 1, 'f'},
    {"f8e4m3fnuz", "float8_e4m3fnuz", 8, 1, 'f'},
    {"f8e5m2", "float8_e5m2", 8, 1, 'f'},
    {"f8e5m2fnuz", "float8_e5m2fnuz", 8, 1, 'f'},
    {"u4", "uint4", 4, 1, 'u'},
    {"i4", "int4", 4, 1, 'i'},
    {"f4e2m1", "float4_e2m1fn", 4, 1, 'f'},
    {"f8e8m0", "float8_e8m0fnu", 8, 1, 'f'},
    {"u2", "uint2", 2, 1, 'u'},
    {"i2", "int2", 2, 1, 'i'},
};

const DTypeRow& row(DType dtype) noexcept {
  const size_t index = static_cast<size_t>(dtype);
  return kRows[index < std::size(kRows) ? index : 0];
}

}  // namespace

size_t size_of(DType dtype) noexcept { return row(dtype).bytes; }
size_t bits_of(DType dtype) noexcept { return row(dtype).bits; }
std::string_view name_of(DType dtype) noexcept { return row(dtype).name; }
bool is_float(DType dtype) noexcept { return row(dtype).kind == 'f'; }
bool is_signed(DType dtype) noexcept { return row(dtype).kind == 'i'; }
bool is_unsigned(DType dtype) noexcept { return row(dtype).kind == 'u'; }

DType dtype_from_name(std::string_view name) noexcept {
  for (size_t i = 1; i < std::size(kRows); ++i)
    if (kRows[i].name == name || kRows[i].numpy_name == name) return static_cast<DType>(i);
  return DType::undefined;
}

void Shape::copy(const Shape& other) noexcept {
  rank_ = other.rank_;
  for (size_t i = 0; i < rank_; ++i) dims_[i] = other.dims_[i];
}

void Shape::throw_rank(size_t rank) { throw InvalidArgument("a tensor of rank {} was met; ranks go up to {}", rank, kMaxRank); }

void Shape::insert(size_t axis, int64_t dim) {
  push_back(dim);
  for (size_t i = rank_ - 1; i > axis; --i) dims_[i] = dims_[i - 1];
  dims_[axis] = dim;
}

void Shape::erase(size_t axis) {
  for (size_t i = axis; i + 1 < rank_; ++i) dims_[i] = dims_[i + 1];
  --rank_;
}

int64_t Shape::elements() const {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : *this) {
    if (dim < 0) throw InvalidArgument("shape {} has a negative dimension", to_string(*this));
    empty = empty || dim == 0;
    // The other dimensions of an empty shape count too, so that the product of any dimensions can be relied on.
    if (dim != 0 && __builtin_mul_overflow(count, dim, &count))
      throw InvalidArgument("shape {} has more elements than memory can hold", to_string(*this));
  }
  if (!empty && count > kMostElements) throw InvalidArgument("shape {} has more elements than memory can hold", to_string(*this));
  return empty ? 0 : count;
}

std::string to_string(const Shape& shape) { return format("{}", shape.dims()); }

Tensor::Tensor(DType dtype, const Shape& shape) : allocated_(true) {
  if (dtype == DType::string) throw Unsupported("a tensor cannot hold strings; there are bool, integers and floating types");
  const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
  auto memory = allocate_shared(bytes);
  std::memset(memory.get(), 0, bytes);
  view_ = TensorView(dtype, shape, memory.get());
  owner_ = std::move(memory);
}

Tensor::Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner)
    : view_(dtype, shape, data), owner_(std::move(owner)) {}

Tensor::Tensor(const TensorView& view) : allocated_(true) {
  const size_t bytes = view.bytes();
  auto memory = allocate_shared(bytes);
  if (bytes) std::memcpy(memory.get(), view.data(), bytes);
  view_ = TensorView(view.dtype(), view.shape(), memory.get());
  owner_ = std::move(memory);
}

Tensor Tensor::of_f32(const Shape& shape, std::span<const float> values) {
  if (shape.elements() != static_cast<int64_t>(values.size()))
    throw InvalidArgument("shape {} wants {} values, {} were given", to_string(shape), shape.elements(), values.size());
  return Tensor(TensorView(DType::f32, shape, values.data()));
}

Tensor Tensor::of_i64(const Shape& shape, std::span<const int64_t> values) {
  if (shape.elements() != static_cast<int64_t>(values.size()))
    throw InvalidArgument("shape {} wants {} values, {} were given", to_string(shape), shape.elements(), values.size());
  return Tensor(TensorView(DType::i64, shape, values.data()));
}

MutableTensorView Tensor::writable() {
  const bool ours = allocated_ || std::get_deleter<AlignedFree>(owner_);  // memory of a tensor's, or a picture's
  if (!ours || owner_.use_count() != 1) throw InvalidArgument("a tensor that shares its memory cannot be written; clone() it first");
  return MutableTensorView(dtype(), shape(), const_cast<void*>(data()));
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.elements() != elements())
    throw InvalidArgument("a tensor of shape {} cannot take shape {}", to_string(this->shape()), to_string(shape));
  Tensor result = *this;
  result.view_ = TensorView(dtype(), shape, data());
  return result;
}

Datum::Datum(const Datum& other) = default;
Datum::Datum(Datum&& other) noexcept = default;
Datum& Datum::operator=(const Datum& other) = default;
Datum& Datum::operator=(Datum&& other) noexcept = default;
Datum::~Datum() = default;

}  // namespace minnow
