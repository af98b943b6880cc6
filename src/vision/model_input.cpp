// SPDX-License-Identifier: Apache-2.0
// Bilinear sampling, and the nearest pixel without a crop, are the one pass of preprocess(); other choices resize the picture first.
#include <minnow/vision/model_input.h>

#include <charconv>
#include <numeric>

#include "base/nearest.h"
#include "base/numeric.h"
#include "vision/image.h"

namespace minnow::vision {
namespace {

constexpr std::string_view kProperty = "preprocess.";

bool is_channel_count(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }

/// The values of keys, whose errors name the key.
class Reader {
 public:
  Reader(const PictureInput::Keys& keys, const std::string& prefix) : keys_(keys), prefix_(prefix) {
    static const std::vector<std::string> kKnown = {"input",   "color",  "size", "fit", "resize", "interpolation",
                                                    "padding", "divide", "mean", "std", "scale",  "layout"};
    for (const auto& [key, value] : keys)
      if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
        throw InvalidArgument("{}{}: there is no such key{}", prefix, key, nearest(key, kKnown));
  }

  bool has(const char* key) const { return keys_.contains(key); }
  std::string text(const char* key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? std::string() : found->second;
  }
  /// The place of the value in a list of words; 0 if the key is not there.
  size_t word(const char* key, const std::vector<std::string>& words) const {
    if (!has(key)) return 0;
    const auto found = std::find(words.begin(), words.end(), text(key));
    if (found == words.end()) fail(key, format("\"{}\" is none of {}", text(key), list(words)));
    return static_cast<size_t>(found - words.begin());
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> found;
    const std::string value = text(key);
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find(',', at), value.size());
      found.push_back(number(key, std::string_view(value).substr(at, end - at)));
      at = end + 1;
    }
    return found;
  }
  /// A number for each channel; one number is for all.
  Scalar4 for_channels(const char* key, int64_t channels, double otherwise) const {
    Scalar4 result{otherwise, otherwise, otherwise, otherwise};
    if (!has(key)) return result;
    const std::vector<double> given = numbers(key);
    if (given.size() != 1 && static_cast<int64_t>(given.size()) != channels)
      fail(key, format("{} numbers are given for a picture of {} channel{}", given.size(), channels, channels == 1 ? "" : "s"));
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) result[c] = given[given.size() == 1 ? 0 : c];
    return result;
  }
  /// A number of pixels; 0 if the key is not there.
  int pixels(const char* key) const { return has(key) ? pixels(key, text(key)) : 0; }
  /// One number of pixels for both sides, or the height and the width.
  Size size(const char* key) const {
    if (!has(key)) return {};
    const std::string value = text(key);
    const size_t between = value.find_first_of("x,");
    if (between == value.npos) return {pixels(key, value), pixels(key, value)};
    return {pixels(key, value.substr(between + 1)), pixels(key, value.substr(0, between))};
  }
  [[noreturn]] void fail(const char* key, const std::string& why) const { throw InvalidArgument("{}{}: {}", prefix_, key, why); }

 private:
  static std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }
  static std::string list(const std::vector<std::string>& words) {
    return std::accumulate(words.begin() + 1, words.end(), words[0],
                           [](const std::string& a, const std::string& b) { return a + ", " + b; });
  }
  double number(const char* key, std::string_view value) const {
    const std::string_view whole = trimmed(value);
    const auto plain = [&](std::string_view part) {
      double result = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), result);
      if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(result))
        fail(key, format("\"{}\" is not a number; write 0.5, or 1/255, or a number for each channel", whole));
      return result;
    };
    const size_t slash = whole.find('/');
    if (slash == whole.npos) return plain(whole);
    const double below = plain(whole.substr(slash + 1));
    if (below == 0) fail(key, format("{} divides by zero", whole));
    return plain(whole.substr(0, slash)) / below;
  }
  int pixels(const char* key, std::string_view value) const {
    const std::string_view whole = trimmed(value);
    int64_t result = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), result);
    if (error != std::errc() || end != whole.data() + whole.size() || result <= 0 || result > kMostPixels)
      fail(key, std::string_view(key) == "size" ? format("write HEIGHTxWIDTH, 224x224 say, not \"{}\"", text(key))
                                                : format("\"{}\" is not a number of pixels", whole));
    return static_cast<int>(result);
  }

  const PictureInput::Keys& keys_;
  const std::string& prefix_;
};

bool is_planar(PixelFormat format) {
  return format == PixelFormat::nv12 || format == PixelFormat::nv21 || format == PixelFormat::i420 || format == PixelFormat::yv12;
}

}  // namespace

