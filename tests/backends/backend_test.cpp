// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow {
namespace {

TEST(Estimate, declines_with_a_sentence) {
  const Estimate estimate = declined("{} channels", 3);
  EXPECT_EQ(estimate.declined, "3 channels");
  EXPECT_FALSE(estimate.unavailable);
  EXPECT_TRUE(unavailable("no such instruction").unavailable);
  EXPECT_EQ(unavailable("no such instruction").declined, "no such instruction");
}

TEST(Estimate, inputs_beyond_the_mask_are_plain) {
  Estimate estimate(1);
  estimate.packed_inputs = ~uint64_t{0};
  EXPECT_EQ(estimate.input_layout(63), Layout::packed);
  EXPECT_EQ(estimate.input_layout(64), Layout::plain);
  EXPECT_EQ(estimate.output_layout(0), Layout::plain);
}

TEST(Device, packed_tensors_have_whole_vectors_of_channels) {
  Device device;
  device.pack = 8;
  EXPECT_EQ(device.bytes(DType::f32, {2, 3, 5, 5}, Layout::plain), 600u);
  EXPECT_EQ(device.bytes(DType::f32, {2, 3, 5, 5}, Layout::packed), 1600u);
  EXPECT_EQ(device.bytes(DType::f32, {2, 16, 5}, Layout::packed), 640u);
  EXPECT_EQ(device.bytes(DType::f32, {7}, Layout::packed), 28u);
  EXPECT_EQ(device.bytes(DType::f32, {2, 0, 5}, Layout::packed), 0u);
}

TEST(Device, memory_takes_longer_the_farther_it_is) {
  Device device;
  double before = 0;
  for (const size_t bytes : {device.l1, device.l2, device.l3, 4 * device.l3}) {
    const double each = device.byte_time(double(bytes)) / double(bytes);
    EXPECT_GT(each, before);
    before = each;
  }
  EXPECT_GE(device.weight_time(1e6), device.byte_time(1e6));  // other nodes' weights push them out
  Device threads = device;
  threads.threads = 4;
  EXPECT_DOUBLE_EQ(threads.flop_time(1e9), device.flop_time(1e9) / 4);
  EXPECT_GT(threads.byte_time(1e9), device.byte_time(1e9) / 4);  // memory is shared
}

TEST(RunContext, keeps_the_first_failure) {
  RunContext context;
  EXPECT_FALSE(context.has_failed());
  context.fail("index {} is not below {}", 7, 5);
  context.fail("another");
  EXPECT_TRUE(context.has_failed());
  EXPECT_EQ(context.failure, "index 7 is not below 5");
}

}  // namespace
}  // namespace minnow
