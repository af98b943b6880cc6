// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/arithmetic.h>
#include <minnow/vision/detection.h>
#include <minnow/vision/geometry.h>
#include <minnow/vision/structure.h>

#include <numeric>

#include "vision/image.h"
#include "vision/loops/blob.h"

namespace minnow::vision {
namespace {

/// Numbers of a tensor as doubles. Throws InvalidArgument where its last dimension is not `last` (0: any) or it has another rank.
std::vector<double> numbers(std::string_view function, std::string_view what, const TensorView& tensor, size_t rank, int64_t last) {
  const Shape& shape = tensor.shape();
  if (tensor.elements() == 0) return {};
  if (shape.rank() != rank || (last && shape[rank - 1] != last))
    throw InvalidArgument("{}: {} is {}{}, not {}", function, what, tensor.dtype(), shape,
                          rank == 1 ? "[n]"
                          : last    ? format("[n, {}]", last)
                                    : "[n, m]");
  std::vector<double> result(static_cast<size_t>(tensor.elements()));
  const auto fill = [&](auto element) {
    const auto* const from = static_cast<const decltype(element)*>(tensor.data());
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<double>(from[i]);
  };
  if (tensor.dtype() == DType::i64)
    fill(int64_t());
  else
    with_element(function, tensor.dtype(), fill);
  return result;
}

void check_count(std::string_view function, std::string_view what, size_t found, size_t wanted) {
  if (found != wanted) throw InvalidArgument("{}: there are {} {} for {} boxes", function, found, what, wanted);
}

Tensor tensor_of(const std::vector<float>& values, const Shape& shape) {
  Tensor result(DType::f32, shape);
  std::copy(values.begin(), values.end(), result.writable().data<float>());
  return result;
}

struct Corners {
  double x1, y1, x2, y2;
  double area() const { return (x2 - x1) * (y2 - y1); }
};

/// The part of two boxes' area that both have; 1 for boxes without area.
float overlap_of(const Corners& a, const Corners& b, double area_a, double area_b) {
  if (area_a + area_b <= std::numeric_limits<double>::epsilon()) return 1;
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double both = width > 0 && height > 0 ? width * height : 0;
  return 1.0f - static_cast<float>(1.0 - both / (area_a + area_b - both));
}

struct Boxes {
  std::vector<Corners> corners;
  std::vector<double> areas;
  std::vector<float> scores;
};

/// by_size: x, y, width, height.
Boxes boxes_of(std::string_view function, const TensorView& boxes, const TensorView& scores, bool by_size) {
  const std::vector<double> sides = numbers(function, "boxes", boxes, 2, 4), values = numbers(function, "scores", scores, 1, 0);
  check_count(function, "scores", values.size(), sides.size() / 4);
  Boxes result;
  result.scores.assign(values.begin(), values.end());
  for (size_t i = 0; i < sides.size(); i += 4) {
    const double x = sides[i], y = sides[i + 1];
    const Corners corners{x, y, by_size ? x + sides[i + 2] : sides[i + 2], by_size ? y + sides[i + 3] : sides[i + 3]};
    result.corners.push_back(corners);
    result.areas.push_back(by_size ? sides[i + 2] * sides[i + 3] : corners.area());
  }
  return result;
}

void check_thresholds(std::string_view function, float least_score, float overlap) {
  if (!(least_score >= 0) || !(overlap >= 0))
    throw InvalidArgument("{}: the thresholds are {} and {}, not positive numbers", function, least_score, overlap);
}

/// overlap_with(i, k): of boxes i and k.
template <class F>
std::vector<int> suppressed(const std::vector<float>& scores, float least_score, float overlap, float eta, int most, F&& overlap_with) {
  std::vector<int> order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > least_score) order.push_back(static_cast<int>(i));
  const auto at = [](int i) { return static_cast<size_t>(i); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[at(a)] > scores[at(b)]; });
  if (most > 0 && at(most) < order.size()) order.resize(at(most));
  std::vector<int> kept;
  for (const int i : order) {
    const bool stays = std::none_of(kept.begin(), kept.end(), [&](int k) { return !(overlap_with(at(i), at(k)) <= overlap); });
    if (!stays) continue;
    kept.push_back(i);
    if (eta < 1 && overlap > 0.5f) overlap *= eta;
  }
  return kept;
}

