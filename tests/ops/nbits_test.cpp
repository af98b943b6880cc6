// SPDX-License-Identifier: Apache-2.0
// minnow.DequantizeNBits and minnow.MatMulNBits: numbers by hand, and the two composed forms.
#include <gmock/gmock.h>

#include "graph/nbits.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Attributes form(int64_t depth, int64_t bits, int64_t block) { return {{"K", depth}, {"bits", bits}, {"block_size", block}}; }

/// `count` bytes that look random.
Tensor bytes(const Shape& shape, unsigned seed) {
  Tensor tensor(DType::u8, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = uint8_t((unsigned(i) + seed) * 2654435761U >> 13);
  return tensor;
}

TEST(NBits, numbers_form_a_stream_of_bits_with_the_lowest_first) {
  for (int64_t bits = 2; bits <= 8; ++bits) {
    const NBits form{32, bits, 32};
    uint8_t stream[33] = {};
    for (int i = 0; i < 32; ++i) form.set_number(stream, size_t(i), i * 37 % (1 << bits));
    EXPECT_EQ(stream[form.bytes()], 0) << bits;
    for (int i = 0; i < 32; ++i) EXPECT_EQ(form.number(stream, size_t(i)), i * 37 % (1 << bits)) << bits << " bits, number " << i;
  }
  const uint8_t three[] = {0b10'001'000, 0b1'100'011'0, 0b111'110'10};  // 0 to 7, from the right
  for (int i = 0; i < 8; ++i) EXPECT_EQ((NBits{32, 3, 32}.number(three, size_t(i))), i);
}

TEST(DequantizeNBits, four_bits_with_and_without_zero_points) {
  Tensor b(DType::u8, {2, 1, 8});
  for (int i = 0; i < 16; ++i) b.writable().data<uint8_t>()[i] = uint8_t(i < 8 ? i * 16 + 15 - i : 0x2f);
  const Tensor scales = tensor(DType::f32, {2, 1}, {0.5, 2});
  // Low halves first: 15 0 14 1 13 2 ...; the zero point is 8.
  EXPECT_TRUE(near(run_operator("minnow.DequantizeNBits", {b, scales}, form(4, 4, 16))[0], {2, 4}, {3.5, -4, 3, -3.5, 14, -12, 14, -12}));
  EXPECT_TRUE(near(run_operator("minnow.DequantizeNBits", {b, scales, tensor(DType::u8, {2, 1}, {3, 1})}, form(4, 4, 16))[0], {2, 4},
                   {6, -1.5, 5.5, -1, 28, 2, 28, 2}));
  EXPECT_TRUE(near(run_operator("minnow.DequantizeNBits", {b, scales, tensor(DType::f32, {2, 1}, {2.5, 0})}, form(3, 4, 16))[0], {2, 3},
                   {6.25, -1.25, 5.75, 30, 4, 30}));
}

TEST(DequantizeNBits, g_idx_names_the_block_of_each_number) {
  Tensor b(DType::u8, {1, 2, 16});
  for (int i = 0; i < 32; ++i) b.writable().data<uint8_t>()[i] = uint8_t(128 + i);
  std::vector<double> blocks(18), expected(18);
  for (int i = 0; i < 18; ++i) blocks[size_t(i)] = i % 2, expected[size_t(i)] = i * (i % 2 ? 10 : 1);
  const Tensor scales = tensor(DType::f32, {1, 2}, {1, 10});
  EXPECT_TRUE(near(run_operator("minnow.DequantizeNBits", {b, scales, {}, tensor(DType::i32, {18}, blocks)}, form(18, 8, 16))[0], {1, 18},
                   expected));
  blocks[3] = 2;
  EXPECT_THAT(error_of("minnow.DequantizeNBits", {b, scales, {}, tensor(DType::i32, {18}, blocks)}, form(18, 8, 16)),
              HasSubstr("g_idx names block 2 of 2"));
}

TEST(MatMulNBits, multiplies_what_DequantizeNBits_gives) {
  for (int64_t bits = 2; bits <= 8; ++bits)
    for (const bool zeros : {false, true}) {
      const Tensor b = bytes({5, 3, 2 * bits}, 7), scales = pattern({5, 3}, 5), z = zeros ? bytes({5, (3 * bits + 7) / 8}, 9) : Tensor();
      const Attributes of = form(40, bits, 16);
      const Tensor w = run_operator("minnow.DequantizeNBits", {b, scales, z}, of)[0], a = pattern({2, 3, 40}), bias = pattern({5}, 3);
      const Tensor product = run_operator("MatMul", {a, run_operator("Transpose", {w}, {{"perm", Ints{1, 0}}})[0]})[0];
      Attributes with_columns = of;
      with_columns.set("N", int64_t{5});
      const Tensor y = run_decomposition("minnow.MatMulNBits", {a, b, scales, z, {}, bias}, with_columns)[0];
      EXPECT_TRUE(near(y, {2, 3, 5}, numbers(run_operator("Add", {product, bias})[0]))) << bits;
      // The composed form in ONNX's operators.
      EXPECT_TRUE(near(run_decomposition("minnow.DequantizeNBits", {b, scales, z}, of)[0], {5, 40}, numbers(w))) << bits;
    }
}

TEST(MatMulNBits, errors_name_the_input) {
  const auto error = [](const Shape& b, const Shape& scales, Attributes of, const Shape& a = {2, 40}, const Tensor& zeros = {}) {
    of.set("N", int64_t{5});
    return error_of("minnow.MatMulNBits", {pattern(a), bytes(b, 1), pattern(scales), zeros}, of);
  };
  EXPECT_THAT(error({5, 3, 7}, {5, 3}, form(40, 4, 16)), HasSubstr("should have shape [5, 3, 8], it has shape [5, 3, 7]"));
  EXPECT_THAT(error({5, 3, 8}, {5, 2}, form(40, 4, 16)), HasSubstr("should have shape [5, 3], it has shape [5, 2]"));
  EXPECT_THAT(error({5, 3, 8}, {5, 3}, form(40, 4, 16), {2, 40}, bytes({5, 3}, 1)), HasSubstr("should have shape [5, 2]"));
  EXPECT_THAT(error({4, 3, 8}, {4, 3}, form(40, 4, 16)), HasSubstr("B should hold N (5) rows"));
  EXPECT_THAT(error({5, 3, 8}, {5, 3}, form(40, 4, 16), {2, 41}), HasSubstr("the last dimension of A should be K (40)"));
  EXPECT_THAT(error({5, 3, 8}, {5, 3}, form(40, 9, 16)), HasSubstr("bits: 9 is not from 2 to 8"));
  EXPECT_THAT(error({5, 3, 8}, {5, 3}, form(40, 4, 24)), HasSubstr("block_size: 24 is no power of two"));
}

}  // namespace
}  // namespace minnow::test
