// SPDX-License-Identifier: Apache-2.0
// JPEG, through libjpeg-turbo, which leaves by longjmp where a file is damaged: the functions between setjmp and the library own nothing.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jerror.h>  // behind jpeglib.h
#include <jpeglib.h>

#include "vision/codecs/codec.h"

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

// Codes that are misread take more or fewer bytes than there are. Cameras leave a few bytes behind the last pixel, too, or padding.
constexpr int kMostBytesLeft = 8;

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
  std::span<const uint8_t> file;

  void connect() {
    error_exit = [](j_common_ptr common) { static_cast<JpegErrors*>(common->err)->leave(); };
    emit_message = [](j_common_ptr common, int level) {
      auto* self = static_cast<JpegErrors*>(common->err);
      if (level < 0 && self->is_damage(reinterpret_cast<j_decompress_ptr>(common))) self->leave();
    };
    output_message = [](j_common_ptr) {};
    format_message = [](j_common_ptr, char* to) { *to = 0; };
    reset_error_mgr = [](j_common_ptr common) { common->err->num_warnings = 0, common->err->msg_code = 0; };
  }
  /// Whether a warning means that pixels are wrong.
  bool is_damage(j_decompress_ptr info) const {
    switch (msg_code) {
      case JWRN_ADOBE_XFORM:  // these are numbers in headers that ordinary files have wrong
      case JWRN_JFIF_MAJOR:
      case JWRN_NOT_SEQUENTIAL:
        return false;
      case JWRN_EXTRANEOUS_DATA: {
        const ptrdiff_t count = msg_parm.i[0], end = info->src->next_input_byte - file.data();
        if (info->input_scan_number == 0 || count <= kMostBytesLeft || end < count || end > std::ssize(file)) return false;
        const std::span<const uint8_t> left = file.subspan(static_cast<size_t>(end - count), static_cast<size_t>(count));
        return std::any_of(left.begin(), left.end(), [](uint8_t byte) { return byte != 0 && byte != 0xff; });
      }
      default:
        return true;
    }
  }
  [[noreturn]] void leave() {
    describe();
    std::longjmp(jump, 1);
  }
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

// A picture of many scans of few bytes would take long: each is a pass over all of it. Encoders write about ten.
constexpr int kMostScans = 500;

struct Reader {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  jpeg_progress_mgr progress{};
  PictureType type;
  int orientation = 1;