std::vector<int> suppressed(const Boxes& boxes, float least_score, float overlap, float eta, int most) {
  return suppressed(boxes.scores, least_score, overlap, eta, most,
                    [&](size_t i, size_t k) { return overlap_of(boxes.corners[i], boxes.corners[k], boxes.areas[i], boxes.areas[k]); });
}

/// Moves the boxes of each class away from those of the others.
void part_classes(Boxes& boxes, std::span<const double> classes) {
  double most = 0;
  for (const Corners& c : boxes.corners) most = std::max({most, c.x1, c.y1, c.x2, c.y2});
  for (size_t i = 0; i < boxes.corners.size(); ++i) {
    const double away = classes[i] * (most + 1);
    Corners& c = boxes.corners[i];
    c = {c.x1 + away, c.y1 + away, c.x2 + away, c.y2 + away};
  }
}

/// Writes the result of resize() to rows of `to`, as planes of (value - mean) * scale.
template <class From, class To>
void write_planes(const ImageView& image, To* to, bool swap, const float* mean, float scale) {
  const int64_t channels = image.channels(), plane = image.height() * image.width();
  for_rows(image.height(), image.width() * channels * 2, [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      if constexpr (std::is_same_v<From, uint8_t> && std::is_same_v<To, float>)
        if (channels == 3) {
          float* planes[3];
          for (int64_t c = 0; c < 3; ++c) planes[c] = to + (swap ? 2 - c : c) * plane + y * image.width();
          blob_loops().three(image.row<uint8_t>(y), image.width(), planes, mean, scale);
          continue;
        }
      for (int64_t c = 0; c < channels; ++c) {
        const From* const in = image.row<From>(y) + c;
        To* const out = to + (swap && c < 3 ? 2 - c : c) * plane + y * image.width();
        const float less = mean[c];
        if constexpr (std::is_same_v<To, uint8_t>)
          for (int64_t x = 0; x < image.width(); ++x) out[x] = saturate<uint8_t>(in[x * channels]);
        else
          for (int64_t x = 0; x < image.width(); ++x) out[x] = (static_cast<float>(in[x * channels]) - less) * scale;
      }
    }
  });
}

}  // namespace

Tensor blob_from_images(const std::vector<ImageView>& images, double scale, Size size, const Scalar4& mean, bool swap_red_blue, bool crop,
                        DType dtype) try {
  if (images.empty()) throw InvalidArgument("blobFromImages: there are no pictures");
  if (dtype != DType::f32 && dtype != DType::u8) throw InvalidArgument("blobFromImages: blobs are f32 or u8, not {}", dtype);
  if (dtype == DType::u8 && (scale != 1 || mean != Scalar4{}))
    throw InvalidArgument("blobFromImages: blobs of u8 have no mean and no scale");
  if (size == Size{}) size = images[0].size();
  const int64_t channels = images[0].channels();
  for (const ImageView& image : images) {
    check_not_empty("blobFromImages", image);
    with_element("blobFromImages", image.dtype(), [](auto) {});
    check_channels("blobFromImages", image, {channels});
    if (dtype == DType::u8) check_dtype("blobFromImages", image, {DType::u8});
  }
  check_channels("blobFromImages", images[0], {1, 3, 4});
  check_size("blobFromImages", size.width, size.height);
  check_size("blobFromImages", int64_t{size.width} * size.height, static_cast<int64_t>(images.size()));
  const bool swap = swap_red_blue && channels >= 3;
  float means[4];
  for (size_t c = 0; c < 4; ++c) means[c] = static_cast<float>(mean[c]);
  // Means are those of the blob's channels.
  if (swap) std::swap(means[0], means[2]);
  Tensor blob(dtype, Shape{static_cast<int64_t>(images.size()), channels, size.height, size.width});
  const int64_t step = channels * size.height * size.width;
  for (size_t i = 0; i < images.size(); ++i) {
    Tensor floats, resized;
    ImageView image = images[i];
    if (image.dtype() != DType::u8 && image.dtype() != DType::f32) image = floats = convert_scale(image, DType::f32);
    if (image.size() != size) {
      if (crop) {
        const float factor = std::max(static_cast<float>(size.width) / static_cast<float>(image.width()),
                                      static_cast<float>(size.height) / static_cast<float>(image.height()));
        resized = resize(image, {}, Interpolation::linear, factor, factor);
        image = resized;
        image = image.part({static_cast<int>(0.5 * static_cast<double>(image.width() - size.width)),
                            static_cast<int>(0.5 * static_cast<double>(image.height() - size.height)), size.width, size.height});
      } else {
        resized = resize(image, size);
        image = resized;
      }
    }
    const int64_t at = static_cast<int64_t>(i) * step;
    if (dtype == DType::u8)
      write_planes<uint8_t>(image, blob.writable().data<uint8_t>() + at, swap, means, 1);
    else if (image.dtype() == DType::u8)
      write_planes<uint8_t>(image, blob.writable().data<float>() + at, swap, means, static_cast<float>(scale));
    else
      write_planes<float>(image, blob.writable().data<float>() + at, swap, means, static_cast<float>(scale));
  }
  return blob;
} catch (...) {
  throw_as_error();
}

