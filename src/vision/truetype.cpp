// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/truetype.h>

#include <mutex>

#include "base/os.h"
#include "vision/canvas.h"

#ifdef MINNOW_FREETYPE
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H
#include FT_STROKER_H
#endif

namespace minnow::vision {

#ifdef MINNOW_FREETYPE

namespace {

/// FreeType's functions, as far as they are used.
struct FreeType {
  os::SharedLibrary library{"libfreetype.so.6"};
#define MINNOW_FREETYPE_FUNCTION(name) decltype(&::name) name = find<decltype(&::name)>(#name)
  MINNOW_FREETYPE_FUNCTION(FT_Init_FreeType);
  MINNOW_FREETYPE_FUNCTION(FT_Done_FreeType);
  MINNOW_FREETYPE_FUNCTION(FT_New_Memory_Face);
  MINNOW_FREETYPE_FUNCTION(FT_Done_Face);
  MINNOW_FREETYPE_FUNCTION(FT_Set_Pixel_Sizes);
  MINNOW_FREETYPE_FUNCTION(FT_Get_Char_Index);
  MINNOW_FREETYPE_FUNCTION(FT_Get_Kerning);
  MINNOW_FREETYPE_FUNCTION(FT_Load_Glyph);
  MINNOW_FREETYPE_FUNCTION(FT_Get_Glyph);
  MINNOW_FREETYPE_FUNCTION(FT_Done_Glyph);
  MINNOW_FREETYPE_FUNCTION(FT_Glyph_Get_CBox);
  MINNOW_FREETYPE_FUNCTION(FT_Glyph_To_Bitmap);
  MINNOW_FREETYPE_FUNCTION(FT_Glyph_Stroke);
  MINNOW_FREETYPE_FUNCTION(FT_Stroker_New);
  MINNOW_FREETYPE_FUNCTION(FT_Stroker_Set);
  MINNOW_FREETYPE_FUNCTION(FT_Stroker_Done);
#undef MINNOW_FREETYPE_FUNCTION

 private:
  template <class F>
  F find(const char* name) {
    void* const function = library.symbol(name);
    if (!function) throw IoError("libfreetype.so.6 has no function {}; FreeType 2.10 or later has it", name);
    return reinterpret_cast<F>(function);
  }
};

const FreeType& freetype() {
  static const FreeType functions;  // opened again after a failure
  return functions;
}

constexpr int kMostHeight = 4096;
constexpr FT_Pos kMostExtent = 64 * 16384;  // of a character, in 64ths of a pixel

/// The characters of UTF-8. Bytes that are none become U+FFFD.
std::vector<char32_t> characters_of(const std::string& text) {
  std::vector<char32_t> characters;
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = static_cast<uint8_t>(text[i++]);
    const int more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : -1;
    char32_t c = more <= 0 ? first : first & (0x3Fu >> more);
    bool good = more >= 0;
    for (int k = 0; good && k < more; ++k) {
      good = i < text.size() && (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80;
      if (good) c = c << 6 | (static_cast<uint8_t>(text[i++]) & 0x3F);
    }
    characters.push_back(good ? c : U'\uFFFD');
  }
  return characters;
}

}  // namespace

class TrueTypeFont::Face {
 public:
  Face(std::vector<std::byte> file, const std::string& name, int index) : file_(std::move(file)) {
    if (index < 0 || index > 65535) throw InvalidArgument("{}: a font's face has an index of at least 0, not {}", name, index);
    check(functions_.FT_Init_FreeType(&library_), "FreeType does not start");
    if (functions_.FT_New_Memory_Face(library_, reinterpret_cast<const FT_Byte*>(file_.data()), static_cast<FT_Long>(file_.size()), index,
                                      &face_) != 0) {
      functions_.FT_Done_FreeType(library_);
      throw InvalidArgument("{}: face {} is not one of a font that FreeType reads", name, index);
    }
    if (!FT_IS_SCALABLE(face_)) {
      close();
      throw InvalidArgument("{}: the font has pictures of its characters, not outlines", name);
    }
  }
  ~Face() { close(); }
  Face(const Face&) = delete;
  Face& operator=(const Face&) = delete;

