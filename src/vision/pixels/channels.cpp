// SPDX-License-Identifier: Apache-2.0
// Pictures taken apart and put together. Elements only move, so that their size is all that matters.
#include <minnow/vision/arithmetic.h>

#include "vision/light_rows.h"
#include "vision/loops/arithmetic.h"

namespace minnow::vision {
namespace {

/// f(word) for an unsigned integer of the size of a dtype's elements.
template <class F>
void with_word(std::string_view function, DType dtype, F f) {
  static_cast<void>(element_index(function, dtype));
  switch (size_of(dtype)) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    default:
      return f(uint64_t());
  }
}

/// Copies one channel to another: of `pixels` pixels, `from_step` and `to_step` elements apart.
template <class Word>
void copy_channel(const Word* from, size_t from_step, Word* to, size_t to_step, size_t pixels) {
  for (size_t i = 0; i < pixels; ++i) to[i * to_step] = from[i * from_step];
}

/// A channel of all pixels to a channel; from < 0: zero.
void move_channel(std::string_view function, const ImageView& from, int64_t channel, const MutableImageView& to, int64_t to_channel) {
  with_word(function, to.dtype(), [&](auto word) {
    using Word = decltype(word);
    const size_t pixels = static_cast<size_t>(to.width()), step = static_cast<size_t>(to.channels());
    for_rows(to.height(), to.width() * (from.channels() + to.channels()), [&](int64_t first, int64_t last) {
      const Word zero = 0;
      for (int64_t y = first; y < last; ++y)
        if (channel < 0)
          copy_channel(&zero, 0, to.row<Word>(y) + to_channel, step, pixels);
        else
          copy_channel(from.row<Word>(y) + channel, static_cast<size_t>(from.channels()), to.row<Word>(y) + to_channel, step, pixels);
    });
  });
}

void check_list(std::string_view function, const std::vector<ImageView>& images) {
  if (images.empty()) throw InvalidArgument("{}: the list has no pictures", function);
  for (const ImageView& image : images) {
    check_not_empty(function, image);
    if (image.dtype() != images[0].dtype())
      throw InvalidArgument("{}: the pictures have the same dtype, not {} and {}", function, images[0].dtype(), image.dtype());
  }
}

/// A result that may lie in the memory of one of many pictures: a copy is made where it does.
bool lies_in(const std::vector<ImageView>& images, const ImageView& view) {
  for (const ImageView& image : images)
    if (view && !view.empty() && image.row<std::byte>(0) < view.row<std::byte>(view.height() - 1) + view.row_bytes() &&
        view.row<std::byte>(0) < image.row<std::byte>(image.height() - 1) + image.row_bytes())
      return true;
  return false;
}

}  // namespace

std::vector<Tensor> split(const ImageView& image) try {
  constexpr std::string_view kName = "split";
  check_not_empty(kName, image);
  std::vector<Tensor> planes;
  std::vector<MutableImageView> views;
  for (int64_t c = 0; c < image.channels(); ++c) planes.push_back(new_image(image.dtype(), image.height(), image.width(), 1));
  for (Tensor& plane : planes) views.push_back(writable(plane));
  const size_t size = size_of(image.dtype());
  if (image.channels() >= 2 && image.channels() <= 4 && (size == 1 || size == 4)) {
    static_cast<void>(element_index(kName, image.dtype()));
    const int64_t at_once = rows_at_once({&image, &views[0]});
    const ImageView all = with_rows_joined(image, at_once);
    for (MutableImageView& view : views) view = with_rows_joined(view, at_once);
    const size_t width = static_cast<size_t>(all.width());
    const int channels = static_cast<int>(image.channels());
    for_light_rows(all.height(), 2 * all.row_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        void* rows[4] = {};
        for (size_t c = 0; c < views.size(); ++c) rows[c] = views[c].row<void>(y);
        if (size == 1) {
          uint8_t* to[4];
          for (size_t c = 0; c < 4; ++c) to[c] = static_cast<uint8_t*>(rows[c]);
          arithmetic_loops().split_u8(all.row<uint8_t>(y), to, channels, width);
        } else {
          float* to[4];
          for (size_t c = 0; c < 4; ++c) to[c] = static_cast<float*>(rows[c]);
          arithmetic_loops().split_f32(all.row<float>(y), to, channels, width);
        }
      }
    });
    return planes;
  }
  for (int64_t c = 0; c < image.channels(); ++c) move_channel(kName, image, c, views[static_cast<size_t>(c)], 0);
  return planes;
} catch (...) {
  throw_as_error();
}

