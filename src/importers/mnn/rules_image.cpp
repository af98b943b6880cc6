// SPDX-License-Identifier: Apache-2.0
// ImageProcess: bytes of a picture to colours and numbers that a network takes.
#include <algorithm>
#include <array>

#include "importers/mnn/rules.h"

#include "importers/builder/arithmetic.h"
#include "importers/builder/indexing.h"

namespace minnow::mnn {
namespace {

/// Numbers of the file for the ways to hold colours.
enum Format : int32_t { kRgba = 0, kRgb, kBgr, kGray, kBgra, kYCrCb, kYuv, kHsv, kXyz };

struct Colours {
  Format format;
  int64_t channels;
  std::array<int64_t, 3> places;  // of red, green and blue; empty if the channels are others
};
constexpr Colours kColours[] = {{kRgba, 4, {0, 1, 2}}, {kRgb, 3, {0, 1, 2}}, {kBgr, 3, {2, 1, 0}}, {kGray, 1, {0, 0, 0}},
                                {kBgra, 4, {2, 1, 0}}, {kYCrCb, 3, {}},      {kYuv, 3, {}},        {kXyz, 3, {}}};

const Colours& colours_of(const MnnNode& node, int64_t number, std::string_view what) {
  const auto found = std::find_if(std::begin(kColours), std::end(kColours), [&](const Colours& c) { return c.format == number; });
  if (found == std::end(kColours)) node.refuse("{} format {} is not supported", what, number);
  return *found;
}

/// Weights of red, green and blue with `bits` fractional bits, and the offset added to the quotient.
struct Mixture {
  int64_t red, green, blue, added;
};

}  // namespace

Exprs import_image_process(MnnNode& node, TypedBuilder& p) {
  // filterType 0, sourceFormat 1, destFormat 2, wrap 3, mean 4, normal 5, transform 6, paddingValue 7, shape 8: [n, channels, height,
  // width], outputType 9, draw 10. The picture is [n, height, width, channels] of bytes.
  if (node.flag(10) || node.input_count() != 1) node.refuse("drawing into the input is not supported");
  if (!node.channels_last()) node.refuse("a picture should have its channels last");
  // MNN's own operator does not look at the matrix that its class of that name takes.
  const std::vector<float> matrix = node.reals(6);
  for (size_t i = 0; i < matrix.size(); ++i)
    if (matrix[i] != (i % 4 == 0 ? 1.0f : 0.0f)) node.refuse("a transform other than the identity is not supported, which MNN leaves out");
  const Colours &from = colours_of(node, node.integer(1), "source"), &to = colours_of(node, node.integer(2), "destination");
  if (from.format > kBgra) node.refuse("source format {} is not supported", static_cast<int64_t>(from.format));
  if (from.format == kGray && to.format > kBgra)
    node.refuse("destination format {} of grey pictures is not supported", static_cast<int64_t>(to.format));
  if (from.channels == 4 && to.format > kBgra)
    node.refuse("destination format {} of pictures with four channels is not supported", static_cast<int64_t>(to.format));
  const Ints shape = node.list(8);
  if (shape.size() != 4) node.fail("a shape of {} dimensions is not valid", shape.size());
  const DType type = dtype_of(static_cast<int32_t>(node.integer(9, 1)));
  if (type != DType::f32 && type != DType::u8) node.refuse("results of type {} are not supported", type);

  Expr x = node.input(0);
  if (p.dtype(x) != DType::u8) node.fail("the picture should be bytes, it has dtype {}", p.dtype(x));
  const auto have = p.shape(x);
  if (!have || have->size() != 4) node.refuse("a picture of unknown shape is not supported");
  if ((*have)[3] != from.channels) node.fail("the picture has {} channels, its format {}", (*have)[3], from.channels);
  // Cut, or continued with the edge or with zeros, to the result's size.
  Ints behind(2);
  for (size_t i = 0; i < 2; ++i) {
    if (shape[2 + i] < 1 || shape[2 + i] > 1 << 20) node.fail("a result of {} is not valid", shape);
    behind[i] = std::max<int64_t>(shape[2 + i] - (*have)[1 + i], 0);
  }
  x = p.slice(x, {0, 0}, {shape[2], shape[3]}, {1, 2});
  if (behind[0] + behind[1] > 0) {
    const bool zeros = node.integer<int8_t>(3) == 1;
    x = pad(p, x, p.reshape(p.constant({0, 0, 0, behind[0], 0, behind[1], 0, 0}), Ints{4, 2}), p.scalar(0, DType::u8),
            zeros ? "constant" : "edge");
  }
  const auto channel = [&](int64_t i) { return p.slice(x, {i}, {i + 1}, {3}); };
  const auto colour = [&](size_t i) { return p.cast(channel(from.places[i]), DType::i32); };
  const auto integer = [&](int64_t value) { return p.scalar(static_cast<double>(value), DType::i32); };
  const auto mixed = [&](const Mixture& m, int64_t bits, bool rounds) {
    Expr sum = rounds ? integer(int64_t{1} << (bits - 1)) : Expr();
    for (size_t i = 0; i < 3; ++i) {
      const Expr part = p.op("Mul", {colour(i), integer(i == 0 ? m.red : i == 1 ? m.green : m.blue)});
      sum = sum ? p.op("Add", {sum, part}) : part;
    }
    const Expr quotient = floor_div(p, sum, integer(int64_t{1} << bits));
    return m.added ? p.op("Add", {quotient, integer(m.added)}) : quotient;
  };
  const Expr opaque = to.channels == 4 && from.channels != 4 ? p.fill(p.shape_of(channel(0)), 255, DType::u8) : Expr();
  Expr y = x;
  if (to.format == kGray && from.format != kGray) {
    y = p.cast(mixed({19, 38, 7, 0}, 6, false), DType::u8);
  } else if (to.format == kXyz) {
    const Mixture mixtures[] = {{1689, 1465, 739, 0}, {871, 2929, 296, 0}, {79, 488, 3892, 0}};
    Exprs parts;
    for (const Mixture& m : mixtures) parts.push_back(mixed(m, 12, true));
    y = p.cast(p.op("Min", {p.concat(parts, 3), integer(255)}), DType::u8);
  } else if (to.format > kBgra) {
    const bool yuv = to.format == kYuv;
    const Mixture mixtures[] = {{4899, 9617, 1868, 0},
                                yuv ? Mixture{-2412, -4734, 7146, 128} : Mixture{8192, -6860, -1332, 128},
                                yuv ? Mixture{10076, -8438, -1638, 128} : Mixture{-2765, -5427, 8192, 128}};
    Exprs parts;
    for (const Mixture& m : mixtures) parts.push_back(mixed(m, 14, true));
    y = p.cast(p.concat(parts, 3), DType::u8);
  } else if (from.format != to.format) {
    Exprs parts(static_cast<size_t>(to.channels));
    for (size_t i = 0; i < 3 && to.format != kGray; ++i) parts[static_cast<size_t>(to.places[i])] = channel(from.places[i]);
    if (to.channels == 4) parts[3] = opaque ? opaque : channel(3);
    y = p.concat(parts, 3);
  }
  if (type == DType::u8) {
    if (shape[1] != to.channels) node.fail("the result has {} channels, its format {}", shape[1], to.channels);
    return {y};
  }
  const std::vector<float> mean = node.reals(4), normal = node.reals(5);
  if (mean.size() < 4 || normal.size() < 4) node.fail("{} means and {} factors should be 4 each", mean.size(), normal.size());
  const auto row = [&](const std::vector<float>& numbers) {
    return p.constant(Tensor::of_f32({to.channels}, std::span(numbers).first(static_cast<size_t>(to.channels))));
  };
  y = p.op("Mul", {p.op("Sub", {p.cast(y, DType::f32), row(mean)}), row(normal)});
  // Four channels of numbers out of fewer: the others are zero.
  if (shape[1] == 4 && to.channels < 4)
    y = pad(p, y, p.reshape(p.constant({0, 0, 0, 0, 0, 0, 0, 4 - to.channels}), Ints{4, 2}), p.scalar(0));
  else if (shape[1] != to.channels)
    node.fail("the result has {} channels, its format {}", shape[1], to.channels);
  return {y};
}

}  // namespace minnow::mnn
