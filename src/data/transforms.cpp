// SPDX-License-Identifier: Apache-2.0
// Random changes of pictures, by Minnow::vision.
#include <minnow/data.h>
#include <minnow/vision/color.h>
#include <minnow/vision/filters.h>
#include <minnow/vision/geometry.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/streams.h"

namespace minnow::data::transforms {
namespace {

using vision::ImageView;
using vision::Interpolation;
using vision::Scalar4;

Scalar4 all(double value) { return {value, value, value, value}; }
double radians(double degrees) { return degrees * std::numbers::pi / 180; }

void check_share(double p, const char* what) {
  if (!(p >= 0 && p <= 1)) throw InvalidArgument("{} is a number from 0 to 1, not {}", what, p);
}
void check_range(Range range, const char* what, double least) {
  if (!(range.low >= least && range.low <= range.high))
    throw InvalidArgument("{} is a rising range from {}, not {} to {}", what, least, range.low, range.high);
}
void check_size(Pixels size) {
  if (size.height < 1 || size.width < 1) throw InvalidArgument("a size is 1 pixel or more, not {} x {}", size.height, size.width);
}

/// The picture, checked.
const Tensor& picture_of(const Tensor& picture) {
  if ((picture.shape().rank() != 2 && picture.shape().rank() != 3) || !picture.elements() ||
      (picture.dtype() != DType::u8 && picture.dtype() != DType::f32))
    throw InvalidArgument("a picture is u8 or f32 [height, width, channels] or [height, width], not {} {}", picture.dtype(),
                          picture.shape());
  return picture;
}
int height_of(const Tensor& picture) { return static_cast<int>(picture.shape()[0]); }
int width_of(const Tensor& picture) { return static_cast<int>(picture.shape()[1]); }
int64_t channels_of(const Tensor& picture) { return picture.shape().rank() == 3 ? picture.shape()[2] : 1; }

/// With the axis of a single channel where the picture has it; functions of vision leave it out.
Tensor like(Tensor made, const Tensor& picture) {
  if (made.shape().rank() == picture.shape().rank()) return made;
  return made.reshaped({made.shape()[0], made.shape()[1], 1});
}

Interpolation linear(bool antialias) {
  return static_cast<Interpolation>(static_cast<int>(Interpolation::linear) | (antialias ? static_cast<int>(Interpolation::antialias) : 0));
}
Tensor resized(const ImageView& view, const Tensor& picture, Pixels size, bool antialias) {
  return like(vision::resize(view, {size.width, size.height}, linear(antialias)), picture);
}
Tensor bordered(const Tensor& picture, int top, int bottom, int left, int right, double fill) {
  if (!top && !bottom && !left && !right) return picture;
  return like(vision::copy_make_border(picture, top, bottom, left, right, vision::Border::constant, all(fill)), picture);
}
Tensor part(const Tensor& picture, int top, int left, Pixels size) {
  const ImageView view = ImageView(picture).part({left, top, size.width, size.height});
  Shape shape = picture.shape();
  shape[0] = size.height;
  shape[1] = size.width;
  Tensor made(picture.dtype(), shape);
  std::byte* to = static_cast<std::byte*>(made.writable().data());
  for (int64_t y = 0; y < view.height(); ++y, to += view.row_bytes())
    std::memcpy(to, view.row<std::byte>(y), static_cast<size_t>(view.row_bytes()));
  return made;
}

/// The picture in f32, changed element by element, within the range of its dtype: 0 to 255, or 0 to 1 for f32.
template <class F>
Tensor recolored(const Tensor& picture, F&& change) {
  Tensor made(picture.dtype(), picture.shape());
  const int64_t count = picture.elements();
  if (picture.dtype() == DType::u8) {
    uint8_t* to = made.writable().data<uint8_t>();
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<uint8_t>(std::clamp(change(static_cast<float>(picture.data<uint8_t>()[i]), i) + 0.5f, 0.0f, 255.0f));
  } else {
    float* to = made.writable().data<float>();
    for (int64_t i = 0; i < count; ++i) to[i] = std::clamp(change(picture.data<float>()[i], i), 0.0f, 1.0f);
  }
  return made;
}

float element(const Tensor& picture, int64_t i) {
  return picture.dtype() == DType::u8 ? static_cast<float>(picture.data<uint8_t>()[i]) : picture.data<float>()[i];
}

/// A number for each pixel, by the weights of ITU-R 601; a single channel as it is.
std::vector<float> grays(const Tensor& picture) {
  const int64_t channels = channels_of(picture), pixels = picture.elements() / channels;
  std::vector<float> gray(static_cast<size_t>(pixels));
  for (int64_t i = 0; i < pixels; ++i)
    gray[static_cast<size_t>(i)] = channels < 3 ? element(picture, i * channels)
                                                : 0.299f * element(picture, i * channels) + 0.587f * element(picture, i * channels + 1) +
                                                      0.114f * element(picture, i * channels + 2);
  return gray;
}

Tensor hue_turned(const Tensor& picture, double circles) {
  Tensor hsv = vision::convert_color(picture, vision::ColorCode::rgb_to_hsv);
  const int64_t pixels = hsv.elements() / 3;
  if (hsv.dtype() == DType::u8) {  // half a degree a step, 180 steps
    uint8_t* hue = hsv.writable().data<uint8_t>();
    const int turn = static_cast<int>(std::lround(circles * 180)) + 180;
    for (int64_t i = 0; i < pixels; ++i) hue[3 * i] = static_cast<uint8_t>((hue[3 * i] + turn) % 180);
  } else {
    float* hue = hsv.writable().data<float>();
    for (int64_t i = 0; i < pixels; ++i)
      hue[3 * i] = static_cast<float>(std::fmod(static_cast<double>(hue[3 * i]) + circles * 360 + 360, 360.0));
  }
  return vision::convert_color(hsv, vision::ColorCode::hsv_to_rgb);
}

/// A rectangle with a random share of the area of height x width and a random ratio of width to height; without pixels where ten draws
/// do not fit.
vision::Rect random_part(Pixels size, Range scale, Range ratio, Random& random) {
  for (int i = 0; i < 10; ++i) {
    const double area = size.height * static_cast<double>(size.width) * random.uniform(scale.low, scale.high);
    const double form = std::exp(random.uniform(std::log(ratio.low), std::log(ratio.high)));
    const long w = std::lround(std::sqrt(area * form)), h = std::lround(std::sqrt(area / form));
    if (w < 1 || h < 1 || w > size.width || h > size.height) continue;
    const int64_t top = random.below(size.height - h + 1), left = random.below(size.width - w + 1);
    return {static_cast<int>(left), static_cast<int>(top), static_cast<int>(w), static_cast<int>(h)};
  }
  return {};
}

/// f32 [channels, height, width], as to_tensor() gives.
void check_planes(const Tensor& planes, const char* function) {
  if (planes.dtype() != DType::f32 || planes.shape().rank() != 3)
    throw InvalidArgument("{} takes what to_tensor() gives, f32 [channels, height, width], not {} {}", function, planes.dtype(),
                          planes.shape());
}

/// A number of the distribution Gamma(shape, 1). Marsaglia, Tsang 2000, "A simple method for generating gamma variables".
double gamma(double shape, Random& random) {
  if (shape < 1) return gamma(shape + 1, random) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), v = 1 + c * x;
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v * v * v + 3 * d * std::log(v)) return d * v * v * v;
  }
}
double beta(double alpha, Random& random) {
  const double x = gamma(alpha, random), y = gamma(alpha, random);
  return x + y > 0 ? x / (x + y) : 0.5;
}

