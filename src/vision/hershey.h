// SPDX-License-Identifier: Apache-2.0
// The fonts that Dr. A. V. Hershey created while working at the U. S. National Bureau of Standards. The format of their data is James
// Hurt's, of Cognition, Inc.: pairs of letters are coordinates, counted from 'R'.
#pragma once
#include <string_view>
#include <vector>

#include "vision/canvas.h"

namespace minnow::vision {

struct HersheyFont {
  int base_line, cap_line;  // how far letters reach below and above the base line
  /// From the space on; Font::complex has the Cyrillic letters after '~' and one more. A glyph is its left and its right side, then the
  /// corners of its strokes; a space begins another stroke.
  std::vector<std::string_view> glyphs;
};
/// Throws InvalidArgument where there is no such font.
HersheyFont hershey_font(Font font);

}  // namespace minnow::vision