  void draw(const MutableImageView& img, const std::string& text, const Point& origin, int height, const Scalar4& color, int thickness,
            LineType type, bool bottom_left) const {
    const Canvas canvas("putText", img, color, type, thickness, 0, true);
    const bool blend = canvas.antialiased() && img.dtype() == DType::u8;
    const std::vector<std::byte> pixel = pixel_of(color, img.dtype(), img.channels());
    const int64_t base = int64_t{origin.y} + (bottom_left ? 0 : height);
    for_glyphs("putText", text, height, thickness, [&](FT_Glyph& glyph, FT_Pos x) {
      FT_BBox box;
      functions_.FT_Glyph_Get_CBox(glyph, FT_GLYPH_BBOX_SUBPIXELS, &box);
      if (box.xMin < -kMostExtent || box.xMax > kMostExtent || box.yMin < -kMostExtent || box.yMax > kMostExtent)
        throw InvalidArgument("putText: a character of the font is larger than {} pixels", kMostExtent / 64);
      FT_Vector shift{x & 63, 0};
      check(functions_.FT_Glyph_To_Bitmap(&glyph, FT_RENDER_MODE_NORMAL, &shift, 1), "the character cannot be drawn");
      const FT_BitmapGlyph drawn = reinterpret_cast<FT_BitmapGlyph>(glyph);
      const FT_Bitmap& bitmap = drawn->bitmap;
      const int64_t left = int64_t{origin.x} + (x >> 6) + drawn->left, top = base - drawn->top;
      for (int64_t y = std::max<int64_t>(0, -top); y < std::min<int64_t>(bitmap.rows, img.height() - top); ++y) {
        const unsigned char* const covered = bitmap.buffer + y * bitmap.pitch;
        for (int64_t c = std::max<int64_t>(0, -left); c < std::min<int64_t>(bitmap.width, img.width() - left); ++c) {
          if (!blend) {
            if (covered[c] >= 128) canvas.put(left + c, top + y);
          } else if (covered[c]) {
            uint8_t* const to = img.row<uint8_t>(top + y) + (left + c) * img.channels();
            for (size_t k = 0; k < pixel.size(); ++k)
              to[k] = static_cast<uint8_t>((to[k] * (255 - covered[c]) + static_cast<int>(pixel[k]) * covered[c] + 127) / 255);
          }
        }
      }
    });
  }

  TextSize size(const std::string& text, int height, int thickness) const {
    FT_BBox all{0, 0, 0, 0};
    bool any = false;
    for_glyphs("getTextSize", text, height, thickness, [&](FT_Glyph& glyph, FT_Pos x) {
      FT_BBox box;
      functions_.FT_Glyph_Get_CBox(glyph, FT_GLYPH_BBOX_SUBPIXELS, &box);
      if (box.xMin == box.xMax) return;  // a space
      all.xMin = any ? std::min(all.xMin, box.xMin + x) : box.xMin + x, all.xMax = any ? std::max(all.xMax, box.xMax + x) : box.xMax + x;
      all.yMin = std::min(all.yMin, box.yMin), all.yMax = std::max(all.yMax, box.yMax);
      any = true;
    });
    const auto pixels = [](FT_Pos length) { return static_cast<int>(std::clamp<FT_Pos>((length + 63) >> 6, 0, 1 << 30)); };
    return {{pixels(all.xMax - std::min<FT_Pos>(all.xMin, 0)), pixels(all.yMax)}, pixels(-all.yMin)};
  }

 private:
  static void check(FT_Error error, std::string_view what) {
    if (error == FT_Err_Out_Of_Memory) throw std::bad_alloc();
    if (error != 0) throw InvalidArgument("{} (FreeType's error {})", what, error);
  }
  void close() noexcept {
    functions_.FT_Done_Face(face_);
    functions_.FT_Done_FreeType(library_);
  }