std::vector<Tensor> images_from_blob(const TensorView& blob) try {
  const Shape& shape = blob.shape();
  if (shape.rank() != 4 || blob.dtype() != DType::f32)
    throw InvalidArgument("imagesFromBlob: a blob is f32[n, channels, height, width], not {}{}", blob.dtype(), shape);
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  std::vector<Tensor> images;
  for (int64_t n = 0; n < shape[0]; ++n) {
    Tensor image = new_image(DType::f32, shape[2], shape[3], channels);
    float* const to = image.writable().data<float>();
    const float* const from = static_cast<const float*>(blob.data()) + n * channels * plane;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < plane; ++i) to[i * channels + c] = from[c * plane + i];
    images.push_back(std::move(image));
  }
  return images;
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Letterbox> letterbox(const ImageView& image, Size size, const Scalar4& color, bool enlarge) try {
  check_not_empty("letterbox", image);
  check_size("letterbox", size.width, size.height);
  double scale = std::min(size.width / static_cast<double>(image.width()), size.height / static_cast<double>(image.height()));
  if (!enlarge) scale = std::min(scale, 1.0);
  const auto side = [&](int64_t length, int most) {
    return std::clamp(static_cast<int>(std::lround(static_cast<double>(length) * scale)), 1, most);
  };
  const Size inner{side(image.width(), size.width), side(image.height(), size.height)};
  const Letterbox where{scale, (size.width - inner.width) / 2, (size.height - inner.height) / 2, image.size(), size};
  Tensor result = new_image(image.dtype(), size.height, size.width, image.channels());
  const MutableImageView view = writable(result);
  const std::vector<std::byte> pixel = pixel_of(color, image.dtype(), image.channels());
  for_rows(size.height, view.width() * view.channels(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y)
      for (int64_t x = 0; x < view.width(); ++x)
        std::memcpy(view.row<std::byte>(y) + x * static_cast<int64_t>(pixel.size()), pixel.data(), pixel.size());
  });
  const MutableImageView part = view.part({where.left, where.top, inner.width, inner.height});
  if (inner == image.size())
    copy(image, part);
  else
    resize(image, inner, Interpolation::linear, 0, 0, part);
  return {std::move(result), where};
} catch (...) {
  throw_as_error();
}

Tensor out_of_letterbox(const TensorView& points, const Letterbox& where) try {
  const Shape& shape = points.shape();
  const int64_t numbers = shape.rank() == 0 ? 1 : shape.back();
  if (points.dtype() != DType::f32 || (numbers % 2 != 0 && numbers != 3))
    throw InvalidArgument("letterbox: points are f32[..., 2], or [..., 3] with a score, and boxes f32[..., 4], not {}{}", points.dtype(),
                          shape);
  Tensor result(DType::f32, shape);
  const float* const from = static_cast<const float*>(points.data());
  float* const to = result.writable().data<float>();
  for (int64_t i = 0; i < points.elements(); ++i) {
    if (numbers == 3 && i % 3 == 2) {
      to[i] = from[i];
      continue;
    }
    const bool across = i % numbers % 2 == 0;
    const double value = (from[i] - (across ? where.left : where.top)) / where.scale;
    to[i] = static_cast<float>(std::clamp<double>(value, 0, across ? where.source.width : where.source.height));
  }
  return result;
} catch (...) {
  throw_as_error();
}

