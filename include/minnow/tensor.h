// SPDX-License-Identifier: Apache-2.0
// Element types, shapes, and tensors: views of memory that somebody else owns, and tensors that own theirs.
#pragma once
#include <minnow/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minnow {

/// Element types. The numbers are those of ONNX's TensorProto.DataType, so that a table between the two is not needed.
enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  complex64 = 14,
  complex128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};

/// Bytes that one element takes in memory; types of less than a byte take one. 0 for undefined and string.
MINNOW_API size_t size_of(DType dtype) noexcept;
/// Bits that one element takes in a file: 4 for i4, u4 and f4e2m1, 2 for i2 and u2, else 8 * size_of.
MINNOW_API size_t bits_of(DType dtype) noexcept;
/// "f32", "i64", "bool", ... as printed everywhere.
MINNOW_API std::string_view name_of(DType dtype) noexcept;
/// The dtype of that name, also NumPy's ("float32", "int64"), or undefined.
MINNOW_API DType dtype_from_name(std::string_view name) noexcept;
MINNOW_API bool is_float(DType dtype) noexcept;     // every floating type, the 8- and 4-bit ones included
MINNOW_API bool is_signed(DType dtype) noexcept;    // signed integers
MINNOW_API bool is_unsigned(DType dtype) noexcept;  // unsigned integers, without bool
inline bool is_integer(DType dtype) noexcept { return is_signed(dtype) || is_unsigned(dtype); }
inline std::string to_string(DType dtype) { return std::string(name_of(dtype)); }

inline constexpr size_t kMaxRank = 32;

/// The dimensions of a tensor: up to kMaxRank of them, held in place. A copy takes as long as there are dimensions.
class Shape {
 public:
  constexpr Shape() noexcept : rank_(0) { clear(); }
  constexpr Shape(const Shape& other) noexcept { assign(other); }
  constexpr Shape& operator=(const Shape& other) noexcept {
    assign(other);
    return *this;
  }
  constexpr ~Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  constexpr Shape(const std::vector<int64_t>& dims) : Shape(std::span<const int64_t>(dims)) {}
  constexpr Shape(std::span<const int64_t> dims) : rank_(0) {
    clear();
    if (dims.size() > kMaxRank) throw_rank(dims.size());
    for (int64_t dim : dims) dims_[rank_++] = dim;
  }
  static Shape filled(size_t rank, int64_t dim) {
    Shape shape;
    for (size_t i = 0; i < rank; ++i) shape.push_back(dim);
    return shape;
  }

  constexpr size_t rank() const noexcept { return rank_; }
  constexpr size_t size() const noexcept { return rank_; }
  constexpr bool empty() const noexcept { return rank_ == 0; }
  constexpr int64_t operator[](size_t axis) const noexcept { return dims_[axis]; }
  constexpr int64_t& operator[](size_t axis) noexcept { return dims_[axis]; }
  constexpr int64_t back() const noexcept { return dims_[rank_ - 1]; }
  constexpr const int64_t* begin() const noexcept { return dims_.data(); }
  constexpr const int64_t* end() const noexcept { return dims_.data() + rank_; }
  constexpr int64_t* begin() noexcept { return dims_.data(); }
  constexpr int64_t* end() noexcept { return dims_.data() + rank_; }
  constexpr std::span<const int64_t> dims() const noexcept { return {dims_.data(), rank_}; }
  void push_back(int64_t dim) {
    if (rank_ == kMaxRank) throw_rank(rank_ + 1);
    dims_[rank_++] = dim;
  }
  void insert(size_t axis, int64_t dim);
  void erase(size_t axis);

  /// Number of elements; 1 for rank 0. Throws InvalidArgument if it does not fit 62 bits.
  MINNOW_API int64_t elements() const;
  /// Product of the dimensions [from, to).
  int64_t product(size_t from, size_t to) const noexcept {
    int64_t p = 1;
    for (size_t i = from; i < to; ++i) p *= dims_[i];
    return p;
  }
  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (size_t i = 0; i < a.rank_; ++i)
      if (a.dims_[i] != b.dims_[i]) return false;
    return true;
  }

 private:
  [[noreturn]] MINNOW_API static void throw_rank(size_t rank);
  MINNOW_API void copy(const Shape& other) noexcept;
  constexpr void clear() noexcept {
    if (std::is_constant_evaluated()) dims_.fill(0);  // a constant has no entries without a value
  }
  constexpr void assign(const Shape& other) noexcept {
    if (std::is_constant_evaluated())
      rank_ = other.rank_, dims_ = other.dims_;
    else
      copy(other);
  }
  size_t rank_;
  std::array<int64_t, kMaxRank> dims_;  // undefined beyond the rank
};

