// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of an image. Coordinates are computed in the precision of the data, because rounding decides which pixels take part.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "graph/sampling.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kSpatialScale{"spatial_scale", 1, MINNOW_DOC("pixels of X for one unit of a region's coordinates")};
constexpr Attribute<Name> kTransformation{
    "coordinate_transformation_mode", "half_pixel",
    MINNOW_DOC("half_pixel: coordinates are moved by -0.5, so that whole numbers are pixels' corners; output_half_pixel: they are not, and "
               "regions are at least one pixel wide")};
constexpr Attribute<Name> kMode{"mode", "avg", MINNOW_DOC("avg: mean of the samples; max: largest weighted corner of any sample")};
constexpr Attribute<int64_t> kOutputHeight{"output_height", 1, MINNOW_DOC("rows of the result")};
constexpr Attribute<int64_t> kOutputWidth{"output_width", 1, MINNOW_DOC("columns of the result")};
constexpr Attribute<int64_t> kSamplingRatio{"sampling_ratio", 0,
                                            MINNOW_DOC("samples along each side of a bin; 0: as many as the bin has pixels, rounded up")};

constexpr int64_t kMaxSize = int64_t{1} << 30;

Sizes image_sizes(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() != 4) node.fail("takes [batch, channels, height, width], the input has shape {}", x);
  return x;
}

/// The number of regions of `columns` numbers each, in input 1.
Size regions_of(const NodeView& node, int64_t columns) {
  const auto rois = node.known_sizes(1);
  if (rois && (rois->rank() != 2 || differ((*rois)[1], columns)))
    node.fail("regions should have shape [count, {}], they have shape {}", columns, *rois);
  return rois ? (*rois)[0] : Size::unknown();
}

Shapes max_roi_shape(const NodeView& node) {
  const Sizes x = image_sizes(node);
  const Size rois = regions_of(node, 5);
  const Ints& pooled = node.require<Ints>("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 || pooled[0] > kMaxSize || pooled[1] > kMaxSize)
    node.fail("pooled_shape should be two positive numbers, it is {}", pooled);
  return {Sizes{rois, x[1], pooled[0], pooled[1]}};
}

/// NaN where every pixel of a bin is one, else `best`.
template <class T>
T all_nan_or(T best, const T* plane, int64_t width, int64_t row_from, int64_t row_to, int64_t column_from, int64_t column_to) {
  for (int64_t row = row_from; row < row_to; ++row)
    for (int64_t column = column_from; column < column_to; ++column)
      if (!std::isnan(plane[row * width + column])) return best;
  return std::numeric_limits<T>::quiet_NaN();
}

/// The bins of all regions and channels, in the order of the output `y`: use(plane of x, first row, end, first column, end).
template <class Use>
void each_bin(const NodeView& node, KernelArgs& args, const Shape& y, Use use) {
  const Shape& x = node.input_shape(0);
  const int64_t channels = x[1], height = x[2], width = x[3], rows = y[2], columns = y[3];
  const Numbers<double> rois = args.reals(1);
  const float scale = node.attribute(kSpatialScale);
  Pace pace;
  for (int64_t r = 0; r < y[0]; ++r) {
    const double* roi = rois.data() + 5 * r;
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x[0]))) args.fail("region {} is of image {}, there are {}", r, roi[0], x[0]);
    float corner[4];
    for (int i = 0; i < 4; ++i) {
      corner[i] = std::round(static_cast<float>(roi[1 + i]) * scale);
      if (!(std::fabs(corner[i]) < static_cast<float>(kMaxSize))) args.fail("region {} has coordinate {}", r, roi[1 + i]);
    }
    const int64_t left = static_cast<int64_t>(corner[0]), top = static_cast<int64_t>(corner[1]);
    const float bin_width =
        static_cast<float>(std::max<int64_t>(static_cast<int64_t>(corner[2]) - left + 1, 1)) / static_cast<float>(columns);
    const float bin_height = static_cast<float>(std::max<int64_t>(static_cast<int64_t>(corner[3]) - top + 1, 1)) / static_cast<float>(rows);
    const auto low = +[](float bin, int64_t i, int64_t start, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::floor(static_cast<float>(i) * bin)) + start, 0, size);
    };
    const auto high = +[](float bin, int64_t i, int64_t start, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(static_cast<float>(i + 1) * bin)) + start, 0, size);
    };
    Numbers<int64_t> row_ends, column_ends;  // of bin i: [2 i] and [2 i + 1]
    for (int64_t i = 0; i < rows; ++i)
      for (const bool end : {false, true}) row_ends.push_back((end ? high : low)(bin_height, i, top, height));
    for (int64_t j = 0; j < columns; ++j)
      for (const bool end : {false, true}) column_ends.push_back((end ? high : low)(bin_width, j, left, width));
    for (int64_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < row_ends.size(); i += 2)
        for (size_t j = 0; j < column_ends.size(); j += 2) {
          const int64_t pixels = (row_ends[i + 1] - row_ends[i]) * (column_ends[j + 1] - column_ends[j]);
          pace.step(static_cast<size_t>(std::max<int64_t>(pixels, 1)));
          use((static_cast<int64_t>(roi[0]) * channels + c) * height * width, row_ends[i], row_ends[i + 1], column_ends[j],
              column_ends[j + 1]);
        }
  }
}