/// A batch {pictures f32 [n, c, h, w], classes} with pictures joined by `join`(own, other, share), which returns the share of its own that
/// is left.
template <class Join>
std::function<Sample(std::span<const Sample>, Random&)> mixing(int64_t classes, double alpha, Join join) {
  if (classes < 1 || !(alpha > 0)) throw InvalidArgument("classes and alpha are numbers above 0, not {} and {}", classes, alpha);
  return [=](std::span<const Sample> samples, Random& random) -> Sample {
    const Sample batch = collate(samples);
    if (batch.size() != 2 || batch[0].dtype() != DType::f32 || batch[0].shape().rank() != 4 || batch[1].dtype() != DType::i64 ||
        batch[1].shape().rank() != 1)
      throw InvalidArgument("pictures are mixed in batches of f32 [n, channels, height, width] with classes, i64 [n]");
    const int64_t count = batch[0].shape()[0];
    const int64_t* labels = batch[1].data<int64_t>();
    for (int64_t i = 0; i < count; ++i)
      if (labels[i] < 0 || labels[i] >= classes)
        throw InvalidArgument("the label {} is none of the {} classes, from 0", labels[i], classes);
    double share = beta(alpha, random);
    const std::vector<int64_t> order = permutation(count, Random(random.bits()));
    Tensor pictures = batch[0].clone(), targets(DType::f32, {count, classes});
    share = join(pictures.writable(), batch[0], order, share, random);
    float* to = targets.writable().data<float>();
    for (int64_t i = 0; i < count; ++i) {
      to[i * classes + labels[i]] += static_cast<float>(share);
      to[i * classes + labels[order[static_cast<size_t>(i)]]] += static_cast<float>(1 - share);
    }
    return {std::move(pictures), std::move(targets)};
  };
}

}  // namespace

