// SPDX-License-Identifier: Apache-2.0
#include "base/shared_bytes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace minnow {
namespace {

std::vector<std::byte> floats(size_t count) {
  std::vector<std::byte> bytes(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

TEST(SharedBytes, a_tensor_keeps_the_bytes_alive_that_it_shares) {
  Tensor tensor;
  const void* in_place = nullptr;
  {
    const SharedBytes bytes(floats(100));
    in_place = bytes.data() + 8;
    tensor = bytes.part(8, 40).tensor(DType::f32, {10});
  }
  EXPECT_EQ(tensor.data(), in_place);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(tensor.data<float>()[i], static_cast<float>(i + 2));
}

TEST(SharedBytes, bytes_without_an_owner_and_unaligned_ones_are_copied) {
  const std::vector<std::byte> memory = floats(10);
  const SharedBytes borrowed(memory, nullptr), owned(floats(10));
  EXPECT_FALSE(borrowed.can_share(DType::f32));
  EXPECT_NE(borrowed.tensor(DType::f32, {10}).data(), memory.data());
  EXPECT_EQ(borrowed.tensor(DType::f32, {10}).data<float>()[9], 9);
  EXPECT_TRUE(owned.can_share(DType::f32));
  EXPECT_FALSE(owned.part(1, 8).can_share(DType::f32));
  EXPECT_TRUE(owned.part(1, 8).can_share(DType::u8));
  EXPECT_FALSE(owned.can_share(DType::undefined));
  EXPECT_FALSE(SharedBytes().can_share(DType::f32));
  EXPECT_EQ(SharedBytes().tensor(DType::f32, {0}).elements(), 0);
}

TEST(SharedBytes, bytes_that_lie_elsewhere_get_no_owner) {
  const std::vector<std::byte> elsewhere = floats(10);
  const SharedBytes owned(floats(10));
  EXPECT_TRUE(owned.part(owned.bytes().subspan(4)).has_owner());
  EXPECT_FALSE(owned.part(elsewhere).has_owner());
  EXPECT_FALSE(owned.part({owned.data() + 4, 40}).has_owner()) << "it ends behind the bytes";
}

}  // namespace
}  // namespace minnow
