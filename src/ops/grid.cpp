// SPDX-License-Identifier: Apache-2.0
// Sampling an image at places that a tensor names. Source: Jaderberg et al. 2015, "Spatial Transformer Networks".
#include <cmath>

#include "base/memory.h"
#include "base/numeric.h"
#include "ops/packed.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kAlignCorners{"align_corners", false,
                                        MINNOW_DOC("-1 and 1 are the centers of the outermost pixels, not their outer edges")};
constexpr Attribute<std::string_view> kMode{"mode", "linear",
                                            MINNOW_DOC("linear, nearest (halves to even) or cubic (a = -0.75) interpolation")};
constexpr Attribute<std::string_view> kPaddingMode{
    "padding_mode", "zeros", MINNOW_DOC("outside the image lie zeros, the border's pixels, or the image's reflection")};

constexpr size_t kMostDims = 4;  // cubic interpolation of that many reads 256 pixels

enum class Mode { linear, nearest, cubic };
enum class Padding { zeros, border, reflection };

struct Sampling {
  Mode mode;
  Padding padding;
  bool align_corners;
  size_t dims;
};

Sampling sampling_of(const NodeView& node) {
  const std::string_view mode = node.attribute(kMode), padding = node.attribute(kPaddingMode);
  Sampling s{};
  if (mode == "linear")
    s.mode = Mode::linear;
  else if (mode == "nearest")
    s.mode = Mode::nearest;
  else if (mode == "cubic")
    s.mode = Mode::cubic;
  else
    node.fail("mode should be linear, nearest or cubic, it is \"{}\"", mode);
  if (padding == "zeros")
    s.padding = Padding::zeros;
  else if (padding == "border")
    s.padding = Padding::border;
  else if (padding == "reflection")
    s.padding = Padding::reflection;
  else
    node.fail("padding_mode should be zeros, border or reflection, it is \"{}\"", padding);
  s.align_corners = node.attribute(kAlignCorners);
  s.dims = node.input_shape(0).rank() - 2;
  return s;
}

Shapes grid_sample_shape(const NodeView& node) {
  const Shape &x = node.input_shape(0), &grid = node.input_shape(1);
  if (x.rank() < 3 || x.rank() > kMostDims + 2)
    node.fail("takes [batch, channels, 1 to {} dimensions], the input has shape {}", kMostDims, x);
  if (grid.rank() != x.rank() || grid[0] != x[0] || grid.back() != static_cast<int64_t>(x.rank() - 2))
    node.fail("an input of shape {} needs a grid [{}, ..., {}] of the same rank, it has shape {}", x, x[0], x.rank() - 2, grid);
  const Sampling s = sampling_of(node);
  Shape shape{x[0], x[1]};
  for (size_t i = 1; i + 1 < grid.rank(); ++i) shape.push_back(grid[i]);
  if (s.padding != Padding::zeros && x.product(2, x.rank()) == 0) node.fail("an image of shape {} has no border", x);
  return {shape};
}

/// A place brought back into [low, high] by reflection at both ends.
template <class Real>
Real reflected(Real place, Real low, Real high) {
  const Real span = high - low;
  if (span <= 0) return low;
  const Real away = std::fmod(std::fabs(place - low), 2 * span);
  return low + (away > span ? 2 * span - away : away);
}

/// Places along one dimension that one sample reads (-1: a zero), and their weights.
struct Taps {
  int64_t at[4];
  double weight[4];
};

