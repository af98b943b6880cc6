// SPDX-License-Identifier: Apache-2.0
// PNG, through libpng, which leaves by longjmp where a file is damaged: the functions between setjmp and the library own nothing.
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

#include "vision/codecs/codec.h"

// libpng's archive refers to stderr in a way that keeps it out of shared objects, for messages that are never printed here: all errors and
// warnings go to the functions below. The build gives the library this name instead.
extern "C" __attribute__((visibility("hidden"))) FILE* minnow_png_stderr;
FILE* minnow_png_stderr = nullptr;

namespace minnow::vision {
namespace {

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  bool writes;
  std::jmp_buf jump;
  char text[200] = "";
  bool no_memory = false;
  std::span<const uint8_t> left;  // of the file that is read
  Bytes* out = nullptr;

  explicit Png(bool writer) : writes(writer) {
    const auto fail = [](png_structp p, png_const_charp message) {
      auto* self = static_cast<Png*>(png_get_error_ptr(p));
      std::snprintf(self->text, sizeof self->text, "%s", message);
      std::longjmp(self->jump, 1);
    };
    const auto warn = [](png_structp, png_const_charp) {};
    png = writer ? png_create_write_struct(PNG_LIBPNG_VER_STRING, this, fail, warn)
                 : png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, warn);
    if (png) info = png_create_info_struct(png);
    if (!info) {
      destroy();
      throw std::bad_alloc();
    }
  }
  ~Png() { destroy(); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

 private:
  void destroy() {
    if (writes)
      png_destroy_write_struct(&png, &info);
    else
      png_destroy_read_struct(&png, &info, nullptr);
  }
};

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto* self = static_cast<Png*>(png_get_io_ptr(png));
  if (count > self->left.size()) png_error(png, "it ends too early");
  std::memcpy(to, self->left.data(), count);
  self->left = self->left.subspan(count);
}

void write_bytes(png_structp png, png_bytep from, size_t count) {
  auto* self = static_cast<Png*>(png_get_io_ptr(png));
  try {
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    self->out->insert(self->out->end(), bytes, bytes + count);
    return;
  } catch (...) {
    self->no_memory = true;
  }
  png_error(png, "no memory");
}

struct Header {
  int64_t width, height, row_bytes;
  int depth, color;
  PictureType type;
};