PictureInput::Keys PictureInput::carried_by(const Model& model) {
  Keys keys;
  for (const auto& [name, value] : model.properties())
    if (name.starts_with(kProperty)) keys.emplace(name.substr(kProperty.size()), value);
  return keys;
}

size_t PictureInput::index_in(const Model& model, const Keys& keys, const std::string& prefix) {
  const std::vector<ValueDescription>& inputs = model.inputs();
  std::vector<size_t> possible;
  std::vector<std::string> names;
  const auto named = keys.find("input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (named != keys.end() && inputs[i].name == named->second) return i;
    names.push_back(inputs[i].name);
    if (inputs[i].is_tensor && (!inputs[i].has_rank || inputs[i].dims.size() == 3 || inputs[i].dims.size() == 4)) possible.push_back(i);
  }
  if (named != keys.end())
    throw InvalidArgument("{}input: the model has no input \"{}\"{}", prefix, named->second, nearest(named->second, names));
  if (possible.size() != 1)
    throw InvalidArgument("{}input: {} of the model's inputs could take a picture; name the one that does", prefix, possible.size());
  return possible[0];
}

PictureInput::PictureInput(const ValueDescription& input, const Keys& keys, std::span<const int64_t> shape, const std::string& prefix) try {
  const Reader read(keys, prefix);
  std::vector<int64_t> dims = input.has_rank ? input.dims : std::vector<int64_t>(shape.begin(), shape.end());
  if (!input.has_rank && dims.empty()) dims.assign(4, -1);
  if (!input.is_tensor || (dims.size() != 4 && dims.size() != 3))
    throw InvalidArgument("input \"{}\" is {}; a picture needs an input of 3 or 4 dimensions", input.name, input.type);
  for (size_t i = 0; i < dims.size() && shape.size() == dims.size(); ++i)
    if (shape[i] >= 0) dims[i] = shape[i];
  batch_ = dims.size() == 4;
  const size_t first = batch_ ? 1 : 0;
  const size_t layout = read.word("layout", {"auto", "nchw", "nhwc"});
  const bool last = layout == 0 ? !is_channel_count(dims[first]) && is_channel_count(dims.back()) : layout == 2;
  pixels_.layout = last ? TensorLayout::nhwc : TensorLayout::nchw;
  const int64_t declared = dims[last ? first + 2 : first];

  constexpr PixelFormat kColors[] = {PixelFormat::rgb,  PixelFormat::rgb,  PixelFormat::bgr,
                                     PixelFormat::gray, PixelFormat::rgba, PixelFormat::bgra};
  const size_t color = read.word("color", {"auto", "rgb", "bgr", "gray", "rgba", "bgra"});
  pixels_.target = color == 0 && declared == 1 ? PixelFormat::gray : color == 0 && declared == 4 ? PixelFormat::rgba : kColors[color];
  const int64_t channels = pixels_.target == PixelFormat::gray                                          ? 1
                           : pixels_.target == PixelFormat::rgba || pixels_.target == PixelFormat::bgra ? 4
                                                                                                        : 3;
  if (declared >= 0 && declared != channels)
    read.fail("color", format("a picture of {} channel{} does not fit input \"{}\", which is {}", channels, channels == 1 ? "" : "s",
                              input.name, input.type));

  const int64_t height = dims[last ? first : first + 1], width = dims[last ? first + 1 : first + 2];
  const Size size = read.size("size");
  const auto side = [&](int64_t dim, int given) {
    if (dim >= 0 && given && dim != given)
      read.fail("size", format("input \"{}\" is {}, which has no {} pixels on that side", input.name, input.type, given));
    return given ? given : dim > kMostPixels ? static_cast<int>(kMostPixels) + 1 : dim > 0 ? static_cast<int>(dim) : 0;
  };
  pixels_.size = {side(width, size.width), side(height, size.height)};

  fit_ = static_cast<Fit>(read.word("fit", {"stretch", "crop", "letterbox"}));
  shorter_ = read.pixels("resize");
  if (shorter_ && fit_ != Fit::crop)
    read.fail("resize", "applies to fit \"crop\": the length of the shorter side before the middle is cut out");
  if (shorter_ && shorter_ < std::max(pixels_.size.width, pixels_.size.height))
    read.fail("resize", format("{} pixels are fewer than the input's {} x {}", shorter_, pixels_.size.height, pixels_.size.width));
  const int antialias = static_cast<int>(Interpolation::antialias);
  constexpr int kLinear = static_cast<int>(Interpolation::linear), kCubic = static_cast<int>(Interpolation::cubic);
  const int numbers[] = {kLinear,
                         static_cast<int>(Interpolation::nearest),
                         kCubic,
                         static_cast<int>(Interpolation::area),
                         static_cast<int>(Interpolation::lanczos4),
                         antialias | kLinear,
                         antialias | kCubic};
  interpolation_ = static_cast<Interpolation>(
      numbers[read.word("interpolation", {"linear", "nearest", "cubic", "area", "lanczos4", "antialias", "antialias_cubic"})]);
  pixels_.linear = interpolation_ != Interpolation::nearest;
  if (read.has("padding")) {
    const std::vector<double> padding = read.numbers("padding");
    if (fit_ != Fit::letterbox || padding.size() != 1) read.fail("padding", "is one number, and applies to fit \"letterbox\"");
    padding_ = padding[0];
  }

  // (pixel / divide - mean) / std, or (pixel / divide - mean) * scale
  const Scalar4 divide = read.for_channels("divide", channels, 1), mean = read.for_channels("mean", channels, 0),
                scale = read.for_channels("scale", channels, 1), deviation = read.for_channels("std", channels, 1);
  if (read.has("scale") && read.has("std")) read.fail("std", "stands beside \"scale\"; write one of them");
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    if (divide[c] == 0) read.fail("divide", "divides by zero");
    if (deviation[c] == 0) read.fail("std", "divides by zero");
    pixels_.mean[c] = mean[c] * divide[c];
    pixels_.scale[c] = scale[c] / (divide[c] * deviation[c]);
  }
  dtype_ = input.dtype == DType::undefined ? DType::f32 : input.dtype;
  if (!is_float(dtype_) && !is_signed(dtype_) && !is_unsigned(dtype_))
    throw InvalidArgument("input \"{}\" is {}; a picture needs an input of numbers", input.name, input.type);
  pixels_.dtype = dtype_ == DType::u8 || dtype_ == DType::i8 ? dtype_ : DType::f32;
} catch (...) {
  throw_as_error();
}