Tensor merge(const std::vector<ImageView>& images, Output output) try {
  constexpr std::string_view kName = "merge";
  check_list(kName, images);
  int64_t channels = 0;
  bool single = true;
  for (const ImageView& image : images) {
    if (image.height() != images[0].height() || image.width() != images[0].width())
      throw InvalidArgument("merge: the pictures have the same size, not {} and {}", to_string(images[0]), to_string(image));
    channels += image.channels();
    single = single && image.channels() == 1;
  }
  if (channels > 512) throw InvalidArgument("merge: a picture has up to 512 channels, not {}", channels);
  const ImageView given = output.view();
  Result result(kName, output, images[0].dtype(), images[0].height(), images[0].width(), channels,
                {lies_in(images, given) ? &given : &images[0]});
  const size_t size = size_of(images[0].dtype());
  if (single && channels >= 2 && channels <= 4 && (size == 1 || size == 4)) {
    static_cast<void>(element_index(kName, images[0].dtype()));
    const auto plane = [&](size_t c) { return &images[std::min(c, images.size() - 1)]; };
    const int64_t at_once = rows_at_once({plane(0), plane(1), plane(2), plane(3), &result.view()});
    const MutableImageView all = with_rows_joined(result.view(), at_once);
    for_light_rows(all.height(), 2 * all.row_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        const void* rows[4] = {};
        for (size_t c = 0; c < images.size(); ++c) rows[c] = images[c].row<void>(y * at_once);
        const size_t width = static_cast<size_t>(all.width());
        if (size == 1) {
          const uint8_t* from[4];
          for (size_t c = 0; c < 4; ++c) from[c] = static_cast<const uint8_t*>(rows[c]);
          arithmetic_loops().merge_u8(from, all.row<uint8_t>(y), static_cast<int>(channels), width);
        } else {
          const float* from[4];
          for (size_t c = 0; c < 4; ++c) from[c] = static_cast<const float*>(rows[c]);
          arithmetic_loops().merge_f32(from, all.row<float>(y), static_cast<int>(channels), width);
        }
      }
    });
    return result.finish();
  }
  int64_t to = 0;
  for (const ImageView& image : images)
    for (int64_t c = 0; c < image.channels(); ++c) move_channel(kName, image, c, result.view(), to++);
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor extract_channel(const ImageView& image, int channel, Output output) try {
  constexpr std::string_view kName = "extractChannel";
  check_not_empty(kName, image);
  if (channel < 0 || channel >= image.channels())
    throw InvalidArgument("extractChannel: the picture has channels 0 to {}, not {}", image.channels() - 1, channel);
  Result result(kName, output, image.dtype(), image.height(), image.width(), 1, {&image});
  if (image.channels() >= 2 && image.channels() <= 4 && size_of(image.dtype()) == 1) {
    const int64_t at_once = rows_at_once({&image, &result.view()});
    const ImageView all = with_rows_joined(image, at_once);
    const MutableImageView plane = with_rows_joined(result.view(), at_once);
    for_light_rows(all.height(), 2 * all.row_bytes(), [&](int64_t first, int64_t last) {
      const size_t width = static_cast<size_t>(all.width());
      std::vector<uint8_t> others(width);
      for (int64_t y = first; y < last; ++y) {
        uint8_t* planes[4] = {others.data(), others.data(), others.data(), others.data()};
        planes[channel] = plane.row<uint8_t>(y);
        arithmetic_loops().split_u8(all.row<uint8_t>(y), planes, static_cast<int>(image.channels()), width);
      }
    });
    return result.finish();
  }
  move_channel(kName, image, channel, result.view(), 0);
  return result.finish();
} catch (...) {
  throw_as_error();
}

void insert_channel(const ImageView& image, const MutableImageView& to, int channel) try {
  constexpr std::string_view kName = "insertChannel";
  check_not_empty(kName, image);
  check_channels(kName, image, {1});
  if (image.dtype() != to.dtype() || image.height() != to.height() || image.width() != to.width())
    throw InvalidArgument("insertChannel: both pictures have the same dtype and size, not {} and {}", to_string(image), to_string(to));
  if (channel < 0 || channel >= to.channels())
    throw InvalidArgument("insertChannel: the destination has channels 0 to {}, not {}", to.channels() - 1, channel);
  move_channel(kName, image, 0, to, channel);
} catch (...) {
  throw_as_error();
}