/// T: float or double; the largest of numbers is the same in either.
template <class T>
void pool_regions(const NodeView& node, KernelArgs& args, const T* image, T* to) {
  const int64_t width = node.input_shape(0)[3];
  each_bin(node, args, args.output(0).shape(), [&](int64_t from, int64_t row_from, int64_t row_to, int64_t column_from, int64_t column_to) {
    const T* plane = image + from;
    T& found = *to++;
    found = 0;  // of a bin outside the image
    if (row_from >= row_to || column_from >= column_to) return;
    T best = -INFINITY;  // NaN is larger than nothing: a number beside it counts
    for (int64_t row = row_from; row < row_to; ++row)
      for (int64_t column = column_from; column < column_to; ++column) {
        const T value = plane[row * width + column];
        best = value > best ? value : best;
      }
    found = best == -INFINITY ? all_nan_or(best, plane, width, row_from, row_to, column_from, column_to) : best;
  });
}

void max_roi(const NodeView& node, KernelArgs& args) {
  if (args.input(0).dtype() == DType::f32) return pool_regions(node, args, args.input(0).data<float>(), args.output(0).data<float>());
  const Numbers<double> image = args.reals(0);
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  pool_regions(node, args, image.data(), y.data());
  args.write(0, y);
}

Shapes roi_align_shape(const NodeView& node) {
  // While types are inferred with symbols, the size of the result is known without X.
  const Size channels = node.is_symbolic() && !node.has_sizes(0) ? Size::unknown() : image_sizes(node)[1], rois = regions_of(node, 4);
  if (const auto batch = node.known_sizes(2); batch && differ(*batch, Sizes{rois}))
    node.fail("batch_indices should have shape [{}], they have shape {}", rois, *batch);
  const std::string_view transformation = node.attribute(kTransformation), mode = node.attribute(kMode);
  if (transformation != "half_pixel" && transformation != "output_half_pixel")
    node.fail("coordinate_transformation_mode should be half_pixel or output_half_pixel, it is \"{}\"", transformation);
  if (mode != "avg" && mode != "max") node.fail("mode should be avg or max, it is \"{}\"", mode);
  const int64_t height = node.attribute(kOutputHeight), width = node.attribute(kOutputWidth), samples = node.attribute(kSamplingRatio);
  if (height < 1 || height > kMaxSize || width < 1 || width > kMaxSize) node.fail("a result of {} by {} is not possible", height, width);
  if (samples < 0 || samples > RoiAlignment::kMostSamples)
    node.fail("sampling_ratio should be 0 to {}, it is {}", RoiAlignment::kMostSamples, samples);
  return {Sizes{rois, channels, height, width}};
}

/// One corner of the cell around a sample, and its weight.
struct Corner {
  int64_t place;
  double weight;
};

/// The samples of a region, in the precision of the data.
class RegionSamples {
 public:
  RegionSamples(const RoiAlignment& roi, KernelArgs& args, int64_t index, const double* corners)
      : wide_(args.input(0).dtype() == DType::f64) {
    const float narrow[4] = {static_cast<float>(corners[0]), static_cast<float>(corners[1]), static_cast<float>(corners[2]),
                             static_cast<float>(corners[3])};
    double_ = roi.region(corners);
    single_ = roi.region(narrow);
    if (wide_ ? !double_.possible : !single_.possible)
      args.fail("region {} has bins that are {} by {} pixels large, {} are the most", index, double_.bin[1], double_.bin[0],
                RoiAlignment::kMostSamples);
  }
  int64_t along(size_t axis) const { return wide_ ? double_.samples[axis] : single_.samples[axis]; }
  RoiAlignment::Pair pair(size_t axis, int64_t bin, int64_t sample, int64_t size) const {
    return wide_ ? RoiAlignment::pair(double_.place(axis, bin, sample), size) : RoiAlignment::pair(single_.place(axis, bin, sample), size);
  }
  double place(size_t axis, int64_t bin, int64_t sample) const {
    return wide_ ? double_.place(axis, bin, sample) : static_cast<double>(single_.place(axis, bin, sample));
  }