  /// Calls use(glyph, its place along the line in 64ths of a pixel) for the characters of a text. `use` may make a bitmap of the glyph.
  template <class F>
  void for_glyphs(std::string_view function, const std::string& text, int height, int thickness, F&& use) const {
    if (height < 1 || height > kMostHeight)
      throw InvalidArgument("{}: the height of the font is between 1 and {} pixels, not {}", function, kMostHeight, height);
    if (thickness > kMostHeight)
      throw InvalidArgument("{}: outlines are at most {} pixels thick, not {}", function, kMostHeight, thickness);
    const std::lock_guard one(lock_);
    check(functions_.FT_Set_Pixel_Sizes(face_, 0, static_cast<FT_UInt>(height)), "the font does not have this height");
    struct Stroker {
      const FreeType& functions;
      FT_Stroker is = nullptr;
      ~Stroker() {
        if (is) functions.FT_Stroker_Done(is);
      }
    } stroker{functions_};
    if (thickness > 0) {
      check(functions_.FT_Stroker_New(library_, &stroker.is), "outlines cannot be drawn");
      functions_.FT_Stroker_Set(stroker.is, thickness * 32, FT_STROKER_LINECAP_ROUND, FT_STROKER_LINEJOIN_ROUND, 0);
    }
    FT_Pos x = 0;
    FT_UInt before = 0;
    for (const char32_t c : characters_of(text)) {
      const FT_UInt index = functions_.FT_Get_Char_Index(face_, c);
      FT_Vector kerning{0, 0};
      if (before && FT_HAS_KERNING(face_) && functions_.FT_Get_Kerning(face_, before, index, FT_KERNING_UNFITTED, &kerning) == 0)
        x += kerning.x;
      before = index;
      check(functions_.FT_Load_Glyph(face_, index, FT_LOAD_NO_BITMAP | FT_LOAD_NO_HINTING), "a character of the font is damaged");
      const FT_Pos advance = face_->glyph->advance.x;
      struct Owned {
        const FreeType& functions;
        FT_Glyph is = nullptr;
        ~Owned() {
          if (is) functions.FT_Done_Glyph(is);
        }
      } glyph{functions_};
      check(functions_.FT_Get_Glyph(face_->glyph, &glyph.is), "a character of the font is damaged");
      if (stroker.is) check(functions_.FT_Glyph_Stroke(&glyph.is, stroker.is, 1), "a character's outline cannot be drawn");
      use(glyph.is, x);
      x += std::clamp<FT_Pos>(advance, -kMostExtent, kMostExtent);
      if (x > FT_Pos{1} << 36) throw InvalidArgument("{}: the text is too long", function);
    }
  }

  const FreeType& functions_ = freetype();
  std::vector<std::byte> file_;
  FT_Library library_ = nullptr;
  FT_Face face_ = nullptr;
  mutable std::mutex lock_;
};

#else

class TrueTypeFont::Face {
 public:
  Face(std::vector<std::byte>, const std::string&, int) {
    throw Unsupported("this build has no TrueType fonts: FreeType's headers were missing (Debian package libfreetype-dev)");
  }
  void draw(const MutableImageView&, const std::string&, const Point&, int, const Scalar4&, int, LineType, bool) const {}
  TextSize size(const std::string&, int, int) const { return {}; }
};

#endif

TrueTypeFont::TrueTypeFont(const std::string& path, int index) try {
  const auto file = os::MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  face_ = std::make_shared<const Face>(std::vector<std::byte>(bytes.begin(), bytes.end()), path, index);
} catch (...) {
  throw_as_error();
}

TrueTypeFont::TrueTypeFont(std::span<const std::byte> file, int index) try
    : face_(std::make_shared<const Face>(std::vector<std::byte>(file.begin(), file.end()), "font", index)) {
} catch (...) {
  throw_as_error();
}

void TrueTypeFont::put_text(const MutableImageView& img, const std::string& text, const Point& origin, int height, const Scalar4& color,
                            int thickness, LineType type, bool bottom_left_origin) const {
  try {
    face_->draw(img, text, origin, height, color, thickness, type, bottom_left_origin);
  } catch (...) {
    throw_as_error();
  }
}

TextSize TrueTypeFont::text_size(const std::string& text, int height, int thickness) const {
  try {
    return face_->size(text, height, thickness);
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