/// Coordinates are computed in the precision of the grid, at least single: rounding decides which pixels take part.
template <class Real>
Taps taps_along(const Sampling& s, Real coordinate, int64_t size) {
  const Real n = static_cast<Real>(size), last = n - 1;
  const Real low = s.align_corners ? 0 : Real(-0.5), high = s.align_corners ? last : n - Real(0.5);
  Real place = s.align_corners ? (coordinate + 1) / 2 * last : ((coordinate + 1) * n - 1) / 2;
  if (s.mode != Mode::cubic && s.padding == Padding::reflection) place = reflected(place, low, high);
  if (s.mode != Mode::cubic && s.padding != Padding::zeros) place = std::min(std::max(place, Real(0)), last);
  if (!std::isfinite(place)) place = s.padding == Padding::zeros ? -4 : place > 0 ? last : 0;
  if (s.padding != Padding::reflection) place = std::min(std::max(place, Real(-4)), n + 3);  // all beyond is the same
  const auto pixel = [&](Real at) -> int64_t {
    if (at >= 0 && at <= last) return static_cast<int64_t>(at);
    if (s.padding == Padding::zeros) return -1;
    if (s.padding == Padding::reflection) at = reflected(at, low, high);
    return static_cast<int64_t>(std::min(std::max(at, Real(0)), last));
  };
  Taps taps{};
  if (s.mode == Mode::nearest) {
    taps.at[0] = pixel(std::nearbyint(place));
    taps.weight[0] = 1;
    return taps;
  }
  const Real base = std::floor(place);
  const double t = static_cast<double>(place - base);
  if (s.mode == Mode::linear) {
    for (int i = 0; i < 2; ++i) taps.at[i] = pixel(base + static_cast<Real>(i));
    taps.weight[0] = 1 - t;
    taps.weight[1] = t;
    return taps;
  }
  constexpr double a = -0.75;
  for (int i = 0; i < 4; ++i) {
    taps.at[i] = pixel(base + static_cast<Real>(i - 1));
    const double d = std::fabs(t - (i - 1));
    taps.weight[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((d - 5) * d + 8) * d * a - 4 * a;
  }
  return taps;
}

template <class Real>
Numbers<double> sampled(const Sampling& s, const Shape& x_shape, const Numbers<double>& x, const Numbers<double>& grid,
                        const Shape& y_shape) {
  const int64_t plane = x_shape.product(2, x_shape.rank()), places = y_shape.product(2, y_shape.rank());
  const int along = s.mode == Mode::linear ? 2 : s.mode == Mode::nearest ? 1 : 4;
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  std::vector<std::pair<int64_t, double>> taps, wider;  // of one sample: place in a plane, weight
  for (int64_t batch = 0; batch < y_shape[0]; ++batch)
    for (int64_t p = 0; p < places; ++p) {
      const double* at = grid.data() + (batch * places + p) * static_cast<int64_t>(s.dims);
      taps.assign(1, {0, 1.0});
      for (size_t d = 0; d < s.dims; ++d) {
        const int64_t size = x_shape[d + 2];
        const Taps one = taps_along(s, static_cast<Real>(at[s.dims - 1 - d]), size);  // the last dimension's coordinate comes first
        wider.clear();
        for (const auto& [place, weight] : taps)
          for (int i = 0; i < along; ++i)
            if (one.at[i] >= 0) wider.emplace_back(place * size + one.at[i], weight * one.weight[i]);
        taps.swap(wider);
      }
      for (int64_t c = 0; c < y_shape[1]; ++c) {
        const double* from = x.data() + (batch * y_shape[1] + c) * plane;
        double sum = 0;
        for (const auto& [place, weight] : taps) sum += weight * from[place];
        y[static_cast<size_t>((batch * y_shape[1] + c) * places + p)] = sum;
      }
    }
  return y;
}

void grid_sample(const NodeView& node, KernelArgs& args) {
  const Sampling s = sampling_of(node);
  const auto run = args.input(1).dtype() == DType::f64 ? sampled<double> : sampled<float>;
  const Numbers<double> y = run(s, args.input(0).shape(), args.reals(0), args.reals(1), args.output(0).shape());
  const DType dtype = args.input(0).dtype();
  if (is_float(dtype)) return args.write(0, y);
  Numbers<int64_t> truncated(y.size());
  for (size_t i = 0; i < y.size(); ++i) truncated[i] = static_cast<int64_t>(std::fmin(std::fmax(y[i], -0x1p63), 0x1.fffffffffffffp62));
  args.write(0, truncated);
}

/// Spatial dimensions of `size`, which reads [batch, channels, spatial...].
Shape affine_grid_spatial(const NodeView& node) {
  const Shape& theta = node.input_shape(0);
  const Ints size = node.ints(1);
  if (size.size() != 4 && size.size() != 5) node.fail("size should have 4 or 5 entries, it is {}", size);
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  if (theta != Shape{size[0], dims, dims + 1})
    node.fail("theta should have shape [{}, {}, {}], it has shape {}", size[0], dims, dims + 1, theta);
  Shape spatial;
  for (size_t i = 2; i < size.size(); ++i) {
    if (size[i] < 0 || size[i] > int64_t{1} << 30) node.fail("size {} is not possible", size);
    spatial.push_back(size[i]);
  }
  return spatial;
}

Shapes affine_grid_shape(const NodeView& node) {
  Shape shape = affine_grid_spatial(node);
  const int64_t dims = static_cast<int64_t>(shape.rank());
  shape.insert(0, node.input_shape(0)[0]);
  shape.push_back(dims);
  return {shape};
}

/// [places, dims + 1]: coordinates of each pixel, the last dimension's first, then a one.
Numbers<double> pixel_coordinates(const Shape& spatial, bool align_corners) {
  Numbers<double> rows;
  check_memory(static_cast<size_t>(spatial.elements()) * (spatial.rank() + 1) * sizeof(double), "a table of coordinates");
  for_each_index(spatial, [&](std::span<const int64_t> index) {
    for (size_t d = spatial.rank(); d-- > 0;) {
      const double n = static_cast<double>(spatial[d]), i = static_cast<double>(index[d]);
      rows.push_back(align_corners ? (spatial[d] == 1 ? -1 : 2 * i / (n - 1) - 1) : (2 * i + 1) / n - 1);
    }
    rows.push_back(1);
  });
  return rows;
}

void affine_grid(const NodeView& node, KernelArgs& args) {
  const Shape spatial = affine_grid_spatial(node);
  const Numbers<double> pixels = pixel_coordinates(spatial, node.attribute(kAlignCorners)), theta = args.reals(0);
  const size_t dims = spatial.rank(), places = pixels.size() / (dims + 1);
  Numbers<double> y;
  y.reserve(static_cast<size_t>(args.output(0).elements()));
  for (int64_t batch = 0; batch < args.output(0).dim(0); ++batch)
    for (size_t p = 0; p < places; ++p)
      for (size_t r = 0; r < dims; ++r) {
        const double* row = theta.data() + (static_cast<size_t>(batch) * dims + r) * (dims + 1);
        double sum = 0;
        for (size_t k = 0; k <= dims; ++k) sum += row[k] * pixels[p * (dims + 1) + k];
        y.push_back(sum);
      }
  args.write(0, y);
}

Exprs decompose_affine_grid(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Shape spatial = affine_grid_spatial(node);
  const Numbers<double> pixels = pixel_coordinates(spatial, node.attribute(kAlignCorners));
  const int64_t homogeneous = static_cast<int64_t>(spatial.rank()) + 1;
  Tensor table(node.input_dtype(0), {static_cast<int64_t>(pixels.size()) / homogeneous, homogeneous});
  narrow(table.dtype(), pixels.data(), pixels.size(), table.writable().data());
  const Expr y = builder.op("MatMul", {builder.constant(std::move(table)), op("Transpose", {inputs[0]}, {{"perm", Ints{0, 2, 1}}})});
  const Shape& shape = node.output_shape(0);
  return {op("Reshape", {y, builder.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}})};
}

constexpr std::vector<Operator> definitions() {
  return {
      {.name = "AffineGrid",
       .since = 20,
       .doc = MINNOW_DOC("For each pixel of an image of shape `size` [batch, channels, spatial...], the place theta * [x, y, (z,) 1], in "
                         "coordinates that run from -1 to 1 over the image."),
       .inputs = {{"theta", kFloats}, {"size", kI64}},
       .outputs = {{"grid", same_as("theta")}},
       .attributes = {kAlignCorners},
       .infer_shapes = affine_grid_shape,
       .reference = affine_grid,
       .decompose = decompose_affine_grid},
      {.name = "GridSample",
       .since = 22,
       .doc =
           MINNOW_DOC("X [batch, channels, spatial...] at the places that grid [batch, new spatial..., dimensions] names, in coordinates "
                      "that run from -1 to 1 over the image, the last dimension's first. Integers are truncated."),
       .inputs = {{"X", kNumeric | kBool}, {"grid", kFloats}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kAlignCorners, kMode, kPaddingMode},
       .infer_shapes = grid_sample_shape,
       .reference = grid_sample},
  };
}

}  // namespace

PackedOperators grid_operators() { return pack_operators<definitions>(); }

}  // namespace minnow
