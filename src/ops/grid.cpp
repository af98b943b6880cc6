// SPDX-License-Identifier: Apache-2.0
// Sampling an image at positions that a tensor names. Source: Jaderberg et al. 2015, "Spatial Transformer Networks".
#include <cmath>

#include "base/memory.h"
#include "base/numeric.h"
#include "graph/sampling.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sampling_parts.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kAlignCorners{"align_corners", false,
                                        MINNOW_DOC("-1 and 1 are the centers of the outermost pixels, not their outer edges")};
constexpr Attribute<Name> kMode{"mode", "linear", MINNOW_DOC("linear, nearest (halves to even) or cubic (a = -0.75) interpolation")};
constexpr Attribute<Name> kPaddingMode{"padding_mode", "zeros",
                                       MINNOW_DOC("outside the image lie zeros, the border's pixels, or the image's reflection")};

Shapes grid_sample_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0), grid = node.input_sizes(1);
  if (x.rank() < 3 || x.rank() > GridSampling::kMostDims + 2)
    node.fail("takes [batch, channels, 1 to {} dimensions], the input has shape {}", GridSampling::kMostDims, x);
  if (grid.rank() != x.rank() || differ(grid[0], x[0]) || differ(grid.back(), static_cast<int64_t>(x.rank() - 2)))
    node.fail("an input of shape {} needs a grid [{}, ..., {}] of the same rank, it has shape {}", x, x[0], x.rank() - 2, grid);
  const GridSampling s = GridSampling::of(node);
  Sizes shape{x[0], x[1]};
  for (size_t i = 1; i + 1 < grid.rank(); ++i) shape.push_back(grid[i]);
  if (s.padding != GridSampling::Padding::zeros && x.product(2, x.rank()).is(0)) node.fail("an image of shape {} has no border", x);
  return {shape};
}

/// Taps are made for some positions at once, which then are gone through channel by channel: an image of a channel stays in the caches.
Numbers<double> sampled(const GridSampling& s, bool wide, const Shape& x_shape, const Numbers<double>& x, const Numbers<double>& grid,
                        const Shape& y_shape) {
  constexpr int64_t kPositions = 256;
  struct Tap {
    int64_t place;  // in a plane
    double weight;
  };
  const int64_t plane = x_shape.product(2, x_shape.rank()), positions = y_shape.product(2, y_shape.rank()), channels = y_shape[1];
  Numbers<double> y(static_cast<size_t>(y_shape.elements()));
  std::vector<Tap> taps;
  std::vector<size_t> ends;  // of each place's taps
  Pace pace;
  for (int64_t batch = 0; batch < y_shape[0]; ++batch)
    for (int64_t first = 0; first < positions; first += kPositions) {
      const int64_t count = std::min(kPositions, positions - first);
      taps.clear();
      ends.clear();
      for (int64_t p = first; p < first + count; ++p) {
        const double* at = grid.data() + (batch * positions + p) * static_cast<int64_t>(s.dims);
        size_t begin = taps.size();
        taps.push_back({0, 1.0});
        for (size_t d = 0; d < s.dims; ++d) {
          const int64_t size = x_shape[d + 2];
          const double coordinate = at[s.dims - 1 - d];  // the last dimension's comes first
          const GridSampling::Taps one = wide ? s.taps(coordinate, size) : s.taps(static_cast<float>(coordinate), size);
          const size_t end = taps.size();
          for (size_t k = begin; k < end; ++k)
            for (size_t i = 0; i < s.along(); ++i)
              if (one.at[i] >= 0) taps.push_back({taps[k].place * size + one.at[i], taps[k].weight * one.weight[i]});
          taps.erase(taps.begin() + static_cast<ptrdiff_t>(begin), taps.begin() + static_cast<ptrdiff_t>(end));
        }
        ends.push_back(taps.size());
      }
      for (int64_t c = batch * channels; c < (batch + 1) * channels; ++c, pace.step(taps.size())) {
        const double* from = x.data() + c * plane;
        double* to = y.data() + c * positions + first;
        size_t k = 0;
        for (const size_t end : ends) {
          double sum = 0;
          for (; k < end; ++k) sum += taps[k].weight * from[taps[k].place];
          *to++ = sum;
        }
      }
    }
  return y;
}