 private:
  bool wide_;
  RoiAlignment::Region<double> double_;
  RoiAlignment::Region<float> single_;
};

int64_t image_of(KernelArgs& args, const Numbers<int64_t>& batch, int64_t region, int64_t images) {
  const int64_t index = batch[static_cast<size_t>(region)];
  if (index < 0 || index >= images) args.fail("region {} is of image {}, there are {}", region, index, images);
  return index;
}

void roi_align(const NodeView& node, KernelArgs& args) {
  const Shape &x = node.input_shape(0), y_shape = args.output(0).shape();
  const int64_t channels = x[1], height = x[2], width = x[3], bins = y_shape[2] * y_shape[3];
  const Numbers<double> image = args.reals(0), rois = args.reals(1);
  const Numbers<int64_t> batch = args.ints(2);
  const RoiAlignment roi = RoiAlignment::of(node);
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  std::vector<Corner> corners;  // of a row of bins
  Pace pace;
  for (int64_t r = 0; r < y_shape[0]; ++r) {
    const int64_t index = image_of(args, batch, r, x[0]);
    const RegionSamples region(roi, args, r, rois.data() + 4 * r);
    if (height == 0 || width == 0) continue;
    const int64_t along[] = {region.along(0), region.along(1)}, samples = along[0] * along[1];
    const double count = static_cast<double>(std::max<int64_t>(samples, 1));
    const auto add_bin = [&](int64_t i, int64_t j) {
      for (int64_t sy = 0; sy < along[0]; ++sy) {
        const RoiAlignment::Pair row = region.pair(0, i, sy, height);
        pace.step(static_cast<size_t>(4 * along[1]));
        for (int64_t sx = 0; sx < along[1]; ++sx) {
          const RoiAlignment::Pair column = region.pair(1, j, sx, width);
          const bool inside = row.inside && column.inside;
          for (int k = 0; k < 4; ++k)
            corners.push_back(inside ? Corner{row.at[k / 2] * width + column.at[k % 2], row.weight[k / 2] * column.weight[k % 2]}
                                     : Corner{0, 0});
        }
      }
    };
    // A row of bins is sampled channel by channel, where its corners are few enough to stay in the caches, else bin by bin.
    const int64_t at_once = samples * y_shape[3] <= 1024 ? y_shape[3] : 1;
    for (int64_t first = 0; first < bins; first += at_once) {
      corners.clear();
      for (int64_t bin = first; bin < first + at_once; ++bin) add_bin(bin / y_shape[3], bin % y_shape[3]);
      for (int64_t c = 0; c < channels; ++c) {
        pace.step(corners.size());
        const double* plane = image.data() + (index * channels + c) * height * width;
        double* to = y.data() + (r * channels + c) * bins + first;
        const Corner* at = corners.data();
        for (int64_t bin = 0; bin < at_once; ++bin) {
          double sum = 0, largest = 0;
          const Corner* const begin = at;
          for (; at != begin + 4 * samples; ++at) {
            const double value = at->weight * plane[at->place];
            sum += value;
            if (!roi.average) largest = at == begin ? value : std::fmax(largest, value);
          }
          to[bin] = roi.average ? sum / count : largest;
        }
      }
    }
  }
  args.write(0, y);
}

#if MINNOW_GRADIENTS

void check_gradient(const NodeView& node, size_t input, const Sizes& expected) {
  if (const auto given = node.known_sizes(input); given && differ(*given, expected))
    node.fail("the gradient should have shape {}, it has shape {}", expected, *given);
}
Shapes max_roi_gradient_shape(const NodeView& node) {
  check_gradient(node, 2, max_roi_shape(node)[0].shape);
  return {node.input_sizes(0)};
}
Shapes roi_align_gradient_shape(const NodeView& node) {
  check_gradient(node, 3, roi_align_shape(node)[0].shape);
  return {node.input_sizes(0), node.input_sizes(1)};
}