Transform compose(std::vector<Transform> transforms) {
  for (const Transform& each : transforms)
    if (!each) throw InvalidArgument("compose() takes functions");
  return [transforms = std::move(transforms)](const Tensor& input, Random& random) {
    Tensor picture = input;
    for (const Transform& each : transforms) picture = each(picture, random);
    return picture;
  };
}

Transform random_apply(std::vector<Transform> transforms, double p) {
  check_share(p, "p");
  return [all = compose(std::move(transforms)), p](const Tensor& picture, Random& random) {
    return random.chance(p) ? all(picture, random) : picture;
  };
}

Transform to_tensor() {
  return [](const Tensor& picture, Random&) {
    picture_of(picture);
    const int64_t height = picture.shape()[0], width = picture.shape()[1], channels = channels_of(picture);
    Tensor made(DType::f32, {channels, height, width});
    float* to = made.writable().data<float>();
    const float divisor = picture.dtype() == DType::u8 ? 255.0f : 1.0f;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < height * width; ++i) *to++ = element(picture, i * channels + c) / divisor;
    return made;
  };
}

Transform normalize(std::vector<float> mean, std::vector<float> std) {
  if (mean.empty() || mean.size() != std.size() || std::count(std.begin(), std.end(), 0.0f))
    throw InvalidArgument("mean and std are numbers for the same channels, and std is not 0");
  return [mean = std::move(mean), std = std::move(std)](const Tensor& planes, Random&) {
    check_planes(planes, "normalize()");
    const int64_t channels = planes.shape()[0], pixels = planes.shape().product(1, 3);
    if (channels != static_cast<int64_t>(mean.size()))
      throw InvalidArgument("normalize() has numbers for {} channels, the picture has {}", mean.size(), channels);
    Tensor made(DType::f32, planes.shape());
    float* to = made.writable().data<float>();
    for (int64_t i = 0; i < channels * pixels; ++i) {
      const size_t c = static_cast<size_t>(i / pixels);
      to[i] = (planes.data<float>()[i] - mean[c]) / std[c];
    }
    return made;
  };
}

Transform resize(Pixels size, bool antialias) {
  check_size(size);
  return [=](const Tensor& picture, Random&) { return resized(picture_of(picture), picture, size, antialias); };
}

Transform resize_shorter(int size, bool antialias) {
  check_size(size);
  return [=](const Tensor& picture, Random&) {
    picture_of(picture);
    const int64_t height = height_of(picture), width = width_of(picture), shorter = std::min(height, width);
    return resized(picture, picture, {static_cast<int>(height * size / shorter), static_cast<int>(width * size / shorter)}, antialias);
  };
}

Transform pad(int pixels, double fill) {
  if (pixels < 0) throw InvalidArgument("a border has 0 pixels or more, not {}", pixels);
  return [=](const Tensor& picture, Random&) { return bordered(picture_of(picture), pixels, pixels, pixels, pixels, fill); };
}

Transform center_crop(Pixels size) {
  check_size(size);
  return [=](const Tensor& input, Random&) {
    picture_of(input);
    const int down = std::max(0, size.height - height_of(input)), across = std::max(0, size.width - width_of(input));
    const Tensor picture = bordered(input, down / 2, down - down / 2, across / 2, across - across / 2, 0);
    return part(picture, (height_of(picture) - size.height) / 2, (width_of(picture) - size.width) / 2, size);
  };
}

Transform random_crop(Pixels size, int padding) {
  check_size(size);
  return [size, border = pad(padding)](const Tensor& input, Random& random) {
    const Tensor picture = border(input, random);
    const int down = height_of(picture) - size.height, across = width_of(picture) - size.width;
    if (down < 0 || across < 0)
      throw InvalidArgument("the picture has {} x {} pixels; random_crop() takes {} x {}", height_of(picture), width_of(picture),
                            size.height, size.width);
    const int64_t top = random.below(down + 1), left = random.below(across + 1);
    return part(picture, static_cast<int>(top), static_cast<int>(left), size);
  };
}