/// "[1, 3, 224, 224]"
MINNOW_API std::string to_string(const Shape& shape);

/// A dense row-major tensor in memory that somebody else owns.
class TensorView {
 public:
  TensorView() = default;
  TensorView(DType dtype, const Shape& shape, const void* data) : dtype_(dtype), shape_(shape), data_(data) {}
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  size_t rank() const noexcept { return shape_.rank(); }
  int64_t dim(size_t axis) const noexcept { return shape_[axis]; }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return static_cast<size_t>(shape_.elements()) * size_of(dtype_); }
  const void* data() const noexcept { return data_; }
  template <class T>
  const T* data() const noexcept {
    return static_cast<const T*>(data_);
  }
  explicit operator bool() const noexcept { return dtype_ != DType::undefined; }

 protected:
  DType dtype_ = DType::undefined;
  Shape shape_;
  const void* data_ = nullptr;
};

/// The same, where the elements may be written.
class MutableTensorView : public TensorView {
 public:
  MutableTensorView() = default;
  MutableTensorView(DType dtype, const Shape& shape, void* data) : TensorView(dtype, shape, data) {}
  void* data() const noexcept { return const_cast<void*>(data_); }
  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(data());
  }
};

/// A tensor that owns its elements, or shares them with others. Copying shares; clone() copies the elements.
class MINNOW_API Tensor {
 public:
  Tensor() = default;
  /// Zeroed memory, aligned to 64 bytes. Throws OutOfMemory, InvalidArgument for a negative dimension.
  Tensor(DType dtype, const Shape& shape);
  /// Shares memory that `owner` keeps alive (a mapped file, another tensor); with an empty owner the caller keeps it alive.
  Tensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner);
  /// A copy of the elements of a view.
  explicit Tensor(const TensorView& view);
  static Tensor of_f32(const Shape& shape, std::span<const float> values);
  static Tensor of_i64(const Shape& shape, std::span<const int64_t> values);
  static Tensor scalar_f32(float value) { return of_f32({}, std::span<const float>(&value, 1)); }
  static Tensor scalar_i64(int64_t value) { return of_i64({}, std::span<const int64_t>(&value, 1)); }

  DType dtype() const noexcept { return view_.dtype(); }
  const Shape& shape() const noexcept { return view_.shape(); }
  int64_t elements() const { return view_.elements(); }
  size_t bytes() const { return view_.bytes(); }
  const void* data() const noexcept { return view_.data(); }
  template <class T>
  const T* data() const noexcept {
    return view_.data<T>();
  }
  const TensorView& view() const noexcept { return view_; }
  operator const TensorView&() const noexcept { return view_; }
  explicit operator bool() const noexcept { return static_cast<bool>(view_); }
  /// The elements for writing. Only for memory that this object allocated and shares with nobody, else throws InvalidArgument.
  MutableTensorView writable();
  Tensor clone() const { return Tensor(view_); }
  /// The same elements under another shape of as many elements.
  Tensor reshaped(const Shape& shape) const;
  const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

 private:
  TensorView view_;
  std::shared_ptr<const void> owner_;
  bool allocated_ = false;
};

/// A graph value at run time: a tensor, a sequence of tensors, or an empty optional.
struct MINNOW_API Datum {
  enum class Kind : uint8_t { none, tensor, sequence };
  Kind kind = Kind::none;
  Tensor tensor;                     // kind tensor
  std::vector<Datum> items;          // kind sequence
  DType element = DType::undefined;  // kind sequence: dtype of the tensors, also if there are none

  Datum() = default;
  Datum(Tensor value) : kind(Kind::tensor), tensor(std::move(value)) {}
  Datum(const Datum& other);
  Datum(Datum&& other) noexcept;
  Datum& operator=(const Datum& other);
  Datum& operator=(Datum&& other) noexcept;
  ~Datum();
  static Datum sequence(DType element, std::vector<Datum> items) {
    Datum datum;
    datum.kind = Kind::sequence;
    datum.element = element;
    datum.items = std::move(items);
    return datum;
  }
};

}  // namespace minnow
