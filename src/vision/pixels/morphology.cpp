// SPDX-License-Identifier: Apache-2.0
// Erosion, dilation, and what is made of them.
#include "vision/loops/morphology.h"

#include "vision/filter.h"

namespace minnow::vision {
namespace {

struct Element {
  Size size;
  Point anchor;
  std::vector<Point> places;  // empty: all
};

/// One erosion or dilation.
void once(const ImageView& from, const MutableImageView& to, bool largest, const Element& element, Border border,
          const std::vector<std::byte>& constant) {
  const Window window{element.size, element.anchor, border, constant.data()};
  with_pixel(from.dtype(), [&](auto pixel) {
    using T = decltype(pixel);
    const PixelLoops<T>& all = morphology_loops().of<T>();
    const ExtremeLoops<T>& loops = largest ? all.largest : all.least;
    if (element.places.empty()) {
      columns_first(
          from, to, window, sizeof(T), false,
          [&](const void* const* rows, bool, void*, void* mid, int64_t n) {
            loops.of_rows(reinterpret_cast<const T* const*>(rows), window.size.height, static_cast<T*>(mid), n);
          },
          [&](void* mid, void*, int64_t step, void* out, int64_t n) {
            loops.of_window(static_cast<T*>(mid), step, window.size.width, static_cast<T*>(out), n);
          });
      return;
    }
    const int64_t channels = from.channels();
    padded_rows(from, to, window, [&](const void* const* rows, int64_t, void* out, int64_t n) {
      const T* few[64];
      std::vector<const T*> many(element.places.size() > std::size(few) ? element.places.size() : 0);
      const T** const taps = many.empty() ? few : many.data();
      for (size_t t = 0; t < element.places.size(); ++t)
        taps[t] = static_cast<const T*>(rows[element.places[t].y]) + element.places[t].x * channels;
      loops.of_rows(taps, static_cast<int64_t>(element.places.size()), static_cast<T*>(out), n);
    });
  });
}

bool same(const ImageView& a, const ImageView& b) {
  for (int64_t y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row<std::byte>(y), b.row<std::byte>(y), static_cast<size_t>(a.row_bytes())) != 0) return false;
  return true;
}

/// How a picture is eroded and dilated: a kernel, the number of times, the border.
struct Morphology {
  Element element;
  int64_t iterations;
  Border border;
  std::optional<Scalar4> border_value;

