// SPDX-License-Identifier: Apache-2.0
// Values of expressions against numbers written here, what is planned for and how often, promotion, views, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/express.h>
#include <minnow/express_passes.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "express/support.h"
#include "express/view.h"

namespace minnow::test {
namespace {

using expr::cache_counts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Express, computes_when_it_is_read) {
  const Var a = parameter(f32({1, 2, 3, 4}, {2, 2})), b = f32({10, 20}, {2});
  const Var c = expr::matmul(a, a) + b;
  EXPECT_FALSE(c.is_computed());
  EXPECT_EQ(c.shape(), (Shape{2, 2}));
  EXPECT_FALSE(c.is_computed());  // the shape follows from the operators alone
  EXPECT_THAT(numbers(c), ElementsAre(17, 30, 25, 42));
  EXPECT_TRUE(c.is_computed());
}

TEST(Express, plans_once_for_a_form) {
  expr::clear_cache();
  for (int i = 0; i < 50; ++i) {
    const Var x = parameter(f32({float(i), 2}, {2}));
    const Var y = expr::tanh(x) * float(i) + 1;
    EXPECT_NEAR(y.data<float>()[1], std::tanh(2.0) * i + 1, 1e-5);
  }
  EXPECT_EQ(cache_counts().misses, 1u);
  EXPECT_EQ(cache_counts().hits, 49u);
  (expr::tanh(parameter(f32({1, 2, 3}, {3}))) * 2 + 1).tensor();  // another shape
  EXPECT_EQ(cache_counts().misses, 2u);
  (expr::tanh(parameter(f32({1, 2}, {2}))) * 2 - 1).tensor();  // another structure
  EXPECT_EQ(cache_counts().misses, 3u);
}

TEST(Express, attributes_are_part_of_the_form_and_indices_are_not) {
  const Var x = parameter(arange(12, {3, 4}));
  expr::clear_cache();
  EXPECT_THAT(numbers(expr::gather(x, Var{1}, {.axis = 0})), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(numbers(expr::gather(x, Var{2}, {.axis = 0})), ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(cache_counts().misses, 1u);
  EXPECT_THAT(numbers(expr::gather(x, Var{2}, {.axis = 1})), ElementsAre(2, 6, 10));
  EXPECT_EQ(cache_counts().misses, 2u);
}

TEST(Express, several_outputs_are_computed_in_one_plan_and_shared_parts_once) {
  const Var x = parameter(f32({1, 4, 9}, {3}));
  expr::clear_cache();
  const Var root = expr::sqrt(x);
  const Var a = root + 1, b = root * 2;
  expr::evaluate({a, b});
  EXPECT_EQ(cache_counts().misses, 1u);
  EXPECT_TRUE(root.is_computed());  // this function still holds it
  a.tensor(), b.tensor(), root.tensor();
  EXPECT_EQ(cache_counts().hits, 0u);
  EXPECT_THAT(numbers(a), ElementsAre(2, 3, 4));
  EXPECT_THAT(numbers(b), ElementsAre(2, 4, 6));
}

TEST(Express, operators_of_several_outputs) {
  const Vars parts = expr::split(2, arange(6, {6}), {}, {.axis = 0, .num_outputs = 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(numbers(parts[1]), ElementsAre(3, 4, 5));
  const Vars top = expr::top_k(f32({3, 9, 1, 7}, {4}), Var{2});
  EXPECT_THAT(numbers(top[0]), ElementsAre(9, 7));
  EXPECT_THAT(numbers(top[1]), ElementsAre(1, 3));
}

TEST(Express, shapes_that_depend_on_data) {
  const Var x = f32({0, 5, 0, 7}, {4});
  const Var where = expr::non_zero(x);
  EXPECT_FALSE(where.known_shape().has_value());
  const Var doubled = where * 2;
  EXPECT_EQ(doubled.dtype(), DType::i64);
  EXPECT_EQ(doubled.shape(), (Shape{1, 2}));
  EXPECT_THAT(numbers(doubled), ElementsAre(2, 6));
  // Shape arithmetic is known as soon as it is written.
  const Var shape = expr::shape(arange(6, {2, 3}));
  EXPECT_EQ(expr::reshape(arange(6, {6}), shape).known_shape(), (Shape{2, 3}));
}

TEST(Express, unread_expressions_are_computed_at_a_thousand_nodes) {
  Var x = parameter(f32({0}, {1}));
  for (int i = 0; i < 2500; ++i) x = x + 1;
  EXPECT_EQ(x.item(), 2500);
  // Shared parts count once: thirty doublings are thirty nodes.
  Var y = parameter(f32({1}, {1}));
  for (int i = 0; i < 30; ++i) y = y + y;
  EXPECT_FALSE(y.is_computed());
  EXPECT_EQ(y.item(), double(1 << 30));
}

TEST(Express, empty_and_scalar_tensors) {
  const Var empty = Tensor(DType::f32, {0, 3});
  EXPECT_EQ((empty + 1).shape(), (Shape{0, 3}));
  EXPECT_EQ((empty + 1).tensor().elements(), 0);
  EXPECT_EQ(expr::reduce_sum(empty).item(), 0);
  EXPECT_EQ((Var::scalar(2, DType::i32) * 3).item(), 6);
}

TEST(Express, promotion_is_numpys) {
  using enum DType;
  struct Row {
    DType a, b, result;
  };
  // numpy.promote_types; the rows of bf16 as ml_dtypes has them.
  for (const Row& row : {Row{boolean, boolean, boolean},
                         {boolean, i8, i8},
                         {u8, i8, i16},
                         {u8, u16, u16},
                         {u16, i16, i32},
                         {u32, i32, i64},
                         {u64, i64, f64},
                         {u8, i32, i32},
                         {i8, f16, f16},
                         {u8, f16, f16},
                         {i16, f16, f32},
                         {i32, f16, f64},
                         {i16, f32, f32},
                         {i32, f32, f64},
                         {i64, f32, f64},
                         {u16, f32, f32},
                         {f16, f32, f32},
                         {f32, f64, f64},
                         {f16, bf16, f32},
                         {boolean, f16, f16},
                         {i8, bf16, bf16}}) {
    EXPECT_EQ(promote(row.a, row.b), row.result) << to_string(row.a) << " " << to_string(row.b);
    EXPECT_EQ(promote(row.b, row.a), row.result);
    EXPECT_EQ((Var(Tensor(row.a, {2})) + Var(Tensor(row.b, {2}))).dtype(), row.result);
  }
  EXPECT_EQ(promote(u8, 3), u8);
  EXPECT_EQ(promote(u8, 3.0), f64);
  EXPECT_EQ(promote(f16, 3.0), f16);
  EXPECT_EQ(promote(boolean, 3), i64);
  EXPECT_THROW(promote(string, f32), Error);
}

TEST(Express, arithmetic_is_numpys) {
  const Var a = Var{7, -7, 6}, b = Var{3, 3, -4};
  EXPECT_EQ((a / b).dtype(), DType::f64);
  EXPECT_THAT(numbers(a / 2), ElementsAre(3.5, -3.5, 3));
  EXPECT_THAT(numbers(a % b), ElementsAre(1, 2, -2));
  EXPECT_THAT(numbers(a.astype(DType::f32) % b.astype(DType::f32)), ElementsAre(1, 2, -2));
  EXPECT_THAT(numbers(2 - a), ElementsAre(-5, 9, -4));
  EXPECT_THAT(numbers((a > 0) | (b > 0)), ElementsAre(1, 1, 1));
  EXPECT_THAT(numbers((a > 0) + (b > 0)), ElementsAre(1, 1, 1));
  EXPECT_THAT(numbers((a > 0) * (b > 0)), ElementsAre(1, 0, 0));
  EXPECT_THAT(numbers(a != 6), ElementsAre(1, 1, 0));
  EXPECT_THAT(numbers(~(a > 0)), ElementsAre(0, 1, 0));
  EXPECT_THAT(numbers(-a), ElementsAre(-7, 7, -6));
  EXPECT_THAT(numbers(-Var{1, 2}.astype(DType::u8)), ElementsAre(255, 254));
  EXPECT_THAT(error_of([&] { a.astype(DType::u8) + 300; }), HasSubstr("300 does not fit u8"));
  EXPECT_THAT(error_of([&] { (a > 0) - (b > 0); }), HasSubstr("bool - bool has no meaning"));
}

TEST(Views, show_regions_as_numpy_does) {
  const Var x = arange(24, {2, 3, 4});
  EXPECT_THAT(numbers(x[{1, 2}]), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(numbers(x[{kEllipsis, -1}]), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_THAT(numbers(x[{0, kAll, Index::range({}, {}, -2)}]), ElementsAre(3, 1, 7, 5, 11, 9));
  EXPECT_THAT(numbers(x[{1, Index::range(1, 100), Index::range(-3, -1)}]), ElementsAre(17, 18, 21, 22));
  EXPECT_EQ((x[{kNewAxis, 0, kEllipsis, kNewAxis}].shape()), (Shape{1, 3, 4, 1}));
  EXPECT_EQ((x[{Index::range(2, 1)}].shape()), (Shape{0, 3, 4}));
  EXPECT_THAT(numbers(x[0][{Index::range(1, {})}][{kAll, 2}]), ElementsAre(6, 10));
  EXPECT_THAT(numbers(x[{0, Index::range({}, {}, -1)}][{Index::range({}, {}, 2), 0}]), ElementsAre(8, 0));
  EXPECT_THAT(error_of([&] { x[{2}]; }), HasSubstr("index 2 is out of range for axis 0 of size 2"));
  EXPECT_THAT(error_of([&] { x[{0, 0, 0, 0}]; }), HasSubstr("rank 3 is indexed with 4 indices"));
  EXPECT_THAT(error_of([&] { x[{kEllipsis, kEllipsis}]; }), HasSubstr("single ellipsis"));
}

TEST(Views, of_a_computed_tensor_in_one_piece_share_its_memory) {
  const Var x = arange(12, {3, 4});
  const float* base = x.data<float>();
  EXPECT_EQ(x[1].data<float>(), base + 4);
  EXPECT_EQ((x[{Index::range(1, 3)}].data<float>()), base + 4);
}

TEST(Views, of_pending_expressions_stay_pending) {
  const Var x = parameter(arange(6, {2, 3})) * 2;
  const Var y = x[{1, Index::range({}, {}, -1)}] + 1;
  EXPECT_FALSE(x.is_computed());
  EXPECT_THAT(numbers(y), ElementsAre(11, 9, 7));
}

TEST(Views, of_pending_expressions_are_planned_for_once_wherever_they_begin) {
  const Var x = parameter(arange(40, {10, 4}));
  expr::clear_cache();
  for (int i = 0; i < 8; ++i) {
    const Var y = expr::reduce_sum((x * 2)[{Index::range(i, i + 2), Index::range(i % 4, {}, -1)}][{kAll, 0}]);
    EXPECT_EQ(y.item(), 2.0 * (8 * i + 4 + 2 * (i % 4)));
  }
  EXPECT_EQ(cache_counts().misses, 1u);
  const Var empty = (x * 2)[{Index::range(10, {})}];
  EXPECT_EQ((empty + 1).tensor().elements(), 0);
}

TEST(Views, assignment_updates_the_base) {
  Var x = arange(6, {2, 3});
  const Var before = x + 0, row = x[1];
  x[{0, 1}] = 50;
  EXPECT_THAT(numbers(x), ElementsAre(0, 50, 2, 3, 4, 5));
  EXPECT_THAT(numbers(before), ElementsAre(0, 1, 2, 3, 4, 5));  // was made of the value before
  x[{kAll, Index::range({}, {}, 2)}] = f32({1, 2}, {2, 1});
  EXPECT_THAT(numbers(x), ElementsAre(1, 50, 1, 2, 4, 2));
  EXPECT_THAT(numbers(row), ElementsAre(2, 4, 2));  // a view sees it
  row.assign(f32({7, 8, 9}, {3}));
  EXPECT_THAT(numbers(x), ElementsAre(1, 50, 1, 7, 8, 9));
  row += f32({1}, {1});
  EXPECT_THAT(numbers(x), ElementsAre(1, 50, 1, 8, 9, 10));
  const Var same = x;
  x[0] = x[1];
  EXPECT_THAT(numbers(same), ElementsAre(8, 9, 10, 8, 9, 10));
  x[{kAll, Index::range({}, {}, -1)}] = x + 0;
  EXPECT_THAT(numbers(x), ElementsAre(10, 9, 8, 10, 9, 8));
  EXPECT_THAT(error_of([&] { x[0] = f32({1, 2}, {2}); }), HasSubstr("shape [2] cannot be broadcast to [3]"));
  EXPECT_THAT(numbers(x), ElementsAre(10, 9, 8, 10, 9, 8));
  Var integers = Var{1, 2, 3};
  integers[0] = Var::scalar(4.0, DType::f64);
  EXPECT_EQ(integers.dtype(), DType::i64);
  EXPECT_THAT(error_of([&] { integers += Var::scalar(0.5, DType::f32); }), HasSubstr("the variable that should take it i64"));
}

TEST(Views, of_other_dimensions_and_orders_of_axes_write_through) {
  Var x = arange(12, {3, 4});
  const Var turned = express::transposed(x, {1, 0}), flat = express::reshaped(x, {12}),
            part = turned[{Index::range(1, 3), Index::range({}, {}, 2)}];
  EXPECT_EQ(flat.data<float>(), x.data<float>());
  EXPECT_THAT(numbers(part), ElementsAre(1, 9, 2, 10));
  part.assign(-1);
  EXPECT_THAT(numbers(x), ElementsAre(0, -1, -1, 3, 4, 5, 6, 7, 8, -1, -1, 11));
  EXPECT_THAT(numbers(turned[1]), ElementsAre(-1, 5, -1));
  flat[{Index::range(3, 5)}] = f32({30, 40}, {2});
  EXPECT_THAT(numbers(turned[0]), ElementsAre(0, 40, 8));
  EXPECT_EQ((x[{0, 3}].item()), 30);
  // Two axes of a part in one piece; and elements that would have to move.
  const Var pairs = express::reshaped(x[{kAll, Index::range(0, 2)}], {3, 2, 1, 1});
  EXPECT_TRUE(pairs.is_view());
  pairs[{2, 0}] = 5;
  EXPECT_EQ((x[{2, 0}].item()), 5);
  EXPECT_FALSE(express::reshaped(turned, {12}).is_view());
  EXPECT_THAT(numbers(express::reshaped(turned, {2, 6})), ElementsAre(0, 40, 5, -1, 5, -1, -1, 6, -1, 30, 7, 11));
  EXPECT_TRUE(express::reshaped(express::transposed(turned, {1, 0}), {2, 6}).is_view());
  EXPECT_EQ(express::reshaped(x[{Index::range(0, 0)}], {0, 7}).shape(), (Shape{0, 7}));
  EXPECT_THAT(error_of([&] { express::reshaped(x, {5}); }), HasSubstr("shape [3, 4] cannot take shape [5]"));
  EXPECT_THAT(error_of([&] { express::transposed(x, {0, 0}); }), HasSubstr("no order of the axes"));
}

TEST(Views, that_repeat_elements_are_read_only) {
  const Var x = arange(3, {3, 1}), wide = express::broadcast_to(x, {2, 3, 2});
  EXPECT_THAT(numbers(wide), ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2));
  x[1] = 7;
  EXPECT_THAT(numbers(wide[{1, kAll, 0}]), ElementsAre(0, 7, 2));
  EXPECT_THAT(error_of([&] { wide[0] = 1; }), HasSubstr("assignment destination is read-only"));
  EXPECT_THAT(error_of([&] { express::broadcast_to(x, {2, 2}); }), HasSubstr("cannot be broadcast to [2, 2]"));
}

TEST(Views, of_diagonals_are_for_reading) {
  const Var x = arange(12, {3, 4}), main = express::diagonal(x, 0, 0, 1), above = express::diagonal(x, 2, 0, 1),
            turned = express::diagonal(express::transposed(x, {1, 0}), -2, 0, 1);
  EXPECT_THAT(numbers(main), ElementsAre(0, 5, 10));
  EXPECT_THAT(numbers(above), ElementsAre(2, 7));
  EXPECT_THAT(numbers(turned), ElementsAre(2, 7));
  x[{1, 3}] = -1;
  EXPECT_THAT(numbers(above), ElementsAre(2, -1));
  EXPECT_THAT(numbers(turned[Index::range({}, {}, -1)]), ElementsAre(-1, 2));
  EXPECT_THAT(error_of([&] { main[0] = 1; }), HasSubstr("assignment destination is read-only"));
  const Var many = express::diagonal(arange(12, {2, 2, 3}), 0, 1, 0);
  EXPECT_EQ(many.shape(), (Shape{3, 2}));
  EXPECT_THAT(numbers(many), ElementsAre(0, 9, 1, 10, 2, 11));
  for (const int64_t offset : {int64_t{4}, int64_t{-3}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(express::diagonal(x, offset, 0, 1).shape(), Shape{0}) << offset;
  EXPECT_THAT(error_of([&] { express::diagonal(x, 0, 1, 1); }), HasSubstr("have no diagonals"));
  const Var pending = arange(4, {2, 2}) * 2;
  EXPECT_THAT(numbers(express::diagonal(pending, 0, 0, 1) + 1), ElementsAre(1, 7));
  const Var given = expr::placeholder("x", DType::f32, {2, 3}), of_given = express::diagonal(given, 1, 0, 1);
  given.assign(arange(6, {2, 3}));
  EXPECT_THAT(numbers(of_given), ElementsAre(1, 5));
}

TEST(Views, of_the_parts_of_complex_numbers_write_through) {
  Tensor tensor(DType::complex64, {2, 2});
  std::iota(tensor.writable().data<float>(), tensor.writable().data<float>() + 8, 0.0f);
  const Var x(tensor), real = express::complex_part(x, false), imaginary = express::complex_part(express::transposed(x, {1, 0}), true);
  EXPECT_EQ(real.dtype(), DType::f32);
  EXPECT_THAT(numbers(real), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(numbers(imaginary), ElementsAre(1, 5, 3, 7));
  imaginary[0] = -1;
  real[{kAll, 1}] = f32({20, 60}, {2});
  const float* all = x.data<float>();
  EXPECT_THAT(std::vector<float>(all, all + 8), ElementsAre(0, -1, 20, 3, 4, -1, 60, 7));
  EXPECT_FALSE(express::may_share_memory(real, imaginary, true));
  EXPECT_TRUE(express::may_share_memory(real[0], x, true));
  EXPECT_THAT(error_of([&] { express::complex_part(arange(2, {2}), true); }), HasSubstr("of a f32"));
}

TEST(Views, of_a_variable_with_a_value_of_another_shape_say_so) {
  const Var x = f32({0, 1, 2, 3, 4, 5}, {6}), end = x[Index::range(4, {})], part = x[Index::range({}, {}, 3)];
  x.assign(f32({1, 2}, {2}));
  for (const Var& view : {end, part}) {
    EXPECT_THAT(error_of([&] { view.tensor(); }),
                HasSubstr("a view of a variable of shape [6] is used, which has been given a value of shape [2]"));
    EXPECT_THAT(error_of([&] { view.assign(1); }), HasSubstr("shape [2]"));
  }
  EXPECT_THAT(numbers(x), ElementsAre(1, 2));
}

TEST(Views, know_whether_they_share_elements) {
  const Var x = arange(12, {3, 4}), y = x + 0;
  const auto share = [](const Var& a, const Var& b) { return express::may_share_memory(a, b, true); };
  const Var even = x[{kAll, Index::range({}, {}, 2)}], odd = x[{kAll, Index::range(1, {}, 2)}];
  EXPECT_TRUE(share(x, even));
  EXPECT_TRUE(share(even, x[1]));
  EXPECT_FALSE(share(even, odd));
  EXPECT_TRUE(express::may_share_memory(even, odd, false));
  EXPECT_FALSE(express::may_share_memory(x[0], x[1], false));
  EXPECT_FALSE(share(x, y));
  EXPECT_TRUE(share(express::base_of(even[0]), odd));
}

TEST(Views, of_pending_expressions_in_other_dimensions_stay_pending) {
  const Var x = parameter(arange(6, {2, 3})) * 2;
  const Var y = express::transposed(express::reshaped(x, {3, 2}), {1, 0})[{1, Index::range(1, {})}] + 1;
  EXPECT_FALSE(x.is_computed());
  EXPECT_THAT(numbers(y), ElementsAre(7, 11));
  const Var given = expr::placeholder("x", DType::f32, {2, 2}), turned = express::transposed(given, {1, 0}) * 1;
  given.assign(f32({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(numbers(turned), ElementsAre(1, 3, 2, 4));
  const Var open = expr::placeholder("z", DType::f32, {-1, 1}), row = express::transposed(open, {1, 0});
  open.assign(f32({5, 6}, {2, 1}));
  EXPECT_EQ(row.shape(), (Shape{1, 2}));
}

TEST(Views, assignment_leaves_the_callers_memory_alone) {
  const std::vector<float> mine{1, 2, 3};
  Var x = Tensor(DType::f32, {3}, mine.data(), nullptr);
  x[0] = 9;
  EXPECT_THAT(numbers(x), ElementsAre(9, 2, 3));
  EXPECT_EQ(mine[0], 1);
}

TEST(Placeholders, are_given_values_and_recomputed) {
  const Var x = expr::placeholder("x", DType::f32, {-1, 2});
  const Var y = expr::reduce_sum(x * x, Var{0}, {.keepdims = 0});
  EXPECT_FALSE(y.known_shape().has_value());
  EXPECT_THAT(error_of([&] { y.tensor(); }), HasSubstr("the placeholder \"x\" is read but was given no value"));
  x.assign(f32({1, 2}, {1, 2}));
  EXPECT_THAT(numbers(y), ElementsAre(1, 4));
  x.assign(f32({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(numbers(y), ElementsAre(10, 20));
  EXPECT_THAT(error_of([&] { x.assign(f32({1, 2, 3}, {1, 3})); }), HasSubstr("the placeholder \"x\" is f32[-1, 2], it is given f32[1, 3]"));
  EXPECT_THAT(numbers(y), ElementsAre(10, 20));
  const Var any = expr::placeholder("any", DType::f32);
  const Var last = any[{kEllipsis, -1}];
  any.assign(f32({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(numbers(last), ElementsAre(2, 4));
  any.assign(f32({1, 2, 3}, {3}));
  EXPECT_EQ(last.item(), 3);
}

TEST(Express, errors_name_operators_inputs_and_the_nearest_names) {
  EXPECT_THAT(error_of([] { expr::op("Sofmax", {Var{1}}); }), HasSubstr("there is no operator \"Sofmax\"; the nearest are \"Softmax\""));
  EXPECT_THAT(error_of([] { expr::matmul(f32({1, 2}, {2}), f32({1, 2, 3}, {3})); }), HasSubstr("(MatMul)"));
  EXPECT_THAT(error_of([] { expr::softmax(Var{1, 2}); }), HasSubstr("(Softmax)"));
  EXPECT_THAT(error_of([] { expr::op("Add", {Var{1}}); }), HasSubstr("input 1 (\"B\") is missing"));
  EXPECT_THAT(error_of([] { Var() + Var{1}; }), HasSubstr("a Var without a value"));
  EXPECT_THAT(error_of([] {
                expr::op("Softmax", {f32({1}, {1})}, {{"axes", int64_t{0}}});
              }),
              HasSubstr("Softmax has no attribute \"axes\"; there is \"axis\""));
  EXPECT_THAT(error_of([] { Var{1}.astype(DType::string); }), HasSubstr("a tensor cannot become string"));
  // Errors that depend on data are raised when the value is read, and the expression stays usable.
  const Var index = Var{5};
  const Var bad = expr::gather(arange(3, {3}), index);
  EXPECT_THAT(error_of([&] { bad.tensor(); }), HasSubstr("5"));
  EXPECT_THAT(error_of([&] { bad.tensor(); }), HasSubstr("5"));
}

TEST(Express, elements_are_read_as_what_they_are) {
  const Var x = f32({1, 2}, {2}), flags = x > 1;
  EXPECT_EQ(x.data<float>()[1], 2);
  EXPECT_TRUE(flags.data<bool>()[1] && flags.data<uint8_t>()[1]);
  EXPECT_EQ(x.astype(DType::f16).data<uint16_t>()[0], 0x3c00);
  EXPECT_THAT(error_of([&] { x.data<double>(); }), HasSubstr("the value is f32, it is read as floating numbers of 8 bytes"));
  EXPECT_THAT(error_of([&] { x.data<int32_t>(); }), HasSubstr("the value is f32, it is read as integers of 4 bytes"));
  EXPECT_THAT(error_of([&] { Var{1}.data<double>(); }), HasSubstr("the value is i64"));
  static_assert(!std::is_constructible_v<bool, Var>);  // `if (x < y)` would only tell that there is a value
  EXPECT_TRUE(x.has_value() && !Var().has_value());
}

TEST(Express, numbers_that_only_u64_holds) {
  const uint64_t large = ~uint64_t{0};
  EXPECT_EQ(Var::scalar(large, DType::u64).data<uint64_t>()[0], large);
  EXPECT_EQ((Var{1, 2}.astype(DType::u64) * large).data<uint64_t>()[1], large - 1);
  EXPECT_EQ((f32({1}, {1}) * large).item(), 18446744073709551616.0);
  EXPECT_THAT(error_of([&] { Var{1} + large; }), HasSubstr("the integer 18446744073709551615 does not fit i64"));
  EXPECT_THAT(error_of([] { Var::scalar(300, DType::u8); }), testing::EndsWith("the integer 300 does not fit u8"));
}

TEST(Express, scopes_choose_threads_precision_and_backend) {
  const Var x = f32({1, 2}, {2});
  {
    const expr::Scope scope(options([](auto& o) { o.threads = 1, o.backends = {"reference"}; }));
    EXPECT_THAT(numbers(x * 2), ElementsAre(2, 4));
  }
  EXPECT_THAT(error_of([] { const expr::Scope scope(options([](auto& o) { o.precision = "best"; })); }),
              HasSubstr("precision is \"best\""));
  EXPECT_THAT(error_of([] { const expr::Scope scope(options([](auto& o) { o.backends = {"gpu"}; })); }),
              HasSubstr("there is no backend \"gpu\""));
  EXPECT_THAT(error_of([] { const expr::Scope scope(options([](auto& o) { o.threads = -1; })); }), HasSubstr("threads is -1"));
  EXPECT_THAT(error_of([] { const expr::Scope scope(options([](auto& o) { o.time_limit = 1; })); }),
              HasSubstr("time_limit is an option of sessions"));
  const Var large = Tensor(DType::f32, {1 << 20});
  const expr::Scope scope(options([](auto& o) { o.memory_limit = 1 << 20; }));
  EXPECT_THAT(error_of([&] { expr::reduce_sum(expr::sin(expr::cos(large)) * expr::tanh(large)).tensor(); }), HasSubstr("memory"));
}

TEST(Express, convolutions_take_constant_weights_and_pack_them) {
  const Var x = arange(2 * 3 * 8 * 8, {2, 3, 8, 8}) * 0.01, w = arange(4 * 3 * 3 * 3, {4, 3, 3, 3}) * 0.001;
  w.tensor();
  expr::clear_cache();
  const Var y = expr::conv(x, w, {}, {.pads = {1, 1, 1, 1}});
  const std::vector<double> fast = numbers(y);
  {
    const expr::Scope scope(options([](auto& o) { o.backends = {"reference"}; }));
    const std::vector<double> slow = numbers(expr::conv(x, w, {}, {.pads = {1, 1, 1, 1}}));
    ASSERT_EQ(fast.size(), slow.size());
    for (size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], slow[i], 1e-3);
  }
}

TEST(Express, chains_that_are_fused_give_what_they_gave) {
  const Var x = arange(1000, {10, 100}) * 0.01f, y = arange(100, {100});
  x.tensor(), y.tensor();
  const auto chain = [&] {
    Var z = x;
    for (int i = 0; i < 20; ++i) z = expr::tanh(z * float(i + 1) + y) - 0.5f;  // more numbers than one fused node takes inputs
    return numbers(expr::where(z > 0, z, expr::exp(z)));
  };
  const std::vector<double> plain = chain();
  optimize_expressions();
  expr::clear_cache();
  const std::vector<double> fused = chain();
  optimize_expressions(false);
  expr::clear_cache();
  ASSERT_EQ(plain.size(), fused.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], fused[i], 1e-5);
}

TEST(Express, memory_of_large_values_is_used_again_and_never_while_somebody_reads_it) {
  const Var x = arange(1 << 17, {1 << 17});
  const Var first = x + 1;
  const float* kept = first.data<float>();
  const void* freed = (x + 2).data<float>();
  const Var third = x + 3;
  EXPECT_EQ(third.data<float>(), freed);
  for (int i = 0; i < 20; ++i) EXPECT_NE((x + i).data<float>(), kept);
  EXPECT_EQ(kept[7], 8);
  EXPECT_EQ(third.data<float>()[7], 10);
  expr::clear_cache();
  EXPECT_EQ(kept[7], 8);
}

TEST(Express, threads_compute_expressions_of_their_own_on_shared_plans) {
  expr::clear_cache();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 200; ++i) {
        const Var x = f32({float(t), float(i)}, {2});
        wrong += (x * x + 1).data<float>()[1] != float(i * i + 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache_counts().misses, 8u);
}

TEST(Express, is_shown_with_dtype_shape_and_values) {
  EXPECT_EQ(to_string(f32({1, 2.5, 3, 4}, {2, 2})), "f32[2, 2] [[1, 2.5], [3, 4]]");
  EXPECT_EQ(to_string(arange(100, {100}, DType::i32)), "i32[100] [0, 1, 2, ..., 97, 98, 99]");
  EXPECT_EQ(to_string(Var{1, 2} == Var{1, 3}), "bool[2] [true, false]");
}

}  // namespace
}  // namespace minnow::test