Tensor scale_masks(const TensorView& masks, const Letterbox& where, double threshold) try {
  const Shape& shape = masks.shape();
  if (masks.dtype() != DType::f32 || shape.rank() != 3)
    throw InvalidArgument("scale_masks: masks are f32[n, height, width], not {}{}", masks.dtype(), shape);
  check_size("scale_masks", where.source.width, where.source.height);
  const int64_t count = shape[0], height = shape[1], width = shape[2];
  Tensor result(DType::u8, Shape{count, where.source.height, where.source.width});
  if (count == 0) return result;
  check_size("scale_masks", width, height);
  check_size("scale_masks", where.size.width, where.size.height);
  check_size("scale_masks", int64_t{where.source.width} * where.source.height, count);
  const auto* const from = static_cast<const float*>(masks.data());
  uint8_t* const to = result.writable().data<uint8_t>();
  // Where a pixel's middle lies in the mask: the cells on both sides, and how much of the second.
  struct Place {
    int64_t first, second;
    float share;
  };
  const auto places = [&](int source, int before, double inner, int64_t cells) {
    std::vector<Place> result(static_cast<size_t>(source));
    for (int i = 0; i < source; ++i) {
      const double at =
          std::clamp((before + (i + 0.5) * where.scale) / inner * static_cast<double>(cells) - 0.5, 0.0, static_cast<double>(cells - 1));
      const int64_t first = static_cast<int64_t>(at);
      result[static_cast<size_t>(i)] = {first, std::min(first + 1, cells - 1), static_cast<float>(at - static_cast<double>(first))};
    }
    return result;
  };
  const std::vector<Place> columns = places(where.source.width, where.left, where.size.width, width);
  const std::vector<Place> rows = places(where.source.height, where.top, where.size.height, height);
  for_rows(count * where.source.height, where.source.width * 4, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const Place& row = rows[static_cast<size_t>(i % where.source.height)];
      const float* const mask = from + i / where.source.height * height * width;
      const float *const above = mask + row.first * width, *const below = mask + row.second * width;
      uint8_t* const out = to + i * where.source.width;
      for (size_t x = 0; x < columns.size(); ++x) {
        const Place& c = columns[x];
        const float upper = above[c.first] + (above[c.second] - above[c.first]) * c.share;
        const float lower = below[c.first] + (below[c.second] - below[c.first]) * c.share;
        out[x] = upper + (lower - upper) * row.share > threshold;
      }
    }
  });
  return result;
} catch (...) {
  throw_as_error();
}

// ---- Suppression

std::vector<int> nms_boxes(const TensorView& boxes, const TensorView& scores, float least_score, float overlap, float eta, int most) try {
  check_thresholds("NMSBoxes", least_score, overlap);
  if (!(eta > 0)) throw InvalidArgument("NMSBoxes: eta is {}, not more than 0", eta);
  return suppressed(boxes_of("NMSBoxes", boxes, scores, true), least_score, overlap, eta, most);
} catch (...) {
  throw_as_error();
}

std::vector<int> nms_boxes_batched(const TensorView& boxes, const TensorView& scores, const std::vector<int>& classes, float least_score,
                                   float overlap, float eta, int most) try {
  check_thresholds("NMSBoxesBatched", least_score, overlap);
  if (!(eta > 0)) throw InvalidArgument("NMSBoxesBatched: eta is {}, not more than 0", eta);
  Boxes parted = boxes_of("NMSBoxesBatched", boxes, scores, true);
  check_count("NMSBoxesBatched", "classes", classes.size(), parted.corners.size());
  part_classes(parted, std::vector<double>(classes.begin(), classes.end()));
  return suppressed(parted, least_score, overlap, eta, most);
} catch (...) {
  throw_as_error();
}

std::vector<int> nms_boxes_rotated(const TensorView& boxes, const TensorView& scores, float least_score, float overlap, float eta,
                                   int most) try {
  check_thresholds("NMSBoxesRotated", least_score, overlap);
  if (!(eta > 0)) throw InvalidArgument("NMSBoxesRotated: eta is {}, not more than 0", eta);
  const std::vector<double> sides = numbers("NMSBoxesRotated", "boxes", boxes, 2, 5),
                            given = numbers("NMSBoxesRotated", "scores", scores, 1, 0);
  check_count("NMSBoxesRotated", "scores", given.size(), sides.size() / 5);
  std::vector<RotatedRect> rectangles;
  for (size_t i = 0; i < sides.size(); i += 5) {
    const auto number = [&](size_t k) { return static_cast<float>(sides[i + k]); };
    rectangles.push_back({{number(0), number(1)}, number(2), number(3), number(4)});
  }
  return suppressed(std::vector<float>(given.begin(), given.end()), least_score, overlap, eta, most, [&](size_t i, size_t k) {
    const RotatedRect &a = rectangles[i], &b = rectangles[k];
    Tensor region;
    const int kind = rotated_rectangle_intersection(a, b, region);  // 0: nothing, 2: one lies within the other
    if (kind == 0 || !region || region.elements() == 0) return 0.0f;
    if (kind == 2) return 1.0f;
    const float both = static_cast<float>(contour_area(region, false));
    return both / (a.width * a.height + b.width * b.height - both);
  });
} catch (...) {
  throw_as_error();
}