bool read_header(Png& p, Header& header) {
  if (setjmp(p.jump)) return false;
  png_set_read_fn(p.png, &p, read_bytes);
  png_set_user_limits(p.png, 0x7fffffff, 0x7fffffff);
  // A profile that this libpng knows as sRGB would make greys of linear light; newer ones, such as OpenCV's, read gAMA and sRGB alone.
  png_set_option(p.png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
  png_read_info(p.png, p.info);
  header.width = png_get_image_width(p.png, p.info);
  header.height = png_get_image_height(p.png, p.info);
  header.row_bytes = static_cast<int64_t>(png_get_rowbytes(p.png, p.info));
  header.depth = png_get_bit_depth(p.png, p.info);
  header.color = png_get_color_type(p.png, p.info);
  const bool colors = header.color & PNG_COLOR_MASK_COLOR, clear = png_get_valid(p.png, p.info, PNG_INFO_tRNS) != 0;
  header.type = {header.color & PNG_COLOR_MASK_ALPHA ? 4 : !colors ? 1 : clear ? 4 : 3, header.depth == 16 ? DType::u16 : DType::u8};
  return true;
}

/// `rows`: where each row goes.
bool read_pixels(Png& p, const Header& header, const PictureType& wanted, bool rgb, png_bytepp rows) {
  if (setjmp(p.jump)) return false;
  if (wanted.dtype == DType::u8 && header.depth == 16)
    png_set_strip_16(p.png);
  else
    png_set_swap(p.png);
  if (wanted.channels < 4)
    png_set_strip_alpha(p.png);
  else
    png_set_tRNS_to_alpha(p.png);
  const bool colors = header.color & PNG_COLOR_MASK_COLOR;
  if (header.color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p.png);
  if (!colors && header.depth < 8) png_set_expand_gray_1_2_4_to_8(p.png);
  if (wanted.channels == 1)
    png_set_rgb_to_gray(p.png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  else if (!colors)
    png_set_gray_to_rgb(p.png);
  else if (!rgb)
    png_set_bgr(p.png);
  png_set_interlace_handling(p.png);
  png_read_update_info(p.png, p.info);
  png_read_image(p.png, rows);
  png_read_end(p.png, p.info);
  return true;
}

bool write_picture(Png& p, const ImageView& image, int level, int strategy, int filter, bool bilevel, png_bytepp rows) {
  if (setjmp(p.jump)) return false;
  png_set_write_fn(p.png, &p, write_bytes, [](png_structp) {});
  png_set_compression_level(p.png, level);
  png_set_compression_strategy(p.png, strategy);
  png_set_filter(p.png, PNG_FILTER_TYPE_BASE, filter);
  const int64_t channels = image.channels();
  png_set_IHDR(p.png, p.info, static_cast<png_uint_32>(image.width()), static_cast<png_uint_32>(image.height()),
               bilevel                       ? 1
               : image.dtype() == DType::u16 ? 16
                                             : 8,
               channels == 1   ? PNG_COLOR_TYPE_GRAY
               : channels == 3 ? PNG_COLOR_TYPE_RGB
                               : PNG_COLOR_TYPE_RGBA,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(p.png, p.info);
  if (bilevel) png_set_packing(p.png);
  png_set_bgr(p.png);
  png_set_swap(p.png);
  png_write_image(p.png, rows);
  png_write_end(p.png, p.info);
  return true;
}

std::vector<png_bytep> rows_of(const ImageView& image) {
  std::vector<png_bytep> rows(static_cast<size_t>(image.height()));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = const_cast<png_bytep>(image.row<uint8_t>(static_cast<int64_t>(y)));
  return rows;
}

}  // namespace

Decoded decode_png(std::span<const uint8_t> file, const ReadRequest& request) {
  Png png(false);
  png.left = file;
  Header header{};
  if (!read_header(png, header)) request.damaged("PNG", png.text);
  request.check_size(header.width, header.height);
  // Deflate makes one byte of at most 1032.
  if (header.row_bytes > static_cast<int64_t>(file.size()) * 1032 / header.height) request.damaged("PNG", "it is too short for its size");
  const PictureType wanted = request.wanted(header.type);
  Tensor picture = new_image(wanted.dtype, header.height, header.width, wanted.channels);
  std::vector<png_bytep> rows = rows_of(writable(picture));
  if (!read_pixels(png, header, wanted, request.rgb(), rows.data())) request.damaged("PNG", png.text);
  png_bytep exif = nullptr;
  png_uint_32 bytes = 0;
  const bool has_exif = png_get_eXIf_1(png.png, png.info, &bytes, &exif) != 0;
  return {std::move(picture), has_exif ? exif_orientation({exif, bytes}) : 1};
}

Bytes encode_png(const ImageView& image, std::span<const int> options) {
  const bool bilevel = option(options, WriteOption::png_bilevel, 0, 0, 1) && image.channels() == 1;
  Tensor bits;  // 0 and 1 for each pixel
  ImageView from = image;
  if (bilevel) {
    bits = new_image(DType::u8, image.height(), image.width(), 1);
    const MutableImageView to = writable(bits);
    with_element("imwrite", image.dtype(), [&](auto element) {
      using T = decltype(element);
      for (int64_t y = 0; y < image.height(); ++y)
        for (int64_t x = 0; x < image.width(); ++x) to.row<uint8_t>(y)[x] = image.row<T>(y)[x] != 0;
    });
    from = to;
  }
  Png png(true);
  Bytes result;
  png.out = &result;
  std::vector<png_bytep> rows = rows_of(from);
  if (!write_picture(png, from, option(options, WriteOption::png_compression, 1, 0, 9), option(options, WriteOption::png_strategy, 3, 0, 4),
                     option(options, WriteOption::png_filter, PNG_FILTER_SUB, 0, PNG_ALL_FILTERS), bilevel, rows.data())) {
    if (png.no_memory) throw std::bad_alloc();
    throw InvalidArgument("imwrite: PNG: {}", png.text);
  }
  return result;
}

}  // namespace minnow::vision
