// SPDX-License-Identifier: Apache-2.0
// Pictures from PNG and JPEG files, for the demo.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

/// Throws std::runtime_error with the path.
Picture read_picture(const std::string& path);

/// Part of a picture, scaled with bilinear interpolation, as a planar float image: channel order blue, green, red; value (v / 255 - 0.5) /
/// 0.5.
std::vector<float> planar_bgr(const Picture& picture, double left, double top, double right, double bottom, int width, int height);
