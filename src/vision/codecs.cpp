// SPDX-License-Identifier: Apache-2.0
// JPEG, through libjpeg-turbo, which leaves by longjmp where a file is damaged: the functions between setjmp and the library own nothing.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <jerror.h>  // behind jpeglib.h
#include <jpeglib.h>

#include "base/no_memory.h"
#include "base/os.h"
#include "vision/picture_file.h"

namespace minnow::vision {
namespace {

// libjpeg's own error manager writes to stderr, and refers to it in a way that keeps Debian's archive out of shared objects: here is
// another one, over the library's table of messages.
#define JCOPYRIGHT_SHORT ""
#define JVERSION ""
constexpr const char* kMessages[] = {
#define JMESSAGE(code, text) text,
#include <jerror.h>
};

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];

  void describe() {
    const bool known = msg_code > 0 && static_cast<size_t>(msg_code) < std::size(kMessages);
    const char* pattern = known ? kMessages[msg_code] : "an unknown fault";
    const auto& i = msg_parm.i;
    if (std::strstr(pattern, "%s"))
      std::snprintf(text, sizeof text, pattern, msg_parm.s);
    else
      std::snprintf(text, sizeof text, pattern, i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7]);
  }
};

struct Jpeg {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  int orientation = 1;

  Jpeg() {
    info.err = &errors;
    errors.error_exit = [](j_common_ptr common) {
      auto* self = static_cast<JpegErrors*>(common->err);
      self->describe();
      std::longjmp(self->jump, 1);
    };
    errors.emit_message = [](j_common_ptr common, int level) {
      auto* self = static_cast<JpegErrors*>(common->err);
      if (level >= 0 || (self->msg_code != JWRN_JPEG_EOF && self->msg_code != JWRN_HIT_MARKER)) return;  // data that ends too early
      self->describe();
      std::longjmp(self->jump, 1);
    };
    errors.output_message = [](j_common_ptr) {};
    errors.format_message = [](j_common_ptr, char* text) { *text = 0; };
    errors.reset_error_mgr = [](j_common_ptr common) { common->err->num_warnings = 0, common->err->msg_code = 0; };
  }
  ~Jpeg() { jpeg_destroy_decompress(&info); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
};

/// The orientation in an EXIF block (1 to 8); 1 where there is none. CIPA DC-008, tag 0x0112 of the first directory.
int orientation_of(const jpeg_marker_struct* marker) {
  for (; marker; marker = marker->next) {
    const uint8_t* data = marker->data;
    const size_t size = marker->data_length;
    if (marker->marker != JPEG_APP0 + 1 || size < 14 || std::memcmp(data, "Exif\0\0", 6) != 0) continue;
    const uint8_t* tiff = data + 6;
    const size_t bytes = size - 6;
    const bool little = tiff[0] == 'I';
    const auto u16 = [&](size_t at) { return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1]; };
    const auto u32 = [&](size_t at) {
      return little ? static_cast<uint32_t>(u16(at)) | static_cast<uint32_t>(u16(at + 2)) << 16
                    : static_cast<uint32_t>(u16(at)) << 16 | static_cast<uint32_t>(u16(at + 2));
    };
    const size_t directory = u32(4);
    if (directory > bytes - 2) continue;
    const size_t entries = static_cast<size_t>(u16(directory));
    for (size_t i = 0; i < entries && directory + 2 + 12 * (i + 1) <= bytes; ++i) {
      const size_t at = directory + 2 + 12 * i;
      if (u16(at) == 0x0112) {
        const int value = u16(at + 8);
        return value >= 1 && value <= 8 ? value : 1;
      }
    }
  }
  return 1;
}

bool start_jpeg(Jpeg& jpeg, const uint8_t* data, size_t size, ReadMode mode, FileSize& out) {
  if (setjmp(jpeg.errors.jump)) return false;
  jpeg_create_decompress(&jpeg.info);
  jpeg_mem_src(&jpeg.info, data, static_cast<unsigned long>(size));
  jpeg_save_markers(&jpeg.info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&jpeg.info, TRUE);
  const bool gray = mode == ReadMode::grayscale || (mode == ReadMode::unchanged && jpeg.info.num_components == 1);
  const bool inks = jpeg.info.num_components == 4;
  jpeg.info.out_color_space = inks ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_EXT_BGR;
  out = {static_cast<int64_t>(jpeg.info.image_height), static_cast<int64_t>(jpeg.info.image_width), inks ? 4 : gray ? 1 : 3, false};
  if (mode != ReadMode::unchanged) jpeg.orientation = orientation_of(jpeg.info.marker_list);
  return true;
}

bool finish_jpeg(Jpeg& jpeg, uint8_t* out, size_t stride) {
  if (setjmp(jpeg.errors.jump)) return false;
  // A picture of many scans of few bytes would take long: each scan is a pass over all of it.
  jpeg_start_decompress(&jpeg.info);
  while (jpeg.info.output_scanline < jpeg.info.output_height) {
    JSAMPROW row = out + stride * jpeg.info.output_scanline;
    jpeg_read_scanlines(&jpeg.info, &row, 1);
  }
  jpeg_finish_decompress(&jpeg.info);
  return true;
}

/// Turned and mirrored as EXIF's orientation says.
Tensor oriented(const Tensor& image, int orientation) {
  if (orientation == 1) return image;
  const Picture from = picture_of(image, "imread");
  const bool across = orientation >= 5;  // rows become columns
  const FileSize size{across ? from.width : from.height, across ? from.height : from.width, from.channels, false};
  Tensor result = tensor_of(size);
  uint8_t* out = result.writable().data<uint8_t>();
  const uint8_t* in = static_cast<const uint8_t*>(from.data);
  const bool right_left = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;  // along the source's columns
  const bool bottom_up = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;   // along its rows
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x) {
      int64_t row = across ? x : y, column = across ? y : x;
      if (right_left) column = from.width - 1 - column;
      if (bottom_up) row = from.height - 1 - row;
      const uint8_t* pixel = in + static_cast<size_t>((row * from.width + column) * from.channels);
      for (int64_t c = 0; c < from.channels; ++c) *out++ = pixel[c];
    }
  return result;
}

Tensor decode_jpeg(std::span<const std::byte> bytes, ReadMode mode, const std::string& name) {
  Jpeg jpeg;
  FileSize size;
  if (!start_jpeg(jpeg, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), mode, size))
    throw InvalidModel("{}: the JPEG file is damaged: {}", name, jpeg.errors.text);
  check_size(size, name);
  if (size.channels == 4) throw Unsupported("{}: JPEG files of four inks (CMYK) are not read", name);
  Tensor tensor = tensor_of(size);
  if (!finish_jpeg(jpeg, tensor.writable().data<uint8_t>(), static_cast<size_t>(size.width * size.channels)))
    throw InvalidModel("{}: the JPEG file is damaged: {}", name, jpeg.errors.text);
  return oriented(tensor, jpeg.orientation);
}

}  // namespace

Tensor decode_image(std::span<const std::byte> bytes, ReadMode mode, const std::string& name) try {
  const auto starts = [&](std::string_view mark) {
    return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
  };
  if (starts("\xff\xd8\xff")) return decode_jpeg(bytes, mode, name);
  if (starts("\x89PNG\r\n\x1a\n")) return decode_png(bytes, mode, name);
  throw Unsupported("{}: the file is neither JPEG nor PNG", name);
} catch (...) {
  throw_as_error();
}

Tensor read_image(const std::string& path, ReadMode mode) try {
  return decode_image(os::MappedFile::open(path)->bytes(), mode, path);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