Transform random_resized_crop(Pixels size, Range scale, Range ratio) {
  check_size(size);
  check_range(scale, "scale", 0);
  check_range(ratio, "ratio", 1e-6);
  return [=](const Tensor& picture, Random& random) {
    picture_of(picture);
    const int height = height_of(picture), width = width_of(picture);
    vision::Rect place = random_part({height, width}, scale, ratio, random);
    if (!place.width) {  // the middle, with the nearest ratio
      const double form = std::clamp(static_cast<double>(width) / height, ratio.low, ratio.high);
      place.width = std::clamp(static_cast<int>(std::lround(height * form)), 1, width);
      place.height = std::clamp(static_cast<int>(std::lround(width / form)), 1, height);
      place.x = (width - place.width) / 2;
      place.y = (height - place.height) / 2;
    }
    return resized(ImageView(picture).part(place), picture, size, true);
  };
}

Transform random_horizontal_flip(double p) {
  check_share(p, "p");
  return [=](const Tensor& picture, Random& random) {
    return random.chance(p) ? like(vision::flip(picture_of(picture), 1), picture) : picture;
  };
}

Transform random_vertical_flip(double p) {
  check_share(p, "p");
  return [=](const Tensor& picture, Random& random) {
    return random.chance(p) ? like(vision::flip(picture_of(picture), 0), picture) : picture;
  };
}

Transform random_affine(const Affine& affine) {
  check_share(affine.translate_x, "translate_x");
  check_share(affine.translate_y, "translate_y");
  check_range(affine.scale, "scale", 1e-6);
  check_range(affine.degrees, "degrees", -360);
  check_range(affine.shear, "shear", -89);
  if (affine.shear.high > 89) throw InvalidArgument("shear is at most 89 degrees, not {}", affine.shear.high);
  return [affine](const Tensor& picture, Random& random) {
    picture_of(picture);
    const double width = width_of(picture), height = height_of(picture);
    const double angle = radians(random.uniform(affine.degrees.low, affine.degrees.high)),
                 scale = random.uniform(affine.scale.low, affine.scale.high),
                 lean = std::tan(radians(random.uniform(affine.shear.low, affine.shear.high)));
    const double across = random.uniform(-1, 1) * affine.translate_x * width, down = random.uniform(-1, 1) * affine.translate_y * height;
    // scale * rotation * [[1, -lean], [0, 1]] around the middle
    const double a = scale * std::cos(angle), b = scale * std::sin(angle), x = (width - 1) / 2, y = (height - 1) / 2;
    const double m[4] = {a, b - a * lean, -b, a + b * lean};
    Tensor matrix(DType::f64, {2, 3});
    double* to = matrix.writable().data<double>();
    const double values[6] = {m[0], m[1], x - m[0] * x - m[1] * y + across, m[2], m[3], y - m[2] * x - m[3] * y + down};
    std::copy(std::begin(values), std::end(values), to);
    return like(
        vision::warp_affine(picture, matrix, {}, static_cast<int>(Interpolation::linear), vision::Border::constant, all(affine.fill)),
        picture);
  };
}

Transform random_rotation(double degrees, double fill) {
  return random_affine({.degrees = {-std::abs(degrees), std::abs(degrees)}, .fill = fill});
}

Transform grayscale(int channels) {
  if (channels != 1 && channels != 3) throw InvalidArgument("a gray picture has 1 or 3 channels, not {}", channels);
  return [=](const Tensor& picture, Random&) {
    const std::vector<float> gray = grays(picture_of(picture));
    return recolored(Tensor(picture.dtype(), {picture.shape()[0], picture.shape()[1], channels}),
                     [&](float, int64_t i) { return gray[static_cast<size_t>(i / channels)]; });
  };
}

Transform random_grayscale(double p) {
  check_share(p, "p");
  return [=](const Tensor& picture, Random& random) {
    if (!random.chance(p)) return picture;
    const std::vector<float> gray = grays(picture_of(picture));
    const int64_t channels = channels_of(picture);
    return recolored(picture, [&](float, int64_t i) { return gray[static_cast<size_t>(i / channels)]; });
  };
}