std::pair<std::vector<float>, std::vector<int>> soft_nms_boxes(const TensorView& boxes, const TensorView& scores, float least_score,
                                                               float overlap, int most, float sigma, SoftNms method) try {
  check_thresholds("softNMSBoxes", least_score, overlap);
  if (!(sigma >= 0)) throw InvalidArgument("softNMSBoxes: sigma is {}", sigma);
  if (method != SoftNms::linear && method != SoftNms::gaussian)
    throw InvalidArgument("softNMSBoxes: the method is {}; there are 1 and 2", static_cast<int>(method));
  const Boxes all = boxes_of("softNMSBoxes", boxes, scores, true);
  std::vector<std::pair<float, size_t>> left;
  for (size_t i = 0; i < all.scores.size(); ++i) left.push_back({all.scores[i], i});
  const size_t limit = most <= 0 ? left.size() : std::min(left.size(), static_cast<size_t>(most));
  std::pair<std::vector<float>, std::vector<int>> result;
  for (size_t start = 0; start < limit; ++start) {
    const auto best = std::max_element(left.begin() + static_cast<ptrdiff_t>(start), left.end(), [](const auto& a, const auto& b) {
      return a.first == b.first ? a.second > b.second : a.first < b.first;
    });
    if (!(best->first >= least_score)) break;
    const auto [score, index] = *best;
    result.first.push_back(score);
    result.second.push_back(static_cast<int>(index));
    std::swap(left[start], *best);
    for (size_t i = start + 1; i < left.size(); ++i) {
      auto& [other, which] = left[i];
      if (other < least_score) continue;
      const float both = overlap_of(all.corners[index], all.corners[which], all.areas[index], all.areas[which]);
      if (method == SoftNms::gaussian)
        other *= std::exp(-(both * both) / sigma);
      else if (both > overlap)
        other *= 1.0f - both;
    }
  }
  return result;
} catch (...) {
  throw_as_error();
}

std::vector<int> nms(const TensorView& boxes, const TensorView& scores, float overlap, float least_score, const TensorView& classes,
                     int most) try {
  check_thresholds("nms", least_score, overlap);
  Boxes all = boxes_of("nms", boxes, scores, false);
  if (classes.dtype() != DType::undefined) {
    const std::vector<double> kinds = numbers("nms", "classes", classes, 1, 0);
    check_count("nms", "classes", kinds.size(), all.corners.size());
    part_classes(all, kinds);
  }
  std::vector<int> kept = suppressed(all, least_score, overlap, 1, 0);
  if (most > 0 && kept.size() > static_cast<size_t>(most)) kept.resize(static_cast<size_t>(most));
  return kept;
} catch (...) {
  throw_as_error();
}

// ---- Outputs of networks

