// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of an image. Coordinates are computed in the precision of the data, because rounding decides which pixels take part.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "graph/sampling.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kSpatialScale{"spatial_scale", 1, MINNOW_DOC("pixels of X for one unit of a region's coordinates")};
constexpr Attribute<std::string_view> kTransformation{
    "coordinate_transformation_mode", "half_pixel",
    MINNOW_DOC("half_pixel: coordinates are moved by -0.5, so that whole numbers are pixels' corners; output_half_pixel: they are not, and "
               "regions are at least one pixel wide")};
constexpr Attribute<std::string_view> kMode{"mode", "avg",
                                            MINNOW_DOC("avg: mean of the samples; max: largest weighted corner of any sample")};
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

/// T: float or double; the largest of numbers is the same in either.
template <class T>
void pool_regions(const NodeView& node, KernelArgs& args, const T* image, T* to) {
  const Shape &x = node.input_shape(0), y_shape = args.output(0).shape();
  const int64_t channels = x[1], height = x[2], width = x[3], rows = y_shape[2], columns = y_shape[3];
  const Numbers<double> rois = args.reals(1);
  const float scale = node.attribute(kSpatialScale);
  Pace pace;
  for (int64_t r = 0; r < y_shape[0]; ++r) {
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
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = image + (static_cast<int64_t>(roi[0]) * channels + c) * height * width;
      for (size_t i = 0; i < row_ends.size(); i += 2)
        for (size_t j = 0; j < column_ends.size(); j += 2, ++to) {
          const int64_t row_from = row_ends[i], row_to = row_ends[i + 1], column_from = column_ends[j], column_to = column_ends[j + 1];
          *to = 0;  // of a bin outside the image
          if (row_from >= row_to || column_from >= column_to) continue;
          T best = -INFINITY;  // NaN is larger than nothing: a number beside it counts
          for (int64_t row = row_from; row < row_to; ++row, pace.step(static_cast<size_t>(column_to - column_from)))
            for (int64_t column = column_from; column < column_to; ++column) {
              const T value = plane[row * width + column];
              best = value > best ? value : best;
            }
          *to = best == -INFINITY ? all_nan_or(best, plane, width, row_from, row_to, column_from, column_to) : best;
        }
    }
  }
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

void roi_align(const NodeView& node, KernelArgs& args) {
  const Shape &x = node.input_shape(0), y_shape = args.output(0).shape();
  const int64_t channels = x[1], height = x[2], width = x[3], bins = y_shape[2] * y_shape[3];
  const Numbers<double> image = args.reals(0), rois = args.reals(1);
  const Numbers<int64_t> batch = args.ints(2);
  const RoiAlignment roi = RoiAlignment::of(node);
  const bool wide = args.input(0).dtype() == DType::f64;
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  std::vector<Corner> corners;  // of a row of bins
  Pace pace;
  for (int64_t r = 0; r < y_shape[0]; ++r) {
    const int64_t index = batch[static_cast<size_t>(r)];
    if (index < 0 || index >= x[0]) args.fail("region {} is of image {}, there are {}", r, index, x[0]);
    const double* corner = rois.data() + 4 * r;
    const float narrow[4] = {static_cast<float>(corner[0]), static_cast<float>(corner[1]), static_cast<float>(corner[2]),
                             static_cast<float>(corner[3])};
    const RoiAlignment::Region<double> region = roi.region(corner);
    const RoiAlignment::Region<float> single = roi.region(narrow);
    if (wide ? !region.possible : !single.possible)
      args.fail("region {} has bins that are {} by {} pixels large, {} are the most", r, region.bin[1], region.bin[0],
                RoiAlignment::kMostSamples);
    const int64_t* along = wide ? region.samples : single.samples;
    const auto pair = [&](size_t axis, int64_t bin, int64_t sample) {
      return wide ? RoiAlignment::pair(region.place(axis, bin, sample), x[axis + 2])
                  : RoiAlignment::pair(single.place(axis, bin, sample), x[axis + 2]);
    };
    if (height == 0 || width == 0) continue;
    const int64_t samples = along[0] * along[1];
    const double count = static_cast<double>(std::max<int64_t>(samples, 1));
    const auto add_bin = [&](int64_t i, int64_t j) {
      for (int64_t sy = 0; sy < along[0]; ++sy) {
        const RoiAlignment::Pair row = pair(0, i, sy);
        pace.step(static_cast<size_t>(4 * along[1]));
        for (int64_t sx = 0; sx < along[1]; ++sx) {
          const RoiAlignment::Pair column = pair(1, j, sx);
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

constexpr List<Operator> definitions() {
  return {
      {.name = "MaxRoiPool",
       .since = 22,
       .doc =
           MINNOW_DOC("The largest element of each bin of each region [image, x1, y1, x2, y2]; corners are rounded to pixels, bins cover "
                      "all pixels that they touch. Source: Girshick 2015, \"Fast R-CNN\"."),
       .inputs = {{"X", kFloats}, {"rois", kFloats, Arity::required, kTensors, "X"}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {required("pooled_shape", AttributeKind::integers, MINNOW_DOC("rows and columns of bins")), kSpatialScale},
       .infer_shapes = max_roi_shape,
       .reference = max_roi},
      {.name = "RoiAlign",
       .since = 22,
       .doc = MINNOW_DOC(
           "Bins of regions [x1, y1, x2, y2], sampled by bilinear interpolation at positions spread evenly over each bin. Source: "
           "He, Gkioxari, Dollar, Girshick 2017, \"Mask R-CNN\"."),
       .inputs = {{"X", kFloats}, {"rois", kFloats, Arity::required, kTensors, "X"}, {"batch_indices", kI64}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kTransformation, kMode, kOutputHeight, kOutputWidth, kSamplingRatio, kSpatialScale},
       .infer_shapes = roi_align_shape,
       .reference = roi_align},
  };
}

}  // namespace

std::span<const Operator> roi_operators() { return operator_table<definitions>(); }

}  // namespace minnow
