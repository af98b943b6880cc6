// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/color.h>

#include "vision/light_rows.h"
#include "vision/loops/color.h"

namespace minnow::vision {
namespace {

enum class Kind : uint8_t {
  pixels,
  from_packed,  // 565 and 555
  to_packed,
  two_planes,    // NV12, NV21
  three_planes,  // I420, YV12
  one_plane,     // YUYV, YVYU, UYVY
  to_three_planes,
  to_one_plane,
  luma_420,
  luma_422,
  bayer,
  bayer_gray,
  bayer_edges,
  bayer_vng
};

using Code = ColorCode;
using Step = ColorStep;

struct Row {
  Code code;
  Kind kind;
  Step step;
  int to;      // channels
  int blue;    // its place, 0 or 2; reorder: 2 where blue and red change places
  int option;  // hue of the full range, colours without gamma, U before V; bits of green (+ 8: from gray); V first; Bayer: bg, gb, rg, gr
};
constexpr Row kRows[] = {
    {Code::bgr_to_bgra, Kind::pixels, Step::reorder, 4, 0, 0},
    {Code::bgra_to_bgr, Kind::pixels, Step::reorder, 3, 0, 0},
    {Code::bgr_to_rgba, Kind::pixels, Step::reorder, 4, 2, 0},
    {Code::rgba_to_bgr, Kind::pixels, Step::reorder, 3, 2, 0},
    {Code::bgr_to_rgb, Kind::pixels, Step::reorder, 3, 2, 0},
    {Code::bgra_to_rgba, Kind::pixels, Step::reorder, 4, 2, 0},
    {Code::bgr_to_gray, Kind::pixels, Step::to_gray, 1, 0, 0},
    {Code::rgb_to_gray, Kind::pixels, Step::to_gray, 1, 2, 0},
    {Code::gray_to_bgr, Kind::pixels, Step::from_gray, 3, 0, 0},
    {Code::gray_to_bgra, Kind::pixels, Step::from_gray, 4, 0, 0},
    {Code::bgra_to_gray, Kind::pixels, Step::to_gray, 1, 0, 0},
    {Code::rgba_to_gray, Kind::pixels, Step::to_gray, 1, 2, 0},
    {Code::bgr_to_bgr565, Kind::to_packed, Step::reorder, 2, 0, 6},
    {Code::rgb_to_bgr565, Kind::to_packed, Step::reorder, 2, 2, 6},
    {Code::bgr565_to_bgr, Kind::from_packed, Step::reorder, 3, 0, 6},
    {Code::bgr565_to_rgb, Kind::from_packed, Step::reorder, 3, 2, 6},
    {Code::bgra_to_bgr565, Kind::to_packed, Step::reorder, 2, 0, 6},
    {Code::rgba_to_bgr565, Kind::to_packed, Step::reorder, 2, 2, 6},
    {Code::bgr565_to_bgra, Kind::from_packed, Step::reorder, 4, 0, 6},
    {Code::bgr565_to_rgba, Kind::from_packed, Step::reorder, 4, 2, 6},
    {Code::gray_to_bgr565, Kind::to_packed, Step::reorder, 2, 0, 14},
    {Code::bgr565_to_gray, Kind::from_packed, Step::reorder, 1, 0, 6},
    {Code::bgr_to_bgr555, Kind::to_packed, Step::reorder, 2, 0, 5},
    {Code::rgb_to_bgr555, Kind::to_packed, Step::reorder, 2, 2, 5},
    {Code::bgr555_to_bgr, Kind::from_packed, Step::reorder, 3, 0, 5},
    {Code::bgr555_to_rgb, Kind::from_packed, Step::reorder, 3, 2, 5},
    {Code::bgra_to_bgr555, Kind::to_packed, Step::reorder, 2, 0, 5},
    {Code::rgba_to_bgr555, Kind::to_packed, Step::reorder, 2, 2, 5},
    {Code::bgr555_to_bgra, Kind::from_packed, Step::reorder, 4, 0, 5},
    {Code::bgr555_to_rgba, Kind::from_packed, Step::reorder, 4, 2, 5},
    {Code::gray_to_bgr555, Kind::to_packed, Step::reorder, 2, 0, 13},
    {Code::bgr555_to_gray, Kind::from_packed, Step::reorder, 1, 0, 5},
    {Code::bgr_to_xyz, Kind::pixels, Step::to_matrix, 3, 0, 0},
    {Code::rgb_to_xyz, Kind::pixels, Step::to_matrix, 3, 2, 0},
    {Code::xyz_to_bgr, Kind::pixels, Step::from_matrix, 3, 0, 0},
    {Code::xyz_to_rgb, Kind::pixels, Step::from_matrix, 3, 2, 0},
    {Code::bgr_to_ycrcb, Kind::pixels, Step::to_luma, 3, 0, 0},
    {Code::rgb_to_ycrcb, Kind::pixels, Step::to_luma, 3, 2, 0},
    {Code::ycrcb_to_bgr, Kind::pixels, Step::from_luma, 3, 0, 0},
    {Code::ycrcb_to_rgb, Kind::pixels, Step::from_luma, 3, 2, 0},
    {Code::bgr_to_hsv, Kind::pixels, Step::to_hsv, 3, 0, 0},
    {Code::rgb_to_hsv, Kind::pixels, Step::to_hsv, 3, 2, 0},
    {Code::bgr_to_lab, Kind::pixels, Step::to_lab, 3, 0, 0},
    {Code::rgb_to_lab, Kind::pixels, Step::to_lab, 3, 2, 0},
    {Code::bayer_bg_to_bgr, Kind::bayer, Step::reorder, 3, 0, 0},
    {Code::bayer_gb_to_bgr, Kind::bayer, Step::reorder, 3, 0, 1},
    {Code::bayer_rg_to_bgr, Kind::bayer, Step::reorder, 3, 0, 2},
    {Code::bayer_gr_to_bgr, Kind::bayer, Step::reorder, 3, 0, 3},
    {Code::bgr_to_luv, Kind::pixels, Step::to_luv, 3, 0, 0},
    {Code::rgb_to_luv, Kind::pixels, Step::to_luv, 3, 2, 0},
    {Code::bgr_to_hls, Kind::pixels, Step::to_hls, 3, 0, 0},
    {Code::rgb_to_hls, Kind::pixels, Step::to_hls, 3, 2, 0},
    {Code::hsv_to_bgr, Kind::pixels, Step::from_hsv, 3, 0, 0},
    {Code::hsv_to_rgb, Kind::pixels, Step::from_hsv, 3, 2, 0},
    {Code::lab_to_bgr, Kind::pixels, Step::from_lab, 3, 0, 0},
    {Code::lab_to_rgb, Kind::pixels, Step::from_lab, 3, 2, 0},
    {Code::luv_to_bgr, Kind::pixels, Step::from_luv, 3, 0, 0},
    {Code::luv_to_rgb, Kind::pixels, Step::from_luv, 3, 2, 0},
    {Code::hls_to_bgr, Kind::pixels, Step::from_hls, 3, 0, 0},
    {Code::hls_to_rgb, Kind::pixels, Step::from_hls, 3, 2, 0},
    {Code::bayer_bg_to_bgr_vng, Kind::bayer_vng, Step::reorder, 3, 0, 0},
    {Code::bayer_gb_to_bgr_vng, Kind::bayer_vng, Step::reorder, 3, 0, 1},
    {Code::bayer_rg_to_bgr_vng, Kind::bayer_vng, Step::reorder, 3, 0, 2},
    {Code::bayer_gr_to_bgr_vng, Kind::bayer_vng, Step::reorder, 3, 0, 3},
    {Code::bgr_to_hsv_full, Kind::pixels, Step::to_hsv, 3, 0, 1},
    {Code::rgb_to_hsv_full, Kind::pixels, Step::to_hsv, 3, 2, 1},
    {Code::bgr_to_hls_full, Kind::pixels, Step::to_hls, 3, 0, 1},
    {Code::rgb_to_hls_full, Kind::pixels, Step::to_hls, 3, 2, 1},
    {Code::hsv_to_bgr_full, Kind::pixels, Step::from_hsv, 3, 0, 1},
    {Code::hsv_to_rgb_full, Kind::pixels, Step::from_hsv, 3, 2, 1},
    {Code::hls_to_bgr_full, Kind::pixels, Step::from_hls, 3, 0, 1},
    {Code::hls_to_rgb_full, Kind::pixels, Step::from_hls, 3, 2, 1},
    {Code::lbgr_to_lab, Kind::pixels, Step::to_lab, 3, 0, 1},
    {Code::lrgb_to_lab, Kind::pixels, Step::to_lab, 3, 2, 1},
    {Code::lbgr_to_luv, Kind::pixels, Step::to_luv, 3, 0, 1},
    {Code::lrgb_to_luv, Kind::pixels, Step::to_luv, 3, 2, 1},
    {Code::lab_to_lbgr, Kind::pixels, Step::from_lab, 3, 0, 1},
    {Code::lab_to_lrgb, Kind::pixels, Step::from_lab, 3, 2, 1},
    {Code::luv_to_lbgr, Kind::pixels, Step::from_luv, 3, 0, 1},
    {Code::luv_to_lrgb, Kind::pixels, Step::from_luv, 3, 2, 1},
    {Code::bgr_to_yuv, Kind::pixels, Step::to_luma, 3, 0, 1},
    {Code::rgb_to_yuv, Kind::pixels, Step::to_luma, 3, 2, 1},
    {Code::yuv_to_bgr, Kind::pixels, Step::from_luma, 3, 0, 1},
    {Code::yuv_to_rgb, Kind::pixels, Step::from_luma, 3, 2, 1},
    {Code::bayer_bg_to_gray, Kind::bayer_gray, Step::reorder, 1, 0, 0},
    {Code::bayer_gb_to_gray, Kind::bayer_gray, Step::reorder, 1, 0, 1},
    {Code::bayer_rg_to_gray, Kind::bayer_gray, Step::reorder, 1, 0, 2},
    {Code::bayer_gr_to_gray, Kind::bayer_gray, Step::reorder, 1, 0, 3},
    {Code::yuv_to_rgb_nv12, Kind::two_planes, Step::reorder, 3, 2, 0},
    {Code::yuv_to_bgr_nv12, Kind::two_planes, Step::reorder, 3, 0, 0},
    {Code::yuv_to_rgb_nv21, Kind::two_planes, Step::reorder, 3, 2, 1},
    {Code::yuv_to_bgr_nv21, Kind::two_planes, Step::reorder, 3, 0, 1},
    {Code::yuv_to_rgba_nv12, Kind::two_planes, Step::reorder, 4, 2, 0},
    {Code::yuv_to_bgra_nv12, Kind::two_planes, Step::reorder, 4, 0, 0},
    {Code::yuv_to_rgba_nv21, Kind::two_planes, Step::reorder, 4, 2, 1},
    {Code::yuv_to_bgra_nv21, Kind::two_planes, Step::reorder, 4, 0, 1},
    {Code::yuv_to_rgb_yv12, Kind::three_planes, Step::reorder, 3, 2, 1},
    {Code::yuv_to_bgr_yv12, Kind::three_planes, Step::reorder, 3, 0, 1},
    {Code::yuv_to_rgb_i420, Kind::three_planes, Step::reorder, 3, 2, 0},
    {Code::yuv_to_bgr_i420, Kind::three_planes, Step::reorder, 3, 0, 0},
    {Code::yuv_to_rgba_yv12, Kind::three_planes, Step::reorder, 4, 2, 1},
    {Code::yuv_to_bgra_yv12, Kind::three_planes, Step::reorder, 4, 0, 1},
    {Code::yuv_to_rgba_i420, Kind::three_planes, Step::reorder, 4, 2, 0},
    {Code::yuv_to_bgra_i420, Kind::three_planes, Step::reorder, 4, 0, 0},
    {Code::yuv_to_gray_420, Kind::luma_420, Step::reorder, 1, 0, 0},
    {Code::yuv_to_rgb_uyvy, Kind::one_plane, Step::reorder, 3, 2, 2},
    {Code::yuv_to_bgr_uyvy, Kind::one_plane, Step::reorder, 3, 0, 2},
    {Code::yuv_to_rgba_uyvy, Kind::one_plane, Step::reorder, 4, 2, 2},
    {Code::yuv_to_bgra_uyvy, Kind::one_plane, Step::reorder, 4, 0, 2},
    {Code::yuv_to_rgb_yuyv, Kind::one_plane, Step::reorder, 3, 2, 0},
    {Code::yuv_to_bgr_yuyv, Kind::one_plane, Step::reorder, 3, 0, 0},
    {Code::yuv_to_rgb_yvyu, Kind::one_plane, Step::reorder, 3, 2, 1},
    {Code::yuv_to_bgr_yvyu, Kind::one_plane, Step::reorder, 3, 0, 1},
    {Code::yuv_to_rgba_yuyv, Kind::one_plane, Step::reorder, 4, 2, 0},
    {Code::yuv_to_bgra_yuyv, Kind::one_plane, Step::reorder, 4, 0, 0},
    {Code::yuv_to_rgba_yvyu, Kind::one_plane, Step::reorder, 4, 2, 1},
    {Code::yuv_to_bgra_yvyu, Kind::one_plane, Step::reorder, 4, 0, 1},
    {Code::yuv_to_gray_uyvy, Kind::luma_422, Step::reorder, 1, 0, 1},
    {Code::yuv_to_gray_yuyv, Kind::luma_422, Step::reorder, 1, 0, 0},
    {Code::rgba_to_mrgba, Kind::pixels, Step::premultiply, 4, 0, 0},
    {Code::mrgba_to_rgba, Kind::pixels, Step::unpremultiply, 4, 0, 0},
    {Code::rgb_to_yuv_i420, Kind::to_three_planes, Step::reorder, 1, 2, 0},
    {Code::bgr_to_yuv_i420, Kind::to_three_planes, Step::reorder, 1, 0, 0},
    {Code::rgba_to_yuv_i420, Kind::to_three_planes, Step::reorder, 1, 2, 0},
    {Code::bgra_to_yuv_i420, Kind::to_three_planes, Step::reorder, 1, 0, 0},
    {Code::rgb_to_yuv_yv12, Kind::to_three_planes, Step::reorder, 1, 2, 1},
    {Code::bgr_to_yuv_yv12, Kind::to_three_planes, Step::reorder, 1, 0, 1},
    {Code::rgba_to_yuv_yv12, Kind::to_three_planes, Step::reorder, 1, 2, 1},
    {Code::bgra_to_yuv_yv12, Kind::to_three_planes, Step::reorder, 1, 0, 1},
    {Code::bayer_bg_to_bgr_ea, Kind::bayer_edges, Step::reorder, 3, 0, 0},
    {Code::bayer_gb_to_bgr_ea, Kind::bayer_edges, Step::reorder, 3, 0, 1},
    {Code::bayer_rg_to_bgr_ea, Kind::bayer_edges, Step::reorder, 3, 0, 2},
    {Code::bayer_gr_to_bgr_ea, Kind::bayer_edges, Step::reorder, 3, 0, 3},
    {Code::bayer_bg_to_bgra, Kind::bayer, Step::reorder, 4, 0, 0},
    {Code::bayer_gb_to_bgra, Kind::bayer, Step::reorder, 4, 0, 1},
    {Code::bayer_rg_to_bgra, Kind::bayer, Step::reorder, 4, 0, 2},
    {Code::bayer_gr_to_bgra, Kind::bayer, Step::reorder, 4, 0, 3},
    {Code::rgb_to_yuv_uyvy, Kind::to_one_plane, Step::reorder, 2, 2, 2},
    {Code::bgr_to_yuv_uyvy, Kind::to_one_plane, Step::reorder, 2, 0, 2},
    {Code::rgba_to_yuv_uyvy, Kind::to_one_plane, Step::reorder, 2, 2, 2},
    {Code::bgra_to_yuv_uyvy, Kind::to_one_plane, Step::reorder, 2, 0, 2},
    {Code::rgb_to_yuv_yuyv, Kind::to_one_plane, Step::reorder, 2, 2, 0},
    {Code::bgr_to_yuv_yuyv, Kind::to_one_plane, Step::reorder, 2, 0, 0},
    {Code::rgb_to_yuv_yvyu, Kind::to_one_plane, Step::reorder, 2, 2, 1},
    {Code::bgr_to_yuv_yvyu, Kind::to_one_plane, Step::reorder, 2, 0, 1},
    {Code::rgba_to_yuv_yuyv, Kind::to_one_plane, Step::reorder, 2, 2, 0},
    {Code::bgra_to_yuv_yuyv, Kind::to_one_plane, Step::reorder, 2, 0, 0},
    {Code::rgba_to_yuv_yvyu, Kind::to_one_plane, Step::reorder, 2, 2, 1},
    {Code::bgra_to_yuv_yvyu, Kind::to_one_plane, Step::reorder, 2, 0, 1},
};

const Row& row_of(ColorCode code) {
  for (const Row& row : kRows)
    if (row.code == code) return row;
  throw Unsupported("cvtColor: there is no conversion of number {}", static_cast<int>(code));
}

constexpr double kToXyz[9] = {0.180423, 0.357580, 0.412453, 0.072169, 0.715160, 0.212671, 0.950227, 0.119193, 0.019334};  // of b, g, r
constexpr double kFromXyz[9] = {0.055648, -0.204043, 1.057311, -0.969256, 1.875991, 0.041556, 3.240479, -1.53715, -0.498535};

ColorWeights matrix(const double (&weights)[9]) {
  ColorWeights result{};
  for (size_t i = 0; i < 9; ++i) {
    result.i[i] = static_cast<int>(std::nearbyint(weights[i] * 4096));
    result.f[i] = static_cast<float>(weights[i]);
  }
  return result;
}

const ColorWeights& weights_of(Step step, bool yuv) {
  // In units of 2^-14. To: blue, green, red in luma; red and blue difference. From: red of red difference, green of it, green of blue
  // difference, blue of it.
  static constexpr ColorWeights kToCrCb{{1868, 9617, 4899, 11682, 9241}, {0.114f, 0.587f, 0.299f, 0.713f, 0.564f}};
  static constexpr ColorWeights kToUv{{1868, 9617, 4899, 14369, 8061}, {0.114f, 0.587f, 0.299f, 0.877f, 0.492f}};
  static constexpr ColorWeights kFromCrCb{{22987, -11698, -5636, 29049}, {1.403f, -0.714f, -0.344f, 1.773f}};
  static constexpr ColorWeights kFromUv{{18678, -9519, -6472, 33292}, {1.140f, -0.581f, -0.395f, 2.032f}};
  static const ColorWeights to_xyz = matrix(kToXyz), from_xyz = matrix(kFromXyz);
  switch (step) {
    case Step::to_luma:
      return yuv ? kToUv : kToCrCb;
    case Step::from_luma:
      return yuv ? kFromUv : kFromCrCb;
    case Step::to_matrix:
      return to_xyz;
    default:
      return from_xyz;
  }
}

bool makes_colors(const Row& row) {
  switch (row.kind) {
    case Kind::pixels:
      switch (row.step) {
        case Step::reorder:
        case Step::from_gray:
        case Step::from_luma:
        case Step::from_matrix:
        case Step::from_hsv:
        case Step::from_hls:
        case Step::from_lab:
        case Step::from_luv:
          return true;
        default:
          return false;
      }
    case Kind::from_packed:
      return row.to != 1;
    case Kind::two_planes:
    case Kind::three_planes:
    case Kind::one_plane:
    case Kind::bayer:
    case Kind::bayer_vng:
      return true;
    default:
      return false;
  }
}

constexpr std::string_view kName = "cvtColor";

void check_multiple(const ImageView& image, int64_t width, int64_t height) {
  if (image.width() % width || image.height() % height)
    throw InvalidArgument("cvtColor: the height of the picture is a multiple of {} and its width of {}, not {}", height, width,
                          to_string(image));
}

Tensor convert_pixels(const ImageView& image, const Row& code, int channels, const Output& output) {
  const Step step = code.step == Step::reorder && image.channels() == 1 ? Step::from_gray : code.step;
  if (step == Step::from_gray)
    check_channels(kName, image, {1});
  else if (step == Step::premultiply || step == Step::unpremultiply)
    check_channels(kName, image, {4});
  else if (makes_colors(code) && step != Step::reorder)
    check_channels(kName, image, {3});
  else
    check_channels(kName, image, {3, 4});
  const size_t dtype = image.dtype() == DType::u8 ? 0 : image.dtype() == DType::u16 ? 1 : image.dtype() == DType::f32 ? 2 : 3;
  const ColorLoop loop = dtype == 3 ? nullptr : color_loops().steps[dtype][static_cast<size_t>(step)];
  if (!loop) throw Unsupported("cvtColor: conversion {} is not there for a picture of {}", static_cast<int>(code.code), image.dtype());
  ColorRow row{static_cast<int>(image.channels()), channels, code.blue};
  const bool option = code.option != 0;
  switch (step) {
    case Step::to_luma:
    case Step::from_luma:
    case Step::to_matrix:
    case Step::from_matrix:
      row.weights = &weights_of(step, option);
      row.order = option;
      break;
    case Step::to_hsv:
    case Step::to_hls:
    case Step::from_hsv:
    case Step::from_hls: {
      const bool back = step == Step::from_hsv || step == Step::from_hls;
      // OpenCV's ranges. Its own code for HLS has 256, the library that it calls on x86 has 255; this is within 1 of both.
      row.hue = dtype == 2 ? 360.0f : !option ? 180.0f : back || step == Step::to_hls ? 255.0f : 256.0f;
      row.factors = hsv_factors(option);
      break;
    }
    case Step::to_lab:
    case Step::from_lab:
    case Step::to_luv:
    case Step::from_luv:
      row.tables = &lab_tables();
      row.linear = option;
      break;
    default:
      break;
  }
  Result result(kName, output, image.dtype(), image.height(), image.width(), channels, {&image});
  const int64_t at_once = rows_at_once({&image, &result.view()});
  const ImageView from = with_rows_joined(image, at_once);
  const MutableImageView to = with_rows_joined(result.view(), at_once);
  const bool light = step == Step::reorder || step == Step::from_gray || step == Step::to_gray;
  (light ? for_light_rows : for_rows)(from.height(),
                                      light ? from.row_bytes() + to.row_bytes() : from.width() * (from.channels() + channels),
                                      [&](int64_t first, int64_t last) {
                                        for (int64_t y = first; y < last; ++y)
                                          loop(from.row<void>(y), to.row<void>(y), static_cast<size_t>(from.width()), row);
                                      });
  return result.finish();
}

Tensor convert_packed(const ImageView& given, const Row& code, int channels, const Output& output) {
  const bool to = code.kind == Kind::to_packed;
  check_dtype(kName, given, {DType::u8});
  if (!to)
    check_channels(kName, given, {2});
  else if (code.option >= 8)
    check_channels(kName, given, {1});
  else
    check_channels(kName, given, {3, 4});
  Result result(kName, output, DType::u8, given.height(), given.width(), channels, {&given});
  const int64_t at_once = rows_at_once({&given, &result.view()});
  const ImageView image = with_rows_joined(given, at_once);
  const MutableImageView made_rows = with_rows_joined(result.view(), at_once);
  const size_t width = static_cast<size_t>(image.width());
  for_light_rows(image.height(), 2 * image.width() * (image.channels() + channels), [&](int64_t first, int64_t last) {
    std::vector<uint16_t> words(width);  // pixels need not lie at even addresses
    for (int64_t y = first; y < last; ++y) {
      const auto at_word = [](const void* row) { return reinterpret_cast<uintptr_t>(row) % sizeof(uint16_t) == 0; };
      if (to) {
        auto* const out = made_rows.row<uint8_t>(y);
        uint16_t* const made = at_word(out) ? reinterpret_cast<uint16_t*>(out) : words.data();
        packed_loops().to_packed(image.row<uint8_t>(y), static_cast<int>(image.channels()), code.blue, code.option & 7, made, width);
        if (made == words.data()) std::memcpy(out, made, 2 * width);
      } else {
        const auto* const in = image.row<uint8_t>(y);
        const uint16_t* from = reinterpret_cast<const uint16_t*>(in);
        if (!at_word(in)) from = static_cast<const uint16_t*>(std::memcpy(words.data(), in, 2 * width));
        packed_loops().from_packed(from, made_rows.row<uint8_t>(y), channels, code.blue, code.option, width);
      }
    }
  });
  return result.finish();
}

/// Pairs of rows with one row of chroma; `chroma`: as they lie one after another.
Tensor from_420(const ImageView& luma, const Row& code, int channels, const Output& output, std::initializer_list<const ImageView*> read,
                FunctionRef<void(int64_t pair, YuvRow& row)> chroma) {
  Result result(kName, output, DType::u8, luma.height(), luma.width(), channels, read);
  for_rows(luma.height() / 2, luma.width() * 2 * (2 + channels), [&](int64_t first, int64_t last) {
    for (int64_t pair = first; pair < last; ++pair) {
      YuvRow row{};
      row.to = channels;
      row.blue = code.blue;
      chroma(pair, row);
      for (int64_t y = 2 * pair; y < 2 * pair + 2; ++y) {
        row.y = luma.row<uint8_t>(y);
        row.out = result.view().row<uint8_t>(y);
        yuv_loops().from_yuv(row, static_cast<size_t>(luma.width()));
      }
    }
  });
  return result.finish();
}

Tensor from_two_planes(const ImageView& luma, const ImageView& chroma, const Row& code, int channels, const Output& output,
                       std::initializer_list<const ImageView*> read) {
  return from_420(luma, code, channels, output, read, [&](int64_t pair, YuvRow& row) {
    row.layout = ChromaLayout::interleaved;
    row.swapped = code.option == 1;
    row.u = row.v = chroma.row<uint8_t>(pair);
  });
}

/// Where row `index` of the chroma planes starts: two of half the width lie in each row below the luma.
int64_t chroma_offset(const ImageView& frame, int64_t luma_height, int64_t index) {
  return (luma_height + index / 2) * frame.stride() + index % 2 * (frame.width() / 2);
}

Tensor from_yuv420(const ImageView& image, const Row& code, int channels, const Output& output) {
  check_dtype(kName, image, {DType::u8});
  check_channels(kName, image, {1});
  check_multiple(image, 2, 3);
  const int64_t height = image.height() / 3 * 2;
  const ImageView luma(DType::u8, height, image.width(), 1, image.data(), image.stride());
  if (code.kind == Kind::luma_420) {
    Result result(kName, output, DType::u8, height, image.width(), 1, {&image});
    copy(luma, result.view());
    return result.finish();
  }
  if (code.kind == Kind::two_planes) {
    const ImageView chroma(DType::u8, height / 2, image.width(), 1, image.row<void>(height), image.stride());
    return from_two_planes(luma, chroma, code, channels, output, {&image});
  }
  return from_420(luma, code, channels, output, {&image}, [&](int64_t pair, YuvRow& row) {
    row.layout = ChromaLayout::planes;
    row.u = image.row<uint8_t>(0) + chroma_offset(image, height, pair);
    row.v = image.row<uint8_t>(0) + chroma_offset(image, height, height / 2 + pair);
    if (code.option == 1) std::swap(row.u, row.v);
  });
}

Tensor to_yuv420(const ImageView& image, const Row& code, const Output& output) {
  check_dtype(kName, image, {DType::u8});
  check_channels(kName, image, {3, 4});
  check_multiple(image, 2, 2);
  Result result(kName, output, DType::u8, image.height() / 2 * 3, image.width(), 1, {&image});
  const MutableImageView& to = result.view();
  for_rows(image.height() / 2, image.width() * 2 * (2 + image.channels()), [&](int64_t first, int64_t last) {
    for (int64_t pair = first; pair < last; ++pair) {
      uint8_t* u = to.row<uint8_t>(0) + chroma_offset(to, image.height(), pair);
      uint8_t* v = to.row<uint8_t>(0) + chroma_offset(to, image.height(), image.height() / 2 + pair);
      if (code.option == 1) std::swap(u, v);
      for (int64_t y = 2 * pair; y < 2 * pair + 2; ++y)
        yuv_loops().to_yuv420(image.row<uint8_t>(y), static_cast<int>(image.channels()), code.blue, to.row<uint8_t>(y), y % 2 ? nullptr : u,
                              v, static_cast<size_t>(image.width()));
    }
  });
  return result.finish();
}

Tensor convert_422(const ImageView& image, const Row& code, int channels, const Output& output) {
  const bool to = code.kind == Kind::to_one_plane;
  check_dtype(kName, image, {DType::u8});
  if (to)
    check_channels(kName, image, {3, 4});
  else
    check_channels(kName, image, {2});
  if (code.kind != Kind::luma_422) check_multiple(image, 2, 1);
  Result result(kName, output, DType::u8, image.height(), image.width(), channels, {&image});
  const bool uyvy = code.option == 2;
  for_rows(image.height(), image.width() * (image.channels() + channels), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      const auto* in = image.row<uint8_t>(y);
      auto* out = result.view().row<uint8_t>(y);
      const size_t width = static_cast<size_t>(image.width());
      if (code.kind == Kind::luma_422) {
        for (size_t x = 0; x < width; ++x) out[x] = in[2 * x + static_cast<size_t>(code.option)];
      } else if (to) {
        const int u = uyvy ? 0 : code.option == 1 ? 3 : 1;
        yuv_loops().to_yuv422(in, static_cast<int>(image.channels()), code.blue, out, uyvy ? 1 : 0, u, (u + 2) % 4, width);
      } else {
        YuvRow row{};
        row.layout = uyvy ? ChromaLayout::uyvy : ChromaLayout::yuyv;
        row.swapped = code.option == 1;
        row.y = in;
        row.out = out;
        row.to = channels;
        row.blue = code.blue;
        yuv_loops().from_yuv(row, width);
      }
    }
  });
  return result.finish();
}