  Reader() {
    errors.connect();
    info.err = &errors;
  }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

bool start(Reader& reader, std::span<const uint8_t> file) {
  if (setjmp(reader.errors.jump)) return false;
  reader.errors.file = file;
  jpeg_create_decompress(&reader.info);
  reader.info.progress = &reader.progress;
  reader.progress.progress_monitor = [](j_common_ptr common) {
    if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMostScans) return;
    common->err->msg_code = JERR_BAD_PROGRESSION;
    common->err->error_exit(common);
  };
  jpeg_mem_src(&reader.info, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_save_markers(&reader.info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&reader.info, TRUE);
  reader.type = {reader.info.num_components > 1 ? 3 : 1, DType::u8};
  for (const jpeg_marker_struct* marker = reader.info.marker_list; marker; marker = marker->next)
    if (marker->marker == JPEG_APP0 + 1 && marker->data_length >= 14 && std::memcmp(marker->data, "Exif\0\0", 6) == 0) {
      reader.orientation = exif_orientation({marker->data + 6, marker->data_length - 6});
      break;
    }
  return true;
}

/// Chooses the form in which the file is decoded, and the size of the result. False after an error.
bool choose(Reader& reader, bool colors, bool rgb, int reduction) {
  if (setjmp(reader.errors.jump)) return false;
  jpeg_decompress_struct& info = reader.info;
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : !colors ? JCS_GRAYSCALE : rgb ? JCS_EXT_RGB : JCS_EXT_BGR;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(reduction);
  jpeg_calc_output_dimensions(&info);
  return true;
}

/// Whether all scans were there: each component has one and, of a progressive file, all bits of its coefficients.
bool is_complete(jpeg_decompress_struct& info) {
  if (!jpeg_has_multiple_scans(&info)) return true;
  for (int c = 0; c < info.num_components; ++c) {
    if (!info.comp_info[c].quant_table) return false;
    if (info.progressive_mode && std::any_of(info.coef_bits[c], info.coef_bits[c] + DCTSIZE2, [](int bits) { return bits != 0; }))
      return false;
  }
  return true;
}

bool read_rows(Reader& reader, uint8_t* out, size_t stride) {
  if (setjmp(reader.errors.jump)) return false;
  jpeg_start_decompress(&reader.info);
  if (!is_complete(reader.info)) {
    std::snprintf(reader.errors.text, sizeof reader.errors.text, "its last scans are missing");
    return false;
  }
  while (reader.info.output_scanline < reader.info.output_height) {
    JSAMPROW row = out + stride * reader.info.output_scanline;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

/// Cyan, magenta, yellow and black as light; black is what is left of it.
Tensor light_of(const ImageView& inks, int64_t channels, bool rgb) {
  Tensor result = new_image(DType::u8, inks.height(), inks.width(), channels);
  const MutableImageView to = writable(result);
  for (int64_t y = 0; y < inks.height(); ++y) {
    const uint8_t* in = inks.row<uint8_t>(y);
    uint8_t* out = to.row<uint8_t>(y);
    for (int64_t x = 0; x < inks.width(); ++x, in += 4) {
      const int black = in[3];
      const auto light = [&](int ink) { return static_cast<uint8_t>(black - ((255 - ink) * black >> 8)); };
      const uint8_t red = light(in[0]), green = light(in[1]), blue = light(in[2]);
      if (channels == 1) {
        *out++ = static_cast<uint8_t>(gray_of(blue, green, red));
        continue;
      }
      *out++ = rgb ? red : blue;
      *out++ = green;
      *out++ = rgb ? blue : red;
    }
  }
  return result;
}

struct Writer {
  jpeg_compress_struct info{};
  JpegErrors errors{};
  unsigned char* data = nullptr;
  unsigned long size = 0;

  Writer() {
    errors.connect();
    info.err = &errors;
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(data);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

struct Choices {
  int quality, progressive, optimize, restarts, luma, chroma, sampling;
};

bool write_rows(Writer& writer, const ImageView& image, const Choices& choices) {
  if (setjmp(writer.errors.jump)) return false;
  jpeg_compress_struct& info = writer.info;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &writer.data, &writer.size);
  info.image_width = static_cast<JDIMENSION>(image.width());
  info.image_height = static_cast<JDIMENSION>(image.height());
  info.input_components = static_cast<int>(image.channels());
  info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : image.channels() == 3 ? JCS_EXT_BGR : JCS_EXT_BGRX;
  jpeg_set_defaults(&info);
  info.restart_interval = static_cast<unsigned>(choices.restarts);
  jpeg_set_quality(&info, choices.quality, TRUE);
  if (choices.luma >= 0) {
    // Tables of their own for brightness and colour.
    jpeg_set_quality(&info, choices.chroma >= 0 ? choices.chroma : choices.luma, TRUE);
    UINT16 colors[DCTSIZE2];
    std::memcpy(colors, info.quant_tbl_ptrs[1]->quantval, sizeof colors);
    jpeg_set_quality(&info, choices.luma, TRUE);
    std::memcpy(info.quant_tbl_ptrs[1]->quantval, colors, sizeof colors);
  }
  if (choices.progressive) jpeg_simple_progression(&info);
  if (choices.optimize) info.optimize_coding = TRUE;
  if (choices.sampling && image.channels() > 1) {
    info.comp_info[0].h_samp_factor = choices.sampling >> 20 & 15;
    info.comp_info[0].v_samp_factor = choices.sampling >> 16 & 15;
    info.comp_info[1].h_samp_factor = info.comp_info[1].v_samp_factor = 1;
    info.comp_info[2].h_samp_factor = info.comp_info[2].v_samp_factor = 1;
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row<uint8_t>(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Decoded decode_jpeg(std::span<const uint8_t> file, const ReadRequest& request) {
  Reader reader;
  if (!start(reader, file)) request.damaged("JPEG", reader.errors.text);
  request.check_size(reader.info.image_width, reader.info.image_height);
  const PictureType wanted = request.wanted(reader.type);
  if (!choose(reader, wanted.channels > 1, request.rgb(), request.reduction())) request.damaged("JPEG", reader.errors.text);
  const bool inks = reader.info.num_components == 4;
  Tensor picture = new_image(DType::u8, reader.info.output_height, reader.info.output_width, inks ? 4 : wanted.channels);
  const MutableImageView view = writable(picture);
  if (!read_rows(reader, view.row<uint8_t>(0), static_cast<size_t>(view.stride()))) request.damaged("JPEG", reader.errors.text);
  return {inks ? light_of(view, wanted.channels, request.rgb()) : picture, reader.orientation, true};
}

Bytes encode_jpeg(const ImageView& image, std::span<const int> options) {
  if (image.width() > JPEG_MAX_DIMENSION || image.height() > JPEG_MAX_DIMENSION)
    throw InvalidArgument("imwrite: JPEG pictures have at most {} pixels a side, not {} x {}", JPEG_MAX_DIMENSION, image.width(),
                          image.height());
  const auto chosen = [&](WriteOption which, int otherwise, int least, int most) { return option(options, which, otherwise, least, most); };
  const Choices choices{chosen(WriteOption::jpeg_quality, 95, 0, 100),
                        chosen(WriteOption::jpeg_progressive, 0, 0, 1),
                        chosen(WriteOption::jpeg_optimize, 0, 0, 1),
                        chosen(WriteOption::jpeg_restart_interval, 0, 0, 65535),
                        chosen(WriteOption::jpeg_luma_quality, -1, -1, 100),
                        chosen(WriteOption::jpeg_chroma_quality, -1, -1, 100),
                        chosen(WriteOption::jpeg_sampling_factor, 0, 0, 0x7fffffff)};
  if (choices.sampling != 0 && choices.sampling != 0x411111 && choices.sampling != 0x221111 && choices.sampling != 0x211111 &&
      choices.sampling != 0x121111 && choices.sampling != 0x111111)
    throw InvalidArgument("imwrite: a JPEG picture's sampling factor is {}", choices.sampling);
  Writer writer;
  if (!write_rows(writer, image, choices)) {
    if (writer.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    throw InvalidArgument("imwrite: JPEG: {}", writer.errors.text);
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(writer.data);
  return Bytes(bytes, bytes + writer.size);
}

}  // namespace minnow::vision
