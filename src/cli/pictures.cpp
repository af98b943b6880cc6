// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs: JPEG, PNG, WebP, BMP, PGM and PPM files, through minnow_vision where the build has it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/numeric.h"
#include "cli/commands.h"
#if MINNOW_PICTURES
#include <minnow/vision.h>
#endif

namespace minnow::cli {

void PictureOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* name, std::string& value, const char* description) {
    CLI::Option* const option = command.add_option(name, value, description)->group("Pictures");
    options.push_back(option);
    return option;
  };
  add("--size", size, "HEIGHTxWIDTH that pictures are resized to; otherwise what the model or --shape says, else the picture's own")
      ->type_name("HxW");
  add("--fit", fit, "stretch: sides change apart; crop: the middle of the picture, sides in proportion")
      ->check(one_of({"stretch", "crop"}))
      ->type_name("")
      ->capture_default_str();
  add("--color", color, "order of the channels; auto: gray where the model takes one channel, else rgb")
      ->check(one_of({"auto", "rgb", "bgr", "gray"}))
      ->type_name("")
      ->capture_default_str();
  add("--layout", layout, "nchw: channels before height and width; nhwc: behind them; auto: as the model's shape says")
      ->check(one_of({"auto", "nchw", "nhwc"}))
      ->type_name("")
      ->capture_default_str();
  add("--mean", mean, "subtracted from each pixel, which is 0 to 255: one number, or one for each channel: 123.7,116.3,103.5")
      ->type_name("NUMBERS");
  add("--scale", scale, "multiplied with it then: 0.017, or 1/255, or one for each channel")->type_name("NUMBERS");
}

void PictureOptions::check_not_given() const {
  for (const CLI::Option* const option : options)
    if (option->count() > 0)
      throw UsageError("{} applies to pictures, and no input is one: pass a picture file to --input", option->get_name());
}

bool is_picture(std::span<const std::byte> bytes) {
  const auto begins = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  const bool webp = begins("RIFF") && bytes.size() >= 12 && std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
  return webp || begins("\xff\xd8\xff") || begins("\x89PNG\r\n\x1a\n") || begins("BM") || begins("P5\n") || begins("P6\n");
}

#if MINNOW_PICTURES
namespace {

double number_of(const std::string& option, std::string_view text) {
  const auto plain = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value))
      throw UsageError("{}: \"{}\" is not a number; write 0.5, or 1/255, or a number for each channel: 0.5,0.4,0.3", option, text);
    return value;
  };
  const size_t slash = text.find('/');
  if (slash == text.npos) return plain(text);
  const double below = plain(text.substr(slash + 1));
  if (below == 0) throw UsageError("{}: {} divides by zero", option, text);
  return plain(text.substr(0, slash)) / below;
}