PictureInput::Place PictureInput::place_of(Size picture, Size wanted) const {
  const double across = static_cast<double>(picture.width) / wanted.width, down = static_cast<double>(picture.height) / wanted.height;
  if (fit_ == Fit::stretch) return {static_cast<double>(wanted.width), static_cast<double>(wanted.height), 0, 0};
  if (fit_ == Fit::letterbox) {  // where letterbox() puts it
    const double scale = std::min(1 / across, 1 / down);
    const auto side = [&](int length, int most) { return std::clamp<int64_t>(std::llround(length * scale), 1, most); };
    const int64_t width = side(picture.width, wanted.width), height = side(picture.height, wanted.height);
    return {static_cast<double>(width), static_cast<double>(height), -static_cast<double>((wanted.width - width) / 2),
            -static_cast<double>((wanted.height - height) / 2)};
  }
  if (shorter_ == 0) {  // the largest part of the picture's middle, in whole pixels, is scaled to the input
    const double scale = std::min(across, down);
    const auto part = [&](int side, int length) { return std::clamp<int64_t>(std::llround(side * scale), 1, length); };
    const int64_t wide = part(wanted.width, picture.width), high = part(wanted.height, picture.height);
    const double x = static_cast<double>(wanted.width) / static_cast<double>(wide),
                 y = static_cast<double>(wanted.height) / static_cast<double>(high);
    return {picture.width * x, picture.height * y, static_cast<double>((picture.width - wide) / 2) * x,
            static_cast<double>((picture.height - high) / 2) * y};
  }
  // torchvision's Resize and CenterCrop: the longer side is cut to a whole number, the offset is rounded to even
  const double scale = static_cast<double>(shorter_) / std::min(picture.width, picture.height);
  const auto side = [&](int length, int other) {
    return length <= other ? shorter_ : std::floor(static_cast<double>(shorter_) * length / other);
  };
  const double width = side(picture.width, picture.height), height = side(picture.height, picture.width);
  check_size("preprocess", static_cast<int64_t>(std::ceil(picture.width * scale)), static_cast<int64_t>(std::ceil(picture.height * scale)));
  return {width, height, std::nearbyint((width - wanted.width) / 2), std::nearbyint((height - wanted.height) / 2)};
}