  void run(const ImageView& from, const MutableImageView& to, bool largest) const {
    if (iterations == 0 || element.size == Size{1, 1}) return copy(from, to);
    std::vector<std::byte> constant;
    if (border_value) {
      Scalar4 value = *border_value;
      constant = pixel_of(value, from.dtype(), from.channels());
    } else {
      with_pixel(from.dtype(), [&](auto pixel) {
        using T = decltype(pixel);
        const std::vector<T> ends(static_cast<size_t>(from.channels()),
                                  largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
        constant.resize(ends.size() * sizeof(T));
        std::memcpy(constant.data(), ends.data(), constant.size());
      });
    }
    if (iterations == 1) return once(from, to, largest, element, border, constant);
    // A result that equals its source stays as it is.
    Tensor a = new_image(from.dtype(), from.height(), from.width(), from.channels());
    Tensor b = new_image(from.dtype(), from.height(), from.width(), from.channels());
    once(from, writable(a), largest, element, border, constant);
    for (int64_t i = 1; i < iterations; ++i) {
      once(ImageView(a), writable(b), largest, element, border, constant);
      std::swap(a, b);
      if (same(ImageView(a), ImageView(b))) break;
    }
    copy(ImageView(a), to);
  }
};

Morphology morphology_of(const ImageView& kernel, Point anchor, int iterations, Border border, const std::optional<Scalar4>& value,
                         int match) {
  if (iterations < 0) throw InvalidArgument("morphologyEx: iterations is at least 0, not {}", iterations);
  Morphology result{{{3, 3}, {1, 1}, {}}, iterations, border, value};
  bool is_full = true;
  if (!kernel.empty()) {
    check_channels("morphologyEx", kernel, {1});
    check_window("morphologyEx", kernel.size());
    result.element.size = kernel.size();
    with_element("morphologyEx", kernel.dtype() == DType::boolean ? DType::u8 : kernel.dtype(), [&](auto element) {
      for (int y = 0; y < kernel.size().height; ++y)
        for (int x = 0; x < kernel.size().width; ++x) {
          const double number = static_cast<double>(kernel.row<decltype(element)>(y)[x]);
          if (match ? number == match : number != 0)
            result.element.places.push_back({x, y});
          else
            is_full = false;
        }
    });
    result.element.anchor = anchor_of("morphologyEx", anchor, kernel.size());
    if (result.element.places.empty() && !match) result.element.places.push_back({0, 0});  // OpenCV's result for a kernel of zeros
  } else {
    anchor_of("morphologyEx", anchor, {3, 3});
  }
  if (is_full) {
    result.element.places.clear();
    if (iterations > 1) {  // one larger rectangle
      Size& size = result.element.size;
      const int64_t width = 1 + int64_t{iterations} * (size.width - 1), height = 1 + int64_t{iterations} * (size.height - 1);
      if (width > kMostTaps || height > kMostTaps)
        throw InvalidArgument("morphologyEx: {} iterations with a kernel of {} x {} reach further than {} pixels", iterations, size.width,
                              size.height, kMostTaps);
      size = {static_cast<int>(width), static_cast<int>(height)};
      result.element.anchor.x *= iterations;
      result.element.anchor.y *= iterations;
      result.iterations = 1;
    }
  }
  return result;
}

void combine(const ImageView& a, const ImageView& b, const MutableImageView& to) {  // a - b
  const int64_t n = a.width() * a.channels();
  with_pixel(a.dtype(), [&](auto pixel) {
    using T = decltype(pixel);
    const PixelLoops<T>& loops = morphology_loops().of<T>();
    for_rows(a.height(), 3 * n, [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) loops.subtract(a.row<T>(y), b.row<T>(y), to.row<T>(y), n);
    });
  });
}

/// Where the kernel's ones are 255 and its minus ones are 0.
void hit_or_miss(const ImageView& image, const MutableImageView& to, const ImageView& kernel, Point anchor, int iterations, Border border,
                 const std::optional<Scalar4>& value) {
  if (image.dtype() != DType::u8 || image.channels() != 1)
    throw Unsupported("morphologyEx: MORPH_HITMISS takes a picture of u8 with one channel, not {}", to_string(image));
  static constexpr int32_t kOnes[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const ImageView full(DType::i32, 3, 3, 1, kOnes, 3 * sizeof(int32_t));
  const ImageView* const used = kernel.empty() ? &full : &kernel;
  const Morphology hit = morphology_of(*used, anchor, iterations, border, value, 1);
  const Morphology miss = morphology_of(*used, anchor, iterations, border, value, -1);
  const auto has = [&](int number) {
    bool found = false;
    with_element("morphologyEx", used->dtype() == DType::boolean ? DType::u8 : used->dtype(), [&](auto element) {
      for (int64_t y = 0; y < used->height(); ++y)
        for (int64_t x = 0; x < used->width(); ++x) found = found || static_cast<double>(used->row<decltype(element)>(y)[x]) == number;
    });
    return found;
  };
  const bool any_hit = has(1), any_miss = has(-1);
  const int64_t width = image.width();
  Tensor inverse = new_image(DType::u8, image.height(), width, 1), missed = new_image(DType::u8, image.height(), width, 1);
  if (any_miss) {
    const MutableImageView view = writable(inverse);
    for (int64_t y = 0; y < image.height(); ++y)
      for (int64_t x = 0; x < width; ++x) view.row<uint8_t>(y)[x] = static_cast<uint8_t>(255 - image.row<uint8_t>(y)[x]);
    miss.run(ImageView(inverse), writable(missed), false);
  }
  if (any_hit) hit.run(image, to, false);
  const ImageView found(missed);
  for (int64_t y = 0; y < image.height(); ++y) {
    uint8_t* const row = to.row<uint8_t>(y);
    for (int64_t x = 0; x < width; ++x)
      row[x] = static_cast<uint8_t>((any_hit ? row[x] : 255) & (any_miss ? found.row<uint8_t>(y)[x] : 255));
  }
}

bool has_no_ones(const ImageView& kernel) {
  if (kernel.empty()) return false;
  bool found = false;
  with_element("morphologyEx", kernel.dtype() == DType::boolean ? DType::u8 : kernel.dtype(), [&](auto element) {
    for (int64_t y = 0; y < kernel.height(); ++y)
      for (int64_t x = 0; x < kernel.width(); ++x) found = found || kernel.row<decltype(element)>(y)[x] != 0;
  });
  return !found;
}

}  // namespace

Tensor morphology(const ImageView& image, MorphOp operation, const ImageView& kernel, Point anchor, int iterations, Border border,
                  std::optional<Scalar4> border_value, Output output) try {
  check_not_empty("morphologyEx", image);
  check_dtype("morphologyEx", image, {DType::u8, DType::u16, DType::i16, DType::f32, DType::f64});
  check_border("morphologyEx", border);
  Result result("morphologyEx", output, image.dtype(), image.height(), image.width(), image.channels(), {&image, &kernel});
  const MutableImageView& to = result.view();
  if (operation == MorphOp::hitmiss) {
    if (image.dtype() == DType::u8 && image.channels() == 1 && has_no_ones(kernel))
      copy(image, to);
    else
      hit_or_miss(image, to, kernel, anchor, iterations, border, border_value);
    return result.finish();
  }
  const Morphology steps = morphology_of(kernel, anchor, iterations, border, border_value, 0);
  const auto temporary = [&] { return new_image(image.dtype(), image.height(), image.width(), image.channels()); };
  switch (operation) {
    case MorphOp::erode:
      steps.run(image, to, false);
      break;
    case MorphOp::dilate:
      steps.run(image, to, true);
      break;
    case MorphOp::open:
    case MorphOp::close: {
      Tensor middle = temporary();
      steps.run(image, writable(middle), operation == MorphOp::close);
      steps.run(ImageView(middle), to, operation == MorphOp::open);
      break;
    }
    case MorphOp::gradient: {
      Tensor low = temporary(), high = temporary();
      steps.run(image, writable(low), false);
      steps.run(image, writable(high), true);
      combine(ImageView(high), ImageView(low), to);
      break;
    }
    case MorphOp::tophat:
    case MorphOp::blackhat: {
      Tensor a = temporary(), b = temporary();
      const bool is_top = operation == MorphOp::tophat;
      steps.run(image, writable(a), !is_top);
      steps.run(ImageView(a), writable(b), is_top);
      combine(is_top ? image : ImageView(b), is_top ? ImageView(b) : image, to);
      break;
    }
    default:
      throw InvalidArgument("morphologyEx: there is no operation {}; there are 0 to 7", static_cast<int>(operation));
  }
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