/// A mosaic by variable gradients. Beyond its border lies its mirror image, whose axis goes through the first pixels.
Tensor from_bayer_by_gradients(const ImageView& image, const Row& code, int channels, const Output& output) {
  const int64_t height = image.height(), width = image.width();
  Result result(kName, output, DType::u8, height, width, channels, {&image});
  const std::vector<int64_t> columns = border_positions(width, 2, 2, Border::reflect101);
  for_rows(height, width * 64, [&](int64_t first, int64_t last) {
    const size_t stride = static_cast<size_t>(width) + 4;
    std::vector<uint8_t> rows(5 * stride);  // row y of the picture is row (y + 5) % 5
    const auto read = [&](int64_t y) {
      const int64_t from = border_position(y, height, Border::reflect101);
      uint8_t* to = rows.data() + static_cast<size_t>((y + 5) % 5) * stride;
      pad_row(image.row<void>(from), width, 1, columns, 2, nullptr, to);
      return to;
    };
    for (int64_t y = first - 2; y < first + 2; ++y) read(y);
    for (int64_t y = first; y < last; ++y) {
      read(y + 2);
      GradientRow row{};
      for (int64_t k = 0; k < 5; ++k) row.rows[k] = rows.data() + static_cast<size_t>((y + k + 3) % 5) * stride;
      row.out = result.view().row<uint8_t>(y);
      row.to = channels;
      row.green_first = (y + code.option) % 2 == 1;
      row.blue = ((code.option & 2) != 0) == (y % 2 == 0);
      bayer_loops().gradients(row, static_cast<size_t>(width));
    }
  });
  return result.finish();
}

