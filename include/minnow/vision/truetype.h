// SPDX-License-Identifier: Apache-2.0
// Text in TrueType and OpenType fonts. The FreeType library (libfreetype.so.6) is looked for when a font is opened; builds without its
// headers have the class, and opening throws Unsupported.
#pragma once
#include <minnow/vision/drawing.h>

#include <memory>
#include <span>
#include <string>

namespace minnow::vision {

/// A font whose characters are drawn at any height. Copies share it; threads may use it at the same time, one after the other.
class MINNOW_API TrueTypeFont {
 public:
  /// The face `index` of a file. Throws IoError where the file or FreeType cannot be read, InvalidArgument for a file that is no font.
  explicit TrueTypeFont(const std::string& path, int index = 0);
  /// The same of a file's bytes, which are copied.
  explicit TrueTypeFont(std::span<const std::byte> file, int index = 0);

  /// Text in UTF-8. `height`: of the font in pixels, from 1 to 4096. `thickness`: negative fills the characters, else their outlines are
  /// drawn so thick. Characters that the font lacks are drawn as its own sign for them.
  ///
  ///   img                 any dtype, 1 to 4 channels, written in place; LineType::antialiased blends into u8, else a pixel is drawn where
  ///                       characters cover half of it
  ///   origin              the upper left corner of the text; `bottom_left_origin`: the left end of its base line
  ///   throws              InvalidArgument for a height or thickness beyond these ranges, or a damaged font
  void put_text(const MutableImageView& img, const std::string& text, const Point& origin, int height, const Scalar4& color, int thickness,
                LineType type, bool bottom_left_origin) const;
  /// The size of the text above its base line, and how far it reaches below it.
  TextSize text_size(const std::string& text, int height, int thickness) const;

 private:
  class Face;
  std::shared_ptr<const Face> face_;
};

}  // namespace minnow::vision
