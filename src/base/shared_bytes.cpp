// SPDX-License-Identifier: Apache-2.0
#include "base/shared_bytes.h"

#include "base/error.h"

namespace minnow {

SharedBytes::SharedBytes(std::vector<std::byte> bytes) {
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  bytes_ = *held;
  owner_ = held;
}

SharedBytes SharedBytes::part(std::span<const std::byte> inside) const {
  const auto begin = reinterpret_cast<uintptr_t>(bytes_.data()), at = reinterpret_cast<uintptr_t>(inside.data());
  const bool lies_inside = at >= begin && at - begin <= bytes_.size() && inside.size() <= bytes_.size() - (at - begin);
  return {inside, lies_inside ? owner_ : nullptr};
}

bool SharedBytes::can_share(DType dtype) const noexcept {
  return owner_ && !bytes_.empty() && size_of(dtype) != 0 && reinterpret_cast<uintptr_t>(bytes_.data()) % size_of(dtype) == 0;
}

Tensor SharedBytes::tensor(DType dtype, const Shape& shape) const {
  const TensorView view(dtype, shape, bytes_.data());
  MINNOW_CHECK(view.bytes() <= bytes_.size(), "a tensor has no more elements than its bytes");
  return can_share(dtype) && view.bytes() ? Tensor(dtype, shape, bytes_.data(), owner_) : Tensor(view);
}

}  // namespace minnow
