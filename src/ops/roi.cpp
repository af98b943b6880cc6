// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of an image. Coordinates are computed in the precision of the data, because rounding decides which pixels take part.
#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "ops/packed.h"

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

constexpr int64_t kMostPlaces = int64_t{1} << 30;
constexpr int64_t kMostSamples = 1 << 14;  // along a side of a bin; more come from coordinates that are no region of an image

Shape image_of(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (x.rank() != 4) node.fail("takes [batch, channels, height, width], the input has shape {}", x);
  return x;
}

Shapes max_roi_shape(const NodeView& node) {
  const Shape x = image_of(node), &rois = node.input_shape(1);
  if (rois.rank() != 2 || rois[1] != 5) node.fail("regions should have shape [count, 5], they have shape {}", rois);
  const Ints& pooled = node.require<Ints>("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 || pooled[0] > kMostPlaces || pooled[1] > kMostPlaces)
    node.fail("pooled_shape should be two positive numbers, it is {}", pooled);
  return {Shape{rois[0], x[1], pooled[0], pooled[1]}};
}

void max_roi(const NodeView& node, KernelArgs& args) {
  const Shape x = image_of(node), y_shape = args.output(0).shape();
  const int64_t channels = x[1], height = x[2], width = x[3], rows = y_shape[2], columns = y_shape[3];
  const Numbers<double> image = args.reals(0), rois = args.reals(1);
  const float scale = node.attribute(kSpatialScale);
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  double* to = y.data();
  for (int64_t r = 0; r < y_shape[0]; ++r) {
    const double* roi = rois.data() + 5 * r;
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x[0]))) args.fail("region {} is of image {}, there are {}", r, roi[0], x[0]);
    float corner[4];
    for (int i = 0; i < 4; ++i) {
      corner[i] = std::round(static_cast<float>(roi[1 + i]) * scale);
      if (!(std::fabs(corner[i]) < static_cast<float>(kMostPlaces))) args.fail("region {} has coordinate {}", r, roi[1 + i]);
    }
    const int64_t left = static_cast<int64_t>(corner[0]), top = static_cast<int64_t>(corner[1]);
    const float bin_width =
        static_cast<float>(std::max<int64_t>(static_cast<int64_t>(corner[2]) - left + 1, 1)) / static_cast<float>(columns);
    const float bin_height = static_cast<float>(std::max<int64_t>(static_cast<int64_t>(corner[3]) - top + 1, 1)) / static_cast<float>(rows);
    const auto low = [](float bin, int64_t i, int64_t start, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::floor(static_cast<float>(i) * bin)) + start, 0, size);
    };
    const auto high = [](float bin, int64_t i, int64_t start, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(static_cast<float>(i + 1) * bin)) + start, 0, size);
    };
    for (int64_t c = 0; c < channels; ++c) {
      const double* plane = image.data() + (static_cast<int64_t>(roi[0]) * channels + c) * height * width;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j, ++to) {
          const int64_t row_from = low(bin_height, i, top, height), row_to = high(bin_height, i, top, height);
          const int64_t column_from = low(bin_width, j, left, width), column_to = high(bin_width, j, left, width);
          if (row_from >= row_to || column_from >= column_to) continue;  // a bin outside the image gives zero
          double best = plane[row_from * width + column_from];
          for (int64_t row = row_from; row < row_to; ++row)
            for (int64_t column = column_from; column < column_to; ++column) best = std::fmax(best, plane[row * width + column]);
          *to = best;
        }
    }
  }
  args.write(0, y);
}

Shapes roi_align_shape(const NodeView& node) {
  const Shape x = image_of(node), &rois = node.input_shape(1), &batch = node.input_shape(2);
  if (rois.rank() != 2 || rois[1] != 4) node.fail("regions should have shape [count, 4], they have shape {}", rois);
  if (batch != Shape{rois[0]}) node.fail("batch_indices should have shape [{}], they have shape {}", rois[0], batch);
  const std::string_view transformation = node.attribute(kTransformation), mode = node.attribute(kMode);
  if (transformation != "half_pixel" && transformation != "output_half_pixel")
    node.fail("coordinate_transformation_mode should be half_pixel or output_half_pixel, it is \"{}\"", transformation);
  if (mode != "avg" && mode != "max") node.fail("mode should be avg or max, it is \"{}\"", mode);
  const int64_t height = node.attribute(kOutputHeight), width = node.attribute(kOutputWidth), samples = node.attribute(kSamplingRatio);
  if (height < 1 || height > kMostPlaces || width < 1 || width > kMostPlaces)
    node.fail("a result of {} by {} is not possible", height, width);
  if (samples < 0 || samples > kMostSamples) node.fail("sampling_ratio should be 0 to {}, it is {}", kMostSamples, samples);
  return {Shape{rois[0], x[1], height, width}};
}

/// Corners of the cell around one sample, and their weights; all zero outside the image.
struct Sample {
  int64_t at[4] = {};
  double weight[4] = {};
};