/// One number for each channel.
std::vector<double> numbers_of(const std::string& option, const std::string& text, size_t channels, double otherwise) {
  if (text.empty()) return std::vector<double>(channels, otherwise);
  std::vector<double> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(number_of(option, std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  if (numbers.size() == 1) numbers.resize(channels, numbers[0]);
  if (numbers.size() != channels)
    throw UsageError("{}: {} numbers are given for a picture of {} channel{}", option, numbers.size(), channels, channels == 1 ? "" : "s");
  return numbers;
}

/// Where the axes of the input's shape are; `batch`: it has one.
struct Axes {
  bool channels_last = false, batch = true;
  int64_t channels = -1, height = -1, width = -1;  // -1: open
};

Axes axes_of(const ValueDescription& input, std::span<const int64_t> wanted, const PictureOptions& options) {
  std::vector<int64_t> dims = input.has_rank ? input.dims : std::vector<int64_t>(wanted.begin(), wanted.end());
  if (!input.has_rank && dims.empty()) dims.assign(4, -1);
  if (dims.size() != 4 && dims.size() != 3)
    throw InvalidArgument("input \"{}\" is {}; a picture needs an input of 3 or 4 dimensions", input.name, input.type);
  for (size_t i = 0; i < dims.size() && wanted.size() == dims.size(); ++i)
    if (wanted[i] >= 0) dims[i] = wanted[i];
  Axes axes;
  axes.batch = dims.size() == 4;
  const size_t first = axes.batch ? 1 : 0;
  const auto is_count = [](int64_t dim) { return dim == 1 || dim == 3 || dim == 4; };
  axes.channels_last = options.layout == "auto" ? !is_count(dims[first]) && is_count(dims.back()) : options.layout == "nhwc";
  axes.channels = dims[axes.channels_last ? first + 2 : first];
  axes.height = dims[axes.channels_last ? first : first + 1];
  axes.width = dims[axes.channels_last ? first + 1 : first + 2];
  if (!options.size.empty()) {
    const NamedShape size = parse_shape(options.size);
    if (size.dims.size() != 2 || !size.name.empty() || size.dims[0] <= 0 || size.dims[1] <= 0)
      throw UsageError("--size {}: write HEIGHTxWIDTH, 224x224 say", options.size);
    axes.height = size.dims[0], axes.width = size.dims[1];
  }
  return axes;
}

/// The middle part of a picture [height, width, channels] that has the proportions of height x width.
Tensor cropped(const Tensor& image, int64_t height, int64_t width) {
  const int64_t rows = image.shape()[0], columns = image.shape()[1];
  const double scale =
      std::min(static_cast<double>(rows) / static_cast<double>(height), static_cast<double>(columns) / static_cast<double>(width));
  const int64_t high = std::clamp<int64_t>(std::llround(static_cast<double>(height) * scale), 1, rows);
  const int64_t wide = std::clamp<int64_t>(std::llround(static_cast<double>(width) * scale), 1, columns);
  Shape shape = image.shape();
  shape[0] = high, shape[1] = wide;
  Tensor part(image.dtype(), shape);
  const size_t pixel = image.shape().rank() == 3 ? static_cast<size_t>(image.shape()[2]) : 1;
  const auto* from = static_cast<const std::byte*>(image.data());
  auto* to = static_cast<std::byte*>(part.writable().data());
  const size_t top = static_cast<size_t>((rows - high) / 2), left = static_cast<size_t>((columns - wide) / 2);
  const size_t row = static_cast<size_t>(wide) * pixel;
  for (size_t y = 0; y < static_cast<size_t>(high); ++y)
    std::memcpy(to + y * row, from + ((top + y) * static_cast<size_t>(columns) + left) * pixel, row);
  return part;
}

}  // namespace

Tensor read_picture(const std::string& path, const ValueDescription& input, std::span<const int64_t> wanted,
                    const PictureOptions& options) {
  const Axes axes = axes_of(input, wanted, options);
  const bool gray = options.color == "gray" || (options.color == "auto" && axes.channels == 1);
  Tensor image = vision::read_image(path, gray ? vision::ReadMode::grayscale : vision::ReadMode::color);
  if (!gray && options.color != "bgr") image = vision::convert_color(image, vision::ColorCode::bgr_to_rgb);
  const int64_t height = axes.height > 0 ? axes.height : image.shape()[0], width = axes.width > 0 ? axes.width : image.shape()[1];
  if (options.fit == "crop") image = cropped(image, height, width);
  if (image.shape()[0] != height || image.shape()[1] != width) {
    const auto size = [](int64_t pixels) { return static_cast<int>(std::min(pixels, vision::kMostPixels + 1)); };
    image = vision::resize(image, {size(width), size(height)});
  }

  const size_t channels = gray ? 1 : 3, places = static_cast<size_t>(height * width);
  const std::vector<double> mean = numbers_of("--mean", options.mean, channels, 0),
                            scale = numbers_of("--scale", options.scale, channels, 1);
  const DType dtype = input.dtype == DType::undefined ? DType::f32 : input.dtype;
  const int64_t count = static_cast<int64_t>(channels);
  Shape shape = axes.channels_last ? Shape{1, height, width, count} : Shape{1, count, height, width};
  if (!axes.batch) shape = axes.channels_last ? Shape{height, width, count} : Shape{count, height, width};
  Tensor tensor(dtype, shape);
  const auto* pixels = static_cast<const uint8_t*>(image.data());
  auto* out = static_cast<std::byte*>(tensor.writable().data());
  for (size_t c = 0; c < channels; ++c) {
    std::byte table[256][8];  // the element of each value that a pixel may have
    for (int value = 0; value < 256; ++value) {
      const double number = (value - mean[c]) * scale[c];
      if (is_float(dtype)) {
        narrow(dtype, &number, 1, table[value]);
      } else {
        const int bits = static_cast<int>(8 * size_of(dtype));
        const double low = is_unsigned(dtype) ? 0 : -std::ldexp(1, bits - 1),
                     high = std::ldexp(1, is_unsigned(dtype) ? bits : bits - 1) - 1;
        const int64_t whole = static_cast<int64_t>(std::clamp(std::nearbyint(number), low, std::min(high, 1e15)));
        narrow(dtype, &whole, 1, table[value]);
      }
    }
    for (size_t p = 0; p < places; ++p) {
      const size_t at = axes.channels_last ? p * channels + c : c * places + p;
      std::memcpy(out + at * size_of(dtype), table[pixels[p * channels + c]], size_of(dtype));
    }
  }
  return tensor;
}
#else
Tensor read_picture(const std::string& path, const ValueDescription&, std::span<const int64_t>, const PictureOptions&) {
  throw Unsupported("{}: is a picture, which this build of Minnow cannot read (CMake option MINNOW_VISION)", path);
}
#endif

}  // namespace minnow::cli
