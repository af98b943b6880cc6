// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/tensor.h>

#include <numeric>

namespace minnow {
namespace {

TEST(Shape, keeps_every_dimension_up_to_the_highest_rank) {
  for (size_t rank = 0; rank <= kMaxRank; ++rank) {
    SCOPED_TRACE(rank);
    std::vector<int64_t> dims(rank);
    std::iota(dims.begin(), dims.end(), 3);
    const Shape shape(dims);
    Shape copy(shape), assigned({7, 8}), grown;
    assigned = shape;
    for (const int64_t dim : dims) grown.push_back(dim);
    for (const Shape& other : {shape, copy, assigned, grown}) {
      EXPECT_TRUE(other == shape);
      EXPECT_EQ(std::vector<int64_t>(other.begin(), other.end()), dims);
    }
    assigned = Shape{1};
    EXPECT_TRUE(assigned == Shape{1});
    if (rank == 0) continue;
    copy[rank - 1] += 1;
    EXPECT_FALSE(copy == shape);
    copy.erase(0);
    copy.insert(0, 9);
    EXPECT_EQ(copy.rank(), rank);
    EXPECT_EQ(copy[0], 9);
    EXPECT_EQ(copy.back(), rank == 1 ? 9 : dims.back() + 1);
  }
}

TEST(Shape, more_dimensions_are_an_error) {
  EXPECT_THROW(Shape(std::vector<int64_t>(kMaxRank + 1, 1)), Error);
  Shape shape = Shape::filled(kMaxRank, 1);
  EXPECT_THROW(shape.push_back(1), Error);
  EXPECT_EQ(Tensor(DType::f32, shape).elements(), 1);
}

TEST(Shape, can_be_a_constant) {
  constexpr Shape kShape{2, 3};
  static_assert(kShape.rank() == 2 && kShape.back() == 3);
  constexpr Shape kCopy = kShape;
  static_assert(kCopy[0] == 2);
}

}  // namespace
}  // namespace minnow