template <class Real>
Sample sample_at(Real y, Real x, int64_t height, int64_t width) {
  Sample sample;
  if (!(y >= -1 && y <= static_cast<Real>(height) && x >= -1 && x <= static_cast<Real>(width))) return sample;
  const auto cell = [](Real place, int64_t size, int64_t(&at)[2]) {
    place = std::max(place, Real(0));
    at[0] = static_cast<int64_t>(place);
    at[1] = at[0] + 1;
    if (at[0] < size - 1) return static_cast<double>(place - static_cast<Real>(at[0]));
    at[0] = at[1] = size - 1;
    return 0.0;
  };
  int64_t row[2], column[2];
  const double fy = cell(y, height, row), fx = cell(x, width, column);
  for (int i = 0; i < 4; ++i) {
    sample.at[i] = row[i / 2] * width + column[i % 2];
    sample.weight[i] = (i / 2 ? fy : 1 - fy) * (i % 2 ? fx : 1 - fx);
  }
  return sample;
}

template <class Real>
void align(const NodeView& node, KernelArgs& args) {
  const Shape x = image_of(node), y_shape = args.output(0).shape();
  const int64_t channels = x[1], height = x[2], width = x[3], rows = y_shape[2], columns = y_shape[3];
  const Numbers<double> image = args.reals(0), rois = args.reals(1);
  const Numbers<int64_t> batch = args.ints(2);
  const bool half_pixel = node.attribute(kTransformation) == "half_pixel", average = node.attribute(kMode) == "avg";
  const Real scale = static_cast<Real>(node.attribute(kSpatialScale)), offset = half_pixel ? Real(0.5) : Real(0);
  const int64_t given = node.attribute(kSamplingRatio);
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  std::vector<Sample> samples;
  for (int64_t r = 0; r < y_shape[0]; ++r) {
    const int64_t index = batch[static_cast<size_t>(r)];
    if (index < 0 || index >= x[0]) args.fail("region {} is of image {}, there are {}", r, index, x[0]);
    Real corner[4];
    for (int i = 0; i < 4; ++i) corner[i] = static_cast<Real>(rois[static_cast<size_t>(4 * r + i)]) * scale - offset;
    Real roi_width = corner[2] - corner[0], roi_height = corner[3] - corner[1];
    if (!half_pixel) roi_width = std::max(roi_width, Real(1)), roi_height = std::max(roi_height, Real(1));
    const Real bin_height = roi_height / static_cast<Real>(rows), bin_width = roi_width / static_cast<Real>(columns);
    if (!(bin_height <= kMostSamples && bin_width <= kMostSamples))
      args.fail("region {} is {} by {} pixels large", r, roi_width, roi_height);
    const int64_t down = given ? given : static_cast<int64_t>(std::max(std::ceil(bin_height), Real(0)));
    const int64_t across = given ? given : static_cast<int64_t>(std::max(std::ceil(bin_width), Real(0)));
    if (height == 0 || width == 0) continue;
    const double count = static_cast<double>(std::max<int64_t>(down * across, 1));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        samples.clear();
        for (int64_t sy = 0; sy < down; ++sy)
          for (int64_t sx = 0; sx < across; ++sx) {
            const auto place = [](Real start, int64_t bin, Real size, int64_t s, int64_t n) {
              return start + static_cast<Real>(bin) * size + (static_cast<Real>(s) + Real(0.5)) * size / static_cast<Real>(n);
            };
            samples.push_back(
                sample_at(place(corner[1], i, bin_height, sy, down), place(corner[0], j, bin_width, sx, across), height, width));
          }
        for (int64_t c = 0; c < channels; ++c) {
          const double* plane = image.data() + (index * channels + c) * height * width;
          double sum = 0, largest = 0;
          bool first = true;
          for (const Sample& sample : samples)
            for (int corner_index = 0; corner_index < 4; ++corner_index) {
              const double value = sample.weight[corner_index] * plane[sample.at[corner_index]];
              sum += value;
              largest = first ? value : std::fmax(largest, value);
              first = false;
            }
          y[static_cast<size_t>(((r * channels + c) * rows + i) * columns + j)] = average ? sum / count : largest;
        }
      }
  }
  args.write(0, y);
}

void roi_align(const NodeView& node, KernelArgs& args) {
  return args.input(0).dtype() == DType::f64 ? align<double>(node, args) : align<float>(node, args);
}

constexpr std::vector<Operator> definitions() {
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
       .doc =
           MINNOW_DOC("Bins of regions [x1, y1, x2, y2], sampled by bilinear interpolation at places spread evenly over each bin. Source: "
                      "He, Gkioxari, Dollar, Girshick 2017, \"Mask R-CNN\"."),
       .inputs = {{"X", kFloats}, {"rois", kFloats, Arity::required, kTensors, "X"}, {"batch_indices", kI64}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kTransformation, kMode, kOutputHeight, kOutputWidth, kSamplingRatio, kSpatialScale},
       .infer_shapes = roi_align_shape,
       .reference = roi_align},
  };
}

}  // namespace

PackedOperators roi_operators() { return pack_operators<definitions>(); }

}  // namespace minnow