/// To the first of the largest elements of each bin.
void max_roi_gradient(const NodeView& node, KernelArgs& args) {
  const Numbers<double> image = args.reals(0), gradient = args.reals(2);
  Numbers<double> of_x(image.size());
  const int64_t width = node.input_shape(0)[3];
  size_t bin = 0;
  each_bin(node, args, node.input_shape(2), [&](int64_t from, int64_t row_from, int64_t row_to, int64_t column_from, int64_t column_to) {
    const double g = gradient[bin++];
    if (row_from >= row_to || column_from >= column_to) return;
    int64_t best = from + row_from * width + column_from;
    for (int64_t row = row_from; row < row_to; ++row)
      for (int64_t at = from + row * width + column_from; at < from + row * width + column_to; ++at) {
        const double value = image[static_cast<size_t>(at)], largest = image[static_cast<size_t>(best)];
        if (value > largest || (std::isnan(largest) && !std::isnan(value))) best = at;
      }
    of_x[static_cast<size_t>(best)] += g;
  });
  args.write(0, of_x);
}

/// A corner of the cell around a sample, and what its weight grows by as the sample moves along each axis.
struct MovingCorner {
  int64_t place;
  double weight, slope[2];
};

/// To the pixels around each sample, by their weights, and to the corners of regions, which the samples move with.
void roi_align_gradient(const NodeView& node, KernelArgs& args) {
  const Shape &x = node.input_shape(0), &y = node.input_shape(3);
  const int64_t channels = x[1], bins = y[2] * y[3];
  const Numbers<double> image = args.reals(0), rois = args.reals(1), gradient = args.reals(3);
  const Numbers<int64_t> batch = args.ints(2);
  const RoiAlignment roi = RoiAlignment::of(node);
  Numbers<double> of_x(image.size()), of_rois(rois.size());
  std::vector<MovingCorner> corners;  // of a bin
  std::vector<double> moves;          // what a move of each sample of the bin changes, along each axis
  Pace pace;
  for (int64_t r = 0; r < y[0]; ++r) {
    const int64_t index = image_of(args, batch, r, x[0]);
    const double* const given = rois.data() + 4 * r;
    const RegionSamples region(roi, args, r, given);
    if (x[2] == 0 || x[3] == 0) continue;
    const int64_t along[] = {region.along(0), region.along(1)}, samples = along[0] * along[1];
    for (int64_t bin = 0; bin < bins; ++bin) {
      const int64_t place[] = {bin / y[3], bin % y[3]};
      corners.clear();
      for (int64_t s = 0; s < samples; ++s) {
        RoiAlignment::Pair pair[2];
        double slope[2];  // of the second weight of a pair; it is clipped at the image's borders
        for (size_t axis : {0, 1}) {
          const int64_t sample = axis ? s % along[1] : s / along[1];
          pair[axis] = region.pair(axis, place[axis], sample, x[axis + 2]);
          slope[axis] = pair[axis].at[0] != pair[axis].at[1] && region.place(axis, place[axis], sample) > 0 ? 1 : 0;
        }
        const bool inside = pair[0].inside && pair[1].inside;
        for (int k = 0; k < 4; ++k) {
          const int row = k / 2, column = k % 2;
          MovingCorner corner{};
          if (inside)
            corner = {pair[0].at[row] * x[3] + pair[1].at[column],
                      pair[0].weight[row] * pair[1].weight[column],
                      {(row ? slope[0] : -slope[0]) * pair[1].weight[column], (column ? slope[1] : -slope[1]) * pair[0].weight[row]}};
          corners.push_back(corner);
        }
      }
      moves.assign(static_cast<size_t>(2 * samples), 0);
      for (int64_t c = 0; c < channels && samples; ++c) {
        pace.step(corners.size());
        const int64_t plane = (index * channels + c) * x[2] * x[3];
        const double g = gradient[static_cast<size_t>((r * channels + c) * bins + bin)];
        const auto value_of = [&](size_t k) { return corners[k].weight * image[static_cast<size_t>(plane + corners[k].place)]; };
        const auto add = [&](size_t k, double share) {
          const size_t pixel = static_cast<size_t>(plane + corners[k].place);
          of_x[pixel] += share * corners[k].weight;
          for (size_t axis : {0, 1}) moves[k / 4 * 2 + axis] += share * corners[k].slope[axis] * image[pixel];
        };
        if (roi.average) {
          for (size_t k = 0; k < corners.size(); ++k) add(k, g / static_cast<double>(samples));
        } else {
          size_t best = 0;
          for (size_t k = 1; k < corners.size(); ++k)
            if (value_of(k) > value_of(best) || (std::isnan(value_of(best)) && !std::isnan(value_of(k)))) best = k;
          add(best, g);
        }
      }
      for (int64_t s = 0; s < samples; ++s)
        for (size_t axis : {0, 1}) {
          const int64_t sample = axis ? s % along[1] : s / along[1], many = axis ? y[3] : y[2];
          const double share = (static_cast<double>(place[axis]) + (static_cast<double>(sample) + 0.5) / static_cast<double>(along[axis])) /
                               static_cast<double>(many);
          // A region that is narrower than a pixel keeps its size.
          const double extent = (given[3 - axis] - given[1 - axis]) * static_cast<double>(roi.scale);
          const double end = roi.half_pixel || extent > 1 ? share : 0;
          const double moved = moves[static_cast<size_t>(2 * s) + axis] * static_cast<double>(roi.scale);
          of_rois[static_cast<size_t>(4 * r) + 1 - axis] += (1 - end) * moved;
          of_rois[static_cast<size_t>(4 * r) + 3 - axis] += end * moved;
        }
    }
  }
  if (args.has_output(0)) args.write(0, of_x);
  if (args.has_output(1)) args.write(1, of_rois);
}