/// A mosaic of one colour for each pixel. Pixels at the border take their neighbour's colours.
Tensor from_bayer(const ImageView& image, const Row& code, int channels, const Output& output) {
  check_channels(kName, image, {1});
  if (code.kind == Kind::bayer_vng) {
    check_dtype(kName, image, {DType::u8});
    if (std::min(image.height(), image.width()) >= 8) return from_bayer_by_gradients(image, code, channels, output);
  }
  check_dtype(kName, image, {DType::u8, DType::u16});
  const int64_t height = image.height(), width = image.width(), pixel = channels * static_cast<int64_t>(size_of(image.dtype()));
  Result result(kName, output, image.dtype(), height, width, channels, {&image});
  const MutableImageView& to = result.view();
  if (height <= 2 || width <= 2) {
    for (int64_t y = 0; y < height; ++y) std::memset(to.row<void>(y), 0, static_cast<size_t>(width * pixel));
    return result.finish();
  }
  const BayerStep step = code.kind == Kind::bayer_gray    ? BayerStep::gray
                         : code.kind == Kind::bayer_edges ? BayerStep::edges
                                                          : BayerStep::mean;
  const auto interior = [&](int64_t y, int64_t first, int64_t last) {
    BayerRow row{};
    row.above = image.row<void>(y - 1), row.here = image.row<void>(y), row.below = image.row<void>(y + 1);
    row.out = to.row<std::byte>(y) + first * pixel;
    row.to = channels;
    row.first = first;
    row.green_first = ((code.option & 1) + y - 1 + first - 1) % 2 == 1;
    row.blue = ((code.option & 2) == 0) == (y % 2 == 1);
    (image.dtype() == DType::u8 ? bayer_loops().bayer_u8 : bayer_loops().bayer_u16)(row, step, static_cast<size_t>(last - first));
  };
  for_rows(height - 2, width * (3 + channels), [&](int64_t first, int64_t last) {
    for (int64_t y = first + 1; y < last + 1; ++y) {
      interior(y, 1, width - 1);
      auto* row = to.row<std::byte>(y);
      std::memcpy(row, row + pixel, static_cast<size_t>(pixel));
      std::memcpy(row + (width - 1) * pixel, row + (width - 2) * pixel, static_cast<size_t>(pixel));
    }
  });
  std::memcpy(to.row<void>(0), to.row<void>(1), static_cast<size_t>(width * pixel));
  std::memcpy(to.row<void>(height - 1), to.row<void>(height - 2), static_cast<size_t>(width * pixel));
  return result.finish();
}

}  // namespace