void grid_sample(const NodeView& node, KernelArgs& args) {
  const GridSampling s = GridSampling::of(node);
  const Numbers<double> y =
      sampled(s, args.input(1).dtype() == DType::f64, args.input(0).shape(), args.reals(0), args.reals(1), args.output(0).shape());
  const DType dtype = args.input(0).dtype();
  if (is_float(dtype)) return args.write(0, y);
  Numbers<int64_t> truncated(y.size());
  for (size_t i = 0; i < y.size(); ++i) truncated[i] = static_cast<int64_t>(std::fmin(std::fmax(y[i], -0x1p63), 0x1.fffffffffffffp62));
  args.write(0, truncated);
}

/// Spatial dimensions of `size`, which reads [batch, channels, spatial...].
Sizes affine_grid_spatial(const NodeView& node) {
  const std::vector<Size> size = node.sizes(1);
  if (size.size() != 4 && size.size() != 5) node.fail("size should have 4 or 5 entries, it is {}", size);
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  if (const auto theta = node.known_sizes(0); theta && differ(*theta, Sizes{size[0], dims, dims + 1}))
    node.fail("theta should have shape [{}, {}, {}], it has shape {}", size[0], dims, dims + 1, *theta);
  Sizes spatial;
  for (size_t i = 2; i < size.size(); ++i) {
    if (less(size[i], 0) || less(int64_t{1} << 30, size[i])) node.fail("size {} is not possible", size);
    spatial.push_back(size[i]);
  }
  return spatial;
}

Shapes affine_grid_shape(const NodeView& node) {
  Sizes shape = affine_grid_spatial(node);
  const int64_t dims = static_cast<int64_t>(shape.rank());
  shape.insert(0, node.input_sizes(0)[0]);
  shape.push_back(dims);
  return {shape};
}

/// [positions, dims + 1]: coordinates of each pixel, the last dimension's first, then a one.
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
  const Shape spatial = affine_grid_spatial(node).shape();
  const Numbers<double> pixels = pixel_coordinates(spatial, node.attribute(kAlignCorners)), theta = args.reals(0);
  const size_t dims = spatial.rank(), positions = pixels.size() / (dims + 1);
  Numbers<double> y;
  y.reserve(static_cast<size_t>(args.output(0).elements()));
  for (int64_t batch = 0; batch < args.output(0).dim(0); ++batch)
    for (size_t p = 0; p < positions; ++p)
      for (size_t r = 0; r < dims; ++r) {
        const double* row = theta.data() + (static_cast<size_t>(batch) * dims + r) * (dims + 1);
        double sum = 0;
        for (size_t k = 0; k <= dims; ++k) sum += row[k] * pixels[p * (dims + 1) + k];
        y.push_back(sum);
      }
  args.write(0, y);
}

Exprs decompose_affine_grid(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Shape spatial = affine_grid_spatial(node).shape();
  const Numbers<double> pixels = pixel_coordinates(spatial, node.attribute(kAlignCorners));
  const int64_t homogeneous = static_cast<int64_t>(spatial.rank()) + 1;
  Tensor table(node.input_dtype(0), {static_cast<int64_t>(pixels.size()) / homogeneous, homogeneous});
  narrow(table.dtype(), pixels.data(), pixels.size(), table.writable().data());
  const Expr y = builder.op("MatMul", {builder.constant(std::move(table)), op("Transpose", {inputs[0]}, {{"perm", Ints{0, 2, 1}}})});
  const Shape& shape = node.output_shape(0);
  return {op("Reshape", {y, builder.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}})};
}

#if MINNOW_GRADIENTS

Expr reflected(const Expr& place, double low, double high) {
  GraphBuilder& b = place.builder();
  if (high <= low) return place * 0.0 + low;
  const Expr beyond = b.op("Mod", {b.op("Abs", {place - low}), b.scalar_like(2 * (high - low), place)}, {{"fmod", int64_t{1}}});
  return b.op("Min", {beyond, 2 * (high - low) - beyond}) + low;
}

}  // namespace