/// Regions are rounded to pixels: moving them a little changes nothing.
Exprs max_roi_rule(const GradientContext& c) {
  if (!c.wants(0)) return Exprs(c.inputs.size());
  return gradient_node(c, "minnow.MaxRoiPoolGradient", {c.input(0), c.input(1), c.output_gradient(0)});
}
Exprs roi_align_rule(const GradientContext& c) {
  return gradient_node(c, "minnow.RoiAlignGradient", {c.input(0), c.input(1), c.input(2), c.output_gradient(0)});
}

#endif

constexpr AttributeSpec kPooledShape = required("pooled_shape", AttributeKind::integers, MINNOW_DOC("rows and columns of bins"));

constexpr List<Operator> definitions() {
  return {
#if MINNOW_GRADIENTS
    {.name = "minnow.MaxRoiPoolGradient",
     .doc = MINNOW_DOC("The gradient of X of a MaxRoiPool whose output has this gradient: the first largest element of a bin has it."),
     .inputs = {{"X", kFloats}, {.name = "rois", .dtypes = kFloats, .like = "X"}, {.name = "gradient", .dtypes = kFloats, .like = "X"}},
     .outputs = {{"of_X", same_as("X")}},
     .attributes = {kPooledShape, kSpatialScale},
     .infer_shapes = max_roi_gradient_shape,
     .reference = max_roi_gradient},
        {.name = "minnow.RoiAlignGradient",
         .doc =
             MINNOW_DOC("The gradients of X and regions of a RoiAlign whose output has this gradient; numbers of samples are constants."),
         .inputs = {{"X", kFloats},
                    {.name = "rois", .dtypes = kFloats, .like = "X"},
                    {"batch_indices", kI64},
                    {.name = "gradient", .dtypes = kFloats, .like = "X"}},
         .outputs = {{"of_X", same_as("X"), kOptional}, {"of_rois", same_as("X"), kOptional}},
         .attributes = {kTransformation, kMode, kOutputHeight, kOutputWidth, kSamplingRatio, kSpatialScale},
         .infer_shapes = roi_align_gradient_shape,
         .reference = roi_align_gradient},
#endif
        {.name = "MaxRoiPool",
         .since = 22,
         .doc =
             MINNOW_DOC("The largest element of each bin of each region [image, x1, y1, x2, y2]; corners are rounded to pixels, bins cover "
                        "all pixels that they touch. Source: Girshick 2015, \"Fast R-CNN\"."),
         .inputs = {{"X", kFloats}, {.name = "rois", .dtypes = kFloats, .like = "X"}},
         .outputs = {{"Y", same_as("X")}},
         .attributes = {kPooledShape, kSpatialScale},
         .infer_shapes = max_roi_shape,
         .reference = max_roi,
         .gradient = MINNOW_GRADIENT(max_roi_rule)},
        {.name = "RoiAlign",
         .since = 22,
         .doc = MINNOW_DOC(
             "Bins of regions [x1, y1, x2, y2], sampled by bilinear interpolation at positions spread evenly over each bin. Source: "
             "He, Gkioxari, Dollar, Girshick 2017, \"Mask R-CNN\"."),
         .inputs = {{"X", kFloats}, {.name = "rois", .dtypes = kFloats, .like = "X"}, {"batch_indices", kI64}},
         .outputs = {{"Y", same_as("X")}},
         .attributes = {kTransformation, kMode, kOutputHeight, kOutputWidth, kSamplingRatio, kSpatialScale},
         .infer_shapes = roi_align_shape,
         .reference = roi_align,
         .gradient = MINNOW_GRADIENT(roi_align_rule)},
  };
}

}  // namespace

std::span<const Operator> roi_operators() { return operator_table<definitions>(); }

}  // namespace minnow