Tensor decode_ssd(const TensorView& deltas, const TensorView& priors, const Scalar4& variances) try {
  const std::vector<double> moves = numbers("decode_ssd", "deltas", deltas, 2, 4), boxes = numbers("decode_ssd", "priors", priors, 2, 4);
  check_count("decode_ssd", "deltas", moves.size() / 4, boxes.size() / 4);
  std::vector<float> result(boxes.size());
  for (size_t i = 0; i < boxes.size(); i += 4)
    for (size_t axis = 0; axis < 2; ++axis) {
      const double size = boxes[i + 2 + axis];
      const double middle = boxes[i + axis] + moves[i + axis] * variances[axis] * size;
      const double half = size * std::exp(moves[i + 2 + axis] * variances[2 + axis]) / 2;
      result[i + axis] = static_cast<float>(middle - half);
      result[i + 2 + axis] = static_cast<float>(middle + half);
    }
  return tensor_of(result, Shape{static_cast<int64_t>(boxes.size() / 4), 4});
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> grid_points(Size size, const std::vector<int>& strides, double offset) try {
  check_size("grid_points", size.width, size.height);
  std::vector<float> points, sizes;
  for (const int stride : strides) {
    if (stride <= 0) throw InvalidArgument("grid_points: a stride is {}", stride);
    for (int y = 0; y < (size.height + stride - 1) / stride; ++y)
      for (int x = 0; x < (size.width + stride - 1) / stride; ++x) {
        points.push_back(static_cast<float>((x + offset) * stride));
        points.push_back(static_cast<float>((y + offset) * stride));
        sizes.push_back(static_cast<float>(stride));
      }
  }
  const int64_t count = static_cast<int64_t>(sizes.size());
  return {tensor_of(points, Shape{count, 2}), tensor_of(sizes, Shape{count})};
} catch (...) {
  throw_as_error();
}

Tensor decode_dfl(const TensorView& distances, const TensorView& points, const TensorView& strides) try {
  const std::vector<double> middles = numbers("decode_dfl", "points", points, 2, 2),
                            sizes = numbers("decode_dfl", "strides", strides, 1, 0);
  const Shape& shape = distances.shape();
  if (distances.dtype() != DType::f32 || shape.rank() != 2 || shape[1] % 4 != 0 || shape[1] == 0)
    throw InvalidArgument("decode_dfl: distances are f32[n, 4 * bins], not {}{}", distances.dtype(), shape);
  const size_t count = static_cast<size_t>(shape[0]), bins = static_cast<size_t>(shape[1] / 4);
  check_count("decode_dfl", "points", middles.size() / 2, count);
  check_count("decode_dfl", "strides", sizes.size(), count);
  std::vector<float> result(4 * count);
  const float* weight = static_cast<const float*>(distances.data());
  for (size_t i = 0; i < 4 * count; ++i, weight += bins) {
    const double most = *std::max_element(weight, weight + bins);
    double sum = 0, distance = 0;
    for (size_t k = 0; k < bins; ++k) {
      const double share = std::exp(weight[k] - most);
      sum += share;
      distance += share * static_cast<double>(k);
    }
    distance = distance / sum * sizes[i / 4];
    result[i] = static_cast<float>(middles[i / 4 * 2 + i % 2] + (i % 4 < 2 ? -distance : distance));
  }
  return tensor_of(result, Shape{shape[0], 4});
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> decode_yolo(const TensorView& output, const std::vector<double>& anchors, int stride, int version) try {
  const Shape& shape = output.shape();
  const int64_t count = static_cast<int64_t>(anchors.size() / 2);
  if (output.dtype() != DType::f32 || shape.rank() != 3 || anchors.size() % 2 != 0 || count == 0 || shape[0] % count != 0 ||
      shape[0] / count < 6)
    throw InvalidArgument(
        "decode_yolo: an output is f32[anchors * (5 + classes), height, width] with a width and height for each anchor, not "
        "{}{} with {} numbers",
        output.dtype(), shape, anchors.size());
  if (version != 3 && version != 5) throw InvalidArgument("decode_yolo: the version is {}; there are 3 and 5", version);
  const int64_t fields = shape[0] / count, classes = fields - 5, height = shape[1], width = shape[2], cells = height * width;
  std::vector<float> boxes, scores;
  boxes.reserve(static_cast<size_t>(count * cells * 4));
  scores.reserve(static_cast<size_t>(count * cells * classes));
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (int64_t a = 0; a < count; ++a)
    for (int64_t i = 0; i < cells; ++i) {
      const float* const from = static_cast<const float*>(output.data()) + a * fields * cells + i;
      double middle[2], half[2];
      for (int axis = 0; axis < 2; ++axis) {
        const double place = static_cast<double>(axis == 0 ? i % width : i / width), move = sigmoid(from[axis * cells]);
        const double size = from[(2 + axis) * cells], anchor = anchors[static_cast<size_t>(2 * a + axis)];
        middle[axis] = (place + (version == 3 ? move : 2 * move - 0.5)) * stride;
        half[axis] = anchor * (version == 3 ? std::exp(size) : 4 * sigmoid(size) * sigmoid(size)) / 2;
      }
      for (const int sign : {-1, 1})
        for (int axis = 0; axis < 2; ++axis) boxes.push_back(static_cast<float>(middle[axis] + sign * half[axis]));
      const double object = sigmoid(from[4 * cells]);
      for (int64_t c = 0; c < classes; ++c) scores.push_back(static_cast<float>(object * sigmoid(from[(5 + c) * cells])));
    }
  return {tensor_of(boxes, Shape{count * cells, 4}), tensor_of(scores, Shape{count * cells, classes})};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
