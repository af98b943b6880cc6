// SPDX-License-Identifier: Apache-2.0
#include "graph/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minnow::test {
namespace {

TEST(Size, arithmetic_of_numbers_gives_numbers_and_overflow_an_unknown) {
  EXPECT_TRUE((Size(3) + 4 - 2).is(5));
  EXPECT_TRUE((Size(3) * 4).is(12));
  EXPECT_TRUE(divide_down(7, 2).is(3));
  EXPECT_TRUE(divide_down(-7, 2).is(-4));
  EXPECT_TRUE(divide_up(7, 2).is(4));
  EXPECT_TRUE(divide_exactly(8, 2).is(4));
  EXPECT_TRUE(divide_exactly(7, 2).is_unknown());
  EXPECT_TRUE((Size(INT64_MAX) + 1).is_unknown());
  EXPECT_TRUE((Size(INT64_MIN) - 1).is_unknown());
  EXPECT_TRUE((Size(INT64_MAX) * 2).is_unknown());
  EXPECT_TRUE((Size::unknown() * 0).is(0));
  EXPECT_TRUE((Size::unknown() + 1).is_unknown());
}

TEST(Size, expressions_have_one_text) {
  SizeTable table;
  const Size n = table.symbol("n"), m = table.symbol("m");
  EXPECT_EQ(to_string(n), "n");
  EXPECT_EQ(to_string(n + m + n), "m + 2*n");
  EXPECT_EQ(to_string((n + 1) * (n - 1)), "n*n - 1");
  EXPECT_EQ(to_string(n * m - m * n), "0");
  EXPECT_EQ(to_string(divide_down(n + 5, 2)), "floor((n + 1)/2) + 2");
  EXPECT_EQ(to_string(divide_down(n * 4 + 1, 2)), "2*n");
  EXPECT_EQ(to_string(divide_exactly(n * m * 6, m * 2)), "3*n");
  EXPECT_TRUE(divide_exactly(n + 1, 2).is_unknown());
  EXPECT_TRUE(n.is_symbol());
  EXPECT_FALSE((n + 1).is_symbol());
  EXPECT_FALSE(divide_down(n, 2).is_symbol());
}

TEST(Size, comparisons_hold_for_all_values_of_the_symbols) {
  SizeTable table;
  const Size n = table.symbol("n"), m = table.symbol("m");
  EXPECT_TRUE(equal(n + m, m + n));
  EXPECT_FALSE(equal(n, m) || differ(n, m));
  EXPECT_FALSE(equal(n, 5) || differ(n, 5));
  EXPECT_TRUE(differ(n, -1));
  EXPECT_TRUE(differ(n, n + 1));
  EXPECT_TRUE(less(n, n + m + 1));
  EXPECT_FALSE(less(n, n + m));
  EXPECT_TRUE(less(-1, n));
  EXPECT_FALSE(less(-5, divide_down(n - 20, 3)));  // a floor may be negative
  EXPECT_FALSE(equal(Size::unknown(), Size::unknown()) || differ(Size::unknown(), Size::unknown()));
  EXPECT_TRUE(smaller(0, n).is(0));
  EXPECT_TRUE(equal(larger(n, n + m), n + m));
  EXPECT_TRUE(smaller(n, m).is_unknown());
  EXPECT_TRUE(leaves_rest(7, 2));
  EXPECT_FALSE(leaves_rest(n, 2));
}

TEST(Size, is_evaluated_for_values_of_its_symbols) {
  SizeTable table;
  const Size n = table.symbol("n"), m = table.symbol("m");
  const auto value_of = [](const std::string& name) -> int64_t { return name == "n" ? 7 : 3; };
  EXPECT_EQ(evaluate(n * m + 1, value_of), 22);
  EXPECT_EQ(evaluate(divide_down(n * 3 + 1, 4) * m, value_of), 15);
  EXPECT_EQ(evaluate(5, value_of), 5);
  EXPECT_EQ(evaluate(Size::unknown(), value_of), std::nullopt);
}

TEST(Size, long_expressions_become_unknown) {
  SizeTable table;
  Size sum = 0;
  for (int i = 0; i < 20; ++i) sum += table.symbol("symbol" + std::to_string(i));
  EXPECT_TRUE(sum.is_unknown());
}

TEST(Size, numbers_of_integers_that_wrap_around_make_no_expression) {
  SizeTable table;
  const Size n = table.symbol("n");
  EXPECT_TRUE((n + INT64_MAX).is_unknown());
  EXPECT_TRUE((n * INT64_MIN).is_unknown());
  EXPECT_FALSE((n * 1000000 - 1000000).is_unknown());
}

TEST(Size, what_tells_more_is_chosen_of_two_that_are_equal) {
  SizeTable table;
  const Size n = table.symbol("n"), m = table.symbol("m"), open = table.size_of(Dim());
  EXPECT_TRUE(clearer(n, 3).is(3));
  EXPECT_TRUE(clearer(3, n).is(3));
  EXPECT_TRUE(equal(clearer(n, m), n));
  EXPECT_TRUE(equal(clearer(open * 2, n), n));
  EXPECT_TRUE(equal(clearer(Size::unknown(), open), open));
}

TEST(Sizes, copies_hold_the_same_sizes) {
  SizeTable table;
  const Sizes sizes{table.symbol("n"), 3, Size::unknown()};
  Sizes copy = sizes;
  copy.push_back(7);
  EXPECT_EQ(to_string(copy), "[n, 3, ?, 7]");
  copy = sizes;
  EXPECT_EQ(to_string(copy), "[n, 3, ?]");
  copy = copy.first(1);
  EXPECT_EQ(to_string(copy), "[n]");
}

TEST(Sizes, are_changed_in_place_like_a_shape) {
  SizeTable table;
  const Size n = table.symbol("n");
  Sizes sizes{n, 3, 4};
  sizes.insert(1, 2);
  EXPECT_EQ(to_string(sizes), "[n, 2, 3, 4]");
  sizes.erase(0);
  EXPECT_EQ(sizes.shape(), (Shape{2, 3, 4}));
  EXPECT_TRUE(sizes.elements().is(24));
  EXPECT_TRUE(differ(sizes, Sizes{2, 3}));
  EXPECT_TRUE(differ(Sizes{n, 2}, Sizes{n, 3}));
  EXPECT_TRUE(equal(Sizes{n, 2}, Sizes{n, 2}));
  EXPECT_FALSE(equal(Sizes{n, 2}, Sizes{5, 2}) || differ(Sizes{n, 2}, Sizes{5, 2}));
  EXPECT_THROW(sizes = Sizes::filled(kMaxRank + 1, 1), InvalidArgument);
}

TEST(SizeTable, keeps_what_symbols_of_dimensions_mean) {
  SizeTable table;
  const Size n = table.symbol("n");
  const Dim dim = table.dim_of(n * 2 + 1);
  EXPECT_EQ(dim.symbol, "2*n + 1");
  EXPECT_TRUE(equal(table.size_of(dim) - 1, n * 2));
  EXPECT_TRUE(SizeTable::is_unknown(table.dim_of(Size::unknown())));
  EXPECT_TRUE(SizeTable::is_unknown(table.dim_of(-1)));
  EXPECT_EQ(table.dim_of(4), (Dim{4, {}}));
  EXPECT_FALSE(equal(table.size_of(Dim()), table.size_of(Dim())));
}

}  // namespace
}  // namespace minnow::test
