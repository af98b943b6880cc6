// SPDX-License-Identifier: Apache-2.0
// Bytes of a file or an archive together with their owner.
#pragma once
#include <minnow/tensor.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace minnow {

/// A span and the object that keeps it alive. File readers make tensors only from this type: a tensor shares the owner of exactly the bytes
/// to which it points, so it cannot outlive them.
class SharedBytes {
 public:
  SharedBytes() = default;
  /// `owner` keeps `bytes` alive. Where it is null only the caller does, and tensors copy.
  SharedBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}
  /// Takes the bytes over.
  explicit SharedBytes(std::vector<std::byte> bytes);

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  const std::byte* data() const noexcept { return bytes_.data(); }
  size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  bool has_owner() const noexcept { return owner_ != nullptr; }
  /// A part of the bytes with the same owner. Bytes that do not lie inside get no owner.
  SharedBytes part(std::span<const std::byte> inside) const;
  SharedBytes part(size_t offset, size_t count) const { return part(bytes_.subspan(offset, count)); }

  /// True if tensor() shares the bytes: they have an owner and are aligned for the dtype. Otherwise it copies them.
  bool can_share(DType dtype) const noexcept;
  /// The first elements.size() * size_of(dtype) bytes as a tensor. The bytes must be as many, and valid elements.
  Tensor tensor(DType dtype, const Shape& shape) const;

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace minnow
