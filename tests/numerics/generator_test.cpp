// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/numerics.h>

#include "base/numeric.h"
#include "numerics/draws.h"
#include "numerics/numpy_answers.h"

namespace minnow::numerics {
namespace {

template <class T>
std::vector<T> elements(const Tensor& x) {
  return {x.data<T>(), x.data<T>() + x.elements()};
}
std::vector<int64_t> widened(const Tensor& x) {
  std::vector<int64_t> values(static_cast<size_t>(x.elements()));
  widen(x.dtype(), x.data(), values.size(), values.data());
  return values;
}
Pcg64 seeded() {
  const std::vector<uint32_t> state = SeedSequence(std::vector<uint32_t>{static_cast<uint32_t>(answers::kSeed)}, 4).generate(8);
  Pcg64 bits;
  std::array<uint64_t, 4> words;
  for (size_t i = 0; i < 4; ++i) words[i] = static_cast<uint64_t>(state[2 * i + 1]) << 32 | state[2 * i];
  bits.seed(words);
  return bits;
}

TEST(Generator, draws_the_numbers_of_numpy) {
  for (const answers::Draws& row : answers::kDraws) {
    SCOPED_TRACE(testing::Message() << row.name << " " << testing::PrintToString(row.parameters));
    const Tensor found = Generator(answers::kSeed).draw(row.name, {answers::kCount}, row.parameters);
    for (size_t i = 0; i < row.values.size(); ++i) {
      const double value = found.dtype() == DType::i64 ? static_cast<double>(found.data<int64_t>()[i]) : found.data<double>()[i];
      EXPECT_NEAR(value, row.values[i], 1e-14 * std::abs(row.values[i])) << i;  // the C library's functions may differ in the last bit
    }
  }
}

TEST(Generator, draws_the_floats_of_numpy) {
  for (const answers::Draws& row : answers::kSingle) {
    SCOPED_TRACE(row.name);
    const Tensor found = Generator(answers::kSeed).draw(row.name, {answers::kCount}, row.parameters, DType::f32);
    ASSERT_EQ(found.dtype(), DType::f32);
    for (size_t i = 0; i < row.values.size(); ++i) EXPECT_NEAR(found.data<float>()[i], row.values[i], 1e-6 * std::abs(row.values[i])) << i;
  }
}

TEST(Generator, draws_the_integers_of_numpy) {
  for (const answers::Integers& row : answers::kIntegers) {
    SCOPED_TRACE(testing::Message() << name_of(row.dtype) << " from " << row.low << " to " << row.high);
    const Tensor found = Generator(answers::kSeed).integers(row.low, row.high, {answers::kCount}, row.dtype);
    EXPECT_EQ(found.dtype(), row.dtype);
    EXPECT_EQ(widened(found), row.values);
  }
}

TEST(Generator, orders_and_seeds_are_those_of_numpy) {
  EXPECT_EQ(elements<int64_t>(Generator(answers::kSeed).permutation(12)), answers::kPermutation);
  EXPECT_EQ(elements<double>(Generator((uint64_t{1} << 40) + 3).draw("random", {3})), answers::kWideSeed);
  Pcg64 bits = seeded();
  EXPECT_EQ(elements<int64_t>(different(bits, 1000, 6, true)), answers::kChosen);
  bits = seeded();
  const std::vector<int64_t> order = elements<int64_t>(shuffled(bits, 20000, 19000, true));
  EXPECT_EQ(std::vector<int64_t>(order.begin() + 19000, order.begin() + 19006), answers::kChosenOfMany);
}

TEST(Generator, counts_of_classes_are_those_of_numpy) {
  Pcg64 bits = seeded();
  const int64_t trials = 50;
  const double chances[] = {0.2, 0.3, 0.1, 0.4};
  EXPECT_EQ(elements<int64_t>(multinomial(bits, {DType::i64, {}, &trials}, {DType::f64, {4}, chances}, {3, 4})), answers::kCounts);
}

TEST(Generator, the_old_stream_is_that_of_random_state) {
  Mt19937 bits;
  bits.seed(7);
  const std::vector<double> normal = elements<double>(gauss(bits, {3}));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(normal[i], answers::kOldNormal[i], 1e-15);
  EXPECT_EQ(elements<double>(draw(bits, "random", {3}, {}, false)), answers::kOldUniform);
  bits.seed(7);
  EXPECT_EQ(elements<int64_t>(masked_integers(bits, {4}, -5, 1004)), answers::kOldIntegers);
}

TEST(Generator, advancing_a_stream_skips_its_numbers) {
  Pcg64 one = seeded(), other = one;
  for (int i = 0; i < 1000; ++i) one.next64();
  other.advance(1000);
  EXPECT_EQ(one.next64(), other.next64());
}

TEST(Generator, shapes_follow_the_request) {
  Generator generator(1);
  EXPECT_EQ(generator.draw("normal", {2, 3, 4}, {0, 1}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(generator.draw("random", {}).elements(), 1);
  EXPECT_EQ(generator.draw("random", {3, 0}).elements(), 0);
  EXPECT_EQ(generator.permutation(0).elements(), 0);
  // One stream goes on: in two calls as in one.
  Generator again(5), once(5);
  const Tensor first = again.draw("random", {2}), second = again.draw("random", {2}), both = once.draw("random", {4});
  EXPECT_EQ(second.data<double>()[1], both.data<double>()[3]);
}

TEST(Generator, errors_name_what_a_distribution_takes) {
  Generator generator(1);
  const auto error = [&](const char* name, std::initializer_list<double> parameters, DType dtype = DType::undefined) -> std::string {
    try {
      generator.draw(name, {2}, parameters, dtype);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("norml", {}), "there is no distribution \"norml\"");
  EXPECT_EQ(error("normal", {1}), "normal takes 2 parameters, not 1");
  EXPECT_EQ(error("normal", {0, -1}), "the parameters of normal must satisfy scale >= 0");
  EXPECT_EQ(error("hypergeometric", {3, 4, 8}),
            "the parameters of hypergeometric must satisfy 0 <= ngood, nbad < 1e9 and nsample <= ngood + nbad");
  EXPECT_EQ(error("gamma", {NAN, 1}), "the parameters of gamma must satisfy shape >= 0 and scale >= 0");
  EXPECT_EQ(error("normal", {0, 1}, DType::f32), "normal has no numbers of f32");
  EXPECT_EQ(error("poisson", {1}, DType::f64), "numbers of poisson are i64, not f64");
  EXPECT_THROW(generator.integers(3, 3, {1}), Error);
  EXPECT_THROW(generator.integers(0, 257, {1}, DType::u8), Error);
  EXPECT_THROW(generator.integers(-1, 2, {1}, DType::u64), Error);
  EXPECT_THROW(generator.integers(0, 2, {1}, DType::f32), Error);
  EXPECT_THROW(generator.permutation(-1), Error);
  EXPECT_NO_THROW(generator.integers(0, 256, {1}, DType::u8));
}

}  // namespace
}  // namespace minnow::numerics