void mix_channels(const std::vector<ImageView>& from, const std::vector<MutableImageView>& to, const std::vector<int>& pairs) try {
  constexpr std::string_view kName = "mixChannels";
  check_list(kName, from);
  check_list(kName, {to.begin(), to.end()});
  if (pairs.empty() || pairs.size() % 2) throw InvalidArgument("mixChannels: fromTo has pairs of channels, not {} numbers", pairs.size());
  const auto check = [&](const ImageView& image) {
    if (image.dtype() != from[0].dtype() || image.height() != from[0].height() || image.width() != from[0].width())
      throw InvalidArgument("mixChannels: all pictures have the same dtype and size, not {} and {}", to_string(from[0]), to_string(image));
  };
  for (const ImageView& image : from) check(image);
  for (const MutableImageView& image : to) check(image);
  const auto find = [&](const auto& images, int channel, const char* name) {
    int64_t rest = channel;
    for (size_t i = 0; i < images.size(); ++i) {
      if (rest < images[i].channels()) return std::pair(i, rest);
      rest -= images[i].channels();
    }
    throw InvalidArgument("mixChannels: there is no channel {} in {}", channel, name);
  };
  // All is checked before anything is written.
  for (const bool write : {false, true})
    for (size_t k = 0; k < pairs.size(); k += 2) {
      if (pairs[k + 1] < 0) throw InvalidArgument("mixChannels: there is no channel {} in dst", pairs[k + 1]);
      const auto [place, channel] = pairs[k] < 0 ? std::pair<size_t, int64_t>(0, -1) : find(from, pairs[k], "src");
      const auto [to_place, to_channel] = find(to, pairs[k + 1], "dst");
      if (write) move_channel(kName, from[place], channel, to[to_place], to_channel);
    }
} catch (...) {
  throw_as_error();
}

namespace {

Tensor concatenated(std::string_view function, const std::vector<ImageView>& images, bool horizontal, const Output& output) {
  if (images.empty()) return Tensor();
  check_list(function, images);
  int64_t height = 0, width = 0;
  for (const ImageView& image : images) {
    const bool fits = image.channels() == images[0].channels() &&
                      (horizontal ? image.height() == images[0].height() : image.width() == images[0].width());
    if (!fits)
      throw InvalidArgument("{}: the pictures have the same {} and channels, not {} and {}", function, horizontal ? "height" : "width",
                            to_string(images[0]), to_string(image));
    height = horizontal ? image.height() : height + image.height();
    width = horizontal ? width + image.width() : image.width();
  }
  check_size(function, width, height);
  const ImageView given = output.view();
  Result result(function, output, images[0].dtype(), height, width, images[0].channels(), {lies_in(images, given) ? &given : &images[0]});
  int x = 0, y = 0;
  for (const ImageView& image : images) {
    const auto [w, h] = image.size();
    copy(image, result.view().part({x, y, w, h}));
    horizontal ? x += w : y += h;
  }
  return result.finish();
}

}  // namespace

Tensor hconcat(const std::vector<ImageView>& images, Output output) try {
  return concatenated("hconcat", images, true, output);
} catch (...) {
  throw_as_error();
}

Tensor vconcat(const std::vector<ImageView>& images, Output output) try {
  return concatenated("vconcat", images, false, output);
} catch (...) {
  throw_as_error();
}

Tensor copy_to(const ImageView& image, const ImageView& mask, Output output) try {
  constexpr std::string_view kName = "copyTo";
  check_not_empty(kName, image);
  const bool of_channels = mask && mask.channels() > 1 && mask.channels() == image.channels();  // a mask for each element
  if (mask && !of_channels) check_mask(kName, image, mask);
  if (of_channels && (mask.dtype() != DType::u8 || mask.height() != image.height() || mask.width() != image.width()))
    throw InvalidArgument("copyTo: the mask of {} is u8 of its size, not {}", to_string(image), to_string(mask));
  const MutableImageView& given = output.view();
  const bool kept = given && given.dtype() == image.dtype() && given.height() == image.height() && given.width() == image.width() &&
                    given.channels() == image.channels();
  Result result(kName, output, image.dtype(), image.height(), image.width(), image.channels(), {&image, mask ? &mask : &image});
  const MutableImageView& view = result.view();
  if (!mask) {
    copy(image, view);
    return result.finish();
  }
  const size_t size = size_of(image.dtype()),
               elements = static_cast<size_t>(image.width()) * (of_channels ? static_cast<size_t>(image.channels()) : 1);
  for_light_rows(image.height(), 3 * image.row_bytes(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      if (kept && view.data() != given.data()) std::memcpy(view.row<void>(y), given.row<void>(y), static_cast<size_t>(view.row_bytes()));
      arithmetic_loops().masked(image.row<void>(y), mask.row<uint8_t>(y), view.row<void>(y), elements,
                                of_channels ? size : size * static_cast<size_t>(image.channels()), !kept);
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