Tensor PictureInput::operator()(const ImageView& image, PixelFormat source) const try {
  check_not_empty("preprocess", image);
  Size picture = image.size();
  if (is_planar(source)) picture.height = picture.height / 3 * 2;
  PreprocessOptions options = pixels_;
  options.source = source;
  const Size wanted{options.size.width ? options.size.width : picture.width, options.size.height ? options.size.height : picture.height};
  check_size("preprocess", wanted.width, wanted.height);
  if (picture.height == 0 || image.width() > kMostPixels || image.height() > kMostPixels)
    throw InvalidArgument("preprocess: a picture is no {}", to_string(image));
  const Place place = place_of(picture, wanted);

  Tensor result;
  if (fit_ == Fit::stretch && (interpolation_ == Interpolation::linear || interpolation_ == Interpolation::nearest)) {
    result = preprocess(image, options);
  } else if (fit_ == Fit::crop && interpolation_ == Interpolation::linear) {
    const double across = picture.width / place.width, down = picture.height / place.height;
    options.size = wanted;
    options.matrix = {across, 0.0, (place.left + 0.5) * across - 0.5, 0.0, down, (place.top + 0.5) * down - 0.5};
    result = preprocess(image, options);
  } else {
    PreprocessOptions colors;
    colors.source = source, colors.target = options.target, colors.layout = TensorLayout::nhwc, colors.dtype = DType::u8;
    const Tensor made = preprocess(image, colors);
    const int64_t channels = made.shape()[3];
    ImageView view(DType::u8, picture.height, picture.width, channels, made.data(), picture.width * channels);
    Tensor resized;
    const auto resize_to = [&](Size size) {
      if (view.size() == size) return;
      resized = resize(view, size, interpolation_);
      view = resized;
    };
    const auto whole = [](double number) { return static_cast<int>(std::lround(number)); };
    if (fit_ == Fit::crop && shorter_ == 0) {
      const double across = picture.width / place.width, down = picture.height / place.height;
      view = view.part({whole(place.left * across), whole(place.top * down), whole(wanted.width * across), whole(wanted.height * down)});
      resize_to(wanted);
    } else {
      resize_to({whole(place.width), whole(place.height)});
    }
    if (fit_ == Fit::crop && shorter_) view = view.part({whole(place.left), whole(place.top), wanted.width, wanted.height});
    if (fit_ == Fit::letterbox) {
      const int left = -whole(place.left), top = -whole(place.top), width = static_cast<int>(view.width()),
                height = static_cast<int>(view.height());
      resized = copy_make_border(view, top, wanted.height - height - top, left, wanted.width - width - left, Border::constant,
                                 {padding_, padding_, padding_, padding_});
      view = resized;
    }
    options.source = options.target, options.size = {};
    result = preprocess(view, options);
  }

  if (dtype_ != result.dtype()) {
    Tensor wide(dtype_, result.shape());
    auto* out = static_cast<std::byte*>(wide.writable().data());
    const float* const from = result.data<float>();
    const double limit = is_float(dtype_) ? 0 : std::ldexp(1, static_cast<int>(8 * size_of(dtype_)) - (is_unsigned(dtype_) ? 0 : 1));
    for (int64_t i = 0; i < result.elements(); ++i, out += size_of(dtype_)) {
      const double number = from[i];
      if (limit == 0) {
        narrow(dtype_, &number, 1, out);
      } else {
        const int64_t rounded =
            static_cast<int64_t>(std::clamp(std::nearbyint(number), is_unsigned(dtype_) ? 0 : -limit, std::min(limit - 1, 1e15)));
        narrow(dtype_, &rounded, 1, out);
      }
    }
    result = std::move(wide);
  }
  if (batch_) return result;
  return result.reshaped(Shape{result.shape()[1], result.shape()[2], result.shape()[3]});
} catch (...) {
  throw_as_error();
}

std::vector<LabelScore> top_labels(const std::vector<std::string>& labels, std::span<const TensorView> outputs, size_t count) try {
  for (const TensorView& output : outputs) {
    const DType dtype = output.dtype();
    const bool bytes = dtype == DType::u8 || dtype == DType::i8;
    if (labels.empty() || output.elements() != static_cast<int64_t>(labels.size()) || !(is_float(dtype) || bytes)) continue;
    std::vector<double> scores(labels.size());
    widen(dtype, output.data(), scores.size(), scores.data());
    if (bytes) {
      for (double& score : scores) score = (score + (dtype == DType::i8 ? 128 : 0)) / 256;
    } else {
      const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
      const double sum = std::accumulate(scores.begin(), scores.end(), 0.0), largest = *most;
      if (!(*least >= 0 && std::abs(sum - 1) < 1e-2)) {
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - largest);
        for (double& score : scores) score /= total;
      }
    }
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t most = std::min(count, order.size());
    const auto better = [&](size_t a, size_t b) {  // NaN comes last
      const double x = std::isnan(scores[a]) ? -1 : scores[a], y = std::isnan(scores[b]) ? -1 : scores[b];
      return x != y ? x > y : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), better);
    std::vector<LabelScore> best;
    for (size_t i = 0; i < most; ++i) best.push_back({labels[order[i]], order[i], scores[order[i]]});
    return best;
  }
  return {};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