TapExprs taps_at(const GridSampling& s, const Expr& given, int64_t size) {
  GraphBuilder& b = given.builder();
  const double n = static_cast<double>(size), last = n - 1;
  const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? last : n - 0.5;
  const auto clipped = [&](const Expr& x) { return b.op("Clip", {x, b.scalar_like(0, x), b.scalar_like(last, x)}); };
  Expr place = given;
  const bool linear = s.mode == GridSampling::Mode::linear, pads = s.padding != GridSampling::Padding::zeros;
  if (linear && s.padding == GridSampling::Padding::reflection) place = reflected(place, low, high);
  if (linear && pads) place = clipped(place);
  const bool nearest = s.mode == GridSampling::Mode::nearest;
  const Expr base = b.op(nearest ? "Round" : "Floor", {place}), t = place - base;
  TapExprs taps;
  for (size_t i = 0; i < s.along(); ++i) {
    const double step = static_cast<double>(i) - (s.mode == GridSampling::Mode::cubic ? 1 : 0);
    Expr at = base + step, weight;
    if (nearest) {
      weight = t * 0.0 + 1;
    } else if (linear) {
      weight = i == 0 ? 1 - t : t;
    } else {
      constexpr double a = -0.75;
      const Expr d = b.op("Abs", {t - step});
      weight = i == 1 || i == 2 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((d - 5) * d + 8) * d * a - 4 * a;
    }
    if (!pads) {
      const Expr inside = b.op("And", {greater(at, -0.5), less(at, last + 0.5)});
      weight = where(inside, weight);
    } else if (s.padding == GridSampling::Padding::reflection) {
      at = reflected(at, low, high);
    }
    taps.at.push_back(cast(clipped(at), DType::i64));
    taps.weight.push_back(weight);
  }
  return taps;
}

Expr sampled_sum(const Expr& pixels, const Shape& shape, DType dtype, std::span<const TapExprs> taps, int64_t positions) {
  GraphBuilder& b = pixels.builder();
  const int64_t images = shape[0], channels = shape[1], plane = shape.product(2, shape.rank());
  const auto transposed = [&](const Expr& e) { return b.op("Transpose", {e}, {{"perm", Ints{0, 2, 1}}}); };
  const auto reshaped = [&](const Expr& e, const Ints& to) { return b.op("Reshape", {e, b.constant(to)}, {{"allowzero", int64_t{1}}}); };
  struct Corner {
    Expr at, weight;
  };
  std::vector<Corner> corners;
  for (size_t d = 0; d < taps.size(); ++d) {
    std::vector<Corner> next;
    for (size_t i = 0; i < taps[d].at.size(); ++i) {
      if (d == 0) next.push_back({taps[d].at[i], taps[d].weight[i]});
      for (const Corner& corner : corners)
        next.push_back({corner.at * static_cast<double>(shape[d + 2]) + taps[d].at[i], corner.weight * taps[d].weight[i]});
    }
    corners = std::move(next);
  }
  // A pixel's channels lie together, so that gradients are added by rows.
  const Expr rows = reshaped(transposed(reshaped(pixels, {images, channels, plane})), {images * plane, channels});
  Ints starts;
  for (int64_t i = 0; i < images; ++i) starts.push_back(i * plane);
  const Expr first = reshaped(b.constant(starts), {images, 1});
  Expr sum;
  for (const Corner& corner : corners) {
    const Expr weight = cast(b.op("Unsqueeze", {corner.weight, b.constant({int64_t{-1}})}), dtype);
    const Expr part = b.op("Gather", {rows, corner.at + first}) * weight;
    sum = sum ? sum + part : part;
  }
  return transposed(reshaped(sum, {images, positions, channels}));
}

namespace {

Exprs grid_sample_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const GridSampling s = GridSampling::of(node);
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  const int64_t positions = y.product(2, y.rank());
  const auto reshaped = [&](const Expr& e, const Ints& shape) {
    return b.op("Reshape", {e, b.constant(shape)}, {{"allowzero", int64_t{1}}});
  };
  const Expr grid = reshaped(in[1], {x[0], positions, static_cast<int64_t>(s.dims)});
  std::vector<TapExprs> taps;
  for (size_t d = 0; d < s.dims; ++d) {
    const double last_first = static_cast<double>(s.dims - 1 - d), n = static_cast<double>(x[d + 2]);
    const Expr coordinate = b.op("Gather", {grid, b.scalar(last_first, DType::i64)}, {{"axis", int64_t{2}}});
    taps.push_back(taps_at(s, s.align_corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) * 0.5, x[d + 2]));
  }
  return {reshaped(sampled_sum(in[0], x, node.input_dtype(0), taps, positions), Ints(y.begin(), y.end()))};
}

#endif

constexpr List<Operator> definitions() {
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
       .doc = MINNOW_DOC(
           "X [batch, channels, spatial...] at the positions that grid [batch, new spatial..., dimensions] names, in coordinates "
           "that run from -1 to 1 over the image, the last dimension's first. Integers are truncated."),
       .inputs = {{"X", kNumeric | kBool}, {"grid", kFloats}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kAlignCorners, kMode, kPaddingMode},
       .infer_shapes = grid_sample_shape,
       .reference = grid_sample,
       .gradient = MINNOW_GRADIENT(parts_gradient<grid_sample_parts>)},
  };
}

}  // namespace

std::span<const Operator> grid_operators() { return operator_table<definitions>(); }

}  // namespace minnow