Tensor convert_color(const ImageView& image, ColorCode wanted, int channels, Output output) try {
  const Row& code = row_of(wanted);
  check_not_empty(kName, image);
  if (channels <= 0 || !makes_colors(code))
    channels = code.to;
  else if (channels != 3 && channels != 4)
    throw InvalidArgument("cvtColor: dstCn is 3, 4 or 0 (as the code says), not {}", channels);
  switch (code.kind) {
    case Kind::pixels:
      return convert_pixels(image, code, channels, output);
    case Kind::from_packed:
    case Kind::to_packed:
      return convert_packed(image, code, channels, output);
    case Kind::two_planes:
    case Kind::three_planes:
    case Kind::luma_420:
      return from_yuv420(image, code, channels, output);
    case Kind::to_three_planes:
      return to_yuv420(image, code, output);
    case Kind::one_plane:
    case Kind::to_one_plane:
    case Kind::luma_422:
      return convert_422(image, code, channels, output);
    default:
      return from_bayer(image, code, channels, output);
  }
} catch (...) {
  throw_as_error();
}

Tensor convert_color_two_planes(const ImageView& luma, const ImageView& chroma, ColorCode wanted, Output output) try {
  constexpr std::string_view kTwo = "cvtColorTwoPlane";
  const Row& code = row_of(wanted);
  if (code.kind != Kind::two_planes)
    throw Unsupported("cvtColorTwoPlane: conversion {} is not from NV12 or NV21", static_cast<int>(wanted));
  check_not_empty(kTwo, luma);
  check_dtype(kTwo, luma, {DType::u8});
  check_dtype(kTwo, chroma, {DType::u8});
  check_channels(kTwo, luma, {1});
  check_channels(kTwo, chroma, {2});
  if (luma.width() != 2 * chroma.width() || luma.height() != 2 * chroma.height())
    throw InvalidArgument("cvtColorTwoPlane: luma has twice the width and height of chroma, not {} and {}", to_string(luma),
                          to_string(chroma));
  return from_two_planes(luma, chroma, code, code.to, output, {&luma, &chroma});
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
