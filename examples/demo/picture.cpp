// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <jpeglib.h>
#include <png.h>

namespace {

Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) throw std::runtime_error(path + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  Picture picture{static_cast<int>(image.width), static_cast<int>(image.height), std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  const png_color white{255, 255, 255};
  if (!png_image_finish_read(&image, &white, picture.rgb.data(), 0, nullptr)) throw std::runtime_error(path + ": " + image.message);
  return picture;
}

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf jump;
};

// setjmp must not skip destructors: everything that owns something is the caller's.
bool decode_jpeg(std::FILE* file, Picture& picture, char* message) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr info) {
    auto* self = static_cast<JpegErrors*>(info->err);
    std::longjmp(self->jump, 1);
  };
  if (setjmp(errors.jump)) {
    errors.format_message(reinterpret_cast<j_common_ptr>(&jpeg), message);
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_stdio_src(&jpeg, file);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  picture.width = static_cast<int>(jpeg.output_width);
  picture.height = static_cast<int>(jpeg.output_height);
  picture.rgb.resize(size_t{3} * jpeg.output_width * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = picture.rgb.data() + size_t{3} * jpeg.output_width * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return true;
}

}  // namespace

Picture read_picture(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  unsigned char magic[8] = {};
  if (std::fread(magic, 1, sizeof magic, file.get()) == sizeof magic && png_sig_cmp(magic, 0, sizeof magic) == 0) return read_png(path);
  if (magic[0] != 0xff || magic[1] != 0xd8) throw std::runtime_error(path + ": is neither a PNG nor a JPEG file");
  std::rewind(file.get());
  Picture picture;
  char message[JMSG_LENGTH_MAX] = {};
  if (!decode_jpeg(file.get(), picture, message)) throw std::runtime_error(path + ": " + message);
  return picture;
}

std::vector<float> planar_bgr(const Picture& picture, double left, double top, double right, double bottom, int width, int height) {
  std::vector<float> planes(size_t{3} * static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    const double sy = std::clamp(top + (y + 0.5) * (bottom - top) / height - 0.5, 0.0, picture.height - 1.0);
    const int y0 = static_cast<int>(sy), y1 = std::min(y0 + 1, picture.height - 1);
    for (int x = 0; x < width; ++x) {
      const double sx = std::clamp(left + (x + 0.5) * (right - left) / width - 0.5, 0.0, picture.width - 1.0);
      const int x0 = static_cast<int>(sx), x1 = std::min(x0 + 1, picture.width - 1);
      const double fy = sy - y0, fx = sx - x0;
      for (int c = 0; c < 3; ++c) {
        const auto at = [&](int py, int px) {
          return double(picture.rgb[(static_cast<size_t>(py) * static_cast<size_t>(picture.width) + static_cast<size_t>(px)) * 3 +
                                    static_cast<size_t>(c)]);
        };
        const double value = (at(y0, x0) * (1 - fx) + at(y0, x1) * fx) * (1 - fy) + (at(y1, x0) * (1 - fx) + at(y1, x1) * fx) * fy;
        planes[(static_cast<size_t>(2 - c) * static_cast<size_t>(height) + static_cast<size_t>(y)) * static_cast<size_t>(width) +
               static_cast<size_t>(x)] = static_cast<float>((value / 255 - 0.5) / 0.5);
      }
    }
  }
  return planes;
}