Transform color_jitter(double brightness, double contrast, double saturation, double hue) {
  for (const double each : {brightness, contrast, saturation})
    if (!(each >= 0)) throw InvalidArgument("brightness, contrast and saturation are numbers from 0, not {}", each);
  if (!(hue >= 0 && hue <= 0.5)) throw InvalidArgument("hue is a number from 0 to 0.5, not {}", hue);
  return [=](const Tensor& input, Random& random) {
    Tensor picture = picture_of(input);
    std::array<double, 4> factors{};
    for (size_t i = 0; i < 3; ++i) {
      const double change = std::array{brightness, contrast, saturation}[i];
      factors[i] = random.uniform(std::max(0.0, 1 - change), 1 + change);
    }
    factors[3] = random.uniform(-hue, hue);
    const int64_t channels = channels_of(picture);
    for (const int64_t which : permutation(4, Random(random.bits()))) {
      const float factor = static_cast<float>(factors[static_cast<size_t>(which)]);
      if (factor == (which == 3 ? 0.0f : 1.0f) || (which >= 2 && channels != 3)) continue;
      if (which == 3) {
        picture = hue_turned(picture, static_cast<double>(factor));
      } else if (which == 0) {
        picture = recolored(picture, [&](float value, int64_t) { return value * factor; });
      } else {
        std::vector<float> gray = grays(picture);
        if (which == 1)
          std::fill(gray.begin(), gray.end(),
                    static_cast<float>(std::accumulate(gray.begin(), gray.end(), 0.0) / static_cast<double>(gray.size())));
        picture = recolored(
            picture, [&](float value, int64_t i) { return value * factor + gray[static_cast<size_t>(i / channels)] * (1 - factor); });
      }
    }
    return picture;
  };
}

Transform gaussian_blur(int size, Range sigma) {
  if (size < 1 || size % 2 == 0) throw InvalidArgument("the size of a Gaussian is an odd number of pixels, not {}", size);
  check_range(sigma, "sigma", 1e-6);
  return [=](const Tensor& picture, Random& random) {
    return like(vision::gaussian_blur(picture_of(picture), {size, size}, random.uniform(sigma.low, sigma.high)), picture);
  };
}

Transform random_erasing(double p, Range scale, Range ratio, float value) {
  check_share(p, "p");
  check_range(scale, "scale", 0);
  check_range(ratio, "ratio", 1e-6);
  return [=](const Tensor& planes, Random& random) {
    check_planes(planes, "random_erasing()");
    if (!random.chance(p)) return planes;
    const int height = static_cast<int>(planes.shape()[1]), width = static_cast<int>(planes.shape()[2]);
    const vision::Rect place = random_part({height, width}, scale, ratio, random);
    Tensor made = planes.clone();
    float* to = made.writable().data<float>();
    for (int64_t c = 0; c < planes.shape()[0]; ++c)
      for (int y = place.y; y < place.y + place.height; ++y) std::fill_n(to + (c * height + y) * width + place.x, place.width, value);
    return made;
  };
}

std::function<Sample(std::span<const Sample>, Random&)> mixup(int64_t classes, double alpha) {
  return mixing(classes, alpha,
                [](const MutableTensorView& to, const Tensor& from, const std::vector<int64_t>& order, double share, Random&) {
                  const int64_t size = from.shape().product(1, 4);
                  const float own = static_cast<float>(share), others = static_cast<float>(1 - share);
                  for (int64_t i = 0; i < from.elements(); ++i)
                    to.data<float>()[i] =
                        from.data<float>()[i] * own + from.data<float>()[order[static_cast<size_t>(i / size)] * size + i % size] * others;
                  return share;
                });
}

std::function<Sample(std::span<const Sample>, Random&)> cutmix(int64_t classes, double alpha) {
  return mixing(classes, alpha,
                [](const MutableTensorView& to, const Tensor& from, const std::vector<int64_t>& order, double share, Random& random) {
                  const int64_t height = from.shape()[2], width = from.shape()[3], planes = from.shape()[1];
                  const double side = std::sqrt(1 - share) / 2;
                  const auto ends = [&](int64_t length) {
                    const int64_t middle = random.below(length), half = static_cast<int64_t>(side * static_cast<double>(length));
                    return std::pair(std::max<int64_t>(0, middle - half), std::min(length, middle + half));
                  };
                  const auto [top, bottom] = ends(height);
                  const auto [left, right] = ends(width);
                  for (int64_t i = 0; i < from.shape()[0] * planes; ++i)
                    for (int64_t y = top; y < bottom; ++y) {
                      const int64_t other = order[static_cast<size_t>(i / planes)] * planes + i % planes;
                      std::copy_n(from.data<float>() + (other * height + y) * width + left, right - left,
                                  to.data<float>() + (i * height + y) * width + left);
                    }
                  return 1 - static_cast<double>((bottom - top) * (right - left)) / static_cast<double>(height * width);
                });
}

}  // namespace minnow::data::transforms
